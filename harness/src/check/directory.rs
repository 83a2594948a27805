//! The folder of a report: which files lie in it and what their digests are. The only part of a
//! review that touches a disk; it knows no rule.

use crate::digest::sha256_of;
use crate::manifest::NAME as MANIFEST;
use crate::plain_file;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Most files that are looked at.
pub const MAX_FILES: usize = 1_000;
/// Deepest folder that is looked into.
pub const MAX_LEVELS: usize = 8;
/// Longest `MANIFEST.sha256`, in bytes.
pub const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// The files of a report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Directory {
    /// Path with `/` between its parts to SHA-256 in hex; `None` for what is no plain file.
    pub files: BTreeMap<String, Option<String>>,
    /// The text of `MANIFEST.sha256`, if that is there and a plain file.
    pub manifest: Option<String>,
}

impl Directory {
    /// Lists a folder and digests its files. Links are listed, never followed.
    pub fn open(root: &Path) -> io::Result<Directory> {
        let mut directory = Directory::default();
        directory.list(root, "", 1)?;
        if let Some(Some(_)) = directory.files.get(MANIFEST) {
            let path = root.join(MANIFEST);
            let read = plain_file::read(&path, MAX_MANIFEST_BYTES);
            let bytes = read.map_err(|problem| at(&path, &problem))?;
            // Bytes that are no text make a line that no file has.
            directory.manifest = Some(String::from_utf8_lossy(&bytes).into_owned());
        }
        Ok(directory)
    }

    fn list(&mut self, folder: &Path, prefix: &str, level: usize) -> io::Result<()> {
        if level > MAX_LEVELS {
            return Err(at(folder, &format!("deeper than {MAX_LEVELS} folders")));
        }
        for entry in fs::read_dir(folder).map_err(|error| at(folder, &error.to_string()))? {
            let entry = entry?;
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.list(&entry.path(), &format!("{path}/"), level + 1)?;
                continue;
            }
            if self.files.len() == MAX_FILES {
                return Err(at(folder, &format!("more than {MAX_FILES} files")));
            }
            let digest = if kind.is_file() { Some(digest(&entry.path())?) } else { None };
            self.files.insert(path, digest);
        }
        Ok(())
    }
}

fn digest(path: &Path) -> io::Result<String> {
    fs::File::open(path).and_then(sha256_of).map_err(|error| at(path, &error.to_string()))
}

fn at(path: &Path, problem: &str) -> io::Error {
    io::Error::other(format!("{}: {problem}", path.display()))
}
