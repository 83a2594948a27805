//! The tensor records of a GGUF file. A record's shape, format and place are checked together:
//! what leaves here lies inside the file. Knows no tensor by name.

use super::reader::{ParseError, Reader, quoted};
use crate::Error;
use crate::quant::Format;
use std::fmt;
use std::ops::Range;

/// A tensor's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// As in `blk.0.attn_q.weight`.
    pub name: String,
    /// ggml order: `dims[0]` is the row length. 1 to 4 dimensions, none of them zero.
    pub dims: Vec<u64>,
    /// How it is stored.
    pub kind: TensorKind,
    /// Which of [`super::File::parts`] its bytes lie in, from 0 on.
    pub part: usize,
    /// Offset in that file, checked: `offset + byte_len` lies inside.
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

impl fmt::Display for TensorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TensorKind::Known(format) => format.fmt(f),
            TensorKind::Unknown(id) => f.pad(&format!("ggml type {id}")),
        }
    }
}

impl TensorInfo {
    /// Bytes of the shortest record: the length of its name, one character, the number of
    /// dimensions, one dimension, type, offset.
    pub(super) const MIN_RECORD_BYTES: usize = 8 + 1 + 4 + 8 + 4 + 8;

    /// Record number `index`. Its `offset` is still relative to the tensor data.
    pub(super) fn read(reader: &mut Reader, index: usize) -> Result<TensorInfo, ParseError> {
        let name = reader.name("name").map_err(|e| e.within(&format!("tensor {index}")))?;
        let label = format!("tensor {}", quoted(&name));
        TensorInfo::read_unnamed(reader)
            .map(|tensor| TensorInfo { name, ..tensor })
            .map_err(|e| e.within(&label))
    }

    fn read_unnamed(reader: &mut Reader) -> Result<TensorInfo, ParseError> {
        let count = reader.u32("number of dimensions")?;
        if !(1..=MAX_DIMS).contains(&count) {
            let problem = format!("expected 1 to {MAX_DIMS}, got {count}");
            return Err(reader.error("number of dimensions", problem));
        }
        let dims: Vec<u64> =
            (0..count).map(|_| reader.u64("dimension")).collect::<Result<_, _>>()?;
        let id = reader.u32("type")?;
        let kind = Format::from_ggml_id(id).map_or(TensorKind::Unknown(id), TensorKind::Known);
        let byte_len = byte_len(&dims, kind).map_err(|problem| reader.error("shape", problem))?;
        let offset = reader.u64("offset")?;
        Ok(TensorInfo { name: String::new(), dims, kind, part: 0, offset, byte_len })
    }

    /// Turns the offset into one in the file and returns the bytes it covers there.
    pub(super) fn place(
        &mut self,
        reader: &Reader,
        data: u64,
        alignment: u32,
    ) -> Result<Range<u64>, Error> {
        let error = |problem| Error::Model(format!("tensor {}: {problem}", quoted(&self.name)));
        if !self.offset.is_multiple_of(alignment.into()) {
            let offset = self.offset;
            let problem = format!("offset {offset} is not a multiple of the alignment {alignment}");
            return Err(error(problem));
        }
        let range = reader.range(data, self.offset, self.byte_len).map_err(error)?;
        self.offset = range.start;
        Ok(range)
    }
}

/// Bytes of a tensor, or what is wrong with its shape.
fn byte_len(dims: &[u64], kind: TensorKind) -> Result<u64, String> {
    if let Some(zero) = dims.iter().position(|dim| *dim == 0) {
        return Err(format!("dimension {zero} is 0, expected at least 1"));
    }
    let elements = dims.iter().try_fold(1_u64, |product, dim| product.checked_mul(*dim));
    // ggml counts elements in an i64; what is more was never written by it.
    let too_many = || format!("{dims:?} has more than 2^63 - 1 elements");
    let elements = elements.filter(|count| *count <= i64::MAX as u64).ok_or_else(too_many)?;
    let TensorKind::Known(format) = kind else { return Ok(0) };

    let (columns, rows) = (dims[0], elements / dims[0]);
    let block_len = format.layout().block_len as u64;
    if !columns.is_multiple_of(block_len) {
        return Err(format!("rows of {columns} do not fill {format} blocks of {block_len}"));
    }
    let row_bytes = usize::try_from(columns).ok().and_then(|columns| format.row_bytes(columns));
    row_bytes
        .and_then(|bytes| rows.checked_mul(bytes as u64))
        .ok_or_else(|| format!("{dims:?} as {format} has more than 2^64 - 1 bytes"))
}

/// ggml's `GGML_MAX_DIMS`.
const MAX_DIMS: u32 = 4;
