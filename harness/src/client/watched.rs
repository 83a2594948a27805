//! Limits on a connection that ureq does not have: on the silence between two reads, and an end at
//! the operator's word. It sits between ureq and the socket, waits in short slices, and looks at
//! the clock and at the flag between them.

use super::clock::{Clock, SystemClock};
use super::transport::{Fault, FaultKind};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use ureq::unversioned::transport::{self, Buffers, Connector, NextTimeout};

/// How late a limit or an interruption may be noticed.
const SLICE: Duration = Duration::from_millis(50);

/// Limits on one request, each the flag `--timeout-<name>`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timeouts {
    /// Until the connection stands.
    pub connect: Duration,
    /// From dispatch to the reply's first byte.
    pub first_byte: Duration,
    /// Between two reads, once the first byte has come.
    pub idle: Duration,
    /// From dispatch to the reply's last byte.
    pub total: Duration,
}

/// The limits of one request, and the flag that ends it.
#[derive(Debug, Clone)]
pub(super) struct Watch {
    pub(super) timeouts: Timeouts,
    pub(super) clock: SystemClock,
    pub(super) dispatched_ns: u64,
    pub(super) cancel: Arc<AtomicBool>,
}

impl Watch {
    /// How long a wait may still last, or why it is over. `last_ns` is when the last byte came.
    fn remaining(&self, last_ns: Option<u64>) -> Result<Duration, Fault> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Fault::new(FaultKind::Interrupted, "interrupted by the operator"));
        }
        let (limit, since_ns, what) = match last_ns {
            None => (self.timeouts.first_byte, self.dispatched_ns, "no byte of a reply"),
            Some(last_ns) => (self.timeouts.idle, last_ns, "no further byte"),
        };
        let flag = if last_ns.is_none() { "first-byte" } else { "idle" };
        let left = self.left(limit, since_ns).ok_or_else(|| timed_out(what, limit, flag))?;
        let total = self.timeouts.total;
        let until_total = self
            .left(total, self.dispatched_ns)
            .ok_or_else(|| timed_out("the reply did not end", total, "total"))?;
        Ok(left.min(until_total))
    }

    fn left(&self, limit: Duration, since_ns: u64) -> Option<Duration> {
        let passed = Duration::from_nanos(self.clock.now_ns().saturating_sub(since_ns));
        limit.checked_sub(passed).filter(|left| !left.is_zero())
    }
}

fn timed_out(what: &str, limit: Duration, flag: &str) -> Fault {
    Fault::new(FaultKind::Timeout, format!("{what} within {limit:?} (--timeout-{flag})"))
}

/// Puts [`Watched`] around whatever connection the chain before it made.
#[derive(Debug)]
pub(super) struct WatchedConnector {
    pub(super) watch: Watch,
}

impl<In: transport::Transport> Connector<In> for WatchedConnector {
    type Out = Watched<In>;

    fn connect(
        &self,
        _details: &transport::ConnectionDetails,
        chained: Option<In>,
    ) -> Result<Option<Watched<In>>, ureq::Error> {
        let watch = self.watch.clone();
        Ok(chained.map(|inner| Watched { inner, watch, last_ns: None }))
    }
}

/// A connection that keeps the limits of [`Watch`] while it waits for input.
#[derive(Debug)]
pub(super) struct Watched<In> {
    inner: In,
    watch: Watch,
    last_ns: Option<u64>,
}

impl<In: transport::Transport> transport::Transport for Watched<In> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        self.inner.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        loop {
            let remaining = self.watch.remaining(self.last_ns).map_err(io::Error::other)?;
            let slice = NextTimeout { after: remaining.min(SLICE).into(), ..timeout };
            match self.inner.await_input(slice) {
                Err(ureq::Error::Timeout(_)) => continue,
                Err(error) => return Err(error),
                Ok(more) => {
                    self.last_ns = Some(self.watch.clock.now_ns());
                    return Ok(more);
                }
            }
        }
    }

    fn is_open(&mut self) -> bool {
        self.inner.is_open()
    }
}
