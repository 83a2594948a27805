//! NVIDIA cards, the only ones looked at: asked of `nvidia-smi`, and only where the kernel has the
//! driver loaded.

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
    match ask("--query-gpu=index,name,memory.total,power.limit,driver_version") {
        Fact::Known(csv) => read(&csv),
        Fact::Unknown(reason) => unknown(&reason),
    }
}

fn ask(query: &str) -> Fact<String> {
    match Command::new("nvidia-smi").arg(query).arg("--format=csv,noheader,nounits").output() {
        Ok(output) if output.status.success() => {
            Fact::Known(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(output) => Fact::Unknown(format!("nvidia-smi failed: {}", output.status)),
        Err(error) => {
            Fact::Unknown(format!("the NVIDIA driver is loaded, but nvidia-smi: {error}"))
        }
    }
}

/// A card at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// As in [`Gpu`].
    pub device_index: u32,
    /// Memory in use, by whomever.
    pub used_bytes: u64,
    /// Whether somebody lowered its limit.
    pub power_limit_below_default: Fact<bool>,
}

/// The memory of the cards the engine uses, as [`probe`] chooses them.
pub fn memory(root: &Path, uses_gpu: Option<bool>) -> Fact<Vec<Use>> {
    if uses_gpu == Some(false) {
        return Fact::Known(Vec::new());
    }
    if !root.join("proc/driver/nvidia").exists() {
        return Fact::Unknown(NO_DRIVER.to_string());
    }
    match ask("--query-gpu=index,memory.used,power.limit,power.default_limit") {
        Fact::Known(csv) => uses(&csv),
        Fact::Unknown(reason) => Fact::Unknown(reason),
    }
}

fn uses(csv: &str) -> Fact<Vec<Use>> {
    let mut cards = Vec::new();
    for line in csv.lines().filter(|line| !line.trim().is_empty()) {
        match card_use(line) {
            Some(card) => cards.push(card),
            None => {
                let reason = format!("nvidia-smi answered a line that is no card: `{line}`");
                return Fact::Unknown(reason);
            }
        }
    }
    Fact::Known(cards)
}

fn card_use(line: &str) -> Option<Use> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [index, mib, limit, default] = fields[..] else { return None };
    let watts = |text: &str| text.parse().ok().filter(|watts: &f64| watts.is_finite());
    let below = watts(limit).zip(watts(default)).map(|(limit, default)| limit < default);
    Some(Use {
        device_index: index.parse().ok()?,
        used_bytes: mib.parse::<u64>().ok()?.checked_mul(1 << 20)?,
        power_limit_below_default: Fact::of(below, stated(&format!("{limit}, {default}"))),
    })
}

/// Processes that compute on a card, apart from the engine, whose process id is `engine` if this
/// program started it.
pub fn other_processes(root: &Path, uses_gpu: Option<bool>, engine: Option<u32>) -> Fact<u64> {
    if uses_gpu == Some(false) {
        return Fact::Unknown("the engine uses no card".to_string());
    }
    if !root.join("proc/driver/nvidia").exists() {
        return Fact::Unknown(NO_DRIVER.to_string());
    }
    let Some(engine) = engine else {
        let reason = "the engine was not started by this program, so which process it is of those \
                      on the cards is not known";
        return Fact::Unknown(reason.to_string());
    };
    let others = |csv: String| {
        let pids = csv.lines().filter_map(|line| line.trim().parse::<u32>().ok());
        pids.filter(|pid| *pid != engine).count() as u64
    };
    ask("--query-compute-apps=pid").map(others)
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
    fn uses_are_read() {
        let used = |below| {
            Fact::Known(vec![Use {
                device_index: 1,
                used_bytes: 11 << 20,
                power_limit_below_default: below,
            }])
        };
        assert_eq!(uses("1, 11, 250.00, 350.00\n"), used(Fact::Known(true)));
        assert_eq!(uses("1, 11, 350.00, 350.00\n"), used(Fact::Known(false)));
        let unknown = Fact::Unknown("nvidia-smi states `[N/A], 350.00`".to_string());
        assert_eq!(uses("1, 11, [N/A], 350.00\n"), used(unknown));
        assert!(uses("1, [N/A], 250.00, 350.00\n").known().is_none());
        assert_eq!(uses(""), Fact::Known(vec![]));
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
