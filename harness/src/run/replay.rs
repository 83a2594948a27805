//! The measured part of a run: the planned requests in order, one at a time or a round at once,
//! each recorded before the next is sent. What goes wrong is recorded too; nothing is sent twice.

use crate::client::attempt::{attempt, attempt_when};
use crate::client::clock::Clock;
use crate::client::transport::Transport;
use crate::config::Stop;
use crate::plan::{Planned, rounds};
use crate::protocol::PassedReasons;
use crate::record::{Attempt, Recorder};
use crate::redact::Redactor;
use crate::report::account::{Account, Context, account};
use crate::report::missing::Reasons;
use crate::report::transcript::FailureKind;
use crate::report::{Request, RequestStatus};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, OnceLock};
use std::thread::{self, ScopedJoinHandle};

/// What a replay works with.
pub struct Replay<'a> {
    /// The way to the server.
    pub transport: &'a dyn Transport,
    /// The run's clock.
    pub clock: &'a dyn Clock,
    /// Takes private text out of what servers say.
    pub redactor: &'a Redactor,
    /// The protocol's words.
    pub passed_reasons: &'a PassedReasons,
    /// The operator's wish to stop.
    pub cancel: &'a AtomicBool,
    /// Asked after a lost connection: why the server is gone, if it is.
    pub lost: &'a mut dyn FnMut() -> Option<String>,
    /// Told of every request that is through.
    pub progress: &'a mut dyn FnMut(&str),
}

/// A planned request and the body to send.
pub type Sending<'p> = (Planned<'p>, String);

impl Replay<'_> {
    /// Sends `requests` but for the first `kept`, until the last is through or there is a reason to
    /// stop.
    pub fn run(
        &mut self,
        requests: &[Sending],
        kept: usize,
        recorder: &mut Recorder,
    ) -> io::Result<Option<Stop>> {
        let mut number = kept;
        for batch in rounds(&requests[kept..], |(planned, _)| planned) {
            if self.cancel.load(Ordering::Relaxed) {
                return Ok(Some(Stop::Interrupted));
            }
            let mut attempts = self.send(batch);
            attempts.iter_mut().for_each(|attempt| self.redact(attempt));
            recorder.append(&attempts)?;
            let (mut interrupted, mut lost) = (false, false);
            for ((planned, _), attempt) in batch.iter().zip(&attempts) {
                number += 1;
                let through = self.account(planned, attempt);
                (self.progress)(&progress_line(number, requests.len(), &through.row));
                interrupted |= through.row.status == RequestStatus::Skipped;
                lost |= through.failure == Some(FailureKind::Lost);
            }
            if interrupted {
                return Ok(Some(Stop::Interrupted));
            }
            if lost && let Some(why) = (self.lost)() {
                return Ok(Some(Stop::ServerLost(why)));
            }
        }
        Ok(None)
    }

    /// Sends a request that is no part of the record.
    pub fn aside(&self, planned: &Planned, body: &str) -> Account {
        let mut attempt = attempt(self.transport, self.clock, &planned.id, body);
        self.redact(&mut attempt);
        self.account(planned, &attempt)
    }

    /// One request, or all of a round: each on a thread of its own, due when the last is ready.
    fn send(&self, batch: &[Sending]) -> Vec<Attempt> {
        let (transport, clock) = (self.transport, self.clock);
        if let [(planned, body)] = batch {
            return vec![attempt(transport, clock, &planned.id, body)];
        }
        let (ready, start) = (Barrier::new(batch.len()), OnceLock::new());
        let due = || {
            ready.wait();
            *start.get_or_init(|| clock.now_ns())
        };
        let due = &due;
        thread::scope(|scope| {
            let lanes: Vec<_> = batch
                .iter()
                .map(|(planned, body)| {
                    scope.spawn(move || attempt_when(transport, clock, &planned.id, body, due))
                })
                .collect();
            let join = |lane: ScopedJoinHandle<'_, Attempt>| {
                lane.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            lanes.into_iter().map(join).collect()
        })
    }

    fn account(&self, planned: &Planned, attempt: &Attempt) -> Account {
        let context = Context {
            first_dispatch_ns: attempt.dispatch_ns,
            passed_reasons: self.passed_reasons,
            not_sent: "",
        };
        account(planned, Some(attempt), &context, &mut Reasons::default().at(""))
    }

    fn redact(&self, attempt: &mut Attempt) {
        let clean = |text: &mut String| *text = self.redactor.apply(text);
        attempt.content_type.iter_mut().for_each(clean);
        for event in &mut attempt.events {
            event.name.iter_mut().for_each(clean);
            clean(&mut event.data);
        }
        attempt.body.iter_mut().for_each(clean);
        attempt.fault.iter_mut().for_each(|fault| clean(&mut fault.message));
    }
}

/// As in `[ 4/22] performance-short-r1 truncated 64 tok 101.7 tok/s ttft 0.060 s total 0.620 s`;
/// what is not known is left out.
fn progress_line(number: usize, of: usize, row: &Request) -> String {
    let width = of.to_string().len();
    let mut line = format!("[{number:width$}/{of}] {} {}", row.id, row.status.as_str());
    if let Some(error) = &row.error {
        line += &format!(": {error}");
    }
    if let Some(tokens) = row.tokens.output_tokens {
        line += &format!(" {tokens} tok");
    }
    if let Some(rate) = row.metrics.decode_tps {
        line += &format!(" {rate:.1} tok/s");
    }
    if let Some(ttft) = row.timings.ttft_s {
        line += &format!(" ttft {:.3} s", ttft.seconds());
    }
    if let Some(total) = row.timings.total_s {
        line += &format!(" total {:.3} s", total.seconds());
    }
    line
}

#[cfg(test)]
mod tests;
