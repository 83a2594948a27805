//! The ops a forward pass is written in, as one trait, each stated once with its shapes.
//! Implementations know no tensor names and no files.

pub mod cpu;

use crate::gguf::Bytes;
use crate::quant::Format;
use crate::{Error, Token};

/// Which kernel set a caller asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelChoice {
    /// The best this processor runs: a fast set, or `Reference` where there is none for it.
    Auto,
    /// Plain loops: slow, obvious, always available.
    Reference,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, BW, DQ, VL.
    Avx512,
}

/// How keys and values are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KvType {
    /// Exact, for comparisons.
    F32,
    /// Half the size, the default.
    F16,
}

impl KvType {
    /// Bytes of one number.
    pub fn bytes(self) -> usize {
        match self {
            KvType::F32 => 4,
            KvType::F16 => 2,
        }
    }
}

/// A place that holds weights and computes. A row of activations is a token, and what an op makes
/// of a row does not depend on the other rows of the call, nor on how many there are.
///
/// Ops cannot fail for want of anything a caller controls: shapes are our own (an op panics on
/// others), and a device that can break remembers it and says so in [`Device::read`].
pub trait Device: Send + Sync + 'static {
    /// Activations, f32, `[rows, width]`.
    type Activations;
    /// A matrix of weights as stored, `[rows, columns]`.
    type Matrix: Send + Sync;
    /// A vector of weights, f32.
    type Vector: Send + Sync;
    /// Keys and values of one layer, `[positions, width]` each.
    type KvStore: Send;

    /// The device and the kernel set in use.
    fn name(&self) -> (&'static str, &'static str);

    /// Takes a matrix, `[rows, columns]`, rows one after the other. A device whose memory is the
    /// host's keeps `bytes` as they are.
    fn matrix(
        &self,
        format: Format,
        rows: usize,
        columns: usize,
        bytes: Bytes,
    ) -> Result<Self::Matrix, Error>;

    /// Takes a vector.
    fn vector(&self, values: Vec<f32>) -> Result<Self::Vector, Error>;

    /// An empty store for at most `capacity` positions, `width` numbers each for key and value.
    fn kv_store(&self, capacity: usize, width: usize, kind: KvType)
    -> Result<Self::KvStore, Error>;

    /// Rows of a table, `[vocab, width]`, one a token: `[tokens, width]`.
    fn gather(&self, table: &Self::Matrix, tokens: &[Token]) -> Self::Activations;

    /// `weight * x / sqrt(mean(x^2) + eps)` of each row: `[rows, width]`.
    fn rms_norm(&self, x: &Self::Activations, weight: &Self::Vector, eps: f32)
    -> Self::Activations;

    /// The product of every matrix, `[out, width]`, with each row of `x`, `[rows, width]`: one
    /// `[rows, out]` a matrix. They share one preparation of `x` and one parallel section.
    fn matmul<const N: usize>(
        &self,
        weights: [&Self::Matrix; N],
        x: &Self::Activations,
    ) -> [Self::Activations; N];

    /// `silu(gate x) * (up x)`, both `[out, width]`, of each row of `x`, `[rows, width]`:
    /// `[rows, out]`. `silu(a) = a / (1 + exp(-a))`.
    fn gated(
        &self,
        gate: &Self::Matrix,
        up: &Self::Matrix,
        x: &Self::Activations,
    ) -> Self::Activations;

    /// Rotates every head of `x`, `[tokens, heads * head_dim]`, by the token's position; the first
    /// token stands at `first`.
    fn rope(&self, x: &mut Self::Activations, rope: &Rope, first: usize);

    /// Writes keys and values, `[tokens, width]` each, at the positions from `first` on, which is
    /// at most the positions held; what stood there and beyond is gone.
    fn append(
        &self,
        store: &mut Self::KvStore,
        first: usize,
        k: &Self::Activations,
        v: &Self::Activations,
    );

    /// Causal attention: the token at position `p` of `q`, `[tokens, heads * head_dim]`, mixes the
    /// values of positions 0 to `p` by the softmax of `q k / sqrt(head_dim)`; `heads / kv_heads`
    /// neighbouring heads share a key head. The first token stands at `first`.
    fn attention(
        &self,
        q: &Self::Activations,
        store: &Self::KvStore,
        shape: &AttentionShape,
        first: usize,
    ) -> Self::Activations;

    /// `x += y`, both `[rows, width]`.
    fn add(&self, x: &mut Self::Activations, y: &Self::Activations);

    /// The last row alone: [1, width].
    fn last_row(&self, x: Self::Activations) -> Self::Activations;

    /// Brings activations to the host, all rows, into `out`; waits for what is not yet computed.
    fn read(&self, x: &Self::Activations, out: &mut Vec<f32>) -> Result<(), Error>;
}

/// Rotary position embedding of a head.
#[derive(Debug, Clone, PartialEq)]
pub struct Rope {
    /// Which elements form the pairs that are rotated.
    pub pairs: RopePairs,
    /// Length of a head; elements past the pairs stay as they are.
    pub head_dim: usize,
    /// Radians a position turns each pair, `[pairs]`.
    pub frequencies: Vec<f64>,
}

/// How elements are paired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RopePairs {
    /// `2i` with `2i + 1`: ggml's normal mode.
    Neighbours,
    /// `i` with `i + pairs`: ggml's NEOX mode.
    Halves,
}

/// Heads of an attention layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttentionShape {
    /// Query heads, a multiple of `kv_heads`.
    pub heads: usize,
    /// Key and value heads.
    pub kv_heads: usize,
    /// Length of a head.
    pub head_dim: usize,
}
