//! The kernels of the fast sets, written once over [`Lanes`]. Each is always inlined, so that a
//! set compiles it for its own instructions. Every sum has a fixed order, whatever the number of
//! rows and tokens.

use super::kernels::Head;
use super::kv_rows::KvRows;
use super::lanes::{LANES, Lanes};
use super::matrix::Matrix;
use super::stored::{self, Floats, Stored};
use crate::quant::Format;
use std::array::from_fn;
use std::ops::Range;

/// Matrix rows that meet a vector together: enough to hide the latency of their sums, few enough
/// to stay in registers.
const ROWS: usize = 2;

/// Vectors that meet decoded rows together.
const TOKENS: usize = 2;

/// As [`super::kernels::Kernels::matmul`] states it.
#[inline(always)]
pub(super) fn matmul<V: Lanes>(weights: &Matrix, rows: Range<usize>, x: &[f32], out: &mut [f32]) {
    match weights.format() {
        Format::F32 => multiply::<V, stored::F32, _>(weights, rows, x, out),
        Format::F16 => multiply::<V, stored::F16, _>(weights, rows, x, out),
        Format::BF16 => multiply::<V, stored::BF16, _>(weights, rows, x, out),
        Format::Q8_0 => multiply::<V, stored::Q8_0, _>(weights, rows, x, out),
        Format::Q4_0 => multiply::<V, stored::Q4_0, _>(weights, rows, x, out),
        Format::Q4_1 => multiply::<V, stored::Q4_1, _>(weights, rows, x, out),
        Format::Q4_K => multiply::<V, stored::Q4_K, _>(weights, rows, x, out),
        Format::Q6_K => multiply::<V, stored::Q6_K, _>(weights, rows, x, out),
    }
}

/// As [`super::kernels::Kernels::rms_norm`] states it.
#[inline(always)]
pub(super) fn rms_norm<V: Lanes>(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
    let [[squares]] = dots::<V, Floats, _, 1, 1>([x], [x]);
    let scale = 1.0 / (squares / x.len() as f32 + eps).sqrt();
    for ((out, x), weight) in out.iter_mut().zip(x).zip(weight) {
        *out = x * scale * weight;
    }
}

/// As [`super::kernels::Kernels::attend`] states it.
#[inline(always)]
pub(super) fn attend<V: Lanes>(head: &Head, store: &KvRows, out: &mut [f32]) {
    match store.format() {
        Format::F32 => mix::<V, stored::F32>(head, store, out),
        Format::F16 => mix::<V, stored::F16>(head, store, out),
        other => unreachable!("keys are not stored as {other}"),
    }
}

#[inline(always)]
fn mix<V: Lanes, S: Stored<1, Cell = u8>>(head: &Head, store: &KvRows, out: &mut [f32]) {
    let head_dim = head.q.len();
    let scale = 1.0 / (head_dim as f32).sqrt();
    let mut weights = vec![0.0; head.positions];
    for (position, weight) in weights.iter_mut().enumerate() {
        let key = store.key(position, head.kv_head, head_dim);
        let [[score]] = dots::<V, S, 1, 1, 1>([key], [head.q]);
        *weight = score * scale;
    }
    softmax(&mut weights);
    for (group, out) in out.chunks_mut(LANES).enumerate() {
        let mut sum = V::splat(0.0);
        for (position, weight) in weights.iter().enumerate() {
            let value = &store.value(position, head.kv_head, head_dim)[group * S::CELLS..];
            let value = match value.get(..S::CELLS) {
                Some(block) => S::decode::<V>(block)[0],
                None => partial::<V, S, 1>(value),
            };
            sum = value.mul_add(V::splat(*weight), sum);
        }
        out.copy_from_slice(&sum.to_array()[..out.len()]);
    }
}

