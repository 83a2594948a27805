//! Accounting as properties over honest runs, and what is left when a server keeps things to
//! itself.

use super::figures::{NO_CACHED, NO_ENGINE_TIMINGS, NO_TIMINGS, NO_USAGE, NONE, ZERO_TIME};
use super::*;
use crate::client::scripted::Script;
use crate::fixture::{Honest, INPUT_TOKENS, config, outputs, protocol};
use crate::plan::plan;
use crate::report::RunStatus;
use crate::report::missing::Reasons;
use crate::report::number::{ClientTime, round};
use crate::report::rebuild::rebuild_from;
use proptest::prelude::*;
use serde_json::Value;

fn honest(cap: usize) -> impl Strategy<Value = Honest> {
    let steps = proptest::collection::vec(1u64..400, 1..=cap);
    (
        0u64..INPUT_TOKENS,
        1u64..90_000,
        steps,
        any::<prop::sample::Index>(),
        0u64..300,
        any::<bool>(),
    )
        .prop_map(|(cached, prompt, steps, reasoning, delay, truncated)| Honest {
            cached,
            prompt,
            reasoning: reasoning.index(steps.len() + 1),
            steps,
            delay,
            truncated,
            ..Honest::PLAIN
        })
}

/// The report of a run in which the planned requests are answered by `replies`.
fn report(replies: &[Script], gap_ns: u64) -> (Value, RunStatus) {
    let config = config();
    let planned = plan(&config.protocol, false);
    let outputs = outputs(&planned, replies, gap_ns);
    let config = serde_json::to_vec_pretty(&config).unwrap();
    let report = rebuild_from(&outputs, &config).unwrap();
    let again = rebuild_from(&outputs, &config).unwrap();
    assert_eq!(report.json, again.json);
    (serde_json::from_slice(&report.json).unwrap(), report.status)
}

fn number(row: &Value, pointer: &str) -> f64 {
    row.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {pointer} in {row}"))
}

proptest! {
    #![proptest_config(crate::fixture::cases(64))]

    /// P8: five honest replies, whatever their sizes and however their bytes are cut.
    #[test]
    fn an_honest_run_adds_up(
        replies in proptest::collection::vec(honest(16), 5),
        piece in 1usize..300,
        gap_ns in 0u64..2_000_000,
    ) {
        let scripts: Vec<Script> = replies.iter().map(Honest::script).collect();
        let (report, _) = report(&scripts, gap_ns);
        let cut: Vec<Script> = scripts.iter().map(|script| script.in_pieces_of(piece)).collect();
        prop_assert_eq!(&self::report(&cut, gap_ns).0, &report);

        let rows = report["requests"].as_array().unwrap();
        let mut sum = 0.0;
        for (row, reply) in rows.iter().zip(&replies) {
            let count = |key: &str| row["tokens"][key].as_u64().unwrap();
            prop_assert_eq!(count("read_tokens") + count("cached_tokens"), count("input_tokens"));
            prop_assert_eq!(count("decode_tokens"), count("output_tokens"));
            let time = |key: &str| number(row, &format!("/timings/{key}"));
            prop_assert_eq!(time("prompt_s"), reply.prompt as f64 / 10_000.0);
            prop_assert!(time("ttft_s") >= time("prompt_s"));
            prop_assert!(time("total_s") >= time("ttft_s"));
            let tenths = |seconds: f64| (seconds * 10_000.0).round() as u64;
            let engine = tenths(time("prompt_s")) + tenths(time("decode_s"));
            prop_assert!(tenths(time("total_s")) >= engine);
            if reply.reasoning < reply.steps.len() {
                prop_assert!(time("first_answer_s") >= time("ttft_s"));
                prop_assert!(time("first_answer_s") <= time("total_s"));
            } else {
                prop_assert!(row["timings"]["first_answer_s"].is_null());
            }
            let offsets = &report["extensions"]["client_offsets_us"][row["id"].as_str().unwrap()];
            let span = |to: &str| (number(offsets, to) - number(offsets, "/dispatch")) / 1e6;
            prop_assert_eq!(time("ttft_s"), span("/first_delta"));
            prop_assert_eq!(time("total_s"), span("/end"));
            let rate = number(row, "/metrics/prompt_tps");
            let quotient = count("read_tokens") as f64 / time("prompt_s");
            prop_assert_eq!(rate, round(quotient, 6));
            sum += time("total_s");
        }
        prop_assert!(number(&report, "/run/required_duration_s") >= sum - 1e-9);
        for counts in report["request_counts"].as_object().unwrap().values() {
            let of = |key: &str| counts[key].as_u64().unwrap();
            prop_assert_eq!(of("planned"), of("attempted") + of("skipped"));
            prop_assert_eq!(of("attempted"), of("completed") + of("truncated") + of("failed"));
        }
    }
}

