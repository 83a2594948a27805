//! Reports that contradict themselves or claim more than they show, each with the rule that says
//! so. The base is the full report, in which none of these rules finds anything there.

use super::Bench;
use crate::json::{Value, parse};
use std::collections::BTreeSet;

/// Rules that find something, of any severity, where the base has nothing.
fn found(changes: &[(&str, &str)]) -> BTreeSet<&'static str> {
    let bench = Bench::open("golden/reports/full.json");
    let mut root = bench.root.clone();
    for (pointer, value) in changes {
        root.set(pointer, parse(value.as_bytes()).unwrap()).unwrap();
    }
    let findings = |root: &Value| -> BTreeSet<(&'static str, String)> {
        let findings = bench.review(root).findings.into_iter();
        findings.map(|finding| (finding.rule.id.as_str(), finding.pointer)).collect()
    };
    let before = findings(&bench.root);
    findings(&root).difference(&before).map(|(rule, _)| *rule).collect()
}

fn check(changes: &[(&str, &str)], rules: &[&str]) {
    let found = found(changes);
    assert!(rules.iter().all(|rule| found.contains(rule)), "{changes:?}: {found:?}");
}

/// B106: numbers that cannot both be.
#[test]
fn figures_that_contradict_each_other() {
    check(&[("/summaries/1/median", "120.5")], &["R069"]);
    check(&[("/summaries/1/max", "0.5")], &["R062", "R069"]);
    check(&[("/requests/2/tokens/cached_tokens", "5000")], &["R080"]);
    check(
        &[("/requests/2/tokens/cached_tokens", "5000"), ("/requests/2/tokens/read_tokens", "null")],
        &["R080"],
    );
    check(&[("/requests/1/timings/ttft_s", "99.5")], &["R096"]);
    check(&[("/requests/1/tokens/output_tokens", "513")], &["R083"]);
    check(&[("/requests/1/tokens/output_tokens", "0")], &["R083"]);
    check(&[("/summaries/1/n", "2")], &["R063"]);
    check(&[("/requests/1/status", "\"failed\"")], &["R045"]);
    check(&[("/summaries/2/median", "0.2")], &["R069"]);
    check(&[("/requests/1/metrics/decode_tps", "\"NaN\"")], &["R402"]);
}

/// B107: times that are none, and rates that agree with them.
#[test]
fn sizes_that_cannot_be() {
    check(&[("/requests/1/timings/ttft_s", "0.0")], &["R094"]);
    check(&[("/requests/1/timings/total_s", "-1.5")], &["R095"]);
    check(&[("/requests/1/timings/prompt_s", "-0.5")], &["R090"]);
    check(&[("/requests/1/timings/decode_s", "-0.5")], &["R091"]);
    check(&[("/requests/1/tokens/input_tokens", "1000000000000")], &["R080", "R088"]);
    check(
        &[
            ("/requests/1/timings/prompt_s", "0.0001"),
            ("/requests/1/metrics/prompt_tps", "770000.0"),
        ],
        &["R097", "R098"],
    );
}

/// B101: what failed is in the counts, and in no summary.
#[test]
fn failures_keep_their_place() {
    check(&[("/request_counts/performance/failed", "1")], &["R041", "R045"]);
    check(&[("/request_counts/performance/planned", "8")], &["R042", "R043"]);
    let excluded = r#"[{"request_id": "performance-short-r1", "reason": "too slow"}]"#;
    check(
        &[
            ("/summaries/4/n", "2"),
            (
                "/summaries/4/included_request_ids",
                r#"["performance-short-r2", "performance-short-r3"]"#,
            ),
            ("/summaries/4/excluded", excluded),
        ],
        &["R065", "R069", "R076"],
    );
}

/// B112: all right of few is said with what it shows.
#[test]
fn few_right_answers_show_little() {
    let bench = Bench::open("golden/reports/full.json");
    let findings = bench.review(&bench.root).findings;
    let told = findings.iter().find(|finding| finding.rule.id == "R115").unwrap();
    assert!(told.words().contains("12"), "{}", told.words());
}

/// B113: of how many runs, and of which.
#[test]
fn runs_that_were_chosen() {
    check(&[("/requests/7/repetition", "5")], &["R071"]);
    check(&[("/summaries/0/included_request_ids/0", "\"warmup\"")], &["R064"]);
    check(
        &[("/summaries/0/included_request_ids", r#"["performance-short-r1"]"#)],
        &["R063", "R064"],
    );
    check(&[("/summaries/0/n", "1")], &["R063", "R076"]);
}

/// B099: a first token that comes in a fiftieth of the time was not waited for again.
#[test]
fn later_repetitions_are_not_served_from_a_cache() {
    let sooner = [("/requests/5/timings/ttft_s", "0.05"), ("/requests/8/timings/ttft_s", "0.05")];
    check(&sooner, &["R436"]);
    check(&[("/requests/5/tokens/cached_tokens", "2000")], &["R082", "R152"]);
}
