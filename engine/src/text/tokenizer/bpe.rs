//! Byte-level BPE, `tokenizer.ggml.model` = `gpt2`: a piece starts as bytes, and merges learned in
//! order join them. Tokens are spelled with one character for each byte.

use super::merge::{Merge, Symbol, merge};
use super::pretokenize::{Pretokenizer, Rule};
use super::vocabulary::{Vocabulary, hash_count, hash_text};
use crate::gguf::Metadata;
use crate::{Error, Token};
use sha2::Sha256;
use std::collections::HashMap;

/// Merges and splitting rule of a vocabulary.
#[derive(Debug)]
pub(super) struct Bpe {
    pretokenizer: Pretokenizer,
    /// The token of each byte, if the vocabulary has one.
    bytes: [Option<Token>; 256],
    /// What may follow a token, sorted by (left, right): a list, so that a lookup needs no hash.
    pairs: Vec<Pair>,
    /// Where in `pairs` a left half's begin; one more than tokens.
    first_pair: Vec<u32>,
    /// Tokens by their bytes, where a piece may be one as a whole.
    whole_pieces: HashMap<Box<[u8]>, Token>,
    /// For bytes that have no token.
    replacement: Option<Token>,
}

/// A merge: its right half, its place in the list, what it makes.
#[derive(Debug, Clone, Copy)]
struct Pair {
    right: Token,
    rank: u32,
    merged: Token,
}

impl Bpe {
    /// `bytes` are those of each token.
    pub(super) fn new(
        metadata: &Metadata,
        rule: &Rule,
        vocabulary: &Vocabulary,
        bytes: &[Box<[u8]>],
        hasher: &mut Sha256,
    ) -> Result<Bpe, Error> {
        const KEY: &str = "tokenizer.ggml.merges";
        let merges = metadata.strings(KEY)?.unwrap_or_default();
        hash_count(hasher, merges.len());
        merges.iter().for_each(|merge| hash_text(hasher, merge));
        let by_spelling: HashMap<&str, Token> =
            vocabulary.iter().map(|(token, spelling, _)| (spelling, token)).collect();
        let mut pairs: Vec<(Token, Pair)> = Vec::with_capacity(merges.len());
        for (rank, merge) in (0..).zip(&merges) {
            let halves = merge.split_once(' ').and_then(|(left, right)| {
                let find = |spelling: &str| by_spelling.get(spelling).copied();
                Some((find(left)?, find(right)?, find(&[left, right].concat())?))
            });
            let Some((left, right, merged)) = halves else {
                return Err(Error::Model(format!(
                    "{KEY}[{rank}]: {merge:?} does not name two tokens that join to a third"
                )));
            };
            if vocabulary.may_be_text(merged) {
                pairs.push((left, Pair { right, rank, merged }));
            }
        }
        // The first of two equal merges counts: it would always be the one that is used.
        pairs.sort_by_key(|(left, pair)| (*left, pair.right, pair.rank));
        pairs.dedup_by_key(|(left, pair)| (*left, pair.right));
        let first_pair = (0..=vocabulary.tokens.len() as Token)
            .map(|token| pairs.partition_point(|(left, _)| *left < token) as u32)
            .collect();
        let mut single = [None; 256];
        let mut whole_pieces = HashMap::new();
        for token in (0..).take(bytes.len()).filter(|&token| vocabulary.may_be_text(token)) {
            let spelled = &bytes[token as usize];
            if let [byte] = **spelled {
                single[usize::from(byte)] = Some(token);
            }
            if rule.whole_pieces {
                whole_pieces.insert(spelled.clone(), token);
            }
        }
        Ok(Bpe {
            pretokenizer: Pretokenizer::new(rule),
            bytes: single,
            pairs: pairs.into_iter().map(|(_, pair)| pair).collect(),
            first_pair,
            whole_pieces,
            replacement: vocabulary.replacement(),
        })
    }

    /// Appends the tokens of a text in which no special token is left to be found.
    pub(super) fn encode(&self, text: &str, tokens: &mut Vec<Token>) {
        for piece in self.pretokenizer.split(text) {
            if let Some(&token) = self.whole_pieces.get(piece.as_bytes()) {
                tokens.push(token);
                continue;
            }
            let symbol = |(at, byte): (usize, u8)| Symbol {
                range: at..at + 1,
                token: self.bytes[usize::from(byte)],
            };
            let mut symbols: Vec<Symbol> = piece.bytes().enumerate().map(symbol).collect();
            merge(&mut symbols, |left, right| self.find(left.token?, right.token?));
            let left = symbols.iter().filter(|symbol| !symbol.range.is_empty());
            tokens.extend(left.filter_map(|symbol| symbol.token.or(self.replacement)));
        }
    }

    fn find(&self, left: Token, right: Token) -> Option<Merge> {
        let [from, to] = [left, left + 1].map(|token| self.first_pair[token as usize] as usize);
        let pairs = &self.pairs[from..to];
        let index = pairs.binary_search_by_key(&right, |pair| pair.right).ok()?;
        Some(Merge { rank: pairs[index].rank, token: pairs[index].merged })
    }
}

/// The bytes a spelling stands for; characters that stand for none are kept as they are.
pub(super) fn spelling_to_bytes(spelling: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(spelling.len());
    for c in spelling.chars() {
        match char_to_byte(c) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    bytes
}

/// GPT-2's alphabet: a printable byte of Latin-1 is its own character, the 68 others are numbered
/// through from U+0100 on.
fn char_to_byte(c: char) -> Option<u8> {
    match u32::from(c) {
        code @ (0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff) => Some(code as u8),
        code @ 0x100..=0x120 => Some((code - 0x100) as u8),
        code @ 0x121..=0x142 => Some((code - 0x121) as u8 + 0x7f),
        0x143 => Some(0xad),
        _ => None,
    }
}
