//! Key-value pairs of a GGUF file, with getters that say what was expected and what was found.
//! Knows no key by name.

use super::reader::{Reader, quoted};
use super::value::{Array, Kind, Value};
use crate::Error;
use std::collections::HashMap;

/// The pairs in file order; names are unique.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metadata {
    pairs: Vec<(String, Value)>,
    /// Positions in `pairs`.
    by_key: HashMap<String, usize>,
}

impl Metadata {
    /// Bytes of the shortest pair: the length of its key, one character, its type, its value.
    pub(super) const MIN_PAIR_BYTES: usize = 8 + 1 + 4 + 1;

    pub(super) fn read(reader: &mut Reader, count: usize) -> Result<Metadata, Error> {
        let mut metadata = Metadata::default();
        for index in 0..count {
            let key = reader.name("name").map_err(|e| e.within(&format!("key {index}")))?;
            let value =
                Value::read(reader).map_err(|e| e.within(&format!("key {}", quoted(&key))))?;
            if let Some(first) = metadata.by_key.insert(key.clone(), index) {
                let key = quoted(&key);
                return Err(Error::Model(format!(
                    "key {key}: given twice, as pairs {first} and {index}"
                )));
            }
            metadata.pairs.push((key, value));
        }
        Ok(metadata)
    }

    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.by_key.get(key).map(|index| &self.pairs[*index].1)
    }

    /// All pairs in file order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.pairs.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// A string, `None` if absent, an error if it is of another type.
    pub fn string(&self, key: &str) -> Result<Option<&str>, Error> {
        self.convert(key, "a string", |value| match value {
            Value::String(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Any integer type that fits; a negative or fractional value is an error.
    pub fn unsigned(&self, key: &str) -> Result<Option<u64>, Error> {
        self.convert(key, "an integer from 0 on", |value| match *value {
            Value::U8(number) => Some(number.into()),
            Value::U16(number) => Some(number.into()),
            Value::U32(number) => Some(number.into()),
            Value::U64(number) => Some(number),
            Value::I8(number) => number.try_into().ok(),
            Value::I16(number) => number.try_into().ok(),
            Value::I32(number) => number.try_into().ok(),
            Value::I64(number) => number.try_into().ok(),
            _ => None,
        })
    }

    /// f32, or f64 rounded to it.
    pub fn float(&self, key: &str) -> Result<Option<f32>, Error> {
        self.convert(key, "f32 or f64", |value| match value {
            Value::F32(number) => Some(*number),
            Value::F64(number) => Some(*number as f32),
            _ => None,
        })
    }

    /// A bool.
    pub fn boolean(&self, key: &str) -> Result<Option<bool>, Error> {
        self.convert(key, "a bool", |value| match value {
            Value::Bool(boolean) => Some(*boolean),
            _ => None,
        })
    }

    /// An array of strings.
    pub fn strings(&self, key: &str) -> Result<Option<Vec<&str>>, Error> {
        self.convert(key, "an array of string", |value| match value {
            Value::Array(Array::Strings(strings)) => Some(strings.iter().collect()),
            _ => None,
        })
    }

    /// An array of f32.
    pub fn floats(&self, key: &str) -> Result<Option<Vec<f32>>, Error> {
        self.convert(key, "an array of f32", |value| match value {
            Value::Array(Array::Scalars(Kind::F32, bytes)) => {
                Some(bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
            }
            _ => None,
        })
    }

    /// An array of i32, or of u32 if every element fits.
    pub fn integers(&self, key: &str) -> Result<Option<Vec<i32>>, Error> {
        self.convert(key, "an array of i32", |value| match value {
            Value::Array(Array::Scalars(Kind::I32, bytes)) => {
                Some(bytes.as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect())
            }
            Value::Array(Array::Scalars(Kind::U32, bytes)) => {
                let numbers = bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
                numbers.map(|number| number.try_into().ok()).collect()
            }
            _ => None,
        })
    }

    fn convert<'a, T>(
        &'a self,
        key: &str,
        expected: &str,
        convert: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let Some(value) = self.get(key) else { return Ok(None) };
        if let Some(converted) = convert(value) {
            return Ok(Some(converted));
        }
        let got = match value {
            Value::String(_) => "a string".to_owned(),
            Value::Array(array) => format!("an array of {}", array.kind()),
            scalar => format!("{} {scalar}", scalar.kind()),
        };
        Err(Error::Model(format!("{key}: expected {expected}, got {got}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gguf::File;
    use crate::gguf::testing::Builder;

    fn metadata<V: Into<Value>>(value: V) -> Metadata {
        let file = Builder::new().key("k", value).build();
        File::parse(file.into()).unwrap().metadata().clone()
    }

    fn check_error<T: std::fmt::Debug>(got: Result<Option<T>, Error>, message: &str) {
        assert_eq!(got.unwrap_err().to_string(), message);
    }

    #[test]
    fn getters_give_the_value_or_nothing() {
        assert_eq!(metadata("x").string("k"), Ok(Some("x")));
        assert_eq!(metadata("x").string("absent"), Ok(None));
        assert_eq!(metadata(true).boolean("k"), Ok(Some(true)));
        assert_eq!(metadata(0.5_f32).float("k"), Ok(Some(0.5)));
        assert_eq!(metadata(0.1_f64).float("k"), Ok(Some(0.1)));
        assert_eq!(metadata(["", "é"]).strings("k"), Ok(Some(vec!["", "é"])));
        assert_eq!(metadata([1.0_f32, -2.0]).floats("k"), Ok(Some(vec![1.0, -2.0])));
        assert_eq!(metadata([1_i32, -2]).integers("k"), Ok(Some(vec![1, -2])));
        assert_eq!(metadata([1_u32, 2]).integers("k"), Ok(Some(vec![1, 2])));
    }

    #[test]
    fn every_integer_type_is_read_and_its_sign_checked() {
        let narrow = [7_u8.into(), 7_i8.into(), 7_u16.into(), 7_i16.into()];
        let wide = [7_u32.into(), 7_i32.into(), 7_u64.into(), 7_i64.into()];
        for value in narrow.into_iter().chain(wide) {
            assert_eq!(metadata::<Value>(value).unsigned("k"), Ok(Some(7)));
        }
        assert_eq!(metadata(u64::MAX).unsigned("k"), Ok(Some(u64::MAX)));
        check_error(metadata(-1_i64).unsigned("k"), "k: expected an integer from 0 on, got i64 -1");
        check_error(
            metadata(1.5_f32).unsigned("k"),
            "k: expected an integer from 0 on, got f32 1.5",
        );
    }

    #[test]
    fn other_types_are_named() {
        check_error(metadata(7_u32).string("k"), "k: expected a string, got u32 7");
        check_error(metadata("a").float("k"), "k: expected f32 or f64, got a string");
        check_error(metadata(1_u8).boolean("k"), "k: expected a bool, got u8 1");
        check_error(
            metadata([1_u8]).floats("k"),
            "k: expected an array of f32, got an array of u8",
        );
        check_error(
            metadata([1_i32]).strings("k"),
            "k: expected an array of string, got an array of i32",
        );
        check_error(
            metadata(["a"]).integers("k"),
            "k: expected an array of i32, got an array of string",
        );
        check_error(
            metadata([u32::MAX]).integers("k"),
            "k: expected an array of i32, got an array of u32",
        );
    }
}
