//! Runs that start their engine. The engine is a shell that prints the address of the test's own
//! server: what matters here is how it is started, watched and ended.

use super::stub::{Folder, Honest, Reply, Stub, bench, code, read_json};
use serde_json::json;
use std::env::temp_dir;
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use strata_harness::fact::Fact;

/// A profile whose engine runs `script`, the server's address being `URL`.
fn profile(folder: &Folder, stub: &Stub, script: &str, ready_line: Option<&str>) -> String {
    let path = folder.path("profile.json");
    fs::write(folder.path("model.gguf"), "not a model, but a file").unwrap();
    let profile = json!({
        "schema_version": 1, "name": "shell", "program": "sh",
        "subcommand": ["-c", script.replace("URL", &stub.url)],
        "model": "model.gguf",
        "options": {"--kv": "f16", "--ctx": "512", "--offload-dir": temp_dir().join("no/such")},
        "port_option": "--port", "ready_line": ready_line, "ready_path": "/health",
        "ready_timeout_s": 2,
    });
    fs::write(&path, profile.to_string()).unwrap();
    path.display().to_string()
}

fn run(folder: &Folder, profile: &str) -> Command {
    let mut command = bench(&["run", "--suite", "embedded-v1", "--profile", profile]);
    command.arg("--out").arg(folder.path("out"));
    command
}

const READY: Option<&str> = Some("listening on ");

#[test]
fn a_started_engine_gives_a_complete_run() {
    let (stub, folder) = (Honest::start(), Folder::new());
    let script = "echo arguments: $0 $*; echo listening on URL; exec sleep 60";
    let profile = profile(&folder, &stub, script, READY);
    let output = run(&folder, &profile).output().unwrap();
    let clean = strata_harness::version::runner().dirty == Fact::Known(false);
    assert_eq!(code(&output), if clean { 0 } else { 3 }, "{output:?}");

    let report = read_json(&folder.path("out/results.json"));
    let reasons = report["extensions"]["status_reasons"].as_array().unwrap();
    let dirt = "the runner was built from sources that differ from its commit";
    assert!(reasons.iter().all(|reason| reason == dirt), "{reasons:?}");
    assert_eq!(report["extensions"]["started_engine"], true);
    assert_eq!(report["extensions"]["engine_threads"], 1);
    assert_eq!(report["configuration"]["kv_cache"], json!({"--kv": "f16"}));
    let other = json!({"--ctx": "512", "--offload-dir": "<tmp>/no/such"});
    assert_eq!(report["extensions"]["other_engine_options"], other);
    let told = String::from_utf8(output.stdout).unwrap();
    let out = folder.path("out").display().to_string();
    assert!(told.contains(&format!(": {out}/results.json\n")), "{told}");
    assert!(told.ends_with(&format!("\nreview it: strata-bench check {out}\n")), "{told}");
    assert_eq!(report["model"]["files"][0]["path"], "model.gguf");
    assert_eq!(report["artifacts"][5]["path"], "provenance/engine.log");
    let template = &report["extensions"]["status_missing"]["template"];
    assert_eq!(template, "the model has no chat template");
    let log = fs::read_to_string(folder.path("out/provenance/engine.log")).unwrap();
    let arguments = log.lines().next().unwrap();
    assert!(arguments.starts_with("arguments: --model <tmp>/"), "{log}");
    assert!(
        arguments.ends_with("/model.gguf --kv f16 --ctx 512 --offload-dir <tmp>/no/such --port 0"),
        "{log}"
    );
}

