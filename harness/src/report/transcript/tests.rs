//! The wire as other servers were seen to write it, and the ways it ends badly.

use super::*;
use crate::client::attempt::attempt;
use crate::client::scripted::{Script, Scripted};
use proptest::prelude::*;

fn read(script: Script) -> Transcript {
    let transport = Scripted::new([script]);
    let clock = transport.clock.clone();
    transcribe(&attempt(&transport, &clock, "a", "{}"))
}

fn data(json: &str) -> String {
    format!("data: {json}\n\n")
}

fn delta(delta: &str) -> String {
    data(&format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#))
}

fn finish(reason: &str) -> String {
    data(&format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#))
}

const DONE: &str = "data: [DONE]\n\n";
const USAGE: &str = concat!(
    r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":7,"#,
    r#""prompt_tokens_details":{"cached_tokens":64}}}"#
);
const ROLE: &str = r#"{"role":"assistant","content":""}"#;

/// The reading model of a thinking model's reply: keep-alive, role, reasoning, answer, usage.
fn thinking(field: &str) -> Script {
    Script::events(&[
        (40, ": keep-alive\n\n"),
        (60, &delta(ROLE)),
        (200, &delta(&format!(r#"{{"{field}":"Ok"}}"#))),
        (300, &delta(&format!(r#"{{"{field}":" so"}}"#))),
        (400, &delta(r#"{"content":"Hi"}"#)),
        (600, &delta(r#"{"content":" there, my friend"}"#)),
        (700, &finish("stop")),
        (720, &data(USAGE)),
        (730, DONE),
    ])
}

/// B096: of any channel, under either name, however the bytes are cut.
#[test]
fn the_first_token_is_the_first_of_any_channel() {
    for field in ["reasoning_content", "reasoning"] {
        for size in [1, 2, 3, 7, 4096] {
            let found = read(thinking(field).in_pieces_of(size));
            let ms = |ms: u64| ms * 1_000_000;
            assert_eq!(found.first_delta, Some((DeltaKind::Reasoning, ms(200))), "{field} {size}");
            assert_eq!(found.first_answer_ns, Some(ms(400)));
            assert_eq!(found.end_ns, ms(730));
            assert_eq!(
                (found.reasoning.as_str(), found.answer.as_str()),
                ("Ok so", "Hi there, my friend")
            );
            let usage = Usage {
                prompt_tokens: Some(100),
                cached_tokens: Some(64),
                completion_tokens: Some(7),
            };
            assert_eq!(found.usage, usage);
            assert_eq!(found.failure, None);
        }
    }
}

/// B096: cut off while it still reasons.
#[test]
fn a_budget_spent_on_reasoning_leaves_no_answer() {
    let script = Script::events(&[
        (200, &delta(r#"{"reasoning_content":"Hm"}"#)),
        (300, &finish("length")),
        (310, DONE),
    ]);
    let found = read(script);
    assert_eq!((found.first_answer_ns, found.failure), (None, None));
}

/// B096: a first delta that is a tool call.
#[test]
fn tool_calls_are_joined_by_index() {
    let call = |json: &str| delta(&format!(r#"{{"tool_calls":[{json}]}}"#));
    let script = Script::events(&[
        (5, &call(r#"{"index":1,"function":{"name":"b","arguments":""}}"#)),
        (6, &call(r#"{"index":0,"id":"x","function":{"name":"a","arguments":"{\"n\":"}}"#)),
        (7, &call(r#"{"index":1,"function":{"arguments":"{}"}}"#)),
        (8, &call(r#"{"index":0,"function":{"arguments":"1}"}}"#)),
        (9, &finish("tool_calls")),
        (9, DONE),
    ]);
    let found = read(script);
    let call = |name: &str, arguments: &str| ToolCall {
        name: name.to_string(),
        arguments: arguments.to_string(),
    };
    assert_eq!(found.tool_calls, [call("a", r#"{"n":1}"#), call("b", "{}")]);
    assert_eq!(found.first_delta, Some((DeltaKind::ToolCall, 5_000_000)));
    assert_eq!(found.first_answer_ns, Some(5_000_000));
    assert_eq!(found.failure, None);
}

fn usage_of(chunks: &[&str]) -> Usage {
    let mut text: String = chunks.iter().map(|chunk| data(chunk)).collect();
    text += &(delta(r#"{"content":"x"}"#) + &finish("stop") + DONE);
    let found = read(Script::events(&[(1, &text)]));
    assert_eq!(found.failure, None);
    found.usage
}

/// P5: usage before and after the answer, null and then real, twice.
#[test]
fn usage_early_twice_null_or_not_at_all() {
    let some = |prompt, completion| Usage {
        prompt_tokens: Some(prompt),
        cached_tokens: None,
        completion_tokens: Some(completion),
    };
    assert_eq!(usage_of(&[]), Usage::default());
    assert_eq!(usage_of(&[r#"{"usage":null}"#, r#"{"usage":{}}"#]), Usage::default());
    let zero = r#"{"usage":{"prompt_tokens":0,"completion_tokens":0}}"#;
    let real = r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}"#;
    assert_eq!(usage_of(&[zero, real]), some(5, 2));
    assert_eq!(usage_of(&[real, r#"{"usage":null}"#]), some(5, 2));
    let odd = r#"{"usage":{"prompt_tokens":-1,"completion_tokens":"7","total_tokens":3}}"#;
    assert_eq!(usage_of(&[odd]), Usage::default());
}

/// `tail` follows one good delta; `None` is a finished reply.
fn check(tail: &str, expected: Option<(FailureKind, &str)>) {
    let script = Script::events(&[(1, &(delta(r#"{"content":"x"}"#) + tail))]);
    let found = read(script).failure.map(|failure| (failure.kind, failure.reason));
    let expected = expected.map(|(kind, reason)| (kind, reason.to_string()));
    assert_eq!(found, expected, "{tail}");
}

/// P5, B100: each way to end has one verdict.
#[test]
fn no_bad_end_is_a_success() {
    use FailureKind::{Breach, Refused};
    let error = data(r#"{"error":{"message":"out of memory","code":500}}"#);
    check(&(finish("stop") + DONE), None);
    check(
        &(error + &finish("stop") + DONE),
        Some((Refused, "event 1 is an error: `out of memory`")),
    );
    check("", Some((Breach, "the stream ended without [DONE]")));
    check(&finish("stop"), Some((Breach, "the stream ended without [DONE]")));
    check(DONE, Some((Breach, "[DONE] came without a finish_reason")));
    check(
        "event: error\ndata: {\"detail\":\"x\"}\n\n",
        Some((Refused, "event 1 is an error: `x`")),
    );
    check(
        &(data("{\"choices\":[") + DONE),
        Some((Breach, "event 1 is not JSON: byte 12: the document ends, a JSON value expected")),
    );
    check(
        &(finish("content_filter") + DONE),
        Some((Breach, "finish_reason `content_filter` is not one a report knows")),
    );
}

#[test]
fn an_immediate_end_is_a_failure_of_the_model_not_of_the_wire() {
    for first in [delta(ROLE), String::new()] {
        let script = Script::events(&[(1, &(first + &finish("stop") + &data(USAGE) + DONE))]);
        let failure = read(script).failure.unwrap();
        let found = (failure.kind, failure.reason.as_str());
        assert_eq!(found, (FailureKind::Empty, "no token of text arrived"));
    }
}

/// B100: JSON in place of a stream, with a good status and a bad one.
#[test]
fn replies_that_are_no_stream() {
    let mut script = Script::events(&[(1, r#"{"error":{"message":"busy\nnow"}}"#)]);
    script.content_type = Some("application/json".to_string());
    let failure = read(script.clone()).failure.unwrap();
    assert_eq!(failure.kind, FailureKind::Refused);
    assert_eq!(failure.reason, "HTTP 200, application/json instead of an event stream: `busy now`");
    script.status = 503;
    script.reads = vec![(1, "x".repeat(500).into_bytes())];
    let failure = read(script).failure.unwrap();
    assert!(failure.reason.len() < 300, "{}", failure.reason);
}

/// A hundred tokens that are a blank each, which a tokenizer would join.
///
/// B105: the count is the server's, the times are the client's.
#[test]
fn text_is_not_counted_again() {
    let mut reads: Vec<(u64, String)> =
        (1..=100).map(|i| (10 * i, delta(r#"{"content":" "}"#))).collect();
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":100}}"#;
    reads.push((1000, finish("stop") + &data(usage) + DONE));
    let reads: Vec<(u64, &str)> = reads.iter().map(|(ms, text)| (*ms, text.as_str())).collect();
    let found = read(Script::events(&reads));
    assert_eq!((found.answer.len(), found.usage.completion_tokens), (100, Some(100)));
    let first_ns = found.first_delta.map(|(_, at_ns)| at_ns);
    assert_eq!((first_ns, found.end_ns), (Some(10_000_000), 1_000_000_000));
}

#[test]
fn what_breaks_after_the_end_breaks_nothing() {
    let text = delta(r#"{"content":"x"}"#) + &finish("stop") + DONE;
    let whole = Script::events(&[(1, &text)]).ending_in(FaultKind::Broken, "reset");
    assert_eq!(read(whole).failure, None);
    let cut = Script::events(&[(1, &finish("stop"))]).ending_in(FaultKind::Broken, "reset");
    let failure = read(cut).failure.unwrap();
    assert_eq!((failure.kind, failure.reason.as_str()), (FailureKind::Lost, "reset"));
}

/// Lines that may stand anywhere.
const EXTRA: [&str; 6] = [": ping", ":", "id: 7", "retry: 9", "event: chunk", "nonsense: data: x"];

proptest! {
    /// B097: however the text is cut into deltas, it is the same, and the count is the server's.
    #[test]
    fn chunks_are_not_tokens(pieces in proptest::collection::vec("[a-z ]{1,9}", 1..9)) {
        let mut text: String =
            pieces.iter().map(|piece| delta(&format!(r#"{{"content":"{piece}"}}"#))).collect();
        let usage = data(r#"{"choices":[],"usage":{"completion_tokens":40}}"#);
        text += &(finish("stop") + &usage + DONE);
        let found = read(Script::events(&[(1, &text)]));
        prop_assert_eq!(found.answer, pieces.concat());
        prop_assert_eq!(found.usage.completion_tokens, Some(40));
    }

    /// P4: lines that mean nothing, stray fields, empty events, data over several lines or without
    /// its blank, other line ends and a mark in front leave all that was said as it is.
    #[test]
    fn what_the_format_allows_changes_nothing(
        extra in proptest::collection::vec((any::<prop::sample::Index>(), 0..EXTRA.len()), 0..9),
        end in prop::sample::select(vec!["\n", "\r", "\r\n"]),
        blank: bool,
        mark: bool,
        split: bool,
    ) {
        let events = [
            delta(ROLE),
            delta(r#"{"reasoning":"Ok: so"}"#),
            delta(r#"{"content":"Hi"}"#),
            finish("stop"),
            data(USAGE),
            DONE.to_string(),
        ];
        let plain = read(Script::events(&[(1, &events.concat())]));
        let mut lines: Vec<&str> = events.iter().flat_map(|event| event.lines()).collect();
        for (at, which) in extra {
            lines.insert(at.index(lines.len() + 1), EXTRA[which]);
            // An event without data, which may only stand between two others.
            let between: Vec<usize> = (0..lines.len()).filter(|i| lines[*i].is_empty()).collect();
            let at = between[at.index(between.len())] + 1;
            lines.splice(at..at, ["data:", ""]);
        }
        let mut text = if mark { "\u{feff}".to_string() } else { String::new() };
        for line in lines {
            let mut line = line.to_string();
            if split {
                line = line.replacen("data: {", &format!("data: {{{end}data: "), 1);
            }
            if !blank {
                line = line.replace("data: ", "data:");
            }
            text += &(line + end);
        }
        prop_assert_eq!(read(Script::events(&[(1, &text)])), plain);
    }

    /// Any bytes at all are read without a panic, and end in a verdict.
    #[test]
    fn any_event_data_is_read(
        name in "(error)?",
        data in ".{0,60}",
        json in "[{}\\[\\]\",:a-z0-9]{0,60}",
    ) {
        let event = |data: &str| StampedEvent {
            at_ns: 1,
            name: (!name.is_empty()).then(|| name.clone()),
            data: data.to_string(),
        };
        let mut attempt = read_nothing();
        attempt.events = vec![event(&data), event(&json)];
        transcribe(&attempt);
    }
}

fn read_nothing() -> Attempt {
    Attempt {
        request_id: String::new(),
        body_sha256: String::new(),
        dispatch_ns: 0,
        http_status: Some(200),
        content_type: None,
        events: Vec::new(),
        body: None,
        end_ns: 0,
        fault: None,
    }
}
