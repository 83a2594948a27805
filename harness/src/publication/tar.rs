//! Archives in the ustar form (POSIX.1-1988), of which there is one for a set of files: sorted
//! names, mode 644, nobody's, at time 0. What another program made of the same files is refused, so
//! a digest of an archive is one of its content. It knows neither disk nor report.

use std::collections::BTreeMap;

/// Path with `/` between its parts to content.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Longest name: the header's first field. The form's second one for longer names is not used.
pub const MAX_NAME_BYTES: usize = 100;
/// Largest size of a file that eleven octal digits state.
const MAX_FILE_BYTES: usize = (1 << 33) - 1;
const BLOCK: usize = 512;
/// Where the header's sum of its own bytes stands; it counts as eight blanks in it.
const SUM: std::ops::Range<usize> = 148..156;

/// The archive of these files; refuses names that are too long or lead out of where it is unpacked.
pub fn write(files: &Files) -> Result<Vec<u8>, String> {
    let mut archive = Vec::new();
    for (name, content) in files {
        archive.extend(header(name, content.len())?);
        archive.extend(content);
        archive.resize(archive.len().next_multiple_of(BLOCK), 0);
    }
    archive.resize(archive.len() + 2 * BLOCK, 0); // the end of an archive
    Ok(archive)
}

fn header(name: &str, size: usize) -> Result<[u8; BLOCK], String> {
    let inside = name.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if name.len() > MAX_NAME_BYTES || !inside || name.contains(char::is_control) {
        return Err(format!(
            "{name:?}: not a relative path of at most {MAX_NAME_BYTES} bytes without `..` and \
             control characters; rename the file"
        ));
    }
    if size > MAX_FILE_BYTES {
        return Err(format!("{name}: {size} bytes, at most {MAX_FILE_BYTES} can be archived"));
    }
    let mut header = [0; BLOCK];
    let mut put =
        |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, "0000644\0"); // mode
    put(108, "0000000\0"); // user
    put(116, "0000000\0"); // group
    put(124, &format!("{size:011o}\0"));
    put(136, "00000000000\0"); // time
    put(SUM.start, "        ");
    put(156, "0"); // a plain file
    put(257, "ustar\0");
    put(263, "00"); // version
    put(329, "0000000\0"); // device, major
    put(337, "0000000\0"); // and minor
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[SUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(header)
}

/// The files of an archive that [`write()`] made.
pub fn read(archive: &[u8]) -> Result<Files, String> {
    let foreign = |at: usize| format!("byte {at}: not an archive of this program's");
    let mut files = Files::new();
    let mut at = 0;
    while let Some(header) = archive.get(at..at + BLOCK).filter(|header| header[0] != 0) {
        let (name, size) = entry(header).ok_or(foreign(at))?;
        let start = at + BLOCK;
        let content = archive.get(start..start.saturating_add(size)).ok_or(foreign(at))?;
        files.insert(name.to_string(), content.to_vec());
        at = start.saturating_add(size).next_multiple_of(BLOCK);
    }
    match write(&files) {
        Ok(same) if same == archive => Ok(files),
        Ok(same) => Err(foreign(same.iter().zip(archive).take_while(|(a, b)| a == b).count())),
        Err(problem) => Err(problem),
    }
}

/// Name and size in a header.
fn entry(header: &[u8]) -> Option<(&str, usize)> {
    let text = |range: std::ops::Range<usize>| {
        let field = &header[range];
        let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
        str::from_utf8(&field[..end]).ok()
    };
    Some((text(0..MAX_NAME_BYTES)?, usize::from_str_radix(text(124..136)?, 8).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::sha256;
    use proptest::prelude::*;

    fn files(entries: &[(&str, &str)]) -> Files {
        let entry = |(name, text): &(&str, &str)| (name.to_string(), text.as_bytes().to_vec());
        entries.iter().map(entry).collect()
    }

    /// GNU tar 1.34 makes the same bytes of the same files:
    /// `tar -b1 --format=ustar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner \
    /// --mode=644 -cf - a b`
    #[test]
    fn the_bytes_of_another_program() {
        let archive = write(&files(&[("b/c", "hello\n"), ("b/d", &"x".repeat(512)), ("a", "")]));
        assert_eq!(
            sha256(&archive.unwrap()),
            "a508b811c2786c4bdbdde36cd4ec41574ab163868d536aff81a070ff454852a2"
        );
    }

    #[test]
    fn names_that_do_not_fit_are_refused() {
        let check = |name: &str, fits: bool| {
            assert_eq!(write(&files(&[(name, "")])).is_ok(), fits, "{name}");
        };
        check(&"n".repeat(MAX_NAME_BYTES), true);
        check("a/é b.txt", true);
        for name in ["", "/a", "a/", "a//b", "../a", "a/./b", "a\nb", &"n".repeat(101)] {
            check(name, false);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            files in prop::collection::btree_map(
                "[a-zé]{1,9}(/[a-z]{1,9}){0,2}", prop::collection::vec(any::<u8>(), 0..1100), 0..5),
        ) {
            let archive = write(&files).unwrap();
            prop_assert_eq!(read(&archive), Ok(files));
        }

        /// Whatever is changed, it is another content or no archive.
        #[test]
        fn a_changed_byte_is_refused_or_read(at: prop::sample::Index, byte: u8, cut: bool) {
            let files = files(&[("b/c", "hello\n"), ("a", "")]);
            let mut archive = write(&files).unwrap();
            let at = at.index(archive.len());
            let same = archive[at] == byte && !cut;
            archive[at] = byte;
            archive.truncate(if cut { at } else { archive.len() });
            prop_assert_eq!(read(&archive) == Ok(files), same);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            let _ = read(&bytes);
        }
    }
}
