//! No false alarm: whatever an honest server does, and wherever the operator interrupts it, the
//! report of this program has no error and is what its record makes. Nor has one of a server that
//! is honest but for its `timings` or for what it says of itself.

use crate::check::{Severity, Subject, check};
use crate::client::scripted::Script;
use crate::client::transport::FaultKind;
use crate::config::{Artifact, Config, Stop};
use crate::fact::Fact;
use crate::fixture::{Honest, cases, config, outputs};
use crate::plan::plan;
use crate::report::rebuild::rebuild_from;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

/// How far a reply comes: to its end, or a way to break off and where.
#[derive(Debug, Clone)]
enum End {
    Whole,
    Error(Index),
    Fault(FaultKind, Index),
    Refused,
}

/// One request: how many tokens of its cap and how many of them are reasoning, the times of the
/// prompt, of a step and of the way to the client, in nanoseconds or in what the engine prints.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    tokens: Index,
    reasoning: Index,
    times: [u64; 3],
    grain: (u64, u64, u64),
    end: End,
}

/// Times of up to two seconds, down to none at all: several tokens then come in one read. Units,
/// what the engine prints and the client's tick are nanoseconds, tenths of milliseconds and
/// milliseconds.
pub(super) fn reply() -> impl Strategy<Value = Reply> {
    let times = prop_oneof![
        (Just(100_000_u64), [1..20_000_u64, 0..400, 0..500]),
        (Just(1_u64), [1..2_000_000_000_u64, 0..40_000_000, 0..50_000_000]),
    ];
    let grains = (prop::sample::select(vec![1, 100_000_u64]), prop::sample::select(TICKS.to_vec()));
    (any::<Index>(), any::<Index>(), times, grains, end()).prop_map(
        |(tokens, reasoning, (unit, times), (printed, tick), end)| Reply {
            tokens,
            reasoning,
            times,
            grain: (unit, printed, tick),
            end,
        },
    )
}

const TICKS: [u64; 3] = [1, 100_000, 1_000_000];

fn end() -> impl Strategy<Value = End> {
    let kinds = vec![FaultKind::Broken, FaultKind::Timeout, FaultKind::Malformed];
    let fault = (prop::sample::select(kinds), any::<Index>());
    prop_oneof![
        12 => Just(End::Whole),
        1 => any::<Index>().prop_map(End::Error),
        1 => fault.prop_map(|(kind, at)| End::Fault(kind, at)),
        1 => Just(End::Refused),
    ]
}

impl Reply {
    pub(super) fn script(&self, cap: u64) -> Script {
        let tokens = 1 + self.tokens.index(cap as usize);
        let [prompt, step, delay] = self.times;
        let (unit_ns, printed_ns, tick_ns) = self.grain;
        let whole = Honest {
            prompt,
            steps: (0..tokens as u64).map(|i| step + i % 7 * (step / 50)).collect(),
            reasoning: self.reasoning.index(tokens + 1),
            delay,
            truncated: tokens as u64 == cap,
            unit_ns,
            printed_ns,
            tick_ns,
            ..Honest::PLAIN
        };
        self.end.of(whole.script())
    }
}

impl End {
    /// Of a whole script one that ends so: before its last event, which is `[DONE]`.
    fn of(&self, mut script: Script) -> Script {
        let before =
            |at: &Index, script: &Script| at.index(script.reads.len().saturating_sub(1).max(1));
        match self {
            End::Whole => script,
            End::Error(at) => {
                script.reads.truncate(before(at, &script) + 1);
                let last = script.reads.last_mut().unwrap();
                last.1 = b"data: {\"error\":{\"message\":\"full\",\"code\":500}}\n\n".to_vec();
                script
            }
            End::Fault(kind, at) => {
                script.reads.truncate(before(at, &script));
                script.ending_in(*kind, "for a test")
            }
            End::Refused => {
                script.reads.truncate(1);
                script.reads[0].1 = b"{\"error\":{\"message\":\"busy\"}}".to_vec();
                let content_type = Some("application/json".to_string());
                Script { status: 503, content_type, ..script }
            }
        }
    }
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
    let end = config.end.clone().map(|end| crate::config::End { stop, ..end });
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
    let config_json = serde_json::to_vec(config).unwrap();
    let report = rebuild_from(outputs, &config_json).unwrap().json;
    assert!(report == rebuild_from(outputs, &config_json).unwrap().json, "made otherwise again");
    let outcome = check(&Subject {
        report: &report,
        directory: None,
        rebuilt: Some(Ok(&report)),
        protocols: std::slice::from_ref(&config.protocol),
    });
    if outcome.fails_on(Severity::Error) { outcome.text() } else { String::new() }
}

#[test]
fn reasoning_and_answer_in_one_read_are_honest() {
    let config = whole(None);
    let planned = plan(&config.protocol, false);
    let together = Honest { steps: vec![100, 0], reasoning: 1, ..Honest::PLAIN }.script();
    let outputs = outputs(&planned, &vec![together; planned.len()], 0);
    assert_eq!(errors(&config, &outputs), "");
}

proptest! {
    #![proptest_config(cases(256))]

    /// P1: no false alarm, in whatever state each request ends, and the record makes the report.
    #[test]
    fn honest_runs_have_no_error(
        replies in prop::collection::vec(reply(), 9),
        gap_ns in 0..9_000_000_u64,
        interrupted in prop::option::of((any::<Index>(), any::<Index>())),
        optional: bool,
    ) {
        let mut config = whole(interrupted.is_some().then_some(Stop::Interrupted));
        config.run.optional = optional;
        let planned = plan(&config.protocol, optional);
        let scripts = planned.iter().zip(&replies);
        let mut scripts: Vec<_> =
            scripts.map(|(planned, reply)| reply.script(planned.max_output_tokens)).collect();
        if let Some((request, at)) = interrupted {
            scripts.truncate(request.index(planned.len()) + 1);
            let last = scripts.pop().unwrap();
            scripts.push(End::Fault(FaultKind::Interrupted, at).of(last));
        }
        let outputs = outputs(&planned[..scripts.len()], &scripts, gap_ns);
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
            let mut script = Reply { end: End::Whole, ..reply }.script(planned.max_output_tokens);
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
