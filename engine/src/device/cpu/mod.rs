//! The processor as a device: buffers in host memory, a pool of threads, one kernel set. Every
//! parallel section copies what its parts computed into one buffer, so that no thread ever holds
//! a borrow; buffers are shared with the pool by reference count.

mod fast;
mod kernels;
mod kv_rows;
mod lanes;
mod matrix;
mod pool;
mod reference;
mod stored;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

pub use kv_rows::KvRows;
pub use matrix::Matrix;

use super::{AttentionShape, Device, KernelChoice, KvType, Rope, RopePairs};
use crate::gguf::Bytes;
use crate::quant::Format;
use crate::{Error, Token};
use kernels::{Head, Kernels};
use pool::{Pool, split};
use std::sync::Arc;

/// Rows are dealt to threads in multiples of this, so that groups of rows stay whole.
const ROWS_UNIT: usize = 8;

/// The processor.
pub struct Cpu {
    kernels: &'static Kernels,
    pool: Pool,
}

/// Rows of f32, one after the other: [rows, width].
pub struct Activations {
    width: usize,
    values: Arc<Vec<f32>>,
}

impl Cpu {
    /// Starts `threads - 1` threads. Processors other than x86-64 run the `reference` kernels.
    pub fn new(threads: usize, kernels: KernelChoice) -> Result<Cpu, Error> {
        Ok(Cpu { kernels: kernels::choose(kernels)?, pool: Pool::new(threads)? })
    }

    /// Runs `job` for each part of the rows of N matrices of equal width and joins what the parts
    /// return, [tokens, rows of the part], to N times [tokens, rows].
    fn by_rows<const N: usize>(
        &self,
        matrices: [&Arc<Matrix>; N],
        job: impl Fn(usize) -> [Vec<f32>; N] + Send + Sync + 'static,
        tokens: usize,
    ) -> [Activations; N] {
        let mut parts = self.pool.run(job);
        let mut index = 0;
        matrices.map(|matrix| {
            let columns = parts.iter_mut().map(|part| std::mem::take(&mut part[index])).collect();
            index += 1;
            Activations::new(matrix.rows(), join_columns(columns, tokens))
        })
    }
}

impl Activations {
    fn new(width: usize, values: Vec<f32>) -> Activations {
        assert!(values.len().is_multiple_of(width), "rows of {width} values");
        Activations { width, values: Arc::new(values) }
    }

    fn rows(&self) -> usize {
        self.values.len() / self.width
    }

    /// No part of a job holds the values once the job has run.
    fn values_mut(&mut self) -> &mut [f32] {
        Arc::get_mut(&mut self.values).expect("no job is running")
    }
}

impl Device for Cpu {
    type Activations = Activations;
    type Matrix = Arc<Matrix>;
    type Vector = Vec<f32>;
    type KvStore = Arc<KvRows>;

    fn name(&self) -> (&'static str, &'static str) {
        ("cpu", self.kernels.name)
    }

    fn matrix(
        &self,
        format: Format,
        rows: usize,
        columns: usize,
        bytes: Bytes,
    ) -> Result<Arc<Matrix>, Error> {
        Ok(Arc::new(Matrix::new(format, rows, columns, bytes)))
    }

    fn vector(&self, values: Vec<f32>) -> Result<Vec<f32>, Error> {
        Ok(values)
    }

    fn kv_store(&self, capacity: usize, width: usize, kind: KvType) -> Result<Arc<KvRows>, Error> {
        Ok(Arc::new(KvRows::new(capacity, width, kind)?))
    }

    fn gather(&self, table: &Arc<Matrix>, tokens: &[Token]) -> Activations {
        let width = table.columns();
        let mut values = vec![0.0; tokens.len() * width];
        for (row, token) in values.chunks_exact_mut(width).zip(tokens) {
            table.format().decode(table.row(*token as usize), row);
        }
        Activations::new(width, values)
    }

    fn rms_norm(&self, x: &Activations, weight: &Vec<f32>, eps: f32) -> Activations {
        let mut values = vec![0.0; x.values.len()];
        for (x, out) in x.values.chunks_exact(x.width).zip(values.chunks_exact_mut(x.width)) {
            (self.kernels.rms_norm)(x, weight, eps, out);
        }
        Activations::new(x.width, values)
    }

