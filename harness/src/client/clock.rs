//! The only clock durations come from, as a trait so that tests can turn its hands. Wall time is
//! for naming a run; no duration is ever taken from it.

use jiff::Timestamp;
use std::time::Instant;

/// A monotonic clock and a calendar. Requests of a round share it.
pub trait Clock: Sync {
    /// Nanoseconds since this clock was made.
    fn now_ns(&self) -> u64;
    /// The time of day, UTC.
    fn wall(&self) -> Timestamp;
}

/// The operating system's clocks.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    origin: Instant,
    at_origin_ns: u64,
}

impl SystemClock {
    /// A clock that reads zero now. Copies of it agree.
    pub fn start() -> SystemClock {
        SystemClock::reading(0)
    }

    /// A clock that reads `now_ns` now.
    pub fn reading(now_ns: u64) -> SystemClock {
        SystemClock { origin: Instant::now(), at_origin_ns: now_ns }
    }
}

impl Clock for SystemClock {
    fn now_ns(&self) -> u64 {
        // At most 584 years.
        let since = u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.at_origin_ns.saturating_add(since)
    }

    fn wall(&self) -> Timestamp {
        Timestamp::now()
    }
}
