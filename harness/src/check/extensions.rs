//! What a report adds under `extensions`: checks of each payload, reasons of the status, and, in
//! reports of this program, offsets of events and digests of request bodies.

use super::report::{Report, Request, printed, quoted};
use super::rule::{Log, breach};
use super::timing::seconds;
use crate::corpus::{Lengths, known};
use crate::digest::is_sha256;
use crate::json::{Value, escape};
use std::collections::{HashMap, HashSet};

/// An entry that is keyed by request id, beside its request.
struct Entry<'r, 'a> {
    request: &'r Request<'a>,
    value: &'a Value,
}

impl Entry<'_, '_> {
    fn count(&self, field: &str) -> Option<u64> {
        self.value.get(field)?.as_number()?.as_u64()
    }

    fn flag(&self, field: &str) -> Option<bool> {
        self.value.get(field)?.as_bool()
    }

    fn is_null(&self, field: &str) -> bool {
        self.value.get(field).is_some_and(Value::is_null)
    }

    fn place(&self, field: &str) -> String {
        format!("/extensions/request_checks/{}/{field}", escape(self.request.id))
    }
}

/// An object of `extensions` that is keyed by request id: each entry beside its request.
fn by_request<'r, 'a>(report: &'r Report<'a>, block: &str) -> Vec<Entry<'r, 'a>> {
    let entries = report.at("/extensions").and_then(|all| all.get(block)).map(Value::entries);
    let entries = entries.unwrap_or_default();
    let values: HashMap<&str, &Value> =
        entries.iter().map(|(id, value)| (id.as_str(), value)).collect();
    let beside = |request| Some(Entry { request, value: values.get(request.id).copied()? });
    report.requests.iter().filter_map(beside).collect()
}

fn checks<'r, 'a>(report: &'r Report<'a>) -> Vec<Entry<'r, 'a>> {
    by_request(report, "request_checks")
}

pub(super) fn checks_are_the_requests(report: &Report, log: &mut Log) {
    judge_ids(report, log, "request_checks");
}

fn judge_ids(report: &Report, log: &mut Log, block: &str) {
    let at = format!("/extensions/{block}");
    let Some(found) = report.at(&at) else { return };
    let found: Vec<&str> = found.entries().iter().map(|(id, _)| id.as_str()).collect();
    for index in 0..found.len().max(report.requests.len()) {
        let wanted = report.requests.get(index).map(|request| request.id);
        let found = found.get(index).copied();
        log.judge(found == wanted, || {
            let words = |id: Option<&str>| id.map_or("nothing".to_string(), quoted);
            breach(at.clone(), format!("{} as request {index}", words(wanted)), words(found))
        });
    }
}

/// The report's own figure, and the protocol's where it pins one. A length that is outside the
/// tolerance, and said to be, is no error.
pub(super) fn input_is_as_frozen(report: &Report, log: &mut Log) {
    for check in checks(report) {
        let Some(frozen) = check.count("frozen_input_tokens") else { continue };
        if let Some(input) = check.request.input_tokens {
            let told = check.flag("length_outside_tolerance") == Some(true);
            log.judge(frozen == input || told, || {
                breach(check.place("frozen_input_tokens"), format!("input_tokens {input}"), frozen)
            });
        }
        if let Some(pinned) = report.frozen_input_tokens(check.request.id) {
            log.judge(frozen == pinned, || {
                let expected = format!("{pinned} by the protocol");
                breach(check.place("frozen_input_tokens"), expected, frozen)
            });
        }
    }
}

pub(super) fn reuse_is_cached_beyond_prefix(report: &Report, log: &mut Log) {
    for check in checks(report) {
        let (Some(reuse), Some(shared), Some(cached)) = (
            check.flag("unexpected_payload_reuse"),
            check.count("max_shared_prefix_tokens"),
            check.request.cached_tokens,
        ) else {
            continue;
        };
        log.judge(reuse == (cached > shared), || {
            let expected = format!("{}: {cached} cached, {shared} shared", cached > shared);
            breach(check.place("unexpected_payload_reuse"), expected, reuse)
        });
    }
}

