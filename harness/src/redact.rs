//! Keeps what is private out of what is published: the operator's home, temporary folders, keys,
//! as they are and as JSON escapes them.

mod view;

use std::ops::Range;
use view::View;

/// Prefixes of well-known kinds of keys.
const KEY_PREFIXES: [&str; 4] = ["sk-", "hf_", "ghp_", "github_pat_"];
/// Shortest word with such a prefix that is taken for a key.
const MIN_KEY_CHARS: usize = 20;
/// Letters and digits right after `sk-` that make a key of a shorter word too.
const MIN_KEY_RUN: usize = 8;

/// How many times over JSON may have escaped something private that is still found: a reply that
/// holds a document that quotes another.
const MAX_ROUNDS: usize = 3;

/// A part of a text, and what stands in for it.
type Private = (Range<usize>, &'static str);

/// Whether `text` has a home folder or a key in it, whoever's. A report in which anything has is
/// refused by a rule, and [`Redactor::apply`] leaves nothing that has.
pub fn is_private(text: &str) -> bool {
    first_private(text).is_some()
}

/// The first home folder or key, and what stands in for it.
fn first_private(text: &str) -> Option<Private> {
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
        for rounds in (0..=MAX_ROUNDS).rev() {
            for secret in &self.secrets {
                clean = replaced(clean, rounds, |text| secrets(text, secret));
            }
            for (folder, name) in &self.folders {
                clean = replaced(clean, rounds, |text| folders(text, folder, name));
            }
            clean = replaced(clean, rounds, private);
        }
        clean
    }
}

/// `text` without what `find` finds in it once so many rounds of escapes are undone.
fn replaced(text: String, rounds: usize, find: impl Fn(&str) -> Vec<Private>) -> String {
    let Some(view) = View::new(&text, rounds) else { return text };
    let found = find(&view.text);
    if found.is_empty() {
        return text;
    }
    let (mut clean, mut done) = (String::new(), 0);
    for (part, name) in found {
        let place = view.place(part);
        clean += &text[done..place.start];
        clean += name;
        done = place.end;
    }
    clean + &text[done..]
}

fn secrets(text: &str, secret: &str) -> Vec<Private> {
    text.match_indices(secret).map(|(at, _)| (at..at + secret.len(), "<secret>")).collect()
}

/// Where `folder` is a whole folder and not the start of a longer name.
fn folders(text: &str, folder: &str, name: &'static str) -> Vec<Private> {
    let whole = |part: &Range<usize>| {
        let (before, after) = (&text[..part.start], &text[part.end..]);
        !before.ends_with(|c: char| is_name(c) || c == '/') && !after.starts_with(is_name)
    };
    let all = text.match_indices(folder).map(|(at, _)| at..at + folder.len());
    all.filter(whole).map(|part| (part, name)).collect()
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn private(text: &str) -> Vec<Private> {
    let (mut found, mut done) = (Vec::new(), 0);
    while let Some((part, name)) = first_private(&text[done..]) {
        found.push((done + part.start..done + part.end, name));
        done += part.end; // begins with no part of a word
    }
    found
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
        check("/mnt/home/you/x:/root/", "/mnt<home>/x:<home>/");
        check("--out=/mnt/tmp/x", "--out=/mnt/tmp/x");
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

    #[test]
    fn escapes_hide_nothing() {
        check(r"in \/home\/me\/x", r"in <home>\/x");
        check(r"\u002fhome\u002Fyou", "<home>");
        check(r#"{"a":"{\"b\":\"\\\/root\\\/x\"}"}"#, r#"{"a":"{\"b\":\"<home>\\\/x\"}"}"#);
        check(r"key \u0068unter2\n", r"key <secret>\n");
        check(r"\n\tno \u00e9 is \\private", r"\n\tno \u00e9 is \\private");
    }

    /// The text in a JSON string as serde_json writes it.
    fn escaped_least(text: &str) -> String {
        let quoted = serde_json::to_string(text).unwrap();
        quoted[1..quoted.len() - 1].to_string()
    }

    /// With slashes too, and in ASCII.
    fn escaped_most(text: &str) -> String {
        let escape = |c: char| match c {
            '/' => r"\/".to_string(),
            c if c.is_ascii() => escaped_least(&c.to_string()),
            c => escaped_all(&c.to_string()),
        };
        text.chars().map(escape).collect()
    }

    fn escaped_all(text: &str) -> String {
        text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect()
    }

    proptest! {
        /// What the rule would find is gone, whatever stood beside it.
        #[test]
        fn nothing_private_is_left(parts in prop::collection::vec(PART, 0..8)) {
            let clean = redactor().apply(&parts.concat());
            prop_assert!(!is_private(&clean), "{clean}");
        }

        /// Whatever stands beside it, and however often JSON escaped it, in whichever way. Of its
        /// letters none is in `<secret>`.
        #[test]
        fn no_secret_survives(
            secret in "[abfnu0\"\\\\/\u{0}-\u{1f}\u{7f}é😀]{2,8}",
            before in "[a-z\"\\\\/\né ]{0,12}",
            after in "[a-z\"\\\\/\né ]{0,12}",
            rounds in 0..=MAX_ROUNDS,
            way in 0..3_usize,
        ) {
            let escaped = [escaped_least, escaped_most, escaped_all][way];
            let document = format!("{before} {secret} {after}");
            let document = (0..rounds).fold(document, |text, _| escaped(&text));
            let clean = Redactor::new(vec![secret.clone()], None, &[]).apply(&document);
            for rounds in 0..=rounds {
                let read = View::new(&clean, rounds).map(|view| view.text.into_owned());
                prop_assert!(!read.is_some_and(|read| read.contains(&secret)), "{clean}");
            }
        }
    }
}
