//! What a file says of its vocabulary, read and checked once: lengths agree, types are known, ids
//! are in range. Knows nothing of how a text is encoded.

use crate::gguf::Metadata;
use crate::{Error, Token};
use sha2::{Digest, Sha256};

/// `tokenizer.ggml.token_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Normal = 1,
    /// What a text turns into that the vocabulary cannot spell.
    Unknown = 2,
    /// A mark of the template: no text of its own, and never made from a user's text.
    Control = 3,
    /// A text that is one token wherever it occurs.
    UserDefined = 4,
    Unused = 5,
    /// One byte, spelled `<0xNN>`.
    Byte = 6,
}

impl Kind {
    fn from_id(id: i32) -> Option<Kind> {
        let all = [
            Kind::Normal,
            Kind::Unknown,
            Kind::Control,
            Kind::UserDefined,
            Kind::Unused,
            Kind::Byte,
        ];
        all.into_iter().find(|kind| *kind as i32 == id)
    }

    /// Whether the token stands for something other than its spelling, so that no text may turn
    /// into it unless asked to.
    pub(super) fn is_mark(self) -> bool {
        matches!(self, Kind::Control | Kind::Unknown)
    }
}

/// Spellings and types of all tokens, and the ids and flags that go with them.
#[derive(Debug)]
pub(super) struct Vocabulary {
    pub(super) tokens: Vec<String>,
    /// As many as tokens.
    pub(super) kinds: Vec<Kind>,
    pub(super) bos: Option<Token>,
    pub(super) eos: Option<Token>,
    /// `eot_token_id`, `eom_token_id`.
    pub(super) other_ends: Vec<Token>,
    pub(super) unknown: Option<Token>,
    /// `None` where the file does not say.
    pub(super) add_bos: Option<bool>,
    pub(super) add_eos: bool,
    pub(super) add_space_prefix: Option<bool>,
}

impl Vocabulary {
    pub(super) fn from_metadata(metadata: &Metadata) -> Result<Vocabulary, Error> {
        let tokens = metadata.strings("tokenizer.ggml.tokens")?.unwrap_or_default();
        if tokens.is_empty() {
            return Err(Error::Model("tokenizer.ggml.tokens is missing or empty".to_owned()));
        }
        let kinds = read_kinds(metadata, tokens.len())?;
        let id = |name| read_id(metadata, name, tokens.len());
        let vocabulary = Vocabulary {
            kinds,
            bos: id("bos")?,
            eos: id("eos")?,
            other_ends: [id("eot")?, id("eom")?].into_iter().flatten().collect(),
            unknown: id("unknown")?,
            add_bos: metadata.boolean("tokenizer.ggml.add_bos_token")?,
            add_eos: metadata.boolean("tokenizer.ggml.add_eos_token")?.unwrap_or(false),
            add_space_prefix: metadata.boolean("tokenizer.ggml.add_space_prefix")?,
            tokens: tokens.into_iter().map(str::to_owned).collect(),
        };
        for (flag, asked, token) in [
            ("bos", vocabulary.add_bos == Some(true), vocabulary.bos),
            ("eos", vocabulary.add_eos, vocabulary.eos),
        ] {
            if asked && token.is_none() {
                return Err(Error::Model(format!(
                    "tokenizer.ggml.add_{flag}_token is true, but there is no \
                     tokenizer.ggml.{flag}_token_id"
                )));
            }
        }
        Ok(vocabulary)
    }

    /// Ids, spellings and types in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Token, &str, Kind)> {
        let tokens = (0..).zip(&self.tokens).zip(&self.kinds);
        tokens.map(|((id, spelling), kind)| (id, spelling.as_str(), *kind))
    }

    /// Whether a token ends an answer: those the file names as end of text, turn or message, and
    /// control tokens with a spelling that models use for one of these. Any other control token
    /// in an answer is hidden and ends nothing.
    pub(super) fn is_end(&self, token: Token) -> bool {
        let named = self.eos == Some(token) || self.other_ends.contains(&token);
        let index = token as usize;
        named
            || self.kinds.get(index) == Some(&Kind::Control)
                && END_SPELLINGS.contains(&self.tokens[index].as_str())
    }

    /// Adds all of it to a digest, every part behind its length so that no two vocabularies
    /// serialise alike.
    pub(super) fn hash_into(&self, hasher: &mut Sha256) {
        hash_count(hasher, self.tokens.len());
        for (_, spelling, kind) in self.iter() {
            hash_text(hasher, spelling);
            hasher.update([kind as u8]);
        }
        let ids = [self.bos, self.eos, self.unknown];
        let ids = ids.into_iter().chain(self.other_ends.iter().copied().map(Some));
        for id in ids {
            hasher.update(id.map_or(u64::MAX, u64::from).to_le_bytes());
        }
        for flag in [self.add_bos, Some(self.add_eos), self.add_space_prefix] {
            hasher.update([flag.map_or(2, u8::from)]);
        }
    }
}

pub(super) fn hash_count(hasher: &mut Sha256, count: usize) {
    hasher.update((count as u64).to_le_bytes());
}

pub(super) fn hash_text(hasher: &mut Sha256, text: &str) {
    hash_count(hasher, text.len());
    hasher.update(text);
}
