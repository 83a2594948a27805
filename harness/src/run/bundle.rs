//! The folder of a run. A file in it is whole or not there: it is written beside its name, synced,
//! and renamed. `MANIFEST.sha256` in the end covers every other file.

use crate::digest::{sha256, sha256_of};
use crate::manifest;
use crate::plain_file;
use crate::report::RESULTS;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A folder that is being filled.
#[derive(Debug)]
pub struct Bundle {
    folder: PathBuf,
    /// The folders that did not exist before, outer ones first.
    made_folders: Vec<PathBuf>,
    /// The files that were not there before, written or about to be.
    files: Vec<PathBuf>,
}

impl Bundle {
    /// Makes `folder` and `provenance` in it. A folder that holds anything is refused, so that no
    /// run overwrites another.
    pub fn create(folder: &Path) -> Result<Bundle, String> {
        let place = folder.display();
        let mut bundle = Bundle::open(folder);
        if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(format!(
                "--out {place}: is not empty; name a folder that does not exist yet"
            ));
        }
        if let Err(error) = bundle.make_folders() {
            bundle.abandon();
            return Err(format!("--out {place}: cannot be made: {error}"));
        }
        Ok(bundle)
    }

    fn make_folders(&mut self) -> io::Result<()> {
        let provenance = self.path("provenance");
        let missing = provenance.ancestors().take_while(|folder| !is_there(folder));
        let missing: Vec<PathBuf> = missing.map(Path::to_path_buf).collect();
        for folder in missing.into_iter().rev() {
            fs::create_dir(&folder)?;
            self.made_folders.push(folder);
        }
        Ok(())
    }

    /// Takes back all that was made, so that the same name can be given again. What others put
    /// there meanwhile stays, and the folders it lies in.
    pub fn abandon(self) {
        // A file may never have come to be, and a folder with anything in it refuses to go.
        for file in &self.files {
            let _ = fs::remove_file(file);
        }
        for folder in self.made_folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }

    /// A folder that was filled before.
    pub fn open(folder: &Path) -> Bundle {
        Bundle { folder: folder.to_path_buf(), made_folders: Vec::new(), files: Vec::new() }
    }

    /// Where a file of this name is to be, for somebody else to write.
    pub fn claim(&mut self, name: &str) -> PathBuf {
        let path = self.path(name);
        if !is_there(&path) {
            self.files.push(path.clone());
        }
        path
    }

    /// Puts a report in place of any that is there, and the manifest in order; `false` if that one
    /// was the same, byte for byte.
    pub fn replace_results(&mut self, json: &[u8]) -> Result<bool, String> {
        let found = plain_file::read(&self.path(RESULTS), json.len() as u64);
        if found.is_ok_and(|found| found == json) {
            return Ok(false);
        }
        self.write(RESULTS, json)?;
        self.seal()?;
        Ok(true)
    }

    /// Where the file of this name is.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a file whole, in place of any of that name, and returns its digest.
    pub fn write(&mut self, name: &str, bytes: &[u8]) -> Result<String, String> {
        let path = self.claim(name);
        self.claim(&format!("{name}.partial"));
        plain_file::write(&path, bytes)
            .map_err(|problem| format!("{}: {problem}", path.display()))?;
        Ok(sha256(bytes))
    }

    /// Writes the manifest, in the form that `sha256sum --check` reads.
    pub fn seal(&mut self) -> Result<(), String> {
        let mut lines = Vec::new();
        for folder in ["", "provenance/"] {
            let path = self.path(folder);
            let failed = |error: io::Error| format!("{}: cannot be read: {error}", path.display());
            for entry in fs::read_dir(&path).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let name = format!("{folder}{}", entry.file_name().to_string_lossy());
                if name != manifest::NAME && entry.file_type().map_err(failed)?.is_file() {
                    let digest = File::open(entry.path()).and_then(sha256_of).map_err(failed)?;
                    lines.push((name, digest));
                }
            }
        }
        lines.sort();
        let text: String =
            lines.iter().map(|(name, digest)| manifest::line(name, digest)).collect();
        self.write(manifest::NAME, text.as_bytes()).map(|_| ())
    }
}

/// Whether anything is there: `""` is the folder that this program runs in.
fn is_there(folder: &Path) -> bool {
    folder.as_os_str().is_empty() || fs::symlink_metadata(folder).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_folder_is_made_filled_and_sealed() {
        let scratch = Scratch::new();
        let folder = scratch.path().join("a/b");
        let mut bundle = Bundle::create(&folder).unwrap();
        bundle.write("results.json", b"{}").unwrap();
        bundle.write("results.json", b"abc").unwrap();
        bundle.write("provenance/x", b"").unwrap();
        bundle.seal().unwrap();
        assert_eq!(fs::read(bundle.path("results.json")).unwrap(), b"abc");
        let lines = [("provenance/x", sha256(b"")), ("results.json", sha256(b"abc"))];
        let expected = lines.map(|(name, digest)| manifest::line(name, &digest)).concat();
        assert_eq!(fs::read_to_string(bundle.path(manifest::NAME)).unwrap(), expected);

        let error = Bundle::create(&folder).unwrap_err();
        assert!(error.ends_with("is not empty; name a folder that does not exist yet"), "{error}");
    }

    /// What lies below a folder, in order.
    fn listing(folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(listing(&path));
            }
            found.push(path);
        }
        found.sort();
        found
    }

    /// A run that got as far as writing every kind of file is taken back; `before` exists then.
    fn check_abandoned(before: &str, foreign: Option<&str>) {
        let scratch = Scratch::new();
        fs::create_dir_all(scratch.path().join(before)).unwrap();
        let existed = listing(scratch.path());
        let mut bundle = Bundle::create(&scratch.path().join("a/b")).unwrap();
        bundle.write("config.json", b"{}").unwrap();
        fs::write(bundle.claim("provenance/engine.log"), "out of memory").unwrap();
        bundle.claim("outputs.jsonl"); // and never made
        let foreign = foreign.map(|name| bundle.path(name));
        if let Some(path) = &foreign {
            fs::write(path, "").unwrap();
        }
        bundle.abandon();
        match foreign {
            None => assert_eq!(listing(scratch.path()), existed),
            Some(path) => {
                let files = listing(scratch.path()).into_iter().filter(|path| path.is_file());
                assert_eq!(files.collect::<Vec<_>>(), [path]);
            }
        }
    }

    #[test]
    fn what_was_made_is_taken_back_and_nothing_else() {
        for before in ["", "a", "a/b"] {
            check_abandoned(before, None);
            check_abandoned(before, Some("mine"));
            check_abandoned(before, Some("provenance/mine"));
        }
    }

    #[test]
    fn an_impossible_folder_is_refused_in_words() {
        let error = Bundle::create(Path::new("/proc/nowhere")).unwrap_err();
        assert!(error.starts_with("--out /proc/nowhere: cannot be made: "), "{error}");

        let scratch = Scratch::new();
        let file = scratch.path().join("file");
        fs::write(&file, "").unwrap();
        for folder in [file.clone(), file.join("below")] {
            let error = Bundle::create(&folder).unwrap_err();
            assert!(error.contains(": cannot be made: "), "{error}");
        }
        assert_eq!(listing(scratch.path()), [file]);
    }
}
