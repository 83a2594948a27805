//! Summaries: their order, their arithmetic, and what their reader must be told.

use super::report::{Report, Request, Summary, decimal, quoted};
use super::rule::{Log, breach};
use crate::json::Value;
use crate::protocol::PhaseName;
use std::collections::HashSet;

/// The metrics of the format and their units, in order.
const METRICS: [(&str, &str); 5] = [
    ("prompt_tps", "tokens/s"),
    ("decode_tps", "tokens/s"),
    ("ttft_s", "s"),
    ("first_answer_s", "s"),
    ("total_s", "s"),
];

pub(super) fn case_outer_metric_inner(report: &Report, log: &mut Log) {
    let mut wanted = Vec::new();
    let phase = report.protocol.and_then(|protocol| protocol.phase(PhaseName::Performance));
    for case in phase.map(|phase| phase.cases.as_slice()).unwrap_or_default() {
        wanted.extend(METRICS.map(|(metric, unit)| format!("{} {metric} {unit}", case.id)));
    }
    for index in 0..wanted.len().max(report.summaries.len()) {
        let found = report.summaries.get(index).map(|summary| {
            let unit = summary.value.get("unit").and_then(Value::as_str).unwrap_or("");
            format!("{} {} {unit}", summary.case, summary.metric)
        });
        log.judge(found.as_ref() == wanted.get(index), || {
            let words = |words: Option<&String>| words.cloned().unwrap_or("none".to_string());
            let at = format!("/summaries/{index}");
            breach(at, words(wanted.get(index)), words(found.as_ref()))
        });
    }
}

pub(super) fn of_the_performance_stage(report: &Report, log: &mut Log) {
    let stage = PhaseName::Performance;
    let concurrency = report.planned(stage).next().map(|planned| u64::from(planned.concurrency));
    for summary in &report.summaries {
        log.judge(summary.phase == stage.as_str(), || {
            breach(summary.place("/phase"), quoted(stage.as_str()), quoted(summary.phase))
        });
        let found = summary.value.get("concurrency").and_then(|n| n.as_number()?.as_u64());
        let Some(wanted) = concurrency else { continue };
        log.judge(found == Some(wanted), || {
            breach(summary.place("/concurrency"), wanted, summary.printed("/concurrency"))
        });
    }
}

pub(super) fn median_between(report: &Report, log: &mut Log) {
    for (summary, [min, median, max]) in with_figures(report) {
        log.judge(min <= median && median <= max, || {
            let expected = format!("{} to {}", decimal(min, 6), decimal(max, 6));
            breach(summary.place("/median"), expected, summary.printed("/median"))
        });
    }
}

/// The summaries that have all three figures, with them in units of 10^-6.
fn with_figures<'r, 'a>(
    report: &'r Report<'a>,
) -> impl Iterator<Item = (&'r Summary<'a>, [i128; 3])> {
    let summaries = report.summaries.iter();
    summaries.filter_map(|summary| Some((summary, [summary.min?, summary.median?, summary.max?])))
}

pub(super) fn n_is_counted(report: &Report, log: &mut Log) {
    let repetitions = report
        .protocol
        .and_then(|protocol| protocol.phase(PhaseName::Performance))
        .map(|phase| u64::from(phase.repetitions));
    for summary in &report.summaries {
        let Some(n) = summary.n else { continue };
        let included = summary.included.len() as u64;
        log.judge(n == included, || {
            breach(summary.place("/n"), format!("{included} as included"), n)
        });
        let Some(repetitions) = repetitions else { continue };
        let excluded = summary.excluded.len() as u64;
        log.judge(n.saturating_add(excluded) == repetitions, || {
            breach(summary.place("/n"), format!("{repetitions} - {excluded} excluded"), n)
        });
    }
}

pub(super) fn ids_partition_repetitions(report: &Report, log: &mut Log) {
    for summary in &report.summaries {
        let all = report.planned(PhaseName::Performance);
        let all: Vec<&str> = all
            .filter(|planned| planned.case.id == summary.case)
            .map(|planned| planned.id.as_str())
            .collect();
        let excluded = &summary.excluded;
        let (out, rest): (Vec<&str>, Vec<&str>) = all.iter().partition(|id| excluded.contains(id));
        log.judge(summary.included == rest && *excluded == out, || {
            let found = format!(
                "included {}, excluded {}",
                summary.included.join(", "),
                excluded.join(", ")
            );
            let expected = format!("each of {} once, in order", all.join(", "));
            breach(summary.place("/included_request_ids"), expected, found)
        });
    }
}

