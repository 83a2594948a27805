//! Bytes that may come from a file: the only memory map of the engine. Knows nothing of what the
//! bytes mean.

#![allow(unsafe_code)] // mapping a file, once

use crate::Error;
use std::fmt;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

/// A cheap handle to shared bytes: a mapped file, a vector, or a part of either.
///
/// A mapped file must not be truncated while a handle lives: touching a page that is gone ends
/// the process with SIGBUS. Replace a model file by renaming another over it.
#[derive(Clone)]
pub struct Bytes {
    owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
    start: usize,
    len: usize,
}

impl Bytes {
    /// Maps a file for reading. Errors name the path; an empty file is one, and so is anything
    /// that is not a regular file.
    pub fn map(path: &Path) -> Result<Bytes, Error> {
        let error = |problem: String| Error::Model(format!("{}: {problem}", path.display()));
        // Asked before opening, which would wait for a writer on a pipe.
        let facts = std::fs::metadata(path).map_err(|e| error(format!("cannot be read: {e}")))?;
        if facts.is_dir() {
            return Err(error("is a directory, expected a GGUF file".to_owned()));
        }
        if !facts.is_file() {
            return Err(error("is not a regular file, expected a GGUF file".to_owned()));
        }
        if facts.len() == 0 {
            return Err(error("is empty, expected a GGUF file: download it again".to_owned()));
        }
        let file =
            std::fs::File::open(path).map_err(|e| error(format!("cannot be opened: {e}")))?;
        // SAFETY: the map is read-only and its length is fixed here; whatever is parsed from it is
        // checked against that length and copied before it is used, and the rest are weights, for
        // which every bit pattern is legal. Another process may still write to the file, which can
        // change weights but break no invariant, or truncate it, which is SIGBUS as documented.
        let map = unsafe { memmap2::Mmap::map(&file) };
        let map = map.map_err(|e| error(format!("cannot be mapped: {e}")))?;
        Ok(Bytes { start: 0, len: map.len(), owner: Arc::new(map) })
    }

    /// A part of these bytes, sharing the owner. Panics outside the bounds.
    pub fn slice(&self, start: usize, len: usize) -> Bytes {
        let inside = start <= self.len && len <= self.len - start;
        assert!(inside, "{len} bytes at {start} lie outside of {}", self.len);
        Bytes { owner: Arc::clone(&self.owner), start: self.start + start, len }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &(*self.owner).as_ref()[self.start..][..self.len]
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Bytes {
        Bytes { start: 0, len: bytes.len(), owner: Arc::new(bytes) }
    }
}

impl From<&'static [u8]> for Bytes {
    fn from(bytes: &'static [u8]) -> Bytes {
        Bytes { start: 0, len: bytes.len(), owner: Arc::new(bytes) }
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({})", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_share_the_owner_and_are_bounded() {
        let bytes = Bytes::from(vec![0, 1, 2, 3, 4, 5]);
        let part = bytes.slice(1, 4).slice(1, 3);
        assert_eq!(&*part, [2, 3, 4]);
        assert_eq!(part.as_ptr(), bytes[2..].as_ptr());
        assert!(bytes.slice(6, 0).is_empty());
        assert_eq!(&*Bytes::from(&b"static"[..]).slice(2, 2), b"at");
    }

    #[test]
    #[should_panic(expected = "18446744073709551615 bytes at 3 lie outside of 4")]
    fn a_part_beyond_the_end_of_a_part_panics() {
        Bytes::from(vec![0; 8]).slice(2, 4).slice(3, usize::MAX);
    }

    #[test]
    fn what_cannot_be_mapped_is_named() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let check = |path: &Path, problem: &str| {
            let message = Bytes::map(path).unwrap_err().to_string();
            assert!(message.contains(problem), "{message}");
            assert!(message.starts_with(&path.display().to_string()), "{message}");
        };
        check(&folder, "is a directory, expected a GGUF file");
        check(&folder.join("absent.gguf"), "cannot be read: ");
        check(Path::new("/dev/null"), "is not a regular file, expected a GGUF file");
        let empty = std::env::temp_dir().join(format!("empty-{}.gguf", std::process::id()));
        std::fs::write(&empty, []).unwrap();
        check(&empty, "is empty, expected a GGUF file");
        std::fs::remove_file(&empty).unwrap();
    }

    #[test]
    fn a_mapped_file_has_the_bytes_of_the_file() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs");
        assert_eq!(*Bytes::map(&path).unwrap(), std::fs::read(&path).unwrap());
    }
}
