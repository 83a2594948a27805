//! Whether a run counts, and every reason why not, the gravest first. A truncated answer is no
//! reason; an answer that never came is.

use super::{ClientOffsets, Configuration, Counts, Model, Request, RequestCheck, RequestCounts};
use crate::config::{Config, Stop};
use crate::corpus::Length;
use crate::fact::Fact;
use crate::plan::Planned;
use crate::self_test::SelfTest;

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
    /// `/requests`, in the order of the plan.
    pub rows: &'a [Request],
    /// `/request_counts`
    pub counts: &'a RequestCounts,
    /// `/extensions/request_checks`, in the order of the plan.
    pub checks: &'a [RequestCheck],
}

/// Why the run does not conform; empty if it does.
pub fn reasons(evidence: &Evidence) -> Vec<String> {
    let parts = [of_the_order(evidence), of_the_requests(evidence), of_the_server(evidence)];
    parts.into_iter().flatten().flatten().collect()
}

/// What was measured is not what the protocol asks for.
fn of_the_order(evidence: &Evidence) -> Vec<Option<String>> {
    let Evidence { config, planned, model, configuration, .. } = *evidence;
    let unknown = format!("the protocol {} is not one this runner carries", config.protocol.id);
    let nonce = "the bodies carry a nonce, so they differ from the protocol's";
    let failed = config.self_test.known().map(SelfTest::failed).unwrap_or_default().join(", ");
    let context = configuration.context_tokens.zip(needed_context(config, planned));
    vec![
        model.files.is_none().then(|| "no model file could be hashed".to_string()),
        (!config.protocol_known).then_some(unknown),
        config.run.nonce.is_some().then(|| nonce.to_string()),
        context.filter(|(context, needed)| context < needed).map(|(context, needed)| {
            format!("the context of {context} tokens is too small: the plan needs {needed}")
        }),
        (!failed.is_empty()).then(|| format!("the client failed its self-test: {failed}")),
    ]
}

/// Not every planned request was answered, and answered from scratch.
fn of_the_requests(evidence: &Evidence) -> Vec<Option<String>> {
    let Evidence { config, rows, counts, checks, .. } = *evidence;
    let sum = |of: fn(&Counts) -> u64| {
        of(&counts.warmup) + of(&counts.performance) + of(&counts.sanity) + of(&counts.concurrency)
    };
    let (failed, skipped, all) = (sum(|c| c.failed), sum(|c| c.skipped), sum(|c| c.planned));
    let any = |is: fn(&RequestCheck) -> bool, reason: &str| {
        checks.iter().any(is).then(|| reason.to_string())
    };
    vec![
        (failed > 0).then(|| format!("{failed} of {all} planned requests failed")),
        (skipped > 0)
            .then(|| format!("{skipped} of {all} planned requests were skipped: {}", why(config))),
        rows.iter().any(is_outside_its_cap).then(|| OUTSIDE_CAP.to_string()),
        any(
            |check| check.unexpected_payload_reuse == Some(true),
            "the server reused more of a prompt than payloads share",
        ),
        any(
            |check| check.length_outside_tolerance == Some(true),
            "an input is longer or shorter than its payload is recorded to be",
        ),
        any(
            |check| check.frozen_input_tokens.is_none(),
            "the input lengths are not recorded for this tokenizer and template",
        ),
    ]
}

/// `output cap` in these words tells a review that it is told.
const OUTSIDE_CAP: &str = "the server counts no output, or more than the output cap it was given";

fn is_outside_its_cap(row: &Request) -> bool {
    row.tokens.output_tokens.is_some_and(|output| !(1..=row.max_output_tokens).contains(&output))
}

