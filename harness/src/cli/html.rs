//! `strata-bench html`: a report or a comparison as one page.

use crate::exit::{Exit, Failure};
use argh::FromArgs;
use std::fs;
use std::path::{Path, PathBuf};
use strata_harness::compare::{Comparison, Side};
use strata_harness::corpus::Suite;
use strata_harness::html::{comparison_page, report_page};
use strata_harness::view::open;

/// Make one self-contained page of a report, or of two compared: no script, nothing loaded, for a
/// screen and for paper.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "html", help_triggers("-h", "--help"))]
pub(crate) struct HtmlCommand {
    /// a report, or a folder with results.json
    #[argh(positional, arg_name = "report")]
    path: PathBuf,
    /// another, to be compared with it
    #[argh(positional, arg_name = "other")]
    other: Option<PathBuf>,
    /// where to write the page; without it, standard output
    #[argh(option, arg_name = "file")]
    out: Option<PathBuf>,
}

impl HtmlCommand {
    pub(crate) fn answer(&self) -> Result<(Exit, String), Failure> {
        let usage = |message: String| (Exit::Usage, message);
        let protocols = Suite::protocols();
        let document = open(&self.path, &protocols).map_err(usage)?;
        let page = match &self.other {
            None => report_page(&document),
            Some(other) => {
                let other = open(other, &protocols).map_err(usage)?;
                let sides = (Side::new("A", &document), Side::new("B", &other));
                let comparison = Comparison::new(sides.0, sides.1, None);
                comparison_page(&comparison, [&document, &other])
            }
        };
        match &self.out {
            None => Ok((Exit::Well, page)),
            Some(file) => write(file, &page).map(|said| (Exit::Well, said)).map_err(usage),
        }
    }
}

/// Writes the page; a file that is no page is not written over, so that no report is lost.
fn write(file: &Path, page: &str) -> Result<String, String> {
    let place = file.display();
    let begins = page.lines().next().unwrap_or_default();
    if file.exists() && !fs::read(file).is_ok_and(|old| old.starts_with(begins.as_bytes())) {
        return Err(format!("--out {place}: exists and is no page; name another file"));
    }
    fs::write(file, page).map_err(|error| format!("--out {place}: cannot be written: {error}"))?;
    Ok(format!("{place}: {} bytes\n", page.len()))
}