pub(super) fn shared_prefix_is_shorter(report: &Report, log: &mut Log) {
    for check in checks(report) {
        let (Some(shared), Some(frozen)) =
            (check.count("max_shared_prefix_tokens"), check.count("frozen_input_tokens"))
        else {
            continue;
        };
        log.judge(shared < frozen, || {
            let expected = format!("less than frozen_input_tokens {frozen}");
            breach(check.place("max_shared_prefix_tokens"), expected, shared)
        });
    }
}

/// Measured from the frozen length or from the nominal one: a report does not say which.
pub(super) fn length_flag_is_as_measured(report: &Report, log: &mut Log) {
    let Some(protocol) = report.protocol else { return };
    let complete = report.text("/run/status") == Some("complete");
    for check in checks(report) {
        let Some(outside) = check.flag("length_outside_tolerance") else { continue };
        let at = || check.place("length_outside_tolerance");
        log.judge(!(outside && complete), || breach(at(), "false in a complete run", outside));
        let nominal = check.request.planned.and_then(|planned| planned.case.nominal_input_tokens);
        let lengths = [check.count("frozen_input_tokens"), nominal];
        let far = |length: &u64| {
            let input = check.request.input_tokens?;
            Some(input.abs_diff(*length) > protocol.length_tolerance_tokens)
        };
        let measured: Vec<bool> = lengths.iter().flatten().filter_map(far).collect();
        if !measured.is_empty() {
            log.judge(measured.contains(&outside), || {
                let tolerance = protocol.length_tolerance_tokens;
                breach(at(), format!("{} at a tolerance of {tolerance}", !outside), outside)
            });
        }
    }
}

pub(super) fn length_is_near_nominal(report: &Report, log: &mut Log) {
    let Some(protocol) = report.protocol else { return };
    let tolerance = protocol.length_tolerance_tokens;
    for request in &report.requests {
        let nominal = request.planned.and_then(|planned| planned.case.nominal_input_tokens);
        let (Some(nominal), Some(input)) = (nominal, request.input_tokens) else { continue };
        log.judge(input.abs_diff(nominal) <= tolerance, || {
            let expected = format!("within {tolerance} of the nominal {nominal}");
            breach(request.place("/tokens/input_tokens"), expected, input)
        });
    }
}

/// It is a maximum over pairs, so both of a pair have it, unless one of them was not sent.
pub(super) fn longest_shared_prefix_twice(report: &Report, log: &mut Log) {
    let phases = report.protocol.map(|protocol| protocol.phases.as_slice()).unwrap_or_default();
    if phases.iter().any(|phase| phase.optional) && !report.concurrent() {
        return log.idle("payloads of the optional stage were not sent");
    }
    let shared: Vec<u64> =
        checks(report).iter().filter_map(|check| check.count("max_shared_prefix_tokens")).collect();
    let Some(longest) = shared.iter().max() else { return };
    log.judge(shared.iter().filter(|tokens| *tokens == longest).count() >= 2, || {
        let expected = format!("the longest, {longest}, at both of a pair");
        breach("/extensions/request_checks", expected, "one request with it")
    });
}

pub(super) fn shared_prefix_is_of_the_corpus(report: &Report, log: &mut Log) {
    let checks = checks(report);
    let Some(check) = checks.first() else { return };
    let Some(shared) = check.count("max_shared_prefix_tokens") else { return };
    log.judge(shared > 0, || {
        let expected = "more than 0: payloads of the whole corpus count, not only earlier ones";
        breach(check.place("max_shared_prefix_tokens"), expected, shared)
    });
}

pub(super) fn shared_prefix_is_the_protocols(report: &Report, log: &mut Log) {
    let pinned = report.protocol.and_then(|protocol| protocol.frozen_shared_prefix_tokens.as_ref());
    let Some(pinned) = pinned else { return log.idle("the protocol pins no shared prefixes") };
    for check in checks(report) {
        let wanted = pinned.get(check.request.id).and_then(serde_json::Value::as_u64);
        let (Some(wanted), Some(shared)) = (wanted, check.count("max_shared_prefix_tokens")) else {
            continue;
        };
        log.judge(shared == wanted, || {
            breach(check.place("max_shared_prefix_tokens"), wanted, shared)
        });
    }
}

fn status_reasons<'a>(report: &Report<'a>) -> Option<&'a [Value]> {
    report.at("/extensions/status_reasons").map(Value::items)
}

