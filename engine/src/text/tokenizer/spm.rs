//! SentencePiece's BPE, `tokenizer.ggml.model` = `llama`: a text starts as characters, and the pair
//! that makes the token with the best score is joined first. Blanks are spelled U+2581; characters
//! without a token become byte tokens.

use super::merge::{Merge, Symbol, merge};
use super::vocabulary::{Kind, Vocabulary, check_count, hash_count};
use crate::gguf::Metadata;
use crate::{Error, Token};
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// Scores of a vocabulary.
#[derive(Debug)]
pub(super) struct Spm {
    /// A text begins with a blank that it does not have itself.
    pub(super) add_space_prefix: bool,
    /// Normal tokens by their spelling, ranked by descending score; equal scores share a rank.
    pieces: HashMap<String, Merge>,
    /// Bytes of the longest of them.
    longest: usize,
    /// What each byte becomes, if anything.
    bytes: [Option<Token>; 256],
}

impl Spm {
    pub(super) fn new(
        metadata: &Metadata,
        vocabulary: &Vocabulary,
        hasher: &mut Sha256,
    ) -> Result<Spm, Error> {
        const KEY: &str = "tokenizer.ggml.scores";
        let scores = metadata.floats(KEY)?.unwrap_or_default();
        check_count(KEY, scores.len(), vocabulary.tokens.len())?;
        if let Some(index) = scores.iter().position(|score| score.is_nan()) {
            return Err(Error::Model(format!("{KEY}[{index}]: not a number")));
        }
        hash_count(hasher, scores.len());
        scores.iter().for_each(|score| hasher.update(score.to_le_bytes()));
        let add_space_prefix = metadata.boolean("tokenizer.ggml.add_space_prefix")?.unwrap_or(true);
        hasher.update([u8::from(add_space_prefix)]);
        let mut ranked = scores.clone();
        ranked.sort_unstable_by(|a, b| b.total_cmp(a));
        ranked.dedup();
        let rank = |score: f32| ranked.partition_point(|other| *other > score) as u32;
        let pieces: HashMap<String, Merge> = vocabulary
            .iter()
            .filter(|(.., kind)| *kind == Kind::Normal)
            .map(|(token, spelling, _)| {
                (spelling.to_owned(), Merge { rank: rank(scores[token as usize]), token })
            })
            .collect();
        let mut bytes = [vocabulary.replacement(); 256];
        for (token, spelling, _) in vocabulary.iter().filter(|(.., kind)| *kind == Kind::Byte) {
            let unknown = || {
                Error::Model(format!(
                    "tokenizer.ggml.tokens[{token}]: {spelling:?} is of the type of a byte, but \
                     not spelled <0xNN>"
                ))
            };
            bytes[usize::from(byte_of(spelling).ok_or_else(unknown)?)] = Some(token);
        }
        let longest = pieces.keys().map(String::len).max().unwrap_or(0);
        Ok(Spm { add_space_prefix, pieces, longest, bytes })
    }

    /// Appends the tokens of a text in which no special token is left to be found.
    pub(super) fn encode(&self, text: &str, at_start: bool, tokens: &mut Vec<Token>) {
        let prefix = if at_start && self.add_space_prefix { BLANK } else { "" };
        let text = format!("{prefix}{}", text.replace(' ', BLANK));
        let find = |piece: &str| self.pieces.get(piece).copied();
        let symbol = |(at, c): (usize, char)| {
            let range = at..at + c.len_utf8();
            Symbol { token: find(&text[range.clone()]).map(|piece| piece.token), range }
        };
        let mut symbols: Vec<Symbol> = text.char_indices().map(symbol).collect();
        merge(&mut symbols, |left, right| {
            let joined = left.range.start..right.range.end;
            if joined.len() > self.longest { None } else { find(&text[joined]) }
        });
        for symbol in symbols.iter().filter(|symbol| !symbol.range.is_empty()) {
            match symbol.token {
                Some(token) => tokens.push(token),
                None => {
                    let bytes = text[symbol.range.clone()].bytes();
                    tokens.extend(bytes.filter_map(|byte| self.bytes[usize::from(byte)]));
                }
            }
        }
    }
}

/// The bytes a spelling stands for.
pub(super) fn spelling_to_bytes(spelling: &str, kind: Kind) -> Vec<u8> {
    match kind {
        Kind::Byte => byte_of(spelling).into_iter().collect(),
        _ => spelling.replace(BLANK, " ").into_bytes(),
    }
}

/// U+2581, lower one eighth block.
const BLANK: &str = "\u{2581}";

fn byte_of(spelling: &str) -> Option<u8> {
    let digits = spelling.strip_prefix("<0x")?.strip_suffix('>')?;
    u8::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 2)
}
