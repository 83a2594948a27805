//! Decoders of the fast kernels: a block in, sixteen weights at a time out, in registers. Each
//! computes the very numbers of its format's scalar decoder in [`crate::quant`], which also states
//! the layouts.

#![allow(non_camel_case_types)] // the names of the field: Q4_K

use super::lanes::{LANES, Lanes};
use crate::quant::{f16_to_f32, q4_k};
use std::array::from_fn;

/// A way to store a row of numbers: blocks of `CELLS` cells that hold `GROUPS` times sixteen.
pub(super) trait Stored<const GROUPS: usize> {
    type Cell: Copy + Default;
    const CELLS: usize;

    /// The numbers of one block, in order.
    fn decode<V: Lanes>(block: &[Self::Cell]) -> [V; GROUPS];
}

/// Floats as they are in memory.
pub(super) struct Floats;
pub(super) struct F32;
pub(super) struct F16;
pub(super) struct BF16;
pub(super) struct Q8_0;
pub(super) struct Q4_0;
pub(super) struct Q4_1;
pub(super) struct Q4_K;
pub(super) struct Q6_K;

impl Stored<1> for Floats {
    type Cell = f32;
    const CELLS: usize = LANES;

    #[inline(always)]
    fn decode<V: Lanes>(block: &[f32]) -> [V; 1] {
        [V::load(part(block, 0))]
    }
}

impl Stored<1> for F32 {
    type Cell = u8;
    const CELLS: usize = 4 * LANES;

    #[inline(always)]
    fn decode<V: Lanes>(block: &[u8]) -> [V; 1] {
        let floats = block.as_chunks().0;
        [V::load(&from_fn(|lane| f32::from_le_bytes(floats[lane])))]
    }
}

impl Stored<1> for F16 {
    type Cell = u8;
    const CELLS: usize = 2 * LANES;

    #[inline(always)]
    fn decode<V: Lanes>(block: &[u8]) -> [V; 1] {
        [V::from_f16(part(block, 0))]
    }
}

impl Stored<1> for BF16 {
    type Cell = u8;
    const CELLS: usize = 2 * LANES;

    #[inline(always)]
    fn decode<V: Lanes>(block: &[u8]) -> [V; 1] {
        let halves = block.as_chunks().0;
        let float = |lane| f32::from_bits(u32::from(u16::from_le_bytes(halves[lane])) << 16);
        [V::load(&from_fn(float))]
    }
}

impl Stored<2> for Q8_0 {
    type Cell = u8;
    const CELLS: usize = 34;

    #[inline(always)]
    fn decode<V: Lanes>(block: &[u8]) -> [V; 2] {
        let scale = V::splat(half(block, 0));
        let mut groups = [scale; 2];
        for (index, group) in groups.iter_mut().enumerate() {
            let quants: &[u8; LANES] = part(block, 2 + LANES * index);
            *group = scale.mul(V::from_i8(quants.map(|quant| quant as i8)));
        }
        groups
    }
}

impl Stored<2> for Q4_0 {
    type Cell = u8;
    const CELLS: usize = 18;

    #[inline(always)]
    fn decode<V: Lanes>(block: &[u8]) -> [V; 2] {
        let scale = V::splat(half(block, 0));
        let mut groups = [scale; 2];
        for (index, group) in groups.iter_mut().enumerate() {
            let quants = nibbles(part(block, 2), index);
            *group = scale.mul(V::from_i8(quants.map(|quant| quant - 8)));
        }
        groups
    }
}

impl Stored<2> for Q4_1 {
    type Cell = u8;
    const CELLS: usize = 20;

    #[inline(always)]
    fn decode<V: Lanes>(block: &[u8]) -> [V; 2] {
        let scale = V::splat(half(block, 0));
        let min = V::splat(half(block, 2));
        let mut groups = [scale; 2];
        for (index, group) in groups.iter_mut().enumerate() {
            *group = scale.mul(V::from_i8(nibbles(part(block, 4), index))).add(min);
        }
        groups
    }
}

impl Stored<16> for Q4_K {
    type Cell = u8;
    const CELLS: usize = 144;

    #[inline(always)]
    fn decode<V: Lanes>(block: &[u8]) -> [V; 16] {
        let (scale, min) = (half(block, 0), half(block, 2));
        let packed: &[u8; 12] = part(block, 4);
        let mut groups = [V::splat(0.0); 16];
        for (sub_block, groups) in groups.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            let (sub_scale, sub_min) = q4_k::unpack(packed, sub_block);
            let sub_scale = V::splat(scale * f32::from(sub_scale));
            let sub_min = V::splat(-(min * f32::from(sub_min)));
            for (index, group) in groups.iter_mut().enumerate() {
                let quants = part(block, 16 + sub_block / 2 * 32 + index * LANES);
                let quants = V::from_i8(nibbles(quants, sub_block % 2));
                *group = sub_scale.mul(quants).add(sub_min);
            }
        }
        groups
    }
}

impl Stored<16> for Q6_K {
    type Cell = u8;
    const CELLS: usize = 210;

    #[inline(always)]
    fn decode<V: Lanes>(block: &[u8]) -> [V; 16] {
        let scale = half(block, 208);
        let sub_scales: &[u8; 16] = part(block, 192);
        let mut groups = [V::splat(0.0); 16];
        for (index, group) in groups.iter_mut().enumerate() {
            // Halves of the block hold four runs of two groups.
            let (half, run, group_in_run) = (index / 8, index / 2 % 4, index % 2);
            let low = part(block, 64 * half + 32 * (run % 2) + LANES * group_in_run);
            let low = nibbles(low, run / 2);
            let high: &[u8; LANES] = part(block, 128 + 32 * half + LANES * group_in_run);
            let quants = from_fn(|lane| {
                let top = high[lane] >> (2 * run) & 0x03;
                (low[lane] | (top << 4) as i8) - 32
            });
            let sub_scale = V::splat(scale * f32::from(sub_scales[index] as i8));
            *group = sub_scale.mul(V::from_i8(quants));
        }
        groups
    }
}

/// The low nibbles (`upper` 0) or the high ones (1).
#[inline(always)]
fn nibbles(pairs: &[u8; LANES], upper: usize) -> [i8; LANES] {
    pairs.map(|pair| (pair >> (4 * upper) & 0x0f) as i8)
}

#[inline(always)]
fn half(block: &[u8], at: usize) -> f32 {
    f16_to_f32(u16::from_le_bytes(*part(block, at)))
}

#[inline(always)]
fn part<E, const N: usize>(block: &[E], at: usize) -> &[E; N] {
    block[at..].first_chunk().expect("the part lies within the block")
}
