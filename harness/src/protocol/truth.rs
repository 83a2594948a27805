//! What the truth of an evaluator must satisfy, so that every answer can be judged by it and some
//! answer can pass. Problems are worded as in `checks`.

use super::checks::readable;
use super::{Constraint, Count, Evaluator, Protocol};
use crate::json::{self, escape};
use crate::text;
use serde_json::Value;

pub(super) fn check(protocol: &Protocol, evaluator: &Evaluator, at: &str) -> Result<(), String> {
    if protocol.not_replayable.is_none() && !has_truth(evaluator) {
        return Err(format!(
            "{at} lacks its truth; where a protocol can be replayed it states one, for each \
             argument as a list of accepted values"
        ));
    }
    if protocol.passed_reasons.of(evaluator).is_none() {
        return Err(format!("/passed_reasons has no words for the kind of {at}; add them"));
    }
    match evaluator {
        Evaluator::ExactText { expected } => {
            expected.iter().try_for_each(|text| plain(&format!("{at}/expected"), text))
        }
        Evaluator::JsonValue { expected } => {
            let at = format!("{at}/expected");
            expected.iter().try_for_each(|value| {
                exact(&at, value)?;
                plain(&at, &value.to_string())
            })
        }
        Evaluator::ToolCall { arguments, .. } => arguments
            .iter()
            .try_for_each(|(key, value)| exact(&format!("{at}/arguments/{}", escape(key)), value)),
        Evaluator::Instructions { constraints } => constraints
            .iter()
            .enumerate()
            .try_for_each(|(i, constraint)| kept(&format!("{at}/constraints/{i}"), constraint)),
        Evaluator::Retrieval { expected, candidates, .. } => {
            check_values(expected.as_ref(), candidates, at)
        }
    }
}

fn has_truth(evaluator: &Evaluator) -> bool {
    match evaluator {
        Evaluator::ExactText { expected } => expected.is_some(),
        Evaluator::JsonValue { expected } => expected.is_some(),
        Evaluator::ToolCall { name, arguments } => {
            let accepts = |values: &Value| values.as_array().is_some_and(|v| !v.is_empty());
            name.is_some() && arguments.values().all(accepts)
        }
        Evaluator::Instructions { constraints } => !constraints.is_empty(),
        Evaluator::Retrieval { expected, .. } => expected.is_some(),
    }
}

/// An answer that shows reasoning never passes.
fn plain(at: &str, text: &str) -> Result<(), String> {
    match text::shows_reasoning(text) {
        true => Err(format!("{at} is {text:?}; leave out the mark of reasoning, which fails")),
        false => Ok(()),
    }
}

/// Answers are compared in the form of [`crate::json`], whose limits hold for the truth too. A
/// whole number beyond 64 bits has been rounded to a double when it arrives here.
fn exact(at: &str, value: &Value) -> Result<(), String> {
    readable(at, value)?;
    let value = json::Value::try_from(value).expect("just read");
    let mut rounded = None;
    value.walk(&mut |_, value| {
        let large = value.as_number().filter(|number| {
            let whole = number.text().parse::<i64>().is_ok() || number.as_u64().is_some();
            !whole && number.as_f64().abs() >= 2_f64.powi(53)
        });
        rounded = rounded.or(large);
    });
    match rounded {
        Some(number) => Err(format!(
            "{at} holds a number near {}, which was rounded; a whole number must fit in 64 bits",
            number.text()
        )),
        None => Ok(()),
    }
}

