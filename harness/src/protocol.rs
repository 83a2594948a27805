//! A protocol: which requests, in which order, with which seeds, caps and judgements. Data only;
//! it knows no server, no clock and no report.

mod checks;
mod evaluator;
mod truth;

pub use evaluator::{Constraint, Count, Evaluator, PassedReasons};

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::fmt;

/// A protocol file, `spec/protocols/*.json`. Unknown fields are refused, and what
/// is deserialized can be planned: ids are unique, caps and counts are bounded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)] // derives functions; the traits stand below
pub struct Protocol {
    /// Name in reports; with `profile` and `corpus_sha256` the key of comparability.
    pub id: String,
    /// What kind of model it is for.
    pub profile: String,
    /// Short name for `--suite`.
    pub suite: String,
    /// Null when the payloads are at hand; else why this protocol can only be reviewed.
    pub not_replayable: Option<String>,
    /// Revision of the model card the sampling follows; null when none is pinned.
    pub model_card_revision: Option<String>,
    /// SHA-256 of the corpus manifest.
    pub corpus_sha256: String,
    /// SHA-256 of the one chat template allowed; null when the template is the model's own.
    pub template_sha256: Option<String>,
    /// The report's `configuration.sampling`, all of it sent with every request.
    pub sampling: Sampling,
    /// The report's `configuration.chat_template_kwargs`.
    pub chat_template_kwargs: Map<String, Value>,
    /// The categories of the sanity stage in the order of a report.
    pub categories: Vec<String>,
    /// What the evaluation of a passed sanity case says.
    pub passed_reasons: PassedReasons,
    /// Most tokens by which an input may differ from its nominal length.
    pub length_tolerance_tokens: u64,
    /// Stages in the order of execution.
    pub phases: Vec<Phase>,
    /// Input tokens by request id, when one tokenizer is pinned: positive whole numbers.
    pub frozen_input_tokens: Option<Map<String, Value>>,
    /// The longest prefix, in tokens, that a payload shares with any other, by request id, when one
    /// tokenizer is pinned: whole numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen_shared_prefix_tokens: Option<Map<String, Value>>,
}

impl Protocol {
    /// Reads a protocol. `place` is what errors call it: a path, or the name of a suite.
    pub fn parse(text: &str, place: &str) -> Result<Protocol, LoadError> {
        serde_json::from_str(text).map_err(|error| LoadError {
            place: place.to_string(),
            problem: format!("not a protocol: {error}"),
        })
    }

    /// The stage of this name, if the protocol has it.
    pub fn phase(&self, name: PhaseName) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.phase == name)
    }
}

/// Wherever a protocol is read from, it is checked.
impl<'de> Deserialize<'de> for Protocol {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Protocol, D::Error> {
        let protocol = Protocol::deserialize(deserializer)?; // the derived function
        checks::check(&protocol).map_err(D::Error::custom)?;
        Ok(protocol)
    }
}

impl Serialize for Protocol {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Protocol::serialize(self, serializer) // the derived function
    }
}

/// Why a protocol or its corpus cannot be used: where, what was found, what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError {
    /// A path, or the name of a suite.
    pub place: String,
    /// Field, values and remedy in one sentence.
    pub problem: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

impl std::error::Error for LoadError {}

/// Sampling parameters in the order of a report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // OpenAI's and the field's own names
pub struct Sampling {
    pub temperature: f64,
    pub top_p: f64,
    pub top_k: u32,
    pub min_p: f64,
    pub presence_penalty: f64,
    pub repetition_penalty: f64,
    pub reasoning_effort: Option<String>,
}

/// A stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Which.
    pub phase: PhaseName,
    /// Run only when asked for.
    pub optional: bool,
    /// Requests at a time. In the concurrency stage a round is one repetition: all its cases at
    /// once, so that their number is this one.
    pub concurrency: u32,
    /// How often each case is sent, each time with a payload of its own.
    pub repetitions: u32,
    /// What the outer loop is.
    pub order: Order,
    /// Where a request's seed comes from.
    pub seed: Seed,
    /// The cap sent as `max_tokens`.
    pub max_output_tokens: u64,
    /// The cases in order.
    pub cases: Vec<Case>,
}

/// The four stages a report counts, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum PhaseName {
    Warmup,
    Performance,
    Sanity,
    Concurrency,
}

impl PhaseName {
    /// All of them in the order of a report.
    pub const ALL: [PhaseName; 4] =
        [PhaseName::Warmup, PhaseName::Performance, PhaseName::Sanity, PhaseName::Concurrency];

    /// As files spell it.
    pub const fn as_str(self) -> &'static str {
        match self {
            PhaseName::Warmup => "warmup",
            PhaseName::Performance => "performance",
            PhaseName::Sanity => "sanity",
            PhaseName::Concurrency => "concurrency",
        }
    }
}

/// Which loop is the outer one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Order {
    RepetitionOuter,
    CaseOuter,
}

/// A request's seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seed {
    /// The repetition's number, from 1.
    Repetition,
}

/// A case of a stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// As in `prompt-4k` or `I1`.
    pub id: String,
    /// The length the payload was made for.
    pub nominal_input_tokens: Option<u64>,
    /// Texts that end the answer, sent as `stop`; none sends no `stop`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// Sanity only: one of the protocol's `categories`.
    pub category: Option<String>,
    /// Sanity only: how the answer is judged.
    pub evaluator: Option<Evaluator>,
}
