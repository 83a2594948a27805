//! A small chart for every case and metric with every repetition as a point, its figure beside it:
//! three values are three points, not a bar.

use super::CHARTED;
use super::chart::{Mark, Scale, drawn, lane, mark};
use super::escape::escape;
use super::tables::{decimals, padded};
use crate::view::{Cell, METRICS, Metric, Report, Row, figure};

/// Most points of a chart.
const MOST: usize = 100;

/// One point.
struct Point<'a> {
    name: String,
    cell: Cell<'a>,
    at: Option<f64>,
    mark: Mark,
}

pub(super) fn charts(report: &Report) -> String {
    let cases = cases(report);
    if cases.is_empty() {
        return "<p>No request or summary of a measured stage.</p>".to_string();
    }
    let chart = |(name, charts): &(String, String)| {
        format!("<article><h3>{}</h3>\n{charts}</article>\n", escape(name))
    };
    let all: String = cases.iter().map(chart).collect();
    let legend = if measured(report).is_empty() { SUMMARISED } else { LEGEND };
    format!("<p class=legend>{legend}</p>\n<div class=cases>\n{all}</div>")
}

const LEGEND: &str = "Every scale begins at 0. \
    <span class=key><svg viewBox=\"-7 -7 14 14\"><circle class=full r=4.5 /></svg> ended by \
    itself</span> \
    <span class=key><svg viewBox=\"-7 -7 14 14\"><circle class=ring r=4 /></svg> cut off at the \
    cap</span> \
    <span class=key><svg viewBox=\"-7 -7 14 14\"><path class=ring \
    d=\"M-5,0H4M0,-4L4,0L0,4\"/></svg> no answer by then</span>";

/// Of summaries alone.
const SUMMARISED: &str = "Every scale begins at 0. Of three values the smallest, the median and \
    the largest are all there are; whose they are, and who was cut off, this file does not say.";

/// The requests whose figures count.
fn measured<'r, 'a>(report: &'r Report<'a>) -> Vec<&'r Row<'a>> {
    let measured = |row: &&Row| matches!(row.text("/phase"), "performance" | "concurrency");
    report.rows().iter().filter(measured).collect()
}

/// The cases in order, each with its charts; of a wrapper from its summaries.
fn cases(report: &Report) -> Vec<(String, String)> {
    let rows = measured(report);
    let from_summaries = rows.is_empty();
    let summaries = report.summaries();
    let rows = if from_summaries { summaries.iter().collect() } else { rows };
    let mut cases: Vec<(&str, Vec<&Row>)> = Vec::new();
    for row in rows {
        let name = row.text("/case_id");
        match cases.iter().position(|(known, _)| *known == name) {
            Some(at) => cases[at].1.push(row),
            None if cases.len() < MOST => cases.push((name, vec![row])),
            None => {}
        }
    }
    let charts = |(name, rows): (&str, Vec<&Row>)| {
        let chart = |metric: &Metric| {
            let points = if from_summaries {
                summarised(report, &rows, metric)
            } else {
                repeated(report, &rows, metric)
            };
            one(metric, points)
        };
        let charts: String = CHARTED.iter().map(|at| chart(&METRICS[*at])).collect();
        (name.to_string(), charts)
    };
    cases.into_iter().map(charts).collect()
}

/// A point for each repetition.
fn repeated<'a>(report: &Report<'a>, rows: &[&Row<'a>], metric: &Metric) -> Vec<Point<'a>> {
    let total_s = &METRICS[METRICS.len() - 1];
    let point = |row: &&Row<'a>| {
        let value = figure(report, row, metric);
        let total = figure(report, row, total_s);
        let cut = row.text("/status") == "truncated";
        let unanswered = metric.name == "first_answer_s" && cut && drawn(&value).is_none();
        let (value, mark) = match (unanswered, cut) {
            (true, _) => (total, Mark::Beyond),
            (false, true) => (value, Mark::Ring),
            (false, false) => (value, Mark::Full),
        };
        let name = format!("r{}", report.of(row, "/repetition").text());
        Point { name, at: drawn(&value), cell: value, mark }
    };
    rows.iter().take(MOST).map(point).collect()
}

/// The figures of a summary: of three values they are the three, though not whose.
fn summarised<'a>(report: &Report<'a>, rows: &[&Row<'a>], metric: &Metric) -> Vec<Point<'a>> {
    let Some(row) = rows.iter().find(|row| row.text("/metric") == metric.name) else {
        return Vec::new();
    };
    let point = |name: &str| {
        let cell = report.of(row, &format!("/{name}")).clocked(metric.clock);
        Point { name: name.to_string(), at: drawn(&cell), cell, mark: Mark::Full }
    };
    let names: &[&str] = match row.number("/n") {
        Some(1.0) => &["median"],
        Some(2.0) => &["min", "max"],
        _ => &["min", "median", "max"],
    };
    names.iter().map(|name| point(name)).collect()
}

fn one(metric: &Metric, points: Vec<Point>) -> String {
    let scale = Scale::over(points.iter().filter_map(|point| point.at));
    let most = points.iter().map(|point| decimals(&point.cell)).max().unwrap_or(0);
    let row = |point: &Point| {
        let name = escape(&point.name);
        let (marks, label) = match point.at {
            Some(at) => (mark(point.mark, scale.at(at)), format!("{name} {at}")),
            None => (String::new(), format!("{name} unknown")),
        };
        let beyond = if point.mark == Mark::Beyond { "&gt; " } else { "" };
        format!(
            "<li><span>{name}</span>{}<span class=n>{beyond}{}</span></li>\n",
            lane(&label, &marks),
            padded(&point.cell, most)
        )
    };
    let rows: String = points.iter().map(row).collect();
    let (unit, clock) = (metric.unit, metric.clock.as_str());
    format!(
        "<figure class=points><figcaption><b>{}</b> <small>{}, {unit}, {clock} clock</small>\
         </figcaption>\n<ol>\n{rows}</ol></figure>\n",
        metric.name, metric.title
    )
}
