//! A text with its escapes of JSON undone, once or several times over, that knows where in the
//! text each of its characters stands. It knows of nothing private.

use std::borrow::Cow;
use std::ops::Range;

/// A text as it reads after some rounds of undoing escapes.
pub(super) struct View<'t> {
    pub(super) text: Cow<'t, str>,
    /// Round by round, an offset after each escape undone, and what it was before.
    rounds: Vec<Vec<(usize, usize)>>,
}

impl<'t> View<'t> {
    /// `None` if a round finds nothing to undo: then the view with fewer rounds is the same.
    pub(super) fn new(text: &'t str, rounds: usize) -> Option<View<'t>> {
        let mut view = View { text: Cow::Borrowed(text), rounds: Vec::new() };
        for _ in 0..rounds {
            let (plain, shifts) = undo(&view.text)?;
            view.text = Cow::Owned(plain);
            view.rounds.push(shifts);
        }
        Some(view)
    }

    /// Where a part of the view stands in the text. Both ends are ends of characters.
    pub(super) fn place(&self, part: Range<usize>) -> Range<usize> {
        let before = |offset: usize, shifts: &Vec<(usize, usize)>| {
            let passed = shifts.partition_point(|(after, _)| *after <= offset);
            let (after, was) = passed.checked_sub(1).map_or((0, 0), |last| shifts[last]);
            was + (offset - after)
        };
        let back = |offset| self.rounds.iter().rev().fold(offset, before);
        back(part.start)..back(part.end)
    }
}

fn undo(text: &str) -> Option<(String, Vec<(usize, usize)>)> {
    let (mut plain, mut shifts, mut done) = (String::new(), Vec::new(), 0);
    while let Some(found) = text[done..].find('\\') {
        let at = done + found;
        plain.push_str(&text[done..at]);
        let Some((character, len)) = escape(&text[at..]) else {
            plain.push('\\');
            done = at + 1;
            continue;
        };
        plain.push(character);
        done = at + len;
        shifts.push((plain.len(), done));
    }
    plain.push_str(&text[done..]);
    (!shifts.is_empty()).then_some((plain, shifts))
}

/// The character that the escape at the start of `text` stands for, and the escape's length.
fn escape(text: &str) -> Option<(char, usize)> {
    let character = match text.as_bytes().get(1)? {
        b'u' => {
            let high = unit(text)?;
            let pair = [high, text.get(6..).and_then(unit).unwrap_or_default()];
            return match char::decode_utf16(pair).next()? {
                Ok(character) => Some((character, 6 * character.len_utf16())),
                Err(_) => Some((char::REPLACEMENT_CHARACTER, 6)),
            };
        }
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        itself @ (b'"' | b'\\' | b'/') => char::from(*itself),
        _ => return None,
    };
    Some((character, 2))
}

/// The number of the `\u` escape at the start of `text`.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    hex.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_are_undone_and_found_again() {
        let check = |text: &str, rounds: usize, plain: &str, part: &str, place: &str| {
            let view = View::new(text, rounds).unwrap();
            assert_eq!(view.text, plain);
            let at = plain.find(part).unwrap();
            assert_eq!(&text[view.place(at..at + part.len())], place, "{text}");
        };
        check("a b", 0, "a b", "b", "b");
        check(r"a\nb c", 1, "a\nb c", "b c", "b c");
        check(r"a\nb c", 1, "a\nb c", "a\nb", r"a\nb");
        check(r"x\u00e9\u00E9y", 1, "x\u{e9}\u{e9}y", "\u{e9}y", r"\u00E9y");
        check(r"\ud83d\ude00!", 1, "\u{1f600}!", "\u{1f600}", r"\ud83d\ude00");
        check(r"\ud83d\n\x\u12", 1, "\u{fffd}\n\\x\\u12", "\n\\x", r"\n\x");
        check(r#"\\\"k\\\" \"o"#, 1, r#"\"k\" "o"#, r#""k"#, r#"\"k"#);
        check(r#"a\\\"k\\\"b"#, 2, r#"a"k"b"#, r#""k""#, r#"\\\"k\\\""#);
        assert!(View::new("plain", 1).is_none() && View::new(r"a\\x", 2).is_none());
        assert!(View::new(r"\x \", 1).is_none());
    }

    proptest! {
        /// Every character of a view is what its place in the text reads as.
        #[test]
        fn places_are_true(
            text in r#"([a\\/"unrtbé😀0-9]|\\u[0-9a-f]{4}|\\\\){0,24}"#,
            rounds in 0..4_usize,
        ) {
            let Some(view) = View::new(&text, rounds) else { return Ok(()) };
            let mut end = 0;
            for (at, character) in view.text.char_indices() {
                let place = view.place(at..at + character.len_utf8());
                prop_assert_eq!(place.start, end);
                end = place.end;
                let alone = View::new(&text[place], rounds);
                let read = alone.map(|view| view.text.into_owned());
                prop_assert!(read.is_none_or(|read| read == character.to_string()));
            }
            prop_assert_eq!(end, text.len());
        }
    }
}
