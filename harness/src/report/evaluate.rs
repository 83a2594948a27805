//! Judges an answer against the truth a protocol states. Pure and total: any answer gets a verdict
//! in fixed words, none is quoted, and nothing here knows where the answer came from.

use crate::json::{self, Value};
use crate::protocol::{Evaluator, PassedReasons};
use std::collections::BTreeSet;

/// What a server answered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer<'a> {
    /// The answer text without reasoning.
    pub text: &'a str,
    /// The calls in the order of their indices.
    pub tool_calls: &'a [ToolCall],
}

/// A call as the server sent it, its deltas joined.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolCall {
    /// The function.
    pub name: String,
    /// Its arguments: JSON, if the model kept its word.
    pub arguments: String,
}

/// A verdict and why, for the report's `evaluation`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the answer is right.
    pub passed: bool,
    /// One of the protocol's words if it passed, else one of this file's.
    pub reason: String,
}

/// Judges `answer`. `words` are the protocol's own for what has passed.
///
/// Nothing passes where the protocol keeps its truth to itself.
pub fn evaluate(evaluator: &Evaluator, words: &PassedReasons, answer: Answer) -> Verdict {
    let (judged, word) = match evaluator {
        Evaluator::ExactText { expected } => {
            (exact_text(expected.as_deref(), answer), &words.exact_text)
        }
        Evaluator::JsonValue { expected } => {
            (json_value(expected.as_ref(), answer), &words.json_value)
        }
        Evaluator::ToolCall { name, arguments } => {
            (tool_call(name.as_deref(), arguments, answer.tool_calls), &words.tool_call)
        }
    };
    match judged {
        Ok(()) => Verdict { passed: true, reason: word.clone() },
        Err(reason) => Verdict { passed: false, reason: reason.to_string() },
    }
}

type Judged = Result<(), &'static str>;

const NO_TRUTH: &str = "the protocol states no expected answer";

fn exact_text(expected: Option<&str>, answer: Answer) -> Judged {
    let expected = expected.ok_or(NO_TRUTH)?;
    let text = text_of(answer)?;
    if text == expected {
        Ok(())
    } else if text.contains(expected) {
        Err("the expected text with other text around it")
    } else {
        Err("another text")
    }
}

/// The whole answer is the value: a fence or a sentence around it is a failure to follow.
fn json_value(expected: Option<&serde_json::Value>, answer: Answer) -> Judged {
    let expected = expected.ok_or(NO_TRUTH)?;
    let text = text_of(answer)?;
    let value = json::parse(text.as_bytes()).map_err(|_| "not one JSON value")?;
    if repeats_a_key(&value) {
        return Err("a JSON value with a repeated key");
    }
    if value.equals(&read(expected)) { Ok(()) } else { Err("another JSON value") }
}

fn tool_call(
    name: Option<&str>,
    accepted: &serde_json::Map<String, serde_json::Value>,
    calls: &[ToolCall],
) -> Judged {
    let name = name.ok_or(NO_TRUTH)?;
    let call = match calls {
        [] => return Err("no tool call"),
        [call] => call,
        _ => return Err("more than one tool call"),
    };
    if call.name != name {
        return Err("a call of another function");
    }
    let arguments = json::parse(call.arguments.as_bytes()).map_err(|_| "arguments not in JSON")?;
    let Value::Object(given) = &arguments else { return Err("arguments not in a JSON object") };
    if repeats_a_key(&arguments) {
        return Err("arguments with a repeated key");
    }
    for (argument, values) in accepted {
        let value = arguments.get(argument).ok_or("a missing argument")?;
        if !read(values).items().iter().any(|accepted| value.equals(accepted)) {
            return Err("another value of an argument");
        }
    }
    if given.len() > accepted.len() { Err("an argument too many") } else { Ok(()) }
}

fn text_of<'a>(answer: Answer<'a>) -> Result<&'a str, &'static str> {
    if !answer.tool_calls.is_empty() {
        return Err("a tool call instead of text");
    }
    match answer.text.trim() {
        "" => Err("no answer text"),
        text => Ok(text),
    }
}

/// The protocol's value in the form that keeps numbers as they are written.
fn read(value: &serde_json::Value) -> Value {
    Value::try_from(value).expect("a protocol is refused unless this can be done")
}