pub(super) fn exclusion_has_its_reason(report: &Report, log: &mut Log) {
    for summary in &report.summaries {
        let reason = format!("{} is not available for this request", summary.metric);
        let excluded = summary.value.get("excluded").map(Value::items).unwrap_or_default();
        for (index, entry) in excluded.iter().enumerate() {
            let found = entry.get("reason").and_then(Value::as_str);
            log.judge(found == Some(&reason), || {
                let field = format!("/excluded/{index}/reason");
                breach(summary.place(&field), quoted(&reason), summary.printed(&field))
            });
        }
    }
    if report.wrapper {
        wrapper_excludes_what_did_not_end(report, log);
    }
}

/// A request that is not at hand was left out of `total_s` if it did not end, and of another figure
/// then too. Else only the record knows why; where that makes the document, it is no news.
fn wrapper_excludes_what_did_not_end(report: &Report, log: &mut Log) {
    let of_total = report.summaries.iter().filter(|summary| summary.metric == "total_s");
    let unended: HashSet<&str> = of_total.flat_map(|summary| &summary.excluded).copied().collect();
    let count = |word: &str| report.count(&format!("/request_counts/performance/{word}"));
    let Some(most) = count("failed").zip(count("skipped")).map(|(a, b)| a.saturating_add(b)) else {
        return;
    };
    for summary in report.summaries.iter().filter(|summary| summary.metric != "first_answer_s") {
        for (index, id) in summary.excluded.iter().enumerate() {
            let failure = || {
                let expected = format!("no exclusion of more than the {most} that did not end");
                let at = summary.place(&format!("/excluded/{index}"));
                breach(at, expected, format!("{} without {}", summary.metric, quoted(id)))
            };
            if summary.metric == "total_s" {
                log.judge(unended.len() as u64 <= most, failure);
            } else {
                log.judge_mildly(unended.contains(id) || report.rebuilt.is_some(), failure);
            }
        }
    }
}

pub(super) fn one_value_is_all_three(report: &Report, log: &mut Log) {
    for (summary, [min, median, max]) in with_figures(report) {
        if summary.n == Some(1) {
            log.judge(min == median && median == max, || {
                let found = format!("{}, {}", summary.printed("/min"), summary.printed("/max"));
                breach(summary.place("/median"), "min = median = max", found)
            });
        }
    }
}

/// The mean of two values of six decimals has seven: rounding may move it by half a unit.
pub(super) fn two_values_have_their_mean(report: &Report, log: &mut Log) {
    for (summary, [min, median, max]) in with_figures(report) {
        if summary.n == Some(2) {
            log.judge((2 * median - (min + max)).abs() <= 1, || {
                let expected = format!("{} rounded", decimal((min + max) * 5, 7));
                breach(summary.place("/median"), expected, summary.printed("/median"))
            });
        }
    }
}

pub(super) fn summary_decimals(report: &Report, log: &mut Log) {
    for summary in &report.summaries {
        for field in ["median", "min", "max"] {
            let Some(figure) = summary.value.get(field).and_then(Value::as_number) else {
                continue;
            };
            log.judge(figure.decimals() <= 6, || {
                breach(summary.place(&format!("/{field}")), "at most 6 decimals", figure.text())
            });
        }
    }
}

pub(super) fn recomputed_from_requests(report: &Report, log: &mut Log) {
    for summary in &report.summaries {
        let requests = report.requests.iter().filter(|request| {
            request.phase == summary.phase && request.case == summary.case && request.ended()
        });
        let known: Vec<(&str, i128)> = requests
            .filter_map(|request| Some((request.id, request.metric(summary.metric)?)))
            .collect();
        let ids: Vec<&str> = known.iter().map(|(id, _)| *id).collect();
        log.judge(summary.included == ids, || {
            let found = summary.included.join(", ");
            breach(summary.place("/included_request_ids"), ids.join(", "), found)
        });
        let mut values: Vec<i128> = known.iter().map(|(_, value)| *value).collect();
        values.sort_unstable();
        judge_figures(log, summary, &values);
    }
}

/// The figures of a summary against its sorted values in units of 10^-6.
fn judge_figures(log: &mut Log, summary: &Summary, values: &[i128]) {
    let twice_median = match values {
        [] => None,
        _ => Some(values[(values.len() - 1) / 2] + values[values.len() / 2]),
    };
    // Of an even number of values the median has a seventh decimal: half a unit of rounding.
    let slack = i128::from(values.len().is_multiple_of(2));
    let wanted = [
        ("/min", summary.min, values.first().map(|min| 2 * min), 0),
        ("/median", summary.median, twice_median, slack),
        ("/max", summary.max, values.last().map(|max| 2 * max), 0),
    ];
    for (field, found, twice, slack) in wanted {
        let same = match (found, twice) {
            (Some(found), Some(twice)) => (2 * found - twice).abs() <= slack,
            (found, twice) => found.is_none() && twice.is_none(),
        };
        log.judge(same, || {
            let expected = twice.map_or("null".to_string(), |twice| decimal(twice * 5, 7));
            breach(summary.place(field), expected, summary.printed(field))
        });
    }
}

