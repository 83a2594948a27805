//! Judges an answer against the truth a protocol states. Pure and total: any answer gets a verdict
//! in fixed words, none is quoted, and nothing here knows where the answer came from.

mod instructions;
mod retrieval;

use crate::json::{self, Value};
use crate::protocol::{Evaluator, PassedReasons};
use crate::text;
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
    let judged = match evaluator {
        Evaluator::ExactText { expected } => exact_text(expected.as_deref(), answer),
        Evaluator::JsonValue { expected } => json_value(expected.as_ref(), answer),
        Evaluator::ToolCall { name, arguments } => {
            tool_call(name.as_deref(), arguments, answer.tool_calls)
        }
        Evaluator::Instructions { constraints } if constraints.is_empty() => Err(NO_TRUTH),
        Evaluator::Instructions { constraints } => seen(answer)
            .and_then(|(whole, seen)| instructions::judge(constraints, whole, seen.trim())),
        Evaluator::Retrieval { expected: None, .. } => Err(NO_TRUTH),
        Evaluator::Retrieval { expected: Some(expected), candidates, max_words } => seen(answer)
            .and_then(|(_, seen)| retrieval::judge(expected, candidates, *max_words, seen.trim())),
    };
    let word = || words.of(evaluator).ok_or("the protocol has no words for this kind");
    match judged.and_then(|()| word()) {
        Ok(word) => Verdict { passed: true, reason: word.to_string() },
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
    let value = one_json(text_of(answer)?)?;
    if value.equals(&read(expected)) { Ok(()) } else { Err("another JSON value") }
}

fn one_json(text: &str) -> Result<Value, &'static str> {
    let value = json::parse(text.as_bytes()).map_err(|_| "not one JSON value")?;
    if repeats_a_key(&value) { Err("a JSON value with a repeated key") } else { Ok(value) }
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
        text if text::shows_reasoning(text) => Err("reasoning left in the answer"),
        text => Ok(text),
    }
}

/// The answer, and what of it is visible.
fn seen<'a>(answer: Answer<'a>) -> Result<(&'a str, String), &'static str> {
    let whole = text_of(answer)?;
    match text::visible(whole) {
        seen if seen.trim().is_empty() => Err("no answer text"),
        seen => Ok((whole, seen)),
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
mod tests;
