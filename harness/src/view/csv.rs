//! The figures of a sheet as RFC 4180: one header, one line a row, CRLF. A spreadsheet takes a
//! cell that begins like a formula for one, so such a text gets an apostrophe in front.

use super::inert::inert;
use super::table::{Cell, Sheet};

impl Sheet<'_> {
    /// The table of figures.
    pub fn csv(&self) -> String {
        let Some(table) = self.tables.iter().find(|table| table.name == self.figures) else {
            return String::new();
        };
        let headings = table.columns.iter().map(|column| {
            let measure = column.measure();
            let measure = if measure.is_empty() { measure } else { format!(" ({measure})") };
            field(&format!("{}{measure}", column.name))
        });
        let mut csv = line(headings);
        for (_, cells) in &table.rows {
            csv += &line(cells.iter().map(value));
        }
        csv
    }
}

fn line(fields: impl Iterator<Item = String>) -> String {
    fields.collect::<Vec<_>>().join(",") + "\r\n"
}

/// An unknown is an empty field.
fn value(cell: &Cell) -> String {
    match cell {
        Cell::Unknown { .. } => String::new(),
        number if number.is_number() => number.text().into_owned(),
        words => field(&defused(&words.text())),
    }
}

fn defused(text: &str) -> String {
    let text = inert(text);
    let first = text.trim_start().chars().next();
    // The wide forms are what some spreadsheets fold to the plain ones.
    let formula = first.is_some_and(|first| "=+-@＝＋－＠".contains(first));
    format!("{}{text}", if formula { "'" } else { "" })
}

/// Quoted if it must be; a semicolon too, which is what some spreadsheets split at.
fn field(text: &str) -> String {
    if text.contains(['"', ',', ';', '\r', '\n', '\t', ' ']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Number, Value};

    fn check(value_of: Value, expected: &str) {
        let pointer = String::new();
        let cell =
            Cell::Printed { value: &value_of, pointer, report: "", clock: None, source: None };
        assert_eq!(value(&cell), expected);
    }

    #[test]
    fn fields_are_quoted_and_no_formulas() {
        let text = |text: &str| Value::String(text.to_string());
        check(text("plain"), "plain");
        check(text("a,\"b\""), "\"a,\"\"b\"\"\"");
        check(text("a;=1"), "\"a;=1\"");
        check(text("=1+1"), "'=1+1");
        check(text(" \u{a0}@SUM(1)"), "\"' \u{a0}@SUM(1)\"");
        check(text("-2"), "'-2");
        check(text("\t=1"), "\\t=1");
        check(Value::Number(Number::new("-2").unwrap()), "-2");
        check(Value::Bool(true), "true");
    }
}
