//! No false alarm: whatever an honest server does, and wherever the operator interrupts it, the
//! report of this program has no error and is what its record makes. Nor has one of a server that
//! is honest but for its `timings` or for what it says of itself.

use crate::check::{Severity, Subject, check};
use crate::config::{Artifact, Config, End, Stop};
use crate::fact::Fact;
use crate::fixture::{Honest, config, outputs};
use crate::plan::plan;
use crate::report::rebuild::rebuild_from;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

/// One request: how many tokens of its cap and how many of them are reasoning, then the engine's
/// tenths of a millisecond for the prompt and for each step, then the way to the client.
pub(super) type Reply = (Index, Index, u64, u64, u64);

pub(super) fn reply() -> impl Strategy<Value = Reply> {
    (any::<Index>(), any::<Index>(), 1..20_000_u64, 1..400_u64, 0..500_u64)
}

pub(super) fn honest((tokens, reasoning, prompt, step, delay): Reply, cap: u64) -> Honest {
    let tokens = 1 + tokens.index(cap as usize);
    let steps = (0..tokens as u64).map(|i| step + i % 7).collect();
    let truncated = tokens as u64 == cap;
    let reasoning = reasoning.index(tokens + 1);
    Honest { cached: 0, prompt, steps, reasoning, delay, truncated }
}

/// The fixture's run with the artifacts that a report has.
pub(super) fn whole(stop: Option<Stop>) -> Config {
    let config = config();
    let artifact = |name: &str, sha256: &str| Artifact {
        kind: "provenance".to_string(),
        path: format!("provenance/{name}"),
        sha256: sha256.to_string(),
    };
    let corpus = artifact("corpus-manifest.sha256", &config.protocol.corpus_sha256);
    let build = artifact("corpus-build.json", &"b1".repeat(32));
    let provenance = [config.provenance.clone(), vec![corpus, build]].concat();
    let end = config.end.clone().map(|end| End { stop, ..end });
    Config { provenance, end, ..config }
}

/// The members of a `timings` object, each absent, usual or absurd.
fn timings() -> impl Strategy<Value = String> {
    const TEXTS: [&str; 22] = [
        "0",
        "-0.0",
        "0.04",
        "0.1",
        "1",
        "3.5",
        "40.0",
        "100",
        "1e5",
        "1e9",
        "1e15",
        "1e308",
        "1e400",
        "-1",
        "-1e400",
        "1e-400",
        "18446744073709551615",
        "18446744073709551616",
        "9007199254740993",
        "\"NaN\"",
        "null",
        "{}",
    ];
    const KEYS: [&str; 6] =
        ["cache_n", "prompt_n", "prompt_ms", "predicted_n", "predicted_ms", "predicted_per_second"];
    let texts = prop::collection::vec(prop::option::weighted(0.9, prop::sample::select(&TEXTS)), 6);
    texts.prop_map(|texts| {
        let member = |(key, text): (&str, Option<&str>)| Some(format!("\"{key}\":{}", text?));
        KEYS.into_iter().zip(texts).filter_map(member).collect::<Vec<_>>().join(",")
    })
}

/// A place in `/v1/status`, and what is put there. That a context is too small for the plan is a
/// finding, whoever says so.
fn status_change() -> impl Strategy<Value = (&'static str, &'static str)> {
    const PLACES: [&str; 15] = [
        "/engine",
        "/engine/version",
        "/engine/commit",
        "/engine/commit_missing",
        "/engine/dirty",
        "/build",
        "/build/kind",
        "/build/options",
        "/model",
        "/model/id",
        "/model/quantization",
        "/capacity",
        "/device",
        "/device/name",
        "/requests_served",
    ];
    const TEXTS: [&str; 11] = [
        "null",
        "{}",
        "[]",
        "\"\"",
        "\"x\"",
        "1e308",
        "-1",
        "18446744073709551615",
        "true",
        "[null,[[]]]",
        "{\"a\":null,\"b/~\":[null,{\"c\":null}]}",
    ];
    (prop::sample::select(&PLACES), prop::sample::select(&TEXTS))
}

/// What a review of the run's report finds, if that is an error.
fn errors(config: &Config, outputs: &[u8]) -> String {
    let report = rebuild_from(outputs, &serde_json::to_vec(config).unwrap()).unwrap().json;
    let outcome = check(&Subject {
        report: &report,
        directory: None,
        rebuilt: Some(Ok(&report)),
        protocols: std::slice::from_ref(&config.protocol),
    });
    if outcome.fails_on(Severity::Error) { outcome.text() } else { String::new() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn honest_runs_have_no_error(
        replies in prop::collection::vec(reply(), 5),
        gap_ns in 0..9_000_000_u64,
        sent: Index,
        interrupted: bool,
    ) {
        let config = whole(interrupted.then_some(Stop::Interrupted));
        let planned = plan(&config.protocol, false);
        let sent = if interrupted { sent.index(planned.len()) } else { planned.len() };
        let scripts = planned.iter().zip(replies);
        let scripts = scripts.map(|(planned, reply)| honest(reply, planned.max_output_tokens));
        let scripts: Vec<_> = scripts.map(|honest| honest.script()).collect();
        let outputs = outputs(&planned[..sent], &scripts[..sent], gap_ns);
        prop_assert_eq!(errors(&config, &outputs), "");
    }

    #[test]
    fn no_status_is_an_error(changes in prop::collection::vec(status_change(), 1..4)) {
        let mut config = whole(None);
        let Fact::Known(status) = &mut config.server.status else { panic!() };
        for (pointer, text) in changes {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            if let Some(Value::Object(parent)) = status.pointer_mut(parent) {
                parent.insert(key.to_string(), serde_json::from_str(text).unwrap());
            }
        }
        let planned = plan(&config.protocol, false);
        let reply = Honest { steps: vec![100; 4], ..Honest::PLAIN }.script();
        let outputs = outputs(&planned, &vec![reply; planned.len()], 1_000_000);
        prop_assert_eq!(errors(&config, &outputs), "");
    }

    #[test]
    fn no_timings_are_an_error(
        replies in prop::collection::vec((reply(), timings()), 5),
    ) {
        let config = whole(None);
        let planned = plan(&config.protocol, false);
        let scripts = planned.iter().zip(replies).map(|(planned, (reply, timings))| {
            let mut script = honest(reply, planned.max_output_tokens).script();
            for (_, bytes) in &mut script.reads {
                let text = String::from_utf8(std::mem::take(bytes)).unwrap();
                let spoilt = match text.split_once("\"timings\":{") {
                    Some((before, after)) => {
                        let (_, after) = after.split_once('}').unwrap();
                        format!("{before}\"timings\":{{{timings}}}{after}")
                    }
                    None => text,
                };
                *bytes = spoilt.into_bytes();
            }
            script
        });
        let outputs = outputs(&planned, &scripts.collect::<Vec<_>>(), 1_000_000);
        prop_assert_eq!(errors(&config, &outputs), "");
    }
}
