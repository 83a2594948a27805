//! A fixed number of threads that run one job in parts, and the split of rows among them. Between
//! two jobs a thread spins for a moment, since a token is a few hundred jobs a microsecond apart,
//! then yields, then sleeps. It knows nothing of what it runs.

use crate::Error;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// More threads than any processor has cores.
const MAX_THREADS: usize = 1024;

/// Looks at a flag before a waiting thread gives way to others, some 3 microseconds: longer than
/// it takes to pass a job on, short where two threads have to share a core.
const SPINS: usize = 100;

/// Looks with a `yield` in between, some half a millisecond, before a thread without work goes to
/// sleep: longer than a caller needs between two tokens.
const YIELDS: usize = 1000;

/// Threads that compute, the caller's included.
pub(super) struct Pool {
    workers: Vec<Worker>,
    /// Set while a caller has the workers.
    busy: AtomicBool,
}

struct Worker {
    desk: Arc<Desk>,
    thread: Option<JoinHandle<()>>,
}

/// Where a worker finds its next part.
#[derive(Default)]
struct Desk {
    posted: AtomicBool,
    /// `None` when posted: there is no more work.
    part: Mutex<Option<Part>>,
}

type Part = Box<dyn FnOnce() + Send>;

/// Results of the workers' parts, and how many are still to come.
struct Results<T> {
    parts: Vec<Mutex<Option<thread::Result<T>>>>,
    missing: AtomicUsize,
}

impl Pool {
    /// Starts `threads - 1` threads.
    pub(super) fn new(threads: usize) -> Result<Pool, Error> {
        if threads == 0 || threads > MAX_THREADS {
            let message = format!("{threads} threads: choose 1 to {MAX_THREADS}");
            return Err(Error::Input(message));
        }
        let mut pool = Pool { workers: Vec::new(), busy: AtomicBool::new(false) };
        for index in 1..threads {
            let desk = Arc::new(Desk::default());
            let thread = thread::Builder::new().name(format!("strata-{index}")).spawn({
                let desk = Arc::clone(&desk);
                move || desk.work()
            });
            let thread = thread.map_err(|error| {
                Error::Input(format!("thread {index} of {threads} does not start: {error}"))
            })?;
            pool.workers.push(Worker { desk, thread: Some(thread) });
        }
        Ok(pool)
    }

    /// Parts a job is cut in.
    pub(super) fn parts(&self) -> usize {
        self.workers.len() + 1
    }

    /// Runs `job` for every part and returns the results in order; the calling thread takes part
    /// 0. What the job captures is released when this returns. A panic in a part is raised here
    /// once all parts have ended. While another caller has the workers, this one runs all parts
    /// itself.
    pub(super) fn run<T, F>(&self, job: F) -> Vec<T>
    where
        T: Send + 'static,
        F: Fn(usize) -> T + Send + Sync + 'static,
    {
        if self.workers.is_empty() || self.busy.swap(true, Ordering::Acquire) {
            return (0..self.parts()).map(job).collect();
        }
        let job = Arc::new(job);
        let results = Arc::new(Results {
            parts: self.workers.iter().map(|_| Mutex::new(None)).collect(),
            missing: AtomicUsize::new(self.workers.len()),
        });
        for (index, worker) in self.workers.iter().enumerate() {
            let (job, results) = (Arc::clone(&job), Arc::clone(&results));
            worker.post(Some(Box::new(move || {
                let result = catch_unwind(AssertUnwindSafe(|| job(index + 1)));
                drop(job);
                *lock(&results.parts[index]) = Some(result);
                results.missing.fetch_sub(1, Ordering::Release);
            })));
        }
        let own = catch_unwind(AssertUnwindSafe(|| job(0)));
        let mut looks = 0;
        while results.missing.load(Ordering::Acquire) > 0 {
            pause(&mut looks);
        }
        drop(job);
        self.busy.store(false, Ordering::Release);
        let others = results.parts.iter().map(|part| lock(part).take());
        let all = std::iter::once(Some(own)).chain(others);
        all.map(|part| part.expect("no part is missing").unwrap_or_else(|e| resume_unwind(e)))
            .collect()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for worker in &self.workers {
            worker.post(None);
        }
        for thread in self.workers.iter_mut().filter_map(|worker| worker.thread.take()) {
            // A worker catches the panics of its parts: there is nothing to report.
            let _ = thread.join();
        }
    }
}

