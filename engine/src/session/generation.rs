//! The loop every caller shares: decode, sample, detokenise, stop. It owns no clock.

use crate::text::{Sampler, StopStrings};
use crate::{Error, Session, Token};

/// What bounds a generation.
#[derive(Debug, Clone, Default)]
pub struct GenerationOptions {
    /// Most tokens to produce; `None` takes what the context leaves.
    pub max_tokens: Option<usize>,
    /// Texts that end the answer and are not part of it.
    pub stop: Vec<String>,
}

/// What one step gave.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// A token, and the text that became certain with it: often its own piece, empty while a
    /// character or a stop text is incomplete.
    Token {
        /// Its id.
        id: Token,
        /// Whole UTF-8 characters.
        text: String,
    },
    /// The end, with the text that was held back.
    Done {
        /// Why.
        finish: Finish,
        /// What was held back and is part of the answer.
        text: String,
    },
}

/// Why a generation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// An end token or a stop text. The end token counts as an output token and is not shown.
    Stop,
    /// The limit of tokens.
    Length,
}

/// A running generation: call [`Generation::step`] until it is done, or drop it to stop.
pub struct Generation<'s> {
    session: &'s mut Session,
    sampler: Sampler,
    stop: StopStrings,
}

impl<'s> Generation<'s> {
    /// Goes on from the session's timeline.
    pub fn new(
        _session: &'s mut Session,
        _sampler: Sampler,
        _options: &GenerationOptions,
    ) -> Result<Generation<'s>, Error> {
        unimplemented!()
    }

    /// Produces one token, or says why there is none.
    pub fn step(&mut self) -> Result<Step, Error> {
        unimplemented!()
    }

    /// Output tokens so far, an end token included.
    pub fn produced(&self) -> usize {
        unimplemented!()
    }
}
