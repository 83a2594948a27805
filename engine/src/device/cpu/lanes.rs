//! What the fast kernels ask of an instruction set: sixteen 32-bit floats at a time, each
//! operation rounded as IEEE 754 says, so that every set computes the same bits.

/// Floats in one value: one AVX-512 register, two AVX2 registers.
pub(super) const LANES: usize = 16;

/// Sixteen floats in registers.
pub(super) trait Lanes: Copy {
    /// The same value in every lane.
    fn splat(value: f32) -> Self;

    fn load(values: &[f32; LANES]) -> Self;

    fn from_i8(values: [i8; LANES]) -> Self;

    /// From half-precision floats, little-endian. Exact; a NaN becomes quiet.
    fn from_f16(halves: &[u8; 2 * LANES]) -> Self;

    fn add(self, other: Self) -> Self;

    fn mul(self, other: Self) -> Self;

    /// `self * factor + addend`, rounded once.
    fn mul_add(self, factor: Self, addend: Self) -> Self;

    fn to_array(self) -> [f32; LANES];

    /// The sum of all lanes: the upper half is added to the lower one until one lane is left.
    #[inline(always)]
    fn total(self) -> f32 {
        let mut lanes = self.to_array();
        let mut width = LANES;
        while width > 1 {
            width /= 2;
            for lane in 0..width {
                lanes[lane] += lanes[lane + width];
            }
        }
        lanes[0]
    }
}
