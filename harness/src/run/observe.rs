//! Watches the machine's memory while something else runs: one thread, a sample every two seconds,
//! and one at either end.

use crate::probe::memory::Sample;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// From one sample to the next.
pub(super) const INTERVAL: Duration = Duration::from_secs(2);

/// What `work` returns, and the samples taken from before it began until after it ended.
pub(super) fn during<T>(
    root: &Path,
    uses_gpu: Option<bool>,
    work: impl FnOnce() -> T,
) -> (T, Vec<Sample>) {
    let first = Sample::take(root, uses_gpu);
    thread::scope(|scope| {
        let (working, ended) = mpsc::channel::<()>();
        let watcher = scope.spawn(move || {
            let mut samples = vec![first];
            while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                samples.push(Sample::take(root, uses_gpu));
            }
            samples.push(Sample::take(root, uses_gpu));
            samples
        });
        let done = work();
        drop(working);
        let samples = watcher.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (done, samples)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_work_has_a_sample_at_either_end() {
        let (done, samples) = during(Path::new("/nonexistent"), Some(false), || 7);
        assert_eq!((done, samples.len()), (7, 2));
    }
}
