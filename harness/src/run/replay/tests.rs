//! Runs against scripts: order, progress, and whatever stops them, each giving a valid report.

use super::*;
use crate::client::clock::SystemClock;
use crate::client::scripted::{Script, Scripted};
use crate::client::transport::{Fault, FaultKind, Reply};
use crate::config::{Config, End};
use crate::fixture::{Honest, config};
use crate::plan::plan;
use crate::record;
use crate::report::RunStatus;
use crate::report::rebuild::rebuild_from;
use crate::run::resume::Kept;
use crate::scratch::Scratch;
use serde_json::Value;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

struct Ran {
    stop: Option<Stop>,
    lines: Vec<String>,
    outputs: Vec<u8>,
}

fn replay(transport: &Scripted, cancel: &AtomicBool, lost: Option<&str>) -> Ran {
    replay_after(b"", 0, transport, cancel, lost)
}

/// Goes on after this record, of which so many requests are kept.
fn replay_after(
    before: &[u8],
    kept: usize,
    transport: &Scripted,
    cancel: &AtomicBool,
    lost: Option<&str>,
) -> Ran {
    let protocol = config().protocol;
    let requests: Vec<Sending> = plan(&protocol, false)
        .into_iter()
        .map(|planned| {
            let body = format!("{{\"id\":\"{}\"}}", planned.id);
            (planned, body)
        })
        .collect();
    let scratch = Scratch::new();
    let path = scratch.path().join("outputs.jsonl");
    std::fs::write(&path, before).unwrap();
    let mut recorder = Recorder::resume(&path, record::whole_bytes(before) as u64).unwrap();
    let mut lines = Vec::new();
    let mut replay = Replay {
        transport,
        clock: &transport.clock.clone(),
        redactor: &Redactor::default(),
        passed_reasons: &protocol.passed_reasons,
        cancel,
        lost: &mut || lost.map(str::to_string),
        progress: &mut |line| lines.push(line.to_string()),
    };
    let stop = replay.run(&requests, kept, &mut recorder).unwrap();
    Ran { stop, lines, outputs: std::fs::read(&path).unwrap() }
}

fn report(ran: &Ran) -> (Value, RunStatus, Vec<String>) {
    let end = End { stop: ran.stop.clone(), ..config().end.unwrap() };
    let config = Config { end: Some(end), ..config() };
    let report = rebuild_from(&ran.outputs, &serde_json::to_vec(&config).unwrap()).unwrap();
    (serde_json::from_slice(&report.json).unwrap(), report.status, report.status_reasons)
}

fn scripts() -> Vec<Script> {
    let reply = |tokens: usize, truncated| {
        Honest { steps: vec![100; tokens], reasoning: 1, truncated, ..Honest::PLAIN }.script()
    };
    vec![reply(16, true), reply(3, false), reply(64, true), reply(5, false), reply(3, false)]
}

