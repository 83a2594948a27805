//! The values of GGUF key-value pairs. Everything is owned and keeps the type it has in the file;
//! arrays are as compact as there, because vocabularies are long. Knows no keys.

use super::reader::{NOT_UTF8, ParseError, Reader};
use std::fmt;

/// One value. Numbers of every width are kept as they are.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Value {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    U64(u64),
    I64(i64),
    F64(f64),
    Bool(bool),
    String(String),
    Array(Array),
}

/// Elements of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Array {
    /// Numbers or booleans, little-endian as in the file.
    Scalars(Kind, Vec<u8>),
    /// Strings.
    Strings(Strings),
    /// Arrays, bounded in depth.
    Arrays(Vec<Array>),
}

/// Strings one after the other in a single allocation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Strings {
    text: String,
    /// Where each string ends in `text`.
    ends: Vec<usize>,
}

/// The type of a value or element; the discriminants are those of the GGUF specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    U8 = 0,
    I8 = 1,
    U16 = 2,
    I16 = 3,
    U32 = 4,
    I32 = 5,
    F32 = 6,
    Bool = 7,
    String = 8,
    Array = 9,
    U64 = 10,
    I64 = 11,
    F64 = 12,
}

impl Value {
    /// A type id and a value of that type.
    pub(super) fn read(reader: &mut Reader) -> Result<Value, ParseError> {
        let kind = Kind::read(reader, "value type")?;
        Value::read_as(kind, reader)
    }

    fn read_as(kind: Kind, reader: &mut Reader) -> Result<Value, ParseError> {
        const FIELD: &str = "value";
        Ok(match kind {
            Kind::U8 => Value::U8(u8::from_le_bytes(reader.array(FIELD)?)),
            Kind::I8 => Value::I8(i8::from_le_bytes(reader.array(FIELD)?)),
            Kind::U16 => Value::U16(u16::from_le_bytes(reader.array(FIELD)?)),
            Kind::I16 => Value::I16(i16::from_le_bytes(reader.array(FIELD)?)),
            Kind::U32 => Value::U32(u32::from_le_bytes(reader.array(FIELD)?)),
            Kind::I32 => Value::I32(i32::from_le_bytes(reader.array(FIELD)?)),
            Kind::F32 => Value::F32(f32::from_le_bytes(reader.array(FIELD)?)),
            Kind::U64 => Value::U64(u64::from_le_bytes(reader.array(FIELD)?)),
            Kind::I64 => Value::I64(i64::from_le_bytes(reader.array(FIELD)?)),
            Kind::F64 => Value::F64(f64::from_le_bytes(reader.array(FIELD)?)),
            Kind::Bool => {
                let [byte] = reader.array(FIELD)?;
                Value::Bool(boolean(reader, byte)?)
            }
            Kind::String => Value::String(reader.string(FIELD)?),
            Kind::Array => Value::Array(Array::read(reader, MAX_ARRAY_DEPTH)?),
        })
    }

    /// The value's type.
    pub fn kind(&self) -> Kind {
        match self {
            Value::U8(_) => Kind::U8,
            Value::I8(_) => Kind::I8,
            Value::U16(_) => Kind::U16,
            Value::I16(_) => Kind::I16,
            Value::U32(_) => Kind::U32,
            Value::I32(_) => Kind::I32,
            Value::F32(_) => Kind::F32,
            Value::U64(_) => Kind::U64,
            Value::I64(_) => Kind::I64,
            Value::F64(_) => Kind::F64,
            Value::Bool(_) => Kind::Bool,
            Value::String(_) => Kind::String,
            Value::Array(_) => Kind::Array,
        }
    }
}

/// A scalar as it is, a string in quotes, an array as in `[i32; 5]`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::U8(value) => value.fmt(f),
            Value::I8(value) => value.fmt(f),
            Value::U16(value) => value.fmt(f),
            Value::I16(value) => value.fmt(f),
            Value::U32(value) => value.fmt(f),
            Value::I32(value) => value.fmt(f),
            Value::F32(value) => value.fmt(f),
            Value::U64(value) => value.fmt(f),
            Value::I64(value) => value.fmt(f),
            Value::F64(value) => value.fmt(f),
            Value::Bool(value) => value.fmt(f),
            Value::String(value) => write!(f, "{value:?}"),
            Value::Array(array) => write!(f, "[{}; {}]", array.kind(), array.len()),
        }
    }
}

