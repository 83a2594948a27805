//! Whether a run counts, and every reason why not, the gravest first. A truncated answer is no
//! reason; an answer that never came is.

use super::{ClientOffsets, Configuration, Model, Request, RequestCheck, RequestCounts};
use crate::config::{Config, Stop};
use crate::corpus::Length;
use crate::fact::Fact;
use crate::plan::Planned;

/// What the reasons are read from.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The run.
    pub config: &'a Config,
    /// Its plan.
    pub planned: &'a [Planned<'a>],
    /// `/model`
    pub model: &'a Model,
    /// `/configuration`
    pub configuration: &'a Configuration,
    /// `/request_counts`
    pub counts: &'a RequestCounts,
    /// `/extensions/request_checks`, in the order of the plan.
    pub checks: &'a [RequestCheck],
}

/// Why the run does not conform; empty if it does.
pub fn reasons(evidence: &Evidence) -> Vec<String> {
    let Evidence { config, planned, model, configuration, counts, checks } = *evidence;
    let mut reasons = Vec::new();
    let mut add = |applies: bool, reason: String| {
        if applies {
            reasons.push(reason);
        }
    };
    add(model.files.is_none(), "no model file could be hashed".to_string());
    add(
        !config.protocol_known,
        format!("the protocol {} is not one this runner carries", config.protocol.id),
    );
    add(
        config.run.nonce.is_some(),
        "the bodies carry a nonce, so they differ from the protocol's".to_string(),
    );
    let needed = needed_context(config, planned);
    let context = configuration.context_tokens;
    add(
        context.zip(needed).is_some_and(|(context, needed)| context < needed),
        format!(
            "the context of {} tokens is too small: the plan needs {}",
            context.unwrap_or_default(),
            needed.unwrap_or_default()
        ),
    );
    let sum = |of: fn(&super::Counts) -> u64| {
        of(&counts.warmup) + of(&counts.performance) + of(&counts.sanity) + of(&counts.concurrency)
    };
    let (failed, skipped, all) = (sum(|c| c.failed), sum(|c| c.skipped), sum(|c| c.planned));
    add(failed > 0, format!("{failed} of {all} planned requests failed"));
    add(skipped > 0, format!("{skipped} of {all} planned requests were skipped: {}", why(config)));
    add(
        checks.iter().any(|check| check.unexpected_payload_reuse == Some(true)),
        "the server reused more of a prompt than payloads share".to_string(),
    );
    add(
        checks.iter().any(|check| check.length_outside_tolerance == Some(true)),
        "an input is longer or shorter than its payload is recorded to be".to_string(),
    );
    add(
        checks.iter().any(|check| check.frozen_input_tokens.is_none()),
        "the input lengths are not recorded for this tokenizer and template".to_string(),
    );
    let earlier = config.server.count("/requests_served");
    add(
        earlier.known().is_some_and(|&served| served > 0),
        format!(
            "the server had answered {} requests before the run",
            earlier.known().copied().unwrap_or_default()
        ),
    );
    let template = &configuration.template.sha256;
    add(
        config.protocol.template_sha256.as_ref().is_some_and(|allowed| allowed != template),
        "the chat template is not the protocol's".to_string(),
    );
    add(
        config.runner.dirty.known() == Some(&true),
        "the runner was built from sources that differ from its commit".to_string(),
    );
    let engine_commit = config.server.text("/engine/commit");
    let commits = engine_commit.known().zip(config.runner.commit.known());
    add(
        commits.is_some_and(|(engine, runner)| engine != runner),
        "the engine was built from another commit than the runner".to_string(),
    );
    add(
        config.server.field("/engine/dirty", |dirty| dirty.as_bool()).known() == Some(&true),
        "the engine was built from sources that differ from its commit".to_string(),
    );
    reasons
}

/// Why requests were left out.
pub fn why(config: &Config) -> &str {
    match config.end.as_ref().map(|end| &end.stop) {
        Some(Some(Stop::Interrupted)) => "the operator interrupted the run",
        Some(Some(Stop::ServerLost(why))) => why,
        Some(None) => "the run ended early",
        None => "the run was killed",
    }
}

/// The longest input with its cap, over the plan; `None` without recorded lengths.
fn needed_context(config: &Config, planned: &[Planned]) -> Option<u64> {
    planned
        .iter()
        .filter_map(|request| {
            let length = recorded_length(config, &request.id)?;
            length.checked_add(request.max_output_tokens)
        })
        .max()
}

/// What a request's row and the recorded lengths say of its input.
pub fn check(config: &Config, row: &Request, offsets: Option<&ClientOffsets>) -> RequestCheck {
    let frozen_input_tokens = recorded_length(config, &row.id);
    let max_shared_prefix_tokens =
        recorded(config, &row.id).map(|length| length.max_shared_prefix_tokens);
    let input = row.tokens.input_tokens.filter(|_| offsets.is_some());
    let reuse = |cached: u64| match max_shared_prefix_tokens {
        Some(shared) => Some(cached > shared),
        None => (cached == 0).then_some(false),
    };
    let tolerance = config.protocol.length_tolerance_tokens;
    RequestCheck {
        max_shared_prefix_tokens,
        frozen_input_tokens,
        unexpected_payload_reuse: row.tokens.cached_tokens.and_then(reuse),
        length_outside_tolerance: input
            .zip(frozen_input_tokens)
            .map(|(input, frozen)| input.abs_diff(frozen) > tolerance),
    }
}

fn recorded<'c>(config: &'c Config, id: &str) -> Option<&'c Length> {
    match &config.lengths {
        Fact::Known(lengths) => lengths.requests.get(id),
        Fact::Unknown(_) => None,
    }
}

/// By the lengths recorded for the server's tokenizer, else by a protocol that pins one.
fn recorded_length(config: &Config, id: &str) -> Option<u64> {
    recorded(config, id).map(|length| length.input_tokens).or_else(|| {
        config.protocol.frozen_input_tokens.as_ref()?.get(id).and_then(serde_json::Value::as_u64)
    })
}