#[test]
fn a_whole_run_is_complete() {
    let transport = Scripted::new(scripts());
    let ran = replay(&transport, &AtomicBool::new(false), None);
    assert_eq!(ran.stop, None);
    insta::assert_snapshot!(ran.lines.join("\n"), @r"
    [1/5] warmup truncated 16 tok 100.0 tok/s ttft 0.525 s total 0.675 s
    [2/5] performance-short-r1 completed 3 tok 100.0 tok/s ttft 0.525 s total 0.545 s
    [3/5] performance-short-r2 truncated 64 tok 100.0 tok/s ttft 0.525 s total 1.155 s
    [4/5] performance-short-r3 completed 5 tok 100.0 tok/s ttft 0.525 s total 0.565 s
    [5/5] sanity-I1 completed 3 tok 100.0 tok/s ttft 0.525 s total 0.545 s
    ");
    let sent = transport.bodies.lock().unwrap();
    let ids = [
        "warmup",
        "performance-short-r1",
        "performance-short-r2",
        "performance-short-r3",
        "sanity-I1",
    ];
    assert_eq!(*sent, ids.map(|id| format!("{{\"id\":\"{id}\"}}")));

    let (report, status, reasons) = report(&ran);
    assert_eq!((status, reasons), (RunStatus::Complete, vec![]));
    assert_eq!(report["quality"]["passed"], 1);
    insta::assert_snapshot!("report", serde_json::to_string_pretty(&report).unwrap());
}

/// P12, P13: Ctrl-C before any read of any reply: what was finished stays, the rest is skipped.
#[test]
fn an_interruption_anywhere_leaves_a_valid_report() {
    let reads: usize = scripts().iter().map(|script| script.reads.len() + 1).sum();
    for read in 0..reads {
        let cancel = Arc::new(AtomicBool::new(false));
        let transport = Scripted::new(scripts()).interrupted_at(read, &cancel);
        let ran = replay(&transport, &cancel, None);
        let (report, status, reasons) = report(&ran);
        let skipped =
            report["requests"].as_array().unwrap().iter().filter(|r| r["status"] == "skipped");
        let skipped = skipped.count();
        if ran.stop.is_none() {
            // The last reply had said [DONE] already.
            assert_eq!((read + 1, skipped), (reads, 0));
            continue;
        }
        assert_eq!(ran.stop, Some(Stop::Interrupted), "{read}");
        assert_eq!(status, RunStatus::Nonconforming);
        let why = format!(
            "{skipped} of 5 planned requests were skipped: the operator interrupted the run"
        );
        assert_eq!(reasons, [why]);
        for counts in report["request_counts"].as_object().unwrap().values() {
            let of = |key: &str| counts[key].as_u64().unwrap();
            assert_eq!(of("planned"), of("attempted") + of("skipped"));
            assert_eq!(of("failed"), 0);
        }
    }
}

/// P13: Ctrl-C or a crash at any read, then `--resume`: the report is that of a run that was let
/// be, but for the fields that say so.
#[test]
fn an_interrupted_run_that_is_resumed_gives_the_same_report() {
    let declared = |json: &[u8]| {
        let mut report: Value = serde_json::from_slice(json).unwrap();
        report["artifacts"] = Value::Null;
        report["extensions"]["resumed"] = Value::Null;
        report["missing"].as_object_mut().unwrap().remove("/extensions/resumed/0/after_request");
        report
    };
    let made = |config: &Config, outputs: &[u8]| {
        rebuild_from(outputs, &serde_json::to_vec(config).unwrap()).unwrap().json
    };
    let whole = replay(&Scripted::new(scripts()), &AtomicBool::new(false), None);
    let whole = declared(&made(&config(), &whole.outputs));
    let reads: usize = scripts().iter().map(|script| script.reads.len() + 1).sum();
    for (read, torn) in (0..reads - 1).flat_map(|read| [(read, false), (read, true)]) {
        let mut config = config();
        let planned = plan(&config.protocol, false);
        let cancel = Arc::new(AtomicBool::new(false));
        let mut before =
            replay(&Scripted::new(scripts()).interrupted_at(read, &cancel), &cancel, None).outputs;
        if torn {
            before.truncate(before.len() - 2); // killed while it wrote
        }
        let kept = Kept::of(&planned, &record::read(&before).unwrap());
        let transport = Scripted::new(scripts().into_iter().skip(kept.requests));
        transport.clock.set(kept.end_ns);
        let ran = replay_after(&before, kept.requests, &transport, &AtomicBool::new(false), None);
        assert_eq!((ran.stop, ran.lines.len()), (None, planned.len() - kept.requests));
        assert!(kept.resent.len() <= usize::from(!torn), "{read}");
        let resumed = kept.told(&planned, "2027-01-15T09:00:00Z".to_string());
        config.resumed = vec![resumed.clone()];
        let json = made(&config, &ran.outputs);
        let report: Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(report["extensions"]["resumed"][0], serde_json::json!(resumed));
        assert_eq!(declared(&json), whole, "{read} {torn}");
    }
}

#[test]
fn a_second_attempt_that_nobody_declared_is_refused() {
    let outputs = replay(&Scripted::new(scripts()), &AtomicBool::new(false), None).outputs;
    let line = outputs.split_inclusive(|&byte| byte == b'\n').next().unwrap();
    let twice = [&outputs, line].concat();
    let error = rebuild_from(&twice, &serde_json::to_vec(&config()).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "outputs.jsonl line 6: a second attempt of `warmup`");
}

/// A round of which one request was under way is sent again, whole.
#[test]
fn of_a_round_all_or_nothing_is_kept() {
    let config = config();
    let planned = plan(&config.protocol, true);
    let replies = vec![Honest { steps: vec![100; 3], ..Honest::PLAIN }.script(); 9];
    let attempts = record::read(&crate::fixture::outputs(&planned, &replies, 0)).unwrap();
    let check = |recorded: usize, kept: usize, resent: &[&str]| {
        let found = Kept::of(&planned, &attempts[..recorded]);
        assert_eq!(
            (found.requests, found.resent),
            (kept, resent.iter().map(|id| id.to_string()).collect())
        );
    };
    check(0, 0, &[]);
    check(5, 5, &[]);
    check(6, 5, &["concurrency-pair-a-r1"]);
    check(7, 7, &[]);
    check(8, 7, &["concurrency-pair-a-r2"]);
    check(9, 9, &[]);
}

#[test]
fn a_lost_server_ends_the_run() {
    let transport = Scripted::new(scripts().into_iter().take(2));
    let ran = replay(&transport, &AtomicBool::new(false), Some("the engine ended"));
    assert_eq!(ran.stop, Some(Stop::ServerLost("the engine ended".to_string())));
    let (report, _, reasons) = report(&ran);
    assert_eq!(report["requests"][2]["error"], "nobody listens");
    assert_eq!(report["missing"]["/requests/3/error"], "not sent: the engine ended");
    assert_eq!(
        reasons,
        [
            "1 of 5 planned requests failed",
            "2 of 5 planned requests were skipped: the engine ended"
        ]
    );
}

#[test]
fn a_lost_connection_to_a_living_server_is_one_failure() {
    let mut scripts = scripts();
    scripts[1] = Script::events(&[]);
    let ran = replay(&Scripted::new(scripts), &AtomicBool::new(false), None);
    assert_eq!(ran.stop, None);
    assert_eq!(ran.lines[1], "[2/5] performance-short-r1 failed: the stream ended without [DONE]");
    let (report, ..) = report(&ran);
    assert_eq!(report["summaries"][0]["n"], 2);
    assert_eq!(
        report["summaries"][0]["excluded"][0]["reason"],
        "prompt_tps is not available for this request"
    );
    assert_eq!(
        report["extensions"]["summary_notes"]["short/total_s"],
        "1 of 2 requests were cut off at their cap; 2 values make no representative median"
    );
}

#[test]
fn private_words_of_a_server_stay_private() {
    let mut script = Script::events(&[(1, "{\"error\":\"no file /home/me/m.gguf for sesame\"}")]);
    script.content_type = Some("application/json".to_string());
    let protocol = config().protocol;
    let planned = plan(&protocol, false).remove(0);
    let scratch = Scratch::new();
    let path = scratch.path().join("outputs.jsonl");
    let transport = Scripted::new([script]);
    Replay {
        transport: &transport,
        clock: &transport.clock.clone(),
        redactor: &Redactor::new(vec!["sesame".to_string()], Some("/home/me"), &[]),
        passed_reasons: &protocol.passed_reasons,
        cancel: &AtomicBool::new(false),
        lost: &mut || None,
        progress: &mut |_| {},
    }
    .run(&[(planned, "{}".to_string())], 0, &mut Recorder::create(&path).unwrap())
    .unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("no file <home>/m.gguf for <secret>"), "{text}");
}

