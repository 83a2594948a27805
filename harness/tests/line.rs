//! The whole line, real from end to end: `strata-bench` starts `strata` on the bundled model,
//! replays embedded-v1 and reviews what it wrote. Needs both binaries of its own profile; knows no
//! internals of either but the checker's library, which it runs on thousands of changed reports.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use strata_harness::check::{Directory, Severity, Subject, check};
use strata_harness::corpus::Suite;
use strata_harness::report::rebuild::rebuild;

const BENCH: &str = env!("CARGO_BIN_EXE_strata-bench");
/// The sanity cases the bundled model gets right.
const RIGHT: [&str; 4] = ["sanity-I4", "sanity-R1", "sanity-R2", "sanity-R3"];

/// Reasons of the status that say where the programs come from and nothing of the run.
const OF_THE_BUILD: [&str; 3] = [
    "the runner was built from sources that differ from its commit",
    "the engine was built from sources that differ from its commit",
    "the engine was built from another commit than the runner",
];

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace member")
}

/// A fresh folder for one test's files.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("line").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.parent().expect("below the target folder")).unwrap();
    folder
}

fn bench(arguments: &[&str]) -> Output {
    let engine = Path::new(BENCH).with_file_name("strata");
    assert!(engine.exists(), "{}: build the binaries first", engine.display());
    Command::new(BENCH).current_dir(workspace()).args(arguments).output().unwrap()
}

/// One run of embedded-v1 on a profile, and its report. It conforms, unless all that is wrong is
/// that the programs were not built from one clean commit, which a developer's are not.
fn run(profile: &str, out: &Path) -> Value {
    let results = out.join("results.json");
    let out = out.to_str().unwrap();
    let target = ["run", "--profile", profile, "--suite", "embedded-v1", "--out", out];
    let declared = ["--track", "custom", "--track-notes", "a test", "--quantization", "F16"];
    let output = bench(&[target.as_slice(), declared.as_slice()].concat());
    let (said, told) = (&output.stdout, String::from_utf8_lossy(&output.stderr));
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 3)), "{code:?}\n{}\n{told}", String::from_utf8_lossy(said));
    let report: Value = serde_json::from_slice(&fs::read(results).unwrap()).unwrap();
    let reasons = report["extensions"]["status_reasons"].as_array().unwrap();
    assert!(reasons.iter().all(|why| OF_THE_BUILD.iter().any(|known| why == known)), "{reasons:?}");
    let status = if reasons.is_empty() { (0, "complete") } else { (3, "nonconforming") };
    assert_eq!((code, &report["run"]["status"]), (Some(status.0), &Value::from(status.1)));
    report
}

/// The report of one run that every test here may read.
fn report(name: &str) -> (PathBuf, Value) {
    let out = folder(name);
    let report = run("spec/profiles/embedded.json", &out);
    (out, report)
}

/// What each request said, in order: the texts of its deltas, joined.
fn answers(out: &Path) -> Vec<(Value, Vec<String>)> {
    let lines = fs::read_to_string(out.join("outputs.jsonl")).unwrap();
    let answer = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap();
        let mut texts = Vec::new();
        texts_of(&record, &mut texts);
        (record["request_id"].clone(), texts)
    };
    lines.lines().map(answer).collect()
}

/// Every `content` below a value; event data may be JSON in a string.
fn texts_of(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| match value {
            Value::String(text) if name == "content" => texts.push(text.clone()),
            value => texts_of(value, texts),
        }),
        Value::Array(items) => items.iter().for_each(|item| texts_of(item, texts)),
        Value::String(text) if text.starts_with('{') => {
            texts_of(&serde_json::from_str(text).unwrap_or(Value::Null), texts);
        }
        _ => {}
    }
}

/// A request's figures that do not depend on the time.
fn figures(report: &Value) -> Vec<Value> {
    let keep = |request: &Value| {
        ["id", "status", "finish_reason", "tokens", "evaluation"].map(|key| request[key].clone())
    };
    report["requests"].as_array().unwrap().iter().flat_map(keep).collect()
}

