//! Publications: those of honest runs are accepted, with no warning that the report itself does not
//! have, and no digit of one can be changed unseen.

use super::honest::{Reply, reply, whole};
use super::mutation::{score, side_by_side};
use super::{Bench, failures};
use crate::check::{Outcome, Severity, Subject, Verdict, check};
use crate::config::{Config, Stop};
use crate::fact::Fact;
use crate::fixture::{Honest, outputs};
use crate::json::{self, Value};
use crate::plan::plan;
use crate::protocol::Protocol;
use crate::publication::order::{Correction, ORDER, Order};
use crate::publication::tar::{self, Files};
use crate::publication::{SELECTED, excluded_folder, publication};
use crate::report::rebuild::rebuild_from;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// The report of a run that began in this second of a minute.
fn report(config: &Config, second: usize, replies: &[Reply]) -> Vec<u8> {
    let mut config = config.clone();
    config.run.id = format!("20270115T0800{second:02}Z-0badcafe");
    config.run.started_at = format!("2027-01-15T08:00:{second:02}Z");
    let planned = plan(&config.protocol, false);
    let scripts = planned.iter().zip(replies);
    let scripts = scripts.map(|(planned, reply)| reply.script(planned.max_output_tokens));
    let scripts: Vec<_> = scripts.collect();
    let outputs = outputs(&planned[..scripts.len()], &scripts, 1_000_000);
    rebuild_from(&outputs, &serde_json::to_vec(&config).unwrap()).unwrap().json
}

fn archive(selected: &[u8], excluded: &[Vec<u8>], order: &Order) -> Vec<u8> {
    let mut files = Files::new();
    files.insert(format!("{SELECTED}/results.json"), selected.to_vec());
    for (index, report) in excluded.iter().enumerate() {
        files.insert(format!("{}/results.json", excluded_folder(index + 1)), report.clone());
    }
    for correction in &order.corrections {
        files.insert(correction.evidence_path.clone(), b"the log".to_vec());
    }
    let reasons = vec!["the machine was busy".to_string(); excluded.len()];
    let order = Order { reasons, ..order.clone() };
    files.insert(ORDER.to_string(), order.print().into_bytes());
    tar::write(&files).unwrap()
}

fn judged(bytes: &[u8], rebuilt: Option<&[u8]>, protocol: &Protocol) -> Outcome {
    let protocols = std::slice::from_ref(protocol);
    check(&Subject { report: bytes, directory: None, rebuilt: rebuilt.map(Ok), protocols })
}

/// Rules that find more than something worth knowing.
fn warnings(outcome: &Outcome) -> BTreeSet<&str> {
    let findings = outcome.findings.iter().filter(|f| f.severity > Severity::Info);
    findings.map(|finding| finding.rule.id.as_str()).collect()
}

