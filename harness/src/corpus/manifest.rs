//! `manifest.sha256`: one line a file, `<sha256>  <path>`, sorted by path, as `sha256sum -c` reads
//! it. Its own digest names the whole corpus.

use super::Files;
use crate::digest::sha256;
use crate::manifest::{line, lines};
use std::collections::BTreeSet;

/// Its path in the corpus.
pub(super) const NAME: &str = "manifest.sha256";

pub(super) fn write(files: &Files) -> String {
    files.iter().map(|(path, text)| line(path, &sha256(text.as_bytes()))).collect()
}

/// Checks that `files` are those of the manifest, no more, no fewer, each with its digest.
pub(super) fn check(manifest: &str, files: &Files) -> Result<(), String> {
    let mut listed = BTreeSet::new();
    for (i, (text, line)) in manifest.lines().zip(lines(manifest)).enumerate() {
        let at = format!("{NAME} line {}", i + 1);
        let Some((path, digest)) = line else {
            return Err(format!("{at} is `{text}`; expected `<sha256>  <path>`"));
        };
        if !is_plain(path) {
            return Err(format!("{at} names `{path}`; paths are relative, without `.` or `..`"));
        }
        if listed.last().is_some_and(|last| path <= *last) {
            return Err(format!("{at} names `{path}` out of order; sort by path, each once"));
        }
        listed.insert(path);
        let Some(text) = files.get(path) else {
            return Err(format!("{path} is missing; {at} lists it"));
        };
        let found = sha256(text.as_bytes());
        if found != digest {
            return Err(format!("{path} has sha256 {found}; {at} says {digest}; restore the file"));
        }
    }
    match files.keys().find(|path| !listed.contains(path.as_str())) {
        Some(path) => Err(format!("{path} is not in {NAME}; remove it")),
        None => Ok(()),
    }
}

/// Relative, and every part a name of its own.
fn is_plain(path: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    path.split('/').all(|part| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric()) && part.chars().all(allowed)
    })
}
