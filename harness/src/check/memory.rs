//! What was observed of memory while a run went on, by this program or by whoever made a wrapper:
//! the figures close among themselves and with the machine's.

use super::report::{Report, decimal, quoted};
use super::rule::{Log, breach};
use crate::json::{Value, escape};

/// Seconds between two samples, as the format has it.
const SAMPLE_S: i128 = 2;
/// Most devices of an observation that are looked at.
const MAX_DEVICES: usize = 64;
/// Bytes of a page of memory.
const PAGE: i128 = 4096;
const MIB: i128 = 1 << 20;

/// A wrapper's figures where a report of this program has them, and how many bytes a unit is.
const OURS: [(&str, &str, i128); 7] = [
    ("sample_count", "/sample_count", 1),
    ("system_used_peak_bytes", "/system/used_peak_bytes", 1),
    ("system_available_min_bytes", "/system/available_min_bytes", 1),
    ("swap_used_min_bytes", "/system/swap_used_min_bytes", 1),
    ("swap_used_max_bytes", "/system/swap_used_max_bytes", 1),
    ("swap_in_bytes", "/swapped/pages_in", PAGE),
    ("swap_out_bytes", "/swapped/pages_out", PAGE),
];

/// One observation with its pointer.
struct Observation<'a> {
    at: String,
    value: &'a Value,
    /// Whether it has the form of this program's reports, where devices stand under their index.
    ours: bool,
}

/// A device's memory in use, each with its pointer and in 10^-6 MiB.
struct Device<'a> {
    name: &'a str,
    peak: (String, i128),
    first: Option<(String, i128)>,
}

impl<'a> Observation<'a> {
    fn new(report: &Report, at: impl Into<String>, value: &'a Value) -> Observation<'a> {
        let ours = !report.wrapper || value.get("system").is_some();
        Observation { at: at.into(), value, ours }
    }

    /// By the wrapper's name of it: where it stands, and bytes of a unit.
    fn field(&self, name: &str) -> (String, i128) {
        let ours = OURS.iter().find(|(wrappers, ..)| self.ours && *wrappers == name);
        ours.map_or((format!("/{}", escape(name)), 1), |(_, at, unit)| (at.to_string(), *unit))
    }

    fn bytes(&self, name: &str) -> Option<i128> {
        let (at, unit) = self.field(name);
        self.value.pointer(&at)?.as_number()?.units(0)?.checked_mul(unit)
    }

    fn place(&self, name: &str) -> String {
        format!("{}{}", self.at, self.field(name).0)
    }

    /// Devices by the name that fields carry, with the field of the most memory in use.
    fn named(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let peaks = self.value.entries().iter();
        let named = peaks.filter_map(|(key, _)| Some((key.strip_suffix("_peak_used_mib")?, key)));
        named.map(|(name, key)| (name, key.as_str())).take(MAX_DEVICES)
    }

    /// By index in the form of this program, by the name that fields carry in others.
    fn devices(&self) -> Vec<Device<'a>> {
        let value = self.value;
        let figure = |at: String| {
            let number = value.pointer(&at)?.as_number()?;
            let used =
                if self.ours { number.units(0)? * 1_000_000 / MIB } else { number.units(6)? };
            Some((format!("{}{at}", self.at), used))
        };
        let device = |name: &'a str, peak: String, first: String| {
            Some(Device { name, peak: figure(peak)?, first: figure(first) })
        };
        if self.ours {
            let gpus = value.get("gpus").map(Value::entries).unwrap_or_default().iter();
            let found = gpus.take(MAX_DEVICES).filter_map(|(index, _)| {
                let at = |field: &str| format!("/gpus/{}/{field}", escape(index));
                device(index, at("used_peak_bytes"), at("used_first_bytes"))
            });
            return found.collect();
        }
        let named = self.named().filter_map(|(name, key)| {
            let first = format!("/baseline_{}_used_mib", escape(name));
            device(name, format!("/{}", escape(key)), first)
        });
        named.collect()
    }
}

/// The observation of the run itself.
fn selected<'a>(report: &Report<'a>) -> Option<Observation<'a>> {
    let of_report = "/extensions/memory_observation";
    let at = if report.wrapper { "/memory_observation" } else { of_report };
    Some(Observation::new(report, at, report.at(at)?))
}

/// That of the run itself and those of the excluded ones.
fn all<'a>(report: &Report<'a>) -> Vec<Observation<'a>> {
    let runs = report.list("/excluded_runs");
    let excluded = runs.iter().enumerate().filter_map(|(index, run)| {
        let value = run.get("resource_observation")?;
        let at = format!("/excluded_runs/{index}/resource_observation");
        Some(Observation::new(report, at, value))
    });
    selected(report).into_iter().chain(excluded).collect()
}

