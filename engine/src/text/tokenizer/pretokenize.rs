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

const GPT_2: &str = concat!(
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
);

/// Steps back that one match may take. Only a run of blanks about as long needs them.
const BACKTRACK_LIMIT: usize = 1_000_000;

/// Bytes that become one piece where a match was given up.
const GIVEN_UP_BYTES: usize = 1 << 16;

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

/// Matches, and what lies between them.
fn split<'t>(regex: &Regex, text: &'t str) -> Vec<&'t str> {
    let mut pieces = Vec::new();
    let mut done = 0;
    while done < text.len() {
        let (start, end) = match regex.find_from_pos(text, done) {
            Ok(Some(found)) => (found.start(), found.end()),
            Ok(None) => (text.len(), text.len()),
            Err(_) => (done, text.floor_char_boundary(done + GIVEN_UP_BYTES)),
        };
        pieces.extend([&text[done..start], &text[start..end]].iter().filter(|p| !p.is_empty()));
        done = end;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn speed() {
        for rule in &RULES {
            let t=std::time::Instant::now();
            let p = Pretokenizer::new(rule);
            println!("{} compile {:?}", rule.name, t.elapsed());
            let text = "The quick brown fox doesn't jump over 1234 lazy dogs — naïve café; foo(bar[0])!?\n\n  x = 1;\n".repeat(10_500);
            for (n, text) in [("prose", text), ("a", "a".repeat(1_000_000)), ("spaces", " ".repeat(1_000_000)), ("spaces x", " ".repeat(900_000)+"x"), ("3M spaces x", " ".repeat(3_000_000)+"x"), ("bang", "!".repeat(1_000_000)),("nl", "\n ".repeat(500_000)),("digits", "1".repeat(1_000_000)),("tabs",("\t".repeat(999)+"x").repeat(1000))] {
                let t=std::time::Instant::now();
                let k = p.split(&text).len();
                println!("  {n} {} bytes {k} pieces {:?}", text.len(), t.elapsed());
            }
        }
    }
}
