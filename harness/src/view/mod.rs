//! A report as people look at it: the same tables for a terminal, a document, a spreadsheet and a
//! page. Every figure is the report's own text with the pointer, the unit and the clock it has;
//! nothing is rounded, and what is derived is marked as made here. It judges nothing: the verdict
//! is that of `check`.

mod csv;
mod document;
mod facts;
mod inert;
mod json;
mod markdown;
mod report;
mod requests;
mod rest;
mod summaries;
mod table;
mod text;

pub use document::{Document, Drafts, open};
pub use inert::inert;
pub use report::{Report, Row};
pub use requests::{METRICS, Metric, figure, metric, sources};
pub use table::{Cell, Clock, Column, Fact, Line, Piece, Sheet, Table};

use crate::check::{Outcome, Severity};

/// Everything that is shown of a report, with what a review of it came to.
pub fn sheet<'a>(report: &Report<'a>, outcome: &'a Outcome) -> Sheet<'a> {
    let requests = requests::table(report);
    let figures = if report.rows().is_empty() { "summaries" } else { "requests" };
    Sheet {
        title: report.run_id(),
        head: vec![verdict(outcome), facts::status(report)],
        facts: facts::facts(report),
        tables: vec![
            rest::counts(report),
            requests,
            summaries::table(report),
            rest::quality(report),
            rest::evaluations(report),
            rest::findings(outcome),
            rest::unknown(report),
        ],
        figures,
    }
}

/// What the review came to.
pub fn verdict<'a>(outcome: &Outcome) -> Fact<'a> {
    let word = if outcome.fails_on(Severity::Error) { "rejected" } else { "accepted" };
    let count = |severity, one: &str| match outcome.count(severity) {
        1 => format!("1 {one}"),
        n => format!("{n} {one}s"),
    };
    let errors = count(Severity::Error, "error");
    let warnings = count(Severity::Warning, "warning");
    let notes = count(Severity::Info, "note");
    Line::new("check").words(format!("{word}: {errors}, {warnings}, {notes}")).fact()
}

#[cfg(test)]
mod tests;
