//! Q4_K: `scale f16 | min f16 | packed [12] u8 | quants [128] u8`, 256 weights in 8 sub-blocks of
//! 32. `packed` holds a 6-bit scale and a 6-bit minimum a sub-block; a weight is
//! `(scale * sub_scale) * nibble - (min * sub_min)`. Each 32 bytes of quants hold two sub-blocks:
//! the low nibbles the first, the high nibbles the second.

use super::{Layout, f16_to_f32};

const LEN: usize = 256;
const SUB_LEN: usize = 32;
const PACKED: usize = 12;

pub(super) const LAYOUT: Layout =
    Layout { ggml_id: 12, name: "Q4_K", block_len: LEN, block_bytes: 144 };

/// The 256 weights of one block.
#[inline(always)]
pub(crate) fn decode(block: &[u8; LAYOUT.block_bytes], out: &mut [f32; LAYOUT.block_len]) {
    let [scale_lo, scale_hi, min_lo, min_hi, rest @ ..] = block;
    let rest: &[u8; PACKED + LEN / 2] = rest;
    let scale = f16_to_f32(u16::from_le_bytes([*scale_lo, *scale_hi]));
    let min = f16_to_f32(u16::from_le_bytes([*min_lo, *min_hi]));
    let (packed, quants) = rest.split_first_chunk().expect("the scales lie within the block");

    let pairs = quants.as_chunks::<SUB_LEN>().0;
    let groups = out.as_chunks_mut::<{ 2 * SUB_LEN }>().0;
    for (pair, (quants, group)) in pairs.iter().zip(groups).enumerate() {
        for (half, weights) in group.as_chunks_mut::<SUB_LEN>().0.iter_mut().enumerate() {
            let (sub_scale, sub_min) = unpack(packed, 2 * pair + half);
            let (sub_scale, sub_min) = (scale * f32::from(sub_scale), min * f32::from(sub_min));
            for (weight, quant) in weights.iter_mut().zip(quants) {
                *weight = sub_scale * f32::from(quant >> (4 * half) & 0x0f) - sub_min;
            }
        }
    }
}

/// Scale and minimum of a sub-block. The first four scales and minima are the low 6 bits of bytes
/// 0 to 3 and 4 to 7; the last four have their low 4 bits in the nibbles of bytes 8 to 11 and
/// their high 2 bits atop those bytes.
#[inline(always)]
pub(crate) fn unpack(packed: &[u8; PACKED], sub_block: usize) -> (u8, u8) {
    if sub_block < 4 {
        return (packed[sub_block] & 0x3f, packed[sub_block + 4] & 0x3f);
    }
    let low = packed[sub_block + 4];
    let scale_top = packed[sub_block - 4] >> 6;
    let min_top = packed[sub_block] >> 6;
    (low & 0x0f | scale_top << 4, low >> 4 | min_top << 4)
}
