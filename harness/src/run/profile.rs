//! An engine profile, `spec/schema/profile.schema.json`: how a run starts an engine, and which of
//! its options belong to which group of a report. It starts nothing itself.

use crate::plain_file;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Which options belong to which group of `/configuration`; all others are other options.
const OPTION_GROUPS: &str = include_str!("../../../spec/option-groups.json");

/// Longest profile that is read.
const MAX_BYTES: u64 = 1 << 20;

/// A profile file. Unknown fields are refused.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the schema describes them
pub struct Profile {
    pub schema_version: u32,
    pub name: String,
    pub program: String,
    pub subcommand: Vec<String>,
    pub model: String,
    pub options: Map<String, Value>,
    pub port_option: String,
    #[serde(deserialize_with = "Option::deserialize")] // null, but not left out
    pub ready_line: Option<String>,
    pub ready_path: String,
    pub ready_timeout_s: u64,
    /// The folder that relative paths start from.
    #[serde(skip)]
    folder: PathBuf,
}

impl Profile {
    /// Reads a profile; the message of a refusal names the file and the field.
    pub fn open(path: &Path) -> Result<Profile, String> {
        let place = path.display();
        let text = plain_file::read_text(path, MAX_BYTES)
            .map_err(|problem| format!("profile {place}: {problem}"))?;
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        Profile::parse(&text, folder).map_err(|problem| format!("profile {place}: {problem}"))
    }

    fn parse(text: &str, folder: PathBuf) -> Result<Profile, String> {
        let mut profile: Profile =
            serde_json::from_str(text).map_err(|error| format!("not a profile: {error}"))?;
        profile.folder = folder;
        if profile.schema_version != 1 {
            return Err(format!("schema_version is {}; only 1 is known", profile.schema_version));
        }
        for (name, value) in &profile.options {
            if !name.starts_with('-') || !value.is_string() {
                return Err(format!(
                    "options `{name}`: {value}; give a name with its dashes and a text, \
                     empty for a switch"
                ));
            }
        }
        for (field, value, start) in [
            ("name", &profile.name, ""),
            ("program", &profile.program, ""),
            ("model", &profile.model, ""),
            ("port_option", &profile.port_option, "-"),
            ("ready_path", &profile.ready_path, "/"),
        ] {
            if value.is_empty() || !value.starts_with(start) {
                return Err(format!("{field} is `{value}`; it must be `{start}...`"));
            }
        }
        if profile.ready_line.as_deref() == Some("") {
            return Err("ready_line is empty, as every line begins; give its words, or null \
                        where ready_path alone tells"
                .to_string());
        }
        if !(1..=86_400).contains(&profile.ready_timeout_s) {
            return Err(format!(
                "ready_timeout_s is {}; it must be 1 to 86400",
                profile.ready_timeout_s
            ));
        }
        Ok(profile)
    }

    /// The model file.
    pub fn model_path(&self) -> PathBuf {
        self.folder.join(&self.model)
    }

    /// Where the program is looked for first. `beside` is the folder of this program.
    pub fn program(&self, beside: &Path) -> PathBuf {
        if self.program.contains('/') {
            return self.folder.join(&self.program);
        }
        let neighbour = beside.join(&self.program);
        if neighbour.is_file() { neighbour } else { PathBuf::from(&self.program) }
    }

    /// The arguments of the program that make it listen on `port`.
    pub fn arguments(&self, port: u16) -> Vec<String> {
        let mut arguments = self.subcommand.clone();
        arguments.extend(["--model".to_string(), self.model_path().display().to_string()]);
        for (name, value) in self.texts() {
            arguments.push(name.to_string());
            if !value.is_empty() {
                arguments.push(self.resolve(value));
            }
        }
        arguments.extend([self.port_option.clone(), port.to_string()]);
        arguments
    }

    /// Longest wait until the engine serves.
    pub fn ready_timeout(&self) -> Duration {
        Duration::from_secs(self.ready_timeout_s)
    }

    /// The files that options name, besides the model.
    pub fn side_files(&self) -> Vec<PathBuf> {
        self.texts().filter_map(|(_, value)| self.file(value)).collect()
    }

    /// The options by group of the report, paths reduced to their base names.
    pub fn grouped(&self) -> GroupedOptions {
        let groups = option_groups();
        let empty = groups.keys().map(|group| (group.clone(), Value::Object(Map::new())));
        let mut grouped = GroupedOptions { groups: empty.collect(), other: Map::new() };
        for (name, value) in self.texts() {
            let base_name = self.file(value).and_then(|file| Some(file.file_name()?.to_owned()));
            let value = base_name.map_or(value.to_string(), |n| n.to_string_lossy().into_owned());
            let holds = |names: &Value| {
                names.as_array().is_some_and(|names| names.iter().any(|known| known == name))
            };
            let group = groups.iter().find(|(_, names)| holds(names)).map(|(group, _)| group);
            let options = match group.and_then(|group| grouped.groups.get_mut(group)) {
                Some(Value::Object(options)) => options,
                _ => &mut grouped.other,
            };
            options.insert(name.to_string(), Value::String(value));
        }
        grouped
    }

    fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.options.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
    }

    /// A value that names a file, as a path that holds from anywhere.
    fn resolve(&self, value: &str) -> String {
        self.file(value).map_or(value.to_string(), |file| file.display().to_string())
    }

    fn file(&self, value: &str) -> Option<PathBuf> {
        let path = self.folder.join(value);
        (!value.is_empty() && path.is_file()).then_some(path)
    }
}

