//! Whole runs against a server that is attached to: the folder, its report, and every way out.

use super::stub::{Deaf, Folder, Honest, Reply, Stub, bench, code, read_json};
use serde_json::json;
use std::env::temp_dir;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use strata_harness::corpus::Suite;
use strata_harness::digest::sha256;

fn command(stub: &Stub, folder: &Folder, more: &[&str]) -> Command {
    let mut command = bench(&["run", "--suite", "embedded-v1", "--url", &stub.url]);
    command.arg("--out").arg(folder.path("out")).args(more);
    command
}

#[test]
fn a_run_fills_its_folder() {
    let (stub, folder) = (Honest::start(), Folder::new());
    let output = command(&stub, &folder, &["--track-notes", "it's a test", "--output", "json"])
        .output()
        .unwrap();
    assert_eq!(code(&output), 3, "{output:?}");
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["status"], "nonconforming");
    assert_eq!(result["status_reasons"][0], "no model file could be hashed");
    let progress = String::from_utf8(output.stderr).unwrap();
    assert_eq!(progress.lines().count(), 22);
    assert!(progress.starts_with("[ 1/22] warmup completed 4 tok "), "{progress}");

    let suite = Suite::named("embedded-v1").unwrap();
    let corpus = suite.corpus.as_ref().unwrap();
    let planned = strata_harness::plan::plan(&suite.protocol, false);
    let bodies: Vec<&str> = planned.iter().map(|p| corpus.body(&p.id).unwrap()).collect();
    assert_eq!(stub.bodies(), bodies);

    let report = read_json(&folder.path("out/results.json"));
    assert_eq!(report["request_counts"]["sanity"]["completed"], 12);
    assert_eq!(report["summaries"].as_array().unwrap().len(), 15);
    assert_eq!(report["configuration"]["track_notes"], "it's a test");
    let line = report["run"]["command"].as_str().unwrap();
    assert!(
        line.starts_with("strata-bench run --suite embedded-v1 --url http://127.0.0.1:"),
        "{line}"
    );
    assert!(line.contains(r"--track-notes 'it'\''s a test'"), "{line}");
    assert!(!line.contains(folder.path("").to_str().unwrap()), "{line}");
    assert_eq!(report["extensions"]["engine_threads"], 2);
    assert_eq!(report["run"]["optional_concurrency"], false);
    assert_eq!(report["request_counts"]["concurrency"]["planned"], 0);
    let reason = &report["missing"]["/configuration/kv_cache"];
    assert!(reason.as_str().unwrap().starts_with("engine options are not exposed"), "{reason}");

    let manifest = fs::read_to_string(folder.path("out/MANIFEST.sha256")).unwrap();
    let mut listed = Vec::new();
    for line in manifest.lines() {
        let (digest, name) = line.split_once("  ").unwrap();
        assert_eq!(sha256(&fs::read(folder.path("out").join(name)).unwrap()), digest, "{name}");
        listed.push(name);
    }
    assert_eq!(
        listed,
        [
            "config.json",
            "outputs.jsonl",
            "provenance/chat_template.jinja",
            "provenance/corpus-build.json",
            "provenance/corpus-manifest.sha256",
            "results.json"
        ]
    );
    rebuilds(&folder);
    passes(&folder);
    a_cut_record_is_refused(&folder);
}

