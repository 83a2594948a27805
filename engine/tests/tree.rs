//! What the crate brings along: its dependency trees, by name. A new line here needs a line in
//! ARCHITECTURE.md that says what it saves.

use std::process::Command;

/// Names in the tree of normal dependencies, each once.
fn check(features: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(["tree", "--locked", "--offline"]);
    command.args(["-p", "strata-engine", "-e", "normal", "--prefix", "none", "-f", "{p}"]);
    command.args(["--target", "x86_64-unknown-linux-gnu"]).args(features);
    let output = command.output().expect("cargo runs: it built this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("cargo prints UTF-8");
    let names = text.lines().filter_map(|line| line.split(' ').next());
    let mut names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    names.join("\n")
}

#[test]
fn the_pure_library() {
    insta::assert_snapshot!(check(&["--no-default-features"]));
}

#[test]
fn the_library_with_the_server() {
    insta::assert_snapshot!(check(&["--no-default-features", "--features", "server"]));
}

#[test]
fn the_command() {
    insta::assert_snapshot!(check(&[]));
}
