//! Bytes of tokens in, whole UTF-8 characters out.

/// Holds back the beginning of a character until the rest of it has come. What it gives out,
/// joined, is `String::from_utf8_lossy` of all bytes joined, however they were cut.
#[derive(Debug, Clone, Default)]
pub struct Detokenizer {
    pending: Vec<u8>,
}

impl Detokenizer {
    /// Adds a token's bytes; returns the characters that are complete now. Each invalid sequence
    /// is replaced by U+FFFD as soon as it cannot become a character.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let mut text = String::new();
        let mut open = 0;
        let mut chunks = self.pending.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let error = std::str::from_utf8(chunk.invalid()).err();
            match error.map(|error| error.error_len()) {
                None => {}
                Some(None) if chunks.peek().is_none() => open = chunk.invalid().len(),
                Some(_) => text.push(char::REPLACEMENT_CHARACTER),
            }
        }
        self.pending.drain(..self.pending.len() - open);
        text
    }

    /// What was incomplete at the end: one U+FFFD, or nothing.
    pub fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.pending)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What each push gives, and at last what `finish` does.
    fn check(pushes: &[&[u8]], texts: &[&str]) {
        let mut detokenizer = Detokenizer::default();
        let mut found: Vec<String> = pushes.iter().map(|bytes| detokenizer.push(bytes)).collect();
        found.push(detokenizer.finish());
        assert_eq!(found, texts, "{pushes:x?}");
    }

    #[test]
    fn characters_come_whole_and_bad_bytes_at_once() {
        check(&[b"\xf0\x9f", b"\x8c\x8d"], &["", "🌍", ""]);
        check(&[b"\xe4", b"\xbd", b"\xa0"], &["", "", "你", ""]);
        check(&[b"a\xf0", b"\x9f\x8c", b"\x8db"], &["a", "", "🌍b", ""]);
        check(&[b"\xc3"], &["", "\u{fffd}"]);
        check(&[b"\xff", b"\x80\x80"], &["\u{fffd}", "\u{fffd}\u{fffd}", ""]);
        check(&[b"\xe4\xbd", b"A"], &["", "\u{fffd}A", ""]);
        check(&[b"\xe4\xbd\xff\xe4"], &["\u{fffd}\u{fffd}", "\u{fffd}"]);
        check(&[b"\xed", b"\xa0", b"\x80"], &["", "\u{fffd}\u{fffd}", "\u{fffd}", ""]);
    }

    proptest! {
        /// Texts with damage: the bytes of characters, some of them overwritten, cut anywhere.
        #[test]
        fn cuts_change_nothing(
            text: String,
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cuts in prop::collection::vec(1usize..6, 64),
        ) {
            let mut bytes = text.into_bytes();
            for (at, byte) in damage.iter().filter(|_| !bytes.is_empty()).collect::<Vec<_>>() {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            let mut detokenizer = Detokenizer::default();
            let mut joined = String::new();
            let mut rest = &bytes[..];
            for cut in cuts {
                let (now, later) = rest.split_at(cut.min(rest.len()));
                joined += &detokenizer.push(now);
                rest = later;
            }
            joined += &detokenizer.push(rest);
            joined += &detokenizer.finish();
            prop_assert_eq!(joined, String::from_utf8_lossy(&bytes));
        }
    }
}
