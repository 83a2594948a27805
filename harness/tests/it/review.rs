//! Reviews from outside: what rules are explained as, and documents made to wear a reviewer out,
//! each within 512 MB of memory and 2 s of processor time.

use super::stub::{Folder, bench, code};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn explained(arguments: &[&str]) -> String {
    let output = bench(&[&["explain"], arguments].concat()).output().unwrap();
    assert_eq!(code(&output), 0, "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn rules_are_explained() {
    insta::assert_snapshot!("explain", explained(&["r095", "R243", "R018", "R420", "R400"]));
    let all = explained(&[]);
    assert!(all.starts_with("R001 error   a full report names "), "{all}");
    assert!(all.lines().all(|line| line.starts_with('R') && line.len() > 20), "{all}");
    assert!(all.lines().count() >= 150, "{all}");
}

#[test]
fn an_unknown_rule_names_its_neighbours() {
    let check = |id: &str, expected: &str| {
        let output = bench(&["explain", "R001", id]).output().unwrap();
        let text = String::from_utf8(output.stderr.clone()).unwrap();
        assert_eq!((code(&output), text.trim_end()), (2, expected));
        assert!(output.stdout.is_empty());
    };
    let line = |id: &str, near: &str| {
        format!("strata-bench: no rule {id}{near}; `explain` alone lists all")
    };
    check("R106", &line("R106", "; near it are R103, R104, R105"));
    check("R099n", &line("R099n", "; near it are R098, R099, R100"));
    check("95", &line("95", "; near it are R094, R095, R096"));
    check("speed", &line("speed", ""));
}

/// Seconds of processor time that a review may take. What is built for tests is some times slower.
const SECONDS: u32 = if cfg!(debug_assertions) { 6 } else { 2 };

/// The program's own word for a report, with the limits of a shell on it.
fn review(report: &Path) -> Output {
    let mut shell = Command::new("sh");
    let limits = format!("ulimit -t {SECONDS} && ulimit -v 524288");
    shell.args(["-c", &format!("{limits} && exec \"$0\" check \"$1\"")]);
    shell.arg(env!("CARGO_BIN_EXE_strata-bench")).arg(report).output().unwrap()
}

/// A report of golden/reports with some blocks replaced by these texts.
fn with(base: &str, blocks: &[(&str, String)]) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/reports").join(base);
    let report: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let mut members: Vec<String> = Vec::new();
    for (key, value) in report.as_object().unwrap() {
        let text = blocks.iter().find(|(block, _)| block == key).map(|(_, text)| text.clone());
        members.push(format!("{key:?}:{}", text.unwrap_or_else(|| value.to_string())));
    }
    format!("{{{}}}", members.join(","))
}

fn many(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(",")
}

fn list(count: usize, item: &str) -> String {
    format!("[{}]", many(count, |_| item.to_string()))
}

fn object(count: usize, item: impl Fn(usize) -> String) -> String {
    format!("{{{}}}", many(count, item))
}

/// A document as long as is read at all.
fn filled(before: &str, filling: &str, after: &str) -> String {
    let room = (32 << 20) - before.len() - after.len();
    format!("{before}{}{after}", filling.repeat(room / filling.len()))
}

#[track_caller]
fn check(name: &str, document: &str) {
    assert!(document.len() <= 32 << 20, "{name}: {} bytes", document.len());
    let folder = Folder::new();
    let path = folder.path("report.json");
    fs::write(&path, document).unwrap();
    let output = review(&path);
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap_or("");
    assert_eq!(output.status.code(), Some(4), "{name}: {:?} {last}", output.status);
    assert!(last.starts_with("invalid: "), "{name}: {last}");
}

/// P18: in bounded time and memory, as are those below.
#[test]
fn documents_that_are_all_size() {
    check("a list without end", &filled("[0", ",0", "]"));
    check("brackets", &filled("", "[", ""));
    check("braces", &filled("", "{\"a\":", ""));
    check("one string", &filled("\"", "sk-", "\""));
    check("one key", &filled("{\"", "k", "\":null}"));
    check("one number", &filled("", "9", ""));
    check("blanks", &filled("", " ", ""));
    check("one key often", &object(1 << 19, |_| "\"run\":0".to_string()));
    let nulls = list(1 << 20, "null").replacen("null,", "", 10_000);
    check("nulls below a long key", &format!("{{\"{}\":{nulls}}}", "k".repeat(24 << 20)));
    let deep = format!("{}null{}", "[".repeat(50), "]".repeat(50));
    check("many deep nulls", &format!("[{}]", many(20_000, |_| deep.clone())));
}

