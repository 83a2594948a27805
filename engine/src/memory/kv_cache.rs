//! Keys and values of a timeline: one store a layer on the device, and the one length they share.

use crate::Error;
use crate::device::{Device, KvType};

/// Keys and values of all layers at the positions of one timeline.
pub struct KvCache<D: Device> {
    stores: Vec<D::KvStore>,
    len: usize,
}

impl<D: Device> KvCache<D> {
    /// An empty cache for at most `capacity` positions of `width` numbers a layer, for key and
    /// value each.
    pub fn new(
        device: &D,
        layers: usize,
        capacity: usize,
        width: usize,
        kind: KvType,
    ) -> Result<KvCache<D>, Error> {
        let bytes =
            [layers, 2, width, kind.bytes()].into_iter().try_fold(capacity, usize::checked_mul);
        if bytes.is_none_or(|bytes| bytes > isize::MAX as usize) {
            return Err(Error::Input(format!(
                "a context of {capacity} positions needs more memory than there can be: \
                 {layers} layers of {width} keys and as many values: lower --ctx"
            )));
        }
        let stores = (0..layers).map(|_| device.kv_store(capacity, width, kind));
        Ok(KvCache { stores: stores.collect::<Result<_, _>>()?, len: 0 })
    }

    /// Positions held.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no position is held.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Forgets every position from `len` on. Their memory is kept for those that come.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// The stores, one a layer, to append to from position [`KvCache::len`] on.
    pub fn stores(&mut self) -> &mut [D::KvStore] {
        &mut self.stores
    }

    /// Counts `positions` more, once every layer has them. Until then nothing was added: a pass
    /// that ends early leaves the cache as it was.
    pub fn advance(&mut self, positions: usize) {
        self.len += positions;
    }
}