/// A run that ended left a whole record: what is gone from it is not made up for.
fn a_cut_record_is_refused(folder: &Folder) {
    let path = folder.path("out/outputs.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    let (lines, last) = whole.trim_end().rsplit_once('\n').unwrap();
    for (cut, expected) in [
        (format!("{lines}\n{}", &last[..last.len() / 2]), "the last line is cut"),
        (format!("{lines}\n"), "21 attempts, but config.json says that all 22 were made"),
    ] {
        fs::write(&path, cut).unwrap();
        let output = bench(&["rebuild", folder.path("out").to_str().unwrap()]).output().unwrap();
        let error = String::from_utf8(output.stderr.clone()).unwrap();
        assert_eq!(code(&output), 2, "{error}");
        assert!(error.contains(expected), "{error}");
    }
    fs::write(&path, whole).unwrap();
}

/// `check` finds no error in the folder; its findings.
fn passes(folder: &Folder) {
    let output = bench(&["check"]).arg(folder.path("out")).output().unwrap();
    let review = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(code(&output), 0, "{review}");
}

/// `rebuild` changes nothing in a good folder and restores a lost report.
fn rebuilds(folder: &Folder) {
    let results = folder.path("out/results.json");
    let before = fs::read(&results).unwrap();
    let rebuild = || {
        let output = bench(&["rebuild"]).arg(folder.path("out")).output().unwrap();
        assert_eq!(code(&output), 0, "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(rebuild(), "results.json unchanged\n");
    fs::remove_file(&results).unwrap();
    assert_eq!(rebuild(), "results.json written anew\n");
    assert_eq!(fs::read(&results).unwrap(), before);
}

#[test]
fn a_folder_in_use_is_refused() {
    let (stub, folder) = (Honest::start(), Folder::new());
    fs::create_dir(folder.path("out")).unwrap();
    fs::write(folder.path("out/mine"), "").unwrap();
    let output = command(&stub, &folder, &[]).output().unwrap();
    assert_eq!(code(&output), 2);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.trim_end().ends_with("is not empty; name a folder that does not exist yet"),
        "{text}"
    );
    assert!(stub.asked.lock().unwrap().is_empty());
}

#[test]
fn a_server_that_is_not_there() {
    let (stub, folder) = (Stub::start(Box::new(|_| None)), Folder::new());
    let output = command(&stub, &folder, &[]).output().unwrap();
    assert_eq!(code(&output), 6, "{output:?}");
    assert!(!folder.path("out").exists(), "the next attempt may use the same name");

    fs::create_dir(folder.path("out")).unwrap();
    let output = command(&stub, &folder, &[]).output().unwrap();
    assert_eq!(code(&output), 6, "{output:?}");
    let left = fs::read_dir(folder.path("out")).unwrap().count();
    assert_eq!(left, 0, "a folder that was empty is again");
}

fn interrupt(child: &std::process::Child) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
}

#[test]
fn a_server_that_does_not_answer() {
    let (deaf, folder) = (Deaf::start(), Folder::new());
    let start = |seconds| {
        bench(&["run", "--suite", "embedded-v1", "--url", &deaf.url, "--timeout-connect", seconds])
            .arg("--out")
            .arg(folder.path("out"))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let output = start("0.2").wait_with_output().unwrap();
    assert_eq!(code(&output), 6, "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("within 200ms (--timeout-connect)"), "{text}");

    let child = start("60");
    let began = Instant::now();
    while !folder.path("out/provenance").exists() {
        assert!(began.elapsed() < Duration::from_secs(20), "the run does not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(100));
    interrupt(&child);
    let began = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(code(&output), 130);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text, "strata-bench: interrupted before the first request\n");
    assert!(!folder.path("out").exists(), "the next attempt may use the same name");
}

#[test]
fn a_server_that_dies_leaves_a_partial_report() {
    let honest = Honest::new();
    let left = std::sync::atomic::AtomicU32::new(8); // three questions, then five requests
    let stub = Stub::start(Box::new(move |asked| {
        let died = left.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) == 0;
        (!died).then(|| honest.answer(asked))
    }));
    let folder = Folder::new();
    let output = command(&stub, &folder, &[]).output().unwrap();
    assert_eq!(code(&output), 6, "{output:?}");
    let report = read_json(&folder.path("out/results.json"));
    assert_eq!(report["requests"][4]["status"], "completed");
    assert_eq!(report["requests"][5]["status"], "failed");
    assert_eq!(report["requests"][6]["status"], "skipped");
    assert_eq!(report["run"]["status"], "nonconforming");
    rebuilds(&folder);
    passes(&folder);
}

#[test]
fn the_optional_stage_runs_its_rounds() {
    let (stub, folder) = (Honest::start(), Folder::new());
    let output = command(&stub, &folder, &["--optional"]).output().unwrap();
    assert_eq!(code(&output), 3, "{output:?}");
    assert_eq!(stub.bodies().len(), 26);
    let report = read_json(&folder.path("out/results.json"));
    assert_eq!(report["request_counts"]["concurrency"]["completed"], 4);
    let rounds = report["concurrency_rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 2);
    for (round, number) in rounds.iter().zip(1..) {
        assert_eq!((&round["round"], &round["concurrency"]), (&json!(number), &json!(2)));
        assert_eq!((&round["completed"], &round["output_tokens"]), (&json!(2), &json!(8)));
    }
    let offsets = &report["extensions"]["client_offsets_us"];
    for [a, b] in [["a-r1", "b-r1"], ["a-r2", "b-r2"]] {
        let start = |id: &str| &offsets[format!("concurrency-pair-{id}")]["dispatch"];
        assert_eq!(start(a), start(b));
    }
    rebuilds(&folder);
    passes(&folder);
}

/// Goes on with the run in `out`; exit code and standard error.
fn resume(stub: &Stub, folder: &Folder, more: &[&str]) -> (i32, String) {
    let mut command = bench(&["run", "--suite", "embedded-v1", "--url", &stub.url]);
    let output = command.arg("--resume").arg(folder.path("out")).args(more).output().unwrap();
    (code(&output), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_run_goes_on_where_it_ended() {
    let honest = Honest::new();
    let left = std::sync::atomic::AtomicU32::new(8); // three questions, then five requests
    let dying = Stub::start(Box::new(move |asked| {
        let died = left.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) == 0;
        (!died).then(|| honest.answer(asked))
    }));
    let folder = Folder::new();
    assert_eq!(code(&command(&dying, &folder, &[]).output().unwrap()), 6);
    let before = read_json(&folder.path("out/results.json"));
    let recorded = fs::read(folder.path("out/outputs.jsonl")).unwrap();

    let stub = Honest::start();
    let (exit, error) = resume(&stub, &folder, &["--nonce", "N"]);
    assert_eq!(exit, 2, "{error}");
    assert!(error.contains(r#"/nonce was null and is "N"; resume with what"#), "{error}");
    assert_eq!(read_json(&folder.path("out/results.json")), before);

    let (exit, progress) = resume(&stub, &folder, &[]);
    assert_eq!(exit, 3, "{progress}");
    assert!(progress.starts_with("[ 7/22] performance-"), "{progress}");
    assert_eq!(stub.bodies().len(), 16);
    let report = read_json(&folder.path("out/results.json"));
    assert_eq!(report["requests"][4], before["requests"][4]);
    assert_eq!(report["requests"][5]["status"], "failed", "what failed is not tried again");
    assert_eq!(report["requests"][21]["status"], "completed");
    assert_eq!(report["run"]["id"], before["run"]["id"]);
    let resumed = &report["extensions"]["resumed"];
    assert_eq!(resumed[0]["after_request"], report["requests"][5]["id"]);
    assert_eq!(resumed[0]["resent"], json!([]));
    let outputs = fs::read(folder.path("out/outputs.jsonl")).unwrap();
    assert!(outputs.starts_with(&recorded), "a record is never changed");
    rebuilds(&folder);
    passes(&folder);

    let (exit, error) = resume(&stub, &folder, &[]);
    assert_eq!(exit, 2);
    assert!(error.contains("every request is finished; there is nothing to resume"), "{error}");
    let (exit, error) = resume(&stub, &Folder::new(), &[]);
    assert_eq!(exit, 2);
    assert!(error.contains("config.json: cannot be read"), "{error}");
}

/// The first text of every chat reply is replaced by the second: this exit code and this error.
fn check_spoilt(change: (&'static str, &'static str), expected: i32, error: &str) {
    let honest = Honest::new();
    let stub = Stub::start(Box::new(move |asked| {
        let mut reply = honest.answer(asked);
        if asked.path.contains("chat") {
            let text = String::from_utf8(reply.pieces[0].1.clone()).unwrap();
            reply.pieces[0].1 = text.replace(change.0, change.1).into_bytes();
        }
        Some(reply)
    }));
    let folder = Folder::new();
    let output = command(&stub, &folder, &[]).output().unwrap();
    assert_eq!(code(&output), expected, "{output:?}");
    let report = read_json(&folder.path("out/results.json"));
    assert_eq!(report["request_counts"]["performance"]["failed"], 9);
    assert_eq!(report["requests"][0]["error"], error);
    passes(&folder);
}

#[test]
fn the_exit_code_tells_a_breach_of_the_protocol_from_a_model_that_says_nothing() {
    check_spoilt(("data: [DONE]\n\n", ""), 6, "the stream ended without [DONE]");
    check_spoilt(("\"content\":", "\"nothing\":"), 3, "no token of text arrived");
}

#[test]
fn an_interrupted_run_leaves_a_partial_report() {
    let honest = Honest::new();
    let stub = Stub::start(Box::new(move |asked| {
        let slow = asked.path.contains("chat") && asked.body.len() > 800;
        let linger = if slow { Duration::from_secs(20) } else { Duration::ZERO };
        let pieces = if slow { vec![] } else { honest.answer(asked).pieces };
        Some(Reply { pieces, linger, ..honest.answer(asked) })
    }));
    let folder = Folder::new();
    let mut child =
        command(&stub, &folder, &[]).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.starts_with("[ 1/22] warmup completed"), "{first}");
    std::thread::sleep(Duration::from_millis(100));
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let report = read_json(&folder.path("out/results.json"));
    let rows = report["requests"].as_array().unwrap();
    assert_eq!((&rows[0]["status"], &rows[21]["status"]), (&json!("completed"), &json!("skipped")));
    assert_eq!(
        report["missing"]["/requests/21/error"],
        "not sent: the operator interrupted the run"
    );
    rebuilds(&folder);
    passes(&folder);
}

#[test]
fn bodies_are_equal_between_runs_and_differ_with_a_nonce() {
    let stub = Honest::start();
    let digests = |more: &[&str]| {
        let folder = Folder::new();
        let output = command(&stub, &folder, more).output().unwrap();
        assert_eq!(code(&output), 3, "{output:?}");
        let report = read_json(&folder.path("out/results.json"));
        (
            report["extensions"]["request_sha256"].clone(),
            report["extensions"]["status_reasons"].clone(),
        )
    };
    let (first, reasons) = digests(&[]);
    assert_eq!(digests(&[]), (first.clone(), reasons));
    let (other, reasons) = digests(&["--nonce", "N1"]);
    let pairs = first.as_object().unwrap().iter().zip(other.as_object().unwrap());
    assert_eq!(pairs.filter(|((_, a), (_, b))| a == b).count(), 0);
    assert!(reasons.to_string().contains("the bodies carry a nonce"), "{reasons}");
}

#[test]
fn a_server_without_status_is_known_by_its_props() {
    let honest = Honest::new();
    let stub = Stub::start(Box::new(move |asked| {
        Some(match asked.path.as_str() {
            "/v1/status" => Reply::json("404 Not Found", &json!({"error": "no such route"})),
            "/props" => Reply::json(
                "200 OK",
                &json!({
                    "build_info": "b7-abc", "total_slots": 1, "chat_template": "{{ messages }}",
                    "default_generation_settings": {"n_ctx": 512}, "model_path": "m.gguf",
                }),
            ),
            _ => honest.answer(asked),
        })
    }));
    let folder = Folder::new();
    let output = command(&stub, &folder, &[]).output().unwrap();
    assert_eq!(code(&output), 3, "{output:?}");
    let report = read_json(&folder.path("out/results.json"));
    assert_eq!(report["software"]["engine_version"], "b7-abc");
    assert_eq!(report["configuration"]["context_tokens"], 512);
    assert_eq!(report["configuration"]["server_capacity"], 1);
    let template = "{{ messages }}";
    let written = folder.path("out/provenance/chat_template.jinja");
    assert_eq!(fs::read_to_string(written).unwrap(), template);
    assert_eq!(report["configuration"]["template"]["sha256"], sha256(template.as_bytes()));
    let config = fs::read_to_string(folder.path("out/config.json")).unwrap();
    assert!(!config.contains(template), "{config}");
}

#[test]
fn the_key_is_nowhere_in_the_folder() {
    let honest = Honest::new();
    let key = "correct \"horse\" battery";
    let stub = Stub::start(Box::new(move |asked| {
        assert!(asked.head.contains(key), "{}", asked.head);
        if asked.path == "/v1/status" {
            return Some(Reply::json("200 OK", &json!({"engine": {"version": key}})));
        }
        if asked.path.contains("chat") && asked.body.len() > 800 {
            let quoted = json!({"key": key, "file": temp_dir().join("x")}).to_string();
            let error = json!({"error": {"message": format!("no such key: {quoted}")}});
            let event = format!("data: {}\n\n", error.to_string().replace('/', r"\/"));
            return Some(Reply::stream(vec![(Duration::ZERO, event.into_bytes())]));
        }
        Some(honest.answer(asked))
    }));
    let folder = Folder::new();
    let mut groups = json!({
        "kv_cache": {}, "expert_cache": {}, "offloading": {}, "prefill": {}, "mtp": {},
        "calibration": {}, "experimental_options": {},
    });
    groups["offloading"] = json!({"--key": key, "--in": temp_dir().join("no/such")});
    fs::write(folder.path("c.json"), groups.to_string()).unwrap();
    let config = folder.path("c.json").display().to_string();
    let more = ["--credential-env", "BENCH_KEY", "--track-notes", key, "--config", &config];
    let output = command(&stub, &folder, &more)
        .args(["--nonce", key])
        .env("BENCH_KEY", key)
        .output()
        .unwrap();
    assert_eq!(code(&output), 3, "{output:?}");
    let report = read_json(&folder.path("out/results.json"));
    let errors: Vec<&str> =
        report["requests"].as_array().unwrap().iter().filter_map(|r| r["error"].as_str()).collect();
    let error = r#"event 0 is an error: `no such key: {"key":"<secret>","file":"<tmp>/x"}`"#;
    assert!(!errors.is_empty() && errors.iter().all(|found| *found == error), "{errors:?}");
    assert_eq!(report["extensions"]["api_key_sent"], true);
    assert_eq!(report["configuration"]["track_notes"], "<secret>");
    let offloading = json!({"--key": "<secret>", "--in": "<tmp>/no/such"});
    assert_eq!(report["configuration"]["offloading"], offloading);
    for place in ["out", "out/provenance"] {
        for entry in fs::read_dir(folder.path(place)).unwrap() {
            let path = entry.unwrap().path();
            let text = path.is_file().then(|| fs::read_to_string(&path).unwrap());
            let text = text.unwrap_or_default();
            assert!(!text.contains("horse") && !text.contains("/tmp"), "{}", path.display());
        }
    }
}
