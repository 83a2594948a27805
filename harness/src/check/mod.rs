//! Reviews a report, anybody's, rule by rule. What a rule says is a table in `rules`; functions lie
//! by subject. Everything that depends on a plan comes from the protocol that the report names. The
//! review is total: any bytes end in an outcome. It prints nothing and reads no file but those of a
//! folder that is handed to it.

mod command;
mod declared;
mod directory;
mod extensions;
mod identity;
mod missing;
mod outcome;
mod plan;
mod protocol;
mod provenance;
mod quality;
mod report;
pub mod review;
mod rule;
mod rules;
mod shape;
mod summaries;
mod timing;
mod tokens;

pub use directory::{Directory, MAX_FILES, MAX_LEVELS, MAX_MANIFEST_BYTES};
pub use outcome::{Finding, Outcome, State};
pub use rule::{Kind, MAX_FINDINGS, Rule, Severity};
pub use rules::RULES;

use crate::json::{self, Value};
use crate::plan::plan;
use crate::protocol::Protocol;
use report::Report;
use rule::{Breach, Log, Needs};
use rules::READABLE;

/// What is reviewed, and what is at hand to review it with.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The bytes of `results.json`.
    pub report: &'a [u8],
    /// The folder it lies in.
    pub directory: Option<&'a Directory>,
    /// What the record in that folder makes when the report is rebuilt from it, or why it makes
    /// nothing.
    pub rebuilt: Option<Result<&'a [u8], &'a str>>,
    /// The protocols that are known.
    pub protocols: &'a [Protocol],
}

/// Reviews a report by every rule.
pub fn check(subject: &Subject) -> Outcome {
    match json::parse(subject.report) {
        Ok(root) => review(&root, subject),
        Err(error) => unreadable(&error),
    }
}

fn unreadable(error: &json::Error) -> Outcome {
    let rest = RULES.iter().map(|rule| (rule, State::NotApplicable("the report is not readable")));
    let mut rules: Vec<_> =
        rest.chain([(READABLE, State::Failed { places: 1, failed: 1 })]).collect();
    rules.sort_by_key(|(rule, _)| rule.id);
    Outcome {
        rules,
        findings: vec![Finding {
            rule: READABLE,
            severity: READABLE.severity,
            pointer: String::new(),
            expected: "one JSON document".to_string(),
            found: error.to_string(),
        }],
    }
}

/// Reviews a report that has been read; `subject.report` is only compared with a rebuild.
pub(crate) fn review(root: &Value, subject: &Subject) -> Outcome {
    let named = root.pointer("/protocol/id").and_then(Value::as_str);
    let protocol = subject.protocols.iter().find(|protocol| Some(protocol.id.as_str()) == named);
    let run = if shape::is_wrapper(root) { "selected_run" } else { "run" };
    let run = root.get(run);
    let selected = run.and_then(|run| run.get("optional_concurrency")?.as_bool()) == Some(true);
    let plan = protocol.map(|protocol| plan(protocol, selected)).unwrap_or_default();
    let command = run.and_then(|run| run.get("command")?.as_str()).unwrap_or("");
    let report = Report {
        root,
        wrapper: shape::is_wrapper(root),
        protocol,
        plan: &plan,
        requests: report::requests(root, &plan),
        summaries: report::summaries(root),
        command: command::Command::new(command),
        directory: subject.directory,
        bytes: subject.report,
        rebuilt: subject.rebuilt,
    };
    let mut outcome = Outcome { rules: Vec::new(), findings: Vec::new() };
    for rule in RULES.iter().chain([READABLE]) {
        apply(rule, &report, &mut outcome);
    }
    outcome.rules.sort_by_key(|(rule, _)| rule.id);
    outcome.findings.sort_by(|a, b| {
        json::compare(&a.pointer, &b.pointer).then_with(|| a.rule.id.cmp(b.rule.id))
    });
    outcome
}

fn apply(rule: &'static Rule, report: &Report, outcome: &mut Outcome) {
    let mut log = Log::default();
    match unmet(rule.needs, report) {
        Some(why) => log.idle(why),
        None => (rule.check)(report, &mut log),
    }
    let Log { places, failed, breaches, idle } = log;
    let state = match (places, failed) {
        (0, _) => State::NotApplicable(idle.unwrap_or("nothing here that it is about")),
        (_, 0) => State::Passed { places },
        _ => State::Failed { places, failed },
    };
    outcome.rules.push((rule, state));
    outcome.findings.extend(breaches.into_iter().map(|breach| {
        let Breach { milder, pointer, expected, found } = breach;
        Finding { rule, severity: milder.unwrap_or(rule.severity), pointer, expected, found }
    }));
}

/// What a rule needs and this report does not have.
fn unmet(needs: Needs, report: &Report) -> Option<&'static str> {
    let full = matches!(needs, Needs::Full | Needs::FullAndProtocol | Needs::Directory);
    let planned = matches!(needs, Needs::Protocol | Needs::FullAndProtocol);
    if full && report.wrapper {
        Some("a wrapper has no such part")
    } else if planned && report.protocol.is_none() {
        Some("the protocol is unknown")
    } else if needs == Needs::Directory && report.directory.is_none() {
        Some("only the report is at hand")
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
