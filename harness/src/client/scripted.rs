//! A transport and a clock for tests: a script says which bytes come when, and the client must see
//! exactly that.

use super::clock::Clock;
use super::transport::{ByteStream, Fault, FaultKind, Piece, Reply, Transport};
use jiff::Timestamp;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A clock that a test sets.
#[derive(Debug, Clone, Default)]
pub(crate) struct SetClock {
    now_ns: Arc<AtomicU64>,
}

impl SetClock {
    pub(crate) fn set(&self, now_ns: u64) {
        self.now_ns.store(now_ns, Ordering::Relaxed);
    }
}

impl Clock for SetClock {
    fn now_ns(&self) -> u64 {
        self.now_ns.load(Ordering::Relaxed)
    }

    fn wall(&self) -> Timestamp {
        Timestamp::from_second(1_800_000_000).expect("within jiff's range") // 2027-01-15T08:00:00Z
    }
}

/// One reply: what comes when, counted from dispatch.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    pub(crate) status: u16,
    pub(crate) content_type: Option<String>,
    pub(crate) reads: Vec<(u64, Vec<u8>)>,
    /// How it ends after the last read; `None` is the end in good order.
    pub(crate) fault: Option<Fault>,
}

impl Script {
    /// An event stream of these `(ms, text)`.
    pub(crate) fn events(reads: &[(u64, &str)]) -> Script {
        let reads = reads.iter().map(|&(ms, text)| (ms * 1_000_000, text.as_bytes().to_vec()));
        Script {
            status: 200,
            content_type: Some("text/event-stream".to_string()),
            reads: reads.collect(),
            fault: None,
        }
    }

    pub(crate) fn ending_in(mut self, kind: FaultKind, message: &str) -> Script {
        self.fault = Some(Fault::new(kind, message));
        self
    }

    /// The same bytes at the same times, in pieces of at most `size` bytes.
    pub(crate) fn in_pieces_of(&self, size: usize) -> Script {
        let mut split = self.clone();
        split.reads = self
            .reads
            .iter()
            .flat_map(|(at, bytes)| bytes.chunks(size).map(move |piece| (*at, piece.to_vec())))
            .collect();
        split
    }
}

/// Answers one request after the other from scripts; then nobody listens any more.
pub(crate) struct Scripted {
    pub(crate) clock: SetClock,
    scripts: Mutex<VecDeque<Script>>,
    pub(crate) bodies: Mutex<Vec<String>>,
    /// Set once this many reads were served over all requests: the operator's Ctrl-C.
    interrupt: Option<(usize, Arc<AtomicBool>)>,
    reads: Arc<AtomicUsize>,
}

impl Scripted {
    pub(crate) fn new(scripts: impl IntoIterator<Item = Script>) -> Scripted {
        Scripted {
            clock: SetClock::default(),
            scripts: Mutex::new(scripts.into_iter().collect()),
            bodies: Mutex::default(),
            interrupt: None,
            reads: Arc::default(),
        }
    }

    pub(crate) fn interrupted_at(mut self, read: usize, cancel: &Arc<AtomicBool>) -> Scripted {
        self.interrupt = Some((read, Arc::clone(cancel)));
        self
    }
}

impl Transport for Scripted {
    fn post(&self, body: &str) -> Result<Reply, Fault> {
        self.bodies.lock().unwrap().push(body.to_string());
        let Some(script) = self.scripts.lock().unwrap().pop_front() else {
            return Err(Fault::new(FaultKind::Connect, "nobody listens"));
        };
        let body = Box::new(ScriptedBody {
            clock: self.clock.clone(),
            dispatched_ns: self.clock.now_ns(),
            reads: script.reads.into(),
            fault: script.fault,
            piece: Vec::new(),
            interrupt: self.interrupt.clone(),
            served: Arc::clone(&self.reads),
        });
        Ok(Reply { status: script.status, content_type: script.content_type, body })
    }
}

struct ScriptedBody {
    clock: SetClock,
    dispatched_ns: u64,
    reads: VecDeque<(u64, Vec<u8>)>,
    fault: Option<Fault>,
    piece: Vec<u8>,
    interrupt: Option<(usize, Arc<AtomicBool>)>,
    served: Arc<AtomicUsize>,
}

impl ByteStream for ScriptedBody {
    fn read(&mut self) -> Result<Option<Piece<'_>>, Fault> {
        if let Some((read, cancel)) = &self.interrupt
            && self.served.load(Ordering::Relaxed) == *read
        {
            cancel.store(true, Ordering::Relaxed);
            return Err(Fault::new(FaultKind::Interrupted, "interrupted by the operator"));
        }
        self.served.fetch_add(1, Ordering::Relaxed);
        match self.reads.pop_front() {
            Some((after_ns, bytes)) => {
                self.clock.set(self.dispatched_ns + after_ns);
                self.piece = bytes;
                Ok(Some(Piece { at_ns: self.clock.now_ns(), bytes: &self.piece }))
            }
            None => self.fault.take().map_or(Ok(None), Err),
        }
    }
}
