//! What the program says: help, and refusals in words with exit code 2.

use super::stub::{Folder, bench, code};
use std::fs;
use std::path::{Path, PathBuf};

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
    insta::assert_snapshot!("help_show", help(&["show", "--help"]));
    insta::assert_snapshot!("help_compare", help(&["compare", "--help"]));
    insta::assert_snapshot!("help_html", help(&["html", "--help"]));
}

#[test]
fn a_plan_needs_no_server() {
    let output = bench(&["plan", "--suite", "embedded-v1"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let requests: Vec<&str> = text.lines().skip(2).collect();
    assert!(requests[0].starts_with("warmup "), "{text}");
    let optional = requests.iter().filter(|line| line.ends_with("  optional"));
    assert_eq!((requests.len(), optional.count()), (26, 4), "{text}");
    let json = bench(&["plan", "--suite", "embedded-v1", "--output", "json"]).output().unwrap();
    let plan: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(plan["requests"][21]["id"], "sanity-T4");
    assert_eq!(plan["requests"][21]["body_sha256"].as_str().unwrap().len(), 64);
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

fn spec(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

#[test]
fn a_reader_that_leaves_early_changes_no_exit_code() {
    let report = spec("golden/reports/embedded.json").display().to_string();
    for (arguments, expected) in [
        (&["plan", "--suite", "embedded-v1"][..], 0),
        (&["plan", "--suite", "embedded-v1", "--output", "json"], 0),
        (&["check", &report, "--output", "json"], 0),
        (&["run", "--help"], 0),
        (&["run"], 2),
    ] {
        let nobody = || {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            writer
        };
        let output = bench(arguments).stdout(nobody()).output().unwrap();
        assert_eq!(code(&output), expected, "{output:?}");
        assert!(expected == 2 || output.stderr.is_empty(), "{output:?}");
        let output = bench(arguments).stderr(nobody()).output().unwrap();
        assert_eq!(code(&output), expected, "{output:?}");
    }
}

#[test]
#[cfg(target_os = "linux")] // others have no device that is always full
fn an_output_that_cannot_be_written_is_an_error() {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = bench(&["plan", "--suite", "embedded-v1"]).stdout(full).output().unwrap();
    assert_eq!(code(&output), 1);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.starts_with("strata-bench: cannot write to standard output: "), "{text}");
}

#[test]
fn a_review_needs_the_protocol_file_alone() {
    let folder = Folder::new();
    let (protocol, report) = (folder.path("p.json"), spec("golden/reports/embedded.json"));
    let check = |text: &str, expected: i32, words: &str| {
        fs::write(&protocol, text).unwrap();
        let mut command = bench(&["check"]);
        command.arg(&report).arg("--protocol").arg(&protocol);
        let output = command.output().unwrap();
        assert_eq!(code(&output), expected, "{output:?}");
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(text.contains(words), "{text}");
    };
    let carried = fs::read_to_string(spec("spec/protocols/embedded-v1.json")).unwrap();
    check(&carried, 0, "");
    // The file is what counts, even against a protocol that is carried.
    check(&carried.replace("\"max_output_tokens\": 64", "\"max_output_tokens\": 65"), 4, "65");
    check("{}", 2, "p.json: not a protocol: missing field `id`");
    check(&" ".repeat((4 << 20) + 1), 2, "p.json: longer than 4194304 bytes; is it a protocol?");
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
