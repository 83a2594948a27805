//! The line of text that a POSIX shell splits into a command's arguments, both ways.

/// What stands between words.
pub const BLANKS: [char; 3] = [' ', '\t', '\n'];

/// `argv` as one line, each argument quoted where it must be.
pub fn join(argv: &[String]) -> String {
    argv.iter().map(|argument| quote(argument)).collect::<Vec<_>>().join(" ")
}

fn quote(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        return argument.to_string();
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
}

/// Splits a line by the quoting rules of POSIX 2.2, without expansions or operators: what stands
/// for a redacted path, such as `<tmp>`, is an ordinary word. `None` where a quote does not end.
pub fn split(line: &str) -> Option<Vec<String>> {
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
    fn words_are_quoted_where_they_must_be() {
        let check = |words: &[&str], line: &str| {
            assert_eq!(join(&words.iter().map(ToString::to_string).collect::<Vec<_>>()), line);
        };
        check(&["run", "--url", "http://127.0.0.1:80"], "run --url http://127.0.0.1:80");
        check(&["a", "", "b c"], "a '' 'b c'");
        check(&["it's", "<tmp>/x"], r"'it'\''s' '<tmp>/x'");
    }

    proptest! {
        #[test]
        fn a_line_splits_back(argv in prop::collection::vec(".{0,12}", 0..6)) {
            prop_assert_eq!(split(&join(&argv)), Some(argv));
        }
    }
}
