//! Makes small GGUF files for tests: keys and tensors in, the bytes of a file out, and a folder to
//! lay them in. Writes whatever it is told, so that wrong files can be made too.

use super::{Array, Kind, Value};
use crate::quant::Format;
use std::path::{Path, PathBuf};

/// A file under construction; see the test below for how it reads.
#[derive(Debug, Clone, Default)]
pub(crate) struct Builder {
    pairs: Vec<(String, Value)>,
    tensors: Vec<Tensor>,
}

#[derive(Debug, Clone)]
struct Tensor {
    name: String,
    dims: Vec<u64>,
    ggml_id: u32,
    bytes: Vec<u8>,
}

impl Builder {
    pub(crate) fn new() -> Builder {
        Builder::default()
    }

    /// Numbers, bools, strings and arrays of them: `.key("llama.block_count", 2_u32)`.
    pub(crate) fn key(mut self, key: &str, value: impl Into<Value>) -> Builder {
        self.pairs.push((key.to_owned(), value.into()));
        self
    }

    /// A tensor of encoded blocks; `dims` in ggml order, the row length first.
    pub(crate) fn tensor(
        self,
        name: &str,
        dims: &[u64],
        format: Format,
        bytes: Vec<u8>,
    ) -> Builder {
        self.tensor_of_type(name, dims, format.layout().ggml_id, bytes)
    }

    /// A tensor of f32.
    pub(crate) fn floats(self, name: &str, dims: &[u64], values: &[f32]) -> Builder {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.tensor(name, dims, Format::F32, bytes)
    }

    /// A tensor of any `ggml_type`.
    pub(crate) fn tensor_of_type(
        mut self,
        name: &str,
        dims: &[u64],
        ggml_id: u32,
        bytes: Vec<u8>,
    ) -> Builder {
        self.tensors.push(Tensor { name: name.to_owned(), dims: dims.to_vec(), ggml_id, bytes });
        self
    }

    /// The file, version 3. Tensors follow each other, aligned as `general.alignment` says.
    pub(crate) fn build(&self) -> Vec<u8> {
        let alignment = self.pairs.iter().find(|(key, _)| key == "general.alignment");
        let alignment = match alignment {
            Some((_, Value::U32(alignment))) => (*alignment).max(1) as usize,
            _ => 32,
        };
        let mut file = b"GGUF\x03\0\0\0".to_vec();
        file.extend((self.tensors.len() as u64).to_le_bytes());
        file.extend((self.pairs.len() as u64).to_le_bytes());
        for (key, value) in &self.pairs {
            write_string(&mut file, key);
            file.extend((value.kind() as u32).to_le_bytes());
            write_value(&mut file, value);
        }
        let mut data = Vec::new();
        for Tensor { name, dims, ggml_id, bytes } in &self.tensors {
            data.resize(data.len().next_multiple_of(alignment), 0);
            write_string(&mut file, name);
            file.extend((dims.len() as u32).to_le_bytes());
            file.extend(dims.iter().flat_map(|dim| dim.to_le_bytes()));
            file.extend(ggml_id.to_le_bytes());
            file.extend((data.len() as u64).to_le_bytes());
            data.extend(bytes);
        }
        file.resize(file.len().next_multiple_of(alignment), 0);
        file.extend(data);
        file
    }
}

/// An empty folder that is gone with the value. Names are unique among the tests.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("strata-{}-{name}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Best effort: what is left lies in the system's temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn write_string(file: &mut Vec<u8>, text: &str) {
    file.extend((text.len() as u64).to_le_bytes());
    file.extend(text.bytes());
}

fn write_value(file: &mut Vec<u8>, value: &Value) {
    match value {
        Value::U8(value) => file.extend(value.to_le_bytes()),
        Value::I8(value) => file.extend(value.to_le_bytes()),
        Value::U16(value) => file.extend(value.to_le_bytes()),
        Value::I16(value) => file.extend(value.to_le_bytes()),
        Value::U32(value) => file.extend(value.to_le_bytes()),
        Value::I32(value) => file.extend(value.to_le_bytes()),
        Value::F32(value) => file.extend(value.to_le_bytes()),
        Value::U64(value) => file.extend(value.to_le_bytes()),
        Value::I64(value) => file.extend(value.to_le_bytes()),
        Value::F64(value) => file.extend(value.to_le_bytes()),
        Value::Bool(value) => file.push(u8::from(*value)),
        Value::String(text) => write_string(file, text),
        Value::Array(array) => write_array(file, array),
    }
}

fn write_array(file: &mut Vec<u8>, array: &Array) {
    file.extend((array.kind() as u32).to_le_bytes());
    file.extend((array.len() as u64).to_le_bytes());
    match array {
        Array::Scalars(_, bytes) => file.extend(bytes),
        Array::Strings(strings) => strings.iter().for_each(|text| write_string(file, text)),
        Array::Arrays(arrays) => arrays.iter().for_each(|array| write_array(file, array)),
    }
}

macro_rules! from_scalars {
    ($($type:ty => $kind:ident),*) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Value {
                Value::$kind(value)
            }
        }

        impl From<&[$type]> for Value {
            fn from(values: &[$type]) -> Value {
                let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                Value::Array(Array::Scalars(Kind::$kind, bytes))
            }
        }
    )*};
}

from_scalars!(u8 => U8, i8 => I8, u16 => U16, i16 => I16, u32 => U32, i32 => I32, f32 => F32);
from_scalars!(u64 => U64, i64 => I64, f64 => F64);

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::String(text.to_owned())
    }
}

impl From<&[&str]> for Value {
    fn from(texts: &[&str]) -> Value {
        Value::Array(Array::Strings(texts.iter().copied().collect()))
    }
}

impl From<&[String]> for Value {
    fn from(texts: &[String]) -> Value {
        Value::Array(Array::Strings(texts.iter().map(String::as_str).collect()))
    }
}

impl From<Array> for Value {
    fn from(array: Array) -> Value {
        Value::Array(array)
    }
}

impl<T> From<Vec<T>> for Value
where
    for<'a> Value: From<&'a [T]>,
{
    fn from(values: Vec<T>) -> Value {
        Value::from(&values[..])
    }
}

impl<T, const N: usize> From<[T; N]> for Value
where
    for<'a> Value: From<&'a [T]>,
{
    fn from(values: [T; N]) -> Value {
        Value::from(&values[..])
    }
}
