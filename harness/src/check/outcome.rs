//! What a review comes to: every rule with its state, every failure with its place, as text for
//! people and as JSON for programs. Both are in a fixed order, so that two reviews can be compared.

use super::rule::{Rule, Severity};
use super::verdict::Verdict;
use serde_json::{Value, json};
use std::fmt::Write;

/// What became of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It holds at this many places.
    Passed {
        /// Places looked at.
        places: usize,
    },
    /// It fails somewhere.
    Failed {
        /// Places looked at.
        places: usize,
        /// Places that fail; the first [`super::MAX_FINDINGS`] of them are findings.
        failed: usize,
    },
    /// There is nothing it could look at, and why.
    NotApplicable(&'static str),
}

/// A place where a rule fails.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The rule's severity, or a milder one where the rule says so.
    pub severity: Severity,
    /// JSON pointer into the report.
    pub pointer: String,
    /// What a good report has there.
    pub expected: String,
    /// What this one has.
    pub found: String,
}

/// A whole review.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Every rule in the order of ids.
    pub rules: Vec<(&'static Rule, State)>,
    /// Every failure, by pointer, then by rule.
    pub findings: Vec<Finding>,
    /// What it comes to.
    pub verdict: Verdict,
}

impl Finding {
    /// Place, what belongs there and what is there.
    pub fn words(&self) -> String {
        let Finding { pointer, expected, found, .. } = self;
        let place = if pointer.is_empty() { "(document)" } else { pointer };
        one_line(&format!("{place} expected {expected} found {found}"))
    }
}

impl Outcome {
    /// Whether a finding is at least this severe.
    pub fn fails_on(&self, severity: Severity) -> bool {
        self.findings.iter().any(|finding| finding.severity >= severity)
    }

    /// How many findings have exactly this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    /// One line a finding, then the rules by state, then the verdict.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for finding in &self.findings {
            let (severity, id) = (finding.severity.as_str(), &finding.rule.id);
            text.push_str(&format!("{severity} {id} {}\n", finding.words()));
        }
        self.write_states(&mut text);
        text.push_str(&self.last_line());
        text.push('\n');
        text
    }

    fn write_states(&self, text: &mut String) {
        let mut groups: Vec<(String, Vec<&str>)> =
            vec![("passed".to_string(), Vec::new()), ("failed".to_string(), Vec::new())];
        for (rule, state) in &self.rules {
            let name = match state {
                State::Passed { .. } => "passed".to_string(),
                State::Failed { .. } => "failed".to_string(),
                State::NotApplicable(why) => format!("not applicable ({why})"),
            };
            match groups.iter_mut().find(|(group, _)| *group == name) {
                Some((_, ids)) => ids.push(&rule.id),
                None => groups.push((name, vec![&rule.id])),
            }
        }
        for (name, ids) in groups.iter().filter(|(_, ids)| !ids.is_empty()) {
            let mut line = format!("{name}:");
            for id in ids {
                if line.len() + id.len() >= LINE {
                    text.push_str(&line);
                    text.push('\n');
                    line = " ".to_string();
                }
                write!(line, " {id}").expect("writing to a string cannot fail");
            }
            text.push_str(&line);
            text.push('\n');
        }
    }

    /// The last line of the text.
    fn last_line(&self) -> String {
        let states = |wanted: fn(&State) -> bool| {
            self.rules.iter().filter(|(_, state)| wanted(state)).count()
        };
        let apart = match self.verdict.differs() {
            [] => String::new(),
            parts => one_line(&format!(" ({})", parts.join(", "))),
        };
        format!(
            "{}{apart}: {} errors, {} warnings, {} notes; \
             of {} rules {} passed, {} failed, {} not applicable",
            self.verdict.word(),
            self.count(Severity::Error),
            self.count(Severity::Warning),
            self.count(Severity::Info),
            self.rules.len(),
            states(|state| matches!(state, State::Passed { .. })),
            states(|state| matches!(state, State::Failed { .. })),
            states(|state| matches!(state, State::NotApplicable(_))),
        )
    }

    /// `{verdict, differs, errors, warnings, notes, findings: […], rules: […]}`.
    pub fn json(&self) -> Value {
        let findings: Vec<Value> = self
            .findings
            .iter()
            .map(|finding| {
                json!({
                    "rule": finding.rule.id,
                    "severity": finding.severity.as_str(),
                    "kind": finding.rule.kind.letter(),
                    "pointer": finding.pointer,
                    "expected": finding.expected,
                    "found": finding.found,
                    "message": finding.rule.statement,
                })
            })
            .collect();
        let rules: Vec<Value> =
            self.rules.iter().map(|(rule, state)| state_json(rule, state)).collect();
        json!({
            "verdict": self.verdict.word(),
            "differs": self.verdict.differs(),
            "errors": self.count(Severity::Error),
            "warnings": self.count(Severity::Warning),
            "notes": self.count(Severity::Info),
            "findings": findings,
            "rules": rules,
        })
    }
}

/// Widest line of rule ids.
const LINE: usize = 100;

fn state_json(rule: &Rule, state: &State) -> Value {
    let (state, places, failed, why) = match *state {
        State::Passed { places } => ("passed", places, 0, None),
        State::Failed { places, failed } => ("failed", places, failed, None),
        State::NotApplicable(why) => ("not applicable", 0, 0, Some(why)),
    };
    json!({
        "rule": rule.id,
        "kind": rule.kind.letter(),
        "severity": rule.severity.as_str(),
        "state": state,
        "places": places,
        "failed": failed,
        "why": why,
    })
}

/// Control characters of a stranger's report must not reach a terminal.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}
