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

    /// Whether no text may turn into the token unless asked to; the unknown token is of this sort.
    pub(super) fn is_control(self) -> bool {
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
    /// End of a turn.
    eot: Option<Token>,
    /// End of a message that expects an answer from a tool.
    eom: Option<Token>,
    pub(super) unknown: Option<Token>,
    /// A prompt begins with BOS.
    pub(super) add_bos: bool,
    /// A prompt ends with EOS.
    pub(super) add_eos: bool,
}

impl Vocabulary {
    /// `add_bos` is what the kind of tokenizer does where the file does not say.
    pub(super) fn from_metadata(metadata: &Metadata, add_bos: bool) -> Result<Vocabulary, Error> {
        let tokens = metadata.strings("tokenizer.ggml.tokens")?.unwrap_or_default();
        if tokens.is_empty() {
            return Err(Error::Model("tokenizer.ggml.tokens: missing or empty".to_owned()));
        }
        let id = |name| read_id(metadata, name, tokens.len());
        let (bos, eos) = (id("bos")?, id("eos")?);
        Ok(Vocabulary {
            kinds: read_kinds(metadata, tokens.len())?,
            bos,
            eos,
            eot: id("eot")?,
            eom: id("eom")?,
            unknown: id("unknown")?,
            add_bos: read_add(metadata, "bos", bos)?.unwrap_or(add_bos && bos.is_some()),
            add_eos: read_add(metadata, "eos", eos)?.unwrap_or(false),
            tokens: tokens.into_iter().map(str::to_owned).collect(),
        })
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
        let index = token as usize;
        [self.eos, self.eot, self.eom].contains(&Some(token))
            || self.kinds.get(index) == Some(&Kind::Control)
                && END_SPELLINGS.contains(&self.tokens[index].as_str())
    }

    /// What each token stands for in an answer: nothing for control and unused tokens, its own
    /// spelling for a user-defined one, what `decode` says for the others.
    pub(super) fn bytes(&self, decode: impl Fn(&str, Kind) -> Vec<u8>) -> Vec<Box<[u8]>> {
        let bytes = |(_, spelling, kind): (Token, &str, Kind)| match kind {
            Kind::Control | Kind::Unknown | Kind::Unused => Box::default(),
            Kind::UserDefined => spelling.as_bytes().into(),
            Kind::Normal | Kind::Byte => decode(spelling, kind).into(),
        };
        self.iter().map(bytes).collect()
    }

    /// Whether a token is part of a text between special tokens.
    pub(super) fn is_text(&self, token: Token) -> bool {
        matches!(self.kinds.get(token as usize), Some(Kind::Normal | Kind::Byte))
    }

    /// Whether text may turn into a token: never into a control token, not even by merges.
    pub(super) fn may_be_text(&self, token: Token) -> bool {
        matches!(self.kinds[token as usize], Kind::Normal | Kind::UserDefined)
    }

    /// What a character becomes that the vocabulary cannot spell: the unknown token, or nothing
    /// where that is a control token, which text must not turn into.
    pub(super) fn replacement(&self) -> Option<Token> {
        self.unknown.filter(|&token| self.kinds[token as usize] != Kind::Control)
    }

    /// Adds all of it to a digest, every text behind its length and every list behind its count,
    /// so that no two vocabularies serialise alike.
    pub(super) fn hash_into(&self, hasher: &mut Sha256) {
        hash_count(hasher, self.tokens.len());
        for (_, spelling, kind) in self.iter() {
            hash_text(hasher, spelling);
            hasher.update([kind as u8]);
        }
        for id in [self.bos, self.eos, self.eot, self.eom, self.unknown] {
            hasher.update(id.map_or(u64::MAX, u64::from).to_le_bytes());
        }
        hasher.update([u8::from(self.add_bos), u8::from(self.add_eos)]);
    }
}

/// A count as eight bytes, little-endian.
pub(super) fn hash_count(hasher: &mut Sha256, count: usize) {
    hasher.update((count as u64).to_le_bytes());
}

pub(super) fn hash_text(hasher: &mut Sha256, text: &str) {
    hash_count(hasher, text.len());
    hasher.update(text);
}

/// How models spell the end of a text, a turn or a message.
const END_SPELLINGS: [&str; 7] = [
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<end_of_turn>",
    "<｜end▁of▁sentence｜>",
];

/// All tokens are normal where the file gives no types.
fn read_kinds(metadata: &Metadata, tokens: usize) -> Result<Vec<Kind>, Error> {
    const KEY: &str = "tokenizer.ggml.token_type";
    let Some(kinds) = metadata.integers(KEY)? else {
        return Ok(vec![Kind::Normal; tokens]);
    };
    check_count(KEY, kinds.len(), tokens)?;
    let kind = |(index, &id): (usize, &i32)| {
        let unknown = || Error::Model(format!("{KEY}[{index}]: type {id}, but types are 1 to 6"));
        Kind::from_id(id).ok_or_else(unknown)
    };
    kinds.iter().enumerate().map(kind).collect()
}

/// Refuses a list that does not go with the tokens one to one.
pub(super) fn check_count(key: &str, count: usize, tokens: usize) -> Result<(), Error> {
    if count == tokens {
        return Ok(());
    }
    Err(Error::Model(format!("{key}: {count} entries for {tokens} tokens")))
}

fn read_id(metadata: &Metadata, name: &str, tokens: usize) -> Result<Option<Token>, Error> {
    let key = format!("tokenizer.ggml.{name}_token_id");
    match metadata.unsigned(&key)? {
        None => Ok(None),
        Some(id) if id < tokens as u64 => Ok(Some(id as Token)),
        Some(id) => Err(Error::Model(format!("{key}: token {id} of a vocabulary of {tokens}"))),
    }
}

fn read_add(metadata: &Metadata, name: &str, token: Option<Token>) -> Result<Option<bool>, Error> {
    let key = format!("tokenizer.ggml.add_{name}_token");
    let add = metadata.boolean(&key)?;
    if add == Some(true) && token.is_none() {
        return Err(Error::Model(format!("{key}: true without tokenizer.ggml.{name}_token_id")));
    }
    Ok(add)
}
