//! GGUF files, versions 2 and 3, little-endian: bytes in, borrowed and checked views out.
//! Knows what a tensor's format weighs ([`crate::quant`]) and nothing of models.

use crate::Error;
use crate::quant::Format;
use std::path::Path;

mod mapped;
mod metadata;
mod reader;

pub use mapped::Bytes;
pub use metadata::{Metadata, Value};

/// A parsed file: everything before the tensor data is owned and checked against the bytes that
/// are there; tensor data is borrowed.
#[derive(Debug, Clone)]
pub struct File {
    bytes: Bytes,
    version: u32,
    alignment: u64,
    metadata: Metadata,
    tensors: Vec<TensorInfo>,
}

/// A tensor's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// As in `blk.0.attn_q.weight`.
    pub name: String,
    /// ggml order: `dims[0]` is the row length. 1 to 4 dimensions, none of them zero.
    pub dims: Vec<u64>,
    /// How it is stored.
    pub kind: TensorKind,
    /// Offset in the file, checked: `offset + byte_len` lies inside.
    pub offset: u64,
    /// 0 for an unknown kind.
    pub byte_len: u64,
}

/// What a tensor record's `ggml_type` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TensorKind {
    /// A format this build reads.
    Known(Format),
    /// The raw `ggml_type` of one it does not.
    Unknown(u32),
}

impl File {
    /// Maps and parses a file. Errors name the path.
    pub fn open(_path: &Path) -> Result<File, Error> {
        unimplemented!()
    }

    /// Parses bytes already at hand.
    pub fn parse(_bytes: Bytes) -> Result<File, Error> {
        unimplemented!()
    }

    /// 2 or 3.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// `general.alignment`, 32 unless given.
    pub fn alignment(&self) -> u64 {
        self.alignment
    }

    /// The key-value pairs in file order.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The tensor records in file order.
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.tensors
    }

    /// The record of a tensor by name.
    pub fn tensor(&self, _name: &str) -> Option<&TensorInfo> {
        unimplemented!()
    }

    /// A tensor's bytes, shared with the file.
    pub fn data(&self, _tensor: &TensorInfo) -> Bytes {
        unimplemented!()
    }

    /// Bytes of the whole file.
    pub fn byte_len(&self) -> u64 {
        self.bytes.len() as u64
    }
}
