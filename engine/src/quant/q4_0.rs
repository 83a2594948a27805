//! Q4_0: `scale f16 | quants [16] u8`, a weight is `scale * (nibble - 8)`. The low nibbles are the
//! first half of the block, the high nibbles the second.

use super::{Layout, f16_to_f32};

const LEN: usize = 32;

pub(super) const LAYOUT: Layout =
    Layout { ggml_id: 2, name: "Q4_0", block_len: LEN, block_bytes: 18 };

/// The 32 weights of one block.
#[inline(always)]
pub(crate) fn decode(block: &[u8; LAYOUT.block_bytes], out: &mut [f32; LAYOUT.block_len]) {
    let [scale_lo, scale_hi, quants @ ..] = block;
    let quants: &[u8; LEN / 2] = quants;
    let scale = f16_to_f32(u16::from_le_bytes([*scale_lo, *scale_hi]));
    for (half, weights) in out.as_chunks_mut::<{ LEN / 2 }>().0.iter_mut().enumerate() {
        for (weight, pair) in weights.iter_mut().zip(quants) {
            *weight = scale * f32::from((pair >> (4 * half) & 0x0f) as i8 - 8);
        }
    }
}
