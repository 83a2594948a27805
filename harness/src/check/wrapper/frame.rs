//! The name of a wrapper's format.

use crate::check::format::FORMAT;
use crate::check::report::{Report, printed, quoted};
use crate::check::rule::{Log, breach};

pub(in crate::check) fn foreign_format(report: &Report, log: &mut Log) {
    let own = report.text("/format").is_some_and(|name| !name.is_empty() && name != FORMAT);
    log.judge(own, || {
        let expected = format!("a name of its own, not {}", quoted(FORMAT));
        breach("/format", expected, printed(report.at("/format")))
    });
    log.judge(report.count("/schema_version").is_some_and(|version| version > 0), || {
        let found = printed(report.at("/schema_version"));
        breach("/schema_version", "a version of its own, from 1", found)
    });
}
