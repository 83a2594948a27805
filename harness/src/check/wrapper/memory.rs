//! What a wrapper observed of memory while a run went on: its own figures close among themselves
//! and with what it kept of the report.

use crate::check::report::{Report, decimal, quoted};
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

impl<'a> Observation<'a> {
    fn bytes(&self, field: &str) -> Option<i128> {
        self.value.get(field)?.as_number()?.units(0)
    }

    fn place(&self, field: &str) -> String {
        format!("{}/{}", self.at, escape(field))
    }

    /// Devices by the name that their fields carry, with the most memory in use, in 10^-6 MiB.
    fn devices(&self) -> impl Iterator<Item = (&'a str, i128)> {
        let peaks = self.value.entries().iter().filter_map(|(key, peak)| {
            Some((key.strip_suffix("_peak_used_mib")?, peak.as_number()?.units(6)?))
        });
        peaks.take(MAX_DEVICES)
    }

    fn baseline(&self, device: &str) -> Option<(String, i128)> {
        let field = format!("baseline_{device}_used_mib");
        let used = self.value.get(&field)?.as_number()?.units(6)?;
        Some((self.place(&field), used))
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
        for (field, value) in seen.value.entries().iter().filter(|(key, _)| key.ends_with("_bytes"))
        {
            let Some(number) = value.as_number() else { continue };
            let whole = number.units(0).is_some_and(|bytes| bytes >= 0 && bytes % PAGE == 0);
            log.judge(whole, || {
                breach(seen.place(field), format!("a multiple of {PAGE}"), number.text())
            });
        }
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
        for (device, peak) in seen.devices() {
            if let Some((at, before)) = seen.baseline(device) {
                log.judge((0..=peak).contains(&before), || {
                    let expected = format!("at most the peak {}", decimal(peak, 6));
                    breach(at, expected, decimal(before, 6))
                });
            }
            let Some(memory) = device_memory(report, device) else { continue };
            log.judge(peak <= memory, || {
                let at = seen.place(&format!("{device}_peak_used_mib"));
                let expected = format!("at most the device's {}", decimal(memory, 6));
                breach(at, expected, decimal(peak, 6))
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
    log.judge(span.abs_diff(window) <= window.unsigned_abs() / 10, || {
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
        let named: Vec<&str> = seen.devices().map(|(device, _)| device).collect();
        log.judge(named.is_empty(), || {
            breach(&seen.at, "figures of a device under its index", quoted(&named.join(", ")))
        });
    }
}
