//! How a [`Value`] is printed: compact, and in the canonical form of a report. Either keeps the
//! order of keys, repeated keys and the text of numbers, and escapes in strings what JSON demands
//! alone.

use super::{MAX_BYTES, Value, parse};
use std::fmt::{self, Formatter, Write};

/// The canonical bytes of a document: an indent of two blanks a level, each item and each key on a
/// line of its own, `": "` after a key, `[]` and `{}` for what is empty, one line feed at the end.
/// A document whose canonical form would be too long to be read again is refused.
pub fn canonical(document: &[u8]) -> Result<String, String> {
    let text = parse(document).map_err(|error| error.to_string())?.canonical();
    if text.len() > MAX_BYTES {
        let bytes = text.len();
        return Err(format!("{bytes} bytes in canonical form, at most {MAX_BYTES} are read"));
    }
    Ok(text)
}

impl Value {
    /// In the form of [`canonical`].
    pub fn canonical(&self) -> String {
        let mut text = String::new();
        write_lines(&mut text, self, 0).expect("writing to a string cannot fail");
        text.push('\n');
        text
    }
}

/// Compact JSON.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(flag) => write!(f, "{flag}"),
            Value::Number(number) => f.write_str(number.text()),
            Value::String(text) => write_string(f, text),
            Value::Array(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if index == 0 { "" } else { "," })?;
                }
                f.write_str("]")
            }
            Value::Object(entries) => {
                f.write_str("{")?;
                for (index, (key, value)) in entries.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { "," })?;
                    write_string(f, key)?;
                    write!(f, ":{value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

/// A value whose first line is already indented to `level`.
fn write_lines(text: &mut String, value: &Value, level: usize) -> fmt::Result {
    let line = |text: &mut String, index: usize, level: usize| {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        (0..level).for_each(|_| text.push_str("  "));
    };
    match value {
        Value::Array(items) if !items.is_empty() => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                line(text, index, level + 1);
                write_lines(text, item, level + 1)?;
            }
            line(text, 0, level);
            text.push(']');
            Ok(())
        }
        Value::Object(entries) if !entries.is_empty() => {
            text.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                line(text, index, level + 1);
                write_string(text, key)?;
                text.push_str(": ");
                write_lines(text, value, level + 1)?;
            }
            line(text, 0, level);
            text.push('}');
            Ok(())
        }
        plain => write!(text, "{plain}"),
    }
}

fn write_string(out: &mut impl Write, text: &str) -> fmt::Result {
    out.write_char('"')?;
    for character in text.chars() {
        match character {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\u{8}' => out.write_str("\\b")?,
            '\u{c}' => out.write_str("\\f")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            control if control < ' ' => write!(out, "\\u{:04x}", u32::from(control))?,
            plain => out.write_char(plain)?,
        }
    }
    out.write_char('"')
}
