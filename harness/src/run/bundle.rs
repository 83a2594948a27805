//! The folder of a run. A file in it is whole or not there: it is written beside its name, synced,
//! and renamed. `MANIFEST.sha256` in the end covers every other file.

use crate::digest::{sha256, sha256_of};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The report's file name.
pub const RESULTS: &str = "results.json";
const MANIFEST: &str = "MANIFEST.sha256";

/// A folder that is being filled.
#[derive(Debug)]
pub struct Bundle {
    folder: PathBuf,
}

impl Bundle {
    /// Makes `folder` and `provenance` in it. A folder that holds anything is refused, so that no
    /// run overwrites another.
    pub fn create(folder: &Path) -> Result<Bundle, String> {
        let place = folder.display();
        let failed = |error: io::Error| format!("--out {place}: cannot be made: {error}");
        fs::create_dir_all(folder).map_err(failed)?;
        let mut entries = fs::read_dir(folder).map_err(failed)?;
        if entries.next().is_some() {
            return Err(format!(
                "--out {place}: is not empty; name a folder that does not exist yet"
            ));
        }
        fs::create_dir(folder.join("provenance")).map_err(failed)?;
        Ok(Bundle { folder: folder.to_path_buf() })
    }

    /// Takes the folder away again if nothing was put into it; what was is evidence, and stays.
    pub fn abandon(self) {
        let folders = [self.path("provenance"), self.folder];
        let _ = folders.iter().try_for_each(fs::remove_dir); // refuses a folder that is not empty
    }

    /// A folder that was filled before.
    pub fn open(folder: &Path) -> Bundle {
        Bundle { folder: folder.to_path_buf() }
    }

    /// Puts a report in place of any that is there, and the manifest in order; `false` if that one
    /// was the same, byte for byte.
    pub fn replace_results(&self, json: &[u8]) -> Result<bool, String> {
        if fs::read(self.path(RESULTS)).is_ok_and(|found| found == json) {
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
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<String, String> {
        let path = self.path(name);
        let unfinished = self.path(&format!("{name}.partial"));
        let written = || -> io::Result<()> {
            let mut file = File::create(&unfinished)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&unfinished, &path)?;
            // The new name is on the disk only once its folder is.
            File::open(path.parent().unwrap_or(&self.folder))?.sync_all()
        };
        written().map_err(|error| format!("{}: cannot be written: {error}", path.display()))?;
        Ok(sha256(bytes))
    }

    /// Writes the manifest, in the form that `sha256sum --check` reads.
    pub fn seal(&self) -> Result<(), String> {
        let mut lines = Vec::new();
        for folder in ["", "provenance/"] {
            let path = self.path(folder);
            let failed = |error: io::Error| format!("{}: cannot be read: {error}", path.display());
            for entry in fs::read_dir(&path).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let name = format!("{folder}{}", entry.file_name().to_string_lossy());
                if name != MANIFEST && entry.file_type().map_err(failed)?.is_file() {
                    let digest = File::open(entry.path()).and_then(sha256_of).map_err(failed)?;
                    lines.push((name, digest));
                }
            }
        }
        lines.sort();
        let text: String =
            lines.iter().map(|(name, digest)| format!("{digest}  {name}\n")).collect();
        self.write(MANIFEST, text.as_bytes()).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_folder_is_made_filled_and_sealed() {
        let scratch = Scratch::new();
        let folder = scratch.path().join("a/b");
        let bundle = Bundle::create(&folder).unwrap();
        bundle.write("results.json", b"{}").unwrap();
        bundle.write("results.json", b"abc").unwrap();
        bundle.write("provenance/x", b"").unwrap();
        bundle.seal().unwrap();
        assert_eq!(fs::read(bundle.path("results.json")).unwrap(), b"abc");
        let empty = sha256(b"");
        let expected = format!("{empty}  provenance/x\n{}  results.json\n", sha256(b"abc"));
        assert_eq!(fs::read_to_string(bundle.path(MANIFEST)).unwrap(), expected);

        let error = Bundle::create(&folder).unwrap_err();
        assert!(error.ends_with("is not empty; name a folder that does not exist yet"), "{error}");
    }

    #[test]
    fn an_empty_folder_is_abandoned_and_evidence_is_not() {
        let scratch = Scratch::new();
        let folder = scratch.path().join("a");
        Bundle::create(&folder).unwrap().abandon();
        assert!(!folder.exists());
        let bundle = Bundle::create(&folder).unwrap();
        bundle.write("provenance/engine.log", b"out of memory").unwrap();
        let log = bundle.path("provenance/engine.log");
        bundle.abandon();
        assert!(log.exists());
    }

    #[test]
    fn an_impossible_folder_is_refused_in_words() {
        let error = Bundle::create(Path::new("/proc/nowhere")).unwrap_err();
        assert!(error.starts_with("--out /proc/nowhere: cannot be made: "), "{error}");
    }
}