impl Array {
    /// A type id, a count and that many elements; `depth` levels of arrays are allowed.
    fn read(reader: &mut Reader, depth: usize) -> Result<Array, ParseError> {
        if depth == 0 {
            let problem = format!("arrays lie more than {MAX_ARRAY_DEPTH} deep in each other");
            return Err(reader.error("array", problem));
        }
        let kind = Kind::read(reader, "element type")?;
        let count = reader.count("array length", kind.min_bytes())?;
        match kind {
            Kind::String => Ok(Array::Strings(Strings::read(reader, count)?)),
            Kind::Array => {
                let arrays = (0..count).map(|_| Array::read(reader, depth - 1));
                Ok(Array::Arrays(arrays.collect::<Result<_, _>>()?))
            }
            _ => {
                let bytes = reader.take("array", (count * kind.min_bytes()) as u64)?.to_vec();
                if kind == Kind::Bool {
                    bytes.iter().try_for_each(|byte| boolean(reader, *byte).map(drop))?;
                }
                Ok(Array::Scalars(kind, bytes))
            }
        }
    }

    /// The type of the elements.
    pub fn kind(&self) -> Kind {
        match self {
            Array::Scalars(kind, _) => *kind,
            Array::Strings(_) => Kind::String,
            Array::Arrays(_) => Kind::Array,
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Array::Scalars(kind, bytes) => bytes.len() / kind.min_bytes(),
            Array::Strings(strings) => strings.len(),
            Array::Arrays(arrays) => arrays.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Strings {
    fn read(reader: &mut Reader, count: usize) -> Result<Strings, ParseError> {
        let mut text = Vec::new();
        let mut ends = Vec::with_capacity(count);
        for _ in 0..count {
            let len = reader.u64("string length")?;
            text.extend_from_slice(reader.take("string", len)?);
            ends.push(text.len());
        }
        let text = String::from_utf8(text).ok();
        // Valid as a whole and cut between characters: each string is valid.
        text.filter(|text| ends.iter().all(|end| text.is_char_boundary(*end)))
            .map(|text| Strings { text, ends })
            .ok_or_else(|| reader.error("array of strings", NOT_UTF8.to_owned()))
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The strings in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        let mut start = 0;
        self.ends.iter().map(move |end| &self.text[std::mem::replace(&mut start, *end)..*end])
    }
}

impl<'a> FromIterator<&'a str> for Strings {
    fn from_iter<I: IntoIterator<Item = &'a str>>(strings: I) -> Strings {
        let mut collected = Strings::default();
        for string in strings {
            collected.text.push_str(string);
            collected.ends.push(collected.text.len());
        }
        collected
    }
}

impl Kind {
    const ALL: [Kind; 13] = [
        Kind::U8,
        Kind::I8,
        Kind::U16,
        Kind::I16,
        Kind::U32,
        Kind::I32,
        Kind::F32,
        Kind::Bool,
        Kind::String,
        Kind::Array,
        Kind::U64,
        Kind::I64,
        Kind::F64,
    ];

    fn read(reader: &mut Reader, field: &str) -> Result<Kind, ParseError> {
        let id = reader.u32(field)?;
        Kind::ALL.get(id as usize).copied().ok_or_else(|| {
            reader.error(field, format!("expected 0 to 12, got {id}: the file is damaged"))
        })
    }

    /// Bytes of a scalar in a file; of a string its length prefix, of an array its type and count.
    fn min_bytes(self) -> usize {
        match self {
            Kind::U8 | Kind::I8 | Kind::Bool => 1,
            Kind::U16 | Kind::I16 => 2,
            Kind::U32 | Kind::I32 | Kind::F32 => 4,
            Kind::U64 | Kind::I64 | Kind::F64 | Kind::String => 8,
            Kind::Array => 12,
        }
    }
}

/// In lower case: `u32`, `string`.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{self:?}").to_lowercase())
    }
}

fn boolean(reader: &Reader, byte: u8) -> Result<bool, ParseError> {
    match byte {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(reader.error("bool", format!("expected 0 or 1, got {byte}"))),
    }
}

