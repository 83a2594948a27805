//! Facts of processes: the engine's threads, and the processor time of this program.

use super::read_field;
use crate::fact::Fact;
use std::path::Path;

/// Threads of process `pid`.
pub fn threads(root: &Path, pid: u32) -> Fact<u64> {
    read_field(root, &format!("proc/{pid}/status"), "`Threads:` line", |text| {
        text.lines().find_map(|line| line.strip_prefix("Threads:"))?.trim().parse().ok()
    })
}

/// Processor time this process has used so far, user and system, in seconds.
pub fn own_cpu_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::super::Tree;
    use super::*;

    #[test]
    fn threads_of_a_process() {
        let tree = Tree::new(&[("proc/7/status", "Name:\tstrata\nThreads:\t3\n")]);
        assert_eq!(threads(tree.path(), 7), Fact::Known(3));
        assert!(threads(tree.path(), 8).known().is_none());
    }

    #[test]
    fn own_time_grows_with_work() {
        let before = own_cpu_s();
        let mut digest = String::new();
        while own_cpu_s() <= before {
            digest = crate::digest::sha256(digest.as_bytes());
        }
        assert!(before >= 0.0);
    }
}
