//! What a person and a program read about our fixtures of the public reports.

use super::Bench;

#[test]
fn full_report_as_text() {
    let bench = Bench::open("golden/reports/full.json");
    insta::assert_snapshot!(bench.review(&bench.root).text());
}

#[test]
fn wrapper_as_text() {
    let bench = Bench::open("golden/reports/wrapper.json");
    insta::assert_snapshot!(bench.review(&bench.root).text());
}

#[test]
fn full_report_as_json() {
    let bench = Bench::open("golden/reports/full.json");
    let json = bench.review(&bench.root).json();
    insta::assert_snapshot!(serde_json::to_string_pretty(&json["findings"]).unwrap());
}
