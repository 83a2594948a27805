//! The house style as tests over the tree: sizes, headers, where unsafe may stand, who may use
//! whom. It reads files as text and knows nothing of what they do.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The only files with unsafe code, each for a reason ARCHITECTURE.md states.
const UNSAFE: [&str; 3] = [
    "engine/src/device/cpu/avx2.rs",
    "engine/src/device/cpu/avx512.rs",
    "engine/src/gguf/mapped.rs",
];

/// Engine modules from bottom to top, and the modules each may use. `Token` and `Error` are free.
const LAYERS: [(&str, &[&str]); 9] = [
    ("quant", &[]),
    ("gguf", &["quant"]),
    ("device", &["quant", "gguf"]),
    ("memory", &["device"]),
    ("arch", &["quant", "gguf", "device", "memory"]),
    ("text", &["gguf"]),
    ("model", &["gguf", "quant", "device", "memory", "arch", "text"]),
    ("session", &["memory", "arch", "text", "model"]),
    ("server", &["quant", "gguf", "device", "memory", "text", "model", "session"]),
];

/// Names the crate root re-exports, and the module each belongs to.
const ROOT_NAMES: [(&str, &str); 9] = [
    ("Model", "model"),
    ("ModelOptions", "model"),
    ("Session", "session"),
    ("SessionOptions", "session"),
    ("Generation", "session"),
    ("GenerationOptions", "session"),
    ("Finish", "session"),
    ("Cancel", "session"),
    ("Step", "session"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace member").to_path_buf()
}

/// Every file below `folder` whose name ends in `ending`, with its path from the root.
fn files(folder: &str, ending: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut pending = vec![root().join(folder)];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
                found.push((name, String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()));
            }
        }
    }
    found.sort();
    found
}

fn rust_files() -> Vec<(String, String)> {
    [files("engine", ".rs"), files("harness", ".rs")].concat()
}

/// Fails with every finding, not with the first.
fn check(findings: Vec<String>) {
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

/// A file of unit tests beside the code.
fn is_test(name: &str) -> bool {
    name.ends_with("/tests.rs") || name.contains("/tests/") || name.ends_with("/testing.rs")
}

/// What a file holds before its unit tests.
fn production<'a>(name: &str, text: &'a str) -> &'a str {
    match is_test(name) {
        true => "",
        false => text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(""),
    }
}

/// Lines of the file without comments.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line.split("//").next().unwrap_or("")))
        .filter(|(_, line)| !line.trim().is_empty())
}

#[test]
fn files_are_short_and_say_what_they_are() {
    let mut findings = Vec::new();
    for (name, text) in rust_files() {
        let header = text.lines().take_while(|line| line.starts_with("//!")).count();
        let is_library_root = name.ends_with("lib.rs");
        if header == 0 || (header > 8 && !is_library_root) {
            findings.push(format!("{name}: opens with {header} `//!` lines, 1 to 8 wanted"));
        }
        let lines = text.lines().count();
        if lines > 700 {
            findings.push(format!("{name}: {lines} lines, at most 700"));
        }
        let mut in_snapshot = false; // whose lines are as long as what they show
        for (at, line) in text.lines().enumerate() {
            let columns = line.chars().count();
            if columns > 100 && !in_snapshot {
                findings.push(format!("{name}:{}: {columns} columns, at most 100", at + 1));
            }
            in_snapshot = line.ends_with("@\"")
                || line.contains("@r")
                || (in_snapshot && !line.trim().ends_with(");"));
        }
    }
    check(findings);
}

#[test]
fn functions_are_short() {
    let mut findings = Vec::new();
    for (name, text) in rust_files() {
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let indent = line.len() - line.trim_start().len();
            let is_function = line.trim_start().split(' ').take(4).any(|word| word == "fn");
            if !is_function || line.trim_start().starts_with("//") || line.ends_with(';') {
                continue;
            }
            let closing = format!("{}}}", " ".repeat(indent));
            let length = lines[at..].iter().position(|end| *end == closing).unwrap_or(0);
            if length > 70 {
                findings.push(format!("{name}:{}: {length} lines, at most 70", at + 1));
            }
        }
    }
    check(findings);
}

#[test]
fn unsafe_stands_where_the_list_says() {
    let mut findings = Vec::new();
    for (name, text) in rust_files() {
        let allowed = UNSAFE.contains(&name.as_str()) || name.ends_with("/tidy.rs");
        for (at, line) in code(&text) {
            // `'unsafe-inline'` of a page's policy is one word.
            let has_unsafe = line.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-'));
            if !allowed && has_unsafe.into_iter().any(|word| word == "unsafe") {
                findings.push(format!("{name}:{at}: unsafe code outside the listed files"));
            }
        }
    }
    check(findings);
}

#[test]
fn nothing_is_half_done_or_async() {
    // Spelled in pieces, so that this file does not find itself.
    let banned = [
        ["todo", "!("].concat(),
        ["unimplemented", "!("].concat(),
        ["dbg", "!("].concat(),
        ["#[ign", "ore"].concat(),
        ["async ", "fn"].concat(),
        ["async ", "move"].concat(),
        ["TO", "DO"].concat(),
        ["FIX", "ME"].concat(),
        ["../sh", "ared"].concat(),
    ];
    let mut findings = Vec::new();
    for (name, text) in rust_files() {
        for (at, line) in text.lines().enumerate() {
            for word in banned.iter().filter(|word| line.contains(word.as_str())) {
                findings.push(format!("{name}:{}: {word}", at + 1));
            }
        }
    }
    check(findings);
}

