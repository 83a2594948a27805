//! The rules on whole reports: our fixtures with the figures of public reports, cases as data, and
//! reports in which one digit was changed.

mod cases;
mod conformance;
mod contradictions;
mod folder;
mod honest;
mod judged;
mod leaves;
mod mutation;
mod published;
mod schema;
mod snapshots;
mod total;

use super::{Outcome, Severity, Subject, review};
use crate::json::{self, Value};
use crate::protocol::Protocol;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A path in the repository.
fn path(relative: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", relative].iter().collect()
}

fn read(relative: &str) -> Vec<u8> {
    std::fs::read(path(relative)).unwrap_or_else(|error| panic!("{relative}: {error}"))
}

/// Every protocol of the specification.
fn protocols() -> Vec<Protocol> {
    let folder = std::fs::read_dir(path("spec/protocols")).unwrap();
    let files = folder.map(|entry| entry.unwrap().path());
    let text = |file: PathBuf| (std::fs::read_to_string(&file).unwrap(), file);
    files
        .map(text)
        .map(|(text, file)| Protocol::parse(&text, &file.to_string_lossy()).unwrap())
        .collect()
}

/// A report that a test changes, with what it takes to review it.
struct Bench {
    root: Value,
    protocols: Vec<Protocol>,
}

impl Bench {
    fn open(relative: &str) -> Bench {
        Bench { root: json::parse(&read(relative)).unwrap(), protocols: protocols() }
    }

    fn review(&self, root: &Value) -> Outcome {
        let protocols = &self.protocols;
        review(root, &Subject { report: b"", directory: None, rebuilt: None, protocols })
    }
}

/// The rules that fail with their places, informative ones left out.
fn failures(outcome: &Outcome) -> BTreeSet<(&'static str, String)> {
    let findings = outcome.findings.iter();
    let told = findings.filter(|finding| finding.severity > Severity::Info);
    told.map(|finding| (finding.rule.id.as_str(), finding.pointer.clone())).collect()
}