/// P8: the bound that no rule may state.
#[test]
fn the_forbidden_bound_has_a_counter_example() {
    let reply = Honest { steps: vec![100; 4], ..Honest::PLAIN };
    let (report, _) = report(&vec![reply.script(); 5], 0);
    let row = &report["requests"][0];
    let time = |key: &str| number(row, &format!("/timings/{key}"));
    let (ttft, decode, total) = (time("ttft_s"), time("decode_s"), time("total_s"));
    assert_eq!((ttft, decode, total), (0.5253, 0.04, 0.5553));
    assert!(total < ttft + decode, "the first decode step lies in both");
}

proptest! {
    #![proptest_config(crate::fixture::cases(64))]

    /// P16: a clock that stands still, jumps or goes back makes no time below zero.
    #[test]
    fn no_time_is_negative(
        stamps in proptest::collection::vec(
            prop_oneof![Just(0), 0..5_000_000_000_u64, Just(1 << 50)], 8
        ),
        gap_ns in 0..2_000_u64,
    ) {
        let mut script = Honest { steps: vec![100; 4], ..Honest::PLAIN }.script();
        for ((at, _), stamp) in script.reads.iter_mut().zip(&stamps) {
            *at = *stamp;
        }
        let (report, _) = report(&vec![script; 5], gap_ns);
        let mut pending = vec![&report];
        while let Some(value) = pending.pop() {
            prop_assert!(value.as_f64().is_none_or(|number| number >= 0.0), "{}", value);
            pending.extend(value.as_array().into_iter().flatten());
            pending.extend(value.as_object().into_iter().flat_map(|entries| entries.values()));
        }
    }

    /// P6: whatever the server counts, the counts agree or a note says that they do not.
    #[test]
    fn counts_agree_or_there_is_a_note(counts in proptest::collection::vec(count(), 6)) {
        let usual = [
            "\"prompt_tokens\":100",
            "\"completion_tokens\":4",
            "\"cached_tokens\":0",
            "\"cache_n\":0",
            "\"prompt_n\":100",
            "\"predicted_n\":4",
        ];
        let changes = usual.iter().zip(counts).filter_map(|(old, count)| {
            let (name, _) = old.split_once(':')?;
            Some((*old, format!("{name}:{}", count?)))
        });
        let changes: Vec<(&str, String)> = changes.collect();
        let changes: Vec<_> = changes.iter().map(|(old, new)| (*old, new.as_str())).collect();
        let (account, _) = account_of(changed(&changes));
        let (tokens, noted) = (&account.row.tokens, account.row.token_accounting_note.is_some());
        if let (Some(input), Some(cached)) = (tokens.input_tokens, tokens.cached_tokens) {
            prop_assert!(cached <= input || noted);
            let same = |read| cached.checked_add(read) == Some(input);
            prop_assert!(tokens.read_tokens.is_none_or(same) || noted);
        }
        if let (Some(output), Some(decode)) = (tokens.output_tokens, tokens.decode_tokens) {
            prop_assert!(output == decode || noted);
        }
    }
}

