//! Bytes that may come from a file: the only memory map of the engine.

use std::ops::Deref;
use std::sync::Arc;

/// A cheap handle to shared bytes: a mapped file, a vector, or a part of either.
#[derive(Clone)]
pub struct Bytes {
    owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
    start: usize,
    len: usize,
}

impl Bytes {
    /// A part of these bytes, sharing the owner. Panics outside the bounds.
    pub fn slice(&self, _start: usize, _len: usize) -> Bytes {
        unimplemented!()
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let all: &[u8] = (*self.owner).as_ref();
        &all[self.start..self.start + self.len]
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Bytes {
        Bytes { start: 0, len: bytes.len(), owner: Arc::new(bytes) }
    }
}

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bytes({})", self.len)
    }
}
