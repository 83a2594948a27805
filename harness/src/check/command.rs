//! The recorded command and its options, as rules ask for them.

use crate::shell::{BLANKS, split};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_a_word_of_its_own() {
        let command = Command::new("run --urls x --notes 'a --url b' --url http://h");
        assert_eq!(command.value("--url"), Some("http://h"));
        assert!(command.has("--url") && !command.has("--ur"));
        assert!(command.says("--notes", "a --url b") && command.says("--urls", "x"));
        assert!(!command.says("--url", "http:") && !command.says("--notes", "a"));
        assert!(Command::new("run --url 'x").has("--url"));
    }
}