/// What stands in place of a count: `None` is the usual one.
fn count() -> impl Strategy<Value = Option<&'static str>> {
    let odd = ["null", "0", "1", "5", "99", "101", "-1", "\"7\"", "18446744073709551615", "1e30"];
    prop::option::weighted(0.6, prop::sample::select(odd.to_vec()))
}

fn account_of(script: Script) -> (Account, Value) {
    let protocol = protocol();
    let planned = plan(&protocol, false);
    let lines = outputs(&planned[1..2], &[script], 0);
    let attempts = crate::record::read(&lines).unwrap();
    let context = Context {
        first_dispatch_ns: 0,
        passed_reasons: &protocol.passed_reasons,
        not_sent: "not sent",
    };
    let mut reasons = Reasons::default();
    let account = account(&planned[1], attempts.first(), &context, &mut reasons.at(""));
    let row = serde_json::to_value(&account.row).unwrap();
    let missing = reasons.missing(&row).unwrap();
    (account, Value::Object(missing))
}

/// The plain reply of four tokens with `old` in its bytes replaced.
fn changed(changes: &[(&str, &str)]) -> Script {
    let reply = Honest { steps: vec![100; 4], ..Honest::PLAIN };
    let mut script = reply.script();
    for (_, bytes) in &mut script.reads {
        let mut text = String::from_utf8(std::mem::take(bytes)).unwrap();
        for (old, new) in changes {
            text = text.replace(old, new);
        }
        *bytes = text.into_bytes();
    }
    script
}

/// B096: the stream of a thinking model from a server that states usage but no timings.
#[test]
fn client_times_are_those_of_the_first_tokens() {
    let delta = |delta: &str| {
        let choice = format!("{{\"index\":0,\"delta\":{delta},\"finish_reason\":null}}");
        format!("data: {{\"choices\":[{choice}]}}\n\n")
    };
    let finish = delta("{}").replace("null", "\"stop\"");
    let usage = "data: {\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":7,\
        \"prompt_tokens_details\":{\"cached_tokens\":64}}}\n\n";
    let script = Script::events(&[
        (40, ": keep-alive\n\n"),
        (60, &delta("{\"role\":\"assistant\",\"content\":\"\"}")),
        (200, &delta("{\"reasoning\":\"Ok\"}")),
        (400, &delta("{\"content\":\"Hi\"}")),
        (600, &delta("{\"content\":\" there, my friend\"}")),
        (700, &finish),
        (720, usage),
        (730, "data: [DONE]\n\n"),
    ]);
    for size in [1, 5, 1000] {
        let row = account_of(script.in_pieces_of(size)).0.row;
        let tokens = &row.tokens;
        assert_eq!((tokens.read_tokens, tokens.output_tokens), (Some(36), Some(7)));
        let seconds = |time: Option<ClientTime>| time.map(ClientTime::seconds);
        assert_eq!(seconds(row.timings.ttft_s), Some(0.2));
        assert_eq!(seconds(row.timings.first_answer_s), Some(0.4));
        assert_eq!(seconds(row.timings.total_s), Some(0.73));
        assert_eq!(row.first_delta_kind, Some(crate::report::transcript::DeltaKind::Reasoning));
    }
}

/// P7, B097: without `usage` and `timings` there is no count and no rate.
#[test]
fn absent_is_never_zero() {
    let (account, missing) =
        account_of(changed(&[("\"usage\"", "\"nothing\""), ("\"timings\"", "\"none\"")]));
    let row = account.row;
    let tokens = serde_json::to_value(&row.tokens).unwrap();
    assert!(tokens.as_object().unwrap().values().all(Value::is_null), "{tokens}");
    assert_eq!((row.timings.prompt_s, row.metrics.decode_tps), (None, None));
    assert!(row.timings.total_s.is_some());
    assert_eq!(missing["/tokens/output_tokens"], NO_USAGE);
    assert_eq!(missing["/tokens/cached_tokens"], NO_CACHED);
    assert_eq!(missing["/metrics/prompt_tps"], NO_TIMINGS);
    let sources = (row.sources.output_tokens, row.sources.engine_timings);
    assert_eq!(sources, (NONE, NO_ENGINE_TIMINGS));
}

