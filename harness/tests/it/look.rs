//! `show`, `compare`, `html`, `publish`, `fmt` and `schema`: exit codes and streams; what they say
//! is tested in the library.

use super::stub::{Folder, Honest, bench, code};
use std::fs;

fn golden(name: &str) -> String {
    format!("{}/../golden/reports/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// This exit code, and this somewhere on standard output, or on standard error if it is 2.
fn check(arguments: &[&str], expected: i32, words: &str) {
    let output = bench(arguments).output().unwrap();
    let (said, silent) = match expected {
        2 => (&output.stderr, &output.stdout),
        _ => (&output.stdout, &output.stderr),
    };
    let said = String::from_utf8_lossy(said);
    assert_eq!(code(&output), expected, "{arguments:?}: {said}");
    assert!(said.contains(words), "{arguments:?}: {said}");
    assert!(silent.is_empty(), "{arguments:?}");
}

#[test]
fn reports_are_shown() {
    let [full, wrapper] = ["full.json", "wrapper.json"].map(golden);
    check(&["show", &full], 0, "accepted: 0 errors");
    check(&["show", &full, "--output", "md"], 0, "- **status**: nonconforming");
    check(&["show", &full, "--output", "csv"], 0, "\r\nwarmup,1,truncated,length,75,");
    check(&["show", &wrapper, "--output", "csv"], 0, "\r\nshort,prompt_tps,tokens/s,engine,3,0,");
    check(&["show", &wrapper, "--output", "json"], 0, "\"median\":11.48394");
    check(&["show", &golden("SOURCE")], 2, "SOURCE: no report: byte 0");
    check(&["show", &golden("gone.json")], 2, "cannot be read");
}

#[test]
fn reports_are_compared() {
    let [full, wrapper, embedded] = ["full.json", "wrapper.json", "embedded.json"].map(golden);
    check(&["compare", &embedded, &embedded, "--threshold", "0"], 0, "comparable\n");
    check(&["compare", &full, &embedded], 5, "different at /protocol/id");
    check(&["compare", &full, &wrapper, "--output", "md"], 5, "holds summaries only");
    check(&["compare", &full, &full, "--threshold", "-1"], 2, "give percent, 0 or more");
    check(&["compare", &full, &golden("gone.json")], 2, "cannot be read");
}

#[test]
fn the_page_of_the_readme_is_what_its_reports_give() {
    let [a, b] = ["llama-server.json", "smollm2.json"].map(golden);
    let output = bench(&["html", &a, &b]).output().unwrap();
    let page = golden("peers.html");
    let remedy = format!("make it again: strata-bench html {a} {b} --out {page}");
    assert!(output.stdout == fs::read(&page).unwrap(), "{page} is not of these reports; {remedy}");
}

#[test]
fn pages_are_written_and_write_over_pages_only() {
    let folder = Folder::new();
    let full = golden("full.json");
    let page = folder.path("page.html").display().to_string();
    for _ in 0..2 {
        check(&["html", &full, "--out", &page], 0, "page.html: ");
        assert!(fs::read_to_string(&page).unwrap().starts_with("<!doctype html>\n"));
    }
    check(&["html", &full, &golden("embedded.json")], 0, "<!doctype html>\n");
    let report = folder.path("mine.json");
    fs::copy(&full, &report).unwrap();
    let place = report.display().to_string();
    check(&["html", &place, "--out", &place], 2, "exists and is no page; name another file");
    assert_eq!(fs::read(&report).unwrap(), fs::read(&full).unwrap());
}

#[test]
fn the_folder_of_a_run_gives_the_moments() {
    let (stub, folder) = (Honest::start(), Folder::new());
    let out = folder.path("out").display().to_string();
    let run = ["run", "--suite", "embedded-v1", "--url", &stub.url, "--out", &out];
    assert_eq!(code(&bench(&run).output().unwrap()), 3);
    check(&["html", &out], 0, "When each was sent is from outputs.jsonl.");
    let results = format!("{out}/results.json");
    check(&["html", &results], 0, "When each was sent is from /extensions/client_offsets_us.");
    check(&["show", &out], 0, "accepted: 0 errors");
    check(&["compare", &out, &results], 0, "comparable\n");
}

#[test]
fn runs_are_published() {
    let (stub, folder) = (Honest::start(), Folder::new());
    let path = |name: &str| folder.path(name).display().to_string();
    let (first, second, out) = (path("first"), path("second"), path("out"));
    for run in [&first, &second] {
        let run = ["run", "--suite", "embedded-v1", "--url", &stub.url, "--out", run];
        assert_eq!(code(&bench(&run).output().unwrap()), 3);
    }
    let publish = ["publish", &second, "--excluded", &first, "--out", &out];
    check(&publish, 2, "--excluded is given 1 times and --reason 0 times");
    let publish = [&publish[..], &["--reason", "the first of two"]].concat();
    check(&publish, 0, "evidence.tar: ");
    check(&publish, 2, "is not an empty folder; name another");
    check(&["check", &out], 0, "valid but not comparable");
    check(&["show", &out], 0, "accepted: 0 errors");
    let document = folder.path("out").join("publication.json");
    let text = fs::read_to_string(&document).unwrap();
    fs::write(&document, text.replacen("the first", "the worst", 1)).unwrap();
    check(&["check", &out], 4, "R421 /excluded_runs/0/reason expected \"the first of two\"");
}

#[test]
fn reports_are_put_in_canonical_form() {
    let folder = Folder::new();
    let report = folder.path("report.json");
    let place = report.display().to_string();
    fs::write(&report, r#"{"b":1.0,"a":[]}"#).unwrap();
    check(&["fmt", &place], 0, "{\n  \"b\": 1.0,\n  \"a\": []\n}\n");
    check(&["fmt", &place, "--check"], 4, "report.json: not canonical from byte 1 on");
    check(&["fmt", &place, "--write"], 0, "report.json written anew");
    check(&["fmt", &place, "--write"], 0, "report.json unchanged");
    check(&["fmt", &place, "--check"], 0, "");
    check(&["fmt", &golden("embedded.json"), "--check"], 0, "");
    check(&["fmt", &place, "--write", "--check"], 2, "give one");
    check(&["fmt", &golden("SOURCE")], 2, "SOURCE: byte 0: a JSON value expected");
}

#[test]
fn schemas_are_printed() {
    check(&["schema"], 0, "\"title\": \"strata-standard-benchmark\"");
    check(&["schema", "publication"], 0, "\"title\": \"strata-bench-publication\"");
    for kind in ["profile", "lengths", "corpus-build"] {
        check(&["schema", kind], 0, "https://json-schema.org/draft/2020-12/schema");
    }
    check(&["schema", "weather"], 2, "weather");
}
