//! Records what this build is made of: commit, profile, features, target, compiler. Everything
//! outside git is said to be unknown, with the reason.

#![allow(clippy::disallowed_methods)] // a build script's input is its environment

use std::path::Path;
use std::process::Command;

fn main() {
    let package = variable("CARGO_MANIFEST_DIR");
    let (commit, dirty, missing) = match commit(Path::new(&package)) {
        Ok((commit, dirty)) => (commit, dirty.to_string(), ""),
        Err(reason) => (String::new(), String::new(), reason),
    };
    let kind = if std::env::var_os("STRATA_RELEASE").is_some() { "release" } else { "source" };
    let rustc = run(Command::new(variable("RUSTC")).arg("--version")).unwrap_or_default();
    let facts = [
        ("COMMIT", commit),
        ("DIRTY", dirty),
        ("COMMIT_MISSING", missing.into()),
        ("BUILD_KIND", kind.into()),
        ("PROFILE", variable("PROFILE")),
        ("FEATURES", features()),
        ("TARGET", variable("TARGET")),
        ("RUSTC", rustc),
    ];
    for (name, value) in facts {
        println!("cargo::rustc-env=STRATA_{name}={value}");
    }
    println!("cargo::rerun-if-env-changed=STRATA_RELEASE");
}

/// The checked-out commit, and whether a file this build reads differs from it. Watches what can
/// change either.
fn commit(package: &Path) -> Result<(String, bool), &'static str> {
    let workspace = package.parent().ok_or("the package has no workspace around it")?;
    let git = |arguments: &[&str]| run(Command::new("git").current_dir(workspace).args(arguments));
    let top = git(&["rev-parse", "--show-toplevel"]).ok_or("built outside a git checkout")?;
    if Path::new(&top).canonicalize().ok() != workspace.canonicalize().ok() {
        return Err("built inside another project's git checkout");
    }
    let commit = git(&["rev-parse", "HEAD"]).ok_or("built from a checkout without a commit")?;
    let status =
        git(&[&["status", "--porcelain", "--untracked-files=no", "--"], &INPUTS[..]].concat());
    let watched =
        ["HEAD", "index", "logs/HEAD"].map(|file| git(&["rev-parse", "--git-path", file]));
    for path in watched.iter().flatten().map(String::as_str).chain(INPUTS) {
        let path = workspace.join(path);
        // A watched file that does not exist would make every build start anew.
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    Ok((commit, status.is_some_and(|changes| !changes.is_empty())))
}

/// What the library and the binary are built from.
const INPUTS: [&str; 5] =
    ["Cargo.toml", "Cargo.lock", "engine/Cargo.toml", "engine/build.rs", "engine/src"];

fn features() -> String {
    let names = std::env::vars().filter_map(|(name, _)| {
        let feature = name.strip_prefix("CARGO_FEATURE_")?;
        Some(feature.to_lowercase().replace('_', "-"))
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.join(",")
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// What a command prints, without the line end; `None` when it fails.
fn run(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}
