//! Which connections are open and what each is doing, so that a server that ends can tell those
//! that may be cut from those that must be answered. It reads and writes nothing itself.

use std::collections::HashMap;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// All connections of a server.
pub(super) struct Registry {
    open: Mutex<Open>,
    changed: Condvar,
}

struct Open {
    stage: Stage,
    connections: HashMap<u64, (Arc<TcpStream>, Phase)>,
    next_id: u64,
}

/// How far the server is from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Serving,
    /// What has been read is answered, what comes anew is refused.
    Draining,
    Closed,
}

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Between two requests.
    Idle,
    /// A request has begun to arrive.
    Reading,
    /// A request has arrived, and its answer is due.
    Answering,
}

impl Registry {
    pub(super) fn new() -> Registry {
        let open = Open { stage: Stage::Serving, connections: HashMap::new(), next_id: 0 };
        Registry { open: Mutex::new(open), changed: Condvar::new() }
    }

    /// Takes a connection in, until the slot is dropped; `None` if `max` are open.
    pub(super) fn admit(self: &Arc<Registry>, stream: &Arc<TcpStream>, max: usize) -> Option<Slot> {
        let mut open = self.lock();
        if open.connections.len() >= max {
            return None;
        }
        let id = open.next_id;
        open.next_id += 1;
        open.connections.insert(id, (Arc::clone(stream), Phase::Idle));
        Some(Slot { registry: Arc::clone(self), id })
    }

    pub(super) fn stage(&self) -> Stage {
        self.lock().stage
    }

    /// Ends the connections on which nothing is going on.
    pub(super) fn shed_idle(&self) {
        self.lock().cut(Phase::Idle, Shutdown::Read);
    }

    /// Returns when every request that has arrived is answered. One that is still arriving has
    /// `grace` to do so; from now on [`Slot::enter`] tells that the server is draining.
    pub(super) fn drain(&self, grace: Duration) {
        let mut open = self.lock();
        open.stage = Stage::Draining;
        open.cut(Phase::Idle, Shutdown::Read);
        for limit in [grace, CUT_ANSWER] {
            let reading = |open: &mut Open| open.any(Phase::Reading);
            let waited = self.changed.wait_timeout_while(open, limit, reading);
            open = waited.unwrap_or_else(PoisonError::into_inner).0;
            open.cut(Phase::Reading, Shutdown::Read);
        }
        drop(self.changed.wait_while(open, |open| open.any(Phase::Answering)));
    }

    /// Ends every connection and returns when all slots are dropped.
    pub(super) fn close(&self) {
        let mut open = self.lock();
        open.stage = Stage::Closed;
        for (stream, _) in open.connections.values() {
            // It fails when the client ended the connection first.
            let _ = stream.shutdown(Shutdown::Both);
        }
        drop(self.changed.wait_while(open, |open| !open.connections.is_empty()));
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        // Nothing that panics runs under the lock.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn any(&self, phase: Phase) -> bool {
        self.connections.values().any(|(_, at)| *at == phase)
    }

    fn cut(&self, phase: Phase, how: Shutdown) {
        for (stream, at) in self.connections.values() {
            if *at == phase {
                let _ = stream.shutdown(how);
            }
        }
    }
}

/// A connection's place in the registry.
pub(super) struct Slot {
    registry: Arc<Registry>,
    id: u64,
}

impl Slot {
    /// Notes what the connection does from now on, and tells the server's stage.
    pub(super) fn enter(&self, phase: Phase) -> Stage {
        let mut open = self.registry.lock();
        if let Some((_, at)) = open.connections.get_mut(&self.id) {
            *at = phase;
        }
        self.registry.changed.notify_all();
        open.stage
    }

    pub(super) fn stage(&self) -> Stage {
        self.registry.stage()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.registry.lock().connections.remove(&self.id);
        self.registry.changed.notify_all();
    }
}

/// Time for a request that was cut short to be told so.
const CUT_ANSWER: Duration = Duration::from_secs(1);
