//! What a recorded reply says, read the way OpenAI's clients do: text, reasoning and tool calls
//! joined from their deltas, the counts the server states, and whether it all ended as it must.
//! It judges the form only; what the numbers amount to is `account`'s.

use crate::client::transport::FaultKind;
use crate::json::{self, Number, Value};
use crate::record::{Attempt, StampedEvent};
use crate::report::evaluate::ToolCall;
use serde::Serialize;
use std::collections::BTreeMap;

/// Most characters of a server's own words in a reason.
const MAX_QUOTED: usize = 200;

/// A reply, read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Transcript {
    /// The first delta that carried text or a call, of any kind.
    pub first_delta: Option<(DeltaKind, u64)>,
    /// Stamp of the first answer text or tool call.
    pub first_answer_ns: Option<u64>,
    /// Stamp of `[DONE]`, else of the end however it came.
    pub end_ns: u64,
    /// The answer.
    pub answer: String,
    /// The reasoning, whether sent as `reasoning_content` or as `reasoning`.
    pub reasoning: String,
    /// The calls by index.
    pub tool_calls: Vec<ToolCall>,
    /// The last one that was not null.
    pub finish_reason: Option<String>,
    /// The last usage object that counted anything.
    pub usage: Usage,
    /// The last `timings` object.
    pub timings: EngineTimings,
    /// Why this is not a finished reply.
    pub failure: Option<Failure>,
}

/// What a delta brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // the report's words
pub enum DeltaKind {
    Reasoning,
    Content,
    ToolCall,
}

/// Counts by the API. Absent is `None`, never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)] // OpenAI's names
pub struct Usage {
    pub prompt_tokens: Option<u64>,
    pub cached_tokens: Option<u64>,
    pub completion_tokens: Option<u64>,
}

/// Counts and times by the engine, as llama.cpp names them. Absent is `None`, never zero.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[allow(missing_docs)] // llama.cpp's names
pub struct EngineTimings {
    pub cache_n: Option<u64>,
    pub prompt_n: Option<u64>,
    pub prompt_ms: Option<f64>,
    pub predicted_n: Option<u64>,
    pub predicted_ms: Option<f64>,
    pub predicted_per_second: Option<f64>,
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What callers decide by.
    pub kind: FailureKind,
    /// For the report's `error`.
    pub reason: String,
}

/// Who or what ended a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The operator.
    Interrupted,
    /// The connection could not be made, or broke.
    Lost,
    /// A limit of the operator's.
    Timeout,
    /// The server, in words: a status or an error object.
    Refused,
    /// The model, by ending at once: a finished reply without a token of text.
    Empty,
    /// The server, by breaking the protocol.
    Breach,
}

/// Reads a recorded reply.
pub fn transcribe(attempt: &Attempt) -> Transcript {
    let mut reading = Reading::default();
    for (i, event) in attempt.events.iter().enumerate() {
        reading.event(i, event);
    }
    reading.finish(attempt)
}

#[derive(Default)]
struct Reading {
    transcript: Transcript,
    calls: BTreeMap<u64, ToolCall>,
    done_ns: Option<u64>,
}

impl Reading {
    fn event(&mut self, i: usize, event: &StampedEvent) {
        if event.data.is_empty() || self.done_ns.is_some() {
            return;
        }
        if event.data.trim() == "[DONE]" {
            self.done_ns = Some(event.at_ns);
            return;
        }
        let chunk = match json::parse(event.data.as_bytes()) {
            Ok(chunk) => chunk,
            Err(error) => {
                let reason = format!("event {i} is not JSON: {error}");
                return self.fail(FailureKind::Breach, reason);
            }
        };
        let error = chunk.get("error").filter(|error| !error.is_null());
        if error.is_some() || event.name.as_deref() == Some("error") {
            let said = quote_error(error.unwrap_or(&chunk));
            return self.fail(FailureKind::Refused, format!("event {i} is an error: {said}"));
        }
        self.chunk(&chunk, event.at_ns);
    }

