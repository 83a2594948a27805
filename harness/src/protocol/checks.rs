//! What a protocol must satisfy beyond its shape, so that nothing later has to ask. One function a
//! part; each problem names the field as a JSON pointer, the value found and what is allowed.

use super::{Case, Order, Phase, PhaseName, Protocol, truth};
use crate::digest::is_sha256;
use crate::json::{self, escape};
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
    let requests = |phase: &Phase| u64::from(phase.repetitions) * phase.cases.len() as u64;
    let planned: u64 = protocol.phases.iter().map(requests).sum();
    if planned > MAX_REQUESTS {
        return Err(format!("/phases plan {planned} requests; at most {MAX_REQUESTS} are allowed"));
    }
    for (key, value) in &protocol.chat_template_kwargs {
        readable(&format!("/chat_template_kwargs/{}", escape(key)), value)?;
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
    if phase.phase == PhaseName::Concurrency && phase.order != Order::RepetitionOuter {
        return Err(format!("{at}/order must be `repetition-outer`: a round is one repetition"));
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
            truth::check(protocol, evaluator, &format!("{at}/evaluator"))
        }
        (PhaseName::Sanity, ..) => {
            Err(format!("{at} lacks a category or an evaluator; a sanity case has both"))
        }
        (_, None, None) => Ok(()),
        _ => Err(format!("{at} has a category or an evaluator; only sanity cases are judged")),
    }
}

pub(super) fn readable(at: &str, value: &Value) -> Result<(), String> {
    json::Value::try_from(value).map(|_| ()).map_err(|error| format!("{at} is no value: {error}"))
}

