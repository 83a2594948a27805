//! A review of what lies at a path: a report by itself, or the folder of a run, whose files are
//! then compared and whose report is made again from its record.

use crate::check::{Directory, Outcome, Subject, check};
use crate::json;
use crate::plain_file;
use crate::protocol::Protocol;
use crate::report::rebuild::rebuild;
use crate::run::bundle::RESULTS;
use std::path::Path;

/// Reviews the report or the folder at `path`; `protocols` are those that are known.
pub fn review(path: &Path, protocols: &[Protocol]) -> Result<Outcome, String> {
    if !path.is_dir() {
        let report = read(path)?;
        return Ok(check(&Subject { report: &report, directory: None, rebuilt: None, protocols }));
    }
    let report = read(&path.join(RESULTS))?;
    let directory = Directory::open(path).map_err(|error| error.to_string())?;
    let recorded =
        ["outputs.jsonl", "config.json"].iter().all(|name| directory.files.contains_key(*name));
    let rebuilt = recorded.then(|| rebuild(path).map_err(|error| error.to_string()));
    let rebuilt = rebuilt.as_ref().map(|made| made.as_deref().map_err(String::as_str));
    Ok(check(&Subject { report: &report, directory: Some(&directory), rebuilt, protocols }))
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
