//! How weights are stored: one file a format, holding its block layout and its scalar decoder.
//! Knows no tensor names, no files and no devices.

/// How a row of weights is stored. A new variant makes the compiler list every place to extend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(non_camel_case_types)] // the names of the field: Q8_0, Q4_K
pub enum Format {
    /// 32-bit floats.
    F32,
    /// 16-bit IEEE floats.
    F16,
    /// The upper half of a 32-bit float.
    BF16,
    /// 32 signed bytes, one f16 scale.
    Q8_0,
    /// 32 nibbles, one f16 scale, offset 8.
    Q4_0,
    /// 32 nibbles, f16 scale and minimum.
    Q4_1,
    /// 256 nibbles in 8 sub-blocks with 6-bit scales and minima.
    Q4_K,
    /// 256 six-bit weights in 16 sub-blocks with 8-bit scales.
    Q6_K,
}

/// Sizes of one block, and the names the outside world knows the format by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// `ggml_type` in a GGUF tensor record.
    pub ggml_id: u32,
    /// The field's spelling, as in `Q4_K`.
    pub name: &'static str,
    /// Weights in a block.
    pub block_len: usize,
    /// Bytes of a block.
    pub block_bytes: usize,
}

impl Format {
    /// Every format this build reads.
    pub const ALL: [Format; 8] = [
        Format::F32,
        Format::F16,
        Format::BF16,
        Format::Q8_0,
        Format::Q4_0,
        Format::Q4_1,
        Format::Q4_K,
        Format::Q6_K,
    ];

    /// The format's block layout.
    pub const fn layout(self) -> Layout {
        unimplemented!()
    }

    /// The format with this `ggml_type`, if this build reads it.
    pub fn from_ggml_id(_id: u32) -> Option<Format> {
        unimplemented!()
    }

    /// Bytes of a row of `columns` weights; `None` if they do not fill whole blocks or overflow.
    pub fn row_bytes(self, _columns: usize) -> Option<usize> {
        unimplemented!()
    }

    /// Decodes whole blocks: `row` holds `out.len()` weights. Panics on other lengths.
    pub fn decode(self, _row: &[u8], _out: &mut [f32]) {
        unimplemented!()
    }
}
