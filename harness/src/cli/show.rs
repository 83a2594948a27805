//! `strata-bench show`: a report as tables.

use crate::exit::{Exit, Failure};
use argh::{FromArgValue, FromArgs};
use std::path::PathBuf;
use strata_harness::corpus::Suite;
use strata_harness::view::{Report, Sheet, open, sheet};

/// Show a report, or the report of a run's folder, as tables: what was measured on what, every
/// request, the summaries, what is unknown.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "show", help_triggers("-h", "--help"))]
pub(crate) struct ShowCommand {
    /// a report, or a folder with results.json
    #[argh(positional, arg_name = "report")]
    path: PathBuf,
    /// text, md, csv (the requests alone; of a wrapper the summaries) or json
    #[argh(option, default = "Form::Text", arg_name = "form")]
    output: Form,
}

/// A form of tables.
#[derive(FromArgValue, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Md,
    Csv,
    Json,
}

impl Form {
    pub(crate) fn of(self, sheet: &Sheet) -> String {
        match self {
            Form::Text => sheet.text(),
            Form::Md => sheet.markdown(),
            Form::Csv => sheet.csv(),
            Form::Json => sheet.json(),
        }
    }
}

impl ShowCommand {
    pub(crate) fn answer(&self) -> Result<(Exit, String), Failure> {
        let usage = |message: String| (Exit::Usage, message);
        let document = open(&self.path, &Suite::protocols()).map_err(usage)?;
        let report = Report::new("", &document.root);
        Ok((Exit::Well, self.output.of(&sheet(&report, &document.outcome))))
    }
}
