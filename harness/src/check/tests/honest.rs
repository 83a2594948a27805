//! No false alarm: whatever an honest server does, and wherever the operator interrupts it, the
//! report of this program has no error and is what its record makes.

use crate::check::{Severity, Subject, check};
use crate::config::{Artifact, Config, End, Stop};
use crate::fixture::{Honest, config, outputs};
use crate::plan::plan;
use crate::report::rebuild::rebuild_from;
use proptest::prelude::*;
use proptest::sample::Index;

/// One request: how many tokens of its cap and how many of them are reasoning, then the engine's
/// tenths of a millisecond for the prompt and for each step, then the way to the client.
type Reply = (Index, Index, u64, u64, u64);

fn reply() -> impl Strategy<Value = Reply> {
    (any::<Index>(), any::<Index>(), 1..20_000_u64, 1..400_u64, 0..500_u64)
}

fn honest((tokens, reasoning, prompt, step, delay): Reply, cap: u64) -> Honest {
    let tokens = 1 + tokens.index(cap as usize);
    let steps = (0..tokens as u64).map(|i| step + i % 7).collect();
    let truncated = tokens as u64 == cap;
    let reasoning = reasoning.index(tokens + 1);
    Honest { cached: 0, prompt, steps, reasoning, delay, truncated }
}

/// The fixture's run with the artifacts that a report has.
fn whole(stop: Option<Stop>) -> Config {
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
        let config_json = serde_json::to_vec(&config).unwrap();
        let report = rebuild_from(&outputs, &config_json).unwrap().json;
        let outcome = check(&Subject {
            report: &report,
            directory: None,
            rebuilt: Some(Ok(&report)),
            protocols: std::slice::from_ref(&config.protocol),
        });
        prop_assert!(!outcome.fails_on(Severity::Error), "{}", outcome.text());
    }
}
