//! Makes a publication of folders: reads and reviews the runs, archives all that was read, makes
//! the document of the archive, reviews that too, and writes both or neither.

use crate::check::review::{named_errors, review};
use crate::check::{Directory, Outcome, State, Subject, Verdict, check};
use crate::digest::sha256;
use crate::json::{self, Value};
use crate::plain_file::{self, sync_folder_of, unfinished};
use crate::protocol::Protocol;
use crate::publication::order::{Correction, ORDER, Order, sourced};
use crate::publication::tar::{self, Files};
use crate::publication::{
    ARCHIVE, FILE, MAX_ARCHIVE_BYTES, SELECTED, excluded_folder, publication,
};
use crate::redact::is_private;
use std::fs;
use std::path::{Path, PathBuf};

/// What is to be published.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The folder of the run that is shown.
    pub selected: PathBuf,
    /// Folders of runs that are left out, and why.
    pub excluded: Vec<(PathBuf, String)>,
    /// A file of corrections: a list of `run_id`, `pointer`, `new` and the path of the `evidence`.
    pub corrections: Option<PathBuf>,
    /// A file of facts: an object of subjects, each with its `sources`.
    pub operator: Option<PathBuf>,
}

/// A publication that holds by its own review.
#[derive(Debug)]
pub struct Made {
    /// The document.
    pub publication: String,
    /// What it is made of.
    pub archive: Vec<u8>,
    /// The review.
    pub outcome: Outcome,
}

/// Makes a publication, or says what stands against it.
pub fn publish(wanted: &Wanted, protocols: &[Protocol]) -> Result<Made, String> {
    let mut files = Files::new();
    let selected = reviewed(&wanted.selected, protocols)?;
    if selected.verdict == Verdict::Invalid {
        return Err(errors(&wanted.selected, "the report is invalid", &selected));
    }
    add_run(&mut files, SELECTED, &wanted.selected)?;
    let mut order = Order::default();
    for (index, (folder, reason)) in wanted.excluded.iter().enumerate() {
        let outcome = reviewed(folder, protocols)?;
        if INTACT.iter().any(|id| failed(&outcome, id)) {
            return Err(errors(folder, "the folder is not as its run left it", &outcome));
        }
        add_run(&mut files, &excluded_folder(index + 1), folder)?;
        order.reasons.push(reason.clone());
    }
    if let Some(path) = &wanted.corrections {
        order.corrections = corrections(path, &mut files)?;
    }
    order.operator = wanted.operator.as_deref().map(operator).transpose()?;
    files.insert(ORDER.to_string(), order.print().into_bytes());
    refuse_private(&files)?;
    let archive = tar::write(&files)?;
    if archive.len() as u64 > MAX_ARCHIVE_BYTES {
        return Err(format!("{ARCHIVE}: {} bytes, at most {MAX_ARCHIVE_BYTES}", archive.len()));
    }
    let publication = publication(&archive)?;
    let bytes = publication.as_bytes();
    let outcome =
        check(&Subject { report: bytes, directory: None, rebuilt: Some(Ok(bytes)), protocols });
    if outcome.verdict == Verdict::Invalid {
        return Err(errors(Path::new(FILE), "the publication would be invalid", &outcome));
    }
    Ok(Made { publication, archive, outcome })
}

/// Rules that a run which is left out must keep too: it can be read, its manifest and its record
/// are those of its report.
const INTACT: [&str; 3] = ["R400", "R420", "R421"];

fn failed(outcome: &Outcome, id: &str) -> bool {
    outcome.rules.iter().any(|(rule, state)| rule.id == id && matches!(state, State::Failed { .. }))
}

fn reviewed(folder: &Path, protocols: &[Protocol]) -> Result<Outcome, String> {
    if !folder.is_dir() {
        return Err(format!("{}: not the folder of a run", folder.display()));
    }
    review(folder, protocols)
}

fn errors(place: &Path, what: &str, outcome: &Outcome) -> String {
    let place = place.display();
    format!("{place}: {what}; `strata-bench check` says more\n{}", named_errors(outcome))
}

