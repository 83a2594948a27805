//! What servers do, right and wrong, as scripts with their truth: the shapes that public clients
//! were seen to misread. It knows neither the client nor the sockets.

use super::{Case, Seen, Step};
use crate::report::transcript::{DeltaKind, FailureKind};
use serde_json::{Value, json};
use std::time::Duration;

/// All of them.
pub fn cases() -> Vec<Case> {
    [deltas(), usages(), lines(), borders(), failures()].concat()
}

/// A case whose steps begin with the head of a chunked event stream.
fn case(name: &'static str, steps: Vec<Step>, truth: Seen) -> Case {
    Case { name, steps: [vec![raw(HEAD)], steps].concat(), truth }
}

/// What an ordinary answer of two tokens amounts to.
fn one_two() -> Seen {
    Seen {
        first_delta: Some(DeltaKind::Content),
        answer: "one two".to_string(),
        finish_reason: Some("stop".to_string()),
        completion_tokens: Some(2),
        ..Seen::default()
    }
}

fn broken(failure: FailureKind) -> Seen {
    Seen { finish_reason: None, completion_tokens: None, failure: Some(failure), ..one_two() }
}

fn deltas() -> Vec<Case> {
    let role = json!({ "role": "assistant", "content": "" });
    let call = |index: u64, name: &str, arguments: &str| {
        let function = json!({ "name": name, "arguments": arguments });
        json!({ "tool_calls": [{ "index": index, "function": function }] })
    };
    let thinking = json!({ "reasoning_content": "hm, " });
    vec![
        case("plain", vec![text("one"), pause(), text(" two"), pause(), end("stop", 2)], one_two()),
        case(
            "role chunk first",
            vec![delta(&role), pause(), text("one"), text(" two"), end("stop", 2)],
            one_two(),
        ),
        case("several tokens a chunk", vec![text("one two"), end("stop", 2)], one_two()),
        case(
            "one token in several chunks",
            vec![text("o"), text("ne"), text(" two"), end("stop", 2)],
            one_two(),
        ),
        case(
            "reasoning only",
            vec![delta(&thinking), pause(), delta(&thinking), end("length", 2)],
            Seen {
                first_delta: Some(DeltaKind::Reasoning),
                reasoning: "hm, hm, ".to_string(),
                answer: String::new(),
                finish_reason: Some("length".to_string()),
                ..one_two()
            },
        ),
        case(
            "reasoning under its other name",
            vec![delta(&json!({ "reasoning": "hm, " })), text("one two"), end("stop", 2)],
            Seen {
                first_delta: Some(DeltaKind::Reasoning),
                reasoning: "hm, ".to_string(),
                ..one_two()
            },
        ),
        case(
            "tool calls in pieces",
            vec![
                delta(&call(0, "add", "{\"a\":")),
                delta(&call(1, "now", "{}")),
                delta(&call(0, "", "1}")),
                end("tool_calls", 2),
            ],
            Seen {
                first_delta: Some(DeltaKind::ToolCall),
                answer: String::new(),
                tool_calls: [("add", "{\"a\":1}"), ("now", "{}")]
                    .map(|(name, arguments)| (name.to_string(), arguments.to_string()))
                    .to_vec(),
                finish_reason: Some("tool_calls".to_string()),
                ..one_two()
            },
        ),
    ]
}

fn usages() -> Vec<Case> {
    let counted = |count: u64| json!({ "choices": [], "usage": { "completion_tokens": count } });
    let null = json!({ "choices": [], "usage": null });
    let finish = || chunk(&finished("stop"));
    let with = |name, before: Vec<Step>, after: Vec<Step>, tokens| {
        let steps = [before, vec![text("one two"), finish()], after, vec![done()]].concat();
        case(name, steps, Seen { completion_tokens: tokens, ..one_two() })
    };
    vec![
        with("usage early", vec![chunk(&counted(2))], vec![], Some(2)),
        with("usage late", vec![], vec![pause(), chunk(&counted(2))], Some(2)),
        with("usage twice", vec![chunk(&counted(0))], vec![chunk(&counted(2))], Some(2)),
        with("usage null, then real", vec![chunk(&null)], vec![chunk(&counted(2))], Some(2)),
        with("usage never", vec![], vec![], None),
    ]
}

fn lines() -> Vec<Case> {
    let said = |before: &str, line_end: &str| {
        let delta = json!({ "choices": [{ "index": 0, "delta": { "content": "one two" } }] });
        let data = [delta, finished("stop"), counted(2)].map(|value| value.to_string());
        let data = data.iter().map(String::as_str).chain(["[DONE]"]);
        data.map(|data| format!("{before}data: {data}\n\n"))
            .collect::<String>()
            .replace('\n', line_end)
    };
    let whole = |name, stream: &str| case(name, vec![framed(stream.as_bytes()), last()], one_two());
    vec![
        whole("carriage returns and line feeds", &said("", "\r\n")),
        whole("carriage returns alone", &said("", "\r")),
        whole("comments", &said(": keep-alive\n\n:\n", "\n")),
        whole("other fields", &said("event: message\nid: 7\nretry: 10\n", "\n")),
        whole("no blank after the colon", &said("", "\n").replace("data: ", "data:")),
        whole("data over two lines", &said("", "\n").replace(",\"delta\"", ",\ndata: \"delta\"")),
        whole("a byte order mark", &format!("\u{feff}{}", said("", "\n"))),
        whole("an event without data", &format!("data:\n\n{}", said("", "\n"))),
        whole("no line feed at the end", said("", "\n").trim_end()),
    ]
}