fn kept(at: &str, constraint: &Constraint) -> Result<(), String> {
    match constraint {
        Constraint::Words(count)
        | Constraint::Sentences(count)
        | Constraint::Lines(count)
        | Constraint::Bullets(count) => check_count(at, *count),
        Constraint::Word { word, min, max } => {
            check_count(at, Count { min: *min, max: *max })?;
            match text::words(word).eq([word.as_str()]) {
                true => visible(&format!("{at}/word"), word),
                false => Err(format!("{at}/word is {word:?}; give one word without marks around")),
            }
        }
        Constraint::Text { text, min, max } => {
            check_count(at, Count { min: *min, max: *max })?;
            visible(&format!("{at}/text"), text)
        }
        Constraint::StartsWith { text } | Constraint::EndsWith { text } => {
            visible(&format!("{at}/text"), text)?;
            match text.trim() == text {
                true => Ok(()),
                false => Err(format!("{at}/text is {text:?}; leave out the blanks around it")),
            }
        }
        Constraint::LowerCase {} | Constraint::UpperCase {} | Constraint::Json {} => Ok(()),
    }
}

fn check_count(at: &str, Count { min, max }: Count) -> Result<(), String> {
    match max {
        None if min == 0 => Err(format!("{at} bounds nothing; give a max or a min above 0")),
        Some(max) if max < min => Err(format!("{at} has min {min} above max {max}; swap them")),
        _ => Ok(()),
    }
}

/// Invisible characters are taken out of an answer before it is searched.
fn visible(at: &str, text: &str) -> Result<(), String> {
    if text.is_empty() || text::visible(text) != text {
        return Err(format!("{at} is {text:?}; give characters, and none that is invisible"));
    }
    plain(at, text)
}

