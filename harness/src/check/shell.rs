//! The recorded command: a line of text that must split back into arguments the way a POSIX shell
//! would do it.

/// `run.command` and its arguments.
pub(super) struct Command<'a> {
    pub(super) line: &'a str,
    /// `None` where a quote does not end.
    pub(super) arguments: Option<Vec<String>>,
}

impl<'a> Command<'a> {
    pub(super) fn new(line: &'a str) -> Command<'a> {
        Command { line, arguments: split(line) }
    }

    /// What follows `option` among the arguments.
    pub(super) fn value(&self, option: &str) -> Option<&str> {
        let arguments = self.arguments.as_ref()?;
        let at = arguments.iter().position(|argument| argument == option)?;
        arguments.get(at + 1).map(String::as_str)
    }

    /// Whether `option` was given. Where a quote does not end, any word of the line counts.
    pub(super) fn has(&self, option: &str) -> bool {
        match &self.arguments {
            Some(arguments) => arguments.iter().any(|argument| argument == option),
            None => self.line.split(BLANKS).any(|word| word == option),
        }
    }

    /// Whether the line says `option value`, raw or quoted.
    pub(super) fn says(&self, option: &str, value: &str) -> bool {
        let raw = format!("{option} {value}");
        let whole = |at: usize| {
            let before = self.line[..at].chars().next_back();
            let after = self.line[at + raw.len()..].chars().next();
            before.is_none_or(|c| BLANKS.contains(&c)) && after.is_none_or(|c| BLANKS.contains(&c))
        };
        self.value(option) == Some(value) || self.line.match_indices(&raw).any(|(at, _)| whole(at))
    }
}

const BLANKS: [char; 3] = [' ', '\t', '\n'];

/// Splits a line by the quoting rules of POSIX 2.2, without expansions or operators: what stands
/// for a redacted path, such as `<tmp>`, is an ordinary word. `None` where a quote does not end.
pub(super) fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars();
    while let Some(character) = rest.next() {
        if BLANKS.contains(&character) {
            words.extend(word.take());
            continue;
        }
        let word = word.get_or_insert_default();
        match character {
            '\'' => loop {
                match rest.next()? {
                    '\'' => break,
                    plain => word.push(plain),
                }
            },
            '"' => loop {
                match rest.next()? {
                    '"' => break,
                    '\\' => match rest.next()? {
                        '\n' => {}
                        escaped @ ('$' | '`' | '"' | '\\') => word.push(escaped),
                        plain => word.extend(['\\', plain]),
                    },
                    plain => word.push(plain),
                }
            },
            '\\' => match rest.next()? {
                '\n' => {}
                escaped => word.push(escaped),
            },
            plain => word.push(plain),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(line: &str, words: Option<&[&str]>) {
        let words = words.map(|words| words.iter().map(ToString::to_string).collect());
        assert_eq!(split(line), words, "{line}");
    }

    #[test]
    fn lines_split_as_in_a_shell() {
        check("", Some(&[]));
        check(" a\tb\n c ", Some(&["a", "b", "c"]));
        check("a'b c'\"d e\"f", Some(&["ab cd ef"]));
        check("'' \"\"", Some(&["", ""]));
        check(r#"'it'\''s' "a\"b\c\$d""#, Some(&["it's", r#"a"b\c$d"#]));
        check(r"a\ b \\", Some(&["a b", r"\"]));
        check("<tmp>/x --n=1", Some(&["<tmp>/x", "--n=1"]));
        check("a 'b", None);
        check("a \"b", None);
        check("a \\", None);
    }

    #[test]
    fn an_option_is_a_word_of_its_own() {
        let command = Command::new("run --urls x --notes 'a --url b' --url http://h");
        assert_eq!(command.value("--url"), Some("http://h"));
        assert!(command.has("--url") && !command.has("--ur"));
        assert!(command.says("--notes", "a --url b") && command.says("--urls", "x"));
        assert!(!command.says("--url", "http:") && !command.says("--notes", "a"));
        assert!(Command::new("run --url 'x").has("--url"));
    }

    proptest! {
        #[test]
        fn quoted_words_come_back(words in prop::collection::vec(".{0,8}", 0..6)) {
            let quoted: Vec<String> =
                words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
            prop_assert_eq!(split(&quoted.join(" ")), Some(words));
        }
    }
}