/// What the report itself says about a summary, in `extensions.summary_notes` by `case/metric`.
fn noted(report: &Report, case: &str, metric: &str) -> bool {
    let notes = report.at("/extensions/summary_notes");
    let note = notes.and_then(|notes| notes.get(&format!("{case}/{metric}"))?.as_str());
    note.is_some_and(|note| !note.trim().is_empty())
}

pub(super) fn few_values_are_marked(report: &Report, log: &mut Log) {
    for summary in &report.summaries {
        let Some(n) = summary.n.filter(|n| *n > 0) else { continue };
        log.judge(n >= 3 || noted(report, summary.case, summary.metric), || {
            let expected = "n of at least 3, or a note that it represents nothing";
            breach(summary.place("/median"), expected, format!("a median of {n}"))
        });
    }
}

/// Whether a figure is another where a request ends at its cap.
fn ends_matter(summary: &Summary) -> bool {
    matches!(summary.metric, "decode_tps" | "total_s")
}

/// How long a request ran says little when its cap cut it off.
pub(super) fn truncation_is_stated(report: &Report, log: &mut Log) {
    if report.wrapper {
        let at = "/request_counts/performance/truncated";
        let Some(truncated) = report.count(at) else { return };
        let told = report
            .summaries
            .iter()
            .any(|summary| ends_matter(summary) && noted(report, summary.case, summary.metric));
        return log.judge(truncated == 0 || told, || {
            let expected = "no truncated request in the summaries, or its share stated there";
            breach(at, expected, truncated)
        });
    }
    for summary in &report.summaries {
        if !ends_matter(summary) {
            continue;
        }
        let included: HashSet<&str> = summary.included.iter().copied().collect();
        let cut_off =
            |request: &&Request| request.status == "truncated" && included.contains(request.id);
        let truncated = report.requests.iter().filter(cut_off).count();
        log.judge(truncated == 0 || noted(report, summary.case, summary.metric), || {
            let found = format!("{truncated} of {} truncated", summary.included.len());
            breach(summary.place("/median"), "the share of truncated requests stated", found)
        });
    }
}

/// A request that never answered is slower than any that did: leaving it out flatters the median.
pub(super) fn censoring_is_stated(report: &Report, log: &mut Log) {
    for summary in &report.summaries {
        if summary.metric != "first_answer_s" {
            continue;
        }
        let dropped = summary.excluded.len();
        log.judge(dropped == 0 || noted(report, summary.case, summary.metric), || {
            let found = format!("{dropped} without an answer left out");
            breach(summary.place("/median"), "how many did not answer before their end", found)
        });
    }
}

/// The rate's share by which two repetitions of a case differ at least, unless by chance.
const LEAST_DIFFERENCE: i128 = 10_000;

/// Two requests with seeds of their own that decode alike to 0.01 % may be one request copied.
pub(super) fn repetitions_differ(report: &Report, log: &mut Log) {
    for (summary, [min, median, max]) in with_figures(report) {
        if summary.metric != "decode_tps" || summary.n != Some(3) {
            continue;
        }
        for (a, b, words) in [(min, median, "min and median"), (median, max, "median and max")] {
            log.judge((b - a).saturating_mul(LEAST_DIFFERENCE) >= b, || {
                let found = format!("{} and {}", decimal(a, 6), decimal(b, 6));
                breach(summary.place(""), format!("{words} apart by 0.01 %"), found)
            });
        }
    }
}

/// If repetitions were exchangeable, the first would be the extreme of every case by chance only.
pub(super) fn first_repetition_is_no_extreme(report: &Report, log: &mut Log) {
    let Some(phase) = report.protocol.and_then(|p| p.phase(PhaseName::Performance)) else {
        return;
    };
    if phase.repetitions < 3 || phase.cases.len() < 3 {
        return log.idle("fewer than 3 cases or repetitions");
    }
    for metric in ["prompt_tps", "decode_tps"] {
        let rates = |case: &str| -> Vec<i128> {
            let of_case =
                |request: &&Request| request.phase == "performance" && request.case == case;
            report.requests.iter().filter(of_case).filter_map(|r| r.metric(metric)).collect()
        };
        let cases: Vec<Vec<i128>> = phase.cases.iter().map(|case| rates(&case.id)).collect();
        if cases.iter().any(|rates| rates.len() < 3) {
            continue;
        }
        for (word, lowest) in [("lowest", true), ("highest", false)] {
            let extreme = |rates: &Vec<i128>| {
                rates[1..]
                    .iter()
                    .all(|rate| if lowest { rates[0] < *rate } else { rates[0] > *rate })
            };
            log.judge(!cases.iter().all(extreme), || {
                let expected = format!("{metric} not {word} in the first repetition of every case");
                breach("/requests", expected, format!("{word} in all {} cases", cases.len()))
            });
        }
    }
}
