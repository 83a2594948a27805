//! A report's fields by pointer, whatever they turn out to be. Of a wrapper the run has another
//! name; everything else is where it always is, or is not there.

use super::table::{Cell, NO_REASON};
use crate::json::Value;
use std::collections::HashMap;

/// Most requests or summaries that are shown.
pub(super) const MAX_ROWS: usize = 10_000;

/// A report, its own or in a wrapper.
#[derive(Debug)]
pub struct Report<'a> {
    /// Which of two, as in `A`; empty for the only one.
    pub name: &'static str,
    pub(super) root: &'a Value,
    run: &'static str,
    reasons: HashMap<&'a str, &'a str>,
    rows: Vec<Row<'a>>,
}

/// An entry of a list: a request or a summary.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    /// Where it stands.
    pub pointer: String,
    /// What stands there.
    pub value: &'a Value,
}

impl<'a> Row<'a> {
    /// The text at a pointer from here; empty where there is none.
    pub fn text(&self, pointer: &str) -> &'a str {
        self.value.pointer(pointer).and_then(Value::as_str).unwrap_or("")
    }

    /// The number at a pointer from here, if it is one a double can hold.
    pub fn number(&self, pointer: &str) -> Option<f64> {
        let number = self.value.pointer(pointer)?.as_number()?.as_f64();
        number.is_finite().then_some(number)
    }

    /// A request's name.
    pub fn id(&self) -> &'a str {
        self.text("/id")
    }
}

impl<'a> Report<'a> {
    /// A report as it was read. `name` tells two apart.
    pub fn new(name: &'static str, root: &'a Value) -> Report<'a> {
        let wrapped = root.get("run").is_none() && root.get("selected_run").is_some();
        let missing = root.get("missing").map(Value::entries).unwrap_or_default();
        let mut report = Report {
            name,
            root,
            run: if wrapped { "/selected_run" } else { "/run" },
            reasons: missing.iter().filter_map(|(k, v)| Some((k.as_str(), v.as_str()?))).collect(),
            rows: Vec::new(),
        };
        report.rows = report.list("requests");
        report
    }

    /// The pointer of a field of the run.
    pub fn run(&self, field: &str) -> String {
        format!("{}{field}", self.run)
    }

    /// The run's name, or that it has none.
    pub fn run_id(&self) -> String {
        let id = self.root.pointer(&self.run("/id")).and_then(Value::as_str);
        id.unwrap_or("a report without a run id").to_string()
    }

    /// The requests; a wrapper has none.
    pub fn rows(&self) -> &[Row<'a>] {
        &self.rows
    }

    /// The summaries.
    pub fn summaries(&self) -> Vec<Row<'a>> {
        self.list("summaries")
    }

    fn list(&self, key: &str) -> Vec<Row<'a>> {
        let items = self.root.get(key).map(Value::items).unwrap_or_default();
        let row = |(i, value)| Row { pointer: format!("/{key}/{i}"), value };
        items.iter().take(MAX_ROWS).enumerate().map(row).collect()
    }

    /// The note beside a list of which not everything is shown.
    pub(super) fn left_out(&self, key: &str) -> Option<String> {
        let length = self.root.get(key).map_or(0, |list| list.items().len());
        let more = length.checked_sub(MAX_ROWS).filter(|more| *more > 0)?;
        Some(format!("{more} more are not shown"))
    }

    /// The value at a pointer.
    pub fn value(&self, pointer: &str) -> Option<&'a Value> {
        self.root.pointer(pointer)
    }

    /// The value at a pointer, or why there is none.
    pub fn at(&self, pointer: impl Into<String>) -> Cell<'a> {
        let pointer = pointer.into();
        let value = self.root.pointer(&pointer);
        self.cell(value, pointer)
    }

    /// The value at a pointer from a row.
    pub fn of(&self, row: &Row<'a>, path: &str) -> Cell<'a> {
        self.cell(row.value.pointer(path), format!("{}{path}", row.pointer))
    }

    pub(super) fn cell(&self, value: Option<&'a Value>, pointer: String) -> Cell<'a> {
        let report = self.name;
        match value {
            None => Cell::Unknown { pointer, report, reason: Some("not in the report") },
            Some(Value::Null) => {
                let reason = self.reason(&pointer);
                Cell::Unknown { pointer, report, reason }
            }
            Some(value) => Cell::Printed { value, pointer, report, clock: None, source: None },
        }
    }

    /// What the report says about the null at a pointer.
    pub fn reason(&self, pointer: &str) -> Option<&'a str> {
        self.reasons.get(pointer).copied()
    }

    /// The same in words.
    pub fn why(&self, pointer: &str) -> &'a str {
        self.reason(pointer).unwrap_or(NO_REASON)
    }
}
