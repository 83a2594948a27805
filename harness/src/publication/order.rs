//! What an operator orders of a publication beside the runs: why runs are left out, what was
//! declared wrongly, facts of the operator's own. It lies in the archive, in one form.

use super::{object, text};
use crate::json::Value;

/// The file in the archive.
pub const ORDER: &str = "order.json";
/// Blocks in which an operator can have declared something wrongly. What was measured is measured
/// again, not corrected.
pub const CORRECTABLE: [&str; 4] = ["hardware", "software", "model", "configuration"];

/// An order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Order {
    /// For each excluded run, in order.
    pub reasons: Vec<String>,
    /// In the order they were made; the reports stay as they are.
    pub corrections: Vec<Correction>,
    /// An object of subjects, each an object with its `sources`.
    pub operator: Option<Value>,
}

/// What a report should have said somewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct Correction {
    /// The run whose report is meant.
    pub run_id: String,
    /// The wrong field.
    pub pointer: String,
    /// What belongs there.
    pub new: Value,
    /// The file that shows it, in the archive.
    pub evidence_path: String,
}

/// Whether a value is a text, a number or a truth value.
pub(super) fn is_plain(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_))
}

impl Order {
    /// As it is archived.
    pub fn print(&self) -> String {
        let reasons = self.reasons.iter().map(|reason| text(reason)).collect();
        let corrections = self.corrections.iter().map(Correction::value).collect();
        let order = object(vec![
            ("reasons", Value::Array(reasons)),
            ("corrections", Value::Array(corrections)),
            ("operator", self.operator.clone().unwrap_or(Value::Null)),
        ]);
        order.canonical()
    }

    /// An order that was archived.
    pub(super) fn parse(root: &Value) -> Result<Order, String> {
        let list = |key: &str| root.get(key).map(Value::items).unwrap_or_default();
        let reason = |(index, reason): (usize, &Value)| {
            let text = reason.as_str().filter(|text| !text.trim().is_empty());
            text.map(str::to_string).ok_or(format!("{ORDER}: /reasons/{index}: no reason in words"))
        };
        let operator = root.get("operator").filter(|facts| !facts.is_null());
        operator.map_or(Ok(()), |facts| sourced(facts).map_err(|why| format!("{ORDER}: {why}")))?;
        let correction = |correction| Correction::parse(correction, "evidence_path");
        Ok(Order {
            reasons: list("reasons").iter().enumerate().map(reason).collect::<Result<_, _>>()?,
            corrections: list("corrections").iter().map(correction).collect::<Result<_, _>>()?,
            operator: operator.cloned(),
        })
    }
}

impl Correction {
    fn value(&self) -> Value {
        object(vec![
            ("run_id", text(&self.run_id)),
            ("pointer", text(&self.pointer)),
            ("new", self.new.clone()),
            ("evidence_path", text(&self.evidence_path)),
        ])
    }

    /// A correction whose evidence is under this key.
    pub fn parse(value: &Value, evidence: &str) -> Result<Correction, String> {
        let text = |key: &str| {
            let text = value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
            text.map(str::to_string).ok_or(format!("correction {value}: `{key}` is no text"))
        };
        let (pointer, new) = (text("pointer")?, value.get("new").filter(|new| is_plain(new)));
        let block = pointer.split('/').nth(1).unwrap_or("");
        if !CORRECTABLE.contains(&block) {
            let blocks = CORRECTABLE.join(", ");
            return Err(format!(
                "correction {value}: {pointer} is in none of {blocks}; what was measured is \
                 measured again, not corrected"
            ));
        }
        let new = new.ok_or(format!(
            "correction {value}: `new` is no text, number or truth value; give what belongs there"
        ))?;
        Ok(Correction {
            run_id: text("run_id")?,
            pointer,
            new: new.clone(),
            evidence_path: text(evidence)?,
        })
    }
}

/// Whether every subject of the operator's facts says where they are from.
pub fn sourced(facts: &Value) -> Result<(), String> {
    if facts.entries().is_empty() {
        return Err("the operator's facts are no object with subjects".to_string());
    }
    for (subject, facts) in facts.entries() {
        let sources = facts.get("sources").map(Value::items).unwrap_or_default();
        let named = |source: &Value| source.as_str().is_some_and(|text| !text.trim().is_empty());
        if sources.is_empty() || !sources.iter().all(named) {
            return Err(format!(
                "the operator's facts on `{subject}` have no `sources`; list where they are from"
            ));
        }
    }
    Ok(())
}
