//! The operating system's name and the kernel's release.

use super::{read, read_field};
use crate::fact::Fact;
use std::path::Path;

/// The distribution's pretty name, as in `Debian GNU/Linux 13 (trixie)`.
pub fn os_name(root: &Path) -> Fact<String> {
    let find = |text: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?.trim();
        let quoted = ['"', '\''].iter().find_map(|&q| value.strip_prefix(q)?.strip_suffix(q));
        Some(quoted.unwrap_or(value).to_string()).filter(|name| !name.is_empty())
    };
    // os-release(5): /etc first, /usr/lib as the fallback.
    read_field(root, "etc/os-release", "PRETTY_NAME", find)
        .or_else(|| read_field(root, "usr/lib/os-release", "PRETTY_NAME", find))
}

/// The kernel's release, as in `6.12.116+deb13-amd64`.
pub fn kernel_release(root: &Path) -> Fact<String> {
    read(root, "proc/sys/kernel/osrelease").map(|text| text.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::super::Tree;
    use super::*;

    fn check(line: &str, expected: &str) {
        let tree = Tree::new(&[("usr/lib/os-release", &format!("ID=x\n{line}\n"))]);
        assert_eq!(os_name(tree.path()), Fact::Known(expected.to_string()), "{line}");
    }

    #[test]
    fn names() {
        check("PRETTY_NAME=\"NixOS 26.05 (Yarara)\"", "NixOS 26.05 (Yarara)");
        check("PRETTY_NAME='A B'", "A B");
        check("PRETTY_NAME=Void", "Void");
    }

    #[test]
    fn kernel() {
        let tree = Tree::new(&[("proc/sys/kernel/osrelease", "6.18.55\n")]);
        assert_eq!(kernel_release(tree.path()), Fact::Known("6.18.55".to_string()));
    }
}
