//! Where state lives. Knows devices' stores, no architecture.

/// How keys and values are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KvType {
    /// Exact, for comparisons.
    F32,
    /// Half the size, the default.
    F16,
}