/// Answers none before as many requests are there as a round has, and then as nobody would.
struct Together {
    size: usize,
    here: Mutex<usize>,
    changed: Condvar,
}

impl Transport for Together {
    fn post(&self, _body: &str) -> Result<Reply, Fault> {
        let mut here = self.here.lock().unwrap();
        *here += 1;
        let full = here.next_multiple_of(self.size);
        self.changed.notify_all();
        let wait = |here: &mut usize| *here < full;
        let limit = Duration::from_secs(20);
        let waited = self.changed.wait_timeout_while(here, limit, wait).unwrap();
        let message = if waited.1.timed_out() { "sent alone" } else { "sent together" };
        Err(Fault::new(FaultKind::Broken, message))
    }
}

#[test]
fn a_round_is_sent_at_once_and_measured_from_its_start() {
    let protocol = config().protocol;
    let requests: Vec<Sending> = plan(&protocol, true)
        .into_iter()
        .filter(|planned| planned.round.is_some())
        .map(|planned| (planned, "{}".to_string()))
        .collect();
    let scratch = Scratch::new();
    let path = scratch.path().join("outputs.jsonl");
    let mut lines = 0;
    let stop = Replay {
        transport: &Together { size: 2, here: Mutex::new(0), changed: Condvar::new() },
        clock: &SystemClock::start(),
        redactor: &Redactor::default(),
        passed_reasons: &protocol.passed_reasons,
        cancel: &AtomicBool::new(false),
        lost: &mut || None,
        progress: &mut |_| lines += 1,
    }
    .run(&requests, 0, &mut Recorder::create(&path).unwrap())
    .unwrap();
    assert_eq!((stop, lines), (None, 4));
    let attempts = record::read(&std::fs::read(&path).unwrap()).unwrap();
    let ids: Vec<&str> = attempts.iter().map(|attempt| attempt.request_id.as_str()).collect();
    assert!(ids.iter().eq(requests.iter().map(|(planned, _)| &planned.id)), "{ids:?}");
    for attempt in &attempts {
        assert_eq!(attempt.fault.as_ref().unwrap().message, "sent together");
        assert!(attempt.dispatch_ns <= attempt.end_ns);
    }
    let starts: Vec<u64> = attempts.iter().map(|attempt| attempt.dispatch_ns).collect();
    assert_eq!((starts[0], starts[2]), (starts[1], starts[3]));
    let first_end = attempts[..2].iter().map(|attempt| attempt.end_ns).max().unwrap();
    assert!(first_end <= starts[2]);
}