fn option_groups() -> Map<String, Value> {
    serde_json::from_str(OPTION_GROUPS).expect("spec/option-groups.json is an object")
}

/// The groups of `/configuration` in the order of a report.
pub fn group_names() -> Vec<String> {
    option_groups().keys().cloned().collect()
}

/// The options an engine runs with.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupedOptions {
    /// Each group of `/configuration` with its options, empty ones too.
    pub groups: Map<String, Value>,
    /// Options of no group.
    pub other: Map<String, Value>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Tree;
    use serde_json::json;

    fn text() -> String {
        json!({
            "schema_version": 1, "name": "n", "program": "strata", "subcommand": ["serve"],
            "model": "m.gguf",
            "options": {"--kv": "f16", "--draft-model": "d.pack", "--ctx": "512", "--jinja": ""},
            "port_option": "--port", "ready_line": null, "ready_path": "/health",
            "ready_timeout_s": 5,
        })
        .to_string()
    }

    #[test]
    fn the_embedded_profile_is_one() {
        let text = include_str!("../../../spec/profiles/embedded.json");
        let profile = Profile::parse(text, PathBuf::from("spec/profiles")).unwrap();
        let words = profile.arguments(0).join(" ");
        let expected = "serve --model \
            spec/profiles/../../engine/models/stories260K/stories260K.f16.gguf \
            --ctx 512 --kv f16 --threads 2 --port 0";
        assert_eq!(words, expected);
    }

    #[test]
    fn two_profiles_serve_one_model_alike() {
        let peer = include_str!("../../../spec/profiles/llama-server.json");
        let ours = include_str!("../../../spec/profiles/smollm2.json");
        let [peer, ours] = [peer, ours].map(|text| Profile::parse(text, PathBuf::new()).unwrap());
        assert_eq!(peer.model, ours.model);
        for (theirs, name) in
            [("--ctx-size", "--ctx"), ("--threads", "--threads"), ("--cache-type-k", "--kv")]
        {
            assert_eq!(peer.options[theirs], ours.options[name], "{name}");
        }
    }

    #[test]
    fn the_schema_names_the_same_fields() {
        let schema = include_str!("../../../spec/schema/profile.schema.json");
        let schema: Value = serde_json::from_str(schema).unwrap();
        let described: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        let profile: Map<String, Value> = serde_json::from_str(&text()).unwrap();
        assert_eq!(described, profile.keys().collect::<Vec<_>>());
        assert_eq!(schema["required"], json!(described));
        for field in described {
            let mut less = profile.clone();
            less.remove(field);
            let error = Profile::parse(&json!(less).to_string(), PathBuf::new()).unwrap_err();
            assert!(error.contains(&format!("missing field `{field}`")), "{error}");
        }
    }

    #[test]
    fn options_become_arguments_files_and_groups() {
        let tree = Tree::new(&[("p.json", &text()), ("d.pack", "x"), ("bin/strata", "")]);
        let at = |name: &str| tree.path().join(name);
        let profile = Profile::open(&at("p.json")).unwrap();
        assert_eq!(
            profile.arguments(7),
            [
                "serve",
                "--model",
                at("m.gguf").to_str().unwrap(),
                "--kv",
                "f16",
                "--draft-model",
                at("d.pack").to_str().unwrap(),
                "--ctx",
                "512",
                "--jinja",
                "--port",
                "7",
            ]
        );
        assert_eq!(profile.side_files(), [at("d.pack")]);
        let grouped = profile.grouped();
        let expected = json!({
            "kv_cache": {"--kv": "f16"}, "expert_cache": {}, "offloading": {}, "prefill": {},
            "mtp": {"--draft-model": "d.pack"}, "calibration": {}, "experimental_options": {},
        });
        assert_eq!(Value::Object(grouped.groups), expected);
        assert_eq!(Value::Object(grouped.other), json!({"--ctx": "512", "--jinja": ""}));
        assert_eq!(profile.program(&at("bin")), at("bin/strata"));
        assert_eq!(profile.program(&at("elsewhere")), PathBuf::from("strata"));
    }

    /// `change` replaces the first text by the second; the refusal begins with `expected`.
    fn check(change: (&str, &str), expected: &str) {
        let error = Profile::parse(&text().replace(change.0, change.1), PathBuf::new());
        let error = error.unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn unusable_profiles_are_refused() {
        check(("\"name\"", "\"nmae\""), "not a profile: unknown field `nmae`");
        check(("\"schema_version\":1", "\"schema_version\":2"), "schema_version is 2; only 1");
        check(("\"512\"", "512"), "options `--ctx`: 512; give a name");
        check(("\"--kv\"", "\"kv\""), "options `kv`: \"f16\"; give a name");
        check(("\"/health\"", "\"health\""), "ready_path is `health`; it must be `/...`");
        check(("\"ready_line\":null", "\"ready_line\":\"\""), "ready_line is empty");
        check(("\"ready_timeout_s\":5", "\"ready_timeout_s\":0"), "ready_timeout_s is 0");
        let error = Profile::open(Path::new("/nonexistent.json")).unwrap_err();
        assert!(error.starts_with("profile /nonexistent.json: cannot be read: "), "{error}");
    }
}