/// The server, or what server and runner were built from, is not as it must be.
fn of_the_server(evidence: &Evidence) -> Vec<Option<String>> {
    let Evidence { config, configuration, .. } = *evidence;
    let earlier = config.server.count("/requests_served");
    let allowed = config.protocol.template_sha256.as_ref();
    let engine_commit = config.server.text("/engine/commit");
    let engine_dirty = config.server.field("/engine/dirty", |dirty| dirty.as_bool());
    let commits = engine_commit.known().zip(config.runner.commit.known());
    let reason = |applies: bool, reason: &str| applies.then(|| reason.to_string());
    vec![
        earlier
            .known()
            .filter(|&&served| served > 0)
            .map(|served| format!("the server had answered {served} requests before the run")),
        reason(
            allowed.is_some_and(|allowed| *allowed != configuration.template.sha256),
            "the chat template is not the protocol's",
        ),
        reason(
            config.runner.dirty.known() == Some(&true),
            "the runner was built from sources that differ from its commit",
        ),
        reason(
            engine_dirty.known() == Some(&true),
            "the engine was built from sources that differ from its commit",
        ),
        reason(
            commits.is_some_and(|(engine, runner)| engine != runner),
            "the engine was built from another commit than the runner",
        ),
    ]
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

#[cfg(test)]
mod tests {
    use super::OUTSIDE_CAP;
    use crate::check::{Severity, Subject};
    use crate::fact::Fact;
    use crate::fixture::{Honest, config, outputs};
    use crate::plan::plan;
    use crate::report::rebuild::rebuild_from;
    use serde_json::{Value, json};

    /// The reasons of an honest run of which the value at `pointer` in config.json is another.
    fn check(pointer: &str, value: Value, expected: &str) {
        let config = config();
        let reply = Honest { steps: vec![100; 3], ..Honest::PLAIN }.script();
        let outputs = outputs(&plan(&config.protocol, false), &vec![reply; 5], 0);
        let mut config = serde_json::to_value(&config).unwrap();
        *config.pointer_mut(pointer).unwrap() = value;
        let report = rebuild_from(&outputs, config.to_string().as_bytes()).unwrap();
        assert_eq!(report.status_reasons, [expected], "{pointer}");
    }

    #[test]
    fn each_reason() {
        let unknown = || json!({"unknown": "for a test"});
        check("/model_files", unknown(), "no model file could be hashed");
        check(
            "/protocol_known",
            json!(false),
            "the protocol small-v1 is not one this runner carries",
        );
        check(
            "/run/nonce",
            json!("N"),
            "the bodies carry a nonce, so they differ from the protocol's",
        );
        check(
            "/server/status/known/context_tokens",
            json!(163),
            "the context of 163 tokens is too small: the plan needs 164",
        );
        check(
            "/lengths/known/requests/warmup/input_tokens",
            json!(109),
            "an input is longer or shorter than its payload is recorded to be",
        );
        check(
            "/lengths",
            unknown(),
            "the input lengths are not recorded for this tokenizer and template",
        );
        check(
            "/server/status/known/requests_served",
            json!(7),
            "the server had answered 7 requests before the run",
        );
        check(
            "/protocol/template_sha256",
            json!("00".repeat(32)),
            "the chat template is not the protocol's",
        );
        check(
            "/runner/dirty/known",
            json!(true),
            "the runner was built from sources that differ from its commit",
        );
        check(
            "/server/status/known/engine/dirty",
            json!(true),
            "the engine was built from sources that differ from its commit",
        );
        check(
            "/runner/commit/known",
            json!("cd".repeat(20)),
            "the engine was built from another commit than the runner",
        );
    }

    #[test]
    fn a_client_that_misreads_is_a_reason_and_one_that_was_not_tested_is_none() {
        check(
            "/self_test/known/cases/0/problem",
            json!("for a test"),
            "the client failed its self-test: plain",
        );
        let mut config = config();
        config.self_test = Fact::Unknown("for a test".to_string());
        let reply = Honest { steps: vec![100; 3], ..Honest::PLAIN }.script();
        let outputs = outputs(&plan(&config.protocol, false), &vec![reply; 5], 0);
        let report = rebuild_from(&outputs, &serde_json::to_vec(&config).unwrap()).unwrap();
        assert_eq!(report.status_reasons, Vec::<String>::new());
        let report: Value = serde_json::from_slice(&report.json).unwrap();
        for field in ["latest_stamp_ms", "failed"] {
            assert_eq!(report["extensions"]["self_test"][field], Value::Null);
            assert_eq!(report["missing"][format!("/extensions/self_test/{field}")], "for a test");
        }
    }

    /// B099: what was cached beyond what payloads share makes the run no cold one.
    #[test]
    fn reuse_beyond_the_shared_prefix_is_a_reason() {
        let config = config();
        for (cached, expected) in
            [(3, vec![]), (4, vec!["the server reused more of a prompt than payloads share"])]
        {
            let reply = Honest { cached, steps: vec![100; 3], ..Honest::PLAIN }.script();
            let outputs = outputs(&plan(&config.protocol, false), &vec![reply; 5], 0);
            let json = serde_json::to_vec(&config).unwrap();
            let report = rebuild_from(&outputs, &json).unwrap();
            assert_eq!(report.status_reasons, expected);
        }
    }

    /// An answer of 4 tokens of which the server says that they are so many.
    fn check_counted(tokens: &str, expected: &[&str]) {
        let config = config();
        let mut reply = Honest { steps: vec![100; 4], ..Honest::PLAIN }.script();
        for (_, bytes) in &mut reply.reads {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let counted = |name: &str| (format!("\"{name}\":4"), format!("\"{name}\":{tokens}"));
            let (usual, other) = counted("completion_tokens");
            let (decoded, as_many) = counted("predicted_n");
            *bytes = text.replace(&usual, &other).replace(&decoded, &as_many).into_bytes();
        }
        let outputs = outputs(&plan(&config.protocol, false), &vec![reply; 5], 0);
        let report = rebuild_from(&outputs, &serde_json::to_vec(&config).unwrap()).unwrap();
        assert_eq!(report.status_reasons, expected, "{tokens}");
        let protocols = std::slice::from_ref(&config.protocol);
        let subject = Subject { report: &report.json, directory: None, rebuilt: None, protocols };
        let outcome = crate::check::check(&subject);
        let of_caps = outcome.findings.iter().filter(|finding| finding.rule.id == "R083");
        assert!(of_caps.clone().all(|finding| finding.severity == Severity::Warning));
        assert_eq!(of_caps.count() > 0, !expected.is_empty(), "{tokens}");
    }

    /// The least cap is the warm-up's, 16 tokens.
    #[test]
    fn an_output_outside_its_cap_is_a_reason() {
        check_counted("16", &[]);
        check_counted("17", &[OUTSIDE_CAP]);
        check_counted("0", &[OUTSIDE_CAP]);
    }

    #[test]
    fn an_unknown_number_of_earlier_requests_is_no_reason() {
        let mut other = config();
        other.server.status = Fact::Unknown("no /v1/status".to_string());
        let reply = Honest { steps: vec![100; 3], ..Honest::PLAIN }.script();
        let outputs = outputs(&plan(&other.protocol, false), &vec![reply; 5], 0);
        let report = rebuild_from(&outputs, &serde_json::to_vec(&other).unwrap()).unwrap();
        assert_eq!(report.status_reasons, Vec::<String>::new());
    }
}
