//! What `strata-bench plan` prints: every request with the digest of its bytes, before any server
//! is asked.

use super::{Lengths, Suite};
use crate::digest::sha256;
use crate::plan::{Planned, plan};
use serde_json::{Value, json};
use std::fmt::Write;

impl Suite {
    /// The plan for people: a line a request, those of optional stages last.
    pub fn plan_text(&self) -> String {
        let protocol = &self.protocol;
        let mut text = format!(
            "{}  profile {}  corpus {}\n",
            protocol.id, protocol.profile, protocol.corpus_sha256
        );
        if let Some(why) = &protocol.not_replayable {
            text += &format!("it cannot be replayed: {why}\n");
        }
        text += "request                       seed    cap  nominal        input  body sha256\n";
        let required = plan(protocol, false).len();
        for (i, request) in plan(protocol, true).iter().enumerate() {
            let dash = |tokens: Option<u64>| tokens.map_or("-".to_string(), |n| n.to_string());
            let _ = writeln!(
                text,
                "{:<28} {:>5} {:>6} {:>8} {:>12}  {}{}",
                request.id,
                request.seed,
                request.max_output_tokens,
                dash(request.case.nominal_input_tokens),
                self.input_range(request).map_or("-".to_string(), |(least, most)| {
                    if least == most { least.to_string() } else { format!("{least}..{most}") }
                }),
                self.body_sha256(request).unwrap_or("-".to_string()),
                if i < required { "" } else { "  optional" },
            );
        }
        text
    }

    /// The same for programs, with the lengths recorded for each tokenizer.
    pub fn plan_json(&self) -> Value {
        let protocol = &self.protocol;
        let required = plan(protocol, false).len();
        let requests: Vec<Value> = plan(protocol, true)
            .iter()
            .enumerate()
            .map(|(i, request)| {
                json!({
                    "id": request.id,
                    "phase": request.phase,
                    "case_id": request.case.id,
                    "repetition": request.repetition,
                    "seed": request.seed,
                    "max_output_tokens": request.max_output_tokens,
                    "concurrency": request.concurrency,
                    "round": request.round,
                    "optional": i >= required,
                    "nominal_input_tokens": request.case.nominal_input_tokens,
                    "input_tokens": self.input_tokens(request),
                    "max_shared_prefix_tokens": self.shared_prefix_tokens(request),
                    "body_sha256": self.body_sha256(request),
                })
            })
            .collect();
        json!({
            "protocol": {
                "id": protocol.id,
                "profile": protocol.profile,
                "suite": protocol.suite,
                "corpus_sha256": protocol.corpus_sha256,
                "not_replayable": protocol.not_replayable,
            },
            "requests": requests,
            "lengths": self.corpus.as_ref().map(|corpus| &corpus.lengths),
        })
    }

    /// The length a request has for sure: where one tokenizer is pinned, or all have it alike.
    fn input_tokens(&self, request: &Planned) -> Option<u64> {
        self.input_range(request).and_then(|(least, most)| (least == most).then_some(least))
    }

    /// The least and the greatest length of a request over the tokenizers that were counted with.
    fn input_range(&self, request: &Planned) -> Option<(u64, u64)> {
        if let Some(pinned) = &self.protocol.frozen_input_tokens {
            let pinned = pinned.get(&request.id)?.as_u64()?;
            return Some((pinned, pinned));
        }
        let of_one = |lengths: &Lengths| lengths.requests[&request.id].input_tokens; // has every id
        let counted = self.corpus.as_ref()?.lengths.iter().map(of_one);
        Some((counted.clone().min()?, counted.max()?))
    }

    /// What a request shares with another at most, where the protocol pins it; `lengths` has what
    /// was counted for each tokenizer.
    fn shared_prefix_tokens(&self, request: &Planned) -> Option<u64> {
        self.protocol.frozen_shared_prefix_tokens.as_ref()?.get(&request.id)?.as_u64()
    }

    fn body_sha256(&self, request: &Planned) -> Option<String> {
        let body = self.corpus.as_ref()?.body(&request.id)?;
        Some(sha256(body.as_bytes()))
    }
}
