//! The tokens of each request: what was read, what was cached, what came out, and how it ended.

use super::report::{Report, Request, quoted};
use super::rule::{Log, breach};
use crate::protocol::Evaluator;

pub(super) fn read_is_input_less_cached(report: &Report, log: &mut Log) {
    for request in &report.requests {
        let (Some(input), Some(cached)) = (request.input_tokens, request.cached_tokens) else {
            continue;
        };
        let Some(read) = request.read_tokens else {
            log.judge(cached <= input || noted(request), || {
                let expected = format!("at most input {input}, or a note");
                breach(request.place("/tokens/cached_tokens"), expected, cached)
            });
            continue;
        };
        log.judge(input.checked_sub(cached) == Some(read) || noted(request), || {
            let expected = format!("input {input} - cached {cached}, or a note");
            breach(request.place("/tokens/read_tokens"), expected, read)
        });
    }
}

/// Whether the report says why the API and the engine count differently.
fn noted(request: &Request) -> bool {
    let note = request.value.get("token_accounting_note").and_then(|note| note.as_str());
    note.is_some_and(|note| !note.trim().is_empty())
}

pub(super) fn output_is_decoded(report: &Report, log: &mut Log) {
    for request in &report.requests {
        let (Some(output), Some(decode)) = (request.output_tokens, request.decode_tokens) else {
            continue;
        };
        log.judge(output == decode || noted(request), || {
            let expected = format!("output {output}, or a note");
            breach(request.place("/tokens/decode_tokens"), expected, decode)
        });
    }
}

pub(super) fn nothing_cached(report: &Report, log: &mut Log) {
    for request in &report.requests {
        if let Some(cached) = request.cached_tokens {
            log.judge(cached == 0, || breach(request.place("/tokens/cached_tokens"), 0, cached));
        }
    }
}

/// That a server went beyond what it was asked for is not the report's fault, if it says so.
pub(super) fn output_within_cap(report: &Report, log: &mut Log) {
    let admitted = report.admits("output cap");
    for request in report.requests.iter().filter(|request| request.ended()) {
        let (Some(output), Some(cap)) = (request.output_tokens, request.max_output_tokens) else {
            continue;
        };
        log.judge_unless(admitted, 0 < output && output <= cap, || {
            breach(request.place("/tokens/output_tokens"), format!("1 to {cap}"), output)
        });
    }
}

/// A request may stop of itself exactly at its cap, so that half is only a warning.
pub(super) fn truncated_is_length_is_cap(report: &Report, log: &mut Log) {
    for request in report.requests.iter().filter(|request| request.ended()) {
        let truncated = request.status == "truncated";
        let length = request.finish_reason == Some("length");
        log.judge(truncated == length, || {
            let expected = format!("length exactly if truncated, status {}", request.status);
            breach(request.place("/finish_reason"), expected, request.printed("/finish_reason"))
        });
        let (Some(output), Some(cap)) = (request.output_tokens, request.max_output_tokens) else {
            continue;
        };
        log.judge_mildly(truncated == (output == cap), || {
            let expected = format!("{cap} exactly if truncated, status {}", request.status);
            breach(request.place("/tokens/output_tokens"), expected, output)
        });
    }
}

pub(super) fn completed_ends_well(report: &Report, log: &mut Log) {
    for request in report.requests.iter().filter(|request| request.status == "completed") {
        log.judge(matches!(request.finish_reason, Some("stop" | "tool_calls")), || {
            let found = request.printed("/finish_reason");
            breach(request.place("/finish_reason"), "stop or tool_calls", found)
        });
    }
}

pub(super) fn tool_calls_where_asked(report: &Report, log: &mut Log) {
    for request in report.requests.iter().filter(|request| request.ended()) {
        let Some(planned) = request.planned else { continue };
        let asked = matches!(planned.case.evaluator, Some(Evaluator::ToolCall { .. }));
        let called = request.finish_reason == Some("tool_calls");
        log.judge(asked == called, || {
            let expected = if asked { "tool_calls" } else { "no tool_calls" };
            breach(request.place("/finish_reason"), expected, request.printed("/finish_reason"))
        });
    }
}

pub(super) fn error_only_if_failed(report: &Report, log: &mut Log) {
    for request in &report.requests {
        let Some(error) = request.value.get("error") else { continue };
        log.judge(error.is_null() || request.status == "failed", || {
            let expected = format!("null for status {}", quoted(request.status));
            breach(request.place("/error"), expected, request.printed("/error"))
        });
    }
}

pub(super) fn request_fits_context(report: &Report, log: &mut Log) {
    let Some(context) = report.count("/configuration/context_tokens") else { return };
    for request in &report.requests {
        let (Some(input), Some(cap)) = (request.input_tokens, request.max_output_tokens) else {
            continue;
        };
        log.judge(input.saturating_add(cap) <= context, || {
            let expected = format!("input + cap {cap} within the context of {context}");
            breach(request.place("/tokens/input_tokens"), expected, input)
        });
    }
}
