//! Embeds the commit this program is built from, and whether its sources differ from it. Outside a
//! checkout both are empty, and reports say so.

#![allow(clippy::print_stdout)] // Cargo reads a build script's standard output

use std::process::Command;

fn main() {
    let commit = commit();
    let dirty = commit.as_ref().and_then(|_| {
        let sources = ["status", "--porcelain", "--untracked-files=no", "--", ".", "../spec"];
        git(&sources).map(|changes| (!changes.is_empty()).to_string())
    });
    println!("cargo::rustc-env=STRATA_BENCH_COMMIT={}", commit.unwrap_or_default());
    println!("cargo::rustc-env=STRATA_BENCH_DIRTY={}", dirty.unwrap_or_default());
    println!("cargo::rerun-if-changed=.");
    println!("cargo::rerun-if-changed=../spec");
    // It grows with every commit and checkout.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
}

/// The commit, unless this folder only happens to lie inside somebody else's checkout.
fn commit() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "Cargo.toml"])?;
    git(&["rev-parse", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_string())
}
