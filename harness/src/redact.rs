//! Keeps what is private out of what is published: the operator's home, temporary folders, keys.

use std::ops::Range;

/// Prefixes of well-known kinds of keys.
const KEY_PREFIXES: [&str; 4] = ["sk-", "hf_", "ghp_", "github_pat_"];
/// Shortest word with such a prefix that is taken for a key.
const MIN_KEY_CHARS: usize = 20;
/// Letters and digits right after `sk-` that make a key of a shorter word too.
const MIN_KEY_RUN: usize = 8;

/// Whether `text` has a home folder or a key in it, whoever's. A report in which anything has is
/// refused by a rule, and [`Redactor::apply`] leaves nothing that has.
pub fn is_private(text: &str) -> bool {
    first_private(text).is_some()
}

/// The first home folder or key, and what stands in for it.
fn first_private(text: &str) -> Option<(Range<usize>, &'static str)> {
    // All of them begin with one of these, and a report may be one long text.
    let starts = text.bytes().enumerate().filter(|(_, b)| matches!(b, b'/' | b's' | b'h' | b'g'));
    starts.map(|(at, _)| at).find_map(|at| {
        let (before, rest) = text.split_at(at);
        if rest.starts_with('/') {
            return home_len(rest).map(|len| (at..at + len, "<home>"));
        }
        let whole = !before.ends_with(in_key);
        whole.then(|| key_len(rest)).flatten().map(|len| (at..at + len, "<secret>"))
    })
}

/// Length of the home folder that `text` begins with.
fn home_len(text: &str) -> Option<usize> {
    if text.starts_with("/root/") {
        return Some("/root".len());
    }
    let start = ["/home/", "/Users/"].into_iter().find(|start| text.starts_with(start))?;
    let name = word_len(&text[start.len()..], is_name);
    (name > 0).then_some(start.len() + name)
}

/// Length of the key that `text` begins with, which is a whole word.
fn key_len(text: &str) -> Option<usize> {
    KEY_PREFIXES.iter().find(|prefix| text.starts_with(*prefix))?;
    let len = word_len(text, in_key);
    let run =
        text.strip_prefix("sk-").map_or(0, |rest| word_len(rest, |c| c.is_ascii_alphanumeric()));
    (len >= MIN_KEY_CHARS || run >= MIN_KEY_RUN).then_some(len)
}

fn word_len(text: &str, is_part: fn(char) -> bool) -> usize {
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

fn in_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

/// What is private here, and what stands in for it.
#[derive(Default)] // no Debug: it would print the secrets
pub struct Redactor {
    secrets: Vec<String>,
    /// Longest first, so that a temporary folder below the home keeps its own name.
    folders: Vec<(String, &'static str)>,
}

impl Redactor {
    /// `home` and `temporary` are absolute folders; empty ones and `/` are nobody's.
    pub fn new(secrets: Vec<String>, home: Option<&str>, temporary: &[&str]) -> Redactor {
        let home = home.into_iter().map(|home| (home, "<home>"));
        let temporary = temporary.iter().map(|folder| (*folder, "<tmp>"));
        let mut folders: Vec<(String, &str)> = home
            .chain(temporary)
            .map(|(folder, name)| (folder.trim_end_matches('/').to_string(), name))
            .filter(|(folder, _)| !folder.is_empty())
            .collect();
        folders.sort_by_key(|(folder, _)| std::cmp::Reverse(folder.len()));
        let secrets = secrets.into_iter().filter(|secret| !secret.is_empty()).collect();
        Redactor { secrets, folders }
    }

    /// `text` without anything private.
    pub fn apply(&self, text: &str) -> String {
        let mut clean = text.to_string();
        for secret in &self.secrets {
            clean = clean.replace(secret, "<secret>");
        }
        for (folder, name) in &self.folders {
            clean = replace_folder(&clean, folder, name);
        }
        without_private(&clean)
    }
}

/// Replaces `folder` where it is a whole folder and not the start of a longer name.
fn replace_folder(text: &str, folder: &str, name: &str) -> String {
    let (mut clean, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(folder) {
        let (before, after) = (&rest[..at], &rest[at + folder.len()..]);
        let starts = !before.ends_with(|c: char| is_name(c) || c == '/');
        let ends = !after.starts_with(is_name);
        clean.push_str(before);
        clean.push_str(if starts && ends { name } else { folder });
        rest = after;
    }
    clean + rest
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn without_private(text: &str) -> String {
    let (mut clean, mut rest) = (String::new(), text);
    while let Some((found, name)) = first_private(rest) {
        clean.push_str(&rest[..found.start]);
        clean.push_str(name);
        rest = &rest[found.end..]; // begins with no part of a word
    }
    clean + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn redactor() -> Redactor {
        Redactor::new(vec!["hunter2".to_string()], Some("/home/me/"), &["/tmp", "/home/me/tmp", ""])
    }

    fn check(text: &str, expected: &str) {
        assert_eq!(redactor().apply(text), expected, "{text}");
    }

    /// What private things are made of, in any order.
    const PART: &str = "(/home/|/Users/|/root/|/tmp|sk-|hf_|ghp_|[a-z0-9]{1,9}|hunter2|[ =/._é-])";

    #[test]
    fn texts() {
        check("/home/me/models/a.gguf", "<home>/models/a.gguf");
        check("--out=/tmp/x", "--out=<tmp>/x");
        check("/home/me/tmp/x", "<tmp>/x");
        check("in /home/me.", "in <home>");
        check("/home/me2 /home/me", "<home> <home>");
        check("/mnt/home/you/x:/root/y", "/mnt<home>/x:<home>/y");
        check("/srv/tmp/x", "/srv/tmp/x");
        check("key hunter2!", "key <secret>!");
        check("Bearer sk-abcdefghijklmnopqrstuv", "Bearer <secret>");
        check("sk-short task-force-abcdefghijklmnop", "sk-short task-force-abcdefghijklmnop");
        check("\u{e9}/tmp \u{1f600}", "\u{e9}/tmp \u{1f600}");
    }

    #[test]
    fn what_is_private() {
        let check = |text: &str, private: bool| assert_eq!(is_private(text), private, "{text}");
        check("/home/someone/model.gguf", true);
        check("file:///Users/someone", true);
        check("/root/", true);
        check("<home>/model.gguf, /homes/x, /rooted/x, /home/", false);
        check("key sk-0123456789", true);
        check("--key=sk-proj-0123456789abcdef", true);
        check("sk-012345 and task-runner", false);
        check("disk-offloading, risk-assessment, task-scheduling", false);
        check("pip install hf_transfer", false);
        check("hf_0123456789abcdefghi", true);
    }

    #[test]
    fn the_root_folder_is_nobodys_home() {
        assert_eq!(Redactor::new(vec![], Some("/"), &["/"]).apply("/etc"), "/etc");
    }

    proptest! {
        /// What the rule would find is gone, whatever stood beside it.
        #[test]
        fn nothing_private_is_left(parts in prop::collection::vec(PART, 0..8)) {
            let clean = redactor().apply(&parts.concat());
            prop_assert!(!is_private(&clean), "{clean}");
        }

        #[test]
        fn no_secret_survives(before in ".{0,20}", after in ".{0,20}") {
            let text = format!("{before}hunter2{after}");
            prop_assert!(!redactor().apply(&text).contains("hunter2"));
        }
    }
}