#[test]
fn engine_modules_use_only_what_lies_below_them() {
    let mut findings = Vec::new();
    for (name, text) in files("engine/src", ".rs") {
        let path = name.strip_prefix("engine/src/").expect("below it");
        let module = path.split(['/', '.']).next().expect("a name");
        let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| *layer == module) else {
            continue; // lib.rs, error.rs, main.rs and what only main.rs uses
        };
        for used in crate_names(production(&name, &text)) {
            let target = ROOT_NAMES.iter().find(|(n, _)| *n == used).map_or(used, |(_, m)| m);
            let is_layer = LAYERS.iter().any(|(layer, _)| *layer == target);
            if is_layer && target != module && !allowed.contains(&target) {
                findings.push(format!("{name}: {module} must not use {target}"));
            }
        }
    }
    check(findings);
}

/// First path segments after each `crate::`, those of a group included.
fn crate_names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for (at, found) in text.match_indices("crate::") {
        let rest = &text[at + found.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            names.push(first_segment(rest));
            continue;
        };
        let (mut depth, mut start) = (0, 0);
        for (at, character) in group.char_indices() {
            match character {
                '{' => depth += 1,
                '}' if depth > 0 => depth -= 1,
                ',' | '}' if depth == 0 => {
                    names.push(first_segment(group[start..at].trim()));
                    start = at + 1;
                    if character == '}' {
                        break;
                    }
                }
                _ => {}
            }
        }
    }
    names
}

fn first_segment(path: &str) -> &str {
    path.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("")
}

#[test]
fn crates_do_not_know_each_other() {
    let mut findings = Vec::new();
    for (name, text) in rust_files() {
        let other = if name.starts_with("engine/") { "strata_harness" } else { "strata_engine" };
        if !name.ends_with("tidy.rs") && text.contains(other) {
            findings.push(format!("{name}: mentions {other}"));
        }
        if name.starts_with("engine/src") && production(&name, &text).contains("spec/") {
            findings.push(format!("{name}: the engine never reads spec/"));
        }
    }
    check(findings);
}

#[test]
fn only_commands_touch_the_process() {
    let mut findings = Vec::new();
    for (name, text) in [files("engine/src", ".rs"), files("harness/src", ".rs")].concat() {
        if name.ends_with("src/main.rs") || name.contains("/src/cli") {
            continue;
        }
        for (at, line) in code(production(&name, &text)) {
            for word in ["println!(", "eprintln!(", "process::exit", "env::args", "env::var"] {
                if line.contains(word) {
                    findings.push(format!("{name}:{at}: {word} belongs in main.rs"));
                }
            }
        }
    }
    check(findings);
}

/// Ids as in `P9` or `B115` at the head of a text.
fn leading_ids(text: &str) -> Vec<String> {
    let Some((ids, _)) = text.split_once(": ") else { return Vec::new() };
    let is_id = |id: &str| {
        let digits = id.strip_prefix(['P', 'B']).unwrap_or("");
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let ids: Vec<String> = ids.split(", ").map(str::to_owned).collect();
    if ids.iter().all(|id| is_id(id)) { ids } else { Vec::new() }
}

#[test]
fn every_proof_is_a_test_and_every_numbered_test_a_proof() {
    let (mut tested, mut findings) = (BTreeSet::new(), Vec::new());
    for (name, text) in rust_files() {
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        for (at, line) in lines.iter().enumerate() {
            let ids = line.strip_prefix("/// ").map(leading_ids).unwrap_or_default();
            let mut below = lines[at..].iter().skip_while(|line| line.starts_with("///"));
            if !ids.is_empty() && below.next() != Some(&"#[test]") {
                findings.push(format!("{name}:{}: a number that stands above no test", at + 1));
            }
            tested.extend(ids);
        }
    }
    let table = fs::read_to_string(root().join("docs/proofs.md")).unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let stated: BTreeSet<String> =
        rows.flat_map(|(id, _)| leading_ids(&format!("{id}: "))).collect();
    findings.extend(stated.difference(&tested).map(|id| format!("docs/proofs.md: {id}: no test")));
    findings.extend(tested.difference(&stated).map(|id| format!("{id}: not in docs/proofs.md")));
    check(findings);
}

#[test]
fn golden_folders_name_their_source() {
    let mut findings = Vec::new();
    for entry in fs::read_dir(root().join("golden")).unwrap() {
        let folder = entry.unwrap().path();
        let named = folder.join("SOURCE").exists()
            || fs::read_dir(&folder).unwrap().all(|inner| {
                let inner = inner.unwrap().path();
                !inner.is_dir() || inner.join("SOURCE").exists()
            }) && fs::read_dir(&folder).unwrap().any(|inner| inner.unwrap().path().is_dir());
        if !named {
            findings.push(format!("{}: no SOURCE file", folder.display()));
        }
    }
    check(findings);
}
