//! The review ends in an outcome whatever it is given.

use super::{Bench, protocols, read};
use crate::check::report::{MAX_REQUESTS, MAX_SUMMARIES};
use crate::check::rules::{CHECKS, Needs};
use crate::check::{MAX_FINDINGS, Outcome, Severity, State, Subject, check};
use crate::json::{Number, Value};
use proptest::prelude::*;

fn review_bytes(report: &[u8]) -> Outcome {
    let protocols = protocols();
    let outcome = check(&Subject { report, directory: None, rebuilt: None, protocols: &protocols });
    assert_eq!(outcome.rules.len(), CHECKS.len());
    assert!(outcome.text().ends_with(" not applicable\n"));
    assert!(outcome.json().is_object());
    outcome
}

#[test]
fn what_is_no_document_is_one_finding() {
    for (bytes, found) in [
        (&b""[..], "byte 0: the document ends, a JSON value expected"),
        (b"\xff", "byte 0: not UTF-8"),
        (&[b'['; 65], "byte 64: nested deeper than 64 levels"),
    ] {
        let outcome = review_bytes(bytes);
        let findings: Vec<_> =
            outcome.findings.iter().map(|f| (f.rule.id.as_str(), &f.found)).collect();
        assert_eq!(findings, [("R400", &found.to_string())]);
    }
}

#[test]
fn an_unknown_protocol_is_said_once() {
    let mut bench = Bench::open("golden/reports/full.json");
    bench.protocols.clear();
    let outcome = bench.review(&bench.root);
    let errors = outcome.findings.iter().filter(|finding| finding.severity == Severity::Error);
    assert_eq!(errors.map(|error| error.rule.id.as_str()).collect::<Vec<_>>(), ["R300"]);
    let unknown = State::NotApplicable("the protocol is unknown");
    for ((rule, state), check) in outcome.rules.iter().zip(CHECKS) {
        let planned = matches!(check.needs, Needs::Protocol | Needs::FullAndProtocol);
        assert_eq!(planned, *state == unknown, "{}", rule.id);
    }
}

#[test]
fn findings_of_a_rule_are_few_but_all_are_counted() {
    let mut bench = Bench::open("golden/reports/full.json");
    bench.root.set("/requests", Value::Array(vec![Value::Null; 150])).unwrap();
    let outcome = bench.review(&bench.root);
    let rule = |id: &str| outcome.rules.iter().find(|(rule, _)| rule.id == id).unwrap().1;
    assert_eq!(rule("R003"), State::Failed { places: 150, failed: 150 });
    let findings = outcome.findings.iter().filter(|finding| finding.rule.id == "R003");
    assert_eq!(findings.count(), MAX_FINDINGS);
}

#[test]
fn lists_of_a_stranger_have_an_end() {
    let mut bench = Bench::open("golden/reports/full.json");
    bench.root.set("/requests", Value::Array(vec![Value::Null; MAX_REQUESTS + 1])).unwrap();
    bench.root.set("/summaries", Value::Array(vec![Value::Null; MAX_SUMMARIES + 1])).unwrap();
    bench.root.set(&format!("/run/{}", "k".repeat(1 << 20)), Value::Null).unwrap();
    let findings = bench.review(&bench.root).findings;
    let found: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.rule.id == "R402" && finding.expected.starts_with("at most"))
        .map(|finding| finding.found.as_str())
        .collect();
    assert_eq!(found, ["10001", "1001"]);
    assert!(findings.iter().all(|finding| finding.pointer.chars().count() <= 401));
}

/// Small documents whose keys are those of reports, so that rules find something to stumble over.
fn value() -> impl Strategy<Value = Value> {
    let number = prop::sample::select(vec![
        "0",
        "1",
        "-1",
        "3",
        "0.5",
        "1e-9",
        "1e400",
        "-1e400",
        "18446744073709551616",
        "9e29",
    ]);
    let word = prop::sample::select(vec![
        "",
        "id",
        "warmup",
        "performance",
        "truncated",
        "length",
        "custom",
        "run --url '",
        "/",
        "é",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number.prop_map(|text| Value::Number(Number::new(text).unwrap())),
        word.prop_map(|text| Value::String(text.to_string())),
    ];
    let key = prop::sample::select(vec![
        "id", "case_id", "requests", "tokens", "timings", "total_s", "missing", "run", "n", "~/",
    ]);
    leaf.prop_recursive(3, 12, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((key.clone().prop_map(String::from), inner), 0..4)
                .prop_map(Value::Object),
        ]
    })
}

/// The pointers of all values of the fixtures.
fn places(bench: &Bench) -> Vec<String> {
    let mut places = Vec::new();
    bench.root.walk(&mut |place, _| places.push(place.to_string()));
    places
}

proptest! {
    /// P18: whatever the bytes.
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        review_bytes(&bytes);
    }

    #[test]
    fn any_document(value in value()) {
        review_bytes(value.to_string().as_bytes());
    }
}

proptest! {
    #![proptest_config(crate::fixture::cases(64))]

    /// P18: somewhere in a good report stands something else.
    #[test]
    fn any_value_anywhere(
        full: bool,
        changes in prop::collection::vec((any::<prop::sample::Index>(), value()), 1..4),
    ) {
        let name = if full { "full.json" } else { "wrapper.json" };
        let bench = Bench::open(&format!("golden/reports/{name}"));
        let (places, mut root) = (places(&bench), bench.root.clone());
        for (index, value) in changes {
            // An earlier change may have taken the place away.
            let _ = root.set(index.get(&places).as_str(), value);
        }
        review_bytes(root.to_string().as_bytes());
    }

    /// A report that is cut off or has a byte changed.
    #[test]
    fn any_byte_anywhere(index: prop::sample::Index, byte: u8, cut: bool) {
        let mut bytes = read("golden/reports/full.json");
        let at = index.index(bytes.len());
        bytes[at] = byte;
        bytes.truncate(if cut { at } else { bytes.len() });
        review_bytes(&bytes);
    }
}
