//! Every kernel set of this processor against the reference: ops x formats x shapes, each with the
//! bound it has to keep and the reason of the bound. The fast sets also agree to the last bit.

use super::kernels::{Head, Kernels, available};
use super::kv_rows::KvRows;
use super::matrix::Matrix;
use crate::device::KvType;
use crate::quant::Format;

/// Half a unit in the last place of 1, the relative error of one rounding.
const ROUNDING: f64 = 1.0 / (1 << 24) as f64;

/// Batches around the kernels' groups of tokens.
const TOKENS: [usize; 7] = [1, 2, 3, 7, 8, 9, 17];

#[test]
fn matmul() {
    for format in Format::ALL {
        for (rows, columns) in [(255, 256), (257, 512)] {
            let weights = random_matrix(format, rows, columns);
            for tokens in TOKENS {
                check_matmul(&weights, tokens);
            }
        }
    }
    for format in [Format::F32, Format::F16, Format::BF16] {
        for (rows, columns) in [(255, 255), (3, 172), (1, 8), (17, 1), (2, 33)] {
            let weights = random_matrix(format, rows, columns);
            for tokens in TOKENS {
                check_matmul(&weights, tokens);
            }
        }
    }
    for format in [Format::Q8_0, Format::Q4_0, Format::Q4_1] {
        check_matmul(&random_matrix(format, 5, 96), 3);
    }
}

/// A lane takes a product in every sixteen columns, rounded once each; four more sums join the
/// lanes, and the reference rounds its own result once.
fn check_matmul(weights: &Matrix, tokens: usize) {
    let (rows, columns) = (weights.rows(), weights.columns());
    let x = random_floats(tokens * columns, 1);
    let magnitudes = magnitudes(weights, &x);
    let roundings = columns.div_ceil(16) + 4 + 1;
    let op = format!("matmul {} {rows} x {columns}, {tokens} tokens", weights.format());
    check(
        &op,
        tokens * rows,
        |set, out| (set.matmul)(weights, 0..rows, &x, out),
        |index| (roundings as f64 + 1.0) * ROUNDING * magnitudes[index],
    );
    for set in available() {
        check_ranges_and_tokens(set, weights, &x, &op);
    }
}

/// A row and a token give the same bits alone as together with others.
fn check_ranges_and_tokens(set: &Kernels, weights: &Matrix, x: &[f32], op: &str) {
    let (rows, columns) = (weights.rows(), weights.columns());
    let tokens = x.len() / columns;
    let mut all = vec![f32::NAN; tokens * rows];
    (set.matmul)(weights, 0..rows, x, &mut all);
    let row = rows / 2;
    let mut column = vec![f32::NAN; tokens];
    (set.matmul)(weights, row..row + 1, x, &mut column);
    let token = tokens / 2;
    let mut alone = vec![f32::NAN; rows];
    (set.matmul)(weights, 0..rows, &x[token * columns..][..columns], &mut alone);
    for (index, value) in column.iter().enumerate() {
        assert_eq!(value.to_bits(), all[index * rows + row].to_bits(), "{} {op}", set.name);
    }
    for (value, together) in alone.iter().zip(&all[token * rows..]) {
        assert_eq!(value.to_bits(), together.to_bits(), "{} {op}", set.name);
    }
}

/// The sum of squares, all positive, has the relative error of a dot product; its root has half of
/// that, and mean, eps, root, quotient and two products round once each.
#[test]
fn rms_norm() {
    for width in [1, 8, 16, 17, 64, 255, 256, 576] {
        let (x, weight) = (random_floats(width, 1), random_floats(width, 2));
        let mut expected = vec![0.0; width];
        (available()[0].rms_norm)(&x, &weight, 1e-5, &mut expected);
        let roundings = (width.div_ceil(16) + 5) as f64 / 2.0 + 7.0;
        check(
            &format!("rms_norm {width}"),
            width,
            |set, out| (set.rms_norm)(&x, &weight, 1e-5, out),
            |index| roundings * ROUNDING * f64::from(expected[index].abs()),
        );
    }
}