#[test]
fn counts_without_timings_are_still_counts() {
    let (account, _) = account_of(changed(&[("\"timings\"", "\"none\"")]));
    let tokens = account.row.tokens;
    assert_eq!((tokens.read_tokens, tokens.decode_tokens), (Some(100), None));
    assert_eq!(account.row.sources.read_tokens, "input_tokens minus cached_tokens");
}

#[test]
fn disagreeing_counts_are_noted_in_numbers() {
    let (account, _) = account_of(changed(&[
        ("\"completion_tokens\":4", "\"completion_tokens\":5"),
        ("\"prompt_n\":100", "\"prompt_n\":98"),
    ]));
    assert_eq!(
        account.row.token_accounting_note.unwrap(),
        "the API counts 5 output tokens, the engine 4; \
         the API counts 100 input tokens of which 0 cached, the engine read 98"
    );
}

#[test]
fn sources_say_whether_the_engine_agrees_with_itself() {
    let source = |script| account_of(script).0.row.sources.decode_tokens;
    assert!(source(changed(&[])).contains("(agrees with "));
    assert!(
        source(changed(&[("\"predicted_per_second\":100.0", "\"predicted_per_second\":75.0")]))
            .contains("gives another count")
    );
    assert_eq!(source(changed(&[("predicted_per_second", "tps")])), "timings.predicted_n");
}

/// B102: of one token, of no time and of no prompt there is no rate.
#[test]
fn a_rate_needs_tokens_and_time() {
    let one = Honest { steps: vec![100], ..Honest::PLAIN };
    let (account, missing) = account_of(one.script());
    assert_eq!(account.row.metrics.decode_tps, None);
    assert_eq!(missing["/metrics/decode_tps"], "a rate needs at least two tokens");
    let (account, missing) =
        account_of(changed(&[("\"predicted_ms\":40.0", "\"predicted_ms\":0.01")]));
    assert_eq!(account.row.metrics.decode_tps, None);
    assert_eq!(missing["/metrics/decode_tps"], ZERO_TIME);
    let cached = Honest { cached: 100, steps: vec![100; 4], ..Honest::PLAIN };
    let (_, missing) = account_of(cached.script());
    assert_eq!(missing["/metrics/prompt_tps"], "no token of the prompt was read");
}

/// In place of 513.3 ms for 100 tokens and 40 ms for 4, of which the client saw 515.3 and 555.3.
#[test]
fn a_time_that_cannot_be_is_unknown() {
    let check = |field: &str, old: &str, text: &str, place: &str, expected: Option<&str>| {
        let (old, new) = (format!("\"{field}\":{old}"), format!("\"{field}\":{text}"));
        let (account, missing) = account_of(changed(&[(&old, &new)]));
        assert_eq!(account.failure, None, "{text}");
        assert_eq!(missing.get(place).and_then(Value::as_str), expected, "{text}");
    };
    for text in ["-5", "-1e308", "1e400", "-1e400", "\"NaN\"", "\"513.3\"", "null", "[1]", "true"] {
        check("prompt_ms", "513.3", text, "/timings/prompt_s", Some(NO_TIMINGS));
        check("prompt_ms", "513.3", text, "/metrics/prompt_tps", Some(NO_TIMINGS));
        check("predicted_ms", "40.0", text, "/timings/decode_s", Some(NO_TIMINGS));
        check("predicted_n", "4", text, "/tokens/decode_tokens", Some(NO_TIMINGS));
    }
    let much = "the engine states 1e308 ms, more than the client's 0.5253 s leave room for";
    check("prompt_ms", "513.3", "1e308", "/timings/prompt_s", Some(much));
    check("prompt_ms", "513.3", "1e308", "/metrics/prompt_tps", Some(much));
    let late = "the engine states 525.4 ms, more than the client's 0.5253 s leave room for";
    check("prompt_ms", "513.3", "525.4", "/timings/prompt_s", Some(late));
    check("prompt_ms", "513.3", "525.3", "/timings/prompt_s", None);
    let late = "the engine states 42.2 ms, more than the client's 0.5553 s leave room for";
    check("predicted_ms", "40.0", "42.2", "/timings/decode_s", Some(late));
    check("predicted_ms", "40.0", "42.1", "/timings/decode_s", None);
    let many =
        "the engine states 40.0 ms for 18446744073709551615 tokens, which is out of all reach";
    check("predicted_n", "4", "18446744073709551615", "/timings/decode_s", Some(many));
    check("predicted_n", "4", "18446744073709551616", "/tokens/decode_tokens", Some(NO_TIMINGS));
}

