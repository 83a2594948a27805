//! Where state lives. Knows devices' stores, no architecture.

mod kv_cache;

pub use crate::device::KvType;
pub use kv_cache::KvCache;
