//! How answers are judged, as a protocol states it: the kinds, their truths and the words for what
//! has passed. Data only; spec/protocol.md says what each kind means, `report::evaluate` does it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How an answer is judged, and the truth it is judged by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum Evaluator {
    /// The trimmed answer equals this text.
    ExactText {
        /// The text; null where a protocol's truth is not public.
        expected: Option<String>,
    },
    /// The whole answer is one JSON value equal to this one.
    JsonValue {
        /// The value; null where a protocol's truth is not public.
        expected: Option<Value>,
    },
    /// One call of this function with these arguments.
    ToolCall {
        /// Function name; null where a protocol's truth is not public.
        name: Option<String>,
        /// Argument name to its accepted values.
        arguments: Map<String, Value>,
    },
    /// The answer keeps all of these.
    Instructions {
        /// In the order in which they are tried; empty where a protocol's truth is not public.
        constraints: Vec<Constraint>,
    },
    /// The answer gives this value and no other of those the payload holds.
    Retrieval {
        /// The value; null where a protocol's truth is not public.
        expected: Option<String>,
        /// All values the payload holds, the expected one among them.
        candidates: Vec<String>,
        /// Most words beside the value; null where the answer is the value and nothing else.
        max_words: Option<u64>,
    },
}

/// Something an answer either keeps or does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
#[allow(missing_docs)] // fields are named as in the file
pub enum Constraint {
    /// So many words.
    Words(Count),
    /// So many sentences.
    Sentences(Count),
    /// So many lines that are not blank.
    Lines(Count),
    /// So many bullet items.
    Bullets(Count),
    /// This word so often, in whatever case.
    Word { word: String, min: u64, max: Option<u64> },
    /// These characters so often, wherever they stand.
    Text { text: String, min: u64, max: Option<u64> },
    /// The first characters.
    StartsWith { text: String },
    /// The last characters.
    EndsWith { text: String },
    /// Letters, and none in upper case.
    LowerCase {},
    /// Letters, and none in lower case.
    UpperCase {},
    /// A JSON object or array and nothing else.
    Json {},
}

/// How many there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// At least so many.
    pub min: u64,
    /// At most so many; null for no bound.
    pub max: Option<u64>,
}

impl Count {
    /// Whether so many are allowed.
    pub fn allows(self, count: usize) -> bool {
        let count = count as u64;
        self.min <= count && self.max.is_none_or(|max| count <= max)
    }
}

/// The reason of a passed evaluation, by kind of evaluator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the evaluators' names
pub struct PassedReasons {
    pub exact_text: String,
    pub json_value: String,
    pub tool_call: String,
    /// Where a case is judged by it; likewise below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieval: Option<String>,
}

impl PassedReasons {
    /// What a pass by this evaluator says; a protocol has words for each that it uses.
    pub fn of(&self, evaluator: &Evaluator) -> Option<&str> {
        match evaluator {
            Evaluator::ExactText { .. } => Some(&self.exact_text),
            Evaluator::JsonValue { .. } => Some(&self.json_value),
            Evaluator::ToolCall { .. } => Some(&self.tool_call),
            Evaluator::Instructions { .. } => self.instructions.as_deref(),
            Evaluator::Retrieval { .. } => self.retrieval.as_deref(),
        }
    }
}
