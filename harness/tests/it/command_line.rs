//! What the program says: help, and refusals in words with exit code 2.

use super::stub::{Folder, bench, code};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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
    insta::assert_snapshot!("help_explain", help(&["explain", "--help"]));
    insta::assert_snapshot!("help_show", help(&["show", "--help"]));
    insta::assert_snapshot!("help_compare", help(&["compare", "--help"]));
    insta::assert_snapshot!("help_html", help(&["html", "--help"]));
    insta::assert_snapshot!("help_publish", help(&["publish", "--help"]));
    insta::assert_snapshot!("help_fmt", help(&["fmt", "--help"]));
    insta::assert_snapshot!("help_schema", help(&["schema", "--help"]));
    insta::assert_snapshot!("help_self_test", help(&["self-test", "--help"]));
}

#[test]
fn the_client_certifies_itself() {
    let output = bench(&["self-test", "--output", "json"]).output().unwrap();
    assert_eq!(code(&output), 0);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["passed"], true);
    assert!(found["latest_stamp_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{found}");
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
        "strata-bench: give one of --suite (embedded-v1, small-v1, \
         standard-v1, strata-qwen38-thinking-v1-draft.1) and --protocol",
    );
    check(
        "run --suite embedded-v1 --url https://127.0.0.1:1 --out OUT",
        "strata-bench: url `https://127.0.0.1:1`: https is not built in: measure on the server's \
         own machine over http, or through a local tunnel",
    );
    check(
        "run --suite embedded-v1 --url http://127.0.0.1:99999 --out OUT",
        "strata-bench: url `http://127.0.0.1:99999`: port `99999` is not one of 1 to 65535",
    );
    check(
        "run --suite strata-qwen38-thinking-v1-draft.1 --url http://127.0.0.1:1 --out OUT",
        "strata-bench: protocol strata-qwen38-thinking-v1-draft.1 cannot be replayed: its payloads \
         are not public: reports that claim it can be reviewed, not made",
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

/// Every option that takes a text or a path, as the help names them.
#[test]
fn empty_texts_are_refused() {
    let help = help(&["run", "--help"]);
    let options = help.lines().filter_map(|line| line.trim().strip_prefix("--"));
    let options: Vec<&str> = options.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(options.contains(&"track-notes") && options.contains(&"out"), "{options:?}");
    for option in options {
        let output = bench(&["run", &format!("--{option}"), ""]).output().unwrap();
        let text = String::from_utf8(output.stderr.clone()).unwrap();
        assert_eq!(code(&output), 2, "{option}: {text}");
        let refused =
            text.contains(&format!("'--{option}' with value ''")) && text.lines().count() == 1;
        let switches = ["help", "skip-model-hash", "optional", "until-steady"];
        let is_switch = switches.contains(&option);
        assert!(refused || is_switch, "{option}: {text}");
    }
}

#[test]
fn a_key_that_no_header_carries_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    let check = |key: &[u8], expected: &str| {
        let folder = Folder::new();
        let mut command = bench(&["run", "--suite", "embedded-v1", "--url", "http://127.0.0.1:1"]);
        command.args(["--credential-env", "BENCH_KEY", "--out"]).arg(folder.path("out"));
        let output = command.env("BENCH_KEY", std::ffi::OsStr::from_bytes(key)).output().unwrap();
        let text = String::from_utf8(output.stderr.clone()).unwrap();
        let expected = format!("strata-bench: --credential-env BENCH_KEY: {expected}\n");
        assert_eq!((code(&output), text), (2, expected));
        assert!(!folder.path("out").exists(), "nothing was begun");
    };
    for key in ["hunter2\n", "hunter2\r\nX: y", "hunter2\0"] {
        let key = key.replace('\0', "\u{7f}");
        check(
            key.as_bytes(),
            "character 8 is a line break or another control character, which no HTTP header \
             carries; set it to the server's key alone",
        );
    }
    check(b"hunter\xff", "not UTF-8; set it to the server's key");
    check(b"", "no such environment variable; set it to the server's key");
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
    check(&" ".repeat((4 << 20) + 1), 2, "p.json: longer than the 4194304 bytes that are read");
}

/// A file for `--config` or `--profile`: exit code 2 and these words.
fn check_file(option: &str, make: impl Fn(&Path), expected: &str) {
    let folder = Folder::new();
    let (file, out) = (folder.path("c.json"), folder.path("out"));
    make(&file);
    let mut command = bench(&["run", option]);
    command.arg(&file).arg("--out").arg(&out);
    if option != "--profile" {
        command.args(["--url", "http://127.0.0.1:1"]);
    }
    if option != "--protocol" {
        command.args(["--suite", "embedded-v1"]);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(code(&output), 2, "{text}");
    assert!(text.contains(expected), "{text}");
    assert!(!out.exists(), "nothing was begun");
}

#[test]
fn declared_options_name_every_group() {
    let some = |path: &Path| fs::write(path, r#"{"kv_cache":{}}"#).unwrap();
    check_file("--config", some, "give exactly these groups in this order");
}

#[test]
fn files_are_plain_and_of_bounded_size() {
    for option in ["--config", "--profile", "--protocol"] {
        let pipe = |path: &Path| {
            assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        };
        check_file(option, pipe, "c.json: a link, a folder or a special file; put a plain file");
        let long = |path: &Path| fs::File::create(path).unwrap().set_len(1 << 40).unwrap();
        check_file(option, long, "c.json: longer than the ");
        check_file(option, |path| fs::write(path, [0xff]).unwrap(), "c.json: not UTF-8: ");
    }
}
