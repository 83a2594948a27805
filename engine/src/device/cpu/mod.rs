//! The processor as a device: buffers in host memory, a pool of threads, one kernel set. Every
//! parallel section copies what its parts computed into one buffer, so that no thread ever holds
//! a borrow; buffers are shared with the pool by reference count.

mod kernels;
mod kv_rows;
mod matrix;
mod pool;
mod reference;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod fast;
#[cfg(target_arch = "x86_64")]
mod lanes;
#[cfg(target_arch = "x86_64")]
mod stored;

#[cfg(test)]
mod parity;

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

/// Rows of f32, one after the other: `[rows, width]`.
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
    /// return, `[tokens, rows of the part]`, to N times `[tokens, rows]`.
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

/// A part of a matrix times every row of `x`: `[tokens, rows of the part]`.
fn product(kernels: &Kernels, weights: &Matrix, x: &[f32], part: usize, parts: usize) -> Vec<f32> {
    let rows = split(weights.rows(), ROWS_UNIT, part, parts);
    let mut out = vec![0.0; x.len() / weights.columns() * rows.len()];
    if !rows.is_empty() {
        (kernels.matmul)(weights, rows, x, &mut out);
    }
    out
}

/// Parts of rows, `[tokens, columns of the part]` each, side by side.
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

#[cfg(test)]
mod tests {
    use super::parity::{random_floats, random_matrix};
    use super::*;
    use proptest::prelude::*;

    const HEADS: AttentionShape = AttentionShape { heads: 6, kv_heads: 3, head_dim: 8 };

    fn cpu(threads: usize) -> Cpu {
        Cpu::new(threads, KernelChoice::Auto).unwrap()
    }

    fn rows(width: usize, values: Vec<f32>) -> Activations {
        Activations::new(width, values)
    }

    fn rope(pairs: RopePairs) -> Rope {
        Rope { pairs, head_dim: 8, frequencies: vec![1.0, 0.25, 0.0625] }
    }

    /// Every op once, on one token after the other from position 0: the outputs of all tokens, in
    /// chunks as `cuts` says.
    fn run_all_ops(cpu: &Cpu, chunks: &[usize]) -> Vec<u32> {
        let matrix = |format, rows, columns| Arc::new(random_matrix(format, rows, columns));
        let table = matrix(Format::Q8_0, 30, 64);
        let q = matrix(Format::F16, 48, 64);
        let kv = [matrix(Format::Q4_1, 24, 64), matrix(Format::F32, 24, 64)];
        let out = matrix(Format::BF16, 64, 48);
        let ffn = [matrix(Format::Q4_0, 50, 64), matrix(Format::Q8_0, 50, 64)];
        let norm = random_floats(64, 7);
        let mut store = cpu.kv_store(100, 24, KvType::F16).unwrap();
        let mut results = Vec::new();
        let mut first = 0;
        for chunk in chunks {
            let tokens: Vec<Token> =
                (first..first + chunk).map(|p| (p * 7 % 30) as Token).collect();
            let mut x = cpu.gather(&table, &tokens);
            let normed = cpu.rms_norm(&x, &norm, 1e-5);
            let [mut q, mut k, v] = cpu.matmul([&q, &kv[0], &kv[1]], &normed);
            cpu.rope(&mut q, &rope(RopePairs::Neighbours), first);
            cpu.rope(&mut k, &rope(RopePairs::Halves), first);
            cpu.append(&mut store, first, &k, &v);
            let [out] = cpu.matmul([&out], &cpu.attention(&q, &store, &HEADS, first));
            cpu.add(&mut x, &out);
            let gated = cpu.gated(&ffn[0], &ffn[1], &x);
            results.extend(gated.values.iter().map(|value| value.to_bits()));
            first += chunk;
        }
        results
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn neither_threads_nor_chunks_change_a_bit(
            threads in 1usize..5,
            chunks in prop::collection::vec(1usize..12, 1..5),
        ) {
            let one_by_one = vec![1; chunks.iter().sum()];
            let expected = run_all_ops(&cpu(1), &one_by_one);
            prop_assert_eq!(run_all_ops(&cpu(threads), &chunks), expected);
        }
    }

    #[test]
    fn rope_turns_each_pair_by_position_times_frequency() {
        let check = |pairs, first: usize, partners: [(usize, usize); 3]| {
            let before = random_floats(2 * 16, 3);
            let mut x = rows(16, before.clone());
            cpu(1).rope(&mut x, &rope(pairs), first);
            for (head, (before, after)) in before.chunks(8).zip(x.values.chunks(8)).enumerate() {
                let position = (first + head / 2) as f64;
                let mut expected = before.to_vec();
                for ((i, j), frequency) in partners.into_iter().zip([1.0, 0.25, 0.0625]) {
                    let (sin, cos) = (position * frequency).sin_cos();
                    let (a, b) = (f64::from(before[i]), f64::from(before[j]));
                    expected[i] = (a * cos - b * sin) as f32;
                    expected[j] = (a * sin + b * cos) as f32;
                }
                for (after, expected) in after.iter().zip(expected) {
                    assert!((after - expected).abs() <= 4.0 * f32::EPSILON, "{pairs:?} {first}");
                }
            }
        };
        check(RopePairs::Neighbours, 0, [(0, 1), (2, 3), (4, 5)]);
        check(RopePairs::Neighbours, 1000, [(0, 1), (2, 3), (4, 5)]);
        check(RopePairs::Halves, 1000, [(0, 3), (1, 4), (2, 5)]);
    }

    #[test]
    fn gated_is_silu_of_one_product_times_the_other() {
        let identity = |scale: f32| {
            let values = (0..16).map(|i| if i % 5 == 0 { scale } else { 0.0_f32 });
            let bytes: Vec<u8> = values.flat_map(f32::to_le_bytes).collect();
            Arc::new(Matrix::new(Format::F32, 4, 4, bytes.into()))
        };
        let out =
            cpu(2).gated(&identity(1.0), &identity(3.0), &rows(4, vec![0.0, 1.0, -2.0, 90.0]));
        let expected = [0.0, 3.0 / (1.0 + (-1.0_f64).exp()), 12.0 / (1.0 + 2.0_f64.exp()), 24300.0];
        for (out, expected) in out.values.iter().zip(expected) {
            assert!(
                (f64::from(*out) - expected).abs() <= 1e-6 * expected.abs(),
                "{out} {expected}"
            );
        }
    }

    #[test]
    fn kernels_the_processor_lacks_are_refused_with_those_it_has() {
        for (choice, name) in [(KernelChoice::Avx2, "avx2"), (KernelChoice::Avx512, "avx512")] {
            let known: Vec<&str> = kernels::available().iter().map(|set| set.name).collect();
            match Cpu::new(1, choice) {
                Ok(cpu) => assert_eq!(cpu.name(), ("cpu", name)),
                Err(error) => assert_eq!(
                    error.to_string(),
                    format!(
                        "the processor lacks what kernels {name} need: choose auto or one of {}",
                        known.join(", ")
                    )
                ),
            }
        }
        assert_eq!(Cpu::new(1, KernelChoice::Reference).unwrap().name().1, "reference");
    }
}
