//! `strata-bench publish`: a run, the runs left out, and the evidence.

use super::check::protocols;
use super::{some_path, some_text};
use crate::exit::{Exit, Failure};
use argh::FromArgs;
use std::path::PathBuf;
use strata_harness::digest::sha256;
use strata_harness::publication::{ARCHIVE, FILE};
use strata_harness::publish::{Wanted, publish};
use strata_harness::shell;

/// Publish a run: what its report says, the runs left out and why, corrections of what was
/// declared, facts of your own, and an archive of all evidence with its digest.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "publish", help_triggers("-h", "--help"))]
pub(crate) struct PublishCommand {
    /// the folder of the run that is shown
    #[argh(positional, from_str_fn(some_path), arg_name = "selected")]
    selected: PathBuf,
    /// the folder of a run that is left out; each has a --reason, in the same order
    #[argh(option, from_str_fn(some_path), arg_name = "dir")]
    excluded: Vec<PathBuf>,
    /// why a run is left out
    #[argh(option, from_str_fn(some_text), arg_name = "text")]
    reason: Vec<String>,
    /// a JSON list of what was declared wrongly: run_id, pointer, new value and the path of a file
    /// that shows it as evidence; the reports stay as they are
    #[argh(option, from_str_fn(some_path), arg_name = "file")]
    corrections: Option<PathBuf>,
    /// a JSON object of your own facts by subject, as in gpu_unlock, each with its sources
    #[argh(option, from_str_fn(some_path), arg_name = "file")]
    operator: Option<PathBuf>,
    /// a protocol file, for reports of a protocol that this program does not carry
    #[argh(option, from_str_fn(some_path), arg_name = "file")]
    protocol: Option<PathBuf>,
    /// the folder to fill; must not exist or be empty
    #[argh(option, from_str_fn(some_path), arg_name = "dir")]
    out: PathBuf,
}

impl PublishCommand {
    pub(crate) fn answer(&self) -> Result<(Exit, String), Failure> {
        let usage = |message: String| (Exit::Usage, message);
        let (runs, reasons) = (self.excluded.len(), self.reason.len());
        if runs != reasons {
            return Err(usage(format!(
                "--excluded is given {runs} times and --reason {reasons} times; give one reason \
                 for each run that is left out"
            )));
        }
        let wanted = Wanted {
            selected: self.selected.clone(),
            excluded: self.excluded.iter().cloned().zip(self.reason.iter().cloned()).collect(),
            corrections: self.corrections.clone(),
            operator: self.operator.clone(),
        };
        let protocols = protocols(self.protocol.as_deref()).map_err(usage)?;
        let made = publish(&wanted, &protocols).map_err(usage)?;
        made.write(&self.out).map_err(usage)?;
        let file = |name: &str, bytes: &[u8]| {
            format!("{}: {} bytes, sha256 {}\n", name, bytes.len(), sha256(bytes))
        };
        let review = ["strata-bench", "check", &self.out.display().to_string()];
        let text = [
            file(FILE, made.publication.as_bytes()),
            file(ARCHIVE, &made.archive),
            format!("review it: {}\n", shell::join(&review.map(str::to_string))),
        ];
        Ok((Exit::Well, text.concat()))
    }
}