fn check_values(expected: Option<&String>, candidates: &[String], at: &str) -> Result<(), String> {
    for (i, value) in candidates.iter().enumerate() {
        let at = format!("{at}/candidates/{i}");
        visible(&at, value)?;
        if value.trim() != value || text::words(value).next().is_none() {
            return Err(format!("{at} is {value:?}; give a word without blanks around it"));
        }
        if candidates[..i].contains(value) {
            return Err(format!("{at} is {value:?} once more; name each value once"));
        }
    }
    match expected.filter(|expected| !candidates.contains(expected)) {
        Some(expected) => {
            Err(format!("{at}/expected is {expected:?}; /candidates must name it among the others"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const EMBEDDED: &str = include_str!("../../../spec/protocols/embedded-v1.json");

    /// The embedded protocol, its first sanity case judged by `evaluator`.
    fn judged_by(evaluator: &Value, words: &[&str]) -> Result<Protocol, String> {
        let mut protocol: Value = serde_json::from_str(EMBEDDED).unwrap();
        protocol["phases"][2]["cases"][0]["evaluator"] = evaluator.clone();
        words.iter().for_each(|kind| protocol["passed_reasons"][*kind] = json!("right"));
        Protocol::parse(&protocol.to_string(), "p.json").map_err(|error| error.to_string())
    }

    fn check(evaluator: Value, problem: &str) {
        let found = judged_by(&evaluator, &["instructions", "retrieval"]).expect_err(problem);
        assert!(found.contains(problem), "{found}\n{problem}");
    }

    #[test]
    fn truths_that_nothing_or_anything_meets_are_refused() {
        let kept = |constraint: Value| json!({"kind": "instructions", "constraints": [constraint]});
        let at = "/phases/2/cases/0/evaluator/constraints/0";
        for (constraint, problem) in [
            (json!({"kind": "words", "min": 0, "max": null}), " bounds nothing; give a max"),
            (json!({"kind": "lines", "min": 3, "max": 2}), " has min 3 above max 2; swap them"),
            (json!({"kind": "word", "word": "a b", "min": 1}), "/word is \"a b\"; give one word"),
            (json!({"kind": "word", "word": "a.", "min": 1}), "/word is \"a.\"; give one word"),
            (json!({"kind": "word", "word": "", "min": 1}), "/word is \"\"; give one word"),
            (json!({"kind": "text", "text": "", "max": 0, "min": 0}), "/text is \"\"; give char"),
            (
                json!({"kind": "text", "text": "\u{ad}", "max": 0, "min": 0}),
                "/text is \"\\u{ad}\"; give",
            ),
            (json!({"kind": "text", "text": ",", "min": 0}), " bounds nothing; give a max"),
            (json!({"kind": "starts_with", "text": " a"}), "/text is \" a\"; leave out the blanks"),
            (
                json!({"kind": "ends_with", "text": "[THINK]"}),
                "/text is \"[THINK]\"; leave out the mark",
            ),
        ] {
            check(kept(constraint), &format!("{at}{problem}"));
        }
        for constraint in [
            json!({"kind": "json", "surprise": 1}),
            json!({"kind": "words", "min": 1, "max": 2, "surprise": 1}),
            json!({"kind": "text", "text": "a", "min": 1, "surprise": 1}),
        ] {
            check(kept(constraint), "unknown field `surprise`");
        }
        check(kept(json!({"kind": "words", "min": -1, "max": 2})), "invalid value");
        check(kept(json!({"kind": "rhymes"})), "unknown variant `rhymes`");
        check(json!({"kind": "instructions", "constraints": []}), "lacks its truth");
        let found = |expected: Value, candidates: Value| {
            json!({"kind": "retrieval", "expected": expected, "candidates": candidates,
                "max_words": 3})
        };
        check(found(json!(null), json!(["a"])), "lacks its truth");
        check(found(json!("a"), json!(["b"])), "/candidates must name it among the others");
        check(found(json!("a"), json!(["a", "a"])), "/candidates/1 is \"a\" once more");
        check(found(json!("–"), json!(["–"])), "/candidates/0 is \"–\"; give a word");
        check(found(json!("a "), json!(["a "])), "/candidates/0 is \"a \"; give a word");
        check(found(json!("\u{200b}a"), json!(["\u{200b}a"])), "none that is invisible");
        check(json!({"kind": "exact_text", "expected": "<Think>"}), "mark of reasoning");
        check(json!({"kind": "json_value", "expected": ["[THINK]"]}), "mark of reasoning");
    }

    #[test]
    fn numbers_that_were_rounded_are_refused() {
        let with = |number: &str| {
            let value: Value = serde_json::from_str(number).unwrap();
            judged_by(&json!({"kind": "json_value", "expected": {"a": [value]}}), &[])
        };
        for whole in ["18446744073709551615", "-9223372036854775808", "9007199254740993", "1e15"] {
            assert_eq!(with(whole).map(|_| ()), Ok(()), "{whole}");
        }
        for rounded in ["18446744073709551617", "-9223372036854775809", "1e300"] {
            let found = with(rounded).expect_err(rounded);
            assert!(found.contains("/evaluator/expected holds a number near "), "{found}");
        }
    }

    #[test]
    fn new_kinds_need_their_words_and_are_written_as_read() {
        let constraints = json!([
            {"kind": "words", "min": 1, "max": 9}, {"kind": "sentences", "min": 1, "max": null},
            {"kind": "lines", "min": 1, "max": 1}, {"kind": "bullets", "min": 0, "max": 0},
            {"kind": "word", "word": "sea", "min": 0, "max": 0},
            {"kind": "text", "text": ", ", "min": 0, "max": 0},
            {"kind": "starts_with", "text": "A"}, {"kind": "ends_with", "text": "."},
            {"kind": "lower_case"}, {"kind": "upper_case"}, {"kind": "json"},
        ]);
        for evaluator in [
            json!({"kind": "instructions", "constraints": constraints}),
            json!({"kind": "retrieval", "expected": "a b", "candidates": ["c", "a b"],
                "max_words": null}),
        ] {
            let kind = evaluator["kind"].as_str().unwrap();
            let found = judged_by(&evaluator, &[]).unwrap_err();
            assert!(
                found.contains("/passed_reasons has no words for the kind of /phases/2"),
                "{found}"
            );
            let protocol = judged_by(&evaluator, &[kind]).unwrap();
            let written = serde_json::to_value(&protocol).unwrap();
            assert_eq!(written["phases"][2]["cases"][0]["evaluator"], evaluator);
            assert_eq!(written["passed_reasons"].as_object().unwrap().len(), 4);
        }
    }
}