impl Worker {
    fn post(&self, part: Option<Part>) {
        *lock(&self.desk.part) = part;
        self.desk.posted.store(true, Ordering::Release);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Desk {
    fn work(&self) {
        let mut looks = 0;
        loop {
            if !self.posted.swap(false, Ordering::Acquire) {
                if looks < SPINS + YIELDS {
                    pause(&mut looks);
                } else {
                    thread::park();
                }
                continue;
            }
            looks = 0;
            let part = lock(&self.part).take();
            match part {
                Some(part) => part(),
                None => return,
            }
        }
    }
}

/// Waits a moment: short at first, giving way to other threads after [`SPINS`] looks.
fn pause(looks: &mut usize) {
    *looks += 1;
    if *looks < SPINS {
        std::hint::spin_loop();
    } else {
        thread::yield_now();
    }
}

/// No code that can panic runs under these locks.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The rows of a part: neighbours, in multiples of `unit` except for the last.
pub(super) fn split(rows: usize, unit: usize, part: usize, parts: usize) -> Range<usize> {
    let units = rows.div_ceil(unit);
    let bound = |part: usize| (units * part / parts * unit).min(rows);
    bound(part)..bound(part + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Barrier;
    use std::time::Duration;

    #[test]
    fn every_part_runs_once_and_results_keep_their_order() {
        for threads in 1..5 {
            let pool = Pool::new(threads).unwrap();
            for round in 0..200 {
                let expected: Vec<usize> = (0..threads).map(|part| part * round).collect();
                assert_eq!(pool.run(move |part| part * round), expected);
            }
        }
    }

    #[test]
    fn parts_run_side_by_side() {
        let meeting = Arc::new(Barrier::new(3));
        Pool::new(3).unwrap().run(move |_| meeting.wait().is_leader());
    }

    #[test]
    fn a_thread_that_fell_asleep_wakes_for_the_next_job() {
        let pool = Pool::new(2).unwrap();
        for _ in 0..3 {
            thread::sleep(Duration::from_millis(20));
            assert_eq!(pool.run(|part| part), [0, 1]);
        }
    }

    #[test]
    fn a_panic_in_any_part_reaches_the_caller_and_the_pool_goes_on() {
        let pool = Pool::new(3).unwrap();
        for bad in 0..3 {
            let run = || pool.run(move |part| assert_ne!(part, bad, "part {bad} breaks"));
            let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
            assert!(panic.downcast_ref::<String>().unwrap().contains("breaks"));
            assert_eq!(pool.run(|part| part), [0, 1, 2]);
        }
    }

    #[test]
    fn callers_on_several_threads_each_get_their_results() {
        let pool = Pool::new(2).unwrap();
        thread::scope(|scope| {
            for caller in 0..3 {
                let pool = &pool;
                scope.spawn(move || {
                    for _ in 0..200 {
                        assert_eq!(
                            pool.run(move |part| (caller, part)),
                            [(caller, 0), (caller, 1)]
                        );
                    }
                });
            }
        });
    }

    #[test]
    fn what_a_job_captures_is_released_when_it_has_run() {
        let pool = Pool::new(3).unwrap();
        let mut captured = Arc::new(7);
        for _ in 0..200 {
            let job = Arc::clone(&captured);
            pool.run(move |part| *job + part);
            assert!(Arc::get_mut(&mut captured).is_some());
        }
    }

    #[test]
    fn a_number_of_threads_out_of_range_is_refused() {
        for threads in [0, MAX_THREADS + 1] {
            let error = Pool::new(threads).err().unwrap();
            assert_eq!(error.to_string(), format!("{threads} threads: choose 1 to 1024"));
        }
    }

    proptest! {
        #[test]
        fn parts_cover_all_rows_once(rows in 0usize..1000, unit in 1usize..9, parts in 1usize..9) {
            let mut end = 0;
            for part in 0..parts {
                let range = split(rows, unit, part, parts);
                prop_assert_eq!(range.start, end);
                prop_assert!(range.end.is_multiple_of(unit) || range.end == rows);
                end = range.end;
            }
            prop_assert_eq!(end, rows);
        }
    }
}
