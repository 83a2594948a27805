//! NVIDIA cards, asked of `nvidia-smi` once and only where the kernel has the driver loaded.

use super::{Gpu, Named};
use crate::fact::Fact;
use std::path::Path;
use std::process::Command;

/// What the driver tells.
#[derive(Debug, Clone, PartialEq)]
pub struct Cards {
    /// The cards.
    pub gpus: Fact<Vec<Gpu>>,
    /// The driver.
    pub drivers: Fact<Vec<Named>>,
    /// The CUDA runtime the engine uses.
    pub runtime: Fact<Vec<Named>>,
}

/// The cards the engine uses: none if it says so, else all that are there.
pub fn probe(root: &Path, uses_gpu: Option<bool>) -> Cards {
    let none = Cards {
        gpus: Fact::Known(Vec::new()),
        drivers: Fact::Known(Vec::new()),
        runtime: Fact::Known(Vec::new()),
    };
    if uses_gpu == Some(false) || !root.join("proc/driver/nvidia").exists() {
        return none;
    }
    let asked = Command::new("nvidia-smi")
        .arg("--query-gpu=index,name,memory.total,power.limit,driver_version")
        .arg("--format=csv,noheader,nounits")
        .output();
    match asked {
        Ok(output) if output.status.success() => read(&String::from_utf8_lossy(&output.stdout)),
        Ok(output) => unknown(format!("nvidia-smi failed: {}", output.status)),
        Err(error) => unknown(format!("the NVIDIA driver is loaded, but nvidia-smi: {error}")),
    }
}

fn unknown(reason: String) -> Cards {
    Cards {
        gpus: Fact::Unknown(reason.clone()),
        drivers: Fact::Unknown(reason),
        runtime: Fact::Unknown(NO_RUNTIME.to_string()),
    }
}

const NO_RUNTIME: &str = "the CUDA runtime is the engine's, and it does not report its version";

fn read(csv: &str) -> Cards {
    let mut cards = Cards {
        gpus: Fact::Known(Vec::new()),
        drivers: Fact::Known(Vec::new()),
        runtime: Fact::Unknown(NO_RUNTIME.to_string()),
    };
    let (mut gpus, mut driver) = (Vec::new(), None);
    for line in csv.lines().filter(|line| !line.trim().is_empty()) {
        let Some((gpu, version)) = card(line) else {
            return unknown(format!("nvidia-smi answered a line that is no card: `{line}`"));
        };
        gpus.push(gpu);
        driver = Some(version);
    }
    cards.gpus = Fact::Known(gpus);
    let version = driver.map(|version| Named { name: "gpu-driver".to_string(), version });
    cards.drivers = Fact::Known(version.into_iter().collect());
    cards
}

fn card(line: &str) -> Option<(Gpu, String)> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [index, name, mib, watts, driver] = fields[..] else { return None };
    let gpu = Gpu {
        device_index: index.parse().ok()?,
        name: name.to_string(),
        memory_bytes: mib.parse::<u64>().ok()?.checked_mul(1 << 20)?,
        memory_kind: "dedicated".to_string(),
        power_limit_w: crate::report::number::round(
            watts.parse().ok().filter(|watts: &f64| watts.is_finite())?,
            1,
        ),
    };
    Some((gpu, driver.to_string()))
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
            power_limit_w: 250.0,
        };
        assert_eq!(found.gpus, Fact::Known(vec![gpu]));
        let driver = Named { name: "gpu-driver".to_string(), version: "595.71.05".to_string() };
        assert_eq!(found.drivers, Fact::Known(vec![driver]));
    }

    #[test]
    fn odd_answers_are_reasons() {
        for line in ["0, A, 24576, [N/A], 1", "No devices were found", "0, A, 1, inf, 1"] {
            let found = read(line).gpus;
            let reason = format!("nvidia-smi answered a line that is no card: `{line}`");
            assert_eq!(found, Fact::Unknown(reason));
        }
    }

    #[test]
    fn no_driver_no_question() {
        let found = probe(Path::new("/nonexistent"), None);
        assert_eq!(found.gpus, Fact::Known(Vec::new()));
    }
}
