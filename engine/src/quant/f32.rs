//! F32: one little-endian 32-bit float.

use super::Layout;

pub(super) const LAYOUT: Layout = Layout { ggml_id: 0, name: "F32", block_len: 1, block_bytes: 4 };

/// The weight of one block.
#[inline(always)]
pub(crate) fn decode(block: &[u8; LAYOUT.block_bytes], out: &mut [f32; LAYOUT.block_len]) {
    *out = [f32::from_le_bytes(*block)];
}
