//! `config.json`: all a report needs besides the recorded replies. Written before the first
//! request and once more at the end; with `outputs.jsonl` it is what a report is a function of.

use crate::corpus::Lengths;
use crate::fact::Fact;
use crate::probe::memory::Observation;
use crate::probe::{HashedFile, Machine};
use crate::protocol::Protocol;
use crate::run::server::SelfDescription;
use crate::self_test::SelfTest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The one version there is.
pub const SCHEMA_VERSION: u32 = 1;

/// The file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The protocol that is replayed, whole.
    pub protocol: Protocol,
    /// Whether it is one this program carries, byte for byte in what it asks.
    pub protocol_known: bool,
    /// Lengths of the payloads under the server's tokenizer and template.
    pub lengths: Fact<Lengths>,
    /// The run.
    pub run: Run,
    /// What the operator declares.
    pub declared: Declared,
    /// What the server says.
    pub server: SelfDescription,
    /// The engine's options by group of the report.
    pub options: Fact<Options>,
    /// What the machine shows.
    pub machine: Machine,
    /// Threads of the engine's process; of a server that was found running, those it says it
    /// computes with.
    pub engine_threads: Fact<u64>,
    /// Digests of the model's files.
    pub model_files: Fact<Vec<HashedFile>>,
    /// This program.
    pub runner: Runner,
    /// The files under `provenance/` that a report lists, in its order.
    pub provenance: Vec<Artifact>,
    /// What `/v1/status` lacked that a report has no null for, with the reason.
    pub status_missing: Map<String, Value>,
    /// How this program's client did against a server of known truth, before the first request.
    pub self_test: Fact<SelfTest>,
    /// What came of `--until-steady`.
    pub warm_up: Fact<WarmUp>,
    /// Each time the run was gone on with after it had ended early.
    pub resumed: Vec<Resumed>,
    /// Null while the run goes on, and for good if it was killed.
    pub end: Option<End>,
}

impl Config {
    /// Reads the file; the message of a refusal is the JSON reader's.
    pub fn parse(bytes: &[u8]) -> Result<Config, String> {
        let config: Config =
            serde_json::from_slice(bytes).map_err(|error| format!("config.json: {error}"))?;
        if config.schema_version != SCHEMA_VERSION {
            let found = config.schema_version;
            return Err(format!("config.json: schema_version is {found}; only 1 is known"));
        }
        Ok(config)
    }
}

/// When and how a run was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// `YYYYMMDDTHHMMSSZ-` and 8 hex digits.
    pub id: String,
    /// RFC 3339, whole seconds, UTC.
    pub started_at: String,
    /// The command's words, redacted.
    pub argv: Vec<String>,
    /// Whether this program started the engine.
    pub started_engine: bool,
    /// Whether requests carried a key.
    pub api_key_sent: bool,
    /// Text put before the first user message of every body.
    pub nonce: Option<String>,
    /// Whether the optional stages were asked for.
    pub optional: bool,
}

/// The operator's word for what nobody can probe.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // named as the flags are
pub struct Declared {
    pub track: Option<String>,
    pub track_notes: Option<String>,
    pub quantization: Option<String>,
    pub custom_pack: Option<String>,
    pub background: Option<Vec<String>>,
    pub build_options: Option<String>,
    pub model_revision: Option<String>,
    pub source_revision: Option<String>,
    pub tokenizer_revision: Option<String>,
}

/// The engine's options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// By group of `/configuration`.
    pub groups: Map<String, Value>,
    /// Those of no group; unknown when only the groups were declared.
    pub other: Fact<Map<String, Value>>,
}

/// This program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runner {
    /// Its version.
    pub version: String,
    /// The commit it was built from.
    pub commit: Fact<String>,
    /// Whether its sources differed from that commit.
    pub dirty: Fact<bool>,
}

/// A file of the run's folder, `/artifacts/*`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the report's names
pub struct Artifact {
    pub kind: String,
    pub path: String,
    pub sha256: String,
}

/// Requests before the plan's first, until the decode rate no longer moved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarmUp {
    /// The rate of each, in tokens per second.
    pub decode_tps: Vec<f64>,
    /// Whether the last of them are alike.
    pub steady: bool,
    /// Why it was given up.
    pub problem: Option<String>,
}

/// A run gone on with, `/extensions/resumed/*`. The client's clock stood between the parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resumed {
    /// RFC 3339, whole seconds, UTC.
    pub at: String,
    /// The last request that was kept; null if none was finished.
    pub after_request: Option<String>,
    /// Requests that had been sent and were sent again: their earlier records are not counted.
    pub resent: Vec<String>,
}

/// What is known only when the last request is through.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Why requests were left out.
    pub stop: Option<Stop>,
    /// Processor time this program used while requests ran, in seconds, over all parts of the run.
    pub runner_cpu_s: Fact<f64>,
    /// Load averages after the last request.
    pub load: Fact<[f64; 3]>,
    /// Memory while requests ran, in the last part of a resumed run.
    pub memory: Fact<Observation>,
}

/// Why a run ended before its plan did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// By the operator.
    Interrupted,
    /// The server could no longer be reached: why.
    ServerLost(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protocol_that_cannot_be_planned_is_refused() {
        let mut config = serde_json::to_value(crate::fixture::config()).unwrap();
        assert!(Config::parse(config.to_string().as_bytes()).is_ok());
        config["protocol"]["phases"][1]["repetitions"] = u32::MAX.into();
        let problem = Config::parse(config.to_string().as_bytes()).unwrap_err();
        let expected = "config.json: /phases/1 plans 4294967295 repetitions of 1 cases";
        assert!(problem.starts_with(expected), "{problem}");
    }
}
