//! Whether an answer gives the value it was asked for. The value must stand there as written; the
//! other values of the payload count in any case and within any punctuation, so that an answer
//! which lists them all gains nothing.

use super::Judged;
use crate::text;

/// `seen` is what of the answer is visible.
pub(super) fn judge(
    expected: &str,
    candidates: &[String],
    max_words: Option<u64>,
    seen: &str,
) -> Judged {
    if seen == expected {
        return Ok(());
    }
    let value = spaced(text::words(expected));
    let said = spaced(text::words(seen));
    let others: Vec<String> =
        candidates.iter().filter(|other| *other != expected).map(|other| bare(other)).collect();
    let left = || said.split(&value); // what stands between the places of the value
    let another = left().map(bare).any(|left| others.iter().any(|other| left.contains(other)));
    match (said.contains(&value), another) {
        (true, true) => return Err("more than one of the protocol's values"),
        (false, true) => return Err("another of the protocol's values"),
        (false, false) => return Err("none of the protocol's values"),
        (true, false) => {}
    }
    let beside: usize = left().map(|left| left.split_whitespace().count()).sum();
    match max_words {
        None => Err("the value with other text around it"),
        Some(max) if beside as u64 > max => Err("too many words beside the value"),
        Some(_) => Ok(()),
    }
}

/// Each part with a blank on both sides, so that whole parts are found as text.
fn spaced<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    parts.flat_map(|part| [" ", part, " "]).collect()
}

/// The letters and digits of a text in lower case, spaced where anything else stood.
fn bare(text: &str) -> String {
    let text = text.to_lowercase();
    let parts = text.split(|c: char| !c.is_alphanumeric());
    spaced(parts.filter(|part| !part.is_empty()))
}