/// Turns scores into weights that sum to one.
fn softmax(scores: &mut [f32]) {
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

/// One token meets the rows while they are decoded; several meet rows that were decoded once. A
/// last group that is not full repeats its last row or token: the same value is written again.
#[inline(always)]
fn multiply<V: Lanes, S: Stored<GROUPS, Cell = u8>, const GROUPS: usize>(
    weights: &Matrix,
    rows: Range<usize>,
    x: &[f32],
    out: &mut [f32],
) {
    let columns = weights.columns();
    let tokens = x.len() / columns;
    let vector = |token: usize| &x[token * columns..][..columns];
    let mut decoded = vec![0.0; if tokens > 1 { ROWS * columns } else { 0 }];
    for first in (0..rows.len()).step_by(ROWS) {
        let group: [usize; ROWS] = from_fn(|i| (first + i).min(rows.len() - 1));
        let stored = group.map(|row| weights.row(rows.start + row));
        if tokens == 1 {
            let sums = dots::<V, S, GROUPS, ROWS, 1>(stored, [vector(0)]);
            for (row, [sum]) in group.into_iter().zip(sums) {
                out[row] = sum;
            }
            continue;
        }
        for (row, out) in stored.into_iter().zip(decoded.chunks_exact_mut(columns)) {
            decode::<V, S, GROUPS>(row, out);
        }
        let decoded: [&[f32]; ROWS] = from_fn(|i| &decoded[i * columns..][..columns]);
        for first in (0..tokens).step_by(TOKENS) {
            let batch: [usize; TOKENS] = from_fn(|i| (first + i).min(tokens - 1));
            let sums = dots::<V, Floats, _, ROWS, TOKENS>(decoded, batch.map(vector));
            for (row, sums) in group.into_iter().zip(sums) {
                for (token, sum) in batch.into_iter().zip(sums) {
                    out[token * rows.len() + row] = sum;
                }
            }
        }
    }
}

/// Dot products of rows with vectors of one length. Lane `i` of a sum takes the columns congruent
/// to `i`, in ascending order; a last block that is not full is padded with zeros.
#[inline(always)]
fn dots<V: Lanes, S: Stored<GROUPS>, const GROUPS: usize, const R: usize, const T: usize>(
    rows: [&[S::Cell]; R],
    x: [&[f32]; T],
) -> [[f32; T]; R] {
    let len = GROUPS * LANES;
    let blocks = x[0].len() / len;
    let mut sums = [[V::splat(0.0); T]; R];
    for block in 0..blocks {
        for r in 0..R {
            let weights: [V; GROUPS] = S::decode(&rows[r][block * S::CELLS..][..S::CELLS]);
            for t in 0..T {
                let x = x[t][block * len..][..len].as_chunks().0;
                for (weights, x) in weights.into_iter().zip(x) {
                    sums[r][t] = weights.mul_add(V::load(x), sums[r][t]);
                }
            }
        }
    }
    if !x[0].len().is_multiple_of(len) {
        for r in 0..R {
            let weights = partial::<V, S, GROUPS>(&rows[r][blocks * S::CELLS..]);
            for t in 0..T {
                let x = V::load(&padded(&x[t][blocks * len..]));
                sums[r][t] = weights.mul_add(x, sums[r][t]);
            }
        }
    }
    let mut totals = [[0.0; T]; R];
    for r in 0..R {
        for t in 0..T {
            totals[r][t] = sums[r][t].total();
        }
    }
    totals
}

/// Decodes a row of `out.len()` weights.
#[inline(always)]
fn decode<V: Lanes, S: Stored<GROUPS>, const GROUPS: usize>(row: &[S::Cell], out: &mut [f32]) {
    let mut blocks = row.chunks_exact(S::CELLS);
    let mut out = out.chunks_exact_mut(GROUPS * LANES);
    for (block, out) in blocks.by_ref().zip(out.by_ref()) {
        let groups: [V; GROUPS] = S::decode(block);
        for (group, out) in groups.into_iter().zip(out.as_chunks_mut().0) {
            *out = group.to_array();
        }
    }
    let out = out.into_remainder();
    if !out.is_empty() {
        let weights = partial::<V, S, GROUPS>(blocks.remainder());
        out.copy_from_slice(&weights.to_array()[..out.len()]);
    }
}

/// Decodes a group that is not full, which ends a row of a format whose blocks hold one weight.
#[inline(always)]
fn partial<V: Lanes, S: Stored<GROUPS>, const GROUPS: usize>(rest: &[S::Cell]) -> V {
    let block: [S::Cell; 4 * LANES] = padded(rest);
    S::decode(&block[..S::CELLS])[0]
}

#[inline(always)]
fn padded<E: Copy + Default, const N: usize>(rest: &[E]) -> [E; N] {
    let mut block = [E::default(); N];
    block[..rest.len()].copy_from_slice(rest);
    block
}
