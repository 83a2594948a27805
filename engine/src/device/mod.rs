//! The ops a forward pass is written in, as one trait, each stated once with its shapes.
//! Implementations know no tensor names and no files.

/// Which kernel set a caller asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelChoice {
    /// The best this processor runs.
    Auto,
    /// Plain loops: slow, obvious, always available.
    Reference,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, BW, DQ, VL.
    Avx512,
}
