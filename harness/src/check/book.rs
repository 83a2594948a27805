//! The rule book, `spec/rules.json`: what each rule says, what it is for and what breaks it. Words
//! only; the functions are listed in `rules`, and a test ties both.

use super::rule::{Kind, Rule, Severity};
use crate::json::{self, Value};
use std::sync::LazyLock;

/// All rules in the order of their ids.
pub fn rules() -> &'static [Rule] {
    &RULES
}

/// The rule of this id, in capitals or not.
pub fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id.eq_ignore_ascii_case(id))
}

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let book = json::parse(include_bytes!("../../../spec/rules.json")).expect("a test reads it");
    book.items().iter().map(|entry| read(entry).expect("a test reads each")).collect()
});

fn read(entry: &Value) -> Option<Rule> {
    let text = |key: &str| Some(entry.get(key)?.as_str()?.to_string());
    let (kind, severity) = (text("kind")?, text("severity")?);
    Some(Rule {
        id: text("id")?,
        kind: Kind::ALL.into_iter().find(|known| known.as_str() == kind)?,
        severity: Severity::ALL.into_iter().find(|known| known.as_str() == severity)?,
        statement: text("statement")?,
        reason: text("reason")?,
        counter_example: entry.get("counter_example")?.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ids in order, one sentence each, and no field that nobody reads.
    #[test]
    fn every_entry_is_whole() {
        let book = json::parse(include_bytes!("../../../spec/rules.json")).unwrap();
        let fields = ["id", "kind", "severity", "statement", "reason", "counter_example"];
        for entry in book.items() {
            let rule = read(entry).unwrap_or_else(|| panic!("{entry}"));
            assert!(entry.entries().iter().map(|(key, _)| key).eq(fields), "{entry}");
            for sentence in [&rule.statement, &rule.reason] {
                assert!(!sentence.is_empty() && !sentence.ends_with('.'), "{}", rule.id);
                assert!(!sentence.contains(". "), "{}: more than one sentence", rule.id);
            }
        }
        assert!(rules().is_sorted_by(|a, b| a.id < b.id));
    }
}
