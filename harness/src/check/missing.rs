//! Nulls and their reasons: every unknown is named in `missing`, and nothing else is.

use super::report::{Report, printed, quoted};
use super::rule::{Log, MAX_FINDINGS, breach};
use crate::json::{Path, Value, escape};
use std::collections::HashMap;

/// Longest pointer of a null, in bytes, for which there can be a reason.
const MAX_POINTER: usize = 512;

/// The nulls of a document beside the reasons in `missing`, found in one walk.
pub(super) struct Nulls<'a> {
    reasons: &'a [(String, Value)],
    /// The reason of each null that has one, in the order of the document, as an index.
    named: Vec<usize>,
    /// How many nulls have none, and the places of the first.
    unnamed: usize,
    first: Vec<String>,
}

impl<'a> Nulls<'a> {
    pub(super) fn new(root: &'a Value) -> Nulls<'a> {
        let reasons = root.get("missing").map(Value::entries).unwrap_or_default();
        let keys = reasons.iter().enumerate().map(|(index, (key, _))| (key.as_str(), index));
        let keys: HashMap<&str, usize> = keys.collect();
        let mut nulls = Nulls { reasons, named: Vec::new(), unnamed: 0, first: Vec::new() };
        root.walk(&mut |place, value| {
            if value.is_null() {
                let pointer = place.within(MAX_POINTER);
                match pointer.as_deref() {
                    Some(pointer) if pointer.starts_with("/missing/") => {}
                    Some(pointer) if keys.contains_key(pointer) => nulls.named.push(keys[pointer]),
                    _ => nulls.add_unnamed(place),
                }
            }
        });
        nulls
    }

    fn add_unnamed(&mut self, place: &Path) {
        self.unnamed += 1;
        if self.first.len() < MAX_FINDINGS {
            self.first.push(place.brief());
        }
    }
}

fn place(key: &str) -> String {
    format!("/missing/{}", escape(key))
}

pub(super) fn every_null_has_a_reason(report: &Report, log: &mut Log) {
    let Nulls { reasons, named, unnamed, first } = &report.nulls;
    for index in 0..*unnamed {
        log.judge(false, || {
            let at = first.get(index).cloned().unwrap_or_default();
            breach(at, "a reason in /missing, or a value", "null")
        });
    }
    let mut of_a_null = vec![false; reasons.len()];
    for index in named {
        log.judge(true, || unreachable!("it holds"));
        of_a_null[*index] = true;
    }
    for ((key, _), of_a_null) in reasons.iter().zip(of_a_null) {
        log.judge(of_a_null, || breach(place(key), "the pointer of a null", quoted(key)));
    }
}

pub(super) fn reasons_in_document_order(report: &Report, log: &mut Log) {
    let Nulls { reasons, named, .. } = &report.nulls;
    let mut sorted = named.clone();
    sorted.sort_unstable();
    let astray = named.iter().zip(&sorted).find(|(wanted, found)| wanted != found);
    log.judge(astray.is_none(), || {
        let (wanted, found) = astray.map_or(("", ""), |(wanted, found)| {
            (reasons[*wanted].0.as_str(), reasons[*found].0.as_str())
        });
        breach(place(found), format!("{} before it", quoted(wanted)), quoted(found))
    });
}

pub(super) fn reasons_are_words(report: &Report, log: &mut Log) {
    for (key, reason) in report.nulls.reasons {
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
        report.nulls.reasons.iter().map(|(key, reason)| (key.as_str(), reason)).collect();
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
