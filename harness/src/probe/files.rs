//! The files of a model: which they are, and their digests.

use super::HashedFile;
use crate::digest::sha256_of;
use crate::fact::Fact;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Most shards a file name may claim.
const MAX_SHARDS: usize = 1_000;

/// `paths` with all shards of split models, each file once.
pub fn with_shards(paths: impl IntoIterator<Item = PathBuf>) -> BTreeSet<PathBuf> {
    paths.into_iter().flat_map(|path| shards(&path).unwrap_or_else(|| vec![path])).collect()
}

/// All files of the split model that `path` names one of, as llama.cpp names them:
/// `NAME-00001-of-00003.gguf`.
fn shards(path: &Path) -> Option<Vec<PathBuf>> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".gguf")?;
    let (rest, count) = stem.rsplit_once("-of-")?;
    let (name, number) = rest.rsplit_once('-')?;
    let five_digits = |text: &str| text.len() == 5 && text.bytes().all(|c| c.is_ascii_digit());
    let count_number: usize = count.parse().ok()?;
    if !five_digits(count) || !five_digits(number) || count_number > MAX_SHARDS {
        return None;
    }
    let shard = |i: usize| path.with_file_name(format!("{name}-{i:05}-of-{count}.gguf"));
    Some((1..=count_number).map(shard).collect())
}

/// Base names and digests in the order of a report, or the first file that cannot be read. Setting
/// `cancel` ends it within a moment.
pub fn hash(paths: &BTreeSet<PathBuf>, cancel: &AtomicBool) -> Fact<Vec<HashedFile>> {
    let mut hashed = BTreeSet::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match File::open(path).and_then(|file| sha256_of(Cancellable { file, cancel })) {
            Ok(sha256) => hashed.insert(HashedFile { path: name, sha256 }),
            Err(error) => return Fact::Unknown(format!("`{name}` cannot be hashed: {error}")),
        };
    }
    if hashed.is_empty() {
        return Fact::Unknown(NO_FILE.to_string());
    }
    Fact::Known(hashed.into_iter().collect())
}

/// A file that reads until the operator stops the run.
struct Cancellable<'c> {
    file: File,
    cancel: &'c AtomicBool,
}

impl Read for Cancellable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(io::Error::other("the operator interrupted the run"));
        }
        self.file.read(buffer)
    }
}

/// The reason when nobody says where the model is.
pub const NO_FILE: &str = "no local model file could be found to hash (the server reports no \
    model path or it is not on this host)";
/// The reason when hashing was not wanted.
pub const SKIPPED: &str = "the operator skipped hashing (--skip-model-hash)";

#[cfg(test)]
mod tests {
    use super::super::Tree;
    use super::*;

    fn check(path: &str, expected: &[&str]) {
        let found = with_shards([PathBuf::from(path)]);
        let found: Vec<String> = found.iter().map(|path| path.display().to_string()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn shards_of_split_models() {
        check("/m/a.gguf", &["/m/a.gguf"]);
        check(
            "/m/a-00002-of-00002.gguf",
            &["/m/a-00001-of-00002.gguf", "/m/a-00002-of-00002.gguf"],
        );
        check("/m/a-00002-of-99999.gguf", &["/m/a-00002-of-99999.gguf"]);
        check("/m/a-2-of-3.gguf", &["/m/a-2-of-3.gguf"]);
        check("/m/-of-.gguf", &["/m/-of-.gguf"]);
    }

    #[test]
    fn files_are_hashed_in_byte_order_of_their_names() {
        let tree = Tree::new(&[("z/Big.gguf", "abc"), ("a/small.bin", "")]);
        let paths = ["z/Big.gguf", "a/small.bin"].map(|path| tree.path().join(path));
        let go_on = AtomicBool::new(false);
        let hash = |paths: &BTreeSet<PathBuf>| hash(paths, &go_on);
        let Fact::Known(files) = hash(&paths.into_iter().collect()) else { panic!("they exist") };
        assert_eq!(files[0].path, "Big.gguf");
        assert!(files[0].sha256.starts_with("ba7816bf"));
        assert_eq!(files[1].path, "small.bin");
        assert_eq!(hash(&BTreeSet::new()), Fact::Unknown(NO_FILE.to_string()));
        let gone = hash(&[tree.path().join("gone")].into_iter().collect());
        let Fact::Unknown(reason) = gone else { panic!("it does not exist") };
        assert!(reason.starts_with("`gone` cannot be hashed: "), "{reason}");
        go_on.store(true, Ordering::Relaxed);
        let stopped = hash(&[tree.path().join("z/Big.gguf")].into_iter().collect());
        let reason = "`Big.gguf` cannot be hashed: the operator interrupted the run".to_string();
        assert_eq!(stopped, Fact::Unknown(reason));
    }
}
