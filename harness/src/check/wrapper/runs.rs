//! Which run a wrapper stands on, which it left out, and whether somebody else could look them up.

use crate::check::report::{Report, printed, quoted};
use crate::check::rule::{Log, breach};
use crate::digest::is_sha256;
use crate::json::Value;
use crate::report::RESULTS;

/// The excluded runs, each with its pointer.
fn excluded<'a>(report: &Report<'a>) -> impl Iterator<Item = (String, &'a Value)> {
    let runs = report.list("/excluded_runs");
    runs.iter().enumerate().map(|(index, run)| (format!("/excluded_runs/{index}"), run))
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str().filter(|text| !text.trim().is_empty())
}

pub(in crate::check) fn excluded_is_another_run(report: &Report, log: &mut Log) {
    let selected = report.text("/run/id");
    for (at, run) in excluded(report) {
        let id = text(run, "run_id");
        log.judge(id.is_some() && id != selected, || {
            let expected = "the id of another run than the selected one";
            breach(format!("{at}/run_id"), expected, printed(run.get("run_id")))
        });
        let headline = run.get("selected_for_headline");
        log.judge(headline.and_then(Value::as_bool) == Some(false), || {
            breach(format!("{at}/selected_for_headline"), "false", printed(headline))
        });
        log.judge(text(run, "reason").is_some(), || {
            breach(format!("{at}/reason"), "a reason in words", printed(run.get("reason")))
        });
    }
}

pub(in crate::check) fn excluded_is_at_hand(report: &Report, log: &mut Log) {
    for (at, run) in excluded(report) {
        log.judge(text(run, "report_path").is_some(), || {
            let found = printed(run.get("report_path"));
            breach(format!("{at}/report_path"), "where its report is", found)
        });
        log.judge(text(run, "report_sha256").is_some_and(is_sha256), || {
            let found = printed(run.get("report_sha256"));
            breach(format!("{at}/report_sha256"), "the digest of its report", found)
        });
    }
}

pub(in crate::check) fn selected_is_pinned(report: &Report, log: &mut Log) {
    let Some(evidence) = report.at("/evidence") else { return };
    let path = evidence.get("selected_report_path");
    let named = path.and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
    log.judge(named == Some(RESULTS), || {
        breach("/evidence/selected_report_path", "a path to results.json", printed(path))
    });
    judge_digest(log, evidence, "selected_report_sha256");
}

pub(in crate::check) fn archive_is_pinned(report: &Report, log: &mut Log) {
    let Some(evidence) = report.at("/evidence") else { return };
    if text(evidence, "archive").is_some() {
        judge_digest(log, evidence, "archive_sha256");
    }
}

fn judge_digest(log: &mut Log, evidence: &Value, key: &str) {
    log.judge(text(evidence, key).is_some_and(is_sha256), || {
        let found = printed(evidence.get(key));
        breach(format!("/evidence/{key}"), "64 lower-case hexadecimal digits", found)
    });
}

/// An id begins with the start of its run, so ids sort by time.
pub(in crate::check) fn excluded_came_before(report: &Report, log: &mut Log) {
    let Some(selected) = report.text("/run/id") else { return };
    for (at, run) in excluded(report) {
        let Some(id) = text(run, "run_id") else { continue };
        log.judge(id < selected, || {
            let expected = format!("a run before {}", quoted(selected));
            breach(format!("{at}/run_id"), expected, quoted(id))
        });
    }
}

/// The corrections of a publication, and those that other wrappers have in their excluded runs.
fn corrections<'a>(report: &Report<'a>) -> impl Iterator<Item = (String, &'a Value)> {
    let ours = report.list("/corrections").iter().enumerate();
    let ours = ours.map(|(index, correction)| (format!("/corrections/{index}"), correction));
    let theirs = excluded(report).filter_map(|(at, run)| {
        let correction = run.get("declaration_correction").filter(|it| !it.is_null())?;
        Some((format!("{at}/declaration_correction"), correction))
    });
    ours.chain(theirs)
}

/// In prose a program sees only that there is some; as an object a correction has all its parts.
pub(in crate::check) fn correction_is_whole(report: &Report, log: &mut Log) {
    for (at, correction) in corrections(report) {
        if let Value::Object(_) = correction {
            for part in ["pointer", "old", "new", "evidence_sha256"] {
                let expected = "field, old and new value, digest of the evidence";
                let there = correction.get(part).is_some_and(|part| !part.is_null());
                log.judge(there, || breach(format!("{at}/{part}"), expected, "nothing"));
            }
            continue;
        }
        let words = correction.as_str().is_some_and(|text| !text.trim().is_empty());
        log.judge(words, || breach(at, "an object, or words", printed(Some(correction))));
    }
}
