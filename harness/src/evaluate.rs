//! Judges an answer against the truth a protocol states. Pure and total: any answer gets a verdict
//! in fixed words, none is quoted, and nothing here knows where the answer came from.

use crate::protocol::{Evaluator, PassedReasons};

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
pub fn evaluate(_evaluator: &Evaluator, _words: &PassedReasons, _answer: Answer) -> Verdict {
    unimplemented!()
}
