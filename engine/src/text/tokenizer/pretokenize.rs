//! Where a text may not be merged across: the splitting rules that `tokenizer.ggml.pre` names.
//! A rule is data, the pattern its model was published with. Knows no vocabulary.

use fancy_regex::{Regex, RegexBuilder};

/// A splitting rule and what else its name settles, because the file does not say it.
#[derive(Debug)]
pub(super) struct Rule {
    /// As in `tokenizer.ggml.pre`.
    pub(super) name: &'static str,
    /// Applied in turn: each splits the pieces that those before it left.
    patterns: &'static [&'static str],
    /// A piece that is a token as a whole is that token, whatever the merges say.
    pub(super) whole_pieces: bool,
    /// Whether a prompt begins with BOS where the file has no `add_bos_token`.
    pub(super) add_bos: bool,
}

/// The names and what they stand for in ggml; the patterns are those of the models' own
/// `tokenizer.json` (SmolLM2, GPT-2, Llama 3, Qwen2).
pub(super) const RULES: [Rule; 4] = [
    Rule { name: "smollm", patterns: &[r"\p{N}", GPT_2], whole_pieces: false, add_bos: false },
    Rule { name: "gpt-2", patterns: &[GPT_2], whole_pieces: false, add_bos: false },
    Rule {
        name: "llama-bpe",
        patterns: &[concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}",
            r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )],
        whole_pieces: true,
        add_bos: true,
    },
    Rule {
        name: "qwen2",
        patterns: &[concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}",
            r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )],
        whole_pieces: false,
        add_bos: false,
    },
];

const GPT_2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// Steps back that one match may take, and entries that fancy-regex keeps to step back to. Only a
/// longer run of blanks needs more.
const BACKTRACK_LIMIT: usize = 1_000_000;

/// A rule ready to split.
#[derive(Debug)]
pub(super) struct Pretokenizer {
    regexes: Vec<Regex>,
}

impl Pretokenizer {
    pub(super) fn new(rule: &Rule) -> Pretokenizer {
        let compile = |pattern: &&str| {
            let regex = RegexBuilder::new(pattern).backtrack_limit(BACKTRACK_LIMIT).build();
            regex.expect("the patterns of RULES compile: a test builds each")
        };
        Pretokenizer { regexes: rule.patterns.iter().map(compile).collect() }
    }

    /// The pieces of a text; joined they are the text.
    pub(super) fn split<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let mut pieces = vec![text];
        for regex in &self.regexes {
            pieces = pieces.into_iter().flat_map(|piece| split(regex, piece)).collect();
        }
        pieces
    }
}

/// Matches, and what lies between them. Where a match exceeds the limit, as many bytes as the limit
/// has steps are a piece of their own: all of them belong to the run of blanks.
fn split<'t>(regex: &Regex, text: &'t str) -> Vec<&'t str> {
    let mut pieces = Vec::new();
    let mut done = 0;
    while done < text.len() {
        let (start, end) = match regex.find_from_pos(text, done) {
            Ok(Some(found)) => (found.start(), found.end()),
            Ok(None) => (text.len(), text.len()),
            Err(_) => (done, char_boundary(text, done + BACKTRACK_LIMIT)),
        };
        pieces.extend([&text[done..start], &text[start..end]].iter().filter(|p| !p.is_empty()));
        done = end;
    }
    pieces
}

/// The first one from `at` on.
fn char_boundary(text: &str, at: usize) -> usize {
    (at..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Symbol runs, digits and combining marks, where rules differ most.
    fn check(rule: &str, text: &str, pieces: &[&str]) {
        let rule = RULES.iter().find(|known| known.name == rule).expect("a known rule");
        assert_eq!(Pretokenizer::new(rule).split(text), pieces, "{} {text:?}", rule.name);
    }

    #[test]
    fn pieces() {
        check("qwen2", "(x):\n", &["(x", "):\n"]);
        check("qwen2", "2026", &["2", "0", "2", "6"]);
        check("llama-bpe", "2026", &["202", "6"]);
        check("gpt-2", "2026", &["2026"]);
        check("smollm", " 2026", &[" ", "2", "0", "2", "6"]);
        check("qwen2", "don't DON'T", &["don", "'t", " DON", "'T"]);
        check("gpt-2", "don't DON'T", &["don", "'t", " DON", "'", "T"]);
        check("qwen2", "a  b\n\n  c", &["a", " ", " b", "\n\n", " ", " c"]);
        check("qwen2", "!!!\n\n", &["!!!\n\n"]);
        check("qwen2", "x=\t1;", &["x", "=", "\t", "1", ";"]);
        check("qwen2", "cafe\u{301} x", &["cafe", "\u{301}", " x"]);
        check(
            "qwen2",
            "हहिन्दी विकिपीडिया",
            &["हह", "िन", "्द", "ी", " व", "िक", "िप", "ीड", "िय", "ा"],
        );
    }

    #[test]
    fn a_run_of_blanks_beyond_the_limit_is_cut_and_nothing_else_is() {
        for rule in &RULES {
            let blanks = "\u{3000}".repeat(BACKTRACK_LIMIT + 10);
            let text = format!("a b{blanks}c d");
            let pieces = Pretokenizer::new(rule).split(&text);
            assert_eq!(pieces.concat(), text);
            assert_eq!(pieces[..2], ["a", " b"]);
            assert_eq!(pieces[pieces.len() - 1], " d");
            assert!(pieces.len() < 10, "{}: {} pieces", rule.name, pieces.len());
        }
    }
}