#[test]
fn two_runs_ask_and_answer_the_same() {
    let (first_out, first) = report("first");
    let (second_out, second) = report("second");
    let digests = |report: &Value| report["extensions"]["request_sha256"].clone();
    assert_eq!(digests(&first).as_object().map(|all| all.len()), Some(22));
    assert_eq!(digests(&first), digests(&second));
    assert_eq!(figures(&first), figures(&second));
    let said = answers(&first_out);
    let named = |(id, texts): &(Value, Vec<String>)| id.is_string() && !texts.concat().is_empty();
    assert!(said.iter().all(named), "an answer without a name or a text");
    let whole = |(id, texts): (Value, Vec<String>)| (id, texts.concat());
    let second_said = answers(&second_out).into_iter().map(whole).collect::<Vec<_>>();
    assert_eq!(said.into_iter().map(whole).collect::<Vec<_>>(), second_said);
    for out in [first_out, second_out] {
        let output = bench(&["check", out.to_str().unwrap(), "--fail-on", "error"]);
        let findings = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{findings}");
    }
}

/// Ids of the sanity cases a report says are right.
fn passed(report: &Value) -> BTreeSet<String> {
    let requests = report["requests"].as_array().unwrap().iter();
    let right = requests.filter(|request| request["evaluation"]["passed"] == true);
    right.map(|request| request["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_the_model_gets_right_it_gets_wrong_with_another_weight() {
    let (_, report) = report("right");
    let right = passed(&report);
    assert!(RIGHT.iter().all(|id| right.contains(*id)), "right: {right:?}");

    let folder = folder("altered");
    fs::create_dir_all(&folder).unwrap();
    let model = workspace().join("engine/models/stories260K/stories260K.f16.gguf");
    let mut bytes = fs::read(model).unwrap();
    // The last tensor of the file is the final norm, f32: one of its weights becomes 1000.
    let at = bytes.len() - 4;
    bytes[at..].copy_from_slice(&1000_f32.to_le_bytes());
    fs::write(folder.join("altered-f16.gguf"), bytes).unwrap();
    let profile = fs::read_to_string(workspace().join("spec/profiles/embedded.json")).unwrap();
    let mut profile: Value = serde_json::from_str(&profile).unwrap();
    profile["model"] = "altered-f16.gguf".into();
    fs::write(folder.join("profile.json"), profile.to_string()).unwrap();
    let out = folder.join("out");
    let altered = run(folder.join("profile.json").to_str().unwrap(), &out);
    let still = passed(&altered);
    assert!(RIGHT.iter().all(|id| !still.contains(*id)), "still right: {still:?}");
}

/// Every byte of a number's text that is a digit, outside strings.
fn digits(report: &[u8]) -> Vec<usize> {
    let (mut inside, mut escaped) = (false, false);
    let mut found = Vec::new();
    for (at, byte) in report.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            b'0'..=b'9' if !inside => found.push(at),
            _ => {}
        }
    }
    found
}

/// Share of changed digits that bring a finding the report itself does not have.
fn seen(report: &[u8], directory: Option<&Directory>, rebuilt: Option<&[u8]>) -> (usize, usize) {
    let protocols = Suite::protocols();
    let review = |report: &[u8]| {
        let rebuilt = rebuilt.map(Ok);
        let subject = Subject { report, directory, rebuilt, protocols: &protocols };
        let findings = check(&subject).findings.into_iter();
        let told = findings.filter(|finding| finding.severity > Severity::Info);
        told.map(|finding| (&finding.rule.id, finding.pointer)).collect::<BTreeSet<_>>()
    };
    let before = review(report);
    let digits = digits(report);
    let mut mutant = report.to_vec();
    let mut found = 0;
    for at in &digits {
        let original = mutant[*at];
        mutant[*at] = if original == b'9' { b'0' } else { original + 1 };
        found += usize::from(!review(&mutant).is_subset(&before));
        mutant[*at] = original;
    }
    (found, digits.len())
}

#[test]
fn a_changed_digit_is_found() {
    let (out, _) = report("digits");
    let results = fs::read(out.join("results.json")).unwrap();
    let rebuilt = rebuild(&out).unwrap();
    assert!(rebuilt == results, "results.json is not what its record rebuilds to");
    let directory = Directory::open(&out).unwrap();
    let (found, digits) = seen(&results, Some(&directory), Some(&rebuilt));
    println!("with its folder: {found} of {digits} changed digits found");
    assert_eq!(found, digits);
    let (found, digits) = seen(&results, None, None);
    let percent = 100.0 * found as f64 / digits as f64;
    println!("the bare file: {found} of {digits} changed digits found, {percent:.1} %");
    assert!(percent >= 98.0, "{percent:.1} %");
}
