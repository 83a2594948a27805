//! Whether an answer keeps the constraints a protocol lists. It reads the answer as a person sees
//! it, but JSON as a program would.

use super::{Judged, one_json};
use crate::json::Value;
use crate::protocol::{Constraint, Count};
use crate::text;

/// The first constraint that is not kept gives the reason. `whole` is the answer, `seen` what of
/// it is visible.
pub(super) fn judge(constraints: &[Constraint], whole: &str, seen: &str) -> Judged {
    constraints.iter().try_for_each(|constraint| keep(constraint, whole, seen))
}

fn keep(constraint: &Constraint, whole: &str, seen: &str) -> Judged {
    let (kept, otherwise) = match constraint {
        Constraint::Words(count) => {
            (count.allows(text::words(seen).count()), "another number of words")
        }
        Constraint::Sentences(count) => {
            (count.allows(text::sentences(seen)), "another number of sentences")
        }
        Constraint::Lines(count) => {
            (count.allows(text::lines(seen).count()), "another number of lines")
        }
        Constraint::Bullets(count) => {
            (count.allows(text::bullets(seen)), "another number of bullet items")
        }
        Constraint::Word { word, min, max } => {
            let word = word.to_lowercase();
            let times = text::words(&seen.to_lowercase()).filter(|other| *other == word).count();
            (Count { min: *min, max: *max }.allows(times), "a word too often or not often enough")
        }
        Constraint::Text { text, min, max } => {
            let times = seen.matches(text).count();
            (Count { min: *min, max: *max }.allows(times), "a text too often or not often enough")
        }
        Constraint::StartsWith { text } => (seen.starts_with(text), "another beginning"),
        Constraint::EndsWith { text } => (seen.ends_with(text), "another end"),
        Constraint::LowerCase {} => (
            seen.contains(char::is_lowercase) && !seen.contains(char::is_uppercase),
            "not all in lower case",
        ),
        Constraint::UpperCase {} => (
            seen.contains(char::is_uppercase) && !seen.contains(char::is_lowercase),
            "not all in upper case",
        ),
        Constraint::Json {} => (
            matches!(one_json(whole)?, Value::Array(_) | Value::Object(_)),
            "neither a JSON object nor an array",
        ),
    };
    if kept { Ok(()) } else { Err(otherwise) }
}
