//! Facts and tables, before anybody says how they look: cells that know where they stand in a
//! report, columns that know their unit and clock. No report's fields, no form of output.

use crate::json::Value;
use std::borrow::Cow;

/// Whose clock a figure comes from. Figures of two clocks are never subtracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The server states it.
    Engine,
    /// The client measured it from dispatch.
    Client,
}

impl Clock {
    /// As headings say it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Clock::Engine => "engine",
            Clock::Client => "client",
        }
    }
}

/// One value of a table or of a fact.
#[derive(Debug, Clone)]
pub enum Cell<'a> {
    /// As a report prints it.
    Printed {
        /// The value.
        value: &'a Value,
        /// Where it stands.
        pointer: String,
        /// Which of two reports, as in `A`; empty for the only one.
        report: &'static str,
        /// For times and rates.
        clock: Option<Clock>,
        /// What the report says about where the figure was read.
        source: Option<&'a str>,
    },
    /// Null in the report, or not there at all.
    Unknown {
        /// Where a value would stand.
        pointer: String,
        /// Which of two reports.
        report: &'static str,
        /// What the report says about why.
        reason: Option<&'a str>,
    },
    /// Said or derived here.
    Made(String),
    /// A figure derived here.
    Derived(String),
}

impl<'a> Cell<'a> {
    /// Words of ours.
    pub fn made(text: impl Into<String>) -> Cell<'a> {
        Cell::Made(text.into())
    }

    /// The same value with the clock it comes from.
    pub fn clocked(self, by: Clock) -> Cell<'a> {
        match self {
            Cell::Printed { value, pointer, report, source, .. } => {
                Cell::Printed { value, pointer, report, clock: Some(by), source }
            }
            other => other,
        }
    }

    /// The text of the value; a dash where there is none.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Cell::Printed { value, .. } => match value.as_str() {
                Some(text) => Cow::Borrowed(text),
                None => Cow::Owned(value.to_string()),
            },
            Cell::Unknown { .. } => Cow::Borrowed("–"),
            Cell::Made(text) | Cell::Derived(text) => Cow::Borrowed(text),
        }
    }

    /// Whether it lines up at the decimal point.
    pub fn is_number(&self) -> bool {
        match self {
            Cell::Printed { value, .. } => value.as_number().is_some(),
            Cell::Derived(_) => true,
            _ => false,
        }
    }
}

/// What stands above a row of values.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// The format's name of the figure where it has one.
    pub name: &'static str,
    /// Empty for words.
    pub unit: &'static str,
    /// For times and rates.
    pub clock: Option<Clock>,
    /// The pointer from the row's place to the value; empty for what is made here.
    pub path: &'static str,
    /// Left out where width is short.
    pub detail: bool,
}

impl Column {
    /// A column of words or counts.
    pub const fn plain(name: &'static str, path: &'static str) -> Column {
        Column { name, unit: "", clock: None, path, detail: false }
    }

    /// Unit and clock, as in `s, client`.
    pub fn measure(&self) -> String {
        match (self.unit, self.clock) {
            ("", None) => String::new(),
            (unit, None) => unit.to_string(),
            (unit, Some(clock)) => format!("{unit}, {}", clock.as_str()),
        }
    }
}

/// Rows of cells.
#[derive(Debug)]
pub struct Table<'a> {
    /// Its key in JSON.
    pub name: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// One a cell of each row.
    pub columns: Vec<Column>,
    /// The place of the row, and its cells.
    pub rows: Vec<(String, Vec<Cell<'a>>)>,
    /// What a reader must know beside it.
    pub notes: Vec<String>,
}

impl Table<'_> {
    /// Whether a column holds figures and nothing else, apart from gaps.
    pub fn is_numeric(&self, column: usize) -> bool {
        let cells = || self.rows.iter().map(|(_, cells)| &cells[column]);
        let gap = |cell: &Cell| match cell {
            Cell::Unknown { .. } => true,
            Cell::Made(text) => text == "–",
            _ => false,
        };
        cells().any(Cell::is_number) && cells().all(|cell| cell.is_number() || gap(cell))
    }
}

/// A part of a fact.
#[derive(Debug, Clone)]
pub enum Piece<'a> {
    /// Ours.
    Words(Cow<'static, str>),
    /// The report's.
    Cell(Cell<'a>),
}

/// A labelled line.
#[derive(Debug, Clone)]
pub struct Fact<'a> {
    /// What it is about.
    pub label: Cow<'a, str>,
    /// In order, without anything between them.
    pub pieces: Vec<Piece<'a>>,
}

/// Makes a fact from left to right.
#[derive(Debug)]
pub struct Line<'a>(Fact<'a>);

impl<'a> Line<'a> {
    /// An empty line.
    pub fn new(label: impl Into<Cow<'a, str>>) -> Line<'a> {
        Line(Fact { label: label.into(), pieces: Vec::new() })
    }

    /// Appends words.
    pub fn words(mut self, words: impl Into<Cow<'static, str>>) -> Line<'a> {
        self.0.pieces.push(Piece::Words(words.into()));
        self
    }

    /// Appends a value.
    pub fn cell(mut self, cell: Cell<'a>) -> Line<'a> {
        self.0.pieces.push(Piece::Cell(cell));
        self
    }

    /// Appends ready pieces.
    pub fn pieces(mut self, pieces: Vec<Piece<'a>>) -> Line<'a> {
        self.0.pieces.extend(pieces);
        self
    }

    /// The line.
    pub fn fact(self) -> Fact<'a> {
        self.0
    }
}

impl Fact<'_> {
    /// The whole line without its label; an unknown says why.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Words(words) => text.push_str(words),
                Piece::Cell(Cell::Unknown { reason, .. }) => {
                    text.push_str("unknown (");
                    text.push_str(reason.unwrap_or(NO_REASON));
                    text.push(')');
                }
                Piece::Cell(cell) => text.push_str(&cell.text()),
            }
        }
        text
    }
}

/// What is said of a null that its report does not explain.
pub(super) const NO_REASON: &str = "no reason given";

/// All that is shown of a report or of a comparison.
#[derive(Debug)]
pub struct Sheet<'a> {
    /// What it is about.
    pub title: String,
    /// The verdict and its reasons.
    pub head: Vec<Fact<'a>>,
    /// What was measured, where, by what.
    pub facts: Vec<Fact<'a>>,
    /// In the order of reading.
    pub tables: Vec<Table<'a>>,
    /// The name of the table that holds the figures: what a spreadsheet gets.
    pub figures: &'static str,
}
