//! The fast kernels compiled for AVX2 with FMA and F16C.

#![allow(unsafe_code)]

use super::fast;
use super::kernels::{Head, Kernels};
use super::kv_rows::KvRows;
use super::lanes::{LANES, Lanes};
use super::matrix::Matrix;
use std::arch::x86_64::*;
use std::ops::Range;

pub(super) const KERNELS: Kernels = Kernels { name: "avx2", matmul, rms_norm, attend };

/// Whether this processor and its system have what the set is compiled for.
pub(super) fn detected() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
}

fn matmul(weights: &Matrix, rows: Range<usize>, x: &[f32], out: &mut [f32]) {
    #[target_feature(enable = "avx2,fma,f16c")]
    fn compiled(weights: &Matrix, rows: Range<usize>, x: &[f32], out: &mut [f32]) {
        fast::matmul::<Ymm>(weights, rows, x, out);
    }
    // SAFETY: the set is handed out only where `detected` found these features.
    unsafe { compiled(weights, rows, x, out) }
}

fn rms_norm(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
    #[target_feature(enable = "avx2,fma,f16c")]
    fn compiled(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
        fast::rms_norm::<Ymm>(x, weight, eps, out);
    }
    // SAFETY: the set is handed out only where `detected` found these features.
    unsafe { compiled(x, weight, eps, out) }
}

fn attend(head: &Head, store: &KvRows, out: &mut [f32]) {
    #[target_feature(enable = "avx2,fma,f16c")]
    fn compiled(head: &Head, store: &KvRows, out: &mut [f32]) {
        fast::attend::<Ymm>(head, store, out);
    }
    // SAFETY: the set is handed out only where `detected` found these features.
    unsafe { compiled(head, store, out) }
}

/// Sixteen floats in two registers, the lower lanes first.
#[derive(Clone, Copy)]
struct Ymm([__m256; 2]);

impl Lanes for Ymm {
    #[inline(always)]
    fn splat(value: f32) -> Ymm {
        // SAFETY: runs inside the kernels above only, which enable avx2, fma and f16c.
        Ymm([unsafe { _mm256_set1_ps(value) }; 2])
    }

    #[inline(always)]
    fn load(values: &[f32; LANES]) -> Ymm {
        let (low, high) = values.split_at(LANES / 2);
        // SAFETY: as `splat`; the slice is valid for the 32 bytes read, at any alignment.
        let low = unsafe { _mm256_loadu_ps(low.as_ptr()) };
        // SAFETY: as for the lower half.
        let high = unsafe { _mm256_loadu_ps(high.as_ptr()) };
        Ymm([low, high])
    }

    #[inline(always)]
    fn from_i8(values: [i8; LANES]) -> Ymm {
        let (low, high) = values.split_at(LANES / 2);
        // SAFETY: as `splat`; the slice is valid for the 8 bytes read, at any alignment.
        let low = unsafe { _mm_loadl_epi64(low.as_ptr().cast()) };
        // SAFETY: as for the lower half.
        let high = unsafe { _mm_loadl_epi64(high.as_ptr().cast()) };
        // SAFETY: as `splat`.
        let low = unsafe { _mm256_cvtepi8_epi32(low) };
        // SAFETY: as `splat`.
        let high = unsafe { _mm256_cvtepi8_epi32(high) };
        // SAFETY: as `splat`.
        let low = unsafe { _mm256_cvtepi32_ps(low) };
        // SAFETY: as `splat`.
        let high = unsafe { _mm256_cvtepi32_ps(high) };
        Ymm([low, high])
    }

    #[inline(always)]
    fn from_f16(halves: &[u8; 2 * LANES]) -> Ymm {
        let (low, high) = halves.split_at(LANES);
        // SAFETY: as `splat`; the slice is valid for the 16 bytes read, at any alignment.
        let low = unsafe { _mm_loadu_si128(low.as_ptr().cast()) };
        // SAFETY: as for the lower half.
        let high = unsafe { _mm_loadu_si128(high.as_ptr().cast()) };
        // SAFETY: as `splat`.
        let low = unsafe { _mm256_cvtph_ps(low) };
        // SAFETY: as `splat`.
        let high = unsafe { _mm256_cvtph_ps(high) };
        Ymm([low, high])
    }

    #[inline(always)]
    fn add(self, other: Ymm) -> Ymm {
        // SAFETY: as `splat`.
        let low = unsafe { _mm256_add_ps(self.0[0], other.0[0]) };
        // SAFETY: as `splat`.
        let high = unsafe { _mm256_add_ps(self.0[1], other.0[1]) };
        Ymm([low, high])
    }

    #[inline(always)]
    fn mul(self, other: Ymm) -> Ymm {
        // SAFETY: as `splat`.
        let low = unsafe { _mm256_mul_ps(self.0[0], other.0[0]) };
        // SAFETY: as `splat`.
        let high = unsafe { _mm256_mul_ps(self.0[1], other.0[1]) };
        Ymm([low, high])
    }

    #[inline(always)]
    fn mul_add(self, factor: Ymm, addend: Ymm) -> Ymm {
        // SAFETY: as `splat`.
        let low = unsafe { _mm256_fmadd_ps(self.0[0], factor.0[0], addend.0[0]) };
        // SAFETY: as `splat`.
        let high = unsafe { _mm256_fmadd_ps(self.0[1], factor.0[1], addend.0[1]) };
        Ymm([low, high])
    }

    #[inline(always)]
    fn to_array(self) -> [f32; LANES] {
        let mut values = [0.0; LANES];
        let (low, high) = values.split_at_mut(LANES / 2);
        // SAFETY: as `splat`; the slice is valid for the 32 bytes written, at any alignment.
        unsafe { _mm256_storeu_ps(low.as_mut_ptr(), self.0[0]) };
        // SAFETY: as for the lower half.
        unsafe { _mm256_storeu_ps(high.as_mut_ptr(), self.0[1]) };
        values
    }
}
