//! NVIDIA cards, the only ones looked at: asked of `nvidia-smi` once and only where the kernel has
//! the driver loaded.

use super::{Gpu, Named};
use crate::fact::Fact;
use crate::report::number::round;
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

/// A name may hold a comma; the figures after it hold none.
fn card(line: &str) -> Option<(Gpu, String)> {
    let (index, rest) = line.split_once(',')?;
    let fields: Vec<&str> = rest.rsplitn(4, ',').map(str::trim).collect();
    let [driver, watts, mib, name] = fields[..] else { return None };
    let bytes = mib.parse().ok().and_then(|mib: u64| mib.checked_mul(1 << 20));
    let limit = watts.parse().ok().filter(|watts: &f64| watts.is_finite() && *watts >= 0.0);
    let gpu = Gpu {
        device_index: index.trim().parse().ok()?,
        name: name.to_string(),
        memory_bytes: Fact::of(bytes, stated(mib)),
        memory_kind: "dedicated".to_string(),
        power_limit_w: Fact::of(limit.map(|watts| round(watts, 1)), stated(watts)),
    };
    Some((gpu, driver.to_string()))
}

/// The reason for a figure that is none: a card that has none says `[N/A]`.
fn stated(text: &str) -> String {
    format!("nvidia-smi states `{text}`")
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
            memory_bytes: Fact::Known(25_769_803_776),
            memory_kind: "dedicated".to_string(),
            power_limit_w: Fact::Known(250.0),
        };
        assert_eq!(found.gpus, Fact::Known(vec![gpu]));
        let driver = Named { name: "gpu-driver".to_string(), version: "595.71.05".to_string() };
        assert_eq!(found.drivers, Fact::Known(vec![driver]));
    }

    #[test]
    fn odd_answers_are_reasons() {
        for line in ["No devices were found", "A, 0, 24576, 250.00, 1", "0, A, 24576, 250.00"] {
            let found = read(line).gpus;
            let reason = format!("nvidia-smi answered a line that is no card: `{line}`");
            assert_eq!(found, Fact::Unknown(reason));
        }
        let none = Fact::Unknown("nvidia-smi answered with no card".to_string());
        assert_eq!(read("\n").gpus, none);
    }

    #[test]
    fn a_figure_that_is_none_is_unknown_alone() {
        let card = |mib: &str, watts: &str| {
            let found = read(&format!("0, A, 24576, 250.00, 1\n1, B, 80GB, {mib}, {watts}, 1"));
            let [_, gpu] = &found.gpus.known().unwrap()[..] else { panic!("{found:?}") };
            assert_eq!((gpu.device_index, gpu.name.as_str()), (1, "B, 80GB"));
            (gpu.memory_bytes.clone(), gpu.power_limit_w.clone())
        };
        let known = (Fact::Known(24_576 << 20), Fact::Known(250.0));
        for text in ["[N/A]", "[Not Supported]", "inf", "-1", "", "1e999", "18446744073709551615"] {
            let (bytes, limit) = card(text, "250.00");
            assert_eq!((bytes, limit), (Fact::Unknown(stated(text)), known.1.clone()));
        }
        for text in ["[N/A]", "[Not Supported]", "inf", "-1", "", "1e999"] {
            assert_eq!(card("24576", text), (known.0.clone(), Fact::Unknown(stated(text))));
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
