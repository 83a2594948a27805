//! Q6_K: `low [128] u8 | high [64] u8 | sub_scales [16] i8 | scale f16`, 256 weights in 16
//! sub-blocks of 16; a weight is `(scale * sub_scale) * (quant - 32)`.
//!
//! Each half of the block (64 bytes of `low`, 32 of `high`) holds four runs of 32 weights: runs 0
//! and 1 take the low nibbles of the first and second 32 bytes of `low`, runs 2 and 3 the high
//! nibbles; run `r` takes its two top bits from bits `2r` of `high`.

use super::{Layout, f16_to_f32};

const LEN: usize = 256;
const SUB_LEN: usize = 16;
const RUN: usize = 32;

pub(super) const LAYOUT: Layout =
    Layout { ggml_id: 14, name: "Q6_K", block_len: LEN, block_bytes: 210 };

/// The 256 weights of one block.
#[inline(always)]
pub(crate) fn decode(block: &[u8; LAYOUT.block_bytes], out: &mut [f32; LAYOUT.block_len]) {
    let [quants @ .., scale_lo, scale_hi] = block;
    let quants: &[u8; LEN / 2 + LEN / 4 + LEN / SUB_LEN] = quants;
    let scale = f16_to_f32(u16::from_le_bytes([*scale_lo, *scale_hi]));
    let (low, rest) = quants.split_at(LEN / 2);
    let (high, sub_scales) = rest.split_at(LEN / 4);

    let runs = out.as_chunks_mut::<RUN>().0;
    for (index, (weights, sub_scales)) in
        runs.iter_mut().zip(sub_scales.as_chunks::<{ RUN / SUB_LEN }>().0).enumerate()
    {
        let (half, run) = (index / 4, index % 4);
        let low = &low[64 * half + RUN * (run % 2)..][..RUN];
        let high = &high[RUN * half..][..RUN];
        for (i, weight) in weights.iter_mut().enumerate() {
            let nibble = low[i] >> (4 * (run / 2)) & 0x0f;
            let top = high[i] >> (2 * run) & 0x03;
            let sub_scale = scale * f32::from(sub_scales[i / SUB_LEN] as i8);
            *weight = sub_scale * f32::from((nibble | top << 4) as i8 - 32);
        }
    }
}
