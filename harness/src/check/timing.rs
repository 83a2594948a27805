//! Times and rates. Two clocks meet here: the engine's (`prompt_s`, `decode_s`, printed in tenths
//! of a millisecond) and the client's (all other times, printed in microseconds). A printed time
//! may be off by half its last digit, 50 µs and 0.5 µs; every bound across clocks allows exactly
//! that for each of its terms, and a bound within one clock allows nothing.

use super::report::{Report, Request, decimal};
use super::rule::{Log, breach};
use crate::client::base_url::BaseUrl;
use crate::json::{Number, Value};
use std::collections::BTreeMap;

/// Half the last printed digit of an engine time, in nanoseconds.
pub(super) const ENGINE_HALF: i128 = 50_000;
/// Half the last printed digit of a client time.
pub(super) const CLIENT_HALF: i128 = 500;
/// Half the last printed digit of `required_duration_s`.
const DURATION_HALF: i128 = 500_000;
pub(super) const MS: i128 = 1_000_000;

/// Nanoseconds as seconds.
pub(super) fn seconds(ns: i128) -> String {
    decimal(ns, 9)
}

pub(super) fn prompt_rate(report: &Report, log: &mut Log) {
    for request in &report.requests {
        judge_rate(log, request, "prompt_tps", request.read_tokens, "prompt_s");
    }
}

pub(super) fn decode_rate(report: &Report, log: &mut Log) {
    for request in &report.requests {
        judge_rate(log, request, "decode_tps", request.decode_tokens, "decode_s");
    }
}

/// The rate is computed from the printed time, in doubles, and rounded through decimal digits.
fn judge_rate(log: &mut Log, request: &Request, rate: &str, tokens: Option<u64>, time: &str) {
    let number = |block: &str, key: &str| request.value.get(block)?.get(key)?.as_number();
    let (Some(rate_printed), Some(tokens), Some(time_printed)) =
        (number("metrics", rate), tokens, number("timings", time))
    else {
        return;
    };
    let wanted = format!("{:.6}", tokens as f64 / time_printed.as_f64());
    let units = Number::new(&wanted).and_then(|wanted| wanted.units(6));
    log.judge(units.is_some() && rate_printed.units(6) == units, || {
        let expected = format!("{tokens} / {} = {wanted}", time_printed.text());
        breach(request.place(&format!("/metrics/{rate}")), expected, rate_printed.text())
    });
}

pub(super) fn engine_decimals(report: &Report, log: &mut Log) {
    judge_decimals(report, log, &["prompt_s", "decode_s"], 4);
}

pub(super) fn client_decimals(report: &Report, log: &mut Log) {
    judge_decimals(report, log, &["ttft_s", "first_answer_s", "total_s"], 6);
}

fn judge_decimals(report: &Report, log: &mut Log, fields: &[&str], most: u64) {
    for request in &report.requests {
        for field in fields {
            let at = format!("/timings/{field}");
            let Some(time) = request.value.pointer(&at).and_then(Value::as_number) else {
                continue;
            };
            log.judge(time.decimals() <= most, || {
                breach(request.place(&at), format!("at most {most} decimals"), time.text())
            });
        }
    }
}

pub(super) fn first_token_after_prompt(report: &Report, log: &mut Log) {
    for request in &report.requests {
        let (Some(ttft), Some(prompt)) = (request.ttft_ns, request.prompt_ns) else { continue };
        let least = prompt - ENGINE_HALF - CLIENT_HALF;
        log.judge(ttft >= least, || {
            let expected = format!("at least prompt_s {} - 0.0000505", seconds(prompt));
            breach(request.place("/timings/ttft_s"), expected, seconds(ttft))
        });
    }
}

/// Prompt and decode time do not overlap, so the client cannot see the end before their sum. The
/// first decode step lies in `ttft_s` too: `ttft_s + decode_s` bounds nothing.
pub(super) fn total_covers_engine_time(report: &Report, log: &mut Log) {
    for request in &report.requests {
        let (Some(total), Some(prompt), Some(decode)) =
            (request.total_ns, request.prompt_ns, request.decode_ns)
        else {
            continue;
        };
        let least = prompt + decode - 2 * ENGINE_HALF - CLIENT_HALF;
        log.judge(total >= least, || {
            let (prompt, decode) = (seconds(prompt), seconds(decode));
            let expected = format!("at least prompt_s {prompt} + decode_s {decode} - 0.0001005");
            breach(request.place("/timings/total_s"), expected, seconds(total))
        });
    }
}

