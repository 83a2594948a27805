//! What a wrapper observed of memory while a run went on: its own figures close among themselves
//! and with what it kept of the report.

use crate::check::report::{Report, decimal, printed, quoted};
use crate::check::rule::{Log, breach};
use crate::json::{Value, escape};

/// Seconds between two samples, as the format has it.
const SAMPLE_S: i128 = 2;
/// Most devices of an observation that are looked at.
const MAX_DEVICES: usize = 64;
/// Bytes of a page of memory.
const PAGE: i128 = 4096;

/// One observation with its pointer.
struct Observation<'a> {
    at: String,
    value: &'a Value,
}

/// Fields of a public wrapper, and where a report of this program has them in its observation.
const OURS: [(&str, &str); 6] = [
    ("system_used_peak_bytes", "/system/used_peak_bytes"),
    ("system_available_min_bytes", "/system/available_min_bytes"),
    ("swap_used_min_bytes", "/system/swap_used_min_bytes"),
    ("swap_used_max_bytes", "/system/swap_used_max_bytes"),
    ("swap_in_bytes", "/swapped/pages_in"),
    ("swap_out_bytes", "/swapped/pages_out"),
];

/// The memory of a device in the unit of its fields: 10^-6 MiB in a public wrapper, bytes in ours.
struct Device {
    peak: (String, i128),
    first: Option<(String, i128)>,
    all: Option<i128>,
    decimals: usize,
}

impl<'a> Observation<'a> {
    /// Whether it has the form of this program's reports, where devices stand under their index.
    fn is_ours(&self) -> bool {
        self.value.get("system").is_some()
    }

    fn bytes(&self, field: &str) -> Option<i128> {
        let units = |value: &Value| value.as_number()?.units(0);
        if let Some(value) = self.value.get(field) {
            return units(value);
        }
        let (_, ours) = OURS.iter().find(|(theirs, _)| *theirs == field)?;
        let unit = if ours.contains("pages") { PAGE } else { 1 };
        units(self.value.pointer(ours)?)?.checked_mul(unit)
    }

    fn place(&self, field: &str) -> String {
        let ours = OURS.iter().find(|(theirs, _)| *theirs == field && self.is_ours());
        match ours {
            Some((_, ours)) => format!("{}{ours}", self.at),
            None => format!("{}/{}", self.at, escape(field)),
        }
    }

    fn devices(&self, report: &Report<'a>) -> Vec<Device> {
        if self.is_ours() {
            let gpus = self.value.get("gpus").map(Value::entries).unwrap_or_default();
            let gpus = gpus.iter().take(MAX_DEVICES);
            return gpus.filter_map(|(index, gpu)| self.indexed(report, index, gpu)).collect();
        }
        self.named().take(MAX_DEVICES).map(|(name, peak)| self.device(report, name, peak)).collect()
    }

    /// Devices by the name that their fields carry, with the most memory in use.
    fn named(&self) -> impl Iterator<Item = (&'a str, i128)> {
        self.value.entries().iter().filter_map(|(key, peak)| {
            Some((key.strip_suffix("_peak_used_mib")?, peak.as_number()?.units(6)?))
        })
    }

    fn device(&self, report: &Report, name: &str, peak: i128) -> Device {
        let baseline = format!("baseline_{name}_used_mib");
        let used = self.value.get(&baseline).and_then(|used| used.as_number()?.units(6));
        Device {
            peak: (self.place(&format!("{name}_peak_used_mib")), peak),
            first: used.map(|used| (self.place(&baseline), used)),
            all: device_memory(report, name),
            decimals: 6,
        }
    }

    fn indexed(&self, report: &Report, index: &str, gpu: &Value) -> Option<Device> {
        let bytes = |value: &Value, field: &str| value.get(field)?.as_number()?.units(0);
        let used = |field: &str| {
            let place = format!("{}/gpus/{}/{field}", self.at, escape(index));
            Some((place, bytes(gpu, field)?))
        };
        let mut gpus = report.list("/hardware/gpus").iter().take(MAX_DEVICES);
        let of_index = |gpu: &&Value| printed(gpu.get("device_index")) == *index;
        Some(Device {
            peak: used("used_peak_bytes")?,
            first: used("used_first_bytes"),
            all: gpus.find(of_index).and_then(|gpu| bytes(gpu, "memory_bytes")),
            decimals: 0,
        })
    }
}

/// The observation of the selected run.
fn selected<'a>(report: &Report<'a>) -> Option<Observation<'a>> {
    let at = "/memory_observation".to_string();
    Some(Observation { value: report.at(&at)?, at })
}

/// That of the selected run and those of the excluded ones.
fn all<'a>(report: &Report<'a>) -> Vec<Observation<'a>> {
    let runs = report.list("/excluded_runs");
    let excluded = runs.iter().enumerate().filter_map(|(index, run)| {
        let value = run.get("resource_observation")?;
        Some(Observation { at: format!("/excluded_runs/{index}/resource_observation"), value })
    });
    selected(report).into_iter().chain(excluded).collect()
}