/// Depth is bounded by the reader.
fn repeats_a_key(value: &Value) -> bool {
    let mut keys = BTreeSet::new();
    value.entries().iter().any(|(key, value)| !keys.insert(key) || repeats_a_key(value))
        || value.items().iter().any(repeats_a_key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn words() -> PassedReasons {
        PassedReasons {
            exact_text: "the exact expected text".into(),
            json_value: "the expected JSON value".into(),
            tool_call: "the expected tool call".into(),
        }
    }

    fn check(evaluator: &Evaluator, text: &str, calls: &[(&str, &str)], reason: &str) {
        let calls: Vec<ToolCall> = calls
            .iter()
            .map(|(name, arguments)| ToolCall {
                name: name.to_string(),
                arguments: arguments.to_string(),
            })
            .collect();
        let verdict = evaluate(evaluator, &words(), Answer { text, tool_calls: &calls });
        let passed = [words().exact_text, words().json_value, words().tool_call];
        let want = Verdict { passed: passed.contains(&reason.to_string()), reason: reason.into() };
        assert_eq!(verdict, want, "{text:?} {calls:?}");
    }

    #[test]
    fn exact_texts() {
        let truth = Evaluator::ExactText { expected: Some("bike".into()) };
        let right = "the exact expected text";
        for text in ["bike", " bike", "\n\tbike\u{a0}\n"] {
            check(&truth, text, &[], right);
        }
        for text in ["Bike", "bik", "b ike", "b\u{131}ke", "\u{feff}"] {
            check(&truth, text, &[], "another text");
        }
        for text in ["bikes", "\"bike\"", "bike.", "a bike", "bike\nbike", "bike\0"] {
            check(&truth, text, &[], "the expected text with other text around it");
        }
        check(&truth, " \n", &[], "no answer text");
        check(&truth, "bike", &[("ride", "{}")], "a tool call instead of text");
        check(&Evaluator::ExactText { expected: None }, "bike", &[], NO_TRUTH);
    }

    #[test]
    fn json_values() {
        let expected = json!({"animal": "cat", "legs": 4, "of": [0.5, null, {"a": true}]});
        let truth = Evaluator::JsonValue { expected: Some(expected) };
        for text in [
            r#"{"animal":"cat","legs":4,"of":[0.5,null,{"a":true}]}"#,
            r#" {"of": [5e-1, null, {"a": true}], "legs": 4.0, "animal": "\u0063at"} "#,
            r#"{"animal":"cat","legs":40e-1,"of":[0.50,null,{"a":true}]}"#,
        ] {
            check(&truth, text, &[], "the expected JSON value");
        }
        for text in [
            r#"{"animal":"cat","legs":"4","of":[0.5,null,{"a":true}]}"#,
            r#"{"animal":"cat","legs":4.000000000000000000001,"of":[0.5,null,{"a":true}]}"#,
            r#"{"animal":"cat","legs":1e400,"of":[0.5,null,{"a":true}]}"#,
            r#"{"animal":"cat","legs":4,"of":[null,0.5,{"a":true}]}"#,
            r#"{"animal":"cat","legs":4,"of":[0.5,null,{"a":true}],"more":1}"#,
            r#"{"animal":"cat","legs":4}"#,
            r#"[]"#,
            r#"null"#,
            r#""{}""#,
        ] {
            check(&truth, text, &[], "another JSON value");
        }
        for text in [
            r#"{"animal":"cat","legs":NaN,"of":[]}"#,
            "```json\n{}\n```",
            "{} {}",
            "{}.",
            "The answer is {}",
            r#"{"animal":"cat""#,
            "{'animal':'cat'}",
            "[1,]",
            "{}\0",
            &"[".repeat(100_000),
        ] {
            check(&truth, text, &[], "not one JSON value");
        }
        let twice = r#"{"animal":"cat","legs":4,"of":[0.5,null,{"a":false,"a":true}]}"#;
        check(&truth, twice, &[], "a JSON value with a repeated key");
        check(&truth, "", &[], "no answer text");
        check(&truth, "{}", &[("f", "{}")], "a tool call instead of text");
    }

    #[test]
    fn big_numbers_are_not_rounded_together() {
        let truth = Evaluator::JsonValue { expected: Some(json!(9007199254740993_u64)) };
        check(&truth, "9007199254740993", &[], "the expected JSON value");
        check(&truth, "9007199254740993.0", &[], "the expected JSON value");
        check(&truth, "9007199254740992", &[], "another JSON value");
    }

    #[test]
    fn tool_calls() {
        let accepted = json!({"animal": ["cat", "the cat"], "cups": [2]});
        let accepted = accepted.as_object().unwrap().clone();
        let truth = Evaluator::ToolCall { name: Some("feed".into()), arguments: accepted };
        let right = r#"{"animal":"cat","cups":2}"#;
        check(&truth, "", &[("feed", right)], "the expected tool call");
        check(&truth, "I will.", &[("feed", right)], "the expected tool call");
        let other = r#" {"cups":2.0,"animal":"the cat"} "#;
        check(&truth, "", &[("feed", other)], "the expected tool call");
        check(&truth, right, &[], "no tool call");
        check(&truth, "", &[("feed", right), ("feed", right)], "more than one tool call");
        check(&truth, "", &[("Feed", right)], "a call of another function");
        for (arguments, reason) in [
            ("", "arguments not in JSON"),
            ("animal=cat", "arguments not in JSON"),
            (r#"{"animal":"cat","cups":2"#, "arguments not in JSON"),
            (r#"["cat",2]"#, "arguments not in a JSON object"),
            (r#""{\"animal\":\"cat\",\"cups\":2}""#, "arguments not in a JSON object"),
            (r#"{"animal":"dog","animal":"cat","cups":2}"#, "arguments with a repeated key"),
            (r#"{"animal":"cat"}"#, "a missing argument"),
            (r#"{"animal":"dog","cups":2}"#, "another value of an argument"),
            (r#"{"animal":["cat","the cat"],"cups":2}"#, "another value of an argument"),
            (r#"{"animal":"cat","cups":"2"}"#, "another value of an argument"),
            (r#"{"animal":"cat","cups":2,"now":true}"#, "an argument too many"),
        ] {
            check(&truth, "", &[("feed", arguments)], reason);
        }
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(|flag| json!(flag)),
            any::<i32>().prop_map(|number| json!(number)),
            (-1_000_000..1_000_000).prop_map(|n: i32| json!(f64::from(2 * n + 1) / 128.0)),
            "[a-c\"\\\\ é]{0,3}".prop_map(|text| json!(text)),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(|items| json!(items)),
                prop::collection::btree_map("[a-c]{1,2}", inner, 0..4)
                    .prop_map(|entries| json!(entries)),
            ]
        })
    }

    proptest! {
        /// A value passes as its own truth however it is laid out, and only as its own.
        #[test]
        fn a_value_equals_itself_alone(value in any_json(), other in any_json()) {
            let truth = Evaluator::JsonValue { expected: Some(value.clone()) };
            let judge = |text: &str| {
                evaluate(&truth, &words(), Answer { text, tool_calls: &[] }).passed
            };
            prop_assert!(judge(&value.to_string()));
            prop_assert!(judge(&serde_json::to_string_pretty(&value).unwrap()));
            prop_assert_eq!(judge(&other.to_string()), other == value);
            prop_assert!(!judge(&(value.to_string() + " .")));
        }

        #[test]
        fn any_answer_gets_a_verdict_in_few_words(text in ".{0,40}", arguments in ".{0,40}") {
            let accepted = json!({"a": [1]}).as_object().unwrap().clone();
            let call = ToolCall { name: "f".into(), arguments };
            for truth in [
                Evaluator::ExactText { expected: Some("a".into()) },
                Evaluator::JsonValue { expected: Some(json!({"a": 1})) },
                Evaluator::ToolCall { name: Some("f".into()), arguments: accepted },
            ] {
                for calls in [&[][..], std::slice::from_ref(&call)] {
                    let answer = Answer { text: &text, tool_calls: calls };
                    let verdict = evaluate(&truth, &words(), answer);
                    prop_assert!((1..=50).contains(&verdict.reason.len()));
                }
            }
        }
    }
}
