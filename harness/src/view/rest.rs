//! The smaller tables: counts, quality, what is unknown and why, what a review found.

use super::report::{Report, Row};
use super::table::{Cell, Column, NO_REASON, Table};
use crate::check::Outcome;
use crate::json::escape;
use std::collections::HashMap;
use std::fmt::Write;

const COUNTS: [Column; 7] = [
    Column::plain("stage", ""),
    Column::plain("planned", "/planned"),
    Column::plain("attempted", "/attempted"),
    Column::plain("completed", "/completed"),
    Column::plain("truncated", "/truncated"),
    Column::plain("failed", "/failed"),
    Column::plain("skipped", "/skipped"),
];

pub(super) fn counts<'a>(report: &Report<'a>) -> Table<'a> {
    let rows = by_key(report, "request_counts", "", &COUNTS);
    Table { name: "counts", title: "Counts", columns: COUNTS.to_vec(), rows, notes: Vec::new() }
}

const QUALITY: [Column; 3] = [
    Column::plain("category", ""),
    Column::plain("passed", "/passed"),
    Column::plain("total", "/total"),
];

pub(super) fn quality<'a>(report: &Report<'a>) -> Table<'a> {
    let mut rows = by_key(report, "quality", "/categories", &QUALITY);
    if report.root.get("quality").is_some() {
        let all = [Cell::made("all"), report.at("/quality/passed"), report.at("/quality/total")];
        rows.push(("/quality".to_string(), all.to_vec()));
    }
    Table { name: "quality", title: "Quality", columns: QUALITY.to_vec(), rows, notes: Vec::new() }
}

const EVALUATIONS: [Column; 4] = [
    Column::plain("request", "/id"),
    Column::plain("category", "/evaluation/category"),
    Column::plain("passed", "/evaluation/passed"),
    Column::plain("reason", "/evaluation/reason"),
];

/// The requests whose answers were judged.
pub(super) fn evaluations<'a>(report: &Report<'a>) -> Table<'a> {
    let judged = |row: &&Row| row.value.get("evaluation").is_some_and(|value| !value.is_null());
    let cells = |row: &Row<'a>| {
        let cells = EVALUATIONS.iter().map(|column| report.of(row, column.path));
        (row.pointer.clone(), cells.collect())
    };
    let rows = report.rows().iter().filter(judged).map(cells).collect();
    let columns = EVALUATIONS.to_vec();
    Table { name: "evaluations", title: "Answers judged", columns, rows, notes: Vec::new() }
}

type Rows<'a> = Vec<(String, Vec<Cell<'a>>)>;

/// A row for every key of an object, whose value holds the figures of `columns` but the first.
fn by_key<'a>(report: &Report<'a>, block: &str, below: &str, columns: &[Column]) -> Rows<'a> {
    let object = report.root.get(block).and_then(|block| block.pointer(below));
    let entries = object.map(|object| object.entries()).unwrap_or_default();
    let row = |(key, value): &'a (String, crate::json::Value)| {
        let pointer = format!("/{block}{below}/{}", escape(key));
        let figures = columns[1..].iter().map(|column| {
            report.cell(value.pointer(column.path), format!("{pointer}{}", column.path))
        });
        let cells = std::iter::once(Cell::made(key)).chain(figures).collect();
        (pointer, cells)
    };
    entries.iter().take(MAX_KEYS).map(row).collect()
}

/// Most keys of a stranger's object that are shown.
const MAX_KEYS: usize = 100;

const UNKNOWN: [Column; 3] =
    [Column::plain("pointer", ""), Column::plain("places", ""), Column::plain("reason", "")];

/// Every null outside `missing`; those of a list that have one reason are one row.
pub(super) fn unknown<'a>(report: &Report<'a>) -> Table<'a> {
    let mut groups: Vec<(String, &str, usize)> = Vec::new();
    let mut known: HashMap<(String, &str), usize> = HashMap::new();
    let mut more = 0;
    let mut pointer = String::new();
    report.root.walk(&mut |place, value| {
        if !value.is_null() {
            return;
        }
        pointer.clear();
        write!(pointer, "{place}").expect("writing to a string cannot fail");
        if pointer.starts_with("/missing/") {
            return;
        }
        let key = (pattern(&pointer), report.why(&pointer));
        match known.get(&key) {
            Some(at) => groups[*at].2 += 1,
            None if groups.len() == MAX_GROUPS => more += 1,
            None => {
                groups.push((key.0.clone(), key.1, 1));
                known.insert(key, groups.len() - 1);
            }
        }
    });
    let unexplained: usize = groups.iter().filter(|g| g.1 == NO_REASON).map(|g| g.2).sum();
    let row = |(pattern, reason, places): (String, &str, usize)| {
        let cells =
            vec![Cell::made(pattern), Cell::Derived(places.to_string()), Cell::made(reason)];
        (String::new(), cells)
    };
    let rows = groups.into_iter().map(row).collect();
    let notes = [
        (more > 0).then(|| format!("{more} more are not shown")),
        (unexplained > 0).then(|| format!("{unexplained} unknown values have no reason")),
    ];
    let notes = notes.into_iter().flatten().collect();
    Table { name: "unknown", title: "What is unknown", columns: UNKNOWN.to_vec(), rows, notes }
}

/// The pointer with `*` for every index.
fn pattern(pointer: &str) -> String {
    let is_index = |step: &&str| !step.is_empty() && step.bytes().all(|b| b.is_ascii_digit());
    let steps = pointer.split('/').map(|step| if is_index(&step) { "*" } else { step });
    steps.collect::<Vec<_>>().join("/")
}

/// Most groups of nulls that are shown.
const MAX_GROUPS: usize = 1_000;

const FINDINGS: [Column; 6] = [
    Column::plain("severity", ""),
    Column::plain("rule", ""),
    Column::plain("pointer", ""),
    Column::plain("expected", ""),
    Column::plain("found", ""),
    Column { detail: true, ..Column::plain("statement", "") },
];

pub(super) fn findings<'a>(outcome: &Outcome) -> Table<'a> {
    let rows = outcome.findings.iter().map(|finding| {
        let place = if finding.pointer.is_empty() { "(document)" } else { &finding.pointer };
        let cells = [
            finding.severity.as_str(),
            &finding.rule.id,
            place,
            &finding.expected,
            &finding.found,
            &finding.rule.statement,
        ];
        (String::new(), cells.map(Cell::made).to_vec())
    });
    let rows = rows.collect();
    let notes = Vec::new();
    Table { name: "findings", title: "What check found", columns: FINDINGS.to_vec(), rows, notes }
}
