//! What a word, a line, a sentence of an answer is, as spec/protocol.md defines them for any
//! language. Every function takes any text and time linear in it; none knows why it is asked.

/// Quotes, brackets and emphasis, which may surround a word or follow the end of a sentence.
const AROUND: &str = "\"'()[]{}<>*_~`“”‘’„‚«»‹›¿¡「」『』（）【】《》";
/// What may follow a word.
const AFTER: &str = ".,;:!?…。，、；：！？｡؟؛،۔।";
/// What ends a sentence when a blank or the end of the text follows.
const ENDS: &str = ".!?…؟۔।";
/// What ends a sentence whatever follows.
const WIDE_ENDS: &str = "。！？｡";
/// What begins a bullet item.
const BULLETS: [char; 4] = ['-', '*', '+', '•'];
/// What models put around their reasoning, as their chat templates write it.
const REASONING: [&str; 7] =
    ["<think>", "</think>", "<thinking>", "</thinking>", "[THINK]", "[/THINK]", "<|channel|>"];
/// Unicode's `Default_Ignorable_Code_Point` (DerivedCoreProperties.txt): marks of direction and of
/// byte order, joiners, soft hyphens, variation selectors, tags.
const INVISIBLE: [(char, char); 17] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fff8}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// The text without invisible characters.
pub(crate) fn visible(text: &str) -> String {
    let invisible = |c: &char| INVISIBLE.iter().any(|(from, to)| (from..=to).contains(&c));
    text.chars().filter(|c| c.is_ascii() || !invisible(c)).collect()
}

/// Whether a mark of reasoning stands in the text, in whatever case.
pub(crate) fn shows_reasoning(text: &str) -> bool {
    text.match_indices(['<', '[']).any(|(at, _)| {
        let rest = &text.as_bytes()[at..];
        let begins = |mark: &&str| {
            let start = rest.get(..mark.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(mark.as_bytes()))
        };
        REASONING.iter().any(begins)
    })
}

/// The words, without the marks around them.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
        .filter(|run| run.contains(char::is_alphanumeric))
        .map(|run| run.trim_start_matches(is_around))
        .map(|run| run.trim_end_matches(|c| is_around(c) || AFTER.contains(c)))
}

/// The lines that are not blank.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', '\r']).filter(|line| !line.trim().is_empty())
}

/// How many lines are bullet items.
pub(crate) fn bullets(text: &str) -> usize {
    let item = |line: &&str| {
        line.trim_start().strip_prefix(BULLETS).is_some_and(|rest| {
            rest.starts_with(char::is_whitespace) && rest.contains(char::is_alphanumeric)
        })
    };
    lines(text).filter(item).count()
}

/// How many sentences there are.
pub(crate) fn sentences(text: &str) -> usize {
    let (mut sentences, mut letters, mut ended) = (0, false, false);
    for c in text.chars() {
        if WIDE_ENDS.contains(c) || (ended && c.is_whitespace()) {
            sentences += usize::from(letters);
            (letters, ended) = (false, false);
        } else if ENDS.contains(c) {
            ended = true;
        } else if !is_around(c) {
            ended = false;
            letters |= c.is_alphabetic();
        }
    }
    sentences + usize::from(letters)
}

fn is_around(c: char) -> bool {
    AROUND.contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: [usize; 4]) {
        let found = [words(text).count(), sentences(text), lines(text).count(), bullets(text)];
        assert_eq!(found, expected, "words, sentences, lines, bullets of {text:?}");
    }

    #[test]
    fn units_of_a_text() {
        check("", [0, 0, 0, 0]);
        check(" \t\r\n\u{a0}\u{2028}", [0, 0, 0, 0]);
        check("One", [1, 1, 1, 0]);
        check("One two.", [2, 1, 1, 0]);
        check("One\u{a0}two\u{3000}three\u{2028}four", [4, 1, 1, 0]);
        check("It costs 3.50 here. Does it? \"Yes!\" (No.) Ok", [9, 5, 1, 0]);
        check("Well... \"What?!\" he said", [4, 3, 1, 0]);
        check("e.g. this", [2, 2, 1, 0]);
        check("don't well-known and/or 1,5", [4, 1, 1, 0]);
        check("— - – * … !", [0, 0, 1, 0]);
        check("1. Cats\n2. Dogs", [4, 2, 2, 0]);
        check("- a\n* b\n+ c\n• d\n  - e\n\u{a0}-\u{a0}f", [6, 1, 6, 6]);
        check("-a\n**b** c\n---\n- - -\n-\n1. d\n– e", [6, 2, 7, 0]);
        check("a\r\nb\rc\n\n \r\n\r\nd", [4, 1, 4, 0]);
        check("a\u{b}b\u{c}c\u{85}d", [4, 1, 1, 0]);
        check("これは犬です。あれは猫です！「はい。」", [1, 3, 1, 0]);
        check("Это кот. Это пёс…", [4, 2, 1, 0]);
        check("هل هذا قط؟ نعم۔", [4, 2, 1, 0]);
        check("यह बिल्ली है। वह कुत्ता है।", [6, 2, 1, 0]);
        check("４２ 👍 👨‍👩‍👧", [1, 0, 1, 0]);
        check("a.b.c? d", [2, 2, 1, 0]);
    }

    #[test]
    fn words_lose_the_marks_around_them() {
        let bare = |text| words(text).collect::<Vec<_>>();
        assert_eq!(bare("**\"Sue\",** (Bob's) `x_1`..."), ["Sue", "Bob's", "x_1"]);
        assert_eq!(bare("-42 .42 42% $42 Sue/Bob"), ["-42", ".42", "42%", "$42", "Sue/Bob"]);
        assert_eq!(bare("「蓝色」。 «Ёж»! ¿Qué?"), ["蓝色", "Ёж", "Qué"]);
    }

    #[test]
    fn invisible_characters_go_and_all_others_stay() {
        assert_eq!(visible("\u{feff}S\u{200b}u\u{ad}e\u{200f}\u{202e}\u{2066}\u{fe0f}"), "Sue");
        assert_eq!(visible("a\0\u{1b}\u{7f}\u{300}\u{a0}é４"), "a\0\u{1b}\u{7f}\u{300}\u{a0}é４");
        let all = ('\0'..=char::MAX).collect::<String>();
        // Unicode 16: Default_Ignorable_Code_Point has 4174 code points.
        assert_eq!(all.chars().count() - visible(&all).chars().count(), 4174);
    }

    #[test]
    fn the_specification_lists_the_same_characters() {
        let spec = include_str!("../../spec/protocol.md");
        for list in [&[AROUND, AFTER, ENDS, WIDE_ENDS][..], &REASONING].concat() {
            assert!(spec.contains(&format!("`{list}`")), "{list}");
        }
    }

    #[test]
    fn marks_of_reasoning() {
        for text in ["<think>", "a</THINK>b", "<<Think>", "[THINK] so", "é<|channel|>analysis"] {
            assert!(shows_reasoning(text), "{text}");
        }
        for text in ["think", "<think", "< think>", "<thinker>", "[", "<é", "a < b [1]", "<tool>"]
        {
            assert!(!shows_reasoning(text), "{text}");
        }
    }
}
