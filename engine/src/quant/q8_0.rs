//! Q8_0: `scale f16 | quants [32] i8`, a weight is `scale * quant`.

use super::{Layout, f16_to_f32};

const LEN: usize = 32;

pub(super) const LAYOUT: Layout =
    Layout { ggml_id: 8, name: "Q8_0", block_len: LEN, block_bytes: 34 };

/// The 32 weights of one block.
#[inline(always)]
pub(crate) fn decode(block: &[u8; LAYOUT.block_bytes], out: &mut [f32; LAYOUT.block_len]) {
    let [scale_lo, scale_hi, quants @ ..] = block;
    let quants: &[u8; LEN] = quants;
    let scale = f16_to_f32(u16::from_le_bytes([*scale_lo, *scale_hi]));
    for (weight, quant) in out.iter_mut().zip(quants) {
        *weight = scale * f32::from(*quant as i8);
    }
}