pub(super) fn client_times_in_order(report: &Report, log: &mut Log) {
    for request in &report.requests {
        let (Some(ttft), Some(total)) = (request.ttft_ns, request.total_ns) else { continue };
        log.judge(ttft <= total, || {
            let expected = format!("at most total_s {}", seconds(total));
            breach(request.place("/timings/ttft_s"), expected, seconds(ttft))
        });
        let Some(answer) = request.first_answer_ns else { continue };
        log.judge(ttft <= answer && answer <= total, || {
            let expected = format!("ttft_s {} to total_s {}", seconds(ttft), seconds(total));
            breach(request.place("/timings/first_answer_s"), expected, seconds(answer))
        });
    }
}

pub(super) fn first_token_soon_after_prompt(report: &Report, log: &mut Log) {
    if !on_loopback(report) {
        return log.idle("the server is not on this machine");
    }
    for request in report.requests.iter().filter(|request| alone(request)) {
        let (Some(ttft), Some(prompt)) = (request.ttft_ns, request.prompt_ns) else { continue };
        log.judge(ttft - prompt <= 100 * MS + ENGINE_HALF + CLIENT_HALF, || {
            let expected = format!("within 0.1 s after prompt_s {}", seconds(prompt));
            breach(request.place("/timings/ttft_s"), expected, seconds(ttft))
        });
    }
}

pub(super) fn on_loopback(report: &Report) -> bool {
    let Some(url) = report.command.value("--url") else { return true };
    BaseUrl::parse(url).is_ok_and(|url| url.is_local())
}

pub(super) fn total_soon_after_engine_time(report: &Report, log: &mut Log) {
    for request in &report.requests {
        let Some(overhead) = overhead(request) else { continue };
        log.judge(overhead <= 100 * MS + 2 * ENGINE_HALF + CLIENT_HALF, || {
            let expected = "within 0.1 s after prompt_s + decode_s";
            breach(request.place("/timings/total_s"), expected, request.printed("/timings/total_s"))
        });
    }
}

/// A request of a round may wait for the others of it.
fn alone(request: &Request) -> bool {
    request.phase != "concurrency"
}

/// `total - prompt - decode`: what neither the engine's prompt nor its decode time explains.
fn overhead(request: &Request) -> Option<i128> {
    alone(request).then_some(())?;
    Some(request.total_ns? - request.prompt_ns? - request.decode_ns?)
}

/// Decoding starts before the client's first event and ends before its last: the engine's decode
/// time exceeds the client's by its first step.
pub(super) fn decode_exceeds_client_span_by_a_step(report: &Report, log: &mut Log) {
    for request in &report.requests {
        let (Some(total), Some(ttft), Some(decode)) =
            (request.total_ns, request.ttft_ns, request.decode_ns)
        else {
            continue;
        };
        let step = decode - (total - ttft);
        let slack = ENGINE_HALF + 2 * CLIENT_HALF;
        log.judge(-slack <= step && step <= 50 * MS + slack, || {
            let expected =
                format!("0 to 0.05 s more than total_s - ttft_s {}", seconds(total - ttft));
            breach(request.place("/timings/decode_s"), expected, seconds(decode))
        });
    }
}

/// Nothing but reasoning up to the cap, or nothing at all, is no answer. That a model reasons and
/// then stops by itself is odd, but it happens.
pub(super) fn no_answer_has_a_cause(report: &Report, log: &mut Log) {
    for request in report.requests.iter().filter(|request| request.ended()) {
        if !request.value.pointer("/timings/first_answer_s").is_some_and(Value::is_null) {
            continue;
        }
        let kind = request.value.get("first_delta_kind").and_then(Value::as_str);
        let failure = || {
            let expected = "a time, unless only reasoning came before the cap";
            let found = format!("null, finish_reason {}", request.printed("/finish_reason"));
            breach(request.place("/timings/first_answer_s"), expected, found)
        };
        log.judge(matches!(kind, None | Some("reasoning")), failure);
        if kind.is_some() {
            log.judge_mildly(request.finish_reason == Some("length"), failure);
        }
    }
}