    fn matmul<const N: usize>(
        &self,
        weights: [&Arc<Matrix>; N],
        x: &Activations,
    ) -> [Activations; N] {
        let (kernels, parts, tokens) = (self.kernels, self.pool.parts(), x.rows());
        let (owned, values) = (weights.map(Arc::clone), Arc::clone(&x.values));
        let job = move |part| {
            owned.each_ref().map(|weights| product(kernels, weights, &values, part, parts))
        };
        self.by_rows(weights, job, tokens)
    }

    fn gated(&self, gate: &Arc<Matrix>, up: &Arc<Matrix>, x: &Activations) -> Activations {
        let (kernels, parts, tokens) = (self.kernels, self.pool.parts(), x.rows());
        let (owned, values) = ([gate, up].map(Arc::clone), Arc::clone(&x.values));
        let job = move |part| {
            let [mut gate, up] =
                owned.each_ref().map(|weights| product(kernels, weights, &values, part, parts));
            for (gate, up) in gate.iter_mut().zip(up) {
                *gate = *gate / (1.0 + (-*gate).exp()) * up;
            }
            [gate]
        };
        let [out] = self.by_rows([gate], job, tokens);
        out
    }

    fn rope(&self, x: &mut Activations, rope: &Rope, first: usize) {
        let (width, pairs) = (x.width, rope.frequencies.len());
        for (token, row) in x.values_mut().chunks_exact_mut(width).enumerate() {
            for (pair, frequency) in rope.frequencies.iter().enumerate() {
                let (sin, cos) = ((first + token) as f64 * frequency).sin_cos();
                let (sin, cos) = (sin as f32, cos as f32);
                let (i, j) = match rope.pairs {
                    RopePairs::Neighbours => (2 * pair, 2 * pair + 1),
                    RopePairs::Halves => (pair, pair + pairs),
                };
                for head in row.chunks_exact_mut(rope.head_dim) {
                    let (a, b) = (head[i], head[j]);
                    head[i] = a * cos - b * sin;
                    head[j] = a * sin + b * cos;
                }
            }
        }
    }

    fn append(&self, store: &mut Arc<KvRows>, first: usize, k: &Activations, v: &Activations) {
        let store = Arc::get_mut(store).expect("no job is running");
        store.append(first, &k.values, &v.values);
    }

    fn attention(
        &self,
        q: &Activations,
        store: &Arc<KvRows>,
        shape: &AttentionShape,
        first: usize,
    ) -> Activations {
        let AttentionShape { heads, kv_heads, head_dim } = *shape;
        let (kernels, parts, count) = (self.kernels, self.pool.parts(), q.rows() * heads);
        let (store, values) = (Arc::clone(store), Arc::clone(&q.values));
        let outputs = self.pool.run(move |part| {
            let range = split(count, 1, part, parts);
            let mut out = vec![0.0; range.len() * head_dim];
            for (index, out) in range.zip(out.chunks_exact_mut(head_dim)) {
                let q = &values[index * head_dim..][..head_dim];
                let kv_head = index % heads / (heads / kv_heads);
                let head = Head { q, kv_head, positions: first + index / heads + 1 };
                (kernels.attend)(&head, &store, out);
            }
            out
        });
        Activations::new(q.width, outputs.concat())
    }

    fn add(&self, x: &mut Activations, y: &Activations) {
        for (x, y) in x.values_mut().iter_mut().zip(y.values.iter()) {
            *x += y;
        }
    }

    fn last_row(&self, x: Activations) -> Activations {
        Activations::new(x.width, x.values[x.values.len() - x.width..].to_vec())
    }

    fn read(&self, x: &Activations, out: &mut Vec<f32>) -> Result<(), Error> {
        out.clear();
        out.extend_from_slice(&x.values);
        Ok(())
    }
}

/// A part of a matrix times every row of `x`: [tokens, rows of the part].
fn product(kernels: &Kernels, weights: &Matrix, x: &[f32], part: usize, parts: usize) -> Vec<f32> {
    let rows = split(weights.rows(), ROWS_UNIT, part, parts);
    let mut out = vec![0.0; x.len() / weights.columns() * rows.len()];
    if !rows.is_empty() {
        (kernels.matmul)(weights, rows, x, &mut out);
    }
    out
}

/// Parts of rows, [tokens, columns of the part] each, side by side.
fn join_columns(mut parts: Vec<Vec<f32>>, tokens: usize) -> Vec<f32> {
    if parts.len() == 1 {
        return parts.swap_remove(0);
    }
    let mut joined = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    for token in 0..tokens {
        for part in &parts {
            let columns = part.len() / tokens;
            joined.extend_from_slice(&part[token * columns..][..columns]);
        }
    }
    joined
}
