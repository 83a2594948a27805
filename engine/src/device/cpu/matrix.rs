//! A matrix of weights, as its file stores it.

use crate::gguf::Bytes;
use crate::quant::Format;

/// Rows of whole blocks, one after the other: `[rows, columns]`.
pub struct Matrix {
    format: Format,
    rows: usize,
    columns: usize,
    row_bytes: usize,
    bytes: Bytes,
}

impl Matrix {
    /// Panics if `bytes` are not `rows` rows of `columns` weights.
    pub(super) fn new(format: Format, rows: usize, columns: usize, bytes: Bytes) -> Matrix {
        let row_bytes = format.row_bytes(columns).expect("a row fills whole blocks");
        assert_eq!(Some(bytes.len()), rows.checked_mul(row_bytes), "bytes of the matrix");
        Matrix { format, rows, columns, row_bytes, bytes }
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn row(&self, row: usize) -> &[u8] {
        &self.bytes[row * self.row_bytes..][..self.row_bytes]
    }
}
