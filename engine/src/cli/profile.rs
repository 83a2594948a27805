//! `serve --profile FILE`: a JSON file that names a model and options, shared with the benchmark
//! harness. It becomes arguments, so that every option has one meaning wherever it stands.

use super::Failure;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The file. What only the harness reads is checked and passed over.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)] // fields of the harness
struct Profile {
    schema_version: u32,
    name: String,
    program: String,
    subcommand: Vec<String>,
    /// Relative to the folder of the profile.
    model: PathBuf,
    /// Flag to value.
    options: BTreeMap<String, String>,
    port_option: String,
    ready_line: Option<String>,
    ready_path: String,
    ready_timeout_s: u64,
}

/// Puts the profile's model and options in front of the arguments that are given; those win.
pub(super) fn expand(arguments: Vec<String>) -> Result<Vec<String>, Failure> {
    let given = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let at = arguments.iter().position(|argument| argument == "--profile");
    let (Some("serve"), Some(at)) = (arguments.first().map(String::as_str), at) else {
        return Ok(arguments);
    };
    let Some(path) = arguments.get(at + 1) else { return Ok(arguments) };
    let profile = read(Path::new(path))
        .map_err(|problem| Failure::Input(format!("profile {path}: {problem}")))?;
    let model = Path::new(path).with_file_name("").join(profile.model);
    let model = ("--model".to_owned(), model.to_string_lossy().into_owned());
    let options = profile.options.into_iter().chain([model]);
    let wanted = options.filter(|(flag, _)| !given(flag)).flat_map(|(flag, value)| [flag, value]);
    Ok([String::from("serve")].into_iter().chain(wanted).chain(arguments[1..].to_vec()).collect())
}

fn read(path: &Path) -> Result<Profile, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let profile: Profile = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if profile.schema_version != 1 {
        return Err(format!("schema_version is {}, expected 1", profile.schema_version));
    }
    if profile.subcommand != ["serve"] {
        return Err(format!("subcommand is {:?}, expected [\"serve\"]", profile.subcommand));
    }
    if let Some(flag) = ["--model", "--profile"].iter().find(|f| profile.options.contains_key(**f))
    {
        return Err(format!("options holds {flag}, which has a place of its own"));
    }
    Ok(profile)
}