/// Adds every file of a run's folder under `name`.
fn add_run(files: &mut Files, name: &str, folder: &Path) -> Result<(), String> {
    let directory = Directory::open(folder).map_err(|error| error.to_string())?;
    for (path, digest) in directory.files {
        let place = folder.join(&path);
        let bytes = read(&place, files)?;
        if Some(sha256(&bytes)) != digest {
            return Err(format!("{}: changed while it was read; publish again", place.display()));
        }
        files.insert(format!("{name}/{path}"), bytes);
    }
    Ok(())
}

/// A file for which there is room in the archive.
fn read(path: &Path, files: &Files) -> Result<Vec<u8>, String> {
    let used: u64 = files.values().map(|bytes| bytes.len() as u64).sum();
    plain_file::read(path, MAX_ARCHIVE_BYTES.saturating_sub(used)).map_err(|problem| {
        format!("{}: {problem} (an archive has at most {MAX_ARCHIVE_BYTES})", path.display())
    })
}

fn document(path: &Path) -> Result<Value, String> {
    let place = path.display();
    let bytes = plain_file::read(path, json::MAX_BYTES as u64);
    let bytes = bytes.map_err(|problem| format!("{place}: {problem}"))?;
    json::parse(&bytes).map_err(|error| format!("{place}: {error}"))
}

/// The corrections of a file, their evidence added under `evidence/`.
fn corrections(path: &Path, files: &mut Files) -> Result<Vec<Correction>, String> {
    let place = path.display();
    let list = document(path)?;
    if list.items().is_empty() {
        return Err(format!("{place}: no list of corrections"));
    }
    let mut corrections = Vec::new();
    for item in list.items() {
        let mut correction =
            Correction::parse(item, "evidence").map_err(|problem| format!("{place}: {problem}"))?;
        let source = path.with_file_name(&correction.evidence_path);
        let bytes = read(&source, files)?;
        let name = source.file_name().unwrap_or_default().to_string_lossy();
        correction.evidence_path = format!("evidence/{name}");
        let before = files.insert(correction.evidence_path.clone(), bytes);
        if before.is_some_and(|before| before != files[&correction.evidence_path]) {
            return Err(format!("{place}: two files of evidence are named {name}; rename one"));
        }
        corrections.push(correction);
    }
    Ok(corrections)
}

fn operator(path: &Path) -> Result<Value, String> {
    let facts = document(path)?;
    sourced(&facts).map_err(|problem| format!("{}: {problem}", path.display()))?;
    Ok(facts)
}

fn refuse_private(files: &Files) -> Result<(), String> {
    let private = |bytes: &[u8]| str::from_utf8(bytes).is_ok_and(is_private);
    match files.iter().find(|(_, bytes)| private(bytes)) {
        Some((name, _)) => Err(format!(
            "{name}: a home folder or a key stands in it, which would be published; take it out"
        )),
        None => Ok(()),
    }
}

impl Made {
    /// Fills a folder that is empty or not there yet, whole or not at all.
    pub fn write(&self, folder: &Path) -> Result<(), String> {
        let place = folder.display();
        if fs::symlink_metadata(folder).is_ok()
            && !fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
        {
            return Err(format!("--out {place}: is not an empty folder; name another"));
        }
        let failed = |problem: String| format!("--out {place}: cannot be made: {problem}");
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent).map_err(|error| failed(error.to_string()))?;
        }
        let unfinished = unfinished(folder);
        fs::create_dir(&unfinished)
            .map_err(|error| failed(format!("{}: {error}", unfinished.display())))?;
        let written = self.fill(&unfinished).and_then(|()| {
            let renamed = fs::rename(&unfinished, folder).and_then(|()| sync_folder_of(folder));
            renamed.map_err(|error| error.to_string())
        });
        if written.is_err() {
            let _ = fs::remove_dir_all(&unfinished); // it is ours, and nothing for anybody
        }
        written.map_err(failed)
    }

    fn fill(&self, folder: &Path) -> Result<(), String> {
        plain_file::write(&folder.join(ARCHIVE), &self.archive)?;
        plain_file::write(&folder.join(FILE), self.publication.as_bytes())
    }
}

#[cfg(test)]
mod tests;
