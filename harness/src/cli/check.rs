//! `strata-bench check`: a review.

use super::{Output, some_path};
use crate::exit::{Exit, Failure};
use argh::{FromArgValue, FromArgs};
use std::path::{Path, PathBuf};
use strata_harness::check::Severity;
use strata_harness::check::review::review;
use strata_harness::corpus::{MAX_PROTOCOL_BYTES, Suite};
use strata_harness::plain_file;
use strata_harness::protocol::Protocol;

/// Review a report, or the folder of a run or of a publication with all its files, rule by rule.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "check", help_triggers("-h", "--help"))]
pub(crate) struct CheckCommand {
    /// a report, or a folder with results.json or publication.json
    #[argh(positional, from_str_fn(some_path), arg_name = "report")]
    path: PathBuf,
    /// a protocol file, for reports of a protocol that this program does not carry
    #[argh(option, from_str_fn(some_path), arg_name = "file")]
    protocol: Option<PathBuf>,
    /// what makes the exit code 4: error (the default) or warning
    #[argh(option, default = "FailOn::Error", arg_name = "severity")]
    fail_on: FailOn,
    /// text or json
    #[argh(option, default = "Output::Text", arg_name = "form")]
    output: Output,
}

/// The least severe finding that fails a check.
#[derive(FromArgValue, Debug, Clone, Copy, PartialEq, Eq)]
enum FailOn {
    Error,
    Warning,
}

impl CheckCommand {
    pub(crate) fn answer(&self) -> Result<(Exit, String), Failure> {
        let usage = |message: String| (Exit::Usage, message);
        let protocols = protocols(self.protocol.as_deref()).map_err(usage)?;
        let outcome = review(&self.path, &protocols).map_err(usage)?;
        let least = match self.fail_on {
            FailOn::Error => Severity::Error,
            FailOn::Warning => Severity::Warning,
        };
        let exit = if outcome.fails_on(least) { Exit::Rejected } else { Exit::Well };
        let text = match self.output {
            Output::Text => outcome.text(),
            Output::Json => format!("{:#}\n", outcome.json()),
        };
        Ok((exit, text))
    }
}

/// The protocols that reports are checked against, a given one first; a review needs no corpus.
pub(super) fn protocols(given: Option<&Path>) -> Result<Vec<Protocol>, String> {
    let given = given.map(read_protocol);
    given.into_iter().chain(Suite::protocols().into_iter().map(Ok)).collect()
}

fn read_protocol(file: &Path) -> Result<Protocol, String> {
    let place = file.display().to_string();
    let text = plain_file::read_text(file, MAX_PROTOCOL_BYTES)
        .map_err(|problem| format!("{place}: {problem}"))?;
    Protocol::parse(&text, &place).map_err(|error| error.to_string())
}
