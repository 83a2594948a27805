//! A case as data: a report of golden/reports, what is changed in it or lies beside it, and what a
//! rule then finds. `conformance/README.md` says what the fields mean.

use super::folder::Folder;
use super::{Bench, protocols, read};
use crate::check::{Directory, Outcome, Subject, check};
use crate::json::{self, Value};
use std::collections::BTreeMap;

/// The bases, each read once.
pub(super) struct Bases(BTreeMap<&'static str, Bench>);

impl Bases {
    pub(super) const NAMES: [&str; 3] = ["full.json", "wrapper.json", "embedded.json"];

    pub(super) fn open() -> Bases {
        let open = |name: &'static str| (name, Bench::open(&format!("golden/reports/{name}")));
        Bases(Self::NAMES.map(open).into())
    }

    /// The review of a case; `Err` says what is wrong with the case itself.
    pub(super) fn review(&self, case: &Value) -> Result<Outcome, String> {
        let base = case.get("base").and_then(Value::as_str).ok_or("no base")?;
        let bench = self.0.get(base).ok_or(format!("no base {base}"))?;
        let root = changed(&bench.root, case.get("set").ok_or("no set")?)?;
        if let Some(text) = case.get("text") {
            let report = text.as_str().ok_or("no text")?.as_bytes();
            return Ok(beside(report, None, None));
        }
        if let Some(files) = case.get("files") {
            let folder = Folder::of(&root);
            for (path, text) in files.entries() {
                match text.as_str() {
                    Some(text) => folder.write(path, text),
                    None => folder.remove(path),
                }
            }
            let report = folder.read("results.json");
            return Ok(beside(&report, Some(&folder.open()), None));
        }
        if let Some(record) = case.get("record") {
            let record = changed(&bench.root, record)?.to_string();
            let report = root.to_string();
            let folder = Directory::default();
            return Ok(beside(report.as_bytes(), Some(&folder), Some(record.as_bytes())));
        }
        Ok(bench.review(&root))
    }
}

fn beside(report: &[u8], directory: Option<&Directory>, record: Option<&[u8]>) -> Outcome {
    let protocols = protocols();
    check(&Subject { report, directory, rebuilt: record.map(Ok), protocols: &protocols })
}

fn changed(root: &Value, set: &Value) -> Result<Value, String> {
    let mut root = root.clone();
    for (pointer, value) in set.entries() {
        root.set(pointer, value.clone()).ok_or(format!("no place {pointer}"))?;
    }
    Ok(root)
}

pub(super) fn open(place: &str) -> Value {
    json::parse(&read(place)).unwrap_or_else(|error| panic!("{place}: {error}"))
}
