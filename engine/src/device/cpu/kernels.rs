//! The kernel sets of the CPU: what a set has to offer, which ones this processor runs, and the
//! choice among them.

use super::kv_rows::KvRows;
use super::matrix::Matrix;
use super::reference;
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
use crate::Error;
use crate::device::KernelChoice;
use std::ops::Range;

/// A complete, named set. Passed by reference; there is no global choice.
pub(super) struct Kernels {
    pub(super) name: &'static str,

    /// Products of a range of matrix rows with every row of `x`, [tokens, columns], into `out`,
    /// [tokens, rows of the range].
    pub(super) matmul: fn(weights: &Matrix, rows: Range<usize>, x: &[f32], out: &mut [f32]),

    /// As [`crate::device::Device::rms_norm`], of one row.
    pub(super) rms_norm: fn(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]),

    /// What one head of one token takes from the store, [head_dim].
    pub(super) attend: fn(head: &Head, store: &KvRows, out: &mut [f32]),
}

/// One query head at its position.
pub(super) struct Head<'a> {
    /// [head_dim]
    pub(super) q: &'a [f32],
    pub(super) kv_head: usize,
    /// Positions it sees, its own included.
    pub(super) positions: usize,
}

/// Every set this processor runs, slowest first.
pub(super) fn available() -> Vec<&'static Kernels> {
    let mut sets = vec![&reference::KERNELS];
    #[cfg(target_arch = "x86_64")]
    {
        if avx2::detected() {
            sets.push(&avx2::KERNELS);
        }
        if avx512::detected() {
            sets.push(&avx512::KERNELS);
        }
    }
    sets
}

/// The set asked for; an error names it and the sets there are.
pub(super) fn choose(choice: KernelChoice) -> Result<&'static Kernels, Error> {
    let sets = available();
    let name = match choice {
        KernelChoice::Auto => return Ok(sets.last().expect("reference runs everywhere")),
        KernelChoice::Reference => "reference",
        KernelChoice::Avx2 => "avx2",
        KernelChoice::Avx512 => "avx512",
    };
    sets.iter().copied().find(|set| set.name == name).ok_or_else(|| {
        let names: Vec<&str> = sets.iter().map(|set| set.name).collect();
        Error::Input(format!(
            "the processor lacks what kernels {name} need: choose auto or one of {}",
            names.join(", ")
        ))
    })
}

/// Turns scores into weights that sum to one.
#[inline(always)]
pub(super) fn softmax(scores: &mut [f32]) {
    let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = (*score - largest).exp();
        sum += f64::from(*score);
    }
    let scale = (1.0 / sum) as f32;
    for score in scores {
        *score *= scale;
    }
}
