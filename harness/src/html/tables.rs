//! Cells, facts and tables. A figure carries its pointer, clock and source in its title; its column
//! says unit, clock and path in words.

use super::escape::escape;
use super::piece;
use crate::view::{Cell, Column, Fact, Table};

/// Decimals that are read at a glance; those after them are dimmed, not cut.
const PLAIN_DECIMALS: usize = 3;

/// A value as text.
pub(super) fn cell(cell: &Cell) -> String {
    aligned(cell, 0)
}

/// A figure among others, at their decimal point; the longest of them has `most` decimals.
pub(super) fn padded(cell: &Cell, most: usize) -> String {
    aligned(cell, if cell.is_number() { most - decimals(cell) } else { 0 })
}

/// A value in a column whose figures have `padding` more decimals than it.
fn aligned(cell: &Cell, padding: usize) -> String {
    let text = cell.text();
    match cell {
        Cell::Printed { pointer, report, clock, source, .. } => {
            let mut title = place(report, pointer);
            if let Some(clock) = clock {
                title += &format!(" · {} clock", clock.as_str());
            }
            if let Some(source) = source {
                title += &format!(" · {source}");
            }
            let (title, at) = (escape(&title), escape(&place(report, pointer)));
            if cell.is_number() {
                let pad = pad(padding);
                format!(
                    "<data value=\"{text}\" data-at=\"{at}\" title=\"{title}\"{pad}>{}</data>",
                    digits(&text)
                )
            } else {
                format!("<span data-at=\"{at}\" title=\"{title}\">{}</span>", escape(&text))
            }
        }
        Cell::Unknown { pointer, report, reason } => {
            let reason = reason.unwrap_or("no reason given");
            let title = escape(&format!("{} · {reason}", place(report, pointer)));
            format!("<span class=unknown title=\"{title}\">–</span>")
        }
        Cell::Derived(number) => {
            let pad = pad(padding);
            format!("<span class=made title=\"derived here\"{pad}>{}</span>", digits(number))
        }
        Cell::Made(words) => escape(words),
    }
}

fn place(report: &str, pointer: &str) -> String {
    if report.is_empty() { pointer.to_string() } else { format!("{report} {pointer}") }
}

fn pad(padding: usize) -> String {
    if padding == 0 { String::new() } else { format!(" style=\"--pad:{padding}\"") }
}

/// A number whose finer decimals stand back.
fn digits(number: &str) -> String {
    let cut = number.find('.').map(|point| point + 1 + PLAIN_DECIMALS);
    match cut.filter(|cut| *cut < number.len() && number.is_ascii()) {
        Some(cut) => format!("{}<i>{}</i>", escape(&number[..cut]), escape(&number[cut..])),
        None => escape(number),
    }
}

/// Labelled lines.
pub(super) fn facts(facts: &[Fact]) -> String {
    let fact = |fact: &Fact| {
        let value: String = fact.pieces.iter().map(|part| reasoned(part)).collect();
        format!("<dt>{}</dt><dd>{value}</dd>\n", escape(&fact.label))
    };
    format!("<dl class=facts>\n{}</dl>", facts.iter().map(fact).collect::<String>())
}

/// A piece; an unknown with its reason, for which a line has room.
fn reasoned(part: &crate::view::Piece) -> String {
    match part {
        crate::view::Piece::Cell(Cell::Unknown { pointer, report, reason }) => {
            let at = escape(&place(report, pointer));
            let reason = escape(reason.unwrap_or("no reason given"));
            format!("<span class=unknown title=\"{at}\">unknown: {reason}</span>")
        }
        other => piece(other),
    }
}

/// A table of figures, wider than a phone.
pub(super) fn figures(table: &Table) -> String {
    render(table, "figures")
}

/// A table of words, which wraps.
pub(super) fn words(table: &Table) -> String {
    render(table, "words")
}

fn render(table: &Table, class: &str) -> String {
    if table.rows.is_empty() {
        return "<p>None.</p>".to_string();
    }
    let numeric: Vec<bool> = (0..table.columns.len()).map(|at| table.is_numeric(at)).collect();
    let most: Vec<usize> = (0..table.columns.len())
        .map(|at| table.rows.iter().map(|(_, cells)| decimals(&cells[at])).max().unwrap_or(0))
        .collect();
    let heading = |(column, numeric): (&Column, &bool)| {
        let part = |class: &str, text: &str| match text {
            "" => String::new(),
            text => format!("<small class={class}>{text}</small>"),
        };
        let class = if *numeric { " class=n" } else { "" };
        let (measure, path) = (part("measure", &column.measure()), part("path", column.path));
        format!("<th scope=col{class}>{}{measure}{path}</th>", column.name)
    };
    let headings: String = table.columns.iter().zip(&numeric).map(heading).collect();
    let row = |(pointer, cells): &(String, Vec<Cell>)| {
        let mut row = String::new();
        for (at, value) in cells.iter().enumerate() {
            let padding =
                if numeric[at] && value.is_number() { most[at] - decimals(value) } else { 0 };
            let text = aligned(value, padding);
            let class = if numeric[at] { " class=n" } else { "" };
            row += &if at == 0 {
                let small = if pointer.is_empty() {
                    String::new()
                } else {
                    format!(" <small class=path>{}</small>", escape(pointer))
                };
                format!("<th scope=row{class}>{text}{small}</th>")
            } else {
                format!("<td{class}>{text}</td>")
            };
        }
        // Of the tables that show a row, the one that is about it is where links lead.
        let own = pointer.starts_with(&format!("/{}/", table.name));
        let id = if own { format!(" id=\"{}\"", escape(pointer)) } else { String::new() };
        format!("<tr{id}>{row}</tr>\n")
    };
    let rows: String = table.rows.iter().map(row).collect();
    let note = |note: &String| format!("<p class=note>{}</p>\n", escape(note));
    let notes: String = table.notes.iter().map(note).collect();
    format!(
        "<div class=scroll tabindex=0 role=region aria-label=\"{}\"><table class={class}>\n\
         <thead><tr>{headings}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n{notes}",
        table.title
    )
}

/// Places after the point, the point counted as one.
pub(super) fn decimals(cell: &Cell) -> usize {
    match cell.is_number() {
        true => cell.text().split_once('.').map_or(0, |(_, decimals)| decimals.len() + 1),
        false => 0,
    }
}
