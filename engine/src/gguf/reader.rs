//! A bounded cursor over hostile bytes: the only place with file offset arithmetic. Every length
//! and count is compared with the bytes that remain before it is used; what is wrong is reported
//! with its offset. Knows no metadata and no tensors.

use crate::Error;
use std::fmt;
use std::ops::Range;

/// What was wrong, and where. Callers report it, they do not branch on it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ParseError {
    /// In the file, of the field.
    pub(super) offset: u64,
    /// What was being read, from the outside in.
    pub(super) field: String,
    /// Expected and found, and the remedy if there is one.
    pub(super) problem: String,
}

impl ParseError {
    /// The same error, said to lie inside `outer`.
    pub(super) fn within(self, outer: &str) -> ParseError {
        ParseError { field: format!("{outer}: {}", self.field), ..self }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} (at byte {})", self.field, self.problem, self.offset)
    }
}

impl From<ParseError> for Error {
    fn from(error: ParseError) -> Error {
        Error::Model(error.to_string())
    }
}

/// The cursor. All integers are little-endian.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
    /// Where the last read began, which is where its error is.
    field_start: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, position: 0, field_start: 0 }
    }

    /// An error in what was read last.
    pub(super) fn error(&self, field: &str, problem: String) -> ParseError {
        ParseError { offset: self.field_start as u64, field: field.to_owned(), problem }
    }

    pub(super) fn take(&mut self, field: &str, len: u64) -> Result<&'a [u8], ParseError> {
        self.field_start = self.position;
        let rest = &self.bytes[self.position..];
        let taken = usize::try_from(len).ok().and_then(|len| rest.get(..len)).ok_or_else(|| {
            let left = rest.len();
            self.error(field, format!("expected {len} bytes, {left} are left: {CUT_SHORT}"))
        })?;
        self.position += taken.len();
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self, field: &str) -> Result<[u8; N], ParseError> {
        let taken = self.take(field, N as u64)?;
        Ok(taken.try_into().expect("take gives as many bytes as asked"))
    }

    pub(super) fn u32(&mut self, field: &str) -> Result<u32, ParseError> {
        self.array(field).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, field: &str) -> Result<u64, ParseError> {
        self.array(field).map(u64::from_le_bytes)
    }

    /// A number of items, refused unless that many of at least `min_bytes` each can follow:
    /// whatever the file claims, an allocation sized by the result is bounded by the file's size.
    pub(super) fn count(&mut self, field: &str, min_bytes: usize) -> Result<usize, ParseError> {
        let count = self.u64(field)?;
        let left = self.bytes.len() - self.position;
        let fitting = usize::try_from(count).ok().filter(|count| *count <= left / min_bytes);
        fitting.ok_or_else(|| {
            let problem =
                format!("{count} of at least {min_bytes} bytes each, {left} bytes are left");
            self.error(field, format!("{problem}: {CUT_SHORT}"))
        })
    }

    /// A length and that many bytes, copied before they are checked to be UTF-8: a mapped file may
    /// change under us.
    pub(super) fn string(&mut self, field: &str) -> Result<String, ParseError> {
        let len = self.u64(field)?;
        let bytes = self.take(field, len)?.to_vec();
        String::from_utf8(bytes).map_err(|_| self.error(field, NOT_UTF8.to_owned()))
    }

    /// A string that names something: not empty, and at most [`MAX_NAME_BYTES`] long.
    pub(super) fn name(&mut self, field: &str) -> Result<String, ParseError> {
        let name = self.string(field)?;
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            let problem = format!("expected 1 to {MAX_NAME_BYTES} bytes, got {}", name.len());
            return Err(self.error(field, problem));
        }
        Ok(name)
    }

    /// Where the bytes after the header begin: the cursor, moved up to a multiple of `alignment`.
    /// It may lie beyond the end of the file, which matters only if something is to be found there.
    pub(super) fn aligned(&self, alignment: u32) -> u64 {
        // Neither overflows: a slice is shorter than 2^63 bytes, an alignment than 2^32.
        (self.position as u64).next_multiple_of(u64::from(alignment))
    }

    /// Where in the file the `len` bytes at `offset` after `base` lie, or why they do not.
    pub(super) fn range(&self, base: u64, offset: u64, len: u64) -> Result<Range<u64>, String> {
        let start = base.checked_add(offset);
        let end = start.and_then(|start| start.checked_add(len));
        let present = self.bytes.len() as u64;
        match (start, end) {
            (Some(start), Some(end)) if end <= present => Ok(start..end),
            _ => {
                let end = end.map_or("more than 2^64".to_owned(), |end| end.to_string());
                Err(format!(
                    "{len} bytes at offset {offset} of the tensor data need a file of {end} \
                     bytes, this one has {present}: {CUT_SHORT}"
                ))
            }
        }
    }
}

/// A name from a file as it stands in a message: on one line, in quotes, cut after 64 characters.
pub(crate) fn quoted(name: &str) -> String {
    const MAX_SHOWN: usize = 64;
    let shown: String = name.chars().take(MAX_SHOWN).flat_map(char::escape_debug).collect();
    let dots = if name.chars().nth(MAX_SHOWN).is_some() { "..." } else { "" };
    format!("`{shown}{dots}`")
}

/// The GGUF specification's limit for a key; it allows tensor names less.
pub(super) const MAX_NAME_BYTES: usize = 65_535;

pub(super) const NOT_UTF8: &str = "expected UTF-8, got other bytes: the file is damaged";

const CUT_SHORT: &str = "the file is cut short or damaged, download it again";