#[test]
fn attend() {
    for kind in [KvType::F32, KvType::F16] {
        for head_dim in [8, 16, 24, 64, 80, 128] {
            for positions in [1, 2, 15, 16, 17, 65] {
                check_attend(kind, head_dim, positions);
            }
        }
    }
}

/// An error in a score is a relative error of its weight, once above and once below the fraction
/// of the softmax; the fast sets then add the positions one by one, and `exp` is within two units
/// in the last place.
fn check_attend(kind: KvType, head_dim: usize, positions: usize) {
    let kv_heads = 3;
    let width = kv_heads * head_dim;
    let q = random_floats(head_dim, 1);
    let keys = random_floats(positions * width, 2);
    let values = random_floats(positions * width, 3);
    let mut store = KvRows::new(positions, width, kind).unwrap();
    store.append(0, &keys, &values);

    let score_size = head_dim as f64 / (head_dim as f64).sqrt();
    let score_error = (head_dim.div_ceil(16) + 4 + 2) as f64 * ROUNDING * score_size;
    let bound = 2.0 * score_error + (positions + 8) as f64 * ROUNDING;
    let head = Head { q: &q, kv_head: 1, positions };
    let op = format!("attend {kind:?} head_dim {head_dim}, {positions} positions");
    check(&op, head_dim, |set, out| (set.attend)(&head, &store, out), |_| bound);
}

/// Runs `op` on every set; `bound` is the largest difference from the reference, by output.
fn check(name: &str, len: usize, op: impl Fn(&Kernels, &mut [f32]), bound: impl Fn(usize) -> f64) {
    let sets = available();
    let run = |set: &Kernels| {
        let mut out = vec![f32::NAN; len];
        op(set, &mut out);
        out
    };
    let expected = run(sets[0]);
    let fast: Vec<Vec<f32>> = sets[1..].iter().map(|set| run(set)).collect();
    for (set, found) in sets[1..].iter().zip(&fast) {
        for (index, (found_one, expected)) in found.iter().zip(&expected).enumerate() {
            let (error, bound) = (f64::from((found_one - expected).abs()), bound(index));
            assert!(
                error <= bound,
                "{} {name}, output {index}: {found_one}, expected {expected} within {bound:e}",
                set.name
            );
        }
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(found), bits(&fast[0]), "{name}: {} differs from the first", set.name);
    }
}

/// The sums of the products' magnitudes, `[tokens, rows]`.
fn magnitudes(weights: &Matrix, x: &[f32]) -> Vec<f64> {
    let mut sums = vec![0.0; x.len() / weights.columns() * weights.rows()];
    let mut decoded = vec![0.0; weights.columns()];
    for row in 0..weights.rows() {
        weights.format().decode(weights.row(row), &mut decoded);
        for (token, x) in x.chunks_exact(weights.columns()).enumerate() {
            let products = decoded.iter().zip(x).map(|(w, x)| f64::from((w * x).abs()));
            sums[token * weights.rows() + row] = products.sum();
        }
    }
    sums
}

/// Random blocks whose weights are of a size that models have.
pub(super) fn random_matrix(format: Format, rows: usize, columns: usize) -> Matrix {
    let layout = format.layout();
    let mut random = Random(columns as u64);
    let mut bytes = Vec::new();
    let mut weights = vec![0.0; layout.block_len];
    while bytes.len() < rows * format.row_bytes(columns).unwrap() {
        let block: Vec<u8> = (0..layout.block_bytes).map(|_| random.next() as u8).collect();
        format.decode(&block, &mut weights);
        if weights.iter().all(|weight| weight.abs() < 8.0) {
            bytes.extend(block);
        }
    }
    Matrix::new(format, rows, columns, bytes.into())
}

/// From -1 to 1.
pub(super) fn random_floats(len: usize, seed: u64) -> Vec<f32> {
    let mut random = Random(seed);
    (0..len).map(|_| (random.next() as i32 as f64 / f64::from(1_u32 << 31)) as f32).collect()
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}
