//! What is shown: our fixtures as people read them, and whatever a stranger's file holds.

use super::{Report, Sheet, sheet};
use crate::check::{Subject, check};
use crate::json::hostile::{self, poison};
use crate::json::{self, Value};
use proptest::prelude::*;

fn shown<T>(bytes: &[u8], look: impl Fn(&Sheet) -> T) -> T {
    let root = json::parse(bytes).unwrap();
    let subject = Subject { report: bytes, directory: None, rebuilt: None, protocols: &[] };
    let outcome = check(&subject);
    look(&sheet(&Report::new("", &root), &outcome))
}

fn golden(name: &str) -> Vec<u8> {
    hostile::golden(name)
}

#[test]
fn reports_as_text() {
    insta::assert_snapshot!("full", shown(&golden("full.json"), |sheet| sheet.text()));
    insta::assert_snapshot!("wrapper", shown(&golden("wrapper.json"), |sheet| sheet.text()));
}

#[test]
fn a_wrapper_as_markdown() {
    insta::assert_snapshot!("markdown", shown(&golden("wrapper.json"), |sheet| sheet.markdown()));
}

#[test]
fn csv_headers() {
    let header = |name| shown(&golden(name), |s| s.csv().split("\r\n").next().unwrap().to_string());
    insta::assert_snapshot!("csv", [header("full.json"), header("wrapper.json")].join("\n"));
}

#[test]
fn json_keeps_the_digits() {
    let report = golden("full.json");
    let text = shown(&report, |sheet| sheet.json());
    let tables = json::parse(text.as_bytes()).unwrap();
    let root = json::parse(&report).unwrap();
    let rows = tables.pointer("/tables/requests/rows").unwrap().items();
    assert_eq!(rows.len(), 22);
    for row in rows {
        let at = row.get("pointer").unwrap().as_str().unwrap();
        for column in tables.pointer("/tables/requests/columns").unwrap().items() {
            let text = |key: &str| column.get(key).unwrap().as_str().unwrap();
            let found = row.pointer(&format!("/cells/{}", text("name"))).unwrap();
            let wanted = root.pointer(&format!("{at}{}", text("path"))).unwrap_or(&Value::Null);
            assert_eq!(found, wanted, "{at} {}", text("name"));
        }
    }
}

/// How the summaries of first answers are read, by case, after some requests were changed.
fn check_reading(changes: &[(&str, Value)], expected: &str) {
    let mut root = json::parse(&golden("full.json")).unwrap();
    for (pointer, value) in changes {
        root.set(pointer, value.clone()).unwrap();
    }
    let readings = shown(root.to_string().as_bytes(), |sheet| {
        let table = sheet.tables.iter().find(|table| table.name == "summaries").unwrap();
        let reading = |(_, cells): &(String, Vec<super::Cell>)| cells[10].text().into_owned();
        table.rows.iter().map(reading).collect::<Vec<_>>()
    });
    assert_eq!(readings[13], expected);
}

#[test]
fn a_median_needs_the_requests_that_never_answered() {
    let number = |text: &str| Value::Number(json::Number::new(text).unwrap());
    check_reading(&[], "answered by the cap 2 of 3; median of all 3: 10.813452");
    // Cut off before the others answered: nobody knows whether it would have been the third.
    check_reading(
        &[("/requests/3/timings/total_s", number("10.7"))],
        "answered by the cap 2 of 3; the median leaves the others out",
    );
    let out = json::parse(br#"{"request_id":"performance-prompt-16k-r2","reason":""}"#).unwrap();
    check_reading(
        &[
            ("/summaries/13/excluded/1", out),
            ("/summaries/13/included_request_ids", json::parse(br#"["x"]"#).unwrap()),
        ],
        "answered by the cap 1 of 3; median not reached",
    );
}

/// Nothing but printable text and line ends.
fn is_inert(text: &str, ends: &[char]) -> bool {
    text.chars().all(|c| ends.contains(&c) || !super::inert::is_hidden(c))
}

fn check_inert(report: &[u8]) {
    shown(report, |sheet| {
        assert!(is_inert(&sheet.text(), &['\n']));
        assert!(is_inert(&sheet.markdown(), &['\n']));
        assert!(is_inert(&sheet.csv(), &['\r', '\n']));
        let json = sheet.json();
        assert!(is_inert(&json, &['\n']));
        json::parse(json.as_bytes()).unwrap();
    });
}

#[test]
fn a_hostile_report_reaches_no_terminal() {
    for name in ["full.json", "wrapper.json", "embedded.json"] {
        let mut root = json::parse(&golden(name)).unwrap();
        poison(&mut root, "=\u{1b}[2J\u{9b}31m\u{202e}\r\n|`<b>,\"");
        check_inert(root.to_string().as_bytes());
    }
}

#[test]
fn lists_of_a_stranger_have_an_end() {
    let many = vec![Value::Null; super::report::MAX_ROWS + 5];
    let mut root = json::parse(&golden("full.json")).unwrap();
    root.set("/requests", Value::Array(many.clone())).unwrap();
    root.set("/hardware/storage", Value::Array(many)).unwrap();
    let text = shown(root.to_string().as_bytes(), |sheet| sheet.text());
    assert!(text.contains("(5 more are not shown)"), "{}", &text[..2_000]);
    assert!(text.contains("…\n"));
}

proptest! {
    #![proptest_config(crate::fixture::cases(64))]

    #[test]
    fn whatever_parses_is_shown(report in hostile::report()) {
        check_inert(report.to_string().as_bytes());
    }
}
