//! A transport and a clock for tests: a script says which bytes come when, and the client must see
//! exactly that.

use super::clock::Clock;
use super::transport::{ByteStream, Fault, FaultKind, Piece, Reply, Transport};
use jiff::Timestamp;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A clock that a test sets.
#[derive(Debug, Clone, Default)]
pub(crate) struct SetClock {
    now_ns: Rc<Cell<u64>>,
}

impl SetClock {
    pub(crate) fn set(&self, now_ns: u64) {
        self.now_ns.set(now_ns);
    }
}

impl Clock for SetClock {
    fn now_ns(&self) -> u64 {
        self.now_ns.get()
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
    scripts: RefCell<VecDeque<Script>>,
    pub(crate) bodies: RefCell<Vec<String>>,
    /// Set once this many reads were served over all requests: the operator's Ctrl-C.
    interrupt: Option<(usize, Arc<AtomicBool>)>,
    reads: Rc<Cell<usize>>,
}

impl Scripted {
    pub(crate) fn new(scripts: impl IntoIterator<Item = Script>) -> Scripted {
        Scripted {
            clock: SetClock::default(),
            scripts: RefCell::new(scripts.into_iter().collect()),
            bodies: RefCell::default(),
            interrupt: None,
            reads: Rc::default(),
        }
    }

    pub(crate) fn interrupted_at(mut self, read: usize, cancel: &Arc<AtomicBool>) -> Scripted {
        self.interrupt = Some((read, Arc::clone(cancel)));
        self
    }
}

impl Transport for Scripted {
    fn post(&self, body: &str) -> Result<Reply, Fault> {
        self.bodies.borrow_mut().push(body.to_string());
        let Some(script) = self.scripts.borrow_mut().pop_front() else {
            return Err(Fault::new(FaultKind::Connect, "nobody listens"));
        };
        let body = Box::new(ScriptedBody {
            clock: self.clock.clone(),
            dispatched_ns: self.clock.now_ns(),
            reads: script.reads.into(),
            fault: script.fault,
            piece: Vec::new(),
            interrupt: self.interrupt.clone(),
            served: Rc::clone(&self.reads),
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
    served: Rc<Cell<usize>>,
}

impl ByteStream for ScriptedBody {
    fn read(&mut self) -> Result<Option<Piece<'_>>, Fault> {
        if let Some((read, cancel)) = &self.interrupt
            && self.served.get() == *read
        {
            cancel.store(true, Ordering::Relaxed);
            return Err(Fault::new(FaultKind::Interrupted, "interrupted by the operator"));
        }
        self.served.set(self.served.get() + 1);
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