    fn chunk(&mut self, chunk: &Value, at_ns: u64) {
        let choices = chunk.get("choices").map_or(&[][..], Value::items);
        // Only one choice is ever asked for.
        for choice in choices.iter().filter(|choice| count(choice.get("index")) <= Some(0)) {
            if let Some(delta) = choice.get("delta") {
                self.delta(delta, at_ns);
            }
            if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
                self.transcript.finish_reason = Some(reason.to_string());
            }
        }
        // Some servers send usage with every chunk, zero until the end: the last word counts.
        if let Some(usage) = chunk.get("usage").map(read_usage).filter(|u| *u != Usage::default()) {
            self.transcript.usage = usage;
        }
        if let Some(timings) =
            chunk.get("timings").filter(|timings| matches!(timings, Value::Object(_)))
        {
            self.transcript.timings = read_timings(timings);
        }
    }

    fn delta(&mut self, delta: &Value, at_ns: u64) {
        let text = |key: &str| delta.get(key).and_then(Value::as_str).filter(|t| !t.is_empty());
        if let Some(reasoning) = text("reasoning_content").or_else(|| text("reasoning")) {
            self.transcript.reasoning.push_str(reasoning);
            self.seen(DeltaKind::Reasoning, at_ns);
        }
        if let Some(content) = text("content") {
            self.transcript.answer.push_str(content);
            self.seen(DeltaKind::Content, at_ns);
        }
        let calls = delta.get("tool_calls").map_or(&[][..], Value::items);
        for (position, call) in calls.iter().enumerate() {
            let index = count(call.get("index")).unwrap_or(position as u64);
            let joined = self.calls.entry(index).or_default();
            let part = |key: &str| call.get("function")?.get(key)?.as_str();
            joined.name.push_str(part("name").unwrap_or_default());
            joined.arguments.push_str(part("arguments").unwrap_or_default());
            self.seen(DeltaKind::ToolCall, at_ns);
        }
    }

    fn seen(&mut self, kind: DeltaKind, at_ns: u64) {
        self.transcript.first_delta.get_or_insert((kind, at_ns));
        if kind != DeltaKind::Reasoning {
            self.transcript.first_answer_ns.get_or_insert(at_ns);
        }
    }

    /// The first failure is the cause, later ones follow from it.
    fn fail(&mut self, kind: FailureKind, reason: String) {
        self.transcript.failure.get_or_insert(Failure { kind, reason });
    }

    fn finish(mut self, attempt: &Attempt) -> Transcript {
        self.transcript.end_ns = self.done_ns.unwrap_or(attempt.end_ns);
        self.transcript.tool_calls = std::mem::take(&mut self.calls).into_values().collect();
        if let Some((kind, reason)) = self.bad_end(attempt) {
            self.fail(kind, reason);
        }
        self.transcript
    }

    fn bad_end(&self, attempt: &Attempt) -> Option<(FailureKind, String)> {
        if let Some(body) = &attempt.body
            && attempt.fault.is_none()
        {
            let status = attempt.http_status.unwrap_or_default();
            let kind = attempt.content_type.as_deref().unwrap_or("no content type");
            let said = match json::parse(body.as_bytes()) {
                Ok(json) => quote_error(json.get("error").unwrap_or(&json)),
                Err(_) => quote(body),
            };
            let reason = format!("HTTP {status}, {kind} instead of an event stream: {said}");
            return Some((FailureKind::Refused, reason));
        }
        if self.done_ns.is_none() {
            let breach = "the stream ended without [DONE]".to_string();
            return Some(match &attempt.fault {
                None => (FailureKind::Breach, breach),
                Some(fault) => (fault_kind(fault.kind), fault.message.clone()),
            });
        }
        let breach = |reason| Some((FailureKind::Breach, reason));
        match self.transcript.finish_reason.as_deref() {
            None => breach("[DONE] came without a finish_reason".to_string()),
            Some("stop" | "length" | "tool_calls") => match self.transcript.first_delta {
                Some(_) => None,
                None => Some((FailureKind::Empty, "no token of text arrived".to_string())),
            },
            Some(other) => {
                breach(format!("finish_reason {} is not one a report knows", quote(other)))
            }
        }
    }
}

fn fault_kind(kind: FaultKind) -> FailureKind {
    match kind {
        FaultKind::Interrupted => FailureKind::Interrupted,
        FaultKind::Connect | FaultKind::Broken => FailureKind::Lost,
        FaultKind::Timeout => FailureKind::Timeout,
        FaultKind::Malformed => FailureKind::Breach,
    }
}

/// Absent is `None`, and so is what is no whole number from 0.
fn count(value: Option<&Value>) -> Option<u64> {
    value?.as_number()?.as_u64()
}

fn read_usage(usage: &Value) -> Usage {
    let count = |pointer: &str| count(usage.pointer(pointer));
    Usage {
        prompt_tokens: count("/prompt_tokens"),
        cached_tokens: count("/prompt_tokens_details/cached_tokens"),
        completion_tokens: count("/completion_tokens"),
    }
}

fn read_timings(timings: &Value) -> EngineTimings {
    let count = |key: &str| count(timings.get(key));
    let number = |key: &str| {
        let number = timings.get(key)?.as_number().map(Number::as_f64);
        number.filter(|x| x.is_finite() && *x >= 0.0)
    };
    EngineTimings {
        cache_n: count("cache_n"),
        prompt_n: count("prompt_n"),
        prompt_ms: number("prompt_ms"),
        predicted_n: count("predicted_n"),
        predicted_ms: number("predicted_ms"),
        predicted_per_second: number("predicted_per_second"),
    }
}

/// The message of an error object, in whichever of the usual shapes.
fn quote_error(error: &Value) -> String {
    let message = error.get("message").or_else(|| error.get("detail")).unwrap_or(error);
    quote(&message.as_str().map_or_else(|| message.to_string(), str::to_string))
}

/// A server's words as one short line.
fn quote(text: &str) -> String {
    let line: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("`{}...`", &line[..end]),
        None => format!("`{line}`"),
    }
}

#[cfg(test)]
mod tests;
