//! What this binary, its model and its options are, as `GET /v1/status` tells it. The keys are a
//! contract: benchmark harnesses read them. Unknown is null with a reason.

use crate::Model;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Everything but the counters; fixed from the start.
#[derive(Debug, Clone, Serialize)]
pub(super) struct About {
    engine: Engine,
    build: Build,
    pub(super) model: ModelFacts,
    tokenizer: TokenizerFacts,
    template: TemplateFacts,
    context_tokens: usize,
    /// Requests that run at once.
    capacity: usize,
    device: DeviceFacts,
    options: OptionGroups,
}

impl About {
    pub(super) fn new(model: &Model, context: usize, facts: &super::Facts) -> About {
        let tokenizer = model.tokenizer();
        let (kind, pre) = tokenizer.kind();
        let (device, kernels) = model.device();
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        let parts = model.file().parts();
        About {
            engine: Engine::current(),
            build: Build::current(),
            model: ModelFacts {
                id: model.id(),
                quantization: model.quantization(),
                bytes: model.file().byte_len(),
                files: parts.iter().filter_map(|part| part.path.as_deref()).map(shown).collect(),
                path: shown(&facts.model_path),
            },
            tokenizer: TokenizerFacts {
                sha256: tokenizer.digest().into(),
                kind: kind.into(),
                pre: pre.into(),
            },
            template: TemplateFacts {
                sha256: model.template().digest().into(),
                text: model.template().source().map(Into::into),
            },
            context_tokens: context,
            capacity: 1,
            device: DeviceFacts { name: device, kernels, threads: facts.threads },
            options: facts.options.clone(),
        }
    }

    /// The whole status.
    pub(super) fn status(&self, requests_served: u64) -> Value {
        let mut status = serde_json::to_value(self).expect("plain data serialises");
        status["requests_served"] = requests_served.into();
        status
    }
}

/// Which engine this is.
#[derive(Debug, Clone, Serialize)]
pub struct Engine {
    name: &'static str,
    version: &'static str,
    commit: Option<&'static str>,
    dirty: Option<bool>,
    commit_missing: Option<&'static str>,
}

impl Engine {
    /// As the build recorded it.
    pub fn current() -> Engine {
        let commit = Some(env!("STRATA_COMMIT")).filter(|commit| !commit.is_empty());
        Engine {
            name: "strata",
            version: env!("CARGO_PKG_VERSION"),
            commit,
            dirty: commit.map(|_| env!("STRATA_DIRTY") == "true"),
            commit_missing: commit.is_none().then_some(env!("STRATA_COMMIT_MISSING")),
        }
    }
}

impl std::fmt::Display for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Engine { name, version, .. } = self;
        match (self.commit, self.commit_missing) {
            (Some(commit), _) => {
                let dirty = if self.dirty == Some(true) { ", dirty" } else { "" };
                write!(f, "{name} {version} (commit {commit}{dirty})")
            }
            (None, reason) => {
                write!(f, "{name} {version} (commit unknown: {})", reason.unwrap_or("no reason"))
            }
        }
    }
}

#[derive(Debug, Clone, Serialize)]
struct Build {
    /// `source` or `release`.
    kind: &'static str,
    options: BuildOptions,
}

#[derive(Debug, Clone, Serialize)]
struct BuildOptions {
    profile: &'static str,
    features: Vec<&'static str>,
    target: &'static str,
    rustc: &'static str,
}

impl Build {
    fn current() -> Build {
        Build {
            kind: env!("STRATA_BUILD_KIND"),
            options: BuildOptions {
                profile: env!("STRATA_PROFILE"),
                features: env!("STRATA_FEATURES").split_terminator(',').collect(),
                target: env!("STRATA_TARGET"),
                rustc: env!("STRATA_RUSTC"),
            },
        }
    }
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct ModelFacts {
    pub(super) id: String,
    path: String,
    quantization: String,
    bytes: u64,
    /// All shards of a split model; none if it came from memory.
    files: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
struct TokenizerFacts {
    sha256: String,
    kind: String,
    pre: String,
}

#[derive(Debug, Clone, Serialize)]
struct TemplateFacts {
    sha256: String,
    /// Null for the plain fallback.
    text: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
struct DeviceFacts {
    name: &'static str,
    kernels: &'static str,
    threads: usize,
}

/// Resolved command-line options, name to value, in the groups of a benchmark report.
#[derive(Debug, Clone, Default, Serialize)]
#[allow(missing_docs)]
pub struct OptionGroups {
    pub kv_cache: BTreeMap<String, String>,
    pub expert_cache: BTreeMap<String, String>,
    pub offloading: BTreeMap<String, String>,
    pub prefill: BTreeMap<String, String>,
    pub mtp: BTreeMap<String, String>,
    pub calibration: BTreeMap<String, String>,
    pub experimental_options: BTreeMap<String, String>,
    pub other: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModelOptions;
    use crate::arch::testing::Tiny;
    use crate::gguf::testing::Folder;

    #[test]
    fn a_split_model_is_all_its_files() {
        let shards = [0..7, 7..20].map(|tensors| {
            let mut tiny = Tiny::new();
            tiny.set("split.no", u32::from(tensors.start > 0));
            tiny.set("split.count", 2_u32);
            tiny.set("split.tensors.count", tiny.tensors.len() as u32);
            tiny.tensors = tiny.tensors.drain(tensors).collect();
            tiny.bytes()
        });
        let folder = Folder::new("status");
        let paths = [0, 1].map(|index| {
            folder.write(&format!("Tiny-0000{}-of-00002.gguf", index + 1), &shards[index])
        });
        let model = Model::open(&paths[1], &ModelOptions::default()).unwrap();
        let facts = crate::server::Facts {
            model_path: paths[1].clone(),
            threads: 1,
            options: OptionGroups::default(),
        };
        let status = About::new(&model, 32, &facts).status(0);
        let expected = serde_json::json!({
            "id": "tiny-f32",
            "path": paths[1],
            "quantization": "F32",
            "bytes": shards.concat().len(),
            "files": paths,
        });
        assert_eq!(status["model"], expected);
    }
}
