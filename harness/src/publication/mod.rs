//! A publication: what somebody shows of a run, with the runs left out and why, what was declared
//! wrongly, and an archive of the evidence. It is a pure function of that archive, as a report is
//! of its record, so whoever has both can make it again. It reads no file and judges no figure.

pub mod order;
pub mod tar;

use crate::digest::sha256;
use crate::json::{self, Number, Path, Value};
use crate::report::RESULTS;
use order::{Correction, ORDER, Order};
use std::collections::HashMap;
use tar::Files;

/// The value of `/format`.
pub const FORMAT: &str = "strata-bench-publication";
/// The value of `/schema_version`.
pub const SCHEMA_VERSION: u64 = 1;
/// The document's file name.
pub const FILE: &str = "publication.json";
/// The archive's, beside it.
pub const ARCHIVE: &str = "evidence.tar";
/// Largest archive, in bytes: it is held in memory.
pub const MAX_ARCHIVE_BYTES: u64 = 256 << 20;
/// Folder of the selected run in the archive.
pub const SELECTED: &str = "selected";

/// What a wrapper keeps of a report, in the report's order; `run` is `selected_run` there.
pub const KEPT: [&str; 9] = [
    "selected_run",
    "protocol",
    "hardware",
    "software",
    "model",
    "configuration",
    "request_counts",
    "summaries",
    "quality",
];

/// Folder of an excluded run in the archive; the first is 1.
pub fn excluded_folder(number: usize) -> String {
    format!("excluded-{number}")
}

/// The document that an archive makes, in canonical form.
pub fn publication(archive: &[u8]) -> Result<String, String> {
    let files = tar::read(archive).map_err(|problem| format!("{ARCHIVE}: {problem}"))?;
    let order = Order::parse(&document(&files, ORDER)?)?;
    let selected = Run::open(&files, SELECTED)?;
    let folders = (1..=order.reasons.len()).map(excluded_folder);
    let excluded: Vec<Run> =
        folders.map(|folder| Run::open(&files, &folder)).collect::<Result<_, _>>()?;
    refuse_repeated_runs(&selected, &excluded)?;
    let mut root = vec![
        ("format".to_string(), text(FORMAT)),
        ("schema_version".to_string(), count(SCHEMA_VERSION)),
        ("operator".to_string(), order.operator.clone().unwrap_or(Value::Null)),
    ];
    for block in KEPT {
        root.push((block.to_string(), selected.block(block)?.clone()));
    }
    let runs: Vec<Value> =
        order.reasons.iter().zip(&excluded).map(|(reason, run)| run.left_out(reason)).collect();
    let corrected = |correction| corrected(correction, &files, &selected, &excluded);
    let corrections: Vec<Value> =
        order.corrections.iter().map(corrected).collect::<Result<_, _>>()?;
    let evidence = object(vec![
        ("archive", text(ARCHIVE)),
        ("archive_sha256", text(&sha256(archive))),
        ("archive_bytes", count(archive.len() as u64)),
        ("selected_report_path", text(&selected.path)),
        ("selected_report_sha256", text(&selected.sha256)),
    ]);
    root.extend([
        ("memory_observation".to_string(), selected.observation()),
        ("excluded_runs".to_string(), Value::Array(runs)),
        ("corrections".to_string(), Value::Array(corrections)),
        ("evidence".to_string(), evidence),
        ("extensions".to_string(), selected.extensions()),
    ]);
    let mut root = Value::Object(root);
    let missing = missing(&root, &selected, &excluded);
    root.set("/missing", missing).expect("a document is an object");
    Ok(root.canonical())
}

/// The report of a run in the archive.
struct Run {
    /// Of the report, in the archive.
    path: String,
    sha256: String,
    report: Value,
    id: String,
    /// Why what is unknown in the report is, by pointer.
    reasons: HashMap<String, String>,
}

impl Run {
    fn open(files: &Files, folder: &str) -> Result<Run, String> {
        let path = format!("{folder}/{RESULTS}");
        let report = document(files, &path)?;
        let id = report.pointer("/run/id").and_then(Value::as_str);
        let id = id.ok_or(format!("{path}: no report of a run: it has no /run/id"))?.to_string();
        let missing = report.get("missing").map(Value::entries).unwrap_or_default();
        let reason = |(at, why): &(String, Value)| Some((at.clone(), why.as_str()?.to_string()));
        let reasons = missing.iter().filter_map(reason).collect();
        Ok(Run { sha256: sha256(&files[&path]), path, id, reasons, report })
    }

    fn block(&self, name: &str) -> Result<&Value, String> {
        let name = if name == "selected_run" { "run" } else { name };
        self.report.get(name).ok_or(format!("{}: it has no /{name}", self.path))
    }

    fn observation(&self) -> Value {
        self.report.pointer(OBSERVATION).cloned().unwrap_or(Value::Null)
    }

