//! Lists of digests in the form that `sha256sum --check` reads, and the one that covers a run.

use crate::digest::is_sha256;

/// The file in a run's folder that lists every other.
pub const NAME: &str = "MANIFEST.sha256";

/// The line of a file, its line feed included.
pub fn line(path: &str, sha256: &str) -> String {
    format!("{sha256}  {path}\n")
}

/// Path and digest by line; `None` for a line of another form. The second blank may be a `*`.
pub fn lines(text: &str) -> impl Iterator<Item = Option<(&str, &str)>> {
    text.lines().map(|line| {
        let (sha256, path) = line.split_at_checked(64)?;
        let path = path.strip_prefix("  ").or_else(|| path.strip_prefix(" *"))?;
        is_sha256(sha256).then_some((path, sha256))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_manifest() {
        let digest = "0a".repeat(32);
        let check = |line: &str, path: Option<&str>| {
            let line = line.replace('#', &digest);
            let found: Vec<_> = lines(&line).collect();
            assert_eq!(found, [path.map(|path| (path, digest.as_str()))], "{line}");
        };
        check(&line("a b", "#"), Some("a b"));
        check("# *a", Some("a"));
        check("# a", None);
        check("#", None);
        check("é#  a", None);
    }
}
