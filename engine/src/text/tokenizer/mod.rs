//! A vocabulary: text to tokens and back. Built from GGUF metadata alone.

mod bpe;
mod detokenizer;
mod merge;
mod pretokenize;
mod special;
mod spm;
#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use detokenizer::Detokenizer;

use crate::gguf::Metadata;
use crate::{Error, Token};
use bpe::Bpe;
use sha2::{Digest, Sha256};
use special::{Part, SpecialTokens};
use spm::Spm;
use vocabulary::{Kind, Vocabulary, hash_text};

/// What the text of a control token in the input means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Special {
    /// Nothing: it is text like any other. The only choice for what a user typed.
    Text,
    /// The token itself, as in a rendered chat template.
    Token,
}

/// Vocabulary, merges or scores, splitting rule and special tokens of one model.
///
/// A user-defined token (`token_type` 4) is found wherever its text occurs, as other engines do; a
/// control token (3) only with [`Special::Token`]. Text never turns into a control token in any
/// other way.
#[derive(Debug)]
pub struct Tokenizer {
    vocabulary: Vocabulary,
    model: Model,
    /// Name of the splitting rule.
    pre: &'static str,
    /// What each token stands for in an answer.
    bytes: Vec<Box<[u8]>>,
    /// Control and user-defined tokens.
    special: SpecialTokens,
    user_defined: SpecialTokens,
    control: SpecialTokens,
    digest: String,
}

/// How text without special tokens is encoded.
#[derive(Debug)]
enum Model {
    Bpe(Bpe),
    Spm(Spm),
}

impl Tokenizer {
    /// Reads `tokenizer.ggml.*`. An unknown model or pre-tokenizer is an error that names it.
    pub fn from_metadata(metadata: &Metadata) -> Result<Tokenizer, Error> {
        let model = metadata.string("tokenizer.ggml.model")?;
        let pre = metadata.string("tokenizer.ggml.pre")?;
        let mut hasher = Sha256::new();
        for name in ["strata tokenizer 1", model.unwrap_or(""), pre.unwrap_or("default")] {
            hash_text(&mut hasher, name);
        }
        let (vocabulary, bytes, model, pre) = match model {
            Some("gpt2") => {
                let rule = pretokenize::RULES.iter().find(|rule| pre == Some(rule.name));
                let known = || pretokenize::RULES.map(|rule| rule.name).join(", ");
                let rule = rule.ok_or_else(|| unknown("pre", pre, &known()))?;
                let vocabulary = Vocabulary::from_metadata(metadata, rule.add_bos)?;
                let bytes = vocabulary.bytes(|spelling, _| bpe::spelling_to_bytes(spelling));
                let bpe = Bpe::new(metadata, rule, &vocabulary, &bytes, &mut hasher)?;
                (vocabulary, bytes, Model::Bpe(bpe), rule.name)
            }
            Some("llama") => {
                if !matches!(pre, None | Some("default")) {
                    return Err(unknown("pre", pre, "default"));
                }
                let vocabulary = Vocabulary::from_metadata(metadata, true)?;
                let bytes = vocabulary.bytes(spm::spelling_to_bytes);
                let spm = Spm::new(metadata, &vocabulary, &mut hasher)?;
                (vocabulary, bytes, Model::Spm(spm), "default")
            }
            _ => return Err(unknown("model", model, "gpt2, llama")),
        };
        vocabulary.hash_into(&mut hasher);
        let of_kind = |wanted: fn(Kind) -> bool| {
            SpecialTokens::new(
                vocabulary
                    .iter()
                    .filter(|(.., kind)| wanted(*kind))
                    .map(|(token, spelling, _)| (spelling, token)),
            )
        };
        Ok(Tokenizer {
            special: of_kind(|kind| kind.is_control() || kind == Kind::UserDefined),
            user_defined: of_kind(|kind| kind == Kind::UserDefined),
            control: of_kind(Kind::is_control),
            digest: hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect(),
            vocabulary,
            model,
            pre,
            bytes,
        })
    }

    /// Tokens of a text, without a BOS. A character the vocabulary cannot spell becomes its
    /// unknown token; where that is a control token, it is dropped.
    ///
    /// A `llama` model puts a blank before a text and after each special token if the file asks
    /// for it, and knows no difference between a blank and U+2581.
    pub fn encode(&self, text: &str, special: Special) -> Vec<Token> {
        let cut = match special {
            Special::Text => &self.user_defined,
            Special::Token => &self.special,
        };
        let mut encoding = Encoding::new(self);
        for part in cut.cut(text) {
            encoding.add(part);
        }
        encoding.tokens
    }

    /// As [`Tokenizer::encode`], preceded by BOS and followed by EOS if the model asks for them
    /// and the text does not have them there.
    pub fn encode_prompt(&self, text: &str, special: Special) -> Vec<Token> {
        let mut tokens = self.with_bos(self.encode(text, special));
        if self.vocabulary.add_eos && tokens.last().copied() != self.vocabulary.eos {
            tokens.extend(self.vocabulary.eos);
        }
        tokens
    }

