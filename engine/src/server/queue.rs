//! The bounded queue in front of the one thread that owns the session. Jobs go in, events come
//! out over the job's own channel; a closed channel ends the work within one step. It owns the
//! clock of `timings` and knows no HTTP and no JSON.

use super::outcome::Outcome;
use crate::text::Sampler;
use crate::{Error, Generation, GenerationOptions, Session, Step, Token};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

/// One answer to produce.
pub(super) struct Job {
    pub(super) prompt: Vec<Token>,
    pub(super) sampler: Sampler,
    pub(super) options: GenerationOptions,
    /// Whether what an earlier job left behind may be used.
    pub(super) reuse: bool,
    /// Where the events go; the client has left when nobody listens.
    pub(super) events: Sender<Event>,
}

/// What a job tells while it runs. `Done` or `Failed` is the last.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Event {
    /// So many tokens of the prompt are read, and some are not.
    Reading {
        read: usize,
        of: usize,
    },
    /// One step: text of the answer, empty while a character or a stop text is incomplete.
    Text(String),
    Done(Outcome),
    Failed(Error),
}

/// Why a job was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    Full,
    /// The session's thread has ended.
    Stopped,
}

/// The way in. Dropping it lets the thread end after the jobs it holds.
pub(super) struct Queue {
    jobs: Sender<Job>,
    counts: Arc<Counts>,
    thread: JoinHandle<()>,
}

#[derive(Default)]
struct Counts {
    /// Jobs that run or wait.
    held: AtomicUsize,
    /// Jobs that were answered to their end.
    served: AtomicU64,
}

impl Queue {
    /// Starts the thread `engine`, which owns the session from now on.
    pub(super) fn start(mut session: Session) -> Result<Queue, Error> {
        let (jobs, waiting) = channel();
        let counts = Arc::new(Counts::default());
        let shared = Arc::clone(&counts);
        let thread = std::thread::Builder::new()
            .name("engine".into())
            .spawn(move || run(&mut session, &waiting, &shared))
            .map_err(|error| Error::Input(format!("cannot start the engine's thread: {error}")))?;
        Ok(Queue { jobs, counts, thread })
    }

    /// Puts a job behind those that wait, or says at once that there is no place.
    pub(super) fn submit(&self, job: Job) -> Result<(), Refused> {
        if !self.alive() {
            return Err(Refused::Stopped);
        }
        let place = |held| (held < 1 + WAITING_MAX).then_some(held + 1);
        let held = &self.counts.held;
        held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, place)
            .map_err(|_| Refused::Full)?;
        self.jobs.send(job).map_err(|_| Refused::Stopped)
    }

    /// Whether the session's thread lives.
    pub(super) fn alive(&self) -> bool {
        !self.thread.is_finished()
    }

    /// Jobs that were answered to their end.
    pub(super) fn served(&self) -> u64 {
        self.counts.served.load(Ordering::Relaxed)
    }

    /// Waits until every job it holds is done.
    pub(super) fn finish(self) {
        drop(self.jobs);
        // A panic has been printed and every job's channel is closed: nothing is left to do.
        let _ = self.thread.join();
    }
}

fn run(session: &mut Session, waiting: &Receiver<Job>, counts: &Counts) {
    for job in waiting {
        let events = job.events.clone();
        let answered = answer(session, job);
        // Counted before the client can know.
        counts.held.fetch_sub(1, Ordering::Relaxed);
        let last = match answered {
            Ok(None) => continue,
            Ok(Some(outcome)) => {
                counts.served.fetch_add(1, Ordering::Relaxed);
                Event::Done(outcome)
            }
            Err(error) => Event::Failed(error),
        };
        let _ = events.send(last);
    }
}

/// Runs one job; `None` when the client left.
fn answer(session: &mut Session, job: Job) -> Result<Option<Outcome>, Error> {
    let Job { prompt, sampler, options, reuse, events } = job;
    let taken = Instant::now();
    if !reuse {
        session.rewind(0)?;
    }
    let cached_tokens = session.begin(&prompt)?;
    loop {
        let unread = session.read_chunk()?;
        if unread == 0 {
            break;
        }
        // The last token is read by the first decode step.
        let read = prompt.len() - 1 - unread;
        if events.send(Event::Reading { read, of: prompt.len() }).is_err() {
            return Ok(None);
        }
    }
    let read = Instant::now();
    let mut last_token = read;
    let mut output_tokens = 0;
    let mut generation = Generation::new(session, sampler, &options)?;
    loop {
        let step = generation.step()?;
        if generation.produced() > output_tokens {
            output_tokens = generation.produced();
            last_token = Instant::now();
        }
        let (text, finish) = match step {
            Step::Token { text, .. } => (text, None),
            Step::Done { text, finish } => (text, Some(finish)),
        };
        if events.send(Event::Text(text)).is_err() {
            return Ok(None);
        }
        if let Some(finish) = finish {
            return Ok(Some(Outcome {
                finish,
                prompt_tokens: prompt.len(),
                cached_tokens,
                output_tokens,
                prompt: read - taken,
                predicted: last_token - read,
            }));
        }
    }
}

/// Jobs that may wait behind the running one.
pub(super) const WAITING_MAX: usize = 8;