fn check_frozen(protocol: &Protocol) -> Result<(), String> {
    let planned = crate::plan::plan(protocol, true);
    let ids: BTreeSet<&str> = planned.iter().map(|request| request.id.as_str()).collect();
    let pinned = [
        ("/frozen_input_tokens", &protocol.frozen_input_tokens, 1),
        ("/frozen_shared_prefix_tokens", &protocol.frozen_shared_prefix_tokens, 0),
    ];
    for (field, frozen, least) in pinned {
        for (id, tokens) in frozen.iter().flatten() {
            let at = format!("{field}/{id}");
            if !ids.contains(id.as_str()) {
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
    if is_sha256(hex) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;
    use proptest::prelude::*;
    use serde_json::json;

    const EMBEDDED: &str = include_str!("../../../spec/protocols/embedded-v1.json");
    const DRAFT: &str =
        include_str!("../../../spec/protocols/strata-qwen38-thinking-v1-draft.1.json");

    fn check(pointer: &str, value: Value, problem: &str) {
        let mut protocol: Value = serde_json::from_str(EMBEDDED).unwrap();
        *protocol.pointer_mut(pointer).expect(pointer) = value;
        let found = Protocol::parse(&protocol.to_string(), "p.json").unwrap_err().to_string();
        assert!(found.starts_with("p.json: ") && found.contains(problem), "{found}");
    }

    #[test]
    fn what_cannot_be_planned_is_refused() {
        check("/id", json!(""), "/id is ``; use ASCII letters");
        check("/suite", json!("../x"), "/suite is `../x`; use ASCII letters");
        check("/corpus_sha256", json!("ED"), "/corpus_sha256 is `ED`; a SHA-256 is 64 lower-case");
        check("/template_sha256", json!("x"), "/template_sha256 is `x`");
        check("/categories/1", json!("instruction"), "/categories names `instruction` twice");
        check("/phases", json!([]), "/phases has no performance stage that always runs; add one");
        check("/phases/1/optional", json!(true), "/phases has no performance stage");
        check("/phases/0/phase", json!("sanity"), "/phases names `sanity` twice");
        check("/phases/0/max_output_tokens", json!(0), "/phases/0/max_output_tokens is 0;");
        check("/phases/0/repetitions", json!(2), "/phases/0/repetitions is 2; ids of this stage");
        check("/phases/2/repetitions", json!(2), "/phases/2/repetitions is 2; ids of this stage");
        check("/phases/1/repetitions", json!(0), "/phases/1 plans 0 repetitions of 3 cases");
        check("/phases/1/repetitions", json!(3334), "it must be 1 to 10000 requests");
        check("/phases/1/cases", json!([]), "/phases/1 plans 3 repetitions of 0 cases");
        check("/phases/1/concurrency", json!(2), "/phases/1/concurrency is 2; it must be 1");
        check("/phases/3/concurrency", json!(1), "/phases/3/concurrency is 1; it must be 2");
        check("/phases/3/order", json!("case-outer"), "/phases/3/order must be `repetition-outer`");
        check("/phases/1/cases/1/id", json!("short"), "/phases/1/cases names `short` twice");
        check("/phases/1/cases/1/id", json!("a/b"), "/phases/1/cases/1/id is `a/b`");
        check("/phases/1/cases/1/category", json!("x"), "only sanity cases are judged");
        check("/phases/2/cases/0/category", json!("x"), "/phases/2/cases/0/category is `x`");
        check("/phases/2/cases/0/evaluator", json!(null), "/phases/2/cases/0 lacks a category or");
        check("/phases/2/cases/0/evaluator/expected", json!(null), "lacks its truth");
        check("/phases/2/cases/8/evaluator/arguments/food", json!([]), "lacks its truth");
        check("/phases/2/cases/3/stop", json!(["", "."]), "/phases/2/cases/3/stop is [");
        check("/phases/2/cases/3/stop", json!(["a", "b", "c", "d", "e"]), "give at most 4");
        check("/phases/3/repetitions", json!(5000), "/phases plan 10022 requests; at most 10000");
        check("/phases/1/repetitions", json!(u32::MAX), "it must be 1 to 10000 requests");
        let deep = || (0..80).fold(json!(1), |inner, _| json!([inner]));
        check("/chat_template_kwargs", json!({"a": deep()}), "/chat_template_kwargs/a is no value");
        check("/phases/2/cases/8/evaluator/arguments/food", deep(), "nested deeper than 64 levels");
        let truth = json!({"kind": "json_value", "expected": deep()});
        check("/phases/2/cases/0/evaluator", truth, "/evaluator/expected is no value: ");
        check("/frozen_input_tokens", json!({"x": 1}), "/frozen_input_tokens/x is of no planned");
        check(
            "/frozen_input_tokens",
            json!({"warmup": 0}),
            "is 0; it must be a whole number from 1",
        );
    }

    #[test]
    fn unknown_fields_are_refused_at_every_level() {
        for at in [
            "",
            "/sampling",
            "/passed_reasons",
            "/phases/0",
            "/phases/0/cases/0",
            "/phases/2/cases/0/evaluator",
        ] {
            let mut protocol: Value = serde_json::from_str(EMBEDDED).unwrap();
            protocol.pointer_mut(at).expect(at)["surprise"] = json!(1);
            let found = Protocol::parse(&protocol.to_string(), "p.json").unwrap_err().to_string();
            assert!(found.contains("unknown field `surprise`"), "{at}: {found}");
        }
    }

    #[test]
    fn a_protocol_is_written_as_it_was_read() {
        for text in [EMBEDDED, DRAFT] {
            let protocol = Protocol::parse(text, "p.json").unwrap();
            let again = serde_json::to_string(&protocol).unwrap();
            let [read, written]: [Value; 2] =
                [text, &again].map(|text| serde_json::from_str(text).unwrap());
            assert_eq!(read, written);
        }
    }

    fn pointers(value: &Value, at: &str, into: &mut Vec<String>) {
        into.push(at.to_string());
        match value {
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(i, v)| pointers(v, &format!("{at}/{i}"), into));
            }
            Value::Object(map) => {
                map.iter().for_each(|(key, v)| pointers(v, &format!("{at}/{key}"), into));
            }
            _ => {}
        }
    }

    fn hostile() -> impl Strategy<Value = Value> {
        prop_oneof![
            prop::sample::select(vec![
                json!(null),
                json!(true),
                json!(0),
                json!(-1),
                json!(u32::MAX),
                json!(u64::MAX),
                json!(1e300),
                json!(""),
                json!("/"),
                json!("warmup"),
                json!("case-outer"),
                json!([]),
                json!({}),
                json!([[[[]]]]),
                json!("x".repeat(300)),
            ]),
            any::<u64>().prop_map(|number| json!(number)),
            ".{0,8}".prop_map(|text| json!(text)),
        ]
    }

    proptest! {
        /// Whatever stands in a field, the answer is a bounded plan or a message.
        #[test]
        fn a_changed_field_never_breaks_the_loader(
            which in any::<prop::sample::Index>(),
            value in hostile(),
            embedded in any::<bool>(),
        ) {
            let text = if embedded { EMBEDDED } else { DRAFT };
            let mut protocol: Value = serde_json::from_str(text).unwrap();
            let mut all = Vec::new();
            pointers(&protocol, "", &mut all);
            *protocol.pointer_mut(&all[which.index(all.len())]).unwrap() = value;
            match Protocol::parse(&protocol.to_string(), "p.json") {
                Ok(protocol) => {
                    let planned = plan(&protocol, true);
                    prop_assert!(planned.len() as u64 <= MAX_REQUESTS);
                    let ids: BTreeSet<&String> = planned.iter().map(|r| &r.id).collect();
                    prop_assert_eq!(ids.len(), planned.len());
                    prop_assert!(planned.iter().all(|request| request.max_output_tokens > 0));
                }
                Err(error) => prop_assert!(error.to_string().starts_with("p.json: ")),
            }
        }

        #[test]
        fn changed_bytes_never_break_the_loader(
            at in any::<prop::sample::Index>(),
            drop in 0usize..40,
            insert in "[{}\\[\\]\",:0-9a-z]{0,6}",
        ) {
            let mut text = EMBEDDED.to_string();
            let start = at.index(text.len());
            text.replace_range(start..(start + drop).min(text.len()), &insert);
            let _ = Protocol::parse(&text, "p.json");
        }
    }
}
