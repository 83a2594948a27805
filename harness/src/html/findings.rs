//! What a review found: rule by rule, the gravest first, each with its statement and its places.

use super::escape::escape;
use crate::check::{Finding, Outcome, Severity};

pub(super) fn list(outcome: &Outcome) -> String {
    let mut rules: Vec<(&str, Severity, Vec<&Finding>)> = Vec::new();
    for finding in &outcome.findings {
        let key = (finding.rule.id.as_str(), finding.severity);
        match rules.iter_mut().find(|(id, severity, _)| (*id, *severity) == key) {
            Some((.., places)) => places.push(finding),
            None => rules.push((key.0, key.1, vec![finding])),
        }
    }
    if rules.is_empty() {
        return "<p>Nothing.</p>".to_string();
    }
    rules.sort_by_key(|(id, severity, _)| (std::cmp::Reverse(*severity), *id));
    let rule = |(id, severity, places): &(&str, Severity, Vec<&Finding>)| {
        let (word, mark) = match severity {
            Severity::Error => ("error", "✕"),
            Severity::Warning => ("warning", "!"),
            Severity::Info => ("note", "i"),
        };
        let places: String = places.iter().map(|finding| place(finding)).collect();
        let statement = outcome.rules.iter().find(|(rule, _)| rule.id == *id);
        let statement = statement.map_or("", |(rule, _)| rule.statement.as_str());
        format!(
            "<li class={word}><p><b><i aria-hidden=true>{mark}</i> {word} {id}</b> {}</p>\n\
             <ul>\n{places}</ul></li>\n",
            escape(statement)
        )
    };
    format!("<ol class=findings>\n{}</ol>", rules.iter().map(rule).collect::<String>())
}

fn place(finding: &Finding) -> String {
    let at = if finding.pointer.is_empty() { "the document" } else { &finding.pointer };
    let at = format!("<code>{}</code>", escape(at));
    let at = match row(&finding.pointer) {
        Some(row) => format!("<a href=\"#{row}\">{at}</a>"),
        None => at,
    };
    let (expected, found) = (escape(&finding.expected), escape(&finding.found));
    format!("<li>{at} expected {expected}; found {found}</li>\n")
}

/// The row of a table on this page that a pointer leads into.
fn row(pointer: &str) -> Option<String> {
    let mut steps = pointer.split('/').skip(1);
    let (list, index) = (steps.next()?, steps.next()?);
    let shown = matches!(list, "requests" | "summaries");
    (shown && index.bytes().all(|byte| byte.is_ascii_digit())).then(|| format!("/{list}/{index}"))
}
