//! BF16: the upper half of a 32-bit float, little-endian.

use super::Layout;

pub(super) const LAYOUT: Layout =
    Layout { ggml_id: 30, name: "BF16", block_len: 1, block_bytes: 2 };

/// The weight of one block.
#[inline(always)]
pub(crate) fn decode(block: &[u8; LAYOUT.block_bytes], out: &mut [f32; LAYOUT.block_len]) {
    *out = [f32::from_bits(u32::from(u16::from_le_bytes(*block)) << 16)];
}
