//! The summaries, read with care: how many values are in, how many requests were cut off, and
//! whether a median was reached at all. A request that never answered is slower than any that did,
//! so a median over the others is no median.

use super::report::{Report, Row};
use super::requests::metric;
use super::table::{Cell, Clock, Column, Table};
use crate::json::Value;
use std::collections::HashMap;

/// How many requests of a case answered before their end, and what that makes of the median.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answered {
    /// Requests with an answer.
    answered: usize,
    /// All of them.
    of: usize,
    /// The first answer of the request in the middle, those without an answer last; where the
    /// figures tell it.
    median: Option<String>,
}

impl Answered {
    fn words(&self) -> String {
        let Answered { answered, of, median } = self;
        let share = format!("answered by the cap {answered} of {of}");
        match median {
            Some(median) => format!("{share}; median of all {of}: {median}"),
            None if 2 * answered > *of => format!("{share}; the median leaves the others out"),
            None => format!("{share}; median not reached"),
        }
    }
}

/// What is known about the requests of a summary.
struct Group<'a> {
    included: Vec<&'a str>,
    excluded: Vec<&'a str>,
}

impl<'a> Group<'a> {
    fn new(summary: &Row<'a>) -> Group<'a> {
        let list = |key: &str| summary.value.get(key).map(Value::items).unwrap_or_default();
        let excluded = list("excluded").iter();
        Group {
            included: list("included_request_ids").iter().filter_map(Value::as_str).collect(),
            excluded: excluded
                .map(|e| e.get("request_id").and_then(Value::as_str))
                .map(Option::unwrap_or_default)
                .collect(),
        }
    }
}

/// The requests of a report by id.
type ById<'r, 'a> = HashMap<&'a str, &'r Row<'a>>;

const COLUMNS: [Column; 11] = [
    Column::plain("case", "/case_id"),
    Column::plain("metric", "/metric"),
    Column::plain("unit", "/unit"),
    Column::plain("clock", ""),
    Column::plain("n", "/n"),
    Column::plain("excluded", ""),
    Column::plain("median", "/median"),
    Column::plain("min", "/min"),
    Column::plain("max", "/max"),
    Column::plain("cut off", ""),
    Column::plain("reading", ""),
];

pub(super) fn table<'a>(report: &Report<'a>) -> Table<'a> {
    let by_id: ById = report.rows().iter().map(|row| (row.id(), row)).collect();
    let rows = report.summaries();
    let rows = rows.iter().map(|row| (row.pointer.clone(), cells(report, row, &by_id))).collect();
    let notes = report.left_out("summaries").into_iter().chain(truncated(report)).collect();
    Table { name: "summaries", title: "Summaries", columns: COLUMNS.to_vec(), rows, notes }
}

fn cells<'a>(report: &Report<'a>, row: &Row<'a>, by_id: &ById<'_, 'a>) -> Vec<Cell<'a>> {
    let group = Group::new(row);
    let name = row.text("/metric");
    let clock = metric(name).map(|metric| metric.clock);
    let of = |path: &str| report.of(row, path);
    let timed = |path: &str| match clock {
        Some(clock) => of(path).clocked(clock),
        None => of(path),
    };
    vec![
        of("/case_id"),
        of("/metric"),
        of("/unit"),
        Cell::made(clock.map_or("", Clock::as_str)),
        of("/n"),
        Cell::Derived(group.excluded.len().to_string()),
        timed("/median"),
        timed("/min"),
        timed("/max"),
        Cell::made(cut_off(&group, by_id)),
        Cell::made(reading(name, &group, by_id)),
    ]
}

/// Of the requests with a value, those that ended at their cap; nothing where no request is at
/// hand.
fn cut_off(group: &Group, by_id: &ById) -> String {
    let known: Vec<&&Row> = group.included.iter().filter_map(|id| by_id.get(id)).collect();
    if known.is_empty() {
        return String::new();
    }
    let cut = known.iter().filter(|row| row.text("/status") == "truncated").count();
    format!("{cut} of {}", known.len())
}

fn reading(metric: &str, group: &Group, by_id: &ById) -> String {
    let n = group.included.len();
    let few = match n {
        1 => "one value is no median",
        2 => "two values have no middle",
        _ => "",
    };
    match answered(metric, group, by_id) {
        Some(answered) => answered.words(),
        None if !group.excluded.is_empty() => {
            let of = n + group.excluded.len();
            format!("{} of {of} left out", group.excluded.len())
        }
        None => few.to_string(),
    }
}

/// Of `first_answer_s`, where a request gave none.
fn answered(metric: &str, group: &Group, by_id: &ById) -> Option<Answered> {
    if metric != "first_answer_s" || group.excluded.is_empty() {
        return None;
    }
    let (answered, of) = (group.included.len(), group.included.len() + group.excluded.len());
    Some(Answered { answered, of, median: middle(group, by_id) })
}

/// The value in the middle of an odd number of requests, when every request without an answer
/// went on for longer than that.
fn middle(group: &Group, by_id: &ById) -> Option<String> {
    let of = group.included.len() + group.excluded.len();
    let time = |id: &&str, path: &str| by_id.get(id)?.number(path);
    let mut answers: Vec<(f64, &str)> = group
        .included
        .iter()
        .map(|id| Some((time(id, "/timings/first_answer_s")?, *id)))
        .collect::<Option<_>>()?;
    answers.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (median, id) = *answers.get(of / 2).filter(|_| of % 2 == 1)?;
    let later = |id: &&str| time(id, "/timings/total_s").is_some_and(|total| total >= median);
    let printed = by_id.get(id)?.value.pointer("/timings/first_answer_s")?.to_string();
    group.excluded.iter().all(later).then_some(printed)
}

/// Where no request is at hand, the stage's count is all that is known.
fn truncated(report: &Report) -> Option<String> {
    if !report.rows().is_empty() {
        return None;
    }
    let text = |key: &str| {
        let cell = report.at(format!("/request_counts/performance/{key}"));
        matches!(cell, Cell::Printed { .. }).then(|| cell.text().into_owned())
    };
    let (truncated, planned) = (text("truncated")?, text("planned")?);
    Some(format!(
        "{truncated} of {planned} requests of this stage were cut off at their cap; which of them, \
         this file does not say"
    ))
}
