//! Plain loops in the order of the definitions, sums in f64: the oracle the fast sets are checked
//! against, and what runs on a processor without one of them.

use super::kernels::{Head, Kernels};
use super::kv_rows::KvRows;
use super::matrix::Matrix;
use std::ops::Range;

pub(super) const KERNELS: Kernels = Kernels { name: "reference", matmul, rms_norm, attend };

fn matmul(weights: &Matrix, rows: Range<usize>, x: &[f32], out: &mut [f32]) {
    let mut decoded = vec![0.0; weights.columns()];
    for (index, row) in rows.clone().enumerate() {
        weights.format().decode(weights.row(row), &mut decoded);
        for (token, x) in x.chunks_exact(weights.columns()).enumerate() {
            out[token * rows.len() + index] = dot(&decoded, x) as f32;
        }
    }
}

fn rms_norm(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
    let scale = 1.0 / (dot(x, x) / x.len() as f64 + f64::from(eps)).sqrt();
    for ((out, x), weight) in out.iter_mut().zip(x).zip(weight) {
        *out = (f64::from(*x) * scale) as f32 * weight;
    }
}

fn attend(head: &Head, store: &KvRows, out: &mut [f32]) {
    let head_dim = head.q.len();
    let mut decoded = vec![0.0; head_dim];
    let mut weights = Vec::with_capacity(head.positions);
    for position in 0..head.positions {
        store.format().decode(store.key(position, head.kv_head, head_dim), &mut decoded);
        weights.push(dot(head.q, &decoded) / (head_dim as f64).sqrt());
    }
    let largest = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut mixed = vec![0.0; head_dim];
    let mut sum = 0.0;
    for (position, weight) in weights.into_iter().enumerate() {
        let weight = (weight - largest).exp();
        sum += weight;
        store.format().decode(store.value(position, head.kv_head, head_dim), &mut decoded);
        for (mixed, value) in mixed.iter_mut().zip(&decoded) {
            *mixed += weight * f64::from(*value);
        }
    }
    for (out, mixed) in out.iter_mut().zip(mixed) {
        *out = (mixed / sum) as f32;
    }
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}
