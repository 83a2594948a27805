//! Answers in OpenAI's shapes: one object, or chunks; with `usage` and the `timings` of llama.cpp.
//! Times are rounded down to 0.1 ms, so that the parts never exceed what a client measures.

use crate::Finish;
use crate::server::outcome::Outcome;
use serde_json::{Value, json};
use std::time::Duration;

/// What all parts of one answer share.
#[derive(Debug, Clone)]
pub(in crate::server) struct Reply {
    pub(in crate::server) id: String,
    /// Seconds since 1970.
    pub(in crate::server) created: u64,
    pub(in crate::server) model: String,
    /// The seed that was used.
    pub(in crate::server) seed: u64,
    /// Whether a stream ends with a chunk for the usage alone; every other then says `null`.
    pub(in crate::server) include_usage: bool,
}

impl Reply {
    /// The whole answer.
    pub(in crate::server) fn whole(&self, text: &str, outcome: &Outcome) -> Value {
        json!({
            "id": self.id, "object": "chat.completion", "created": self.created,
            "model": self.model,
            "choices": [{
                "index": 0,
                "message": { "role": "assistant", "content": text, "refusal": null },
                "logprobs": null,
                "finish_reason": finish_reason(outcome.finish),
            }],
            "usage": usage(outcome), "timings": timings(outcome), "seed": self.seed,
        })
    }

    /// The chunk before the first text.
    pub(in crate::server) fn role_chunk(&self) -> Value {
        self.chunk(json!([choice(json!({ "role": "assistant" }), None)]))
    }

    /// A piece of the answer.
    pub(in crate::server) fn text_chunk(&self, text: &str) -> Value {
        self.chunk(json!([choice(json!({ "content": text }), None)]))
    }

    /// The chunks that end a stream: the last with a choice, and the one for the usage if it was
    /// asked for. The numbers stand in exactly one `usage`.
    pub(in crate::server) fn last_chunks(&self, outcome: &Outcome) -> Vec<Value> {
        let mut finish = self.chunk(json!([choice(json!({}), Some(outcome.finish))]));
        finish["timings"] = timings(outcome);
        finish["seed"] = self.seed.into();
        if !self.include_usage {
            finish["usage"] = usage(outcome);
            return vec![finish];
        }
        let mut last = self.chunk(json!([]));
        last["usage"] = usage(outcome);
        last["timings"] = timings(outcome);
        vec![finish, last]
    }

    fn chunk(&self, choices: Value) -> Value {
        let mut chunk = json!({
            "id": self.id, "object": "chat.completion.chunk", "created": self.created,
            "model": self.model, "choices": choices,
        });
        if self.include_usage {
            chunk["usage"] = Value::Null;
        }
        chunk
    }
}

/// `GET /v1/models`: the one model.
pub(in crate::server) fn models(id: &str, created: u64) -> Value {
    json!({
        "object": "list",
        "data": [{ "id": id, "object": "model", "created": created, "owned_by": "strata" }],
    })
}

fn choice(delta: Value, finish: Option<Finish>) -> Value {
    json!({ "index": 0, "delta": delta, "finish_reason": finish.map(finish_reason) })
}

fn finish_reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::Length => "length",
    }
}

fn usage(outcome: &Outcome) -> Value {
    json!({
        "prompt_tokens": outcome.prompt_tokens,
        "completion_tokens": outcome.output_tokens,
        "total_tokens": outcome.prompt_tokens + outcome.output_tokens,
        "prompt_tokens_details": { "cached_tokens": outcome.cached_tokens },
    })
}

fn timings(outcome: &Outcome) -> Value {
    let prompt_n = outcome.prompt_tokens - outcome.cached_tokens;
    let (prompt_ms, predicted_ms) = (floor_ms(outcome.prompt), floor_ms(outcome.predicted));
    json!({
        "cache_n": outcome.cached_tokens,
        "prompt_n": prompt_n,
        "prompt_ms": prompt_ms,
        "prompt_per_second": rate(prompt_n, prompt_ms),
        "predicted_n": outcome.output_tokens,
        "predicted_ms": predicted_ms,
        "predicted_per_second": rate(outcome.output_tokens, predicted_ms),
    })
}

/// Milliseconds, rounded down to one decimal.
fn floor_ms(duration: Duration) -> f64 {
    (duration.as_micros() / 100) as f64 / 10.0
}

/// Tokens per second from the numbers as they are printed; unknown when no time was measured.
fn rate(tokens: usize, ms: f64) -> Option<f64> {
    (ms > 0.0).then(|| tokens as f64 * 1000.0 / ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(include_usage: bool) -> Reply {
        Reply { id: "id".into(), created: 7, model: "m".into(), seed: 3, include_usage }
    }

    fn outcome(prompt_us: u64, predicted_us: u64) -> Outcome {
        Outcome {
            finish: Finish::Stop,
            prompt_tokens: 12_000,
            cached_tokens: 8_000,
            output_tokens: 5,
            prompt: Duration::from_micros(prompt_us),
            predicted: Duration::from_micros(predicted_us),
        }
    }

    #[test]
    fn prompt_speed_counts_what_was_read() {
        let timings = timings(&outcome(4_000_000, 500_000));
        assert_eq!(timings["cache_n"], 8_000);
        assert_eq!(timings["prompt_n"], 4_000);
        assert_eq!(timings["prompt_per_second"], 1_000.0);
        assert_eq!(timings["predicted_per_second"], 10.0);
    }

    #[test]
    fn times_are_rounded_down_and_unknown_rates_are_null() {
        let check = |us, ms: f64, rate: Value| {
            let timings = timings(&outcome(us, us));
            assert_eq!(timings["predicted_ms"], ms, "{us} us");
            assert_eq!(timings["predicted_per_second"], rate, "{us} us");
        };
        check(0, 0.0, Value::Null);
        check(99, 0.0, Value::Null);
        check(100, 0.1, json!(50_000.0));
        check(1_299, 1.2, json!(5_000.0 / 1.2));
        check(12_399, 12.3, json!(5_000.0 / 12.3));
    }

    #[test]
    fn the_numbers_stand_in_one_usage() {
        let usages = |include| {
            let reply = reply(include);
            let mut chunks = vec![reply.role_chunk(), reply.text_chunk("x")];
            chunks.extend(reply.last_chunks(&outcome(1, 1)));
            let shown = |chunk: &Value| match chunk.get("usage") {
                None => "absent",
                Some(Value::Null) => "null",
                Some(_) if chunk["choices"] == json!([]) => "alone",
                Some(_) => "with the finish",
            };
            chunks.iter().map(shown).collect::<Vec<_>>()
        };
        assert_eq!(usages(false), ["absent", "absent", "with the finish"]);
        assert_eq!(usages(true), ["null", "null", "null", "alone"]);
    }
}