fn order(config: &Config) -> Order {
    let facts = br#"{"gpu_unlock": {"kernel": "6.1", "enabled": null, "sources": ["the log"]}}"#;
    assert!(matches!(config.machine.os_version, Fact::Unknown(_)), "so no kernel to differ from");
    Order {
        reasons: Vec::new(),
        corrections: vec![Correction {
            run_id: "20270115T080009Z-0badcafe".to_string(),
            pointer: "/configuration/track".to_string(),
            new: Value::String("standard".to_string()),
            evidence_path: "evidence/engine.log".to_string(),
        }],
        operator: Some(json::parse(facts).unwrap()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn honest_runs_are_published_without_an_error(
        replies in prop::collection::vec(reply(), 5),
        others in prop::collection::vec(prop::collection::vec(reply(), 5), 0..3),
        sent: prop::sample::Index,
        interrupted: bool,
        ordered: bool,
    ) {
        let config = whole(interrupted.then_some(Stop::Interrupted));
        let sent = if interrupted { sent.index(6) } else { 5 };
        let selected = report(&config, 9, &replies[..sent]);
        let whole = whole(None);
        let excluded: Vec<_> =
            others.iter().enumerate().map(|(i, replies)| report(&whole, i, replies)).collect();
        let order = if ordered { order(&config) } else { Order::default() };
        let archive = archive(&selected, &excluded, &order);
        let published = publication(&archive).unwrap().into_bytes();
        let printed = json::canonical(&published).unwrap().into_bytes();
        prop_assert!(printed == published);
        let bare = judged(&published, None, &config.protocol);
        prop_assert!(bare.verdict != Verdict::Invalid, "{}", bare.text());
        let found = judged(&published, Some(&published), &config.protocol);
        prop_assert!(found.verdict != Verdict::Invalid, "{}", found.text());
        let of_the_report = judged(&selected, Some(&selected), &config.protocol);
        let (found, known) = (warnings(&found), warnings(&of_the_report));
        prop_assert!(found.is_subset(&known), "{:?} {:?}", found, known);
    }
}

/// The publication of a run with one left out, a correction, facts and an observation of memory.
fn published() -> (Vec<u8>, Protocol) {
    let config = whole(None);
    let planned = plan(&config.protocol, false);
    let run = |second: usize, base: u64| {
        let mut config = config.clone();
        config.run.id = format!("20270115T0800{second:02}Z-0badcafe");
        config.run.started_at = format!("2027-01-15T08:00:{second:02}Z");
        let script = |i: usize| {
            let steps = (0..4).map(|step| base + 17 * i as u64 + step).collect();
            Honest { prompt: 5_133 + 11 * i as u64, steps, ..Honest::PLAIN }.script()
        };
        let scripts: Vec<_> = (0..planned.len()).map(script).collect();
        let outputs = outputs(&planned, &scripts, 1_000_000);
        let json = rebuild_from(&outputs, &serde_json::to_vec(&config).unwrap()).unwrap().json;
        let mut report = json::parse(&json).unwrap();
        for (at, value) in [("/hardware", HARDWARE), ("/extensions/memory_observation", MEMORY)] {
            report.set(at, json::parse(value.as_bytes()).unwrap()).unwrap();
        }
        report.canonical().into_bytes()
    };
    let archive = archive(&run(9, 100), &[run(8, 300)], &order(&config));
    (publication(&archive).unwrap().into_bytes(), config.protocol)
}

const HARDWARE: &str = r#"{"gpus":[{"device_index":1,"name":"a card","memory_bytes":8589934592,
    "memory_kind":"dedicated","power_limit_w":170.0}],"cpu":"a processor",
    "ram_bytes":8589934592,"storage":null,"background_workloads":null}"#;
const MEMORY: &str = r#"{"sample_count":3,
    "system":{"used_peak_bytes":3221225472,"available_min_bytes":5368709120,
        "swap_used_min_bytes":4096,"swap_used_max_bytes":8192},
    "swapped":{"pages_in":1,"pages_out":0},
    "gpus":{"1":{"used_first_bytes":1048576,"used_peak_bytes":4194304,
        "power_limit_below_default":true}},
    "other_gpu_processes":0,"model_resident_bytes_before":null}"#;

#[test]
fn no_digit_of_a_publication_can_be_changed_unseen() {
    let (published, protocol) = published();
    let honest = judged(&published, Some(&published), &protocol);
    assert!(honest.verdict != Verdict::Invalid, "{}", honest.text());
    let digits: Vec<usize> =
        (0..published.len()).filter(|at| published[*at].is_ascii_digit()).collect();
    let unseen = |digits: &[usize]| -> Vec<usize> {
        let mut bytes = published.clone();
        let unseen = digits.iter().filter(|at| {
            let digit = bytes[**at];
            bytes[**at] = b'0' + (digit - b'0' + 1) % 10;
            let found = judged(&bytes, Some(&published), &protocol);
            bytes[**at] = digit;
            found.verdict != Verdict::Invalid
        });
        unseen.copied().collect()
    };
    assert!(digits.len() > 500);
    assert_eq!(side_by_side(&digits, unseen), [0; 0]);
}

/// Without the archive, figures of the machine and of what was declared stand alone.
#[test]
fn most_digits_are_seen_in_the_bare_document() {
    let (published, protocol) = published();
    let bench = Bench { root: json::parse(&published).unwrap(), protocols: vec![protocol] };
    let score = score(&bench);
    let percent = 100.0 * score.found as f64 / score.mutants as f64;
    println!("{} of {} changed digits found, {percent:.1} %", score.found, score.mutants);
    assert!(percent >= 70.0, "only {percent:.1} %");
}

