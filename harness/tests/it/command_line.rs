//! What the program says: help, and refusals in words with exit code 2.

use super::stub::{Folder, bench, code};
use std::path::Path;

fn help(arguments: &[&str]) -> String {
    let output = bench(arguments).output().unwrap();
    assert_eq!(code(&output), 0);
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn help_texts() {
    insta::assert_snapshot!("help", help(&["--help"]));
    insta::assert_snapshot!("help_plan", help(&["plan", "--help"]));
    insta::assert_snapshot!("help_run", help(&["run", "--help"]));
    insta::assert_snapshot!("help_check", help(&["check", "--help"]));
    insta::assert_snapshot!("help_rebuild", help(&["rebuild", "--help"]));
}

#[test]
fn a_plan_needs_no_server() {
    let output = bench(&["plan", "--suite", "embedded-v1"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 2 + 26);
    let first = text.lines().nth(2).unwrap();
    assert!(first.starts_with("warmup "), "{first}");
    let json = bench(&["plan", "--suite", "embedded-v1", "--output", "json"]).output().unwrap();
    let plan: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let rows = &plan["requests"];
    assert_eq!(rows[21]["id"], "sanity-T4");
    assert_eq!(rows[21]["body_sha256"].as_str().unwrap().len(), 64);
}

/// Exit code 2 and this line, `OUT` being the folder of the test.
fn check(arguments: &str, expected: &str) {
    let folder = Folder::new();
    let out = folder.path("out").display().to_string();
    let arguments: Vec<String> =
        arguments.split(' ').map(|argument| argument.replace("OUT", &out)).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = bench(&words).output().unwrap();
    let text = String::from_utf8(output.stderr.clone()).unwrap().replace(&out, "OUT");
    assert_eq!((code(&output), text.trim_end()), (2, expected), "{words:?}");
    assert!(output.stdout.is_empty());
    assert!(!Path::new(&out).exists(), "nothing was begun");
}

#[test]
fn unusable_orders_are_refused() {
    check("run --suite embedded-v1 --out OUT", "strata-bench: give one of --url and --profile");
    check(
        "run --url http://127.0.0.1:1 --out OUT",
        "strata-bench: give one of --suite (embedded-v1, standard-v1) and --protocol",
    );
    check(
        "run --suite embedded-v1 --url https://127.0.0.1:1 --out OUT",
        "strata-bench: url `https://127.0.0.1:1`: https is not built in: measure on the server's \
         own machine over http, or through a local tunnel",
    );
    check(
        "run --suite standard-v1 --url http://127.0.0.1:1 --out OUT",
        "strata-bench: protocol strata-qwen38-thinking-v1-draft.1: its payloads are not public: \
         reports that claim it can be reviewed, not made",
    );
    check(
        "run --suite embedded-v1 --url http://127.0.0.1:1 --out OUT --timeout-idle 0",
        "strata-bench: --timeout-idle 0: give seconds above 0, at most 86400",
    );
    check(
        "run --suite embedded-v1 --url http://127.0.0.1:1 --out OUT --credential-env NO_SUCH_KEY",
        "strata-bench: --credential-env NO_SUCH_KEY: no such environment variable; set it to the \
         server's key",
    );
    check(
        "rebuild OUT",
        "strata-bench: OUT/outputs.jsonl: cannot be read: No such file or directory (os error 2)",
    );
    let unknown = bench(&["run", "--sweet"]).output().unwrap();
    assert_eq!(code(&unknown), 2);
}

#[test]
fn declared_options_name_every_group() {
    let folder = Folder::new();
    let (config, out) = (folder.path("c.json"), folder.path("out"));
    std::fs::write(&config, r#"{"kv_cache":{}}"#).unwrap();
    let output = bench(&["run", "--suite", "embedded-v1", "--url", "http://127.0.0.1:1"])
        .args(["--config".as_ref(), config.as_os_str(), "--out".as_ref(), out.as_os_str()])
        .output()
        .unwrap();
    assert_eq!(code(&output), 2);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("give exactly these groups in this order"), "{text}");
}
