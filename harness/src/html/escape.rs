//! Text of strangers as HTML, and bytes as base64. Nothing that leaves here can open a tag, an
//! attribute or an entity.

use crate::view::inert;

/// Text for between tags and for between double quotes.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in inert(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            plain => escaped.push(plain),
        }
    }
    escaped
}

/// RFC 4648, with padding.
pub(super) fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let [a, b, c] = [0, 1, 2].map(|at| u32::from(group.get(at).copied().unwrap_or(0)));
        let bits = a << 16 | b << 8 | c;
        for at in 0..4 {
            let six = (bits >> (18 - 6 * at) & 63) as usize;
            text.push(if at <= group.len() { char::from(ALPHABET[six]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        let hostile = "</script><!--\u{2028}\"'&\0";
        assert_eq!(escape(hostile), "&lt;/script&gt;&lt;!--\\u{2028}&quot;&#39;&amp;\\u{0}");
    }

    #[test]
    fn the_vectors_of_rfc_4648() {
        let check = |text: &str, expected: &str| assert_eq!(base64(text.as_bytes()), expected);
        check("", "");
        check("f", "Zg==");
        check("fo", "Zm8=");
        check("foo", "Zm9v");
        check("foob", "Zm9vYg==");
        check("fooba", "Zm9vYmE=");
        check("foobar", "Zm9vYmFy");
    }
}
