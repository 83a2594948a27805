//! Forward passes, one file an architecture, read top to bottom, generic over the device.

use crate::memory::KvType;
use crate::{Error, Token};

/// The checked geometry every caller needs; the rest stays inside an architecture's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Positions the model was trained for.
    pub context: usize,
    /// Vocabulary size.
    pub vocab: usize,
}

/// An architecture with its weights on a device.
pub trait Network: Send + Sync {
    /// Its geometry.
    fn shape(&self) -> &Shape;

    /// Empty state for one timeline of at most `capacity` positions.
    fn state(&self, capacity: usize, kv: KvType) -> Result<Box<dyn State>, Error>;

    /// Evaluates `tokens` at the positions after those in `state`. With `logits` the last token's
    /// logits are written, [vocab]. A token's result does not depend on how a run is cut in calls.
    fn forward(
        &self,
        state: &mut dyn State,
        tokens: &[Token],
        logits: Option<&mut Vec<f32>>,
    ) -> Result<(), Error>;
}

/// What a timeline has left behind in a network: keys and values, later recurrent state.
pub trait State: Send + std::any::Any {
    /// Positions held.
    fn len(&self) -> usize;

    /// Forgets every position from `len` on.
    fn truncate(&mut self, len: usize);
}
