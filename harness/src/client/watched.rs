//! A connection with limits that ureq does not have: on the silence between two reads, and an end
//! at the operator's word. It waits in short slices, and looks at the clock and at the flag between
//! them.

use super::clock::{Clock, SystemClock};
use super::dial::place;
use super::transport::{Fault, FaultKind};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use ureq::http::Uri;
use ureq::unversioned::transport::{self, Buffers, LazyBuffers, NextTimeout};

/// How late a limit or an interruption may be noticed.
pub(super) const SLICE: Duration = Duration::from_millis(50);

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
    /// How long a connection may still take to stand, or why there will be none.
    pub(super) fn connecting(&self, uri: &Uri) -> Result<Duration, Fault> {
        self.go_on()?;
        let left = self.left(self.timeouts.connect, self.dispatched_ns);
        left.ok_or_else(|| self.unconnected(uri))
    }

    pub(super) fn unconnected(&self, uri: &Uri) -> Fault {
        let (place, limit) = (place(uri), self.timeouts.connect);
        let message = format!("no connection to {place} within {limit:?} (--timeout-connect)");
        Fault::new(FaultKind::Connect, message)
    }

    /// How long a wait may still last, or why it is over. `last_ns` is when the last byte came.
    fn remaining(&self, last_ns: Option<u64>) -> Result<Duration, Fault> {
        self.go_on()?;
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

    fn go_on(&self) -> Result<(), Fault> {
        match self.cancel.load(Ordering::Relaxed) {
            true => Err(Fault::new(FaultKind::Interrupted, "interrupted by the operator")),
            false => Ok(()),
        }
    }

    pub(super) fn left(&self, limit: Duration, since_ns: u64) -> Option<Duration> {
        let passed = Duration::from_nanos(self.clock.now_ns().saturating_sub(since_ns));
        limit.checked_sub(passed).filter(|left| !left.is_zero())
    }
}

fn timed_out(what: &str, limit: Duration, flag: &str) -> Fault {
    Fault::new(FaultKind::Timeout, format!("{what} within {limit:?} (--timeout-{flag})"))
}

/// A connection that keeps the limits of [`Watch`] while it waits.
#[derive(Debug)]
pub(super) struct Watched {
    stream: TcpStream,
    buffers: LazyBuffers,
    watch: Watch,
    last_ns: Option<u64>,
}

impl Watched {
    pub(super) fn new(
        stream: TcpStream,
        config: &ureq::config::Config,
        watch: Watch,
    ) -> io::Result<Watched> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(SLICE))?;
        let buffers = LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size());
        Ok(Watched { stream, buffers, watch, last_ns: None })
    }
}

/// Whether a read or a write only came to the end of its slice.
fn is_slice(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

impl transport::Transport for Watched {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _timeout: NextTimeout) -> Result<(), ureq::Error> {
        let mut output = &self.buffers.output()[..amount];
        while !output.is_empty() {
            self.watch.remaining(None).map_err(io::Error::other)?;
            match self.stream.write(output) {
                Ok(0) => return Err(io::Error::from(ErrorKind::WriteZero).into()),
                Ok(written) => output = &output[written..],
                Err(error) if is_slice(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn await_input(&mut self, _timeout: NextTimeout) -> Result<bool, ureq::Error> {
        loop {
            let remaining = self.watch.remaining(self.last_ns).map_err(io::Error::other)?;
            self.stream.set_read_timeout(Some(remaining.min(SLICE)))?;
            match self.stream.read(self.buffers.input_append_buf()) {
                Err(error) if is_slice(&error) => {}
                Err(error) => return Err(error.into()),
                Ok(amount) => {
                    self.last_ns = Some(self.watch.clock.now_ns());
                    self.buffers.input_appended(amount);
                    return Ok(amount > 0);
                }
            }
        }
    }

    /// Each serves one request.
    fn is_open(&mut self) -> bool {
        false
    }
}