fn borders() -> Vec<Case> {
    let snow = || Seen { answer: "schön ❄ 雪 😀".to_string(), ..one_two() };
    let stream: Vec<u8> = [body(&text("schön ❄ 雪 😀")), body(&end("stop", 2))].concat();
    let one_write = stream.iter().flat_map(|&byte| frame(&[byte])).collect();
    let by_byte = stream.chunks(1).map(framed).chain([last()]).collect();
    let head_then = |rest: &str| format!("{HEAD}{rest}");
    vec![
        case("a write for each byte", by_byte, snow()),
        case("a chunk for each byte", vec![send(one_write, stream.clone()), last()], snow()),
        case("all in one write", vec![framed(&stream), last()], snow()),
        Case {
            name: "slow first byte",
            steps: vec![
                Step::Pause(Duration::from_millis(60)),
                raw(&head_then("")),
                Step::Pause(Duration::from_millis(60)),
                text("one two"),
                end("stop", 2),
            ],
            truth: one_two(),
        },
        Case {
            name: "no framing but the end",
            steps: vec![
                raw(&HEAD.replace("transfer-encoding: chunked", "connection: close")),
                bare(&body(&text("one two"))),
                bare(&body(&end("stop", 2))),
            ],
            truth: one_two(),
        },
    ]
}

fn failures() -> Vec<Case> {
    let started = || vec![text("one two")];
    let then = |name, steps: Vec<Step>, truth| case(name, [started(), steps].concat(), truth);
    let error = json!({ "error": { "message": "out of memory", "code": 500 } });
    let refused = "HTTP/1.1 503 Busy\r\ncontent-type: application/json\r\n\
                   content-length: 30\r\n\r\n\
                   {\"error\":{\"message\":\"no room\"}}";
    let stopped = Some("stop".to_string());
    vec![
        then(
            "no [DONE]",
            vec![chunk(&finished("stop")), last()],
            Seen { finish_reason: stopped, ..broken(FailureKind::Breach) },
        ),
        then("[DONE] alone", vec![done()], broken(FailureKind::Breach)),
        then("an error in mid-stream", vec![chunk(&error), done()], broken(FailureKind::Refused)),
        then(
            "an event that is no JSON",
            vec![framed(b"data: {\"choices\":[\n\n"), done()],
            broken(FailureKind::Breach),
        ),
        then("silence", vec![Step::Hang], broken(FailureKind::Timeout)),
        then("an early close", vec![], broken(FailureKind::Lost)),
        then("a chunk cut short", vec![raw("ff\r\ndata: {")], broken(FailureKind::Lost)),
        Case {
            name: "a refusal",
            steps: vec![raw(refused)],
            truth: Seen { failure: Some(FailureKind::Refused), ..Seen::default() },
        },
    ]
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                    transfer-encoding: chunked\r\n\r\n";

fn finished(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

fn counted(tokens: u64) -> Value {
    json!({ "choices": [], "usage": { "completion_tokens": tokens } })
}

fn text(content: &str) -> Step {
    delta(&json!({ "content": content }))
}

fn delta(delta: &Value) -> Step {
    chunk(&json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] }))
}

/// One event with this data.
fn chunk(data: &Value) -> Step {
    framed(format!("data: {data}\n\n").as_bytes())
}

/// The reason to stop, the count, `[DONE]` and the end of the body, in one write.
fn end(reason: &str, tokens: u64) -> Step {
    let events = [finished(reason), counted(tokens)].map(|data| format!("data: {data}\n\n"));
    let body = events.concat() + "data: [DONE]\n\n";
    send([frame(body.as_bytes()), b"0\r\n\r\n".to_vec()].concat(), body.into_bytes())
}

fn done() -> Step {
    let body = b"data: [DONE]\n\n";
    send([frame(body), b"0\r\n\r\n".to_vec()].concat(), body.to_vec())
}

/// The end of a chunked body.
fn last() -> Step {
    raw("0\r\n\r\n")
}

fn framed(body: &[u8]) -> Step {
    send(frame(body), body.to_vec())
}

fn frame(body: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", body.len()).as_bytes(), body, b"\r\n"].concat()
}

/// Body bytes without framing.
fn bare(body: &[u8]) -> Step {
    send(body.to_vec(), body.to_vec())
}

/// Bytes of which none is body, or none that completes an event.
fn raw(wire: &str) -> Step {
    send(wire.as_bytes().to_vec(), Vec::new())
}

fn send(wire: Vec<u8>, body: Vec<u8>) -> Step {
    Step::Send { wire, body }
}

fn body(step: &Step) -> Vec<u8> {
    match step {
        Step::Send { body, .. } => body.clone(),
        Step::Pause(_) | Step::Hang => Vec::new(),
    }
}

fn pause() -> Step {
    Step::Pause(Duration::from_millis(5))
}
