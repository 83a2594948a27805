//! Comparing: the order of the two changes signs and nothing else, and a ratio that would mislead
//! is not given.

use super::{Change, Comparison, Side, Verdict};
use crate::check::{Outcome, Subject, check};
use crate::json::hostile::{self, golden};
use crate::json::{Number, Value, parse};
use crate::view::Drafts;
use proptest::prelude::*;

/// A report with its review, by no protocol: figures that tests changed are not the point here.
#[derive(Debug)]
struct Case {
    root: Value,
    outcome: Outcome,
    drafts: Drafts,
}

impl Case {
    fn new(root: Value) -> Case {
        let subject = Subject { report: b"null", directory: None, rebuilt: None, protocols: &[] };
        let outcome = check(&subject);
        Case { root, outcome: Outcome { findings: Vec::new(), ..outcome }, drafts: Drafts::new() }
    }

    fn side(&self, name: &'static str) -> Side<'_> {
        let report = crate::view::Report::new(name, &self.root);
        Side { report, outcome: &self.outcome, drafts: &self.drafts }
    }

    fn of(name: &str, changes: &[(&str, &str)]) -> Case {
        let mut root = parse(&golden(name)).unwrap();
        for (pointer, value) in changes {
            root.set(pointer, parse(value.as_bytes()).unwrap()).unwrap();
        }
        Case::new(root)
    }
}

fn compared<'a>(a: &'a Case, b: &'a Case, threshold: Option<f64>) -> Comparison<'a> {
    Comparison::new(a.side("A"), b.side("B"), threshold)
}

fn verdict(a: &Case, b: &Case, threshold: Option<f64>) -> Verdict {
    compared(a, b, threshold).verdict()
}

fn text(a: &Case, b: &Case, threshold: Option<f64>) -> String {
    compared(a, b, threshold).sheet().text()
}

#[test]
fn reports_side_by_side() {
    let [full, wrapper] = ["full.json", "wrapper.json"].map(|name| Case::of(name, &[]));
    insta::assert_snapshot!("wrapper", text(&full, &wrapper, None));
    let slower = Case::of(
        "embedded.json",
        &[
            ("/requests/1/metrics/prompt_tps", "13000.5"),
            ("/requests/4/metrics/prompt_tps", "13000.5"),
            ("/requests/7/metrics/prompt_tps", "17391.304348"),
            ("/requests/1/tokens/output_tokens", "63"),
        ],
    );
    insta::assert_snapshot!("slower", text(&Case::of("embedded.json", &[]), &slower, Some(5.0)));
}

/// The verdict on `embedded.json` and the same with one place changed, either way round.
fn check_change(change: (&str, &str), expected: Verdict, words: &str) {
    let (a, b) = (Case::of("embedded.json", &[]), Case::of("embedded.json", &[change]));
    for (a, b) in [(&a, &b), (&b, &a)] {
        assert_eq!(verdict(a, b, None), expected, "{change:?}");
        let text = text(a, b, None);
        assert!(text.contains(words), "{text}");
    }
}

/// B111: other protocols, samplings, bodies and lengths are named and no ratio is given.
///
/// B109: what is only worth knowing of build and machine is listed.
#[test]
fn what_would_mislead_is_refused() {
    use Verdict::{Comparable, Incomparable, Refused};
    check_change(("/software/engine_version", "\"9\""), Comparable, "/software/engine_version");
    for place in ["/hardware/cpu", "/extensions/governor", "/extensions/engine_device/kernels"] {
        check_change((place, "\"other\""), Comparable, place);
    }
    check_change(("/requests/1/timings/total_s", "9.5"), Comparable, "in 1 of 3");
    check_change(
        ("/requests/2/tokens/output_tokens", "9"),
        Refused,
        "no ratio of prompt-160 decode_tps, prompt-160 first_answer_s, prompt-160 total_s: output \
         lengths differ in 1 of 3 pairs, as in ",
    );
    check_change(("/requests/2/tokens/output_tokens", "null"), Refused, "lengths are not known");
    check_change(("/requests/2/tokens/read_tokens", "9"), Refused, "tokens read differ in 1 of 3");
    check_change(("/requests/2/timings/ttft_s", "null"), Refused, "1 of 3 pairs lack a figure");
    check_change(("/requests/2/timings/ttft_s", "0"), Refused, "1 of 3 pairs lack a figure");
    for (pointer, value) in [
        ("/protocol/id", "\"other\""),
        ("/protocol/corpus_sha256", "\"other\""),
        ("/configuration/template/sha256", "null"),
        ("/configuration/sampling/top_k", "40"),
        ("/configuration/chat_template_kwargs/thinking", "true"),
        ("/requests/3/max_output_tokens", "65"),
        ("/requests/3/seed", "7"),
        ("/extensions/request_sha256/warmup", "\"other\""),
    ] {
        // A block that only one has is named as a whole.
        let name = pointer.trim_end_matches("/thinking");
        check_change((pointer, value), Incomparable, &format!("because  different at {name}"));
    }
    check_change(("/requests", "[]"), Incomparable, " holds summaries only");
}

/// B114: rates under another acceptance are no comparison.
#[test]
fn draft_acceptance_counts_where_both_know_it() {
    let (mut a, mut b) = (Case::of("embedded.json", &[]), Case::of("embedded.json", &[]));
    let id = || "performance-short-r2".to_string();
    a.drafts.insert(id(), (8, 5));
    assert_eq!(verdict(&a, &b, None), Verdict::Comparable);
    b.drafts.insert(id(), (8, 6));
    assert_eq!(verdict(&a, &b, None), Verdict::Refused);
    let text = text(&a, &b, None);
    let words = "draft acceptance differs in 1 of 3 pairs, as in 5 of 8 and 6 of 8";
    assert!(text.contains(words), "{text}");
}

#[test]
fn a_rejected_report_is_not_compared() {
    let (a, mut b) = (Case::of("embedded.json", &[]), Case::of("embedded.json", &[]));
    let subject = Subject { report: b"null", directory: None, rebuilt: None, protocols: &[] };
    b.outcome = check(&subject);
    assert_eq!(verdict(&a, &b, None), Verdict::Incomparable);
}

#[test]
fn without_a_threshold_nothing_regresses() {
    let fast = Case::of("embedded.json", &[]);
    let slow: Vec<String> = (1..10).map(|at| format!("/requests/{at}/timings/total_s")).collect();
    let slow: Vec<_> = slow.iter().map(|pointer| (pointer.as_str(), "9.5")).collect();
    let slow = Case::of("embedded.json", &slow);
    assert_eq!(verdict(&fast, &slow, None), Verdict::Comparable);
    assert_eq!(verdict(&fast, &slow, Some(5.0)), Verdict::Regressed);
    assert_eq!(verdict(&slow, &fast, Some(5.0)), Verdict::Comparable);
    assert_eq!(verdict(&fast, &slow, Some(1e9)), Verdict::Comparable);
}

/// Other figures for the measured requests of `embedded.json`.
fn figures() -> impl Strategy<Value = Case> {
    let metric = prop::sample::select(vec![
        "metrics/prompt_tps",
        "metrics/decode_tps",
        "timings/ttft_s",
        "timings/total_s",
        "tokens/output_tokens",
    ]);
    let change = (1..10_usize, metric, 1..90_000_u32);
    prop::collection::vec(change, 0..30).prop_map(|changes| {
        let mut root = parse(&golden("embedded.json")).unwrap();
        for (at, metric, value) in changes {
            let thousandths = format!("{}.{:03}", value / 1000, value % 1000);
            let text = if metric.starts_with("tokens") { value.to_string() } else { thousandths };
            let value = Value::Number(Number::new(&text).unwrap());
            root.set(&format!("/requests/{at}/{metric}"), value).unwrap();
        }
        Case::new(root)
    })
}

proptest! {
    #![proptest_config(crate::fixture::cases(64))]

    /// P20: a verdict has no direction, a change has one.
    #[test]
    fn swapping_the_two_turns_signs_only(
        a in figures(),
        b in figures(),
        threshold in prop::option::of(0.0..50.0_f64),
    ) {
        let (there, back) = (compared(&a, &b, threshold), compared(&b, &a, threshold));
        prop_assert_eq!(there.groups.len(), back.groups.len());
        let mirrored = |change| match change {
            Change::Slower => Change::Faster,
            Change::Within => Change::Within,
            Change::Faster => Change::Slower,
        };
        for (group, mirror) in there.groups.iter().zip(&back.groups) {
            prop_assert_eq!(group.ratio.is_ok(), mirror.ratio.is_ok());
            prop_assert_eq!(group.slowness(), mirror.slowness().map(|log| 0.0 - log));
            prop_assert_eq!(there.change(group), back.change(mirror).map(mirrored));
        }
        let comparable = |of: &Comparison| of.verdict() != Verdict::Incomparable;
        prop_assert!(comparable(&there) && comparable(&back));
    }

    #[test]
    fn whatever_parses_is_compared(a in hostile::report(), b in hostile::report()) {
        let (a, b) = (Case::new(a), Case::new(b));
        for (a, b) in [(&a, &b), (&b, &a), (&a, &a)] {
            let comparison = compared(a, b, Some(5.0));
            let sheet = comparison.sheet();
            let _ = [sheet.text(), sheet.markdown(), sheet.csv(), sheet.json()];
        }
        let verdict = |a, b| verdict(a, b, None);
        prop_assert_eq!(verdict(&a, &b), verdict(&b, &a));
    }
}
