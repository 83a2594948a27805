//! From bytes to a [`Value`]: RFC 8259, nothing more. Sizes are refused before anything grows with
//! them.

use super::{MAX_BYTES, MAX_DEPTH, MAX_NODES, Number, Value, number};
use std::fmt;

/// Why bytes are not a document, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Bytes before the place.
    pub offset: usize,
    /// What stands there.
    pub problem: Problem,
}

/// What is wrong at the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// More than [`MAX_BYTES`].
    TooLong(usize),
    /// More than [`MAX_DEPTH`] levels.
    TooDeep,
    /// More than [`MAX_NODES`] values.
    TooMany,
    /// Bytes that are not UTF-8.
    NotUtf8,
    /// The document ends where this was expected.
    Ends(&'static str),
    /// Something else stands where this was expected.
    Expected(&'static str),
    /// A string holds a bare control character.
    Control,
    /// Half of a surrogate pair, or an escape that JSON does not have.
    Escape,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "byte {}: ", self.offset)?;
        match self.problem {
            Problem::TooLong(bytes) => {
                write!(f, "{bytes} bytes in all, at most {MAX_BYTES} are read")
            }
            Problem::TooDeep => write!(f, "nested deeper than {MAX_DEPTH} levels"),
            Problem::TooMany => write!(f, "more than {MAX_NODES} values"),
            Problem::NotUtf8 => f.write_str("not UTF-8"),
            Problem::Ends(expected) => write!(f, "the document ends, {expected} expected"),
            Problem::Expected(expected) => write!(f, "{expected} expected"),
            Problem::Control => f.write_str("a control character in a string must be escaped"),
            Problem::Escape => f.write_str("not an escape of JSON, or half a surrogate pair"),
        }
    }
}

impl std::error::Error for Error {}

/// Reads one document and nothing after it but white space.
pub fn parse(bytes: &[u8]) -> Result<Value, Error> {
    if bytes.len() > MAX_BYTES {
        return Err(Error { offset: MAX_BYTES, problem: Problem::TooLong(bytes.len()) });
    }
    let text = str::from_utf8(bytes)
        .map_err(|error| Error { offset: error.valid_up_to(), problem: Problem::NotUtf8 })?;
    let mut parser = Parser { text, at: 0, nodes: 0 };
    let value = parser.value(0)?;
    parser.blanks();
    if parser.at < text.len() {
        return Err(parser.error(Problem::Expected("the end of the document")));
    }
    Ok(value)
}

struct Parser<'a> {
    text: &'a str,
    /// Bytes read; always at a character's border.
    at: usize,
    nodes: usize,
}

impl Parser<'_> {
    fn value(&mut self, depth: usize) -> Result<Value, Error> {
        self.blanks();
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(self.error(Problem::TooMany));
        }
        match self.peek() {
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => Ok(Value::String(self.string()?)),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => self.number(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, Error> {
        self.open(depth)?;
        let mut entries = Vec::new();
        if self.take(b'}') {
            return Ok(Value::Object(entries));
        }
        loop {
            self.blanks();
            if self.peek() != Some(b'"') {
                return Err(self.expected("a key"));
            }
            let key = self.string()?;
            if !self.take(b':') {
                return Err(self.expected("`:`"));
            }
            entries.push((key, self.value(depth)?));
            if self.take(b'}') {
                return Ok(Value::Object(entries));
            }
            if !self.take(b',') {
                return Err(self.expected("`,` or `}`"));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, Error> {
        self.open(depth)?;
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(depth)?);
            if self.take(b']') {
                return Ok(Value::Array(items));
            }
            if !self.take(b',') {
                return Err(self.expected("`,` or `]`"));
            }
        }
    }

    fn open(&mut self, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(self.error(Problem::TooDeep));
        }
        self.at += 1;
        Ok(())
    }

    fn number(&mut self) -> Result<Value, Error> {
        let rest = &self.text[self.at..];
        let length =
            number::length(rest.as_bytes()).ok_or_else(|| self.expected("a JSON value"))?;
        self.at += length;
        Ok(Value::Number(Number::new(&rest[..length]).expect("measured by the same grammar")))
    }

    fn word(&mut self, word: &'static str, value: Value) -> Result<Value, Error> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.expected("a JSON value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn string(&mut self) -> Result<String, Error> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find(|c| c == '"' || c == '\\' || c < ' ').unwrap_or(rest.len());
            text.push_str(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                None => return Err(self.expected("`\"`")),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                Some(_) => return Err(self.error(Problem::Control)),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Error> {
        let start = self.at;
        let wrong = Error { offset: start, problem: Problem::Escape };
        self.at += 2;
        let plain = match self.text.as_bytes().get(start + 1) {
            Some(b'u') => None,
            Some(b'"') => Some('"'),
            Some(b'\\') => Some('\\'),
            Some(b'/') => Some('/'),
            Some(b'b') => Some('\u{8}'),
            Some(b'f') => Some('\u{c}'),
            Some(b'n') => Some('\n'),
            Some(b'r') => Some('\r'),
            Some(b't') => Some('\t'),
            _ => return Err(wrong),
        };
        if let Some(plain) = plain {
            return Ok(plain);
        }
        let first = self.code_unit().ok_or(wrong.clone())?;
        let second = if (0xd800..0xdc00).contains(&first) {
            if !self.text[self.at..].starts_with("\\u") {
                return Err(wrong);
            }
            self.at += 2;
            Some(self.code_unit().ok_or(wrong.clone())?)
        } else {
            None
        };
        let units = std::iter::once(first).chain(second);
        char::decode_utf16(units).next().and_then(Result::ok).ok_or(wrong)
    }

    /// Four hexadecimal digits.
    fn code_unit(&mut self) -> Option<u16> {
        let digits = self.text.get(self.at..self.at + 4)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 4;
        u16::from_str_radix(digits, 16).ok()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Takes this byte if it stands next, after blanks.
    fn take(&mut self, byte: u8) -> bool {
        self.blanks();
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn expected(&self, what: &'static str) -> Error {
        let ends = self.at >= self.text.len();
        self.error(if ends { Problem::Ends(what) } else { Problem::Expected(what) })
    }

    fn error(&self, problem: Problem) -> Error {
        Error { offset: self.at, problem }
    }
}
