//! `strata-bench schema`: the forms of files as JSON Schema.

use crate::exit::{Exit, Failure};
use argh::{FromArgValue, FromArgs};
use strata_harness::check::schema;

/// Print the JSON Schema of a kind of file.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "schema", help_triggers("-h", "--help"))]
pub(crate) struct SchemaCommand {
    /// report (the default), publication, profile, lengths or corpus-build
    #[argh(positional, default = "Kind::Report", arg_name = "kind")]
    kind: Kind,
}

/// A kind of file.
#[derive(FromArgValue, Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Report,
    Publication,
    Profile,
    Lengths,
    #[argh(name = "corpus-build")]
    CorpusBuild,
}

impl SchemaCommand {
    pub(crate) fn answer(&self) -> Result<(Exit, String), Failure> {
        let text = match self.kind {
            Kind::Report => format!("{:#}\n", schema::report()),
            Kind::Publication => format!("{:#}\n", schema::publication()),
            Kind::Profile => include_str!("../../../spec/schema/profile.schema.json").to_string(),
            Kind::Lengths => include_str!("../../../spec/schema/lengths.schema.json").to_string(),
            Kind::CorpusBuild => {
                include_str!("../../../spec/schema/corpus-build.schema.json").to_string()
            }
        };
        Ok((Exit::Well, text))
    }
}
