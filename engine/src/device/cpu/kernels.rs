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

    /// Products of a range of matrix rows with every row of `x`, `[tokens, columns]`, into `out`,
    /// `[tokens, rows of the range]`.
    pub(super) matmul: fn(weights: &Matrix, rows: Range<usize>, x: &[f32], out: &mut [f32]),

    /// As [`crate::device::Device::rms_norm`], of one row.
    pub(super) rms_norm: fn(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]),

    /// What one head of one token takes from the store, `[head_dim]`.
    pub(super) attend: fn(head: &Head, store: &KvRows, out: &mut [f32]),
}

/// One query head at its position.
pub(super) struct Head<'a> {
    /// `[head_dim]`
    pub(super) q: &'a [f32],
    pub(super) kv_head: usize,
    /// Positions it sees, its own included.
    pub(super) positions: usize,
}

/// Every set this processor runs, slowest first.
pub(super) fn available() -> Vec<&'static Kernels> {
    let sets = [
        (true, &reference::KERNELS),
        #[cfg(target_arch = "x86_64")]
        (avx2::detected(), &avx2::KERNELS),
        #[cfg(target_arch = "x86_64")]
        (avx512::detected(), &avx512::KERNELS),
    ];
    sets.into_iter().filter_map(|(detected, set)| detected.then_some(set)).collect()
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
