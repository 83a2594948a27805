//! The `tojson` filter as Hugging Face defines it: Python's `json.dumps` with `ensure_ascii` off
//! and without HTML escaping. Keys keep their order.

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, Value};

/// Nested lists and mappings that are written.
pub(super) const MAX_DEPTH: usize = 128;

/// Most bytes of JSON: what a template chooses, blanks and separators, comes with every item.
const MAX_BYTES: usize = 64 << 20;

/// The filter; keyword arguments as `json.dumps` has them: `indent`, `separators`, `ensure_ascii`.
pub(super) fn tojson(value: &Value, arguments: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = arguments.get("indent")?;
    let separators: Option<Vec<String>> = arguments.get("separators")?;
    let ensure_ascii: Option<bool> = arguments.get("ensure_ascii")?;
    arguments.assert_all_used()?;
    let [between_items, after_key] = match separators.as_deref() {
        None => [if indent.is_some() { "," } else { ", " }, ": "],
        Some([between_items, after_key]) => [between_items.as_str(), after_key],
        Some(other) => {
            return Err(refuse(format!("tojson: {} separators, but there are 2", other.len())));
        }
    };
    let ensure_ascii = ensure_ascii.unwrap_or(false);
    let mut writer =
        Writer { out: String::new(), indent, between_items, after_key, ensure_ascii, depth: 0 };
    writer.value(value)?;
    Ok(writer.out)
}

struct Writer<'a> {
    out: String,
    /// Blanks a level; `None` writes one line.
    indent: Option<usize>,
    between_items: &'a str,
    after_key: &'a str,
    ensure_ascii: bool,
    depth: usize,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value) -> Result<(), Error> {
        match value.kind() {
            ValueKind::None => self.out += "null",
            ValueKind::Bool => self.out += if value.is_true() { "true" } else { "false" },
            ValueKind::Number if value.is_integer() => self.out += &value.to_string(),
            ValueKind::Number => self.out += &repr(f64::try_from(value.clone())?),
            ValueKind::String => self.string(value.as_str().unwrap_or_default()),
            ValueKind::Seq | ValueKind::Iterable => self.list(value)?,
            ValueKind::Map => self.mapping(value)?,
            other => return Err(refuse(format!("tojson: a value of type {other} is not JSON"))),
        }
        Ok(())
    }

    fn list(&mut self, list: &Value) -> Result<(), Error> {
        self.open("[")?;
        let mut empty = true;
        for item in list.try_iter()? {
            self.begin_item(empty)?;
            empty = false;
            self.value(&item)?;
        }
        self.close("]", empty);
        Ok(())
    }

    fn mapping(&mut self, mapping: &Value) -> Result<(), Error> {
        self.open("{")?;
        let mut empty = true;
        for key in mapping.try_iter()? {
            self.begin_item(empty)?;
            empty = false;
            match key.as_str() {
                Some(key) => self.string(key),
                None => self.string(&key.to_string()),
            }
            self.out += self.after_key;
            self.value(&mapping.get_item(&key)?)?;
        }
        self.close("}", empty);
        Ok(())
    }

    fn open(&mut self, bracket: &str) -> Result<(), Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(refuse(format!("tojson: a value nested deeper than {MAX_DEPTH}")));
        }
        self.out += bracket;
        Ok(())
    }

    fn begin_item(&mut self, first: bool) -> Result<(), Error> {
        let blanks = self.indent.unwrap_or(0).saturating_mul(self.depth);
        let more = blanks.saturating_add(self.between_items.len() + self.after_key.len());
        if self.out.len().saturating_add(more) > MAX_BYTES {
            let message = format!("tojson: more than {MAX_BYTES} bytes: a smaller indent may do");
            return Err(refuse(message));
        }
        if !first {
            self.out += self.between_items;
        }
        self.line();
        Ok(())
    }

    fn close(&mut self, bracket: &str, empty: bool) {
        self.depth -= 1;
        if !empty {
            self.line();
        }
        self.out += bracket;
    }

    fn line(&mut self) {
        if let Some(indent) = self.indent {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n(' ', indent * self.depth));
        }
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out += "\\\"",
                '\\' => self.out += "\\\\",
                '\n' => self.out += "\\n",
                '\r' => self.out += "\\r",
                '\t' => self.out += "\\t",
                '\u{8}' => self.out += "\\b",
                '\u{c}' => self.out += "\\f",
                c if c < ' ' || self.ensure_ascii && c > '~' => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        self.out += &format!("\\u{unit:04x}");
                    }
                }
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }
}

/// A float as Python's `repr` prints it, but for the names that JSON has: Rust changes to exponents
/// at the same sizes, but writes them shorter.
pub(super) fn repr(value: f64) -> String {
    if !value.is_finite() {
        let name = if value.is_nan() { "NaN" } else { "Infinity" };
        return if value < 0.0 { format!("-{name}") } else { name.to_owned() };
    }
    let text = format!("{value:?}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

fn refuse(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Expected values are what Python 3's `json.dumps` prints.
    fn check(value: serde_json::Value, arguments: &[(&str, Value)], text: &str) {
        let arguments = arguments.iter().map(|(name, value)| (*name, value.clone())).collect();
        let written = tojson(&Value::from(minijinja::value::Serde(&value)), arguments);
        assert_eq!(written.expect(text), text);
    }

    #[test]
    fn as_python_writes_it() {
        check(json!({"b": [1, "é", null], "a": {}}), &[], r#"{"b": [1, "é", null], "a": {}}"#);
        check(json!("<b>&'\"\\/\n\u{1}\u{7f}\u{8}"), &[], "\"<b>&'\\\"\\\\/\\n\\u0001\u{7f}\\b\"");
        check(json!([true, -3, 18446744073709551615_u64]), &[], "[true, -3, 18446744073709551615]");
        check(
            json!([1.0, 0.1, 1e16, 1e15, 1e-4, 1e-5, -2.5e-7, 1e300, -0.0]),
            &[],
            "[1.0, 0.1, 1e+16, 1000000000000000.0, 0.0001, 1e-05, -2.5e-07, 1e+300, -0.0]",
        );
        let indent = [("indent", Value::from(2))];
        let lines = "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}";
        check(json!({"a": [1, {}], "b": []}), &indent, lines);
        let narrow = [("separators", Value::from(vec![",", ":"]))];
        check(json!({"a": [1, 2]}), &narrow, r#"{"a":[1,2]}"#);
        let ascii = [("ensure_ascii", Value::from(true))];
        check(json!("é🌍\u{7f}"), &ascii, r#""\u00e9\ud83c\udf0d\u007f""#);
    }

    #[test]
    fn what_is_not_json_is_refused() {
        let refused = |value: Value, arguments: &[(&str, Value)]| {
            let arguments = arguments.iter().map(|(name, value)| (*name, value.clone())).collect();
            tojson(&value, arguments).expect_err("refused").to_string()
        };
        assert!(refused(Value::UNDEFINED, &[]).contains("type undefined is not JSON"));
        assert!(refused(Value::from(1), &[("sort_keys", Value::from(true))]).contains("sort_keys"));
        let nested = (0..=MAX_DEPTH).fold(Value::from(1), |value, _| Value::from(vec![value]));
        assert!(refused(nested, &[]).contains("nested deeper than 128"));
    }
}
