//! One mutable timeline over a shared model. The caller gives the whole prefix and never sees
//! what is reused; nothing runs between two calls.

mod generation;

pub use generation::{Finish, Generation, GenerationOptions, Step};

use crate::arch::State;
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
///
/// After an error the timeline is a prefix of what was asked for, or what it was before: the
/// session stays usable, and what it gives is what a new one would give.
pub struct Session {
    model: Arc<Model>,
    options: SessionOptions,
    capacity: usize,
    tokens: Vec<Token>,
    /// Holds the first `state.len()` of `tokens`.
    state: Box<dyn State>,
    /// Of the token after the timeline if `decoded`, `[vocab]`.
    logits: Vec<f32>,
    decoded: bool,
}

impl Session {
    /// An empty timeline. Address space for its whole context is reserved here.
    pub fn new(model: Arc<Model>, options: SessionOptions) -> Result<Session, Error> {
        let trained = model.trained_context();
        let capacity = options.context.unwrap_or(trained);
        if capacity == 0 || capacity > trained {
            return Err(Error::Input(format!(
                "a context of {capacity} positions: choose 1 to {trained}, which the model was \
                 trained for"
            )));
        }
        if options.prefill_chunk == 0 {
            return Err(Error::Input("a prefill chunk of 0 tokens: choose at least 1".to_owned()));
        }
        let state = model.network().state(capacity, options.kv)?;
        let (tokens, logits) = (Vec::new(), Vec::new());
        Ok(Session { model, options, capacity, tokens, state, logits, decoded: false })
    }

    /// Makes `tokens` the timeline: keeps the longest prefix already computed, drops the rest and
    /// reads what is new except the last token, which the next [`Session::decode`] evaluates.
    /// Returns how many tokens were reused (at most `tokens.len() - 1`).
    ///
    /// `tokens` may fill the whole capacity: one decode follows, but no token can be pushed.
    pub fn sync(&mut self, tokens: &[Token]) -> Result<usize, Error> {
        let reused = self.begin(tokens)?;
        while self.read_chunk()? > 0 {}
        Ok(reused)
    }

    /// As [`Session::sync`], but computes nothing yet: [`Session::read_chunk`] does.
    pub fn begin(&mut self, tokens: &[Token]) -> Result<usize, Error> {
        let Some((_, all_but_last)) = tokens.split_last() else {
            return Err(Error::Input("a prompt of 0 tokens: give at least one".to_owned()));
        };
        if tokens.len() > self.capacity {
            return Err(Error::ContextFull { needed: tokens.len(), capacity: self.capacity });
        }
        tokens.iter().try_for_each(|token| self.check(*token))?;
        let computed = &self.tokens[..self.state.len()];
        let reused = computed.iter().zip(all_but_last).take_while(|(a, b)| a == b).count();
        self.rewind(reused)?;
        self.tokens.extend_from_slice(&tokens[reused..]);
        self.decoded = false;
        Ok(reused)
    }

    /// Reads at most one chunk of what [`Session::begin`] left; returns how many tokens are still
    /// unread, 0 when the timeline is ready to decode.
    pub fn read_chunk(&mut self) -> Result<usize, Error> {
        let end = self.tokens.len().saturating_sub(1);
        if self.state.len() < end {
            self.evaluate(end)?;
        }
        Ok(end.saturating_sub(self.state.len()))
    }

    /// The logits of the token after the timeline, `[vocab]`. Evaluates what is not yet evaluated;
    /// calling it again costs nothing.
    pub fn decode(&mut self) -> Result<&[f32], Error> {
        let Some(last) = self.tokens.len().checked_sub(1) else {
            return Err(Error::Input("nothing to decode: the timeline is empty".to_owned()));
        };
        if !self.decoded {
            // After a rewind the last token was evaluated before, but its logits are gone.
            self.state.truncate(last);
            while self.state.len() <= last {
                self.evaluate(last + 1)?;
            }
            if !self.logits.iter().all(|logit| logit.is_finite()) {
                return Err(Error::NotFinite { position: last });
            }
            self.decoded = true;
        }
        Ok(&self.logits)
    }

    /// Appends a token to the timeline; the next [`Session::decode`] evaluates it.
    pub fn push(&mut self, token: Token) -> Result<(), Error> {
        self.check(token)?;
        if self.tokens.len() == self.capacity {
            return Err(Error::ContextFull { needed: self.capacity + 1, capacity: self.capacity });
        }
        self.tokens.push(token);
        self.decoded = false;
        Ok(())
    }

    /// Drops the timeline's tokens from `len` on.
    pub fn rewind(&mut self, len: usize) -> Result<(), Error> {
        if len > self.tokens.len() {
            let held = self.tokens.len();
            return Err(Error::Input(format!("cannot rewind to {len}: {held} tokens are held")));
        }
        self.decoded &= len == self.tokens.len();
        self.tokens.truncate(len);
        self.state.truncate(len);
        Ok(())
    }

    /// The timeline.
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// Positions it can hold.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The model it runs.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// Evaluates one chunk of the timeline's tokens before `end`, with the logits of the last.
    fn evaluate(&mut self, end: usize) -> Result<(), Error> {
        if self.options.cancel.is_set() {
            return Err(Error::Cancelled);
        }
        let first = self.state.len();
        let chunk_end = end.min(first + self.options.prefill_chunk);
        let logits = (chunk_end == self.tokens.len()).then_some(&mut self.logits);
        let chunk = &self.tokens[first..chunk_end];
        self.model.network().forward(&mut *self.state, chunk, logits)
    }

    fn check(&self, token: Token) -> Result<(), Error> {
        let vocab = self.model.vocab_size();
        if (token as usize) < vocab {
            return Ok(());
        }
        Err(Error::Input(format!("token {token} is outside the vocabulary of {vocab}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModelOptions;
    use crate::arch::testing::{CONTEXT, Tiny};
    use crate::quant::Format;

    fn session(tiny: &Tiny) -> Session {
        let model = Model::from_bytes(tiny.bytes(), &ModelOptions::default()).unwrap();
        Session::new(Arc::new(model), SessionOptions::default()).unwrap()
    }

    #[test]
    fn a_damaged_scale_ends_in_an_error_and_not_in_tokens() {
        for scale in [0x7e00_u16, 0x7c00] {
            let mut tiny = Tiny::new();
            let damaged = tiny.tensor("blk.1.ffn_down.weight");
            damaged.ggml_id = Format::Q8_0.layout().ggml_id;
            damaged.bytes = vec![0; 32 * Format::Q8_0.row_bytes(64).unwrap()];
            damaged.bytes[..2].copy_from_slice(&scale.to_le_bytes());
            let mut session = session(&tiny);
            for prompt in [&[1, 5, 9][..], &[1, 5, 9], &[4, 4]] {
                session.sync(prompt).unwrap();
                let position = prompt.len() - 1;
                assert_eq!(session.decode(), Err(Error::NotFinite { position }));
                assert_eq!(session.decode(), Err(Error::NotFinite { position }));
            }
        }
    }

    #[test]
    fn the_context_is_what_the_model_was_trained_for_unless_it_is_less() {
        let session = session(&Tiny::new());
        assert_eq!(session.capacity(), CONTEXT);
        let options = SessionOptions { context: Some(5), ..SessionOptions::default() };
        assert_eq!(Session::new(Arc::clone(session.model()), options).unwrap().capacity(), 5);
    }
}
