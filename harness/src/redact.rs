//! Keeps what is private out of what is published: the operator's home, temporary folders, keys.

/// Prefixes of well-known kinds of keys.
const KEY_PREFIXES: [&str; 4] = ["sk-", "hf_", "ghp_", "github_pat_"];
/// Shortest word with such a prefix that is taken for a key.
const MIN_KEY_CHARS: usize = 20;

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
        clean = without_keys(&clean);
        for (folder, name) in &self.folders {
            clean = replace_folder(&clean, folder, name);
        }
        clean
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

fn without_keys(text: &str) -> String {
    let is_key = |word: &str| {
        word.len() >= MIN_KEY_CHARS && KEY_PREFIXES.iter().any(|prefix| word.starts_with(prefix))
    };
    let in_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let (mut clean, mut rest) = (String::new(), text);
    while let Some(start) = rest.find(in_key) {
        let end = rest[start..].find(|c| !in_key(c)).map_or(rest.len(), |len| start + len);
        clean.push_str(&rest[..start]);
        clean.push_str(if is_key(&rest[start..end]) { "<secret>" } else { &rest[start..end] });
        rest = &rest[end..];
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

    #[test]
    fn texts() {
        check("/home/me/models/a.gguf", "<home>/models/a.gguf");
        check("--out=/tmp/x", "--out=<tmp>/x");
        check("/home/me/tmp/x", "<tmp>/x");
        check("in /home/me.", "in /home/me.");
        check("/home/me2 /home/me", "/home/me2 <home>");
        check("/srv/tmp/x", "/srv/tmp/x");
        check("key hunter2!", "key <secret>!");
        check("Bearer sk-abcdefghijklmnopqrstuv", "Bearer <secret>");
        check("sk-short task-force-abcdefghijklmnop", "sk-short task-force-abcdefghijklmnop");
        check("\u{e9}/tmp \u{1f600}", "\u{e9}/tmp \u{1f600}");
    }

    #[test]
    fn the_root_folder_is_nobodys_home() {
        assert_eq!(Redactor::new(vec![], Some("/"), &["/"]).apply("/etc"), "/etc");
    }

    proptest! {
        #[test]
        fn no_secret_survives(before in ".{0,20}", after in ".{0,20}") {
            let text = format!("{before}hunter2{after}");
            prop_assert!(!redactor().apply(&text).contains("hunter2"));
        }
    }
}