/// How deep arrays may lie in each other. Files in use nest none; the reader recurses.
const MAX_ARRAY_DEPTH: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gguf::File;
    use crate::gguf::testing::Builder;
    use proptest::prelude::*;

    fn scalar() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<u8>().prop_map(Value::from),
            any::<i8>().prop_map(Value::from),
            any::<u16>().prop_map(Value::from),
            any::<i16>().prop_map(Value::from),
            any::<u32>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            prop::num::f32::NORMAL.prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            prop::num::f64::NORMAL.prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            any::<String>().prop_map(|text| Value::from(&*text)),
        ]
    }

    fn array() -> impl Strategy<Value = Array> {
        let array = prop_oneof![
            prop::collection::vec(0..2_u8, 0..9).prop_map(|b| Array::Scalars(Kind::Bool, b)),
            prop::collection::vec(any::<[u8; 2]>(), 0..9)
                .prop_map(|b| Array::Scalars(Kind::I16, b.concat())),
            prop::collection::vec(any::<[u8; 8]>(), 0..9)
                .prop_map(|b| Array::Scalars(Kind::U64, b.concat())),
            prop::collection::vec(any::<String>(), 0..9)
                .prop_map(|strings| Array::Strings(strings.iter().map(|s| &**s).collect())),
        ];
        array.prop_recursive(MAX_ARRAY_DEPTH as u32 - 1, 30, 4, |inner| {
            prop::collection::vec(inner, 0..4).prop_map(Array::Arrays)
        })
    }

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![scalar(), array().prop_map(Value::from)]
    }

    proptest! {
        #[test]
        fn every_value_comes_back_as_written(
            values in prop::collection::vec(value(), 0..9),
        ) {
            let mut builder = Builder::new();
            for (index, value) in values.iter().enumerate() {
                builder = builder.key(&index.to_string(), value.clone());
            }
            let file = File::parse(builder.build().into()).unwrap();
            let read: Vec<Value> = file.metadata().iter().map(|(_, value)| value.clone()).collect();
            prop_assert_eq!(read, values);
        }
    }

    /// A file whose key `k` has this type and these bytes is refused with this message.
    fn check_refused(kind: u32, bytes: &[u8], message: &str) {
        let mut file = Builder::new().key("k", 0_u8).build();
        file.truncate(24 + 8 + 1);
        file.extend(kind.to_le_bytes());
        file.extend(bytes);
        assert_eq!(File::parse(file.into()).unwrap_err().to_string(), message);
    }

    #[test]
    fn wrong_values_are_refused() {
        check_refused(
            13,
            &[0],
            "key `k`: value type: expected 0 to 12, got 13: the file is damaged (at byte 33)",
        );
        check_refused(7, &[2], "key `k`: bool: expected 0 or 1, got 2 (at byte 37)");
        check_refused(
            8,
            &[1, 0, 0, 0, 0, 0, 0, 0, 0xff],
            "key `k`: value: expected UTF-8, got other bytes: the file is damaged (at byte 45)",
        );
        check_refused(
            9,
            &[7, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 5],
            "key `k`: bool: expected 0 or 1, got 5 (at byte 49)",
        );
        check_refused(
            9,
            &[10, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 5],
            "key `k`: array length: 2 of at least 8 bytes each, 2 bytes are left: the file is cut \
             short or damaged, download it again (at byte 41)",
        );
    }

    #[test]
    fn strings_that_are_utf8_only_together_are_refused() {
        let mut array = vec![8, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0];
        for byte in "é".bytes() {
            array.extend([1, 0, 0, 0, 0, 0, 0, 0, byte]);
        }
        check_refused(
            9,
            &array,
            "key `k`: array of strings: expected UTF-8, got other bytes: the file is damaged \
             (at byte 66)",
        );
    }

    #[test]
    fn arrays_nest_as_deep_as_the_limit_and_no_deeper() {
        let nested = |depth: usize| {
            let innermost = Array::Scalars(Kind::U8, vec![1]);
            let array = (1..depth).fold(innermost, |inner, _| Array::Arrays(vec![inner]));
            File::parse(Builder::new().key("k", array).build().into())
        };
        nested(MAX_ARRAY_DEPTH).unwrap();
        nested(MAX_ARRAY_DEPTH + 1).unwrap_err();
        check_refused(
            9,
            &[9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0].repeat(100_000),
            "key `k`: array: arrays lie more than 4 deep in each other (at byte 77)",
        );
    }
}
