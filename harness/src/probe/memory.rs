//! Memory while a run lasts: samples of what the kernel and the cards say, and the extremes over
//! them. Who takes the samples, and when, is not known here.

use super::{gpu, read_field};
use crate::fact::Fact;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// One look.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    ram: Fact<Ram>,
    swapped: Fact<Swapped>,
    gpus: Fact<Vec<gpu::Use>>,
}

/// `/proc/meminfo`, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ram {
    total: u64,
    available: u64,
    swap_used: u64,
}

/// `/proc/vmstat`, since the machine was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Swapped {
    pages_in: u64,
    pages_out: u64,
}

/// The extremes over the samples of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the report's names
pub struct Observation {
    pub sample_count: usize,
    pub system: Fact<SystemUse>,
    pub swapped: Fact<SwapUse>,
    /// By device index.
    pub gpus: Fact<BTreeMap<String, GpuUse>>,
    /// Processes that compute on the cards, apart from the engine.
    pub other_gpu_processes: Fact<u64>,
}

/// Bytes of the machine's memory; `used_peak + available_min` is all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the report's names
pub struct SystemUse {
    pub used_peak_bytes: u64,
    pub available_min_bytes: u64,
    pub swap_used_min_bytes: u64,
    pub swap_used_max_bytes: u64,
}

/// Pages that went from and to swap between the first and the last sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the report's names
pub struct SwapUse {
    pub pages_in: u64,
    pub pages_out: u64,
}

/// A card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the report's names
pub struct GpuUse {
    pub used_first_bytes: u64,
    pub used_peak_bytes: u64,
    pub power_limit_below_default: Fact<bool>,
}

impl Sample {
    /// The machine whose `/` is `root`. `uses_gpu` is what the engine says of its device, if
    /// anything.
    pub fn take(root: &Path, uses_gpu: Option<bool>) -> Sample {
        Sample { ram: ram(root), swapped: swapped(root), gpus: gpu::memory(root, uses_gpu) }
    }
}

fn ram(root: &Path) -> Fact<Ram> {
    let what = "`MemTotal`, `MemAvailable`, `SwapTotal` and `SwapFree` in kB";
    read_field(root, "proc/meminfo", what, |text| {
        let bytes = |key: &str| {
            let rest = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
            rest.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
        };
        let (total, available) = (bytes("MemTotal")?, bytes("MemAvailable")?);
        let swap_used = bytes("SwapTotal")?.checked_sub(bytes("SwapFree")?)?;
        (available <= total).then_some(Ram { total, available, swap_used })
    })
}

fn swapped(root: &Path) -> Fact<Swapped> {
    read_field(root, "proc/vmstat", "`pswpin` and `pswpout`", |text| {
        let count = |key: &str| {
            let rest = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))?;
            rest.trim().parse().ok()
        };
        Some(Swapped { pages_in: count("pswpin")?, pages_out: count("pswpout")? })
    })
}

impl Observation {
    /// Of samples in the order they were taken. What one of them lacks is unknown.
    pub fn of(samples: &[Sample], other_gpu_processes: Fact<u64>) -> Observation {
        Observation {
            sample_count: samples.len(),
            system: all(samples, |sample| &sample.ram).map(|all| system_use(&all)),
            swapped: all(samples, |sample| &sample.swapped).map(|all| swap_use(&all)),
            gpus: all(samples, |sample| &sample.gpus).map(|all| gpu_use(&all)),
            other_gpu_processes,
        }
    }
}

/// A figure of every sample, or why the first that lacks it does.
fn all<T: Clone>(samples: &[Sample], of: fn(&Sample) -> &Fact<T>) -> Fact<Vec<T>> {
    let mut found = Vec::new();
    for sample in samples {
        match of(sample) {
            Fact::Known(figure) => found.push(figure.clone()),
            Fact::Unknown(reason) => return Fact::Unknown(reason.clone()),
        }
    }
    let none = "no sample was taken";
    Fact::of((!found.is_empty()).then_some(found), none)
}

