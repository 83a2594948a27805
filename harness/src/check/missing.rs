//! Nulls and their reasons: every unknown is named in `missing`, and nothing else is.

use super::report::{Report, quoted};
use super::rule::{Log, breach};
use crate::json::{Value, escape};
use std::collections::HashSet;

/// The pointers of all nulls outside `missing`, in the order of the document.
fn nulls(report: &Report) -> Vec<String> {
    let mut nulls = Vec::new();
    report.root.walk(&mut |place, value| {
        if value.is_null() {
            nulls.push(place.to_string());
        }
    });
    nulls.retain(|pointer| !pointer.starts_with("/missing/"));
    nulls
}

fn reasons<'a>(report: &Report<'a>) -> &'a [(String, Value)] {
    report.root.get("missing").map(Value::entries).unwrap_or_default()
}

fn place(key: &str) -> String {
    format!("/missing/{}", escape(key))
}

pub(super) fn every_null_has_a_reason(report: &Report, log: &mut Log) {
    let nulls = nulls(report);
    let unknown: HashSet<&str> = nulls.iter().map(String::as_str).collect();
    let named: HashSet<&str> = reasons(report).iter().map(|(key, _)| key.as_str()).collect();
    for pointer in &nulls {
        log.judge(named.contains(pointer.as_str()), || {
            breach(pointer, "a reason in /missing, or a value", "null")
        });
    }
    for (key, _) in reasons(report) {
        log.judge(unknown.contains(key.as_str()), || {
            breach(place(key), "the pointer of a null", quoted(key))
        });
    }
}

pub(super) fn reasons_in_document_order(report: &Report, log: &mut Log) {
    let nulls = nulls(report);
    let named: Vec<&str> = reasons(report).iter().map(|(key, _)| key.as_str()).collect();
    let known: HashSet<&str> = named.iter().copied().collect();
    let wanted = nulls.iter().map(String::as_str).filter(|pointer| known.contains(pointer));
    let unknown: HashSet<&str> = nulls.iter().map(String::as_str).collect();
    let found = named.iter().copied().filter(|key| unknown.contains(key));
    let astray = wanted.zip(found).find(|(wanted, found)| wanted != found);
    log.judge(astray.is_none(), || {
        let (wanted, found) = astray.expect("judged above");
        breach(place(found), format!("{} before it", quoted(wanted)), quoted(found))
    });
}

pub(super) fn reasons_are_words(report: &Report, log: &mut Log) {
    for (key, reason) in reasons(report) {
        log.judge(reason.as_str().is_some_and(|reason| !reason.trim().is_empty()), || {
            breach(place(key), "a reason in words", reason)
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
    let by_key: std::collections::HashMap<&str, &Value> =
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