pub(super) fn used_and_available_are_all(report: &Report, log: &mut Log) {
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
pub(super) fn swap_grew_by_traffic(report: &Report, log: &mut Log) {
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

pub(super) fn bytes_are_pages(report: &Report, log: &mut Log) {
    for seen in all(report) {
        seen.value.walk(&mut |place, value| {
            let Some(number) = value.as_number() else { return };
            let place = place.to_string();
            if !place.ends_with("_bytes") {
                return;
            }
            let whole = number.units(0).is_some_and(|bytes| bytes >= 0 && bytes % PAGE == 0);
            log.judge(whole, || {
                let at = format!("{}{place}", seen.at);
                breach(at, format!("a multiple of {PAGE}"), number.text())
            });
        });
    }
}

pub(super) fn peaks_are_between(report: &Report, log: &mut Log) {
    for seen in all(report) {
        let baseline = "baseline_system_used_bytes";
        if let (Some(before), Some(peak)) =
            (seen.bytes(baseline), seen.bytes("system_used_peak_bytes"))
        {
            log.judge((0..=peak).contains(&before), || {
                breach(seen.place(baseline), format!("at most the peak {peak}"), before)
            });
        }
        for Device { name, peak: (at, peak), first } in seen.devices() {
            if let Some((at, first)) = first {
                log.judge((0..=peak).contains(&first), || {
                    let expected = format!("at most the peak {}", decimal(peak, 6));
                    breach(at, expected, decimal(first, 6))
                });
            }
            let Some(memory) = device_memory(report, name, seen.ours) else { continue };
            log.judge(peak <= memory, || {
                let expected = format!("at most the device's {}", decimal(memory, 6));
                breach(at, expected, decimal(peak, 6))
            });
        }
    }
}

/// Memory of a GPU in 10^-6 MiB: of the one with this index, or of the first that has `name` in its
/// name, blanks and capitals aside.
fn device_memory(report: &Report, name: &str, by_index: bool) -> Option<i128> {
    let plain = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let wanted = plain(name);
    let is_it = |gpu: &&Value| match by_index {
        true => gpu.get("device_index").is_some_and(|index| index.to_string() == name),
        false => {
            gpu.get("name").and_then(Value::as_str).is_some_and(|n| plain(n).contains(&wanted))
        }
    };
    let gpu = report.list("/hardware/gpus").iter().take(MAX_DEVICES).find(is_it)?;
    let bytes = gpu.get("memory_bytes")?.as_number()?.as_u64()?;
    Some(i128::from(bytes) * 1_000_000 / MIB)
}

/// A wrapper says how many samples there were, no more. This program takes one at either end too,
/// and its window is that of the requests: a moment longer than the printed durations, and all of
/// the run unless that was resumed.
pub(super) fn samples_fill_the_window(report: &Report, log: &mut Log) {
    let (Some(seen), Some(window)) = (selected(report), report.nanos("/run/required_duration_s"))
    else {
        return;
    };
    let Some(samples) = seen.bytes("sample_count") else { return };
    let tick = SAMPLE_S * 1_000_000_000;
    if !seen.ours {
        let span = samples.saturating_mul(tick);
        return log.judge(span.abs_diff(window) <= window.unsigned_abs() / 10, || {
            let window = decimal(window, 9);
            let expected = format!("one per {SAMPLE_S} s over {window} s, within 10 %");
            breach(seen.place("sample_count"), expected, samples)
        });
    }
    if report.at("/extensions/resumed").is_some_and(|resumed| !resumed.items().is_empty()) {
        return log.idle("only the last part of a resumed run is observed");
    }
    let window = window.saturating_add(report.nanos("/run/optional_duration_s").unwrap_or(0));
    let within = 2 + window / 11 * 10 / tick..=2 + window.saturating_add(BESIDE_NS) / tick;
    log.judge(within.contains(&samples), || {
        let (least, most) = (within.start(), within.end());
        let expected = format!(
            "{least} to {most}: two, and one per {SAMPLE_S} s over {} s",
            decimal(window, 9)
        );
        breach(seen.place("sample_count"), expected, samples)
    });
}

/// Most of a run's time, in nanoseconds, that is before its first request or after its last.
const BESIDE_NS: i128 = 500_000_000;

/// The runs that were left out may have been left out for it.
pub(super) fn headline_did_not_swap(report: &Report, log: &mut Log) {
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
pub(super) fn devices_are_keyed_by_index(report: &Report, log: &mut Log) {
    for seen in all(report) {
        let named: Vec<&str> = seen.named().map(|(device, _)| device).collect();
        log.judge(named.is_empty(), || {
            breach(&seen.at, "figures of a device under its index", quoted(&named.join(", ")))
        });
    }
}
