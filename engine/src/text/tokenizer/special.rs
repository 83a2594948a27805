//! Tokens that are found in a text before it is split: leftmost first, and the longest of those
//! that begin at one place.

use crate::Token;
use std::collections::BTreeMap;

/// Texts to find, each with its token.
#[derive(Debug, Default)]
pub(super) struct SpecialTokens {
    /// By text; no two are equal and none is empty.
    sorted: Vec<(Box<[u8]>, Token)>,
}

/// A stretch of a text: a special token, or text without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part<'t> {
    Token(Token),
    /// Not empty.
    Text(&'t str),
}

impl SpecialTokens {
    /// Empty texts are passed over; of equal texts the last counts.
    pub(super) fn new<'a>(tokens: impl Iterator<Item = (&'a str, Token)>) -> SpecialTokens {
        let by_text: BTreeMap<&str, Token> = tokens.filter(|(text, _)| !text.is_empty()).collect();
        let sorted = by_text.into_iter().map(|(text, token)| (text.as_bytes().into(), token));
        SpecialTokens { sorted: sorted.collect() }
    }

    /// Cuts a text; the spellings of the tokens and the texts joined are the text.
    pub(super) fn cut<'t>(&self, text: &'t str) -> Vec<Part<'t>> {
        let mut parts = Vec::new();
        let mut done = 0;
        let mut at = 0;
        while at < text.len() {
            let Some((len, token)) = self.longest_at(&text.as_bytes()[at..]) else {
                at += 1;
                continue;
            };
            if done < at {
                parts.push(Part::Text(&text[done..at]));
            }
            parts.push(Part::Token(token));
            at += len;
            done = at;
        }
        if done < text.len() {
            parts.push(Part::Text(&text[done..]));
        }
        parts
    }

    /// The text with `guard` behind the first character of everything that is one of the texts, or
    /// that would be one if more followed the end.
    pub(super) fn break_up(&self, text: &str, guard: char) -> String {
        let mut broken = String::with_capacity(text.len());
        for (at, c) in text.char_indices() {
            broken.push(c);
            if self.begins_at(&text.as_bytes()[at..]) {
                broken.push(guard);
            }
        }
        broken
    }

    /// Whether `rest` begins with one of the texts or is the beginning of one.
    fn begins_at(&self, rest: &[u8]) -> bool {
        let open = self.sorted.partition_point(|(text, _)| **text < *rest);
        self.longest_at(rest).is_some()
            || self.sorted.get(open).is_some_and(|(text, _)| text.starts_with(rest))
    }

    /// The longest text that `rest` begins with, and its token. Narrows the sorted list byte by
    /// byte, so that many texts with one beginning cost no more than one.
    fn longest_at(&self, rest: &[u8]) -> Option<(usize, Token)> {
        let mut candidates = &self.sorted[..];
        let mut longest = None;
        for (depth, byte) in rest.iter().enumerate() {
            let from = candidates.partition_point(|(text, _)| text.get(depth) < Some(byte));
            let to = candidates.partition_point(|(text, _)| text.get(depth) <= Some(byte));
            candidates = &candidates[from..to];
            let Some((text, token)) = candidates.first() else { break };
            if text.len() == depth + 1 {
                longest = Some((text.len(), *token));
            }
        }
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(tokens: &[&str], text: &str, parts: &[Part]) {
        let special = SpecialTokens::new(tokens.iter().copied().zip(0..));
        assert_eq!(special.cut(text), parts, "{tokens:?} in {text:?}");
    }

    #[test]
    fn the_longest_at_the_leftmost_place() {
        use Part::{Text, Token};
        check(&["<a>", "<a>b", "<a>bcd"], "<a>bc", &[Token(1), Text("c")]);
        check(&["<a>", "<a>bcd"], "x<a>bcd<a>", &[Text("x"), Token(1), Token(0)]);
        check(&["<ab>", ">cdefgh"], "<ab>cdefgh", &[Token(0), Text("cdefgh")]);
        check(&["", "é"], "aéé\u{301}", &[Text("a"), Token(1), Token(1), Text("\u{301}")]);
        check(&["a", "a"], "a", &[Token(1)]);
        check(&["<a>"], "<a", &[Text("<a")]);
        check(&[], "<a>", &[Text("<a>")]);
        check(&["<a>"], "", &[]);
    }

    proptest! {
        #[test]
        fn parts_join_to_the_text_and_hold_no_token(
            tokens in prop::collection::vec("[<a>]{1,4}", 0..6),
            text in "[<a>é]{0,30}",
        ) {
            let ids = (0..).zip(&tokens).map(|(id, text)| (text.as_str(), id));
            let mut joined = String::new();
            for part in SpecialTokens::new(ids).cut(&text) {
                match part {
                    Part::Token(token) => joined += &tokens[token as usize],
                    Part::Text(part) => {
                        prop_assert!(!tokens.iter().any(|token| part.contains(token.as_str())));
                        joined += part;
                    }
                }
            }
            prop_assert_eq!(joined, text);
        }
    }
}
