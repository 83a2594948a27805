//! `results.json` from the files it was made of: a report is a pure function of `outputs.jsonl`
//! and `config.json`, and this is that function.

use crate::config::{Artifact, Config};
use crate::digest::sha256;
use crate::plain_file;
use crate::plan::plan;
use crate::record::{self, Attempt};
use crate::report::assemble::{Assembled, assemble};
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

/// Longest `outputs.jsonl` that is read: several of the longest replies a client takes.
pub const MAX_OUTPUTS_BYTES: u64 = 1 << 30;
/// Longest `config.json` that is read: a protocol of the longest, and what a server says.
pub const MAX_CONFIG_BYTES: u64 = 32 << 20;

/// Why a folder gives no report: the file, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RebuildError {
    problem: String,
}

impl fmt::Display for RebuildError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl std::error::Error for RebuildError {}

/// The bytes of `results.json` for the run recorded in `folder`, whatever file of that name is
/// there.
pub fn rebuild(folder: &Path) -> Result<Vec<u8>, RebuildError> {
    let read = |name: &str, limit| {
        let path = folder.join(name);
        plain_file::read(&path, limit)
            .map_err(|problem| RebuildError { problem: format!("{}: {problem}", path.display()) })
    };
    let outputs = read("outputs.jsonl", MAX_OUTPUTS_BYTES)?;
    rebuild_from(&outputs, &read("config.json", MAX_CONFIG_BYTES)?).map(|report| report.json)
}

/// The same from the contents of the two files.
pub fn rebuild_from(outputs: &[u8], config: &[u8]) -> Result<Assembled, RebuildError> {
    let problem = |problem: String| RebuildError { problem };
    let attempts = record::read(outputs).map_err(|error| problem(error.to_string()))?;
    let parsed = Config::parse(config).map_err(problem)?;
    refuse_what_was_cut(outputs, &attempts, &parsed).map_err(problem)?;
    let artifact = |kind: &str, path: &str, bytes| Artifact {
        kind: kind.to_string(),
        path: path.to_string(),
        sha256: sha256(bytes),
    };
    let artifacts =
        [artifact("outputs", "outputs.jsonl", outputs), artifact("config", "config.json", config)];
    assemble(&parsed, &attempts, artifacts).map_err(problem)
}

/// A run that was killed may leave a torn last line and requests unsent; one that ended leaves
/// neither.
fn refuse_what_was_cut(
    outputs: &[u8],
    attempts: &[Attempt],
    config: &Config,
) -> Result<(), String> {
    let Some(end) = &config.end else { return Ok(()) };
    if outputs.last().is_some_and(|last| *last != b'\n') {
        return Err(
            "outputs.jsonl: the last line is cut, but config.json says that the run ended: \
                    put the file back as it was"
                .to_string(),
        );
    }
    let planned = plan(&config.protocol, config.run.optional).len();
    let sent: BTreeSet<&str> = attempts.iter().map(|a| a.request_id.as_str()).collect();
    let attempts = sent.len();
    if end.stop.is_none() && attempts != planned {
        return Err(format!(
            "outputs.jsonl: {attempts} attempts, but config.json says that all {planned} were \
             made: put the file back as it was"
        ));
    }
    Ok(())
}
