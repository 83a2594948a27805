//! `results.json` from the files it was made of: a report is a pure function of `outputs.jsonl`
//! and `config.json`, and this is that function.

use crate::config::{Artifact, Config};
use crate::digest::sha256;
use crate::record;
use crate::report::assemble::{Assembled, assemble};
use std::fmt;
use std::fs;
use std::path::Path;

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
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read(&path).map_err(|error| RebuildError {
            problem: format!("{}: cannot be read: {error}", path.display()),
        })
    };
    rebuild_from(&read("outputs.jsonl")?, &read("config.json")?).map(|report| report.json)
}

/// The same from the contents of the two files.
pub fn rebuild_from(outputs: &[u8], config: &[u8]) -> Result<Assembled, RebuildError> {
    let problem = |problem: String| RebuildError { problem };
    let attempts = record::read(outputs).map_err(|error| problem(error.to_string()))?;
    let parsed = Config::parse(config).map_err(problem)?;
    let artifact = |kind: &str, path: &str, bytes| Artifact {
        kind: kind.to_string(),
        path: path.to_string(),
        sha256: sha256(bytes),
    };
    let artifacts =
        [artifact("outputs", "outputs.jsonl", outputs), artifact("config", "config.json", config)];
    assemble(&parsed, &attempts, artifacts).map_err(problem)
}
