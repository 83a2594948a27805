//! SIGINT and SIGTERM: the first asks the work to end, the second ends the process at once.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level::pipe};
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The signals of this process, from installation on.
pub(super) struct Signals {
    first: Arc<AtomicUsize>,
    wake: UnixStream,
}

/// A request to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// SIGINT: now.
    Interrupt,
    /// SIGTERM: when the work at hand is done.
    Terminate,
}

impl Signals {
    pub(super) fn install() -> io::Result<Signals> {
        let seen = Arc::new(AtomicBool::new(false));
        let first = Arc::new(AtomicUsize::new(0));
        let (wake, sender) = UnixStream::pair()?;
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal must not find its own mark.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&seen))?;
            flag::register(signal, Arc::clone(&seen))?;
            flag::register_usize(signal, Arc::clone(&first), signal as usize)?;
            pipe::register(signal, sender.try_clone()?)?;
        }
        Ok(Signals { first, wake })
    }

    /// The signal that came, if one did.
    pub(super) fn seen(&self) -> Option<End> {
        match self.first.load(Ordering::SeqCst) {
            0 => None,
            signal if signal == SIGINT as usize => Some(End::Interrupt),
            _ => Some(End::Terminate),
        }
    }

    /// Blocks until one comes.
    pub(super) fn wait(&mut self) -> End {
        loop {
            if let Some(end) = self.seen() {
                return end;
            }
            // An interrupted read only means to look again.
            let _ = self.wake.read(&mut [0]);
        }
    }
}