pub(super) fn nonconforming_has_reasons(report: &Report, log: &mut Log) {
    let (Some(status), Some(reasons)) = (report.text("/run/status"), status_reasons(report)) else {
        return;
    };
    log.judge((status == "nonconforming") != reasons.is_empty(), || {
        let expected = if reasons.is_empty() { "complete" } else { "nonconforming" };
        let expected = format!("{expected} with {} status_reasons", reasons.len());
        breach("/run/status", expected, quoted(status))
    });
}

pub(super) fn unhashed_model_is_a_reason(report: &Report, log: &mut Log) {
    let (Some(files), Some(reasons)) = (report.at("/model/files"), status_reasons(report)) else {
        return;
    };
    let told = reasons.iter().filter_map(Value::as_str).any(|reason| reason == UNHASHED);
    log.judge(files.is_null() == told, || {
        let expected = if told { "null" } else { "digests, or a status reason" };
        breach("/model/files", expected, printed(Some(files)))
    });
}

/// How the format says that there is no digest of the model.
const UNHASHED: &str = "no model file could be hashed";

pub(super) fn server_was_fresh(report: &Report, log: &mut Log) {
    let at = "/extensions/server_requests_before_run";
    if let Some(before) = report.count(at) {
        log.judge(before == 0, || breach(at, 0, before));
    }
}

pub(super) fn rounds_only_if_selected(report: &Report, log: &mut Log) {
    if let Some(rounds) = report.at("/concurrency_rounds") {
        let selected = report.concurrent();
        log.judge(rounds.items().is_empty() != selected, || {
            let expected = if selected { "rounds: the stage was selected" } else { "[]" };
            breach("/concurrency_rounds", expected, printed(Some(rounds)))
        });
    }
}

pub(super) fn failed_check_is_a_reason(report: &Report, log: &mut Log) {
    let Some(reasons) = status_reasons(report) else { return };
    let mut judge = |at: &str, is_amiss: fn(&Value) -> bool| {
        let Some(value) = report.at(at) else { return };
        log.judge(!is_amiss(value) || !reasons.is_empty(), || {
            breach(at, "a status reason beside it", printed(Some(value)))
        });
    };
    judge("/extensions/runner_dirty", |dirty| dirty.as_bool() == Some(true));
    judge("/extensions/nonce", |nonce| !nonce.is_null());
    judge("/extensions/self_test/failed", |cases| !cases.items().is_empty());
    for check in checks(report) {
        for field in ["unexpected_payload_reuse", "length_outside_tolerance"] {
            let Some(failed) = check.flag(field) else { continue };
            log.judge(!failed || !reasons.is_empty(), || {
                breach(check.place(field), "a status reason if true", failed)
            });
        }
    }
}

const OFFSETS: &str = "client_offsets_us";

/// Without them nobody sees order, overlap and idle time but by the order of the list.
pub(super) fn requests_have_offsets(report: &Report, log: &mut Log) {
    let there: HashSet<usize> =
        by_request(report, OFFSETS).iter().map(|entry| entry.request.index).collect();
    let ended = || report.requests.iter().filter(|request| request.ended());
    let without = ended().filter(|request| !there.contains(&request.index)).count();
    let all = ended().count();
    if all > 0 {
        log.judge(without == 0, || {
            let expected = format!("{OFFSETS}: when each request began and ended");
            breach("/extensions", expected, format!("nothing of {without} of {all} requests"))
        });
    }
}

/// Each client time is the difference of two offsets, which have no more digits than it has.
pub(super) fn times_are_offsets_apart(report: &Report, log: &mut Log) {
    for entry in by_request(report, OFFSETS) {
        let request = entry.request;
        let Some(dispatch) = entry.count("dispatch") else { continue };
        let times = [
            ("ttft_s", "first_delta", request.ttft_ns),
            ("first_answer_s", "first_answer", request.first_answer_ns),
            ("total_s", "end", request.total_ns),
        ];
        for (time, event, printed) in times.into_iter().filter(|_| request.ended()) {
            let span = entry.count(event).map(|at| (i128::from(at) - i128::from(dispatch)) * 1000);
            let unknown = entry.is_null(event) && span.is_none();
            log.judge(printed == span && (span.is_some() || unknown), || {
                let at = request.place(&format!("/timings/{time}"));
                let span = span.map_or("null".to_string(), seconds);
                let expected = format!("{span} from {event} and dispatch of {OFFSETS}");
                breach(at, expected, request.printed(&format!("/timings/{time}")))
            });
        }
    }
}

