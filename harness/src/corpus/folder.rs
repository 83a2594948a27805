//! Reads a corpus folder as it lies on disk. Only plain files of bounded size, and no link out.

use super::Files;
use crate::plain_file;
use std::fs;
use std::path::Path;

/// Most files a corpus may have.
pub(super) const MAX_FILES: usize = 20_000;
/// Largest file that is read, in bytes.
pub(super) const MAX_FILE_BYTES: u64 = 16 << 20;
/// Largest corpus that is read, in bytes.
pub(super) const MAX_CORPUS_BYTES: usize = 256 << 20;

/// All files of a folder and of its folders; there is no third level.
pub(super) fn read(folder: &Path) -> Result<Files, String> {
    let (mut files, mut bytes) = (Files::new(), 0);
    read_level(folder, "", &mut files, &mut bytes)?;
    Ok(files)
}

fn read_level(
    folder: &Path,
    within: &str,
    files: &mut Files,
    bytes: &mut usize,
) -> Result<(), String> {
    let here = if within.is_empty() { "this folder" } else { within };
    let entries = fs::read_dir(folder).map_err(|error| format!("cannot list {here}: {error}"))?;
    for entry in entries {
        let entry = entry.map_err(|error| format!("cannot list {here}: {error}"))?;
        let name = entry.file_name();
        let name = name.to_str().ok_or_else(|| format!("{here} has a name not in UTF-8"))?;
        let path = format!("{within}{name}");
        let kind = entry.file_type().map_err(|error| format!("cannot read {path}: {error}"))?;
        if kind.is_dir() && within.is_empty() {
            read_level(&entry.path(), &format!("{path}/"), files, bytes)?;
            continue;
        }
        if !kind.is_file() {
            return Err(format!(
                "{path} is a link, a special file or a folder too deep; remove it"
            ));
        }
        let text = plain_file::read_text(&entry.path(), MAX_FILE_BYTES)
            .map_err(|problem| format!("{path}: {problem}"))?;
        *bytes += text.len();
        files.insert(path, text);
        if files.len() > MAX_FILES || *bytes > MAX_CORPUS_BYTES {
            return Err(format!(
                "more than {MAX_FILES} files or {MAX_CORPUS_BYTES} bytes; is this a corpus?"
            ));
        }
    }
    Ok(())
}