pub(in crate::check) fn used_and_available_are_all(report: &Report, log: &mut Log) {
    let Some(ram) = report.count("/hardware/ram_bytes").map(i128::from) else { return };
    for seen in all(report) {
        let fields = ["system_used_peak_bytes", "system_available_min_bytes"];
        let [Some(used), Some(available)] = fields.map(|field| seen.bytes(field)) else { continue };
        log.judge(used + available == ram, || {
            let expected = format!("{} = ram_bytes - {}", ram - available, fields[1]);
            breach(seen.place(fields[0]), expected, used)
        });
    }
}

/// What is in swap can have grown between two samples by no more than went in or out.
pub(in crate::check) fn swap_grew_by_traffic(report: &Report, log: &mut Log) {
    for seen in all(report) {
        let fields = ["swap_used_min_bytes", "swap_used_max_bytes", "swap_in_bytes"];
        let ([Some(least), Some(most), Some(read)], Some(written)) =
            (fields.map(|field| seen.bytes(field)), seen.bytes("swap_out_bytes"))
        else {
            continue;
        };
        let traffic = read.max(written);
        log.judge((0..=traffic).contains(&(most - least)), || {
            let expected = format!("{least} to {} by swap_in and swap_out", least + traffic);
            breach(seen.place(fields[1]), expected, most)
        });
    }
}

pub(in crate::check) fn bytes_are_pages(report: &Report, log: &mut Log) {
    for seen in all(report) {
        seen.value.walk(&mut |place, value| {
            let Some(number) = value.as_number() else { return };
            let place = place.brief();
            if !place.ends_with("_bytes") {
                return;
            }
            let whole = number.units(0).is_some_and(|bytes| bytes >= 0 && bytes % PAGE == 0);
            log.judge(whole, || {
                let place = format!("{}{place}", seen.at);
                breach(place, format!("a multiple of {PAGE}"), number.text())
            });
        });
    }
}

pub(in crate::check) fn peaks_are_between(report: &Report, log: &mut Log) {
    for seen in all(report) {
        let baseline = "baseline_system_used_bytes";
        if let (Some(before), Some(peak)) =
            (seen.bytes(baseline), seen.bytes("system_used_peak_bytes"))
        {
            log.judge((0..=peak).contains(&before), || {
                breach(seen.place(baseline), format!("at most the peak {peak}"), before)
            });
        }
        for Device { peak: (at, peak), first, all, decimals, .. } in seen.devices(report) {
            if let Some((at, before)) = first {
                log.judge((0..=peak).contains(&before), || {
                    let expected = format!("at most the peak {}", decimal(peak, decimals));
                    breach(at, expected, decimal(before, decimals))
                });
            }
            let Some(memory) = all else { continue };
            log.judge(peak <= memory, || {
                let expected = format!("at most the device's {}", decimal(memory, decimals));
                breach(at, expected, decimal(peak, decimals))
            });
        }
    }
}

/// Memory of the GPU whose name has `device` in it, blanks and capitals aside, in 10^-6 MiB.
fn device_memory(report: &Report, device: &str) -> Option<i128> {
    let plain = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let wanted = plain(device);
    let gpus = report.list("/hardware/gpus");
    let named = |gpu: &&Value| {
        gpu.get("name").and_then(Value::as_str).is_some_and(|name| plain(name).contains(&wanted))
    };
    let gpu = gpus.iter().take(MAX_DEVICES).find(named)?;
    let bytes = gpu.get("memory_bytes")?.as_number()?.as_u64()?;
    Some(i128::from(bytes) * 1_000_000 / (1 << 20))
}

pub(in crate::check) fn samples_fill_the_window(report: &Report, log: &mut Log) {
    let (Some(seen), Some(window)) = (selected(report), report.nanos("/run/required_duration_s"))
    else {
        return;
    };
    let Some(samples) = seen.bytes("sample_count") else { return };
    let span = samples.saturating_mul(SAMPLE_S * 1_000_000_000);
    // This program takes one at either end besides, and goes on while optional requests are sent.
    let enough = seen.is_ours() && span > window;
    log.judge(enough || span.abs_diff(window) <= window.unsigned_abs() / 10, || {
        let window = decimal(window, 9);
        let expected = format!("one per {SAMPLE_S} s over {window} s, within 10 %");
        breach(seen.place("sample_count"), expected, samples)
    });
}

/// The runs that were left out may have been left out for it.
pub(in crate::check) fn headline_did_not_swap(report: &Report, log: &mut Log) {
    let Some(seen) = selected(report) else { return };
    for field in ["swap_in_bytes", "swap_out_bytes"] {
        if let Some(bytes) = seen.bytes(field) {
            log.judge(bytes == 0, || {
                breach(seen.place(field), "0 in a run used for a headline", bytes)
            });
        }
    }
}

/// A field named after a card means nothing on another machine.
pub(in crate::check) fn devices_are_keyed_by_index(report: &Report, log: &mut Log) {
    for seen in all(report) {
        let named: Vec<&str> = seen.named().take(MAX_DEVICES).map(|(device, _)| device).collect();
        log.judge(named.is_empty(), || {
            breach(&seen.at, "figures of a device under its index", quoted(&named.join(", ")))
        });
    }
}
