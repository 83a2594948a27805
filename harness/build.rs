//! Embeds the commit this program is built from, and whether a file this build reads differs from
//! it. Outside a checkout of this project both are empty, and reports say so.

#![allow(clippy::print_stdout)] // Cargo reads a build script's standard output

use std::path::Path;
use std::process::Command;

/// What the library and the program are built from, seen from the workspace.
const INPUTS: [&str; 6] =
    ["Cargo.toml", "Cargo.lock", "harness/Cargo.toml", "harness/build.rs", "harness/src", "spec"];

fn main() {
    let (commit, dirty) = commit().unwrap_or_default();
    println!("cargo::rustc-env=STRATA_BENCH_COMMIT={commit}");
    println!("cargo::rustc-env=STRATA_BENCH_DIRTY={dirty}");
    let watched =
        ["HEAD", "index", "logs/HEAD"].map(|file| git(&["rev-parse", "--git-path", file]));
    for path in watched.iter().flatten().map(String::as_str).chain(INPUTS) {
        let path = Path::new("..").join(path);
        // A watched file that does not exist would make every build start anew.
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
}

/// The commit and `true` or `false`, unless this folder only happens to lie inside somebody else's
/// checkout.
fn commit() -> Option<(String, String)> {
    let top = git(&["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != Path::new("..").canonicalize().ok()? {
        return None;
    }
    let commit = git(&["rev-parse", "HEAD"])?;
    let status = ["status", "--porcelain", "--untracked-files=no", "--"];
    let changes = git(&[&status, &INPUTS[..]].concat())?;
    Some((commit, (!changes.is_empty()).to_string()))
}

/// What git prints in the workspace; a build script starts in its package.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").current_dir("..").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_string())
}