#[test]
fn an_observation_of_this_program_is_reviewed_as_others_are() {
    let (published, protocol) = published();
    let bench = Bench { root: json::parse(&published).unwrap(), protocols: vec![protocol] };
    let check = |at: &str, number: &str, rule: &str| {
        let mut root = bench.root.clone();
        root.set(at, json::parse(number.as_bytes()).unwrap()).unwrap();
        let found = failures(&bench.review(&root));
        assert!(found.iter().any(|(id, _)| *id == rule), "{at} {number}: {found:?}");
    };
    let before = failures(&bench.review(&bench.root));
    let swapped = ("R225", "/memory_observation/swapped/pages_in".to_string());
    assert!(before.contains(&swapped), "{before:?}");
    assert!(
        before.iter().all(|(id, _)| !matches!(*id, "R220" | "R221" | "R222" | "R223" | "R224"))
    );
    check("/memory_observation/system/used_peak_bytes", "3221221376", "R220");
    check("/memory_observation/system/swap_used_max_bytes", "12288", "R221");
    check("/memory_observation/gpus/1/used_peak_bytes", "4194305", "R222");
    check("/memory_observation/gpus/1/used_peak_bytes", "8589938688", "R223");
    check("/memory_observation/gpus/1/used_first_bytes", "4198400", "R223");
    check("/memory_observation/sample_count", "0", "R224");
    check("/memory_observation/rtx3060_peak_used_mib", "1.0", "R434");
    check("/excluded_runs/0/resource_observation/system/used_peak_bytes", "4096", "R220");
    check("/operator/gpu_unlock/devices", r#"[{"used_for_strata_inference":true}]"#, "R213");
    check("/corrections/0/evidence_sha256", "null", "R235");
    check("/evidence/archive_bytes", "-1", "R402");
}

#[test]
fn kept_blocks_are_the_reports_own_bytes() {
    let config = whole(None);
    let selected = Honest { steps: vec![100; 4], ..Honest::PLAIN }.script();
    let planned = plan(&config.protocol, false);
    let outputs = outputs(&planned, &vec![selected; planned.len()], 1_000_000);
    let report = rebuild_from(&outputs, &serde_json::to_vec(&config).unwrap()).unwrap().json;
    let published = publication(&archive(&report, &[], &Order::default())).unwrap();
    let report = String::from_utf8(report).unwrap();
    for block in ["protocol", "hardware", "configuration", "summaries", "quality"] {
        let begins = report.find(&format!("\n  \"{block}\": ")).unwrap();
        let length = report[begins + 1..].find("\n  \"").unwrap();
        assert!(published.contains(&report[begins..begins + 1 + length]), "{block}");
    }
}

fn check_refusal(order: &Order, expected: &str) {
    let config = whole(Some(Stop::Interrupted));
    let run = |second| report(&config, second, &[]);
    let problem = publication(&archive(&run(9), &[run(8)], order)).unwrap_err();
    assert!(problem.contains(expected), "{problem}");
}

#[test]
fn corrections_that_correct_nothing_are_refused() {
    let good = order(&whole(None)).corrections.remove(0);
    let check = |correction: Correction, expected: &str| {
        let order = Order { corrections: vec![correction], ..Order::default() };
        check_refusal(&order, expected);
    };
    let text = |text: &str| Value::String(text.to_string());
    check(Correction { run_id: "x".to_string(), ..good.clone() }, "no such run is published here");
    check(Correction { new: text("custom"), ..good.clone() }, "says \"custom\" already");
    check(Correction { new: Value::Null, ..good.clone() }, "give what belongs there");
    let at = |pointer: &str| Correction { pointer: pointer.to_string(), ..good.clone() };
    check(at("/configuration/track_notes"), "no text, number or truth value there");
    check(at("/summaries/0/median"), "measured again, not corrected");
    let operator = json::parse(br#"{"gpu_unlock": {"enabled": true}}"#).ok();
    check_refusal(&Order { operator, ..Order::default() }, "`gpu_unlock` have no `sources`");
}

#[test]
fn a_run_is_published_once() {
    let config = whole(Some(Stop::Interrupted));
    let run = |second| report(&config, second, &[]);
    let check = |excluded: &[Vec<u8>], expected: &str| {
        let problem = publication(&archive(&run(9), excluded, &Order::default())).unwrap_err();
        assert!(problem.starts_with(expected), "{problem}");
    };
    check(&[run(9)], "excluded-1/results.json: run 20270115T080009Z-0badcafe is selected/");
    check(
        &[run(8), run(8)],
        "excluded-2/results.json: run 20270115T080008Z-0badcafe is excluded-1",
    );
    check(&[b"{}".to_vec()], "excluded-1/results.json: no report of a run");
    assert!(publication(b"PK").unwrap_err().starts_with("evidence.tar: byte 0: not an archive"));
}
