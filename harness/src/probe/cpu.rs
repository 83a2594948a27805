//! Processor, memory, frequency governor and load, from /proc and /sys.

use super::{read, read_field};
use crate::fact::Fact;
use std::path::Path;

/// As in `AMD Ryzen 9 5950X 16-Core Processor`.
pub fn model(root: &Path) -> Fact<String> {
    // x86 says `model name`; ARM names parts by number only, and those are no name.
    read_field(root, "proc/cpuinfo", "`model name` line", |text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        let name = line.split_once(':')?.1.split_whitespace().collect::<Vec<_>>().join(" ");
        (!name.is_empty()).then_some(name)
    })
}

/// Usable memory.
pub fn ram_bytes(root: &Path) -> Fact<u64> {
    read_field(root, "proc/meminfo", "`MemTotal: <n> kB` line", |text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kib.checked_mul(1024) // proc(5): kB there means 1024 bytes
    })
}

/// The first processor's frequency governor.
pub fn governor(root: &Path) -> Fact<String> {
    let file = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    read(root, file).map(|text| text.trim().to_string())
}

/// Load averages over 1, 5 and 15 minutes.
pub fn load(root: &Path) -> Fact<[f64; 3]> {
    read_field(root, "proc/loadavg", "three averages", |text| {
        let mut words = text.split_whitespace().map(str::parse);
        let mut next = || words.next()?.ok().filter(|average: &f64| average.is_finite());
        Some([next()?, next()?, next()?])
    })
}

#[cfg(test)]
mod tests {
    use super::super::Tree;
    use super::*;

    #[test]
    fn facts_of_a_machine() {
        let tree = Tree::new(&[
            ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Intel(R)  Xeon(R) CPU\nflags\t: x\n"),
            ("proc/meminfo", "MemTotal:       65769428 kB\nMemFree: 1 kB\n"),
            ("proc/loadavg", "0.50 1.25 2.00 1/100 77\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
        ]);
        let root = tree.path();
        assert_eq!(model(root), Fact::Known("Intel(R) Xeon(R) CPU".to_string()));
        assert_eq!(ram_bytes(root), Fact::Known(67_347_894_272));
        assert_eq!(load(root), Fact::Known([0.5, 1.25, 2.0]));
        assert_eq!(governor(root), Fact::Known("powersave".to_string()));
    }

    #[test]
    fn what_is_not_there_is_named() {
        let tree = Tree::new(&[
            ("proc/cpuinfo", "CPU part\t: 0xd0c\n"),
            ("proc/meminfo", "MemTotal: many kB\n"),
            ("proc/loadavg", "0.5 NaN 1\n"),
        ]);
        let root = tree.path();
        let reason = |text: &str| text.to_string();
        assert_eq!(model(root), Fact::Unknown(reason("/proc/cpuinfo has no `model name` line")));
        assert_eq!(
            ram_bytes(root),
            Fact::Unknown(reason("/proc/meminfo has no `MemTotal: <n> kB` line"))
        );
        assert_eq!(load(root), Fact::Unknown(reason("/proc/loadavg has no three averages")));
        let Fact::Unknown(why) = governor(root) else { panic!("no governor is there") };
        assert!(why.starts_with("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor cannot"));
    }
}
