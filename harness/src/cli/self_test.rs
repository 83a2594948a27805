//! `strata-bench self-test`.

use super::Output;
use crate::exit::{Exit, Failure};
use argh::FromArgs;
use strata_harness::self_test::self_test;

/// Measure this program's own client against a built-in server that errs on purpose.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "self-test", help_triggers("-h", "--help"))]
pub(crate) struct SelfTestCommand {
    /// text or json
    #[argh(option, default = "Output::Text", arg_name = "form")]
    output: Output,
}

impl SelfTestCommand {
    /// The exit code and what to print. A client that misreads a case is a defect of ours.
    pub(crate) fn answer(&self) -> Result<(Exit, String), Failure> {
        let found = self_test()
            .map_err(|error| (Exit::Internal, format!("the self-test cannot run: {error}")))?;
        let text = match self.output {
            Output::Text => found.text(),
            Output::Json => format!("{:#}\n", found.json()),
        };
        Ok((if found.passed() { Exit::Well } else { Exit::Internal }, text))
    }
}
