//! Nulls and their reasons: every unknown is named in `missing`, and nothing else is.

use super::report::{Report, printed, quoted};
use super::rule::{Log, breach};
use crate::json::{Path, Value, escape};
use std::collections::HashMap;

/// Longest pointer of a null, in bytes, for which there can be a reason.
const MAX_POINTER: usize = 512;

/// Calls `visit` with every null outside `missing` in the order of the document, by its pointer if
/// that is not too long, and with the way to it for messages.
fn each_null(report: &Report, mut visit: impl FnMut(Option<&str>, &Path)) {
    report.root.walk(&mut |place, value| {
        if value.is_null() {
            let pointer = place.within(MAX_POINTER);
            if !pointer.as_ref().is_some_and(|pointer| pointer.starts_with("/missing/")) {
                visit(pointer.as_deref(), place);
            }
        }
    });
}

fn reasons<'a>(report: &Report<'a>) -> &'a [(String, Value)] {
    report.root.get("missing").map(Value::entries).unwrap_or_default()
}

/// The keys of `missing`, each with whether it is the pointer of a null.
fn keys<'a>(report: &Report<'a>) -> HashMap<&'a str, bool> {
    let mut keys: HashMap<&str, bool> =
        reasons(report).iter().map(|(key, _)| (key.as_str(), false)).collect();
    each_null(report, |pointer, _| {
        if let Some(found) = pointer.and_then(|pointer| keys.get_mut(pointer)) {
            *found = true;
        }
    });
    keys
}

fn place(key: &str) -> String {
    format!("/missing/{}", escape(key))
}

pub(super) fn every_null_has_a_reason(report: &Report, log: &mut Log) {
    let keys = keys(report);
    each_null(report, |pointer, place| {
        log.judge(pointer.is_some_and(|pointer| keys.contains_key(pointer)), || {
            breach(place.brief(), "a reason in /missing, or a value", "null")
        });
    });
    for (key, _) in reasons(report) {
        log.judge(keys[key.as_str()], || breach(place(key), "the pointer of a null", quoted(key)));
    }
}

pub(super) fn reasons_in_document_order(report: &Report, log: &mut Log) {
    let keys = keys(report);
    let mut found = reasons(report).iter().map(|(key, _)| key.as_str()).filter(|key| keys[key]);
    let mut astray = None;
    each_null(report, |pointer, _| {
        let named = pointer.filter(|pointer| astray.is_none() && keys.contains_key(pointer));
        if let Some(pointer) = named {
            let next = found.next().filter(|key| *key != pointer);
            astray = next.map(|key| (pointer.to_string(), key));
        }
    });
    log.judge(astray.is_none(), || {
        let (wanted, found) = astray.expect("judged above");
        breach(place(found), format!("{} before it", quoted(&wanted)), quoted(found))
    });
}

pub(super) fn reasons_are_words(report: &Report, log: &mut Log) {
    for (key, reason) in reasons(report) {
        log.judge(reason.as_str().is_some_and(|reason| !reason.trim().is_empty()), || {
            breach(place(key), "a reason in words", printed(Some(reason)))
        });
    }
}

/// Reasons that the format fixes, by field of a request that ended.
const FIXED: [(&str, &str); 5] = [
    ("/round", "not applicable outside the concurrency stage"),
    ("/error", "none: the request ended normally"),
    ("/token_accounting_note", "none: the API and engine counts agree or only one exists"),
    ("/evaluation", "not applicable outside the sanity stage"),
    (
        "/timings/first_answer_s",
        "no answer text or tool call arrived (reasoning alone does not count)",
    ),
];

pub(super) fn request_reasons_are_fixed(report: &Report, log: &mut Log) {
    let missing = report.root.get("missing");
    let by_key: HashMap<&str, &Value> =
        reasons(report).iter().map(|(key, reason)| (key.as_str(), reason)).collect();
    if missing.is_none() {
        return;
    }
    for request in report.requests.iter().filter(|request| request.ended()) {
        for (field, wanted) in FIXED {
            let key = request.place(field);
            let Some(found) = by_key.get(key.as_str()).and_then(|reason| reason.as_str()) else {
                continue;
            };
            log.judge(found == wanted, || breach(place(&key), quoted(wanted), quoted(found)));
        }
    }
}

const COUNTS: [&str; 5] = [
    "/tokens/input_tokens",
    "/tokens/cached_tokens",
    "/tokens/read_tokens",
    "/tokens/output_tokens",
    "/tokens/decode_tokens",
];

/// What the client saw is always known. A server that is not ours may keep counts to itself, and a
/// rate needs a time that is not zero and enough tokens: one to read, two to decode.
pub(super) fn figures_of_ended_requests(report: &Report, log: &mut Log) {
    for request in report.requests.iter().filter(|request| request.ended()) {
        let null = |field: &str| request.value.pointer(field).is_some_and(Value::is_null);
        let silent = null("/first_delta_kind");
        for field in ["/timings/ttft_s", "/timings/total_s"] {
            let excused = silent && field == "/timings/ttft_s";
            log.judge(excused || !null(field), || {
                breach(request.place(field), format!("a time: it {}", request.status), "null")
            });
        }
        let rates = [
            ("/metrics/prompt_tps", request.read_tokens, 1, request.prompt_ns),
            ("/metrics/decode_tps", request.decode_tokens, 2, request.decode_ns),
        ];
        for (field, tokens, least, time) in rates {
            let known = tokens.is_some_and(|n| n >= least) && time.is_some_and(|ns| ns > 0);
            log.judge(!known || !null(field), || {
                breach(request.place(field), "a rate: tokens and time are known", "null")
            });
        }
        let timed = request.prompt_ns.is_some() || request.decode_ns.is_some();
        for field in COUNTS.iter().filter(|_| timed) {
            log.judge_mildly(!null(field), || {
                breach(request.place(field), "a count: this server states its timings", "null")
            });
        }
    }
}
