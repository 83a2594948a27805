//! `strata-bench explain`: the rules of a review, in words.

use crate::exit::{Exit, Failure};
use argh::FromArgs;
use strata_harness::check::explain::explain;

/// Say what rules state, why there are such rules, and what breaks them.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "explain", help_triggers("-h", "--help"))]
pub(crate) struct ExplainCommand {
    /// ids of rules, as in R095; none lists all
    #[argh(positional, arg_name = "rule")]
    rules: Vec<String>,
}

impl ExplainCommand {
    pub(crate) fn answer(&self) -> Result<(Exit, String), Failure> {
        let text = explain(&self.rules).map_err(|message| (Exit::Usage, message))?;
        Ok((Exit::Well, text))
    }
}
