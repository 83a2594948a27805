//! Q4_1: `scale f16 | min f16 | quants [16] u8`, a weight is `scale * nibble + min`. The low
//! nibbles are the first half of the block, the high nibbles the second.

use super::{Layout, f16_to_f32};

const LEN: usize = 32;

pub(super) const LAYOUT: Layout =
    Layout { ggml_id: 3, name: "Q4_1", block_len: LEN, block_bytes: 20 };

/// The 32 weights of one block.
#[inline(always)]
pub(crate) fn decode(block: &[u8; LAYOUT.block_bytes], out: &mut [f32; LAYOUT.block_len]) {
    let [scale_lo, scale_hi, min_lo, min_hi, quants @ ..] = block;
    let quants: &[u8; LEN / 2] = quants;
    let scale = f16_to_f32(u16::from_le_bytes([*scale_lo, *scale_hi]));
    let min = f16_to_f32(u16::from_le_bytes([*min_lo, *min_hi]));
    for (half, weights) in out.as_chunks_mut::<{ LEN / 2 }>().0.iter_mut().enumerate() {
        for (weight, pair) in weights.iter_mut().zip(quants) {
            *weight = scale * f32::from(pair >> (4 * half) & 0x0f) + min;
        }
    }
}
