//! The loop every caller shares: decode, sample, detokenise, stop. It owns no clock.

use crate::text::{Detokenizer, Sampler, StopStrings};
use crate::{Error, Session, Token};
use std::sync::Arc;

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

/// A running generation: call [`Generation::step`] until it is done, or drop it to stop. The
/// tokens it produced stay on the session's timeline.
pub struct Generation<'s> {
    session: &'s mut Session,
    sampler: Sampler,
    detokenizer: Detokenizer,
    stop: StopStrings,
    /// Tokens of the timeline that are the prompt.
    prompt_len: usize,
    /// Output tokens at which it ends.
    limit: usize,
    end: Option<End>,
}

/// What ended a generation.
enum End {
    Token,
    StopText,
    Limit,
    /// The end was told.
    Told(Finish),
}

impl<'s> Generation<'s> {
    /// Goes on from the session's timeline. Prompt and output share its capacity: a prompt that
    /// leaves no room for one token is refused.
    pub fn new(
        session: &'s mut Session,
        sampler: Sampler,
        options: &GenerationOptions,
    ) -> Result<Generation<'s>, Error> {
        let (prompt_len, capacity) = (session.tokens().len(), session.capacity());
        if prompt_len == capacity {
            return Err(Error::ContextFull { needed: prompt_len + 1, capacity });
        }
        let room = capacity - prompt_len;
        Ok(Generation {
            session,
            sampler,
            detokenizer: Detokenizer::default(),
            stop: StopStrings::new(&options.stop),
            prompt_len,
            limit: options.max_tokens.map_or(room, |max| max.min(room)),
            end: None,
        })
    }

    /// Produces one token, or says why there is none. After an error it can be called again.
    pub fn step(&mut self) -> Result<Step, Error> {
        if self.end.is_none() && self.produced() == self.limit {
            self.end = Some(End::Limit);
        }
        if let Some(end) = self.end.take() {
            return Ok(self.finish(end));
        }
        self.session.decode()?;
        let (prompt, output) = self.session.tokens.split_at(self.prompt_len);
        let id = self.sampler.sample(&self.session.logits, prompt, output)?;
        self.session.push(id)?;
        let model = Arc::clone(self.session.model());
        if model.tokenizer().is_end(id) {
            self.end = Some(End::Token);
            return Ok(Step::Token { id, text: String::new() });
        }
        let text = self.detokenizer.push(model.tokenizer().bytes(id));
        let (text, stopped) = self.stop.push(&text);
        if stopped {
            self.end = Some(End::StopText);
        }
        Ok(Step::Token { id, text })
    }

    /// Output tokens so far, an end token included.
    pub fn produced(&self) -> usize {
        self.session.tokens().len() - self.prompt_len
    }

    fn finish(&mut self, end: End) -> Step {
        let (finish, text) = match end {
            End::Told(finish) => (finish, String::new()),
            End::StopText => (Finish::Stop, String::new()),
            End::Token => (Finish::Stop, self.held_text()),
            End::Limit => (Finish::Length, self.held_text()),
        };
        self.end = Some(End::Told(finish));
        Step::Done { finish, text }
    }

    /// An unfinished character or stop text that turned out to be part of the answer.
    fn held_text(&mut self) -> String {
        let (mut text, stopped) = self.stop.push(&self.detokenizer.finish());
        if !stopped {
            text.push_str(&self.stop.finish());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::testing::Tiny;
    use crate::text::SamplerOptions;
    use crate::{Model, ModelOptions, SessionOptions};

    /// The steps after BOS, greedy, with `end` as the end-of-text token.
    fn steps(end: Token, count: usize) -> (Vec<Step>, Session) {
        let mut tiny = Tiny::new();
        tiny.set("tokenizer.ggml.eos_token_id", end);
        let model = Model::from_bytes(tiny.bytes(), &ModelOptions::default()).unwrap();
        let mut session = Session::new(Arc::new(model), SessionOptions::default()).unwrap();
        session.sync(&[1]).unwrap();
        let sampler = Sampler::new(SamplerOptions::default()).unwrap();
        let options = GenerationOptions::default();
        let mut generation = Generation::new(&mut session, sampler, &options).unwrap();
        let steps = (0..count).map(|_| generation.step().unwrap()).collect();
        (steps, session)
    }

    #[test]
    fn an_end_token_counts_and_is_not_shown() {
        let (first, _) = steps(2, 1);
        let Step::Token { id, text } = &first[0] else { panic!("a token, got {first:?}") };
        assert!(!text.is_empty());

        let (steps, session) = steps(*id, 3);
        let done = Step::Done { finish: Finish::Stop, text: String::new() };
        assert_eq!(steps, [Step::Token { id: *id, text: String::new() }, done.clone(), done]);
        assert_eq!(session.tokens(), [1, *id]);
    }
}
