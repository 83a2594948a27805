//! What a protocol must satisfy beyond its shape, so that nothing later has to ask. One function a
//! part; each problem names the field as a JSON pointer, the value found and what is allowed.

use super::{Case, Evaluator, Phase, PhaseName, Protocol};
use serde_json::Value;
use std::collections::BTreeSet;

/// Most requests a protocol may plan: enough for a day's run, small enough to list.
pub(super) const MAX_REQUESTS: u64 = 10_000;
/// Most stop texts a request may carry, which is what OpenAI's API allows.
pub(super) const MAX_STOPS: usize = 4;

pub(super) fn check(protocol: &Protocol) -> Result<(), String> {
    named("/id", &protocol.id)?;
    named("/profile", &protocol.profile)?;
    named("/suite", &protocol.suite)?;
    digest("/corpus_sha256", &protocol.corpus_sha256)?;
    if let Some(template) = &protocol.template_sha256 {
        digest("/template_sha256", template)?;
    }
    unique("/categories", protocol.categories.iter().map(String::as_str))?;
    unique("/phases", protocol.phases.iter().map(|phase| phase.phase.as_str()))?;
    if protocol.phase(PhaseName::Performance).is_none_or(|phase| phase.optional) {
        return Err("/phases has no performance stage that always runs; add one".to_string());
    }
    for (i, phase) in protocol.phases.iter().enumerate() {
        check_phase(protocol, phase, &format!("/phases/{i}"))?;
    }
    check_frozen(protocol)
}

fn check_phase(protocol: &Protocol, phase: &Phase, at: &str) -> Result<(), String> {
    if phase.max_output_tokens == 0 {
        return Err(format!("{at}/max_output_tokens is 0; a request needs at least 1"));
    }
    let requests = u64::from(phase.repetitions) * phase.cases.len() as u64;
    if requests == 0 || requests > MAX_REQUESTS {
        return Err(format!(
            "{at} plans {} repetitions of {} cases; it must be 1 to {MAX_REQUESTS} requests",
            phase.repetitions,
            phase.cases.len()
        ));
    }
    let single = matches!(phase.phase, PhaseName::Warmup | PhaseName::Sanity);
    if single && phase.repetitions != 1 {
        return Err(format!(
            "{at}/repetitions is {}; ids of this stage name no repetition, so it must be 1",
            phase.repetitions
        ));
    }
    if phase.phase == PhaseName::Warmup && phase.cases.len() != 1 {
        return Err(format!("{at}/cases has {}; a warm-up is one request", phase.cases.len()));
    }
    let at_once = if phase.phase == PhaseName::Concurrency { phase.cases.len() } else { 1 };
    if phase.concurrency as usize != at_once {
        return Err(format!(
            "{at}/concurrency is {}; it must be {at_once}: a concurrency round sends all its \
             cases at once, any other stage one request",
            phase.concurrency
        ));
    }
    unique(&format!("{at}/cases"), phase.cases.iter().map(|case| case.id.as_str()))?;
    for (i, case) in phase.cases.iter().enumerate() {
        check_case(protocol, phase.phase, case, &format!("{at}/cases/{i}"))?;
    }
    Ok(())
}

fn check_case(protocol: &Protocol, phase: PhaseName, case: &Case, at: &str) -> Result<(), String> {
    named(&format!("{at}/id"), &case.id)?;
    if case.stop.len() > MAX_STOPS || case.stop.iter().any(String::is_empty) {
        return Err(format!("{at}/stop is {:?}; give at most {MAX_STOPS}, none empty", case.stop));
    }
    match (phase, &case.category, &case.evaluator) {
        (PhaseName::Sanity, Some(category), Some(evaluator)) => {
            if !protocol.categories.contains(category) {
                return Err(format!(
                    "{at}/category is `{category}`; /categories has {:?}",
                    protocol.categories
                ));
            }
            let replayable = protocol.not_replayable.is_none();
            if replayable && !has_truth(evaluator) {
                return Err(format!(
                    "{at}/evaluator expects null; a protocol that can be replayed names its truth"
                ));
            }
            Ok(())
        }
        (PhaseName::Sanity, ..) => {
            Err(format!("{at} lacks a category or an evaluator; a sanity case has both"))
        }
        (_, None, None) => Ok(()),
        _ => Err(format!("{at} has a category or an evaluator; only sanity cases are judged")),
    }
}

fn has_truth(evaluator: &Evaluator) -> bool {
    match evaluator {
        Evaluator::ExactText { expected } => expected.is_some(),
        Evaluator::JsonValue { expected } => expected.is_some(),
        Evaluator::ToolCall { name, arguments } => {
            name.is_some() && arguments.values().all(Value::is_array)
        }
    }
}

fn check_frozen(protocol: &Protocol) -> Result<(), String> {
    let planned = crate::plan::plan(protocol, true);
    let pinned = [
        ("/frozen_input_tokens", &protocol.frozen_input_tokens, 1),
        ("/frozen_shared_prefix_tokens", &protocol.frozen_shared_prefix_tokens, 0),
    ];
    for (field, frozen, least) in pinned {
        for (id, tokens) in frozen.iter().flatten() {
            let at = format!("{field}/{id}");
            if !planned.iter().any(|request| request.id == *id) {
                return Err(format!("{at} is of no planned request"));
            }
            if tokens.as_u64().is_none_or(|tokens| tokens < least) {
                return Err(format!("{at} is {tokens}; it must be a whole number from {least}"));
            }
        }
    }
    Ok(())
}

/// Names become parts of ids and of file names: no separator, no dot alone, no blank.
fn named(at: &str, name: &str) -> Result<(), String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let plain = name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(allowed);
    if plain {
        return Ok(());
    }
    Err(format!("{at} is `{name}`; use ASCII letters, digits, `-`, `_` and `.`, a letter first"))
}

fn digest(at: &str, hex: &str) -> Result<(), String> {
    let lower_hex = |c: u8| matches!(c, b'0'..=b'9' | b'a'..=b'f');
    if hex.len() == 64 && hex.bytes().all(lower_hex) {
        return Ok(());
    }
    Err(format!("{at} is `{hex}`; a SHA-256 is 64 lower-case hex digits"))
}

fn unique<'a>(at: &str, names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(format!("{at} names `{name}` twice; give each a name of its own"));
        }
    }
    Ok(())
}
