//! The sanity stage: which requests are judged, in which words, and what the sum of it shows.

use super::report::{Report, Request, quoted};
use super::rule::{Log, breach};
use crate::json::Value;
use crate::protocol::{PhaseName, Protocol};
use std::collections::HashMap;

/// The figures of a category, if it is there with both.
fn category(report: &Report, name: &str) -> Option<(u64, u64)> {
    figures(report.at("/quality/categories")?.get(name)?)
}

/// Passed and total.
fn figures(entry: &Value) -> Option<(u64, u64)> {
    let count = |key: &str| entry.get(key)?.as_number()?.as_u64();
    Some((count("passed")?, count("total")?))
}

fn sum(report: &Report, pick: fn((u64, u64)) -> u64) -> Option<u64> {
    let categories = report.at("/quality/categories")?.entries();
    categories.iter().try_fold(0_u64, |sum, (_, entry)| sum.checked_add(pick(figures(entry)?)))
}

pub(super) fn total_is_a_sum(report: &Report, log: &mut Log) {
    let Some(total) = report.count("/quality/total") else { return };
    if let Some(sum) = sum(report, |(_, total)| total) {
        log.judge(total == sum, || {
            breach("/quality/total", format!("{sum} over categories"), total)
        });
    }
    if let Some(planned) = report.count("/request_counts/sanity/planned") {
        log.judge(total == planned, || {
            breach("/quality/total", format!("{planned} planned"), total)
        });
    }
}

pub(super) fn passed_is_a_sum(report: &Report, log: &mut Log) {
    let Some(passed) = report.count("/quality/passed") else { return };
    if let Some(sum) = sum(report, |(passed, _)| passed) {
        let wrong = || breach("/quality/passed", format!("{sum} over categories"), passed);
        log.judge(passed == sum, wrong);
    }
}

/// How many cases of a category the protocol has.
fn cases(protocol: &Protocol, category: &str) -> u64 {
    let cases = protocol.phase(PhaseName::Sanity).map(|phase| phase.cases.as_slice());
    let of_category = |case: &&crate::protocol::Case| case.category.as_deref() == Some(category);
    cases.unwrap_or_default().iter().filter(of_category).count() as u64
}

pub(super) fn categories_are_the_protocols(report: &Report, log: &mut Log) {
    let (Some(protocol), Some(found)) = (report.protocol, report.at("/quality/categories")) else {
        return;
    };
    let names: Vec<&str> = found.entries().iter().map(|(name, _)| name.as_str()).collect();
    log.judge(names == protocol.categories, || {
        breach("/quality/categories", protocol.categories.join(", "), names.join(", "))
    });
    for name in &protocol.categories {
        let (wanted, Some((_, total))) = (cases(protocol, name), category(report, name)) else {
            continue;
        };
        log.judge(total == wanted, || {
            breach(format!("/quality/categories/{name}/total"), wanted, total)
        });
    }
}

/// `evaluation.passed` of a request that has one.
fn passed(request: &Request) -> Option<bool> {
    request.value.pointer("/evaluation/passed")?.as_bool()
}

fn evaluation<'a>(request: &Request<'a>, field: &str) -> Option<&'a str> {
    request.value.get("evaluation")?.get(field)?.as_str()
}

pub(super) fn recounted_from_evaluations(report: &Report, log: &mut Log) {
    let mut judged: HashMap<&str, (u64, u64)> = HashMap::new();
    for request in &report.requests {
        let Some(category) = evaluation(request, "category") else { continue };
        let (right, all) = judged.entry(category).or_default();
        *right += u64::from(passed(request) == Some(true));
        *all += 1;
    }
    let names = report.at("/quality/categories").map(Value::entries).unwrap_or_default();
    for (name, entry) in names {
        let Some((found_passed, found_total)) = figures(entry) else { continue };
        let (right, all) = judged.get(name.as_str()).copied().unwrap_or_default();
        for (field, found, wanted) in [("passed", found_passed, right), ("total", found_total, all)]
        {
            log.judge(found == wanted, || {
                let at = format!("/quality/categories/{}/{field}", crate::json::escape(name));
                breach(at, format!("{wanted} as in /requests"), found)
            });
        }
    }
}

pub(super) fn sanity_is_judged(report: &Report, log: &mut Log) {
    for request in &report.requests {
        let Some(evaluation) = request.value.get("evaluation") else { continue };
        let sanity = request.phase == PhaseName::Sanity.as_str();
        log.judge(evaluation.is_null() != sanity, || {
            let expected = if sanity { "an evaluation" } else { "null outside the sanity stage" };
            breach(request.place("/evaluation"), expected, request.printed("/evaluation"))
        });
    }
}

pub(super) fn category_is_the_cases(report: &Report, log: &mut Log) {
    for request in &report.requests {
        let (Some(planned), Some(found)) = (request.planned, evaluation(request, "category"))
        else {
            continue;
        };
        let wanted = planned.case.category.as_deref();
        log.judge(wanted == Some(found), || {
            let wanted = wanted.map_or("no category".to_string(), quoted);
            breach(request.place("/evaluation/category"), wanted, quoted(found))
        });
    }
}

pub(super) fn reason_is_the_evaluators(report: &Report, log: &mut Log) {
    let Some(protocol) = report.protocol else { return };
    for request in report.requests.iter().filter(|request| passed(request) == Some(true)) {
        let evaluator = request.planned.and_then(|planned| planned.case.evaluator.as_ref());
        let (Some(evaluator), Some(found)) = (evaluator, evaluation(request, "reason")) else {
            continue;
        };
        let Some(wanted) = protocol.passed_reasons.of(evaluator) else { continue };
        log.judge(found == wanted, || {
            breach(request.place("/evaluation/reason"), quoted(wanted), quoted(found))
        });
    }
}

pub(super) fn tool_call_finishes_as_one(report: &Report, log: &mut Log) {
    let Some(protocol) = report.protocol else { return };
    for request in report.requests.iter().filter(|request| passed(request) == Some(true)) {
        let reason = evaluation(request, "reason");
        let judged = reason == Some(protocol.passed_reasons.tool_call.as_str());
        let called = request.finish_reason == Some("tool_calls");
        log.judge(judged == called, || {
            let expected = if judged { "tool_calls" } else { "no tool_calls" };
            breach(request.place("/finish_reason"), expected, request.printed("/finish_reason"))
        });
    }
}

pub(super) fn passed_was_completed(report: &Report, log: &mut Log) {
    for request in &report.requests {
        if let Some(passed) = passed(request) {
            log.judge(!passed || request.status == "completed", || {
                breach(request.place("/evaluation/passed"), "false unless completed", passed)
            });
        }
    }
}

/// The one-sided 95 % bound for n passes of n is the rate at which that has a chance of 5 %.
pub(super) fn all_passed_shows_little(report: &Report, log: &mut Log) {
    let (Some(passed), Some(total)) =
        (report.count("/quality/passed"), report.count("/quality/total"))
    else {
        return;
    };
    if total == 0 {
        return;
    }
    log.judge(passed < total, || {
        let rate = 100.0 * 0.05_f64.powf(1.0 / total as f64);
        let expected = format!("{passed} of {total} read as a pass rate of at least {rate:.0} %");
        breach("/quality/passed", expected, passed)
    });
}
