//! The client measured before it measures: a server of this program's own, on loopback, whose
//! every byte and moment is known, plays what servers do right and wrong, and what the client made
//! of it is compared with the truth. It uses the client exactly as a run does.

mod cases;
mod server;

use crate::client::attempt::attempt;
use crate::client::base_url::BaseUrl;
use crate::client::clock::SystemClock;
use crate::client::http::Http;
use crate::client::sse;
use crate::client::watched::Timeouts;
use crate::record::Attempt;
use crate::report::transcript::{DeltaKind, FailureKind, Transcript, transcribe};
pub use cases::cases;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use server::Sent;
use std::fmt::Write;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A fault or habit of servers, played.
#[derive(Debug, Clone)]
pub struct Case {
    /// For people and for reports.
    pub name: &'static str,
    /// What is sent, in order.
    pub steps: Vec<Step>,
    /// What a client must make of it.
    pub truth: Seen,
}

/// What the server does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Sends bytes in one write.
    Send {
        /// As they are.
        wire: Vec<u8>,
        /// What of them is the body, once the framing is taken off.
        body: Vec<u8>,
    },
    /// Waits.
    Pause(Duration),
    /// Says nothing more until the client goes away.
    Hang,
}

/// What a client makes of a reply, without its times.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs)] // as in `Transcript`
pub struct Seen {
    pub first_delta: Option<DeltaKind>,
    pub answer: String,
    pub reasoning: String,
    /// Names and arguments.
    pub tool_calls: Vec<(String, String)>,
    pub finish_reason: Option<String>,
    pub completion_tokens: Option<u64>,
    pub failure: Option<FailureKind>,
}

impl From<&Transcript> for Seen {
    fn from(transcript: &Transcript) -> Seen {
        let calls = transcript.tool_calls.iter();
        Seen {
            first_delta: transcript.first_delta.map(|(kind, _)| kind),
            answer: transcript.answer.clone(),
            reasoning: transcript.reasoning.clone(),
            tool_calls: calls.map(|call| (call.name.clone(), call.arguments.clone())).collect(),
            finish_reason: transcript.finish_reason.clone(),
            completion_tokens: transcript.usage.completion_tokens,
            failure: transcript.failure.as_ref().map(|failure| failure.kind),
        }
    }
}

/// How the client did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelfTest {
    /// One for each case, in order.
    pub cases: Vec<Outcome>,
}

/// How the client did in one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// [`Case::name`].
    pub name: String,
    /// What differs from the truth; null if nothing does.
    pub problem: Option<String>,
    /// Greatest time from a server's write to the client's stamp of the event it completed, in
    /// nanoseconds; null if no event came.
    pub latest_ns: Option<u64>,
}

/// Plays every case to the client over loopback. Takes a second or two.
pub fn self_test() -> io::Result<SelfTest> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let outcomes = cases().iter().map(|case| play(&listener, case)).collect::<Result<_, _>>()?;
    Ok(SelfTest { cases: outcomes })
}

fn play(listener: &TcpListener, case: &Case) -> io::Result<Outcome> {
    let clock = SystemClock::start();
    let url = format!("http://{}", listener.local_addr()?);
    let base = BaseUrl::parse(&url).map_err(io::Error::other)?;
    let http = Http::new(base, None, TIMEOUTS, clock, Arc::new(AtomicBool::new(false)));
    let (recorded, sent) = std::thread::scope(|scope| {
        let serving = scope.spawn(|| server::serve(listener, &case.steps, &clock));
        let recorded = attempt(&http, &clock, case.name, "{}");
        (recorded, serving.join())
    });
    let sent = sent.map_err(|_| io::Error::other("the server of the self-test panicked"))??;
    Ok(judge(case, &recorded, &sent))
}

fn judge(case: &Case, recorded: &Attempt, sent: &[Sent]) -> Outcome {
    let seen = Seen::from(&transcribe(recorded));
    let differs = (seen != case.truth).then(|| format!("{seen:?}, not {:?}", case.truth));
    let written = written_at(sent);
    let delays: Result<Vec<u64>, String> = recorded
        .events
        .iter()
        .enumerate()
        .map(|(i, event)| match written.get(i) {
            Some(&at_ns) if at_ns <= event.at_ns => Ok(event.at_ns - at_ns),
            Some(_) => Err(format!("event {i} has a stamp from before it was sent")),
            None => Err(format!("event {i} was never sent")),
        })
        .collect();
    Outcome {
        name: case.name.to_string(),
        latest_ns: delays.as_ref().ok().and_then(|delays| delays.iter().max().copied()),
        problem: differs.or(delays.err()),
    }
}

/// When the write that completed each event began.
fn written_at(sent: &[Sent]) -> Vec<u64> {
    let (mut parser, mut events, mut written) = (sse::Parser::default(), Vec::new(), Vec::new());
    for Sent { at_ns, body } in sent {
        // What the parser refuses, the case's truth is about.
        let _ = parser.feed(body, &mut events);
        written.resize(events.len(), *at_ns);
    }
    let _ = parser.finish(&mut events);
    // An event that only the end completes came with the last bytes of the body.
    let last = sent.iter().rfind(|sent| !sent.body.is_empty()).map_or(0, |sent| sent.at_ns);
    written.resize(events.len(), last);
    written
}