/// Least time to the first token, in nanoseconds, beside which a tenth of it is no noise.
const WAITED: i128 = 100 * MS;

/// Repetitions of a case are equally long and share no beginning: one that has its first token in a
/// tenth of another's time did not read its prompt, whatever the server says of its cache.
pub(super) fn repetitions_wait_alike(report: &Report, log: &mut Log) {
    let mut cases: BTreeMap<&str, Vec<(&Request, i128)>> = BTreeMap::new();
    for request in report.requests.iter().filter(|request| request.phase == "performance") {
        let waited = request.ttft_ns.map(|ttft| (request, ttft));
        cases.entry(request.case).or_default().extend(waited);
    }
    for requests in cases.values().filter(|requests| requests.len() > 1) {
        let longest = requests.iter().map(|(_, ttft)| *ttft).max().unwrap_or(0);
        for (request, ttft) in requests.iter().filter(|_| longest >= WAITED) {
            log.judge(ttft.saturating_mul(10) >= longest, || {
                let expected = format!("a tenth of a repetition's {} at least", seconds(longest));
                let found = request.printed("/timings/ttft_s");
                breach(request.place("/timings/ttft_s"), expected, found)
            });
        }
    }
}

/// Both may come in one read, and then have one stamp: of a server that sends event by event that
/// is worth a warning.
pub(super) fn answer_follows_reasoning(report: &Report, log: &mut Log) {
    for request in &report.requests {
        let (Some(ttft), Some(answer)) = (request.ttft_ns, request.first_answer_ns) else {
            continue;
        };
        if request.value.get("first_delta_kind").and_then(Value::as_str) != Some("reasoning") {
            continue;
        }
        let failure = || {
            let expected = format!("later than ttft_s {}", seconds(ttft));
            breach(request.place("/timings/first_answer_s"), expected, seconds(answer))
        };
        match answer == ttft {
            true => log.judge_mildly(false, failure),
            false => log.judge(answer > ttft, failure),
        }
    }
}

const SOURCES: [&str; 7] = [
    "input_tokens",
    "cached_tokens",
    "read_tokens",
    "output_tokens",
    "decode_tokens",
    "engine_timings",
    "client_timings",
];

pub(super) fn every_figure_has_a_source(report: &Report, log: &mut Log) {
    for request in &report.requests {
        let Some(sources) = request.value.get("sources") else { continue };
        let found: Vec<&str> = sources.entries().iter().map(|(key, _)| key.as_str()).collect();
        log.judge(found == SOURCES, || {
            breach(request.place("/sources"), SOURCES.join(", "), found.join(", "))
        });
        for (key, source) in sources.entries() {
            log.judge(source.as_str().is_some_and(|source| !source.trim().is_empty()), || {
                let at = format!("/sources/{}", crate::json::escape(key));
                breach(request.place(&at), "a source in words", source)
            });
        }
    }
}

/// Between the first and the last event lie all tokens but the first.
pub(super) fn client_rate_agrees(report: &Report, log: &mut Log) {
    for request in &report.requests {
        let (Some(total), Some(ttft), Some(tokens)) =
            (request.total_ns, request.ttft_ns, request.decode_tokens)
        else {
            continue;
        };
        let Some(rate) = request.metric("decode_tps").filter(|rate| *rate > 0) else { continue };
        if tokens < 2 || total <= ttft {
            continue;
        }
        let client = (tokens - 1) as f64 * 1e9 / (total - ttft) as f64;
        log.judge((client / (rate as f64 / 1e6) - 1.0).abs() <= 0.02, || {
            let expected = format!("within 2 % of the client's {client:.3}");
            breach(request.place("/metrics/decode_tps"), expected, decimal(rate, 6))
        });
    }
}

/// Least squares over the 22 requests of the public full report: microseconds, and microseconds per
/// thousand input and output tokens.
const OVERHEAD_US: [f64; 3] = [4_700.0, 580.0, 3_100.0];

