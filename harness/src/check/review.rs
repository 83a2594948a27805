//! A review of what lies at a path: a report by itself, or the folder of a run or a publication,
//! whose files are then compared and whose report is made again from its record.

use crate::check::{Directory, Finding, Outcome, Severity, Subject, check};
use crate::json;
use crate::plain_file;
use crate::protocol::Protocol;
use crate::publication::{self, publication, tar};
use crate::report::RESULTS;
use crate::report::rebuild::{rebuild, rebuild_from};
use std::path::{Path, PathBuf};

/// Reviews the report or the folder at `path`; `protocols` are those that are known.
pub fn review(path: &Path, protocols: &[Protocol]) -> Result<Outcome, String> {
    if !path.is_dir() {
        let report = read(path)?;
        return Ok(check(&Subject { report: &report, directory: None, rebuilt: None, protocols }));
    }
    let file = document(path);
    let report = read(&file)?;
    if file.ends_with(publication::FILE) {
        let rebuilt = republished(path);
        let rebuilt = rebuilt.as_ref().map(String::as_bytes).map_err(String::as_str);
        let rebuilt = Some(rebuilt);
        return Ok(check(&Subject { report: &report, directory: None, rebuilt, protocols }));
    }
    let directory = Directory::open(path).map_err(|error| error.to_string())?;
    let recorded =
        ["outputs.jsonl", "config.json"].iter().all(|name| directory.files.contains_key(*name));
    let rebuilt = recorded.then(|| rebuild(path).map_err(|error| error.to_string()));
    let rebuilt = rebuilt.as_ref().map(|made| made.as_deref().map_err(String::as_str));
    Ok(check(&Subject { report: &report, directory: Some(&directory), rebuilt, protocols }))
}

/// The report at a path: of a folder that of its run, or of its publication.
pub fn document(path: &Path) -> PathBuf {
    let [report, published] = [RESULTS, publication::FILE].map(|name| path.join(name));
    match (path.is_dir(), report.exists() || !published.exists()) {
        (false, _) => path.to_path_buf(),
        (true, true) => report,
        (true, false) => published,
    }
}

/// What the archive of a publication makes, once every record in it makes its report.
fn republished(folder: &Path) -> Result<String, String> {
    let archive = folder.join(publication::ARCHIVE);
    let archive = plain_file::read(&archive, publication::MAX_ARCHIVE_BYTES)
        .map_err(|problem| format!("{}: {problem}", publication::ARCHIVE))?;
    let files =
        tar::read(&archive).map_err(|problem| format!("{}: {problem}", publication::ARCHIVE))?;
    for (path, report) in &files {
        let Some(run) = path.strip_suffix(RESULTS) else { continue };
        let part = |name: &str| files.get(&format!("{run}{name}"));
        let (Some(outputs), Some(config)) = (part("outputs.jsonl"), part("config.json")) else {
            continue;
        };
        let made = rebuild_from(outputs, config).map_err(|error| format!("{run}{error}"))?;
        if made.json != *report {
            return Err(format!("{path}: not the report that its record makes"));
        }
    }
    publication(&archive)
}

/// The errors of a review, a line each.
pub fn named_errors(outcome: &Outcome) -> String {
    let errors = outcome.findings.iter().filter(|finding| finding.severity == Severity::Error);
    let line = |finding: &Finding| format!("{} {}", finding.rule.id, finding.words());
    errors.map(line).collect::<Vec<_>>().join("\n")
}

/// No longer than what the JSON reader takes.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    plain_file::read(path, json::MAX_BYTES as u64)
        .map_err(|problem| format!("{}: {problem}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use std::fs::{self, File};
    use std::process::Command;

    fn check_refusal(make: impl Fn(&Path), expected: &str) {
        let scratch = Scratch::new();
        make(&scratch.path().join(RESULTS));
        let problem = review(scratch.path(), &[]).map(|_| ()).unwrap_err();
        assert!(problem.contains(expected), "{problem}");
    }

    #[test]
    fn what_is_no_report_is_refused_without_waiting() {
        let pipe =
            |path: &Path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        check_refusal(pipe, "results.json: a link, a folder or a special file");
        let long = |path: &Path| {
            File::create(path).unwrap().set_len(json::MAX_BYTES as u64 + 1).unwrap();
        };
        check_refusal(long, "results.json: longer than the 33554432 bytes that are read");
    }

    #[test]
    fn a_record_that_is_no_plain_file_is_a_finding() {
        let scratch = Scratch::new();
        let path = |name: &str| scratch.path().join(name);
        fs::write(path(RESULTS), "{}").unwrap();
        fs::write(path("config.json"), "{}").unwrap();
        assert!(Command::new("mkfifo").arg(path("outputs.jsonl")).status().unwrap().success());
        let text = review(scratch.path(), &[]).unwrap().text();
        assert!(text.contains("outputs.jsonl: a link, a folder or a special file"), "{text}");
    }
}
