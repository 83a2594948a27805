//! Two reports side by side: seed with seed, case with case, metric by metric. A ratio is given
//! only where it means something; where it would mislead it is refused, with the reason. The order
//! of the two changes the sign of every finding and nothing else. It reads no file.

mod keys;
mod pairs;
mod ratio;
mod sheet;

pub use keys::Difference;
pub use pairs::{Group, Pair};
pub use ratio::Ratio;

use crate::check::{Outcome, Severity};
use crate::view::{Document, Drafts, Report};

/// One of the two reports.
#[derive(Debug)]
pub struct Side<'a> {
    /// Its fields.
    pub report: Report<'a>,
    /// What a review came to.
    pub outcome: &'a Outcome,
    /// What was drafted, where it is known.
    pub drafts: &'a Drafts,
}

impl<'a> Side<'a> {
    /// A document under a name of one letter.
    pub fn new(name: &'static str, document: &'a Document) -> Side<'a> {
        let report = Report::new(name, &document.root);
        Side { report, outcome: &document.outcome, drafts: &document.drafts }
    }
}

/// What comparing comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Every ratio is given and none is beyond the threshold on the slow side.
    Comparable,
    /// A ratio is: B is slower.
    Regressed,
    /// No regression, but at least one ratio would mislead.
    Refused,
    /// The two answered different questions, or one of them is no good report.
    Incomparable,
}

/// Two reports compared.
#[derive(Debug)]
pub struct Comparison<'a> {
    /// The first, as in `A`.
    pub a: Side<'a>,
    /// The second, as in `B`.
    pub b: Side<'a>,
    /// In percent; none asked for, none regresses.
    pub threshold: Option<f64>,
    /// Where the two asked different things: what must be equal and is not.
    pub keys: Vec<Difference<'a>>,
    /// Why nothing can be compared.
    pub obstacles: Vec<String>,
    /// Case by case, metric by metric; none where the two are incomparable.
    pub groups: Vec<Group<'a>>,
}

impl<'a> Comparison<'a> {
    /// Compares B with A. `threshold` is how many percent slower is a regression.
    pub fn new(a: Side<'a>, b: Side<'a>, threshold: Option<f64>) -> Comparison<'a> {
        let keys = keys::differing(&a.report, &b.report);
        let mut obstacles = obstacles(&a, &b);
        let mut groups = Vec::new();
        if keys.is_empty() && obstacles.is_empty() {
            groups = pairs::groups(&a, &b);
            if groups.is_empty() {
                obstacles.push("no request of a measured stage is in both".to_string());
            }
        }
        Comparison { a, b, threshold, keys, obstacles, groups }
    }

    /// The verdict on the whole.
    pub fn verdict(&self) -> Verdict {
        let slower = |group: &Group| self.change(group) == Some(Change::Slower);
        if !self.keys.is_empty() || !self.obstacles.is_empty() {
            Verdict::Incomparable
        } else if self.groups.iter().any(slower) {
            Verdict::Regressed
        } else if self.groups.iter().any(|group| group.ratio.is_err()) {
            Verdict::Refused
        } else {
            Verdict::Comparable
        }
    }

    /// How B stands to A in a group, by the threshold; none without one.
    pub fn change(&self, group: &Group) -> Option<Change> {
        // The same factor either way, so that swapping the two swaps slower and faster exactly.
        let limit = (self.threshold? / 100.0).ln_1p();
        let slowness = group.slowness()?;
        Some(if slowness > limit {
            Change::Slower
        } else if slowness < -limit {
            Change::Faster
        } else {
            Change::Within
        })
    }
}

/// Where a ratio stands to the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// B is slower by more than it.
    Slower,
    /// Neither.
    Within,
    /// B is faster by more than it.
    Faster,
}

/// What stands in the way whatever the figures are.
fn obstacles(a: &Side, b: &Side) -> Vec<String> {
    let mut found = Vec::new();
    for side in [a, b] {
        let name = side.report.name;
        if side.outcome.fails_on(Severity::Error) {
            found.push(format!("{name} is rejected; `strata-bench check` says why"));
        }
        if side.report.rows().is_empty() {
            let why = "values without their seeds cannot be paired";
            found.push(format!("{name} holds summaries only: {why}"));
        }
    }
    found
}

#[cfg(test)]
mod tests;
