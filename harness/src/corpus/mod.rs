//! A suite: a protocol and its corpus of frozen payloads, carried inside the program or read from
//! files. Every digest is verified on the way in; nothing later reads a payload from disk.

use crate::protocol::{LoadError, Protocol};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// A protocol with what it takes to replay it.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// The plan and its judgements.
    pub protocol: Protocol,
    /// The payloads; `None` where [`Protocol::not_replayable`] says why.
    pub corpus: Option<Corpus>,
}

impl Suite {
    /// Names for `--suite`, in order.
    pub fn names() -> Vec<String> {
        unimplemented!()
    }

    /// A suite this program carries, by `--suite` name.
    pub fn named(_suite: &str) -> Result<Suite, LoadError> {
        unimplemented!()
    }

    /// A suite this program carries, by the id that reports state.
    pub fn with_protocol_id(_id: &str) -> Option<Suite> {
        unimplemented!()
    }

    /// A protocol file `X/protocols/NAME.json` with its corpus in `X/corpus/SUITE`.
    pub fn open(_protocol: &Path) -> Result<Suite, LoadError> {
        unimplemented!()
    }
}

/// Frozen payloads, verified against their manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Corpus {
    /// Path in the corpus to content: payloads, stock and recipe.
    files: BTreeMap<String, String>,
    manifest: String,
    lengths: Vec<Lengths>,
}

impl Corpus {
    /// The request body of a planned id, byte for byte as it is sent.
    pub fn body(&self, id: &str) -> Option<&str> {
        self.files.get(&format!("payloads/{id}.json")).map(String::as_str)
    }

    /// `manifest.sha256`, whose own digest is the protocol's `corpus_sha256`.
    pub fn manifest(&self) -> &str {
        &self.manifest
    }

    /// `corpus-build.json`: what the payloads were made from.
    pub fn build_record(&self) -> &str {
        unimplemented!()
    }

    /// Token lengths under this tokenizer and this template; `None` if none were recorded.
    pub fn lengths(&self, _tokenizer_sha256: &str, _template_sha256: &str) -> Option<&Lengths> {
        unimplemented!()
    }
}

/// Lengths of all payloads under one tokenizer and template, `lengths/*.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lengths {
    /// As the engine reports it in `/v1/status`.
    pub tokenizer_sha256: String,
    /// As the engine reports it in `/v1/status`; of the empty text for a model without one.
    pub template_sha256: String,
    /// The command and the version that counted.
    pub made_by: String,
    /// By request id.
    pub requests: BTreeMap<String, Length>,
}

/// What one payload comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Length {
    /// Tokens of the rendered conversation, BOS included.
    pub input_tokens: u64,
    /// The longest token prefix it shares with any other payload of the corpus.
    pub max_shared_prefix_tokens: u64,
}
