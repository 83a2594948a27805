//! NVIDIA cards, the only ones looked at: asked of `nvidia-smi` once and only where the kernel has
//! the driver loaded.

use super::{Gpu, Named};
use crate::fact::Fact;
use std::path::Path;
use std::process::Command;

/// What is known of the cards an engine uses.
#[derive(Debug, Clone, PartialEq)]
pub struct Cards {
    /// The cards.
    pub gpus: Fact<Vec<Gpu>>,
    /// The driver.
    pub drivers: Fact<Vec<Named>>,
    /// The GPU runtime the engine uses.
    pub runtime: Fact<Vec<Named>>,
}

/// The cards the engine uses: none if it says so, else all that are there.
pub fn probe(root: &Path, uses_gpu: Option<bool>) -> Cards {
    if uses_gpu == Some(false) {
        return Cards {
            gpus: Fact::Known(Vec::new()),
            drivers: Fact::Known(Vec::new()),
            runtime: Fact::Known(Vec::new()),
        };
    }
    if !root.join("proc/driver/nvidia").exists() {
        return Cards { runtime: Fact::Unknown(NO_DRIVER.to_string()), ..unknown(NO_DRIVER) };
    }
    let asked = Command::new("nvidia-smi")
        .arg("--query-gpu=index,name,memory.total,power.limit,driver_version")
        .arg("--format=csv,noheader,nounits")
        .output();
    match asked {
        Ok(output) if output.status.success() => read(&String::from_utf8_lossy(&output.stdout)),
        Ok(output) => unknown(&format!("nvidia-smi failed: {}", output.status)),
        Err(error) => unknown(&format!("the NVIDIA driver is loaded, but nvidia-smi: {error}")),
    }
}

fn unknown(reason: &str) -> Cards {
    Cards {
        gpus: Fact::Unknown(reason.to_string()),
        drivers: Fact::Unknown(reason.to_string()),
        runtime: Fact::Unknown(NO_RUNTIME.to_string()),
    }
}

const NO_DRIVER: &str = "the server does not say that it computes on the cpu alone, and no NVIDIA \
    driver is loaded; other cards are not looked at";
const NO_RUNTIME: &str = "the CUDA runtime is the engine's, and it does not report its version";

fn read(csv: &str) -> Cards {
    let (mut gpus, mut driver) = (Vec::new(), None);
    for line in csv.lines().filter(|line| !line.trim().is_empty()) {
        let Some((gpu, version)) = card(line) else {
            return unknown(&format!("nvidia-smi answered a line that is no card: `{line}`"));
        };
        gpus.push(gpu);
        driver = Some(version);
    }
    let Some(version) = driver else { return unknown("nvidia-smi answered with no card") };
    Cards {
        gpus: Fact::Known(gpus),
        drivers: Fact::Known(vec![Named { name: "gpu-driver".to_string(), version }]),
        runtime: Fact::Unknown(NO_RUNTIME.to_string()),
    }
}

fn card(line: &str) -> Option<(Gpu, String)> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [index, name, mib, watts, driver] = fields[..] else { return None };
    let gpu = Gpu {
        device_index: index.parse().ok()?,
        name: name.to_string(),
        memory_bytes: mib.parse::<u64>().ok()?.checked_mul(1 << 20)?,
        memory_kind: "dedicated".to_string(),
        power_limit_w: power_limit(watts),
    };
    Some((gpu, driver.to_string()))
}

/// Cards without a limit of their own say `[N/A]`.
fn power_limit(watts: &str) -> Fact<f64> {
    let number = watts.parse().ok().filter(|watts: &f64| watts.is_finite());
    let number = number.map(|watts| crate::report::number::round(watts, 1));
    Fact::of(number, format!("nvidia-smi states `{watts}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_read() {
        let found = read("0, NVIDIA GeForce RTX 3090, 24576, 250.00, 595.71.05\n");
        let gpu = Gpu {
            device_index: 0,
            name: "NVIDIA GeForce RTX 3090".to_string(),
            memory_bytes: 25_769_803_776,
            memory_kind: "dedicated".to_string(),
            power_limit_w: Fact::Known(250.0),
        };
        assert_eq!(found.gpus, Fact::Known(vec![gpu]));
        let driver = Named { name: "gpu-driver".to_string(), version: "595.71.05".to_string() };
        assert_eq!(found.drivers, Fact::Known(vec![driver]));
    }

    #[test]
    fn odd_answers_are_reasons() {
        for line in ["No devices were found", "0, A, [N/A], 250.00, 1"] {
            let found = read(line).gpus;
            let reason = format!("nvidia-smi answered a line that is no card: `{line}`");
            assert_eq!(found, Fact::Unknown(reason));
        }
        let none = Fact::Unknown("nvidia-smi answered with no card".to_string());
        assert_eq!(read("\n").gpus, none);
    }

    #[test]
    fn a_card_without_a_power_limit_is_a_card() {
        for watts in ["[N/A]", "[Not Supported]", "inf"] {
            let found = read(&format!("0, A, 24576, {watts}, 1"));
            let [gpu] = &found.gpus.known().unwrap()[..] else { panic!("{found:?}") };
            assert_eq!(gpu.memory_bytes, 24_576 << 20);
            assert_eq!(gpu.power_limit_w, Fact::Unknown(format!("nvidia-smi states `{watts}`")));
        }
    }

    #[test]
    fn without_a_driver_only_the_engine_can_say_that_there_is_no_card() {
        let nowhere = Path::new("/nonexistent");
        let none = probe(nowhere, Some(false));
        assert_eq!((none.gpus, none.drivers.known()), (Fact::Known(vec![]), Some(&vec![])));
        assert_eq!(none.runtime, Fact::Known(vec![]));
        for uses_gpu in [None, Some(true)] {
            let found = probe(nowhere, uses_gpu);
            assert_eq!(found.gpus, Fact::Unknown(NO_DRIVER.to_string()));
            assert_eq!(found.drivers, Fact::Unknown(NO_DRIVER.to_string()));
            assert_eq!(found.runtime, Fact::Unknown(NO_DRIVER.to_string()));
        }
    }
}