fn system_use(samples: &[Ram]) -> SystemUse {
    let used = samples.iter().map(|ram| ram.total - ram.available);
    let swap = || samples.iter().map(|ram| ram.swap_used);
    SystemUse {
        used_peak_bytes: used.max().unwrap_or_default(),
        available_min_bytes: samples.iter().map(|ram| ram.available).min().unwrap_or_default(),
        swap_used_min_bytes: swap().min().unwrap_or_default(),
        swap_used_max_bytes: swap().max().unwrap_or_default(),
    }
}

fn swap_use(samples: &[Swapped]) -> SwapUse {
    let span = |of: fn(&Swapped) -> u64| {
        let ends = samples.first().map(of).zip(samples.last().map(of));
        ends.map_or(0, |(first, last)| last.saturating_sub(first))
    };
    SwapUse { pages_in: span(|s| s.pages_in), pages_out: span(|s| s.pages_out) }
}

fn gpu_use(samples: &[Vec<gpu::Use>]) -> BTreeMap<String, GpuUse> {
    let mut devices: BTreeMap<String, GpuUse> = BTreeMap::new();
    for card in samples.iter().flatten() {
        let device = devices.entry(card.device_index.to_string()).or_insert_with(|| GpuUse {
            used_first_bytes: card.used_bytes,
            used_peak_bytes: card.used_bytes,
            power_limit_below_default: card.power_limit_below_default.clone(),
        });
        device.used_peak_bytes = device.used_peak_bytes.max(card.used_bytes);
    }
    devices
}

#[cfg(test)]
mod tests {
    use super::super::Tree;
    use super::*;

    fn machine(available_kb: u64, swap_free_kb: u64, pages_in: u64) -> Sample {
        let meminfo = format!(
            "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable: {available_kb} kB\n\
             SwapTotal: 500 kB\nSwapFree: {swap_free_kb} kB\n"
        );
        let vmstat = format!("nr_free 1\npswpin {pages_in}\npswpout 4\n");
        let tree = Tree::new(&[("proc/meminfo", &meminfo), ("proc/vmstat", &vmstat)]);
        Sample::take(tree.path(), Some(false))
    }

    #[test]
    fn the_extremes_over_samples() {
        let samples = [machine(600, 500, 7), machine(200, 400, 9), machine(700, 450, 10)];
        let seen = Observation::of(&samples, Fact::Known(0));
        let system = seen.system.known().unwrap();
        assert_eq!(system.used_peak_bytes, 800 * 1024);
        assert_eq!(system.used_peak_bytes + system.available_min_bytes, 1000 * 1024);
        assert_eq!((system.swap_used_min_bytes, system.swap_used_max_bytes), (0, 100 * 1024));
        assert_eq!(seen.swapped, Fact::Known(SwapUse { pages_in: 3, pages_out: 0 }));
        assert_eq!((seen.sample_count, seen.gpus), (3, Fact::Known(BTreeMap::new())));
    }

    #[test]
    fn what_a_sample_lacks_is_unknown_alone() {
        let samples = [machine(600, 500, 7), machine(1001, 500, 7)];
        let seen = Observation::of(&samples, Fact::Known(0));
        let Fact::Unknown(why) = &seen.system else { panic!("{seen:?}") };
        assert!(why.starts_with("/proc/meminfo has no `MemTotal`, `MemAvailable`"), "{why}");
        assert!(seen.swapped.known().is_some());
        let none = Observation::of(&[], Fact::Known(0));
        assert_eq!(none.system, Fact::Unknown("no sample was taken".to_string()));
    }

    #[test]
    fn cards_by_their_index() {
        let card = |used_bytes| gpu::Use {
            device_index: 1,
            used_bytes,
            power_limit_below_default: Fact::Known(true),
        };
        let seen = gpu_use(&[vec![card(5)], vec![card(9)], vec![card(7)]]);
        let expected = GpuUse {
            used_first_bytes: 5,
            used_peak_bytes: 9,
            power_limit_below_default: Fact::Known(true),
        };
        assert_eq!(seen, BTreeMap::from([("1".to_string(), expected)]));
    }
}
