//! The fast kernels compiled for AVX-512 F, BW, DQ and VL.

#![allow(unsafe_code)]

use super::fast;
use super::kernels::{Head, Kernels};
use super::kv_rows::KvRows;
use super::lanes::{LANES, Lanes};
use super::matrix::Matrix;
use std::arch::x86_64::*;
use std::ops::Range;

pub(super) const KERNELS: Kernels = Kernels { name: "avx512", matmul, rms_norm, attend };

/// Whether this processor and its system have what the set is compiled for.
pub(super) fn detected() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

fn matmul(weights: &Matrix, rows: Range<usize>, x: &[f32], out: &mut [f32]) {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn compiled(weights: &Matrix, rows: Range<usize>, x: &[f32], out: &mut [f32]) {
        fast::matmul::<Zmm>(weights, rows, x, out);
    }
    // SAFETY: the set is handed out only where `detected` found these features.
    unsafe { compiled(weights, rows, x, out) }
}

fn rms_norm(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn compiled(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
        fast::rms_norm::<Zmm>(x, weight, eps, out);
    }
    // SAFETY: the set is handed out only where `detected` found these features.
    unsafe { compiled(x, weight, eps, out) }
}

fn attend(head: &Head, store: &KvRows, out: &mut [f32]) {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn compiled(head: &Head, store: &KvRows, out: &mut [f32]) {
        fast::attend::<Zmm>(head, store, out);
    }
    // SAFETY: the set is handed out only where `detected` found these features.
    unsafe { compiled(head, store, out) }
}

/// Sixteen floats in one register.
#[derive(Clone, Copy)]
struct Zmm(__m512);

impl Lanes for Zmm {
    #[inline(always)]
    fn splat(value: f32) -> Zmm {
        // SAFETY: runs inside the kernels above only, which enable avx512f.
        Zmm(unsafe { _mm512_set1_ps(value) })
    }

    #[inline(always)]
    fn load(values: &[f32; LANES]) -> Zmm {
        // SAFETY: as `splat`; the reference is valid for the 64 bytes read, at any alignment.
        Zmm(unsafe { _mm512_loadu_ps(values.as_ptr()) })
    }

    #[inline(always)]
    fn from_i8(values: [i8; LANES]) -> Zmm {
        // SAFETY: as `splat`; the reference is valid for the 16 bytes read, at any alignment.
        let bytes = unsafe { _mm_loadu_si128(values.as_ptr().cast()) };
        // SAFETY: as `splat`.
        let integers = unsafe { _mm512_cvtepi8_epi32(bytes) };
        // SAFETY: as `splat`.
        Zmm(unsafe { _mm512_cvtepi32_ps(integers) })
    }

    #[inline(always)]
    fn from_f16(halves: &[u8; 2 * LANES]) -> Zmm {
        // SAFETY: as `splat`; the reference is valid for the 32 bytes read, at any alignment.
        let halves = unsafe { _mm256_loadu_si256(halves.as_ptr().cast()) };
        // SAFETY: as `splat`.
        Zmm(unsafe { _mm512_cvtph_ps(halves) })
    }

    #[inline(always)]
    fn add(self, other: Zmm) -> Zmm {
        // SAFETY: as `splat`.
        Zmm(unsafe { _mm512_add_ps(self.0, other.0) })
    }

    #[inline(always)]
    fn mul(self, other: Zmm) -> Zmm {
        // SAFETY: as `splat`.
        Zmm(unsafe { _mm512_mul_ps(self.0, other.0) })
    }

    #[inline(always)]
    fn mul_add(self, factor: Zmm, addend: Zmm) -> Zmm {
        // SAFETY: as `splat`.
        Zmm(unsafe { _mm512_fmadd_ps(self.0, factor.0, addend.0) })
    }

    #[inline(always)]
    fn to_array(self) -> [f32; LANES] {
        let mut values = [0.0; LANES];
        // SAFETY: as `splat`; the array is valid for the 64 bytes written, at any alignment.
        unsafe { _mm512_storeu_ps(values.as_mut_ptr(), self.0) };
        values
    }
}
