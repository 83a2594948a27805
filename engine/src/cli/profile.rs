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
    /// Flag to value; empty for a switch. A value that names a file beside the profile is a path.
    options: BTreeMap<String, String>,
    port_option: String,
    #[serde(deserialize_with = "Option::deserialize")] // null, but not left out
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
    let folder = Path::new(path).with_file_name("");
    let model = folder.join(profile.model).to_string_lossy().into_owned();
    let mut expanded = vec!["serve".to_owned()];
    let model = ("--model".to_owned(), model);
    for (flag, value) in profile.options.into_iter().chain([model]) {
        if !given(&flag) {
            expanded.push(flag);
            expanded.extend((!value.is_empty()).then(|| resolve(&folder, value)));
        }
    }
    expanded.extend_from_slice(&arguments[1..]);
    Ok(expanded)
}

/// A value that names a file, as a path that holds from anywhere.
fn resolve(folder: &Path, value: String) -> String {
    let path = folder.join(&value);
    if path.is_file() { path.to_string_lossy().into_owned() } else { value }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_become_arguments() {
        let folder = std::env::temp_dir().join(format!("strata-profile-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = |name: &str, text: &str| {
            std::fs::write(folder.join(name), text).unwrap();
            folder.join(name).to_str().unwrap().to_owned()
        };
        let side = file("d.pack", "");
        let text = serde_json::json!({
            "schema_version": 1, "name": "n", "program": "strata", "subcommand": ["serve"],
            "model": "m.gguf",
            "options": {"--ctx": "256", "--draft": "d.pack", "--kv": "f16", "--switch": ""},
            "port_option": "--port", "ready_line": null, "ready_path": "/health",
            "ready_timeout_s": 5,
        });
        let profile = file("p.json", &text.to_string());
        let arguments = ["serve", "--profile", &profile, "--kv", "f32"].map(str::to_owned);
        let model = folder.join("m.gguf");
        let expanded = expand(arguments.to_vec()).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let model = model.to_str().unwrap();
        let wanted = ["--ctx", "256", "--draft", &side, "--switch", "--model", model];
        let rest = ["--profile", &profile, "--kv", "f32"];
        assert_eq!(expanded, [&["serve"], &wanted[..], &rest].concat());
    }
}