    fn left_out(&self, reason: &str) -> Value {
        object(vec![
            ("run_id", text(&self.id)),
            ("selected_for_headline", Value::Bool(false)),
            ("reason", text(reason)),
            ("report_path", text(&self.path)),
            ("report_sha256", text(&self.sha256)),
            ("resource_observation", self.observation()),
        ])
    }

    /// What a reader of the summaries and of the observation must know.
    fn extensions(&self) -> Value {
        let kept = |name: &str, none| {
            self.report.get("extensions").and_then(|all| all.get(name)).cloned().unwrap_or(none)
        };
        object(vec![
            ("status_reasons", kept("status_reasons", Value::Array(Vec::new()))),
            ("summary_notes", kept("summary_notes", Value::Object(Vec::new()))),
            ("resumed", kept("resumed", Value::Array(Vec::new()))),
        ])
    }

    /// Why the report does not know what stands at this pointer of it.
    fn reason(&self, at: &str) -> &str {
        let known = self.reasons.get(at).map(String::as_str);
        known.unwrap_or(match at {
            OBSERVATION => "the report of this run holds no observation of memory",
            _ => "the report gives no reason",
        })
    }
}

/// Where a report says what was seen of the machine's memory.
const OBSERVATION: &str = "/extensions/memory_observation";

fn refuse_repeated_runs(selected: &Run, excluded: &[Run]) -> Result<(), String> {
    for (index, run) in excluded.iter().enumerate() {
        let before = excluded[..index].iter().find(|other| other.id == run.id);
        if let Some(other) = [selected].into_iter().chain(before).find(|other| other.id == run.id) {
            return Err(format!(
                "{}: run {} is {} too; a run is selected, or excluded once",
                run.path, run.id, other.path
            ));
        }
    }
    Ok(())
}

/// A correction with what it corrects and the digest of its evidence.
fn corrected(
    correction: &Correction,
    files: &Files,
    selected: &Run,
    excluded: &[Run],
) -> Result<Value, String> {
    let Correction { run_id, pointer, new, evidence_path } = correction;
    let place = format!("correction of {pointer} of run {run_id}");
    let run = [selected].into_iter().chain(excluded).find(|run| run.id == *run_id);
    let run = run.ok_or(format!("{place}: no such run is published here"))?;
    let old = run.report.pointer(pointer).filter(|old| order::is_plain(old));
    let old = old.ok_or(format!(
        "{place}: the report has no text, number or truth value there; give the pointer of one"
    ))?;
    if old.equals(new) {
        return Err(format!("{place}: the report says {old} already; leave the correction out"));
    }
    let evidence = files.get(evidence_path);
    let evidence = evidence.ok_or(format!("{place}: {evidence_path} is not in the archive"))?;
    Ok(object(vec![
        ("run_id", text(run_id)),
        ("pointer", text(pointer)),
        ("old", old.clone()),
        ("new", new.clone()),
        ("evidence_path", text(evidence_path)),
        ("evidence_sha256", text(&sha256(evidence))),
    ]))
}

/// The reason of every null, in the order of the document.
fn missing(root: &Value, selected: &Run, excluded: &[Run]) -> Value {
    let mut missing = Vec::new();
    root.walk(&mut |place: &Path, value| {
        if value.is_null() {
            let place = place.to_string();
            let reason = reason(&place, selected, excluded);
            missing.push((place, text(&reason)));
        }
    });
    Value::Object(missing)
}

fn reason(place: &str, selected: &Run, excluded: &[Run]) -> String {
    let (block, rest) = match place[1..].split_once('/') {
        Some((block, _)) => (block, &place[1 + block.len()..]),
        None => (&place[1..], ""),
    };
    match block {
        "operator" if rest.is_empty() => "no operator's facts were given".to_string(),
        "operator" => "the operator does not know".to_string(),
        "selected_run" => selected.reason(&format!("/run{rest}")).to_string(),
        "memory_observation" => selected.reason(&format!("{OBSERVATION}{rest}")).to_string(),
        "excluded_runs" => {
            let of = excluded.iter().enumerate().find_map(|(index, run)| {
                let rest = rest.strip_prefix(&format!("/{index}/resource_observation"))?;
                Some(run.reason(&format!("{OBSERVATION}{rest}")))
            });
            of.unwrap_or("the report gives no reason").to_string()
        }
        _ => selected.reason(place).to_string(),
    }
}

fn document(files: &Files, path: &str) -> Result<Value, String> {
    let bytes = files.get(path).ok_or(format!("{ARCHIVE}: it has no {path}"))?;
    json::parse(bytes).map_err(|error| format!("{path}: {error}"))
}

fn text(text: &str) -> Value {
    Value::String(text.to_string())
}

fn count(count: u64) -> Value {
    Value::Number(Number::new(&count.to_string()).expect("digits are a number"))
}

fn object(entries: Vec<(&str, Value)>) -> Value {
    Value::Object(entries.into_iter().map(|(key, value)| (key.to_string(), value)).collect())
}
