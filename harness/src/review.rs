//! A review of what lies at a path: a report by itself, or the folder of a run, whose files are
//! then compared and whose report is made again from its record.

use crate::bundle::RESULTS;
use crate::check::{Directory, Outcome, Subject, check};
use crate::protocol::Protocol;
use crate::rebuild::rebuild;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Longest report that is read, in bytes: ten thousand requests fit several times.
pub const MAX_REPORT_BYTES: u64 = 256 << 20;

/// Reviews the report or the folder at `path`; `protocols` are those that are known.
pub fn review(path: &Path, protocols: &[Protocol]) -> Result<Outcome, String> {
    if !path.is_dir() {
        let report = read(path)?;
        return Ok(check(&Subject { report: &report, directory: None, rebuilt: None, protocols }));
    }
    let report = read(&path.join(RESULTS))?;
    let directory = Directory::open(path).map_err(|error| error.to_string())?;
    let recorded = ["outputs.jsonl", "config.json"].iter().all(|name| path.join(name).exists());
    let rebuilt = recorded.then(|| rebuild(path).map_err(|error| error.to_string()));
    let rebuilt = rebuilt.as_ref().map(|made| made.as_deref().map_err(String::as_str));
    Ok(check(&Subject { report: &report, directory: Some(&directory), rebuilt, protocols }))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let place = path.display();
    let mut bytes = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(MAX_REPORT_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|error| format!("{place}: cannot be read: {error}"))?;
    if bytes.len() as u64 > MAX_REPORT_BYTES {
        return Err(format!("{place}: longer than the {MAX_REPORT_BYTES} bytes that are read"));
    }
    Ok(bytes)
}
