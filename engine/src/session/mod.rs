//! One mutable timeline over a shared model. The caller gives the whole prefix and never sees
//! what is reused; nothing runs between two calls.

mod generation;

pub use generation::{Finish, Generation, GenerationOptions, Step};

use crate::memory::KvType;
use crate::{Error, Model, Token};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How a session is set up.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// Positions it can hold; `None` takes what the model was trained for.
    pub context: Option<usize>,
    /// How keys and values are stored.
    pub kv: KvType,
    /// Prompt tokens read between two looks at `cancel`. Changes no bit of any result.
    pub prefill_chunk: usize,
    /// Set from anywhere to end a call early.
    pub cancel: Cancel,
}

impl Default for SessionOptions {
    fn default() -> SessionOptions {
        SessionOptions {
            context: None,
            kv: KvType::F16,
            prefill_chunk: 64,
            cancel: Cancel::default(),
        }
    }
}

/// A flag that ends a session's work from another thread or a signal handler.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Ends the running call at its next look, and every later one until [`Cancel::clear`].
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Lets calls run again.
    pub fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether it is set.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A timeline of tokens and what the model computed for them.
pub struct Session {
    model: Arc<Model>,
}

impl Session {
    /// An empty timeline.
    pub fn new(_model: Arc<Model>, _options: SessionOptions) -> Result<Session, Error> {
        unimplemented!()
    }

    /// Makes `tokens` the timeline: keeps the longest prefix already computed, drops the rest and
    /// reads what is new except the last token, which the next [`Session::decode`] evaluates.
    /// Returns how many tokens were reused (at most `tokens.len() - 1`).
    pub fn sync(&mut self, _tokens: &[Token]) -> Result<usize, Error> {
        unimplemented!()
    }

    /// As [`Session::sync`], but computes nothing yet: [`Session::read_chunk`] does.
    pub fn begin(&mut self, _tokens: &[Token]) -> Result<usize, Error> {
        unimplemented!()
    }

    /// Reads at most one chunk of what [`Session::begin`] left; returns how many tokens are still
    /// unread, 0 when the timeline is ready to decode.
    pub fn read_chunk(&mut self) -> Result<usize, Error> {
        unimplemented!()
    }

    /// The logits of the token after the timeline, [vocab]. Evaluates what is not yet evaluated;
    /// calling it again costs nothing.
    pub fn decode(&mut self) -> Result<&[f32], Error> {
        unimplemented!()
    }

    /// Appends a token to the timeline; the next [`Session::decode`] evaluates it.
    pub fn push(&mut self, _token: Token) -> Result<(), Error> {
        unimplemented!()
    }

    /// Drops the timeline's tokens from `len` on.
    pub fn rewind(&mut self, _len: usize) -> Result<(), Error> {
        unimplemented!()
    }

    /// The timeline.
    pub fn tokens(&self) -> &[Token] {
        unimplemented!()
    }

    /// Positions it can hold.
    pub fn capacity(&self) -> usize {
        unimplemented!()
    }

    /// The model it runs.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }
}
