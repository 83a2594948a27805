//! Token lengths of a corpus under one tokenizer and chat template,
//! `lengths/<tokenizer>-<template>.json`: data that somebody counted once, so that the harness
//! needs no tokenizer.

use crate::plan::Planned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Lengths of all payloads under one tokenizer and template.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lengths {
    /// As the engine reports it in `/v1/status`; null where no file with this tokenizer was at hand
    /// to compute it from. No server is ever known by such lengths.
    pub tokenizer_sha256: Option<String>,
    /// What is known of a tokenizer without a digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<String>,
    /// As the engine reports it in `/v1/status`; of the empty text for a model without one.
    pub template_sha256: String,
    /// SHA-256 of files that hold this tokenizer, for a server that names its model's file but no
    /// tokenizer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model_files: Vec<String>,
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

/// Digits of each digest in the file's name.
const NAME_DIGITS: usize = 12;
/// In the place of the digits of a tokenizer without a digest.
const UNPINNED: &str = "unpinned";

impl Lengths {
    /// Counts and compares: `tokens` are those of each request, by id.
    pub fn of(
        tokenizer_sha256: &str,
        template_sha256: &str,
        model_files: Vec<String>,
        made_by: &str,
        tokens: &BTreeMap<String, Vec<u32>>,
    ) -> Lengths {
        let length = |id: &String, own: &Vec<u32>| Length {
            input_tokens: own.len() as u64,
            max_shared_prefix_tokens: tokens
                .iter()
                .filter(|(other, _)| *other != id)
                .map(|(_, other)| own.iter().zip(other).take_while(|(a, b)| a == b).count() as u64)
                .max()
                .unwrap_or(0),
        };
        Lengths {
            tokenizer_sha256: Some(tokenizer_sha256.to_string()),
            vocabulary: None,
            template_sha256: template_sha256.to_string(),
            model_files,
            made_by: made_by.to_string(),
            requests: tokens.iter().map(|(id, own)| (id.clone(), length(id, own))).collect(),
        }
    }

    /// Where the file lies in a corpus.
    pub fn path(&self) -> String {
        let digests = [self.tokenizer_sha256.as_deref().unwrap_or(UNPINNED), &self.template_sha256];
        let [tokenizer, template] = digests.map(|all| all.get(..NAME_DIGITS).unwrap_or(all));
        format!("lengths/{tokenizer}-{template}.json")
    }

    pub(super) fn parse(path: &str, text: &str, planned: &[Planned]) -> Result<Lengths, String> {
        let lengths: Lengths = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if path != lengths.path() {
            return Err(format!(
                "the file of this tokenizer and template is {}; rename it",
                lengths.path()
            ));
        }
        if lengths.tokenizer_sha256.is_some() == lengths.vocabulary.is_some() {
            return Err("give one of /tokenizer_sha256 and /vocabulary: a digest, or what the \
                        tokenizer is for want of one"
                .to_string());
        }
        for request in planned {
            let id = &request.id;
            let length = lengths.requests.get(id).ok_or_else(|| {
                format!("/requests/{id} is missing; count the whole corpus again")
            })?;
            if length.max_shared_prefix_tokens >= length.input_tokens {
                return Err(format!(
                    "/requests/{id} shares {} of its {} tokens; payloads must differ",
                    length.max_shared_prefix_tokens, length.input_tokens
                ));
            }
        }
        if lengths.requests.len() > planned.len() {
            return Err(format!(
                "/requests has {}, the protocol plans {}; count the whole corpus again",
                lengths.requests.len(),
                planned.len()
            ));
        }
        Ok(lengths)
    }
}
