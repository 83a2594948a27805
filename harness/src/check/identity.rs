//! Who ran what on which machine: the fields of the header, their form and how they bind each
//! other.

use super::format::ENGINE_OPTIONS;
use super::model_files::model_files;
use super::report::{Report, printed, quoted};
use super::rule::{Log, breach};
use crate::digest::is_sha256;
use crate::json::Value;

/// Whether a text has this shape: `9` is a digit, `f` a lower-case hexadecimal digit, anything else
/// stands for itself.
pub(super) fn like(text: &str, shape: &str) -> bool {
    text.len() == shape.len()
        && text.bytes().zip(shape.bytes()).all(|(byte, shape)| match shape {
            b'9' => byte.is_ascii_digit(),
            b'f' => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            plain => byte == plain,
        })
}

pub(super) fn run_id(report: &Report, log: &mut Log) {
    if let Some(id) = report.text("/run/id") {
        log.judge(like(id, "99999999T999999Z-ffffffff"), || {
            breach(
                report.place("/run/id"),
                "YYYYMMDDTHHMMSSZ- and 8 hexadecimal digits",
                quoted(id),
            )
        });
    }
}

pub(super) fn started_at(report: &Report, log: &mut Log) {
    if let Some(start) = report.text("/run/started_at") {
        let real = start.parse::<jiff::Timestamp>().is_ok();
        log.judge(like(start, "9999-99-99T99:99:99Z") && real, || {
            breach(
                report.place("/run/started_at"),
                "an instant in UTC to the second",
                quoted(start),
            )
        });
    }
}

pub(super) fn run_id_is_start(report: &Report, log: &mut Log) {
    let (Some(id), Some(start)) = (report.text("/run/id"), report.text("/run/started_at")) else {
        return;
    };
    let stamp = start.replace(['-', ':'], "");
    log.judge(id.split('-').next() == Some(&stamp), || {
        breach(report.place("/run/id"), format!("{stamp}-…"), quoted(id))
    });
}

pub(super) fn duration_decimals(report: &Report, log: &mut Log) {
    if let Some(seconds) = report.at("/run/required_duration_s").and_then(Value::as_number) {
        log.judge(seconds.decimals() <= 3, || {
            breach(report.place("/run/required_duration_s"), "at most 3 decimals", seconds.text())
        });
    }
}

pub(super) fn optional_duration(report: &Report, log: &mut Log) {
    let (Some(duration), Some(selected)) =
        (report.at("/run/optional_duration_s"), report.flag("/run/optional_concurrency"))
    else {
        return;
    };
    let count = |of: &str| report.count(&format!("/request_counts/concurrency/{of}"));
    let unsent = count("attempted") == Some(0) && count("planned") > Some(0);
    log.judge(duration.is_null() != selected || (selected && unsent), || {
        let expected = if selected { "a duration: the stage was selected" } else { "null" };
        breach(report.place("/run/optional_duration_s"), expected, printed(Some(duration)))
    });
}

pub(super) fn status_word(report: &Report, log: &mut Log) {
    if let Some(status) = report.text("/run/status") {
        log.judge(matches!(status, "complete" | "nonconforming"), || {
            breach(report.place("/run/status"), "complete or nonconforming", quoted(status))
        });
    }
}

const COMMITS: [&str; 3] =
    ["/protocol/git_commit", "/software/strata_commit", "/software/runner_commit"];

/// Null is left out: a server of another make has no commit of ours, and `missing` says so.
pub(super) fn commits_agree(report: &Report, log: &mut Log) {
    let known: Vec<(&str, &str)> =
        COMMITS.iter().filter_map(|at| Some((*at, report.text(at)?))).collect();
    for (at, commit) in known.iter().skip(1) {
        log.judge(*commit == known[0].1, || breach(*at, quoted(known[0].1), quoted(commit)));
    }
}