impl SelfTest {
    /// Whether the client saw the truth in every case.
    pub fn passed(&self) -> bool {
        self.cases.iter().all(|case| case.problem.is_none())
    }

    /// Greatest time from a server's write to the client's stamp, in nanoseconds.
    pub fn greatest_error_ns(&self) -> Option<u64> {
        self.cases.iter().filter_map(|case| case.latest_ns).max()
    }

    /// The same in milliseconds, to the microsecond.
    pub fn latest_stamp_ms(&self) -> Option<f64> {
        self.greatest_error_ns().map(ms)
    }

    /// Cases in which the client saw something else than the truth, by name.
    pub fn failed(&self) -> Vec<String> {
        let failed = self.cases.iter().filter(|case| case.problem.is_some());
        failed.map(|case| case.name.clone()).collect()
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for case in &self.cases {
            let late = case.latest_ns.map_or(String::new(), |ns| format!("{:.3} ms", ms(ns)));
            let found = case.problem.as_deref().unwrap_or("as it is");
            // Writing to a String does not fail.
            let _ = writeln!(text, "{:<32} {late:>10}  {found}", case.name);
        }
        let good = self.cases.iter().filter(|case| case.problem.is_none()).count();
        let greatest = self.greatest_error_ns().map_or(0.0, ms);
        let all = self.cases.len();
        let _ = writeln!(text, "{good} of {all} seen as they are; latest stamp {greatest:.3} ms");
        text
    }

    /// For programs.
    pub fn json(&self) -> Value {
        json!({
            "passed": self.passed(),
            "latest_stamp_ms": self.latest_stamp_ms(),
            "cases": self.cases.iter().map(|case| json!({
                "name": case.name,
                "problem": case.problem,
                "latest_stamp_ms": case.latest_ns.map(ms),
            })).collect::<Vec<_>>(),
        })
    }
}

/// Milliseconds to the microsecond.
fn ms(ns: u64) -> f64 {
    (ns / 1000) as f64 / 1000.0
}

/// The limits of the client under test: short, since a case waits for one.
const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(5),
    first_byte: Duration::from_secs(5),
    idle: Duration::from_millis(200),
    total: Duration::from_secs(10),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_sees_every_case_as_it_is() {
        let found = self_test().unwrap();
        assert!(found.passed(), "{}", found.text());
        assert_eq!(found.cases.len(), cases().len());
    }

    #[test]
    fn a_client_that_errs_is_told_from_one_that_does_not() {
        let case = &cases()[0];
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let check = |change: fn(&mut Case), expected: &str| {
            let mut case = case.clone();
            change(&mut case);
            let problem = play(&listener, &case).unwrap().problem.unwrap_or_default();
            assert!(problem.contains(expected), "{problem}");
        };
        check(|case| case.truth.answer.push('!'), "answer: \"one two\"");
        check(|case| case.truth.completion_tokens = None, "completion_tokens: Some(2)");
        check(|case| case.truth.failure = Some(FailureKind::Breach), "failure: None");
        let mut early = attempt_of(&[5]);
        assert_eq!(judge(&silent(), &early, &[sent(6)]).problem, Some(BEFORE.to_string()));
        assert_eq!(judge(&silent(), &early, &[sent(3)]).latest_ns, Some(2));
        let unended = Sent { at_ns: 3, body: b"data: [DONE]".to_vec() };
        let framing = Sent { at_ns: 9, body: Vec::new() };
        assert_eq!(judge(&silent(), &early, &[unended, framing]).latest_ns, Some(2));
        early = attempt_of(&[5, 6]);
        assert_eq!(judge(&silent(), &early, &[sent(3)]).problem, Some(NEVER.to_string()));
    }

    const BEFORE: &str = "event 0 has a stamp from before it was sent";
    const NEVER: &str = "event 1 was never sent";

    fn sent(at_ns: u64) -> Sent {
        Sent { at_ns, body: b"data: [DONE]\n\n".to_vec() }
    }

    /// A case whose truth is what a stream of nothing but ends amounts to.
    fn silent() -> Case {
        let truth = Seen { failure: Some(FailureKind::Breach), ..Seen::default() };
        Case { name: "silent", steps: Vec::new(), truth }
    }

    fn attempt_of(stamps: &[u64]) -> Attempt {
        let event =
            |&at_ns| crate::record::StampedEvent { at_ns, name: None, data: "[DONE]".to_string() };
        Attempt {
            request_id: "silent".to_string(),
            body_sha256: String::new(),
            dispatch_ns: 0,
            http_status: Some(200),
            content_type: None,
            events: stamps.iter().map(event).collect(),
            body: None,
            end_ns: 9,
            fault: None,
        }
    }
}
