//! Reviews a report, anybody's, rule by rule. What a rule says is in the rule book, which function
//! states it in the table of `rules`; functions lie by subject. Everything that depends on a plan
//! comes from the protocol that the report names. The review is total: any bytes end in an outcome.
//! It prints nothing and reads no file but those of a folder that is handed to it.

mod book;
mod command;
mod declared;
mod directory;
pub mod explain;
mod extensions;
mod format;
mod identity;
mod memory;
mod missing;
mod model_files;
mod outcome;
mod plan;
mod protocol;
mod provenance;
mod quality;
mod report;
pub mod review;
mod rule;
mod rules;
pub mod schema;
mod shape;
mod summaries;
mod timing;
mod tokens;
mod verdict;
mod vocabulary;
mod wrapper;

pub use book::{rule, rules};
pub use directory::{Directory, MAX_FILES, MAX_LEVELS, MAX_MANIFEST_BYTES};
pub use outcome::{Finding, Outcome, State};
pub use rule::{Kind, MAX_FINDINGS, Rule, Severity};
pub use verdict::Verdict;

use crate::json::{self, Value};
use crate::plan::plan;
use crate::protocol::Protocol;
use report::Report;
use rule::{Breach, Log};
use rules::{CHECKS, Check, Needs};

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

/// The rule that a report is JSON at all. When it fails, no other can be asked.
const READABLE: &str = "R400";

fn unreadable(error: &json::Error) -> Outcome {
    let state = |id: &str| match id {
        READABLE => State::Failed { places: 1, failed: 1 },
        _ => State::NotApplicable("the report is not readable"),
    };
    let rule = rule(READABLE).expect("it is in the book");
    Outcome {
        rules: rules().iter().map(|rule| (rule, state(&rule.id))).collect(),
        findings: vec![Finding {
            rule,
            severity: rule.severity,
            pointer: String::new(),
            expected: "one JSON document".to_string(),
            found: error.to_string(),
        }],
        verdict: Verdict::Invalid,
    }
}

/// Reviews a report that has been read; `subject.report` is only compared with a rebuild.
pub(crate) fn review(root: &Value, subject: &Subject) -> Outcome {
    let named = root.pointer("/protocol/id").and_then(Value::as_str);
    let protocol = subject.protocols.iter().find(|protocol| Some(protocol.id.as_str()) == named);
    let wrapper = format::Kind::of(root) != format::Kind::Report;
    let run = if wrapper { "selected_run" } else { "run" };
    let run = root.get(run);
    let selected = run.and_then(|run| run.get("optional_concurrency")?.as_bool()) == Some(true);
    let plan = protocol.map(|protocol| plan(protocol, selected)).unwrap_or_default();
    let command = run.and_then(|run| run.get("command")?.as_str()).unwrap_or("");
    let report = Report {
        root,
        wrapper,
        protocol,
        plan: &plan,
        requests: report::requests(root, &plan),
        summaries: report::summaries(root),
        command: command::Command::new(command),
        nulls: missing::Nulls::new(root),
        directory: subject.directory,
        bytes: subject.report,
        rebuilt: subject.rebuilt,
    };
    let (mut states, mut findings) = (Vec::new(), Vec::new());
    for (rule, check) in rules().iter().zip(CHECKS) {
        assert_eq!(rule.id, check.id, "the rule book and the table have the same order");
        states.push((rule, apply(rule, check, &report, &mut findings)));
    }
    findings.sort_by(|a, b| {
        json::compare(&a.pointer, &b.pointer).then_with(|| a.rule.id.cmp(&b.rule.id))
    });
    let worst = findings.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Info);
    let verdict = Verdict::new(&report, &states, worst);
    Outcome { rules: states, findings, verdict }
}

fn apply(
    rule: &'static Rule,
    check: &Check,
    report: &Report,
    findings: &mut Vec<Finding>,
) -> State {
    let mut log = Log::default();
    match unmet(check.needs, report) {
        Some(why) => log.idle(why),
        None => (check.run)(report, &mut log),
    }
    let Log { places, failed, breaches, idle } = log;
    findings.extend(breaches.into_iter().map(|breach| {
        let Breach { milder, pointer, expected, found } = breach;
        Finding { rule, severity: milder.unwrap_or(rule.severity), pointer, expected, found }
    }));
    match (places, failed) {
        (0, _) => State::NotApplicable(idle.unwrap_or("nothing here that it is about")),
        (_, 0) => State::Passed { places },
        _ => State::Failed { places, failed },
    }
}

/// What a rule needs and this report does not have.
fn unmet(needs: Needs, report: &Report) -> Option<&'static str> {
    let full = matches!(needs, Needs::Full | Needs::FullAndProtocol | Needs::Directory);
    let planned = matches!(needs, Needs::Protocol | Needs::FullAndProtocol);
    if full && report.wrapper {
        Some("a wrapper has no such part")
    } else if needs == Needs::Wrapper && !report.wrapper {
        Some("only a wrapper has such a part")
    } else if planned && report.protocol.is_none() {
        Some("the protocol is unknown")
    } else if needs == Needs::Directory && report.directory.is_none()
        || needs == Needs::Record && report.directory.is_none() && report.rebuilt.is_none()
    {
        Some("only the report is at hand")
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
