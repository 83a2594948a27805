//! Philox4x32-10, a random number that is a function of a key and a counter alone.
//! Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

/// 128 random bits for a counter under a key.
pub(super) fn philox4x32(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let [mut c0, mut c1, mut c2, mut c3] = counter;
    let [mut k0, mut k1] = key;
    for _ in 0..10 {
        let (hi0, lo0) = wide(0xD251_1F53, c0);
        let (hi1, lo1) = wide(0xCD9E_8D57, c2);
        (c0, c1, c2, c3) = (hi1 ^ c1 ^ k0, lo1, hi0 ^ c3 ^ k1, lo0);
        k0 = k0.wrapping_add(0x9E37_79B9); // the golden ratio
        k1 = k1.wrapping_add(0xBB67_AE85); // the square root of 3, less 1
    }
    [c0, c1, c2, c3]
}

/// A number in [0, 1) with 53 random bits, for a position under a seed.
pub(super) fn uniform(seed: u64, position: u64) -> f64 {
    let halves = |x: u64| [x as u32, (x >> 32) as u32];
    let [low, high] = halves(position);
    let [a, b, ..] = philox4x32([low, high, 0, 0], halves(seed));
    let bits = (u64::from(a) << 32 | u64::from(b)) >> 11;
    bits as f64 / (1u64 << 53) as f64
}

/// High and low half of a product.
fn wide(a: u32, b: u32) -> (u32, u32) {
    let product = u64::from(a) * u64::from(b);
    ((product >> 32) as u32, product as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers published with Random123 (`kat_vectors`, philox4x32 with 10 rounds).
    #[test]
    fn known_answers() {
        let check = |counter, key, want: [u32; 4]| assert_eq!(philox4x32(counter, key), want);
        check([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        check([!0; 4], [!0; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        check(
            [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
            [0xa409_3822, 0x299f_31d0],
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
        );
    }

    #[test]
    fn uniform_stays_below_one_and_uses_all_of_seed_and_position() {
        let mut seen = std::collections::BTreeSet::new();
        for (seed, position) in [(0, 0), (1, 0), (0, 1), (1 << 32, 0), (0, 1 << 32), (!0, !0)] {
            let u = uniform(seed, position);
            assert!((0.0..1.0).contains(&u));
            seen.insert(u.to_bits());
        }
        assert_eq!(seen.len(), 6);
    }
}
