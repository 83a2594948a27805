//! What a rule says, what it is for, and what breaks it, for people.

use super::book::{rule, rules};
use super::rule::Rule;
use crate::json::Value;
use std::fmt::Write;

/// How many ids are named beside one that is not known.
const NEAR: usize = 3;

/// Each rule of `ids` in full, or all rules with a line each if there is none. An id may be in
/// lower case. `Err` names the ids that are near one that is not known.
pub fn explain(ids: &[String]) -> Result<String, String> {
    if ids.is_empty() {
        return Ok(rules().iter().map(line).collect());
    }
    let found = ids.iter().map(|id| rule(id).map(whole).ok_or_else(|| unknown(id)));
    Ok(found.collect::<Result<Vec<_>, _>>()?.join("\n"))
}

fn line(rule: &Rule) -> String {
    let Rule { id, severity, statement, .. } = rule;
    format!("{id} {:<7} {statement}\n", severity.as_str())
}

fn whole(rule: &Rule) -> String {
    let Rule { id, kind, severity, statement, reason, counter_example } = rule;
    let (kind, severity) = (kind.as_str(), severity.as_str());
    let mut text = format!("{id}  {severity}, {kind}\n  {statement}\n  why: {reason}\n");
    describe(&mut text, counter_example);
    text
}

/// A counter-example as its case states it: the base, what is changed in it, and what is found.
fn describe(text: &mut String, case: &Value) {
    let string = |key: &str| case.get(key).and_then(Value::as_str);
    let base = string("base").unwrap_or("report.json");
    let mut parts = Vec::new();
    let part = |key: &str, words: fn(&str, &Value) -> String| -> Vec<String> {
        let entries = case.get(key).map(Value::entries).unwrap_or_default();
        entries.iter().map(|(at, value)| words(at, value)).collect()
    };
    parts.extend(part("set", |at, value| format!("{at} = {value}")));
    parts.extend(part("files", |path, text| match text {
        Value::Null => format!("no file {path}"),
        text => format!("a file {path} of {text}"),
    }));
    parts.extend(part("record", |at, value| format!("a record that makes {at} = {value}")));
    parts.extend(string("text").map(|text| format!("these bytes in its place: {text}")));
    let with = if parts.is_empty() { " as it is" } else { " with" };
    // A string takes any text.
    let _ = writeln!(text, "  counter-example: golden/reports/{base}{with}");
    for part in parts {
        let _ = writeln!(text, "    {part}");
    }
    let _ = writeln!(text, "  found there: {}", string("found").unwrap_or("a failure"));
}

fn unknown(id: &str) -> String {
    let number = |id: &str| -> Option<i64> {
        let digits: String = id.chars().filter(char::is_ascii_digit).take(9).collect();
        digits.parse().ok()
    };
    let mut near: Vec<&str> = rules().iter().map(|rule| rule.id.as_str()).collect();
    match number(id) {
        None => near.clear(),
        Some(wanted) => near.sort_by_key(|id| number(id).map(|known| (known - wanted).abs())),
    }
    near.truncate(NEAR);
    near.sort_unstable();
    let near = match near[..] {
        [] => String::new(),
        _ => format!("; near it are {}", near.join(", ")),
    };
    format!("no rule {}{near}; `explain` alone lists all", id.escape_debug())
}