#[test]
fn reports_with_one_part_of_all_size() {
    let one = |name: &str, base: &str, block: &str, text: String| {
        check(name, &with(base, &[(block, text)]));
    };
    one("a million requests", "full.json", "requests", list(1_000_000, "{}"));
    let request = r#"{"id":"warmup","status":"completed","tokens":{},"timings":{"total_s":null}}"#;
    one("many requests", "full.json", "requests", list(150_000, request));
    one("a million summaries", "full.json", "summaries", list(1_000_000, "{}"));
    one("a million artifacts", "full.json", "artifacts", list(1_000_000, "{}"));
    one("a million rounds", "full.json", "concurrency_rounds", list(1_000_000, "{}"));
    let category = |i: usize| format!("\"c{i}\":{{\"passed\":1,\"total\":1}}");
    let categories = object(300_000, category);
    one("many categories", "full.json", "quality", format!("{{\"categories\":{categories}}}"));
    let ids = list(1_000_000, "\"performance-short-r1\"");
    let summary =
        format!(r#"[{{"metric":"total_s","case_id":"short","n":3,"included_request_ids":{ids}}}]"#);
    one("a million ids", "full.json", "summaries", summary);
    one("a million runs", "wrapper.json", "excluded_runs", list(1_000_000, "{}"));
    let peak = |i: usize| format!("\"d{i}_peak_used_mib\":1,\"baseline_d{i}_used_mib\":2");
    one("many devices", "wrapper.json", "memory_observation", object(250_000, peak));
    let devices = format!("{{\"devices\":{}}}", list(1_000_000, "{}"));
    one("a million devices", "wrapper.json", "gpu_unlock", devices);
    one(
        "a million cards",
        "wrapper.json",
        "hardware",
        format!("{{\"gpus\":{}}}", list(1_000_000, "{}")),
    );
    let files = many(400_000, |i| format!(r#"{{"path":"m-{:05}-of-99999.gguf"}}"#, i % 100_000));
    one("many shards", "wrapper.json", "model", format!("{{\"files\":[{files}]}}"));
    let digest = |i: usize| format!("\"r{i}\":\"0\"");
    let digests = format!("{{\"request_sha256\":{}}}", object(700_000, digest));
    one("many digests", "full.json", "extensions", digests);
}

#[test]
fn reports_with_parts_that_look_for_each_other() {
    let null = |i: usize| format!("\"k{i}\":null");
    let reason = |i: usize| format!("\"/extensions/k{i}\":\"?\"");
    check(
        "many nulls and their reasons",
        &with(
            "full.json",
            &[("extensions", object(400_000, null)), ("missing", object(400_000, reason))],
        ),
    );
    let id = |i: usize| format!("{{\"id\":\"r{i}\",\"status\":\"completed\"}}");
    let entry = |i: usize| format!("\"r{}\":{{}}", 400_000 - i);
    let extensions = format!("{{\"request_checks\":{}}}", object(400_000, entry));
    check(
        "many requests and their checks",
        &with(
            "full.json",
            &[("requests", format!("[{}]", many(150_000, id))), ("extensions", extensions)],
        ),
    );
    let word = |i: usize| format!("--o{i} {i}");
    let command = many(1_000_000, word).replace(',', " ");
    let run = format!(r#"{{"optional_concurrency":false,"command":"{command}"}}"#);
    check("a command of many words", &with("full.json", &[("run", run)]));
}

#[test]
fn numbers_that_no_machine_holds() {
    let check_number = |number: &str| {
        let run = format!(
            r#"{{"required_duration_s":{number},"optional_duration_s":{number},
            "optional_concurrency":false,"command":"","id":"","status":"","started_at":""}}"#
        );
        let field = |names: &str| -> String {
            let names = names.split(' ');
            names.map(|name| format!("\"{name}\":{number}")).collect::<Vec<_>>().join(",")
        };
        let request = format!(
            r#"[{{"id":"warmup","phase":"warmup","status":"completed","tokens":{{{}}},
            "timings":{{{}}},"metrics":{{{}}}}}]"#,
            field("input_tokens cached_tokens read_tokens output_tokens decode_tokens"),
            field("prompt_s decode_s ttft_s first_answer_s total_s"),
            field("prompt_tps decode_tps"),
        );
        let blocks = [("run", run), ("requests", request)];
        check(&number.chars().take(20).collect::<String>(), &with("full.json", &blocks));
        let summary = format!(
            r#"[{{"metric":"decode_tps","case_id":"short",{}}}]"#,
            field("n min median max")
        );
        let blocks = [
            ("summaries", summary),
            (
                "memory_observation",
                format!(
                    "{{{}}}",
                    field("sample_count swap_in_bytes a_peak_used_mib system_used_peak_bytes")
                ),
            ),
        ];
        check(&number.chars().take(20).collect::<String>(), &with("wrapper.json", &blocks));
    };
    check_number("1e999999");
    check_number("-1e999999");
    check_number("1e-999999");
    check_number("0.000000000000000000000000000001");
    check_number("999999999999999999999999999999");
    check_number(&"9".repeat(1 << 20));
    check_number(&format!("0.{}1", "0".repeat(1 << 20)));
    check_number("1e99999999999999999999999999");
}

#[test]
fn a_file_beyond_the_limit_is_not_read() {
    let folder = Folder::new();
    let path = folder.path("report.json");
    fs::write(&path, vec![b' '; (32 << 20) + 1]).unwrap();
    let output = review(&path);
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(code(&output), 2, "{text}");
    assert!(text.contains("longer than the 33554432 bytes that are read"), "{text}");
}
