//! A vocabulary: text to tokens and back. Built from GGUF metadata alone.

mod pretokenize;
use crate::gguf::Metadata;
use crate::{Error, Token};

/// What the text of a control token in the input means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Special {
    /// Nothing: it is text like any other. The only choice for what a user typed.
    Text,
    /// The token itself, as in a rendered chat template.
    Token,
}

/// Vocabulary, merges or scores, splitting rule and special tokens of one model.
pub struct Tokenizer {}

impl Tokenizer {
    /// Reads `tokenizer.ggml.*`. An unknown model or pre-tokenizer is an error that names it.
    pub fn from_metadata(_metadata: &Metadata) -> Result<Tokenizer, Error> {
        unimplemented!()
    }

    /// Tokens of a text, without a BOS. Characters equal to `guard` are dropped after special
    /// tokens were cut out: see [`crate::text::ChatTemplate`].
    pub fn encode(&self, _text: &str, _special: Special) -> Vec<Token> {
        unimplemented!()
    }

    /// As [`Tokenizer::encode`] with special tokens, preceded by BOS if the model asks for one and
    /// the text does not begin with it.
    pub fn encode_prompt(&self, _text: &str, _special: Special) -> Vec<Token> {
        unimplemented!()
    }

    /// The bytes a token stands for in an answer; empty for control tokens.
    pub fn bytes(&self, _token: Token) -> &[u8] {
        unimplemented!()
    }

    /// The vocabulary's own spelling of a token, for people.
    pub fn spelling(&self, _token: Token) -> Option<&str> {
        unimplemented!()
    }

    /// Text of whole tokens, invalid UTF-8 replaced.
    pub fn decode(&self, _tokens: &[Token]) -> String {
        unimplemented!()
    }

    /// Whether a token ends an answer.
    pub fn is_end(&self, _token: Token) -> bool {
        unimplemented!()
    }

    /// Beginning of a text.
    pub fn bos(&self) -> Option<Token> {
        unimplemented!()
    }

    /// End of a text.
    pub fn eos(&self) -> Option<Token> {
        unimplemented!()
    }

    /// Tokens it has.
    pub fn len(&self) -> usize {
        unimplemented!()
    }

    /// SHA-256, hex, over everything that decides an encoding: model, pre-tokenizer, tokens, types, scores or
    /// merges, special ids and flags.
    pub fn digest(&self) -> &str {
        unimplemented!()
    }

    /// `llama` or `gpt2`, and the pre-tokenizer's name.
    pub fn kind(&self) -> (&str, &str) {
        unimplemented!()
    }
}

/// Bytes of tokens in, whole UTF-8 characters out.
#[derive(Debug, Clone, Default)]
pub struct Detokenizer {
    pending: Vec<u8>,
}

impl Detokenizer {
    /// Adds a token's bytes; returns the characters that are complete now.
    pub fn push(&mut self, _bytes: &[u8]) -> String {
        unimplemented!()
    }

    /// What was incomplete at the end, each invalid sequence replaced by U+FFFD.
    pub fn finish(&mut self) -> String {
        unimplemented!()
    }
}