/// Hashing 64 GiB takes a minute and more; the file takes no room.
#[test]
fn an_interruption_does_not_wait_for_a_big_model() {
    let (stub, folder) = (Honest::start(), Folder::new());
    let profile = profile(&folder, &stub, "echo listening on URL; exec sleep 60", READY);
    let model = fs::File::options().write(true).open(folder.path("model.gguf")).unwrap();
    model.set_len(64 << 30).unwrap();
    let mut runner = run(&folder, &profile).stdout(Stdio::null()).spawn().unwrap();
    let described = || stub.asked.lock().unwrap().iter().any(|asked| asked.path == "/v1/models");
    await_true("the run begins", described);
    thread::sleep(Duration::from_millis(100));
    let began = Instant::now();
    let pid = rustix::process::Pid::from_child(&runner);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(runner.wait().unwrap().code(), Some(130));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert!(stub.bodies().is_empty());
    assert!(!folder.path("out").exists(), "nothing was sent: the name is free again");
}

/// Exit code 6 and a message that contains `expected`.
fn check(script: &str, ready_line: Option<&str>, expected: &str) {
    let (stub, folder) = (Honest::start(), Folder::new());
    let profile = profile(&folder, &stub, script, ready_line);
    let output = run(&folder, &profile).output().unwrap();
    assert_eq!(code(&output), 6, "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains(expected), "{text}");
    assert!(!folder.path("out").exists(), "nothing was sent: the name is free again");
}

#[test]
fn engines_that_do_not_come_up() {
    check(
        "echo the model is damaged >&2; exit 7",
        READY,
        "profile shell: the engine ended (exit status: 7); its last line: the model is damaged",
    );
    check(
        "echo loading; exec sleep 60",
        READY,
        "the engine printed no line with `listening on ` within 2s (ready_timeout_s of the \
         profile); its last line: loading",
    );
    check(
        "printf 'one\\n\\n two\\033[2J\\n'; exit 7",
        READY,
        "the engine ended (exit status: 7); its last lines:\n  one\n  two [2J\n",
    );
    check("exit 0", None, "the engine ended (exit status: 0); it printed nothing");
}

/// Whether the process is gone, or dead and only waits to be collected by whoever adopted it.
fn ended(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.map_or(true, |stat| stat.rsplit(')').next().unwrap().trim_start().starts_with('Z'))
}

fn await_true(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_engine_dies_with_its_runner() {
    let honest = Honest::new();
    let stub = Stub::start(Box::new(move |asked| {
        let hang = asked.path.contains("chat");
        let linger = if hang { Duration::from_secs(60) } else { Duration::ZERO };
        Some(Reply { linger, ..honest.answer(asked) })
    }));
    let folder = Folder::new();
    let pid_file = folder.path("pid").display().to_string();
    let script = format!("echo $$ > {pid_file}; echo listening on URL; exec sleep 600");
    let profile = profile(&folder, &stub, &script, READY);
    let mut runner =
        run(&folder, &profile).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    await_true("a request is sent", || !stub.bodies().is_empty());
    let pid = fs::read_to_string(&pid_file).unwrap().trim().to_string();
    assert!(!ended(&pid));
    runner.kill().unwrap(); // SIGKILL: it cannot clean up
    runner.wait().unwrap();
    await_true("the engine has ended", || ended(&pid));
}

#[test]
fn an_engine_that_dies_is_quoted() {
    let honest = Honest::new();
    let folder = Folder::new();
    let pid_file = folder.path("pid").display().to_string();
    let to_kill = pid_file.clone();
    let stub = Stub::start(Box::new(move |asked| {
        if asked.path.contains("chat") {
            let pid = fs::read_to_string(&to_kill).unwrap();
            Command::new("kill").args(["-9", pid.trim()]).status().unwrap();
            thread::sleep(Duration::from_millis(100));
            return None;
        }
        Some(honest.answer(asked))
    }));
    let script = format!("echo $$ > {pid_file}; echo listening on URL; exec sleep 600");
    let profile = profile(&folder, &stub, &script, READY);
    let output = run(&folder, &profile).output().unwrap();
    assert_eq!(code(&output), 6, "{output:?}");
    let report = read_json(&folder.path("out/results.json"));
    let reasons = report["extensions"]["status_reasons"].to_string();
    assert!(
        reasons.contains("21 of 22 planned requests were skipped: the engine ended (signal: 9"),
        "{reasons}"
    );
}
