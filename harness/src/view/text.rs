//! A sheet for a terminal: aligned columns, figures at their decimal points, nothing that moves a
//! cursor.

use super::inert::{cut, inert};
use super::table::{Cell, Column, Sheet, Table};
use std::fmt::Write;

impl Sheet<'_> {
    /// Everything, as plain text.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", inert(&self.title));
        let facts = self.head.iter().chain(&self.facts);
        let label = facts.clone().map(|fact| fact.label.chars().count()).max().unwrap_or(0);
        for fact in facts {
            let (name, value) = (inert(&fact.label), fact.text());
            let value = inert(&value);
            put(&mut text, format_args!("  {name:label$}  {}\n", cut(&value, MOST_OF_A_FACT)));
        }
        for table in &self.tables {
            put(&mut text, format_args!("\n{}\n", table.title));
            write_table(&mut text, table);
            for note in &table.notes {
                put(&mut text, format_args!("  ({})\n", inert(note)));
            }
        }
        text
    }
}

fn put(text: &mut String, what: std::fmt::Arguments) {
    text.write_fmt(what).expect("writing to a string cannot fail");
}

fn write_table(text: &mut String, table: &Table) {
    if table.rows.is_empty() {
        text.push_str("  none\n");
        return;
    }
    let shown = table.columns.iter().enumerate().filter(|(_, column)| !column.detail);
    let columns: Vec<Vec<String>> = shown
        .map(|(index, column)| {
            let cells: Vec<&Cell> = table.rows.iter().map(|(_, cells)| &cells[index]).collect();
            let measured = table.columns.iter().any(|column| !column.measure().is_empty());
            aligned(column, &cells, measured, table.is_numeric(index))
        })
        .collect();
    for line in 0..columns.first().map_or(0, Vec::len) {
        let cells: Vec<&str> = columns.iter().map(|column| column[line].as_str()).collect();
        put(text, format_args!("  {}\n", cells.join("  ").trim_end()));
    }
}

/// A column's lines, all of one width: its name, its unit and clock if the table has such, its
/// cells.
fn aligned(column: &Column, cells: &[&Cell], measured: bool, numbers: bool) -> Vec<String> {
    let texts = cells.iter().map(|cell| cut(&inert(&cell.text()), MOST_OF_A_CELL).into_owned());
    let texts: Vec<String> = texts.collect();
    let decimals = |text: &str| text.split_once('.').map_or(0, |(_, d)| d.len() + 1);
    let most = cells.iter().zip(&texts).filter(|(cell, _)| cell.is_number());
    let most = most.map(|(_, text)| decimals(text)).max().unwrap_or(0);
    let padded = cells.iter().zip(texts).map(|(cell, text)| {
        let missing = if numbers && cell.is_number() { most - decimals(&text) } else { 0 };
        text + &" ".repeat(missing)
    });
    let heading = [column.name.to_string()].into_iter();
    let heading = heading.chain(measured.then(|| column.measure()));
    let lines: Vec<String> = heading.chain(padded).collect();
    let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let fill = |line: String| {
        if numbers { format!("{line:>width$}") } else { format!("{line:width$}") }
    };
    lines.into_iter().map(fill).collect()
}

/// Most characters of a table's cell.
const MOST_OF_A_CELL: usize = 100;
/// Most characters of a fact.
const MOST_OF_A_FACT: usize = 1_000;
