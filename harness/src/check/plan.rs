//! The requests of a report against those its protocol asks for: how many, which, in which order,
//! with which seed and cap.

use super::report::{Report, Request, quoted};
use super::rule::{Log, breach};
use crate::protocol::PhaseName;
use std::collections::BTreeMap;

/// Statuses of a request, the attempted ones first.
const STATES: [&str; 4] = ["completed", "truncated", "failed", "skipped"];

pub(super) fn phases_in_order(report: &Report, log: &mut Log) {
    let Some(counts) = report.at("/request_counts") else { return };
    let found: Vec<&str> = counts.entries().iter().map(|(key, _)| key.as_str()).collect();
    let wanted = PhaseName::ALL.map(PhaseName::as_str);
    log.judge(found == wanted, || breach("/request_counts", wanted.join(", "), found.join(", ")));
}

/// A count of a stage with its pointer.
fn count(report: &Report, phase: PhaseName, field: &str) -> Option<u64> {
    report.count(&place(phase, field))
}

fn place(phase: PhaseName, field: &str) -> String {
    format!("/request_counts/{}/{field}", phase.as_str())
}

pub(super) fn attempted_is_a_sum(report: &Report, log: &mut Log) {
    judge_sum(report, log, "attempted", &["completed", "truncated", "failed"]);
}

pub(super) fn planned_is_a_sum(report: &Report, log: &mut Log) {
    judge_sum(report, log, "planned", &["attempted", "skipped"]);
}

fn judge_sum(report: &Report, log: &mut Log, whole: &str, parts: &[&str]) {
    for phase in PhaseName::ALL {
        let Some(total) = count(report, phase, whole) else { continue };
        let sum =
            parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(count(report, phase, part)?));
        let Some(sum) = sum else { continue };
        log.judge(total == sum, || {
            breach(place(phase, whole), format!("{} = {sum}", parts.join(" + ")), total)
        });
    }
}

pub(super) fn planned_is_the_plans(report: &Report, log: &mut Log) {
    for phase in PhaseName::ALL {
        if phase == PhaseName::Concurrency && !report.concurrent() {
            continue;
        }
        let Some(found) = count(report, phase, "planned") else { continue };
        let wanted = report.planned(phase).count() as u64;
        log.judge(found == wanted, || breach(place(phase, "planned"), wanted, found));
    }
}

pub(super) fn no_concurrency_unless_selected(report: &Report, log: &mut Log) {
    if report.concurrent() {
        return log.idle("the concurrency stage was selected");
    }
    if let Some(found) = count(report, PhaseName::Concurrency, "planned") {
        log.judge(found == 0, || breach(place(PhaseName::Concurrency, "planned"), 0, found));
    }
}

pub(super) fn counts_are_the_requests(report: &Report, log: &mut Log) {
    let mut seen: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for request in &report.requests {
        *seen.entry((request.phase, request.status)).or_default() += 1;
    }
    for phase in PhaseName::ALL {
        let shown = STATES.map(|state| seen.remove(&(phase.as_str(), state)).unwrap_or(0));
        let attempted = ("attempted", shown[..3].iter().sum());
        for (field, wanted) in STATES.into_iter().zip(shown).chain([attempted]) {
            let Some(found) = count(report, phase, field) else { continue };
            log.judge(found == wanted, || {
                breach(place(phase, field), format!("{wanted} as in /requests"), found)
            });
        }
    }
    for ((phase, status), _) in seen {
        log.judge(false, || {
            let expected = "a stage and a status that are counted";
            breach("/requests", expected, format!("{} {}", quoted(phase), quoted(status)))
        });
    }
}

pub(super) fn ids_are_the_plans(report: &Report, log: &mut Log) {
    for index in 0..report.plan.len().max(report.requests.len()) {
        let wanted = report.plan.get(index).map(|planned| planned.id.as_str());
        let found = report.requests.get(index).map(|request| request.id);
        log.judge(wanted == found, || {
            let words = |id: Option<&str>| id.map_or("no request".to_string(), quoted);
            breach(format!("/requests/{index}/id"), words(wanted), words(found))
        });
    }
}

pub(super) fn id_names_stage_case_repetition(report: &Report, log: &mut Log) {
    for request in &report.requests {
        let Some(planned) = request.planned else { continue };
        let phase = planned.phase.as_str();
        log.judge(request.phase == phase, || {
            breach(request.place("/phase"), quoted(phase), quoted(request.phase))
        });
        log.judge(request.case == planned.case.id, || {
            breach(request.place("/case_id"), quoted(&planned.case.id), quoted(request.case))
        });
        let repetition = u64::from(planned.repetition);
        log.judge(request.repetition == Some(repetition), || {
            breach(request.place("/repetition"), repetition, request.printed("/repetition"))
        });
    }
}

pub(super) fn seed_is_the_plans(report: &Report, log: &mut Log) {
    judge_planned(report, log, "/seed", false, |planned| planned.seed);
}

pub(super) fn cap_is_the_plans(report: &Report, log: &mut Log) {
    let admitted = report.admits("output cap");
    judge_planned(report, log, "/max_output_tokens", admitted, |planned| planned.max_output_tokens);
}

fn judge_planned(
    report: &Report,
    log: &mut Log,
    field: &str,
    admitted: bool,
    wanted: fn(&crate::plan::Planned) -> u64,
) {
    for request in &report.requests {
        let Some(wanted) = request.planned.map(wanted) else { continue };
        log.judge_unless(admitted, count_of(request, field) == Some(wanted), || {
            breach(request.place(field), wanted, request.printed(field))
        });
    }
}

fn count_of(request: &Request, field: &str) -> Option<u64> {
    request.value.pointer(field)?.as_number()?.as_u64()
}

pub(super) fn concurrency_is_the_plans(report: &Report, log: &mut Log) {
    judge_planned(report, log, "/concurrency", false, |planned| u64::from(planned.concurrency));
    for request in &report.requests {
        let Some(planned) = request.planned else { continue };
        let wanted = planned.round.map(u64::from);
        let null = request.value.get("round").is_some_and(crate::json::Value::is_null);
        let same = if wanted.is_none() { null } else { count_of(request, "/round") == wanted };
        log.judge(same, || {
            let wanted = wanted.map_or("null".to_string(), |round| round.to_string());
            breach(request.place("/round"), wanted, request.printed("/round"))
        });
    }
}

/// Only where the protocol pins one length for all repetitions: payloads differ, and under another
/// tokenizer so may their lengths.
pub(super) fn repetitions_are_equally_long(report: &Report, log: &mut Log) {
    let mut lengths: BTreeMap<(&str, &str, u64), u64> = BTreeMap::new();
    for request in &report.requests {
        let frozen = report.frozen_input_tokens(request.id);
        let (Some(frozen), Some(input)) = (frozen, request.input_tokens) else { continue };
        let first = *lengths.entry((request.phase, request.case, frozen)).or_insert(input);
        log.judge(input == first, || {
            let expected = format!("{first} as in the first of {}", request.case);
            breach(request.place("/tokens/input_tokens"), expected, input)
        });
    }
    if lengths.is_empty() {
        log.idle("the protocol pins no input lengths");
    }
}