/// B100: nothing of a failed request counts.
#[test]
fn a_failed_request_has_an_error_and_no_figure() {
    let (account, missing) = account_of(changed(&[("[DONE]", "")]));
    let row = account.row;
    assert_eq!(row.status, RequestStatus::Failed);
    assert_eq!(row.error.as_deref(), Some("the stream ended without [DONE]"));
    assert_eq!((row.timings.total_s, row.tokens.output_tokens), (None, None));
    assert_eq!(missing["/timings/total_s"], "the request failed");
    assert_eq!(account.failure, Some(FailureKind::Breach));
}

/// The evaluation of the sanity case, which asks for `Hi there`, after these events.
fn check_judged(events: &[&str], passed: bool, reason: &str) {
    let protocol = protocol();
    let planned = plan(&protocol, false).pop().unwrap();
    let events: Vec<(u64, &str)> = (1..).zip(events.iter().copied()).collect();
    let lines = outputs(std::slice::from_ref(&planned), &[Script::events(&events)], 0);
    let attempts = crate::record::read(&lines).unwrap();
    let context = Context {
        first_dispatch_ns: 0,
        passed_reasons: &protocol.passed_reasons,
        not_sent: "not sent",
    };
    let account = account(&planned, attempts.first(), &context, &mut Reasons::default().at(""));
    let found = account.row.evaluation.unwrap();
    assert_eq!((found.passed, found.reason.as_str()), (passed, reason), "{events:?}");
}

#[test]
fn only_an_answer_that_ended_is_judged() {
    let event = |delta: &str, finish: &str| {
        let choice = format!("{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}");
        format!("data: {{\"choices\":[{choice}]}}\n\n")
    };
    let delta = |delta: &str| event(delta, "null");
    let role = delta("{\"role\":\"assistant\",\"content\":\"\"}");
    let thought = delta("{\"reasoning_content\":\"Hi there\"}");
    let right = delta("{\"content\":\"Hi there\"}");
    let call = delta("{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"f\"}}]}");
    let [stop, length, calls] =
        ["stop", "length", "tool_calls"].map(|reason| event("{}", &format!("\"{reason}\"")));
    let done = "data: [DONE]\n\n";
    let cut = "cut off at the cap before the answer ended";
    check_judged(&[&role, &thought, &right, &stop, done], true, "the exact expected text");
    check_judged(&[&role, &thought, &stop, done], false, "no answer text");
    check_judged(&[&thought, &length, done], false, cut);
    check_judged(&[&right, &length, done], false, cut);
    check_judged(&[&right, &call, &calls, done], false, "a tool call instead of text");
    let left = delta("{\"content\":\"<think>Hm.</think>\"}");
    check_judged(&[&left, &right, &stop, done], false, "reasoning left in the answer");
    let error = "data: {\"error\":{\"message\":\"x\",\"code\":500}}\n\n";
    let failed = "the request failed";
    check_judged(&[&right, error, done], false, failed);
    check_judged(&[&right, &stop], false, failed);
    check_judged(&[&right, done], false, failed);
    check_judged(&[&right, "data: {\n\n", &stop, done], false, failed);
    check_judged(&[&role, done], false, failed);
    check_judged(&[&role, &stop, done], false, failed);
}
