//! Text of strangers made harmless to look at: what would move a cursor, change colours or turn
//! the order of letters is spelled out. It knows no form of output.

use std::borrow::Cow;

/// The text with every control character, and every character that no reader sees, as an escape.
pub fn inert(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hidden(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// Controls, line separators, marks that turn the direction of text (Unicode's
/// `Bidi_Control`), and characters without a shape.
pub(super) fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// The first `most` characters, with a mark where some are gone.
pub(super) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(inert(text), expected);
    }

    #[test]
    fn hidden_characters_are_spelled_out() {
        check("plain, é, 中, –", "plain, é, 中, –");
        check("\u{1b}[2J\r\n\0", "\\u{1b}[2J\\r\\n\\u{0}");
        check("\u{9b}31m\u{7f}", "\\u{9b}31m\\u{7f}");
        check("a\u{202e}b\u{2066}c\u{2028}", "a\\u{202e}b\\u{2066}c\\u{2028}");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(cut("éééé", 3), "ééé…");
        assert_eq!(cut("ééé", 3), "ééé");
    }
}
