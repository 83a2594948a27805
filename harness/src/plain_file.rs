//! Reads a file that somebody else put there: a plain one, whole, up to a limit. A link is not
//! followed and a pipe is not waited for. And writes one, whole or not at all.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The bytes of the file at `path`. The refusal does not name the path: callers have better names.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    let unreadable = |error| format!("cannot be read: {error}");
    if !fs::symlink_metadata(path).map_err(unreadable)?.is_file() {
        return Err("a link, a folder or a special file; put a plain file there".to_string());
    }
    let file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    // One more than allowed tells a longer file without trusting its stated size.
    file.take(limit + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > limit {
        return Err(format!("longer than the {limit} bytes that are read"));
    }
    Ok(bytes)
}

/// The same, as text.
pub fn read_text(path: &Path, limit: u64) -> Result<String, String> {
    String::from_utf8(read(path, limit)?).map_err(|error| format!("not UTF-8: {error}"))
}

/// Where a file stands until it is whole.
pub fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

/// Writes a file in place of any of that name: beside it, synced, then renamed.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let unfinished = unfinished(path);
    let written = || {
        let mut file = File::create(&unfinished)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&unfinished, path)?;
        sync_folder_of(path)
    };
    written().map_err(|error: io::Error| format!("cannot be written: {error}"))
}

/// A new name is on the disk only once its folder is.
pub fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    #[test]
    fn only_plain_files_within_the_limit() {
        let scratch = Scratch::new();
        let path = |name: &str| scratch.path().join(name);
        let check = |name: &str, limit: u64, expected: Result<&str, &str>| {
            let found = read_text(&path(name), limit);
            match (&found, expected) {
                (Ok(text), Ok(expected)) => assert_eq!(text, expected),
                (Err(problem), Err(expected)) => {
                    assert!(problem.starts_with(expected), "{problem}")
                }
                _ => panic!("{name}: {found:?}"),
            }
        };
        fs::write(path("three"), "abc").unwrap();
        fs::write(path("bytes"), [0xff]).unwrap();
        fs::create_dir(path("folder")).unwrap();
        symlink("three", path("link")).unwrap();
        assert!(Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
        check("three", 3, Ok("abc"));
        check("three", 2, Err("longer than the 2 bytes that are read"));
        check("bytes", 3, Err("not UTF-8: "));
        check("gone", 3, Err("cannot be read: "));
        for name in ["folder", "link", "pipe"] {
            check(name, 3, Err("a link, a folder or a special file"));
        }
    }
}
