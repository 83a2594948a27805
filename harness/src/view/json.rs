//! A sheet as JSON: numbers keep the report's digits, and no control character stands in it bare.

use super::inert::is_hidden;
use super::table::{Cell, Column, Fact, Piece, Sheet, Table};
use crate::json::{Number, Value};
use std::fmt::Write;

impl Sheet<'_> {
    /// Everything, as one line.
    pub fn json(&self) -> String {
        let facts = |facts: &[Fact]| Value::Array(facts.iter().map(fact).collect());
        let tables = self.tables.iter().map(|t| (t.name.to_string(), table(t))).collect();
        let sheet = object([
            ("title", text(&self.title)),
            ("head", facts(&self.head)),
            ("facts", facts(&self.facts)),
            ("tables", Value::Object(tables)),
        ]);
        ascii_of_hidden(&sheet.to_string()) + "\n"
    }
}

fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Object(entries.map(|(key, value)| (key.to_string(), value)).to_vec())
}

fn text(text: &str) -> Value {
    Value::String(text.to_string())
}

fn fact(fact: &Fact) -> Value {
    let pointers = fact.pieces.iter().filter_map(|piece| match piece {
        Piece::Cell(Cell::Printed { pointer, .. } | Cell::Unknown { pointer, .. }) => {
            Some(text(pointer))
        }
        _ => None,
    });
    object([
        ("label", text(&fact.label)),
        ("text", text(&fact.text())),
        ("pointers", Value::Array(pointers.collect())),
    ])
}

fn table(table: &Table) -> Value {
    let rows = table.rows.iter().map(|(pointer, cells)| {
        let cells = table.columns.iter().zip(cells);
        let cells = cells.map(|(column, cell)| (column.name.to_string(), value(cell)));
        object([("pointer", text(pointer)), ("cells", Value::Object(cells.collect()))])
    });
    object([
        ("columns", Value::Array(table.columns.iter().map(column).collect())),
        ("rows", Value::Array(rows.collect())),
        ("notes", Value::Array(table.notes.iter().map(|note| text(note)).collect())),
    ])
}

fn column(column: &Column) -> Value {
    object([
        ("name", text(column.name)),
        ("unit", text(column.unit)),
        ("clock", column.clock.map_or(Value::Null, |clock| text(clock.as_str()))),
        ("path", text(column.path)),
    ])
}

fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Printed { value, .. } => (*value).clone(),
        Cell::Unknown { .. } => Value::Null,
        Cell::Made(words) => text(words),
        Cell::Derived(number) => Number::new(number).map_or_else(|| text(number), Value::Number),
    }
}

/// JSON may hold such characters within strings only, where an escape says the same.
fn ascii_of_hidden(json: &str) -> String {
    let mut plain = String::with_capacity(json.len());
    for character in json.chars() {
        if is_hidden(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(plain, "\\u{unit:04x}").expect("writing to a string cannot fail");
            }
        } else {
            plain.push(character);
        }
    }
    plain
}
