//! How weights are stored: one file a format, holding its block layout and its scalar decoder.
//! Knows no tensor names, no files and no devices.
//!
//! Every format file has the same two items: `LAYOUT`, and `decode`, which turns the bytes of one
//! block into its weights. Their array types are taken from `LAYOUT`, so the two cannot disagree.

pub(crate) mod bf16;
pub(crate) mod f16;
// A module named `f32` would hide the type of that name.
#[path = "f32.rs"]
pub(crate) mod float32;
pub(crate) mod q4_0;
pub(crate) mod q4_1;
pub(crate) mod q4_k;
pub(crate) mod q6_k;
pub(crate) mod q8_0;

pub use f16::{f16_to_f32, f32_to_f16};

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
        match self {
            Format::F32 => float32::LAYOUT,
            Format::F16 => f16::LAYOUT,
            Format::BF16 => bf16::LAYOUT,
            Format::Q8_0 => q8_0::LAYOUT,
            Format::Q4_0 => q4_0::LAYOUT,
            Format::Q4_1 => q4_1::LAYOUT,
            Format::Q4_K => q4_k::LAYOUT,
            Format::Q6_K => q6_k::LAYOUT,
        }
    }

    /// The format with this `ggml_type`, if this build reads it.
    pub fn from_ggml_id(id: u32) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.layout().ggml_id == id)
    }

    /// Bytes of a row of `columns` weights; `None` if they do not fill whole blocks or overflow.
    pub fn row_bytes(self, columns: usize) -> Option<usize> {
        let layout = self.layout();
        if !columns.is_multiple_of(layout.block_len) {
            return None;
        }
        (columns / layout.block_len).checked_mul(layout.block_bytes)
    }

    /// Decodes whole blocks: `row` holds `out.len()` weights. Panics on other lengths.
    ///
    /// Always inlined, as the block decoders are: a kernel compiled for a wider instruction set
    /// that calls this gets a decoder compiled for that set.
    #[inline(always)]
    pub fn decode(self, row: &[u8], out: &mut [f32]) {
        match self {
            Format::F32 => decode_blocks(row, out, float32::decode),
            Format::F16 => decode_blocks(row, out, f16::decode),
            Format::BF16 => decode_blocks(row, out, bf16::decode),
            Format::Q8_0 => decode_blocks(row, out, q8_0::decode),
            Format::Q4_0 => decode_blocks(row, out, q4_0::decode),
            Format::Q4_1 => decode_blocks(row, out, q4_1::decode),
            Format::Q4_K => decode_blocks(row, out, q4_k::decode),
            Format::Q6_K => decode_blocks(row, out, q6_k::decode),
        }
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.layout().name)
    }
}

#[inline(always)]
fn decode_blocks<const BYTES: usize, const LEN: usize>(
    row: &[u8],
    out: &mut [f32],
    decode: impl Fn(&[u8; BYTES], &mut [f32; LEN]),
) {
    let (blocks, partial_block) = row.as_chunks::<BYTES>();
    let (groups, partial_group) = out.as_chunks_mut::<LEN>();
    assert!(
        partial_block.is_empty() && partial_group.is_empty() && blocks.len() == groups.len(),
        "{} blocks and {} bytes cannot decode to {} groups of {LEN} and {} weights",
        blocks.len(),
        partial_block.len(),
        groups.len(),
        partial_group.len()
    );
    for (block, group) in blocks.iter().zip(groups) {
        decode(block, group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;

    /// Encoded blocks and their weights as an outside tool decodes them (golden/blocks/SOURCE).
    fn golden(format: Format) -> (Vec<u8>, Vec<f32>) {
        let Layout { name, block_len, block_bytes, .. } = format.layout();
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("../golden/blocks/{}.bin", name.to_lowercase()));
        let mut blocks = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let record = block_bytes + 4 * block_len;
        assert_eq!(blocks.len() % record, 0, "{} holds no whole blocks", path.display());
        let weights = blocks.split_off(blocks.len() / record * block_bytes);
        let weights = weights.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
        (blocks, weights.collect())
    }

    #[test]
    fn every_format_decodes_its_golden_blocks_to_the_last_bit() {
        for format in Format::ALL {
            let (blocks, expected) = golden(format);
            assert!(expected.len() >= 8 * format.layout().block_len, "{format}: too few blocks");
            let mut decoded = vec![f32::NAN; expected.len()];
            format.decode(&blocks, &mut decoded);
            for (index, (decoded, expected)) in decoded.iter().zip(&expected).enumerate() {
                let same = decoded.to_bits() == expected.to_bits();
                assert!(same, "{format} weight {index}: {decoded:e}, expected {expected:e}");
            }
        }
    }

    #[test]
    fn names_and_ids_are_unique_and_lead_back() {
        for (index, format) in Format::ALL.into_iter().enumerate() {
            let layout = format.layout();
            assert_eq!(Format::from_ggml_id(layout.ggml_id), Some(format));
            assert_eq!(format.to_string(), layout.name);
            assert!(Format::ALL[..index].iter().all(|other| other.layout().name != layout.name));
        }
        assert_eq!(Format::from_ggml_id(u32::MAX), None);
    }

    #[test]
    fn rows_fill_whole_blocks() {
        let check = |format: Format, columns, bytes| {
            assert_eq!(format.row_bytes(columns), bytes, "{format}, {columns} columns");
        };
        check(Format::F32, 33, Some(132));
        check(Format::Q8_0, 64, Some(68));
        check(Format::Q8_0, 33, None);
        check(Format::Q4_K, 512, Some(288));
        check(Format::Q4_K, 128, None);
        check(Format::Q6_K, 0, Some(0));
        check(Format::F32, usize::MAX, None);
    }

    #[test]
    #[should_panic(expected = "1 blocks and 16 bytes cannot decode to 2 groups of 32")]
    fn decode_refuses_a_row_that_is_too_short() {
        Format::Q8_0.decode(&[0; 50], &mut [0.0; 64]);
    }

    proptest! {
        #[test]
        fn any_bytes_decode(bytes in prop::collection::vec(any::<u8>(), 420)) {
            for format in Format::ALL {
                let Layout { block_len, block_bytes, .. } = format.layout();
                let blocks = bytes.len() / block_bytes;
                let mut out = vec![0.0; blocks * block_len];
                format.decode(&bytes[..blocks * block_bytes], &mut out);
            }
        }
    }
}