/// Offsets count from the first dispatch; the window ends with the last required request and is
/// printed in milliseconds, rounded up.
pub(super) fn window_is_from_offsets(report: &Report, log: &mut Log) {
    let entries = by_request(report, OFFSETS);
    let required = || entries.iter().filter(|entry| entry.request.phase != "concurrency");
    let first = required().filter_map(|entry| entry.count("dispatch")).min();
    let last = required().filter_map(|entry| entry.count("end")).max();
    let (Some(first), Some(last)) = (first, last) else { return };
    log.judge(first == 0, || {
        breach(format!("/extensions/{OFFSETS}"), "the first dispatch at 0", first)
    });
    let Some(window) = report.nanos("/run/required_duration_s") else { return };
    let wanted = i128::from(last.div_ceil(1000)) * 1_000_000;
    log.judge(window == wanted, || {
        let expected = format!("{}: the last end is at {last} us", seconds(wanted));
        breach(report.place("/run/required_duration_s"), expected, seconds(window))
    });
}

pub(super) fn bodies_have_digests(report: &Report, log: &mut Log) {
    let Some(digests) = report.at("/extensions/request_sha256") else { return };
    let ids: HashSet<&str> = report.requests.iter().map(|request| request.id).collect();
    for (id, digest) in digests.entries() {
        let at = || format!("/extensions/request_sha256/{}", escape(id));
        log.judge(ids.contains(id.as_str()), || breach(at(), "the id of a request", quoted(id)));
        log.judge(digest.as_str().is_some_and(is_sha256), || {
            breach(at(), "64 lower-case hexadecimal digits", printed(Some(digest)))
        });
    }
    let there: HashSet<&str> = digests.entries().iter().map(|(id, _)| id.as_str()).collect();
    for request in report.requests.iter().filter(|request| request.ended()) {
        log.judge(there.contains(request.id), || {
            let expected = format!("a digest of the body of {}", request.id);
            breach("/extensions/request_sha256", expected, "nothing")
        });
    }
}

/// A nonce makes other bodies, and a status reason.
pub(super) fn bodies_are_the_corpus(report: &Report, log: &mut Log) {
    let Some(corpus) = report.text("/protocol/corpus_sha256").and_then(known) else {
        return log.idle("the corpus is not one this program carries");
    };
    if !report.is_null("/extensions/nonce") {
        return log.idle("the bodies carry a nonce");
    }
    let Some(digests) = report.at("/extensions/request_sha256") else { return };
    for (id, digest) in digests.entries() {
        let Some(wanted) = corpus.bodies.get(id.as_str()) else { continue };
        log.judge(digest.as_str() == Some(wanted), || {
            let at = format!("/extensions/request_sha256/{}", escape(id));
            breach(at, format!("{} of the corpus", quoted(wanted)), printed(Some(digest)))
        });
    }
}

/// A tokenizer and a template are known by the lengths they give to all payloads. Somebody may have
/// recorded another that gives the same.
pub(super) fn shared_prefix_is_as_recorded(report: &Report, log: &mut Log) {
    let Some(corpus) = report.text("/protocol/corpus_sha256").and_then(known) else {
        return log.idle("the corpus is not one this program carries");
    };
    let checks = checks(report);
    let template = report.text("/configuration/template/sha256");
    let same = |lengths: &&Lengths| {
        let input = |check: &Entry| lengths.requests.get(check.request.id).map(|l| l.input_tokens);
        Some(lengths.template_sha256.as_str()) == template
            && checks.iter().all(|check| check.count("frozen_input_tokens") == input(check))
    };
    let Some(recorded) = corpus.lengths.iter().find(same) else {
        return log.idle("the lengths are of no tokenizer that was recorded");
    };
    for check in &checks {
        let length = recorded.requests.get(check.request.id);
        let wanted = length.map(|length| length.max_shared_prefix_tokens);
        let (Some(wanted), Some(shared)) = (wanted, check.count("max_shared_prefix_tokens")) else {
            continue;
        };
        log.judge(shared == wanted, || {
            breach(check.place("max_shared_prefix_tokens"), wanted, shared)
        });
    }
}
