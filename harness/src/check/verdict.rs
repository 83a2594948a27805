//! What a review comes to in a word: whether the report may be compared with others of the protocol
//! it claims, and if not, in which part of the key of comparability it stands apart. The key is the
//! protocol's id, corpus and template, sampling and caps, and that the run conforms; no commit.

use super::outcome::State;
use super::report::Report;
use super::rule::{Rule, Severity};

/// Parts of the key, each with the rule that states it.
const KEY: [(&str, &str); 4] =
    [("protocol and corpus", "R300"), ("template", "R302"), ("sampling", "R301"), ("caps", "R073")];

/// What a report is good for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It holds, and other reports of its protocol are like it.
    Comparable,
    /// It holds, but by these parts of the key it stands alone.
    Apart(Vec<String>),
    /// It has errors.
    Invalid,
}

impl Verdict {
    pub(super) fn new(report: &Report, rules: &[(&Rule, State)], worst: Severity) -> Verdict {
        if worst == Severity::Error {
            return Verdict::Invalid;
        }
        let failed = |id: &str| {
            rules.iter().any(|(rule, state)| rule.id == id && matches!(state, State::Failed { .. }))
        };
        let differs = KEY.iter().filter(|(_, id)| failed(id)).map(|(part, _)| part.to_string());
        let mut parts: Vec<String> = differs.collect();
        let reasons: Vec<&str> = report.status_reasons().collect();
        match report.text("/run/status") {
            Some("complete") => {}
            status if reasons.is_empty() => parts.push(status.unwrap_or("no status").to_string()),
            Some(status) => parts.push(format!("{status}: {}", reasons.join("; "))),
            None => parts.push(format!("no status: {}", reasons.join("; "))),
        }
        if parts.is_empty() { Verdict::Comparable } else { Verdict::Apart(parts) }
    }

    /// As reports of a review spell it.
    pub const fn word(&self) -> &'static str {
        match self {
            Verdict::Comparable => "comparable",
            Verdict::Apart(_) => "valid but not comparable",
            Verdict::Invalid => "invalid",
        }
    }

    /// The parts of the key by which it stands apart.
    pub fn differs(&self) -> &[String] {
        if let Verdict::Apart(parts) = self { parts } else { &[] }
    }
}
