//! `strata-bench compare`: two reports, seed with seed.

use super::show::Form;
use crate::exit::{Exit, Failure};
use argh::FromArgs;
use std::path::PathBuf;
use strata_harness::compare::{Comparison, Side, Verdict};
use strata_harness::corpus::Suite;
use strata_harness::view::open;

/// Compare two reports pair by pair: seed with seed, case with case. A ratio that would mislead is
/// refused; the exit code is then 5, as it is for a regression.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "compare", help_triggers("-h", "--help"))]
pub(crate) struct CompareCommand {
    /// a report, or a folder with results.json
    #[argh(positional, arg_name = "a")]
    a: PathBuf,
    /// the one to hold against it
    #[argh(positional, arg_name = "b")]
    b: PathBuf,
    /// how many percent slower B may be; without it nothing regresses
    #[argh(option, arg_name = "percent")]
    threshold: Option<f64>,
    /// text, md, csv (the pairs alone, or what keeps the two apart) or json
    #[argh(option, default = "Form::Text", arg_name = "form")]
    output: Form,
}

impl CompareCommand {
    pub(crate) fn answer(&self) -> Result<(Exit, String), Failure> {
        let usage = |message: String| (Exit::Usage, message);
        if let Some(percent) = self.threshold.filter(|t| !(t.is_finite() && *t >= 0.0)) {
            return Err(usage(format!("--threshold {percent}: give percent, 0 or more")));
        }
        let protocols = Suite::protocols();
        let (a, b) = (open(&self.a, &protocols), open(&self.b, &protocols));
        let (a, b) = (a.map_err(usage)?, b.map_err(usage)?);
        let comparison = Comparison::new(Side::new("A", &a), Side::new("B", &b), self.threshold);
        let exit = match comparison.verdict() {
            Verdict::Comparable => Exit::Well,
            Verdict::Regressed | Verdict::Refused | Verdict::Incomparable => Exit::Refused,
        };
        Ok((exit, self.output.of(&comparison.sheet())))
    }
}
