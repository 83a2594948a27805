//! The figures of a request: their names, units, clocks and places, and the table of all requests.

use super::report::{Report, Row};
use super::table::{Cell, Clock, Column, Table};
use crate::json::Value;

/// A column of the table of requests, with the key of `sources` that says where it was read.
#[derive(Debug, Clone, Copy)]
struct Figure {
    /// How it is headed.
    column: Column,
    /// In the request's `sources`; empty for words.
    source: &'static str,
}

const fn word(name: &'static str, path: &'static str, detail: bool) -> Figure {
    Figure { column: Column { name, unit: "", clock: None, path, detail }, source: "" }
}

const fn count(
    name: &'static str,
    path: &'static str,
    source: &'static str,
    detail: bool,
) -> Figure {
    Figure { column: Column { name, unit: "tokens", clock: None, path, detail }, source }
}

const fn engine(name: &'static str, unit: &'static str, path: &'static str) -> Figure {
    let clock = Some(Clock::Engine);
    let column = Column { name, unit, clock, path, detail: false };
    Figure { column, source: "engine_timings" }
}

const fn client(name: &'static str, path: &'static str) -> Figure {
    let clock = Some(Clock::Client);
    let column = Column { name, unit: "s", clock, path, detail: false };
    Figure { column, source: "client_timings" }
}

/// In the order of reading.
const FIGURES: [Figure; 17] = [
    word("id", "/id", false),
    word("seed", "/seed", true),
    word("status", "/status", false),
    word("finish_reason", "/finish_reason", false),
    count("input", "/tokens/input_tokens", "input_tokens", false),
    count("cached", "/tokens/cached_tokens", "cached_tokens", false),
    count("read", "/tokens/read_tokens", "read_tokens", true),
    count("output", "/tokens/output_tokens", "output_tokens", false),
    count("decode", "/tokens/decode_tokens", "decode_tokens", true),
    engine("prompt_s", "s", "/timings/prompt_s"),
    engine("decode_s", "s", "/timings/decode_s"),
    engine("prompt_tps", "tokens/s", "/metrics/prompt_tps"),
    engine("decode_tps", "tokens/s", "/metrics/decode_tps"),
    client("ttft_s", "/timings/ttft_s"),
    client("first_answer_s", "/timings/first_answer_s"),
    client("total_s", "/timings/total_s"),
    word("passed", "/evaluation/passed", true),
];

/// A figure that is summarised and compared.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// The format's name.
    pub name: &'static str,
    /// In words.
    pub title: &'static str,
    /// The unit.
    pub unit: &'static str,
    /// Whose clock.
    pub clock: Clock,
    /// From a request.
    pub path: &'static str,
    /// Whether more of it is better.
    pub rate: bool,
    /// Whether it depends on how the answer went on: where it ends, how long it thinks.
    pub by_output: bool,
}

/// In the order of a report.
pub const METRICS: [Metric; 5] = [
    Metric {
        name: "prompt_tps",
        title: "reading the prompt",
        unit: "tokens/s",
        clock: Clock::Engine,
        path: "/metrics/prompt_tps",
        rate: true,
        by_output: false,
    },
    Metric {
        name: "decode_tps",
        title: "writing the answer",
        unit: "tokens/s",
        clock: Clock::Engine,
        path: "/metrics/decode_tps",
        rate: true,
        by_output: true,
    },
    Metric {
        name: "ttft_s",
        title: "first token of any kind",
        unit: "s",
        clock: Clock::Client,
        path: "/timings/ttft_s",
        rate: false,
        by_output: false,
    },
    Metric {
        name: "first_answer_s",
        title: "first token of the answer",
        unit: "s",
        clock: Clock::Client,
        path: "/timings/first_answer_s",
        rate: false,
        by_output: true,
    },
    Metric {
        name: "total_s",
        title: "whole request",
        unit: "s",
        clock: Clock::Client,
        path: "/timings/total_s",
        rate: false,
        by_output: true,
    },
];

/// The metric of this name.
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// A metric of a request, with its clock and source.
pub fn figure<'a>(report: &Report<'a>, row: &Row<'a>, metric: &Metric) -> Cell<'a> {
    let key = match metric.clock {
        Clock::Engine => "engine_timings",
        Clock::Client => "client_timings",
    };
    sourced(report, row, metric.path, key, Some(metric.clock))
}

fn sourced<'a>(
    report: &Report<'a>,
    row: &Row<'a>,
    path: &str,
    key: &str,
    by: Option<Clock>,
) -> Cell<'a> {
    let mut cell = report.of(row, path);
    if let Cell::Printed { source, clock, .. } = &mut cell {
        *source = row.value.get("sources").and_then(|all| all.get(key)?.as_str());
        *clock = by;
    }
    cell
}

pub(super) fn table<'a>(report: &Report<'a>) -> Table<'a> {
    let rows = report.rows().iter().map(|row| {
        let cell = |f: &Figure| sourced(report, row, f.column.path, f.source, f.column.clock);
        (row.pointer.clone(), FIGURES.iter().map(cell).collect())
    });
    let rows: Vec<_> = rows.collect();
    let mut notes: Vec<String> = report.left_out("requests").into_iter().collect();
    if rows.is_empty() {
        notes.push("this file holds no requests, only summaries of them".to_string());
    } else {
        notes.push(
            "ttft is the first token of any kind, reasoning too; first_answer the first that is \
             not reasoning; an engine time and a client time start at different moments and are \
             never subtracted"
                .to_string(),
        );
    }
    let columns = FIGURES.map(|figure| figure.column).to_vec();
    Table { name: "requests", title: "Requests", columns, rows, notes }
}

/// What the requests say about where a figure was read, each text once, in order.
pub fn sources<'a>(report: &Report<'a>, key: &str) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for row in report.rows() {
        let source = row.value.get("sources").and_then(|all| all.get(key)).and_then(Value::as_str);
        if let Some(source) = source.filter(|source| !found.contains(source)) {
            found.push(source);
        }
        if found.len() == MOST_SOURCES {
            break;
        }
    }
    found
}

/// Most different texts about one source that are shown.
const MOST_SOURCES: usize = 4;
