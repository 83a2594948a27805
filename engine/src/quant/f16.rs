//! F16: one little-endian IEEE 754 binary16 float; and the conversions to and from it, which
//! block scales and the key-value cache need as well.

use super::Layout;

pub(super) const LAYOUT: Layout = Layout { ggml_id: 1, name: "F16", block_len: 1, block_bytes: 2 };

/// The weight of one block.
#[inline(always)]
pub(crate) fn decode(block: &[u8; LAYOUT.block_bytes], out: &mut [f32; LAYOUT.block_len]) {
    *out = [f16_to_f32(u16::from_le_bytes(*block))];
}

/// The value of a half-precision float given by its bits. Exact; a NaN becomes quiet, as in
/// hardware. All cases are computed and one selected, so that loops over it vectorise; none goes
/// through a subnormal `f32`, which costs processors a hundred cycles.
#[inline(always)]
pub const fn f16_to_f32(half: u16) -> f32 {
    const REBIAS: u32 = (127 - 15) << 23;
    const SUBNORMAL_UNIT: f32 = f32::from_bits((127 - 24) << 23); // 2^-24
    let sign = (half as u32 & 0x8000) << 16;
    let magnitude = half as u32 & 0x7fff;
    let bits = if magnitude < 0x0400 {
        (magnitude as f32 * SUBNORMAL_UNIT).to_bits()
    } else if magnitude < 0x7c00 {
        (magnitude << 13) + REBIAS
    } else {
        let quiet = if magnitude > 0x7c00 { 0x0040_0000 } else { 0 };
        0x7f80_0000 | magnitude << 13 | quiet
    };
    f32::from_bits(sign | bits)
}

/// The bits of the nearest half-precision float, ties to even; values from 65520 on become
/// infinite, a NaN becomes quiet and keeps its upper payload bits.
#[inline(always)]
pub const fn f32_to_f16(value: f32) -> u16 {
    const NORMAL_MIN: u32 = (127 - 14) << 23; // 2^-14, the smallest normal half
    const OVERFLOW: u32 = (127 + 16) << 23; // 2^16, the first power of two beyond
    const HALF_UNIT: u32 = 1 << 12; // half of the last place that is kept
    let sign = (value.to_bits() >> 16) & 0x8000;
    let magnitude = value.to_bits() & 0x7fff_ffff;
    let half = if magnitude > 0x7f80_0000 {
        0x7e00 | (magnitude >> 13 & 0x03ff)
    } else if magnitude >= OVERFLOW {
        0x7c00
    } else if magnitude >= NORMAL_MIN {
        // A carry out of the mantissa lands in the exponent, which is where it belongs.
        let odd = magnitude >> 13 & 1;
        ((magnitude + HALF_UNIT - 1 + odd) >> 13) - (112 << 10)
    } else {
        // The last place of 0.5 is 2^-24, that of a subnormal half: the sum does the rounding.
        (f32::from_bits(magnitude) + 0.5).to_bits() - 0.5_f32.to_bits()
    };
    (sign | half) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check_to_half(value: f32) {
        let expected = half::f16::from_f32(value).to_bits();
        let got = f32_to_f16(value);
        assert_eq!(got, expected, "{value:e}: {got:#06x}, expected {expected:#06x}");
    }

    #[test]
    fn every_half_has_the_value_of_the_half_crate_and_comes_back() {
        for bits in 0..=u16::MAX {
            let value = f16_to_f32(bits);
            let expected = half::f16::from_bits(bits).to_f32();
            assert_eq!(value.to_bits(), expected.to_bits(), "{bits:#06x}");
            check_to_half(value);
        }
    }

    #[test]
    fn ties_and_range_ends_round_as_the_half_crate_does() {
        for bits in 0..0x7c00 {
            let (below, above) = (f16_to_f32(bits), f16_to_f32(bits + 1).min(65536.0));
            let tie = (below + above) / 2.0;
            for value in [tie.next_down(), tie, tie.next_up()] {
                check_to_half(value);
                check_to_half(-value);
            }
        }
        for value in [f32::MIN_POSITIVE, 1e-40, f32::MAX, f32::INFINITY, f32::NAN, 65520.0] {
            check_to_half(value);
            check_to_half(-value);
        }
    }

    proptest! {
        #[test]
        fn any_float_rounds_as_the_half_crate_does(bits in any::<u32>()) {
            check_to_half(f32::from_bits(bits));
        }
    }
}