pub(super) fn overhead_is_usual(report: &Report, log: &mut Log) {
    for request in &report.requests {
        let (Some(overhead), Some(input), Some(output)) =
            (overhead(request), request.input_tokens, request.output_tokens)
        else {
            continue;
        };
        let [base, per_input, per_output] = OVERHEAD_US;
        let usual = base + per_input * input as f64 / 1e3 + per_output * output as f64 / 1e3;
        let rest_ms = (overhead as f64 / 1e3 - usual) / 1e3;
        log.judge(rest_ms.abs() <= 15.0, || {
            let expected = format!("within 15 ms of prompt_s + decode_s + {:.1} ms", usual / 1e3);
            breach(
                request.place("/timings/total_s"),
                expected,
                format!("{rest_ms:+.1} ms beside it"),
            )
        });
    }
}

/// Events delivered on a tick of a millisecond leave intervals of whole milliseconds: a tenth of
/// all intervals lies within 0.05 ms of one by chance. Of no length is that from a first token that
/// is the answer's to itself, which says nothing about the clock.
pub(super) fn client_clock_is_fine(report: &Report, log: &mut Log) {
    let intervals: Vec<i128> = report
        .requests
        .iter()
        .flat_map(|request| {
            let times = [request.ttft_ns, request.first_answer_ns, request.total_ns];
            let times: Vec<i128> = times.into_iter().flatten().collect();
            times.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()
        })
        .filter(|interval| *interval != 0)
        .collect();
    if intervals.len() < 20 {
        return log.idle("fewer than 20 intervals between events");
    }
    let whole = intervals.iter().filter(|ns| (*ns + MS / 20).rem_euclid(MS) <= MS / 10).count();
    log.judge(2 * whole <= intervals.len(), || {
        let expected = "about a tenth of the intervals within 0.05 ms of a whole millisecond";
        let found = format!("{whole} of {}: events came on a tick of 1 ms", intervals.len());
        breach("/requests", expected, found)
    });
}

/// The requests whose times the required window holds.
fn in_window<'r>(report: &'r Report) -> impl Iterator<Item = i128> + 'r {
    let inside = report.requests.iter().filter(|request| request.phase != "concurrency");
    inside.filter_map(|request| request.total_ns)
}

pub(super) fn window_holds_requests(report: &Report, log: &mut Log) {
    judge_window(report, log, |idle, slack, _| idle >= -slack, "at least");
}

pub(super) fn window_has_no_idle_time(report: &Report, log: &mut Log) {
    let fits = |idle, slack, requests| idle <= 10 * MS * requests + slack;
    judge_window(report, log, fits, "at most 10 ms a request beyond");
}

fn judge_window(report: &Report, log: &mut Log, fits: fn(i128, i128, i128) -> bool, words: &str) {
    let Some(window) = report.nanos("/run/required_duration_s") else { return };
    let (sum, requests) = in_window(report).fold((0, 0), |(sum, n), total| (sum + total, n + 1));
    log.judge(fits(window - sum, DURATION_HALF + requests * CLIENT_HALF, requests), || {
        let expected = format!("{words} the sum of total_s {}", seconds(sum));
        breach(report.place("/run/required_duration_s"), expected, seconds(window))
    });
}

/// Up to three repetitions are known from their minimum, median and maximum alone.
pub(super) fn window_holds_summaries(report: &Report, log: &mut Log) {
    let Some(window) = report.nanos("/run/required_duration_s") else { return };
    let sums = report.summaries.iter().filter(|summary| summary.metric == "total_s");
    let sums = sums.filter_map(|summary| match summary.n? {
        1 => summary.min,
        2 => Some(summary.min? + summary.max?),
        3 => Some(summary.min? + summary.median? + summary.max?),
        _ => None,
    });
    let (sum, cases) = sums.fold((0, 0), |(sum, cases), micros| (sum + micros * 1000, cases + 1));
    if cases == 0 {
        return log.idle("no summary of total_s over one to three requests");
    }
    log.judge(window + DURATION_HALF + 3 * cases * CLIENT_HALF >= sum, || {
        let expected = format!("at least the performance requests' {}", seconds(sum));
        breach(report.place("/run/required_duration_s"), expected, seconds(window))
    });
}
