//! The only clock durations come from, as a trait so that tests can turn its hands. Wall time is
//! for naming a run; no duration is ever taken from it.

use jiff::Timestamp;
use std::time::Instant;

/// A monotonic clock and a calendar.
pub trait Clock {
    /// Nanoseconds since this clock was made.
    fn now_ns(&self) -> u64;
    /// The time of day, UTC.
    fn wall(&self) -> Timestamp;
}

/// The operating system's clocks.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    origin: Instant,
}

impl SystemClock {
    /// A clock that reads zero now. Copies of it agree.
    pub fn start() -> SystemClock {
        SystemClock { origin: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now_ns(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX) // 584 years
    }

    fn wall(&self) -> Timestamp {
        Timestamp::now()
    }
}
