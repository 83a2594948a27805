//! Key-value pairs of a GGUF file, with getters that say what was expected and what was found.

use crate::Error;

/// One value. Integers of every width are kept as they are.
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
    /// Element type id and values; nested arrays are bounded in depth.
    Array(Vec<Value>),
}

/// The pairs in file order; names are unique.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metadata {
    pairs: Vec<(String, Value)>,
}

impl Metadata {
    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// All pairs in file order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.pairs.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// A string, `None` if absent, an error if it is of another type.
    pub fn string(&self, _key: &str) -> Result<Option<&str>, Error> {
        unimplemented!()
    }

    /// Any integer type that fits; a negative or fractional value is an error.
    pub fn unsigned(&self, _key: &str) -> Result<Option<u64>, Error> {
        unimplemented!()
    }

    /// f32 or f64.
    pub fn float(&self, _key: &str) -> Result<Option<f32>, Error> {
        unimplemented!()
    }

    /// A bool.
    pub fn boolean(&self, _key: &str) -> Result<Option<bool>, Error> {
        unimplemented!()
    }

    /// An array of strings.
    pub fn strings(&self, _key: &str) -> Result<Option<Vec<&str>>, Error> {
        unimplemented!()
    }

    /// An array of f32.
    pub fn floats(&self, _key: &str) -> Result<Option<Vec<f32>>, Error> {
        unimplemented!()
    }

    /// An array of i32 or u32 (expected: i32), as i32.
    pub fn integers(&self, _key: &str) -> Result<Option<Vec<i32>>, Error> {
        unimplemented!()
    }
}
