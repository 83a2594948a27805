//! What can be found out about the machine without asking anybody: each prober reads files below a
//! root it is given, so that tests bring their own, and returns a fact or the reason it is unknown.

pub mod cpu;
pub mod files;
pub mod gpu;
pub mod memory;
pub mod process;
pub mod software;
pub mod storage;

use crate::fact::Fact;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A graphics card, `/hardware/gpus/*`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the report's names
pub struct Gpu {
    pub device_index: u32,
    pub name: String,
    pub memory_bytes: Fact<u64>,
    pub memory_kind: String,
    pub power_limit_w: Fact<f64>,
}

/// A drive that holds the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the report's names
pub struct Drive {
    pub kind: Fact<String>,
    pub model: Fact<String>,
    pub bus: Fact<String>,
}

/// A piece of software and its version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the report's names
pub struct Named {
    pub name: String,
    pub version: String,
}

/// A file by base name and SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the report's names
pub struct HashedFile {
    pub path: String,
    pub sha256: String,
}

/// What is known of the machine before the first request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the report's names
pub struct Machine {
    pub gpus: Fact<Vec<Gpu>>,
    pub cpu: Fact<String>,
    pub ram_bytes: Fact<u64>,
    pub storage: Fact<Vec<Drive>>,
    pub os_name: Fact<String>,
    pub os_version: Fact<String>,
    pub drivers: Fact<Vec<Named>>,
    pub runtime: Fact<Vec<Named>>,
    pub governor: Fact<String>,
    pub load: Fact<[f64; 3]>,
}

impl Machine {
    /// The machine whose `/` is `root`. `model` is a file of the model; `uses_gpu` what the engine
    /// says of its device, if anything.
    pub fn probe(root: &Path, model: Option<&Path>, uses_gpu: Option<bool>) -> Machine {
        let cards = gpu::probe(root, uses_gpu);
        Machine {
            gpus: cards.gpus,
            cpu: cpu::model(root),
            ram_bytes: cpu::ram_bytes(root),
            storage: match model {
                Some(model) => storage::holding(root, model),
                None => Fact::Unknown(storage::NOT_FOUND.to_string()),
            },
            os_name: software::os_name(root),
            os_version: software::kernel_release(root),
            drivers: cards.drivers,
            runtime: cards.runtime,
            governor: cpu::governor(root),
            load: cpu::load(root),
        }
    }

    /// A machine that cannot be looked at, for one reason.
    pub fn unknown(reason: &str) -> Machine {
        fn no<T>(reason: &str) -> Fact<T> {
            Fact::Unknown(reason.to_string())
        }
        Machine {
            gpus: no(reason),
            cpu: no(reason),
            ram_bytes: no(reason),
            storage: no(reason),
            os_name: no(reason),
            os_version: no(reason),
            drivers: no(reason),
            runtime: no(reason),
            governor: no(reason),
            load: no(reason),
        }
    }
}

/// A file of the kernel's or the distribution's, below `root`; the reason names it as on a running
/// system.
fn read(root: &Path, file: &str) -> Fact<String> {
    match std::fs::read(root.join(file)) {
        Ok(bytes) => Fact::Known(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => Fact::Unknown(format!("/{file} cannot be read: {error}")),
    }
}

/// What `find` sees in the file, or that it has no `what`.
fn read_field<T>(
    root: &Path,
    file: &str,
    what: &str,
    find: impl FnOnce(&str) -> Option<T>,
) -> Fact<T> {
    match read(root, file) {
        Fact::Known(text) => Fact::of(find(&text), format!("/{file} has no {what}")),
        Fact::Unknown(reason) => Fact::Unknown(reason),
    }
}

/// A root directory for tests: files with their contents, links with their targets.
#[cfg(test)]
pub(crate) struct Tree {
    pub(crate) root: crate::scratch::Scratch,
}

#[cfg(test)]
impl Tree {
    pub(crate) fn new(files: &[(&str, &str)]) -> Tree {
        let root = crate::scratch::Scratch::new();
        for (path, content) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        Tree { root }
    }

    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }
}
