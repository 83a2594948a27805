//! A rule: what its words are made of, and the log in which its function writes what it saw. It
//! knows no particular rule.

use crate::json::Value;
use std::fmt::Display;

/// What a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Fields, types, order, number of digits.
    Schema,
    /// Figures that follow from other figures.
    Accounting,
    /// Figures bound by clocks.
    Timing,
    /// What a summary may be read to say.
    Statistics,
    /// Where figures and words come from.
    Provenance,
    /// The status of the run and its reasons.
    Status,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 6] = [
        Kind::Schema,
        Kind::Accounting,
        Kind::Timing,
        Kind::Statistics,
        Kind::Provenance,
        Kind::Status,
    ];

    /// The letter of the rule tables.
    pub const fn letter(self) -> &'static str {
        match self {
            Kind::Schema => "S",
            Kind::Accounting => "A",
            Kind::Timing => "T",
            Kind::Statistics => "X",
            Kind::Provenance => "P",
            Kind::Status => "Q",
        }
    }

    /// As the rule book spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Schema => "schema",
            Kind::Accounting => "accounting",
            Kind::Timing => "timing",
            Kind::Statistics => "statistics",
            Kind::Provenance => "provenance",
            Kind::Status => "status",
        }
    }
}

/// What a failed rule means for the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Accepted, but a reader must be told.
    Warning,
    /// The report is rejected.
    Error,
}

impl Severity {
    /// All of them.
    pub const ALL: [Severity; 3] = [Severity::Info, Severity::Warning, Severity::Error];

    /// As findings and the rule book spell it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// One rule in words: an entry of the rule book.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// As in `R095`. An id is never used for another rule.
    pub id: String,
    /// What it is about.
    pub kind: Kind,
    /// What it means when it fails.
    pub severity: Severity,
    /// What holds in a good report, in one sentence.
    pub statement: String,
    /// Why there is such a rule, in one sentence.
    pub reason: String,
    /// What breaks it, as a case of `conformance/` whose `expect` is a finding in words.
    pub counter_example: Value,
}

/// Most failures of one rule that are written out; the others are counted.
pub const MAX_FINDINGS: usize = 100;

/// What a rule looked at, and what failed it.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Places the rule applied to.
    pub(super) places: usize,
    /// Those that failed.
    pub(super) failed: usize,
    /// The first [`MAX_FINDINGS`] of the failed.
    pub(super) breaches: Vec<Breach>,
    /// Why there was no place, if the rule says so itself.
    pub(super) idle: Option<&'static str>,
}

/// A place that fails a rule.
#[derive(Debug)]
pub(super) struct Breach {
    /// Where the rule's own severity is too hard.
    pub(super) milder: Option<Severity>,
    pub(super) pointer: String,
    pub(super) expected: String,
    pub(super) found: String,
}

/// A failure at `pointer`, in words that name both values.
pub(super) fn breach(
    pointer: impl Into<String>,
    expected: impl Display,
    found: impl Display,
) -> Breach {
    Breach {
        milder: None,
        pointer: cut(pointer.into()),
        expected: cut(expected.to_string()),
        found: cut(found.to_string()),
    }
}

/// A stranger's keys and texts may be as long as the report.
fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MAX_WORDS) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Most characters of a place or a value in a finding.
const MAX_WORDS: usize = 400;

impl Log {
    /// One place: whether the rule holds there, and how it fails if it does not.
    pub(super) fn judge(&mut self, holds: bool, failure: impl FnOnce() -> Breach) {
        self.places += 1;
        if holds {
            return;
        }
        self.failed += 1;
        if self.breaches.len() < MAX_FINDINGS {
            self.breaches.push(failure());
        }
    }

    /// As [`Log::judge`], but only a warning where the report says so itself.
    pub(super) fn judge_unless(
        &mut self,
        admitted: bool,
        holds: bool,
        failure: impl FnOnce() -> Breach,
    ) {
        match admitted {
            true => self.judge_mildly(holds, failure),
            false => self.judge(holds, failure),
        }
    }

    /// As [`Log::judge`], for the part of an error's rule that is only worth a warning.
    pub(super) fn judge_mildly(&mut self, holds: bool, failure: impl FnOnce() -> Breach) {
        self.judge(holds, || Breach { milder: Some(Severity::Warning), ..failure() });
    }

    /// Says why the rule has nothing to look at here.
    pub(super) fn idle(&mut self, why: &'static str) {
        self.idle = Some(why);
    }
}