pub(super) fn commits_are_hex(report: &Report, log: &mut Log) {
    for at in COMMITS {
        if let Some(commit) = report.text(at) {
            log.judge(like(commit, &"f".repeat(40)), || {
                breach(at, "40 lower-case hexadecimal digits", quoted(commit))
            });
        }
    }
}

/// Every digest of the header with its pointer.
fn digests<'a>(report: &Report<'a>) -> Vec<(String, &'a str)> {
    let single = ["/protocol/corpus_sha256", "/configuration/template/sha256"];
    let mut found: Vec<_> =
        single.iter().filter_map(|at| Some((at.to_string(), report.text(at)?))).collect();
    for (index, file) in model_files(report).iter().enumerate() {
        let digest = file.get("sha256").and_then(Value::as_str);
        found.extend(digest.map(|digest| (format!("/model/files/{index}/sha256"), digest)));
    }
    found
}

pub(super) fn digests_are_hex(report: &Report, log: &mut Log) {
    for (at, digest) in digests(report) {
        log.judge(is_sha256(digest), || {
            breach(at, "64 lower-case hexadecimal digits", quoted(digest))
        });
    }
}

pub(super) fn model_id_ends_in_quantization(report: &Report, log: &mut Log) {
    if let (Some(id), Some(quantization)) =
        (report.text("/model/id"), report.text("/model/quantization"))
    {
        let ending = format!("-{}", quantization.to_lowercase());
        let expected = || format!("…{ending}");
        log.judge(id.ends_with(&ending), || breach("/model/id", expected(), quoted(id)));
    }
}

fn gpus<'a>(report: &Report<'a>) -> impl Iterator<Item = (usize, &'a Value)> {
    report.list("/hardware/gpus").iter().enumerate()
}

pub(super) fn gpu_memory_is_whole_mib(report: &Report, log: &mut Log) {
    for (index, gpu) in gpus(report) {
        if let Some(bytes) = gpu.get("memory_bytes").and_then(|bytes| bytes.as_number()?.as_u64()) {
            log.judge(bytes.is_multiple_of(1 << 20), || {
                let at = format!("/hardware/gpus/{index}/memory_bytes");
                breach(at, "a multiple of 1048576", bytes)
            });
        }
    }
}

pub(super) fn memory_is_whole_pages(report: &Report, log: &mut Log) {
    if let Some(bytes) = report.count("/hardware/ram_bytes") {
        log.judge(bytes.is_multiple_of(4096), || {
            breach("/hardware/ram_bytes", "a multiple of 4096", bytes)
        });
    }
}

pub(super) fn power_limit_decimals(report: &Report, log: &mut Log) {
    for (index, gpu) in gpus(report) {
        if let Some(watts) = gpu.get("power_limit_w").and_then(Value::as_number) {
            log.judge(watts.decimals() <= 1, || {
                let at = format!("/hardware/gpus/{index}/power_limit_w");
                breach(at, "at most 1 decimal", watts.text())
            });
        }
    }
}

pub(super) fn engine_options_all_or_none(report: &Report, log: &mut Log) {
    let groups: Vec<&str> = ENGINE_OPTIONS.split(' ').collect();
    let null = |group: &str| report.is_null(&format!("/configuration/{group}"));
    let first = null(groups[0]);
    for group in &groups[1..] {
        log.judge(null(group) == first, || {
            let as_first = format!("{} as {}", if first { "null" } else { "an object" }, groups[0]);
            let at = format!("/configuration/{group}");
            breach(at.clone(), as_first, printed(report.at(&at)))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        let check = |text: &str, shape: &str, same: bool| {
            assert_eq!(like(text, shape), same, "{text} {shape}");
        };
        check("20260101T000000Z", "99999999T999999Z", true);
        check("20260101T00000Z", "99999999T999999Z", false);
        check("2026010aT000000Z", "99999999T999999Z", false);
        check("0f", "ff", true);
        check("0F", "ff", false);
        check("é", "ff", false);
    }
}
