//! The command a report states: one line that a POSIX shell splits back into the arguments.

/// `argv` as one line, each argument quoted where it must be.
pub fn line(argv: &[String]) -> String {
    argv.iter().map(|argument| quote(argument)).collect::<Vec<_>>().join(" ")
}

fn quote(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        return argument.to_string();
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(argv: &[&str], expected: &str) {
        let argv: Vec<String> = argv.iter().map(|argument| argument.to_string()).collect();
        assert_eq!(line(&argv), expected);
    }

    #[test]
    fn lines() {
        check(
            &["strata-bench", "run", "--url", "http://127.0.0.1:80"],
            "strata-bench run --url http://127.0.0.1:80",
        );
        check(&["a", "", "b c"], "a '' 'b c'");
        check(&["it's", "<tmp>/x"], r"'it'\''s' '<tmp>/x'");
    }

    /// A POSIX shell's splitting of words without expansions.
    fn split(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
        let mut characters = line.chars();
        while let Some(c) = characters.next() {
            match c {
                '\'' => {
                    quoted = !quoted;
                    word.get_or_insert_default();
                }
                ' ' if !quoted => words.extend(word.take()),
                '\\' if !quoted => word.get_or_insert_default().extend(characters.next()),
                other => word.get_or_insert_default().push(other),
            }
        }
        words.extend(word);
        words
    }

    proptest! {
        #[test]
        fn a_line_splits_back(argv in proptest::collection::vec(".{0,12}", 0..6)) {
            prop_assert_eq!(split(&line(&argv)), argv);
        }
    }
}