    /// As [`Tokenizer::encode`] with special tokens, of a text in which [`Tokenizer::break_up`] put
    /// `guard` where there are to be none; it is dropped from what is left.
    pub(super) fn encode_guarded(&self, text: &str, guard: char) -> Vec<Token> {
        let mut encoding = Encoding::new(self);
        for part in self.special.cut(text) {
            let Part::Text(text) = part else {
                encoding.add(part);
                continue;
            };
            for part in self.user_defined.cut(&text.replace(guard, "")) {
                encoding.add(part);
            }
        }
        encoding.tokens
    }

    /// Puts BOS in front if the model asks for one and it is not there.
    pub(super) fn with_bos(&self, mut tokens: Vec<Token>) -> Vec<Token> {
        let bos = self.vocabulary.bos.filter(|_| self.vocabulary.add_bos);
        if let Some(bos) = bos.filter(|bos| tokens.first() != Some(bos)) {
            tokens.insert(0, bos);
        }
        tokens
    }

    /// The text with `guard` in every place where it spells a control token, or would if more
    /// followed its end.
    pub(super) fn break_up(&self, text: &str, guard: char) -> String {
        self.control.break_up(text, guard)
    }

    /// The bytes a token stands for in an answer; empty for control tokens. An answer continues a
    /// prompt, so a leading blank is part of it.
    pub fn bytes(&self, token: Token) -> &[u8] {
        self.bytes.get(token as usize).map_or(&[], |bytes| bytes)
    }

    /// The vocabulary's own spelling of a token, for people.
    pub fn spelling(&self, token: Token) -> Option<&str> {
        self.vocabulary.tokens.get(token as usize).map(String::as_str)
    }

    /// Text of whole tokens, invalid UTF-8 replaced: what [`Tokenizer::encode`] was given, so
    /// without the blanks that it puts in.
    pub fn decode(&self, tokens: &[Token]) -> String {
        let prefixed = matches!(&self.model, Model::Spm(spm) if spm.add_space_prefix);
        let mut at_start = true;
        let mut bytes = Vec::new();
        for &token in tokens {
            let is_text = self.vocabulary.is_text(token);
            let spelled = self.bytes(token);
            bytes.extend(match spelled {
                [b' ', rest @ ..] if prefixed && at_start && is_text => rest,
                _ => spelled,
            });
            at_start = !is_text;
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Whether a token ends an answer: one that the file names as the end of a text, turn or
    /// message, or a control token that is spelled as models spell one of these.
    pub fn is_end(&self, token: Token) -> bool {
        self.vocabulary.is_end(token)
    }

    /// Beginning of a text.
    pub fn bos(&self) -> Option<Token> {
        self.vocabulary.bos
    }

    /// End of a text.
    pub fn eos(&self) -> Option<Token> {
        self.vocabulary.eos
    }

    /// Tokens it has, at least one.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.vocabulary.tokens.len()
    }

    /// SHA-256, hex, over everything that decides an encoding, in this order: the texts
    /// `strata tokenizer 1`, model and pre-tokenizer; for `gpt2` the merges; for `llama` the scores
    /// as f32 and `add_space_prefix`; the tokens, each followed by its type; the ids of BOS, EOS,
    /// EOT, EOM and the unknown token, all ones for none; `add_bos` and `add_eos` as they apply.
    /// Texts and lists are preceded by their length. Lengths and ids take eight bytes,
    /// little-endian, types and flags one.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// `llama` or `gpt2`, and the pre-tokenizer's name.
    pub fn kind(&self) -> (&str, &str) {
        let model = match self.model {
            Model::Bpe(_) => "gpt2",
            Model::Spm(_) => "llama",
        };
        (model, self.pre)
    }
}

/// Tokens so far of a text that comes in parts.
struct Encoding<'a> {
    tokenizer: &'a Tokenizer,
    tokens: Vec<Token>,
    /// Nothing or a special token came before.
    at_start: bool,
}

impl Encoding<'_> {
    fn new(tokenizer: &Tokenizer) -> Encoding<'_> {
        Encoding { tokenizer, tokens: Vec::new(), at_start: true }
    }

    fn add(&mut self, part: Part) {
        self.at_start = match part {
            Part::Token(token) => {
                self.tokens.push(token);
                true
            }
            Part::Text(text) => {
                match &self.tokenizer.model {
                    Model::Bpe(bpe) => bpe.encode(text, &mut self.tokens),
                    Model::Spm(spm) => spm.encode(text, self.at_start, &mut self.tokens),
                }
                false
            }
        };
    }
}

fn unknown(key: &str, found: Option<&str>, known: &str) -> Error {
    let found = found.map_or("missing".to_owned(), |found| format!("{found:?} is not known"));
    Error::Model(format!("tokenizer.ggml.{key}: {found}; this build knows {known}"))
}
