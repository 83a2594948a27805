//! `strata-bench fmt`: the canonical bytes of a report.

use super::some_path;
use crate::exit::{Exit, Failure};
use argh::FromArgs;
use std::path::PathBuf;
use strata_harness::{json, plain_file};

/// Print a report, or any other JSON, in its canonical form: two blanks a level, one value a line,
/// keys in their order and numbers as they are written.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "fmt", help_triggers("-h", "--help"))]
pub(crate) struct FmtCommand {
    /// the file
    #[argh(positional, from_str_fn(some_path), arg_name = "file")]
    path: PathBuf,
    /// put the canonical form in place of the file; a manifest that lists it then lists another
    #[argh(switch)]
    write: bool,
    /// print no more than where the file departs from it, with exit code 4
    #[argh(switch)]
    check: bool,
}

impl FmtCommand {
    pub(crate) fn answer(&self) -> Result<(Exit, String), Failure> {
        let place = self.path.display();
        let usage = |problem: String| (Exit::Usage, format!("{place}: {problem}"));
        if self.write && self.check {
            let both = "--write and --check: one changes the file, the other does not; give one";
            return Err((Exit::Usage, both.to_string()));
        }
        let found = plain_file::read(&self.path, json::MAX_BYTES as u64).map_err(usage)?;
        let wanted = json::canonical(&found).map_err(usage)?;
        let same = wanted.as_bytes() == found;
        if self.check {
            let alike = wanted.bytes().zip(&found).take_while(|(a, b)| a == *b).count();
            return Ok(match same {
                true => (Exit::Well, String::new()),
                false => (Exit::Rejected, format!("{place}: not canonical from byte {alike} on\n")),
            });
        }
        if !self.write {
            return Ok((Exit::Well, wanted));
        }
        if !same {
            plain_file::write(&self.path, wanted.as_bytes())
                .map_err(|problem| (Exit::Internal, format!("{place}: {problem}")))?;
        }
        let done = if same { "unchanged" } else { "written anew" };
        Ok((Exit::Well, format!("{place} {done}\n")))
    }
}
