//! One table: a body's fields, and what they come to or why they are refused.

use super::*;
use proptest::prelude::*;

/// The seed of a request that leaves it open.
const RANDOM: u64 = 42;

fn parse(fields: &str) -> Result<ChatCompletion, ApiError> {
    let comma = if fields.is_empty() { "" } else { "," };
    let body = format!(r#"{{"messages":[{{"role":"user","content":"hi"}}]{comma}{fields}}}"#);
    ChatCompletion::parse(body.as_bytes(), RANDOM)
}

/// What `get` shows of the parsed request, or the refusal.
fn check<T: std::fmt::Debug>(fields: &str, get: fn(ChatCompletion) -> T, want: &str) {
    let got = match parse(fields) {
        Ok(request) => format!("{:?}", get(request)),
        Err(error) => {
            assert_eq!(error.status, 400);
            assert!(error.param.is_some(), "{fields}: the refusal names a field");
            error.message
        }
    };
    assert_eq!(got, want, "{fields}");
}

#[test]
fn max_tokens() {
    let check = |fields: &str, want: &str| check(fields, |r| r.max_tokens, want);
    check("", "None");
    check(r#""max_tokens":-1"#, "None");
    check(r#""max_tokens":null"#, "None");
    check(r#""max_tokens":7"#, "Some(7)");
    check(r#""max_completion_tokens":-1"#, "None");
    check(r#""max_completion_tokens":50,"max_tokens":9"#, "Some(50)");
    check(r#""max_completion_tokens":null,"max_tokens":9"#, "Some(9)");
    let why = |name, value| {
        format!("{name} is {value}, expected 1 or more, or -1 for the rest of the context")
    };
    check(r#""max_tokens":0"#, &why("max_tokens", "0"));
    check(r#""max_tokens":-2"#, &why("max_tokens", "-2"));
    check(r#""max_tokens":1.5"#, &why("max_tokens", "1.5"));
    check(r#""max_completion_tokens":"9""#, &why("max_completion_tokens", "\"9\""));
}

#[test]
fn seeds() {
    let check = |fields: &str, want: &str| check(fields, |r| r.seed, want);
    check("", "42");
    check(r#""seed":null"#, "42");
    check(r#""seed":-1"#, "42");
    check(r#""seed":0"#, "0");
    check(r#""seed":9007199254740993"#, "9007199254740993");
    check(r#""seed":18446744073709551615"#, "18446744073709551615");
    check(r#""seed":-9223372036854775808"#, "9223372036854775808");
    check(r#""seed":"7""#, r#"seed is "7", expected an integer of 64 bits"#);
    check(r#""seed":1.5"#, "seed is 1.5, expected an integer of 64 bits");
    check(
        r#""seed":18446744073709551616"#,
        "seed is 1.8446744073709552e+19, expected an integer of 64 bits",
    );
}

#[test]
fn sampling() {
    let check = |fields: &str, get: fn(SamplerOptions) -> f32, want: &str| {
        let map: Map<String, Value> = serde_json::from_str(&format!("{{{fields}}}")).unwrap();
        let got = match Fields(map).sampling().and_then(|o| sampler(o.clone()).map(|_| get(o))) {
            Ok(got) => got.to_string(),
            Err(error) => {
                assert!(error.message.starts_with(&error.param.unwrap()), "{}", error.message);
                error.message
            }
        };
        assert_eq!(got, want, "{fields}");
    };
    check("", |s| s.temperature, "1");
    check(r#""temperature":0"#, |s| s.temperature, "0");
    check(r#""temperature":1e-45"#, |s| s.temperature, &1e-45f32.to_string());
    let temperature = |problem| format!("temperature is {problem}");
    check(r#""temperature":-1"#, |s| s.temperature, &temperature("-1, but must lie in 0 to 2"));
    check(r#""temperature":2.5"#, |s| s.temperature, &temperature("2.5, but must lie in 0 to 2"));
    check(r#""temperature":true"#, |s| s.temperature, &temperature("true, expected a number"));
    check("", |s| s.top_k as f32, "0");
    check(r#""top_k":0"#, |s| s.top_k as f32, "0");
    check(r#""top_k":-1"#, |s| s.top_k as f32, "0");
    check(r#""top_k":64"#, |s| s.top_k as f32, "64");
    check(r#""top_k":1000000000"#, |s| s.top_k as f32, "1000000000");
    for value in ["true", "2.5", r#""20""#, "-2"] {
        let want = format!("top_k is {value}, expected a whole number, 0 or -1 for all");
        check(&format!(r#""top_k":{value}"#), |s| s.top_k as f32, &want);
    }
    check("", |s| s.top_p, "1");
    check(r#""top_p":0"#, |s| s.top_p, "0");
    check(r#""top_p":1.0001"#, |s| s.top_p, "top_p is 1.0001, but must lie in 0 to 1");
    check(r#""top_p":-0.1"#, |s| s.top_p, "top_p is -0.1, but must lie in 0 to 1");
    check(r#""min_p":1"#, |s| s.min_p, "1");
    check(r#""min_p":"x""#, |s| s.min_p, r#"min_p is "x", expected a number"#);
    check(r#""repetition_penalty":1.1"#, |s| s.repetition_penalty, "1.1");
    let zero = "repetition_penalty is 0, but must be a finite number above 0";
    check(r#""repetition_penalty":0"#, |s| s.repetition_penalty, zero);
    check(r#""presence_penalty":-2"#, |s| s.presence_penalty, "-2");
    let three = "presence_penalty is 3, but must lie in -2 to 2";
    check(r#""presence_penalty":3"#, |s| s.presence_penalty, three);
    check(r#""frequency_penalty":0.5"#, |s| s.frequency_penalty, "0.5");
}

#[test]
fn stop_texts() {
    let check = |fields: &str, want: &str| check(fields, |r| r.stop, want);
    let why =
        |found| format!("stop is {found}, expected a text or up to 16 texts, none of them empty");
    check("", "[]");
    check(r#""stop":null"#, "[]");
    check(r#""stop":"a""#, r#"["a"]"#);
    check(r#""stop":["a","b"]"#, r#"["a", "b"]"#);
    check(r#""stop":[]"#, "[]");
    check(r#""stop":"""#, &why(r#""""#));
    check(r#""stop":["a",""]"#, &why(r#""""#));
    check(r#""stop":[1]"#, &why("1"));
    check(r#""stop":{}"#, &why("an empty object"));
    let many = |n| format!(r#""stop":[{}]"#, vec![r#""x""#; n].join(","));
    check(&many(17), &why("a list of 17"));
    assert_eq!(parse(&many(16)).unwrap().stop.len(), 16);
}

#[test]
fn usage_in_streams() {
    let check = |fields: &str, want: &str| check(fields, |r| (r.stream, r.include_usage), want);
    check("", "(false, false)");
    check(r#""stream":true"#, "(true, false)");
    check(r#""stream":true,"stream_options":null"#, "(true, false)");
    check(r#""stream":true,"stream_options":{}"#, "(true, false)");
    check(r#""stream":true,"stream_options":{"include_usage":false}"#, "(true, false)");
    check(r#""stream":true,"stream_options":{"include_usage":true}"#, "(true, true)");
    check(
        r#""stream_options":{"include_usage":true}"#,
        "stream_options is given, but stream is not true",
    );
    check(
        r#""stream":true,"stream_options":{"include_usage":1}"#,
        "stream_options.include_usage is 1, expected true or false",
    );
    check(
        r#""stream":true,"stream_options":[]"#,
        "stream_options is a list of 0, expected an object",
    );
    check(r#""stream":"yes""#, r#"stream is "yes", expected true or false"#);
}

#[test]
fn fields_that_are_not_honoured_are_refused_by_name() {
    let check = |fields: &str, want: &str| check(fields, |_| (), want);
    check(r#""n":1,"logprobs":false,"logit_bias":{},"response_format":{"type":"text"}"#, "()");
    check(
        r#""n":null,"tool_choice":"auto","parallel_tool_calls":true,"modalities":["text"]"#,
        "()",
    );
    check(r#""n":2"#, "n is 2, expected only 1");
    check(r#""n":0"#, "n is 0, expected only 1");
    check(r#""logprobs":true"#, "logprobs is true, expected only false");
    check(r#""top_logprobs":5"#, "top_logprobs is 5, expected only 0");
    check(r#""logit_bias":{"5":1}"#, "logit_bias is an object, expected only {}");
    check(
        r#""response_format":{"type":"json_object"}"#,
        r#"response_format is an object, expected only {"type":"text"}"#,
    );
    check(
        r#""tool_choice":"required""#,
        r#"tool_choice is "required", expected only "auto" or "none""#,
    );
    check(
        r#""tool_choice":{"type":"function"}"#,
        r#"tool_choice is an object, expected only "auto" or "none""#,
    );
    check(r#""parallel_tool_calls":false"#, "parallel_tool_calls is false, expected only true");
    check(r#""best_of":3"#, "best_of is 3, expected only 1");
    check(r#""suffix":"x""#, r#"suffix is "x", expected only """#);
    check(r#""echo":true"#, "echo is true, expected only false");
    check(r#""model":5"#, "model is 5, expected a string");
    check(r#""model":"anything","foo":{"bar":[1]},"user":7"#, "()");
    check(r#""cache_prompt":0"#, "cache_prompt is 0, expected true or false");
}

#[test]
fn template_variables() {
    let check = |fields: &str, want: &str| {
        check(fields, |r| Value::Object(r.conversation.kwargs).to_string(), want)
    };
    check("", r#""{}""#);
    check(r#""chat_template_kwargs":{"a":[1]}"#, r#""{\"a\":[1]}""#);
    check(r#""reasoning_effort":"low""#, r#""{\"reasoning_effort\":\"low\"}""#);
    check(
        r#""reasoning_effort":"none""#,
        r#""{\"enable_thinking\":false,\"reasoning_effort\":\"none\"}""#,
    );
    check(
        r#""reasoning_effort":"none","chat_template_kwargs":{"enable_thinking":true}"#,
        r#""{\"enable_thinking\":true,\"reasoning_effort\":\"none\"}""#,
    );
    let why = "expected one of none, minimal, low, medium, high, xhigh";
    check(r#""reasoning_effort":"huge""#, &format!(r#"reasoning_effort is "huge", {why}"#));
    check(r#""reasoning_effort":3"#, &format!("reasoning_effort is 3, {why}"));
    check(r#""chat_template_kwargs":"x""#, r#"chat_template_kwargs is "x", expected an object"#);
}

#[test]
fn tools_reach_the_template_unless_barred() {
    let check = |fields: &str, want: &str| {
        check(fields, |r| r.conversation.tools.map(|t| t.to_string()), want)
    };
    let tool = r#"{"type":"function","function":{"name":"f"}}"#;
    let shown = format!("Some({:?})", format!("[{tool}]"));
    check(&format!(r#""tools":[{tool}]"#), &shown);
    check(&format!(r#""tools":[{tool}],"tool_choice":"none""#), "None");
    check(r#""tools":[]"#, "None");
    check(r#""tools":{}"#, "tools is an empty object, expected a list");
    let expected = r#"expected {"type": "function", "function": {"name": …}}"#;
    check(r#""tools":[5]"#, &format!("tools[0] is 5, {expected}"));
    check(r#""tools":[{"type":"function"}]"#, &format!("tools[0] is an object, {expected}"));
}

#[test]
fn messages_have_a_known_shape() {
    fn check(messages: &str, want: &str) {
        let body = format!(r#"{{"messages":{messages}}}"#);
        let got = match ChatCompletion::parse(body.as_bytes(), RANDOM) {
            Ok(request) => Value::Array(request.conversation.messages).to_string(),
            Err(error) => error.message,
        };
        assert_eq!(got, want, "{messages}");
    }
    let same = |messages| check(messages, messages);
    same(r#"[{"role":"system","content":"s"},{"role":"user","content":"🌍"}]"#);
    same(concat!(
        r#"[{"role":"assistant","content":null,"tool_calls":[{}]},"#,
        r#"{"role":"tool","content":"4","tool_call_id":"a"}]"#
    ));
    check(r#"[{"role":"developer","content":"d"}]"#, r#"[{"role":"system","content":"d"}]"#);
    same(r#"[{"role":"user","content":[{"type":"text","text":"a"}]}]"#);
    let list = "expected a list of at least one message";
    check("[]", &format!("messages is a list of 0, {list}"));
    check(r#""hi""#, &format!(r#"messages is "hi", {list}"#));
    check("null", "messages is missing: expected a list of messages");
    check("[5]", "messages[0] is 5, expected an object");
    let roles = "expected one of system, user, assistant, tool, developer";
    check(
        r#"[{"role":"function","content":""}]"#,
        &format!(r#"messages[0].role is "function", {roles}"#),
    );
    check(r#"[{"content":"x"}]"#, &format!("messages[0].role is null, {roles}"));
    let text = "expected a text or a list of text parts";
    check(r#"[{"role":"user","content":null}]"#, &format!("messages[0].content is null, {text}"));
    check(r#"[{"role":"user"}]"#, &format!("messages[0].content is null, {text}"));
    check(
        r#"[{"role":"assistant","content":null}]"#,
        &format!("messages[0].content is null, {text}"),
    );
    check(r#"[{"role":"user","content":5}]"#, &format!("messages[0].content is 5, {text}"));
    check(
        r#"[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]"#,
        r#"messages[0].content[0].type is "image_url", expected only "text""#,
    );
    check(
        r#"[{"role":"user","content":["x"]}]"#,
        r#"messages[0].content[0] is "x", expected {"type": "text", "text": …}"#,
    );
    check(
        r#"[{"role":"assistant","content":"","tool_calls":1}]"#,
        "messages[0].tool_calls is 1, expected a list",
    );
}

#[test]
fn bodies_that_are_no_request() {
    let deep = |n| format!("{}{}", "[".repeat(n), "]".repeat(n));
    for body in ["", "{", "[]", "5", "\"x\"", "{\"a\":1}x", "\u{1}", &deep(64), &deep(100_000)] {
        let error = ChatCompletion::parse(body.as_bytes(), RANDOM).unwrap_err();
        assert_eq!((error.status, error.code), (400, Some("invalid_json")), "{}", error.message);
    }
    for body in [&b"{\"messages\":\"\xff\"}"[..], br#"{"messages":"\ud83c"}"#] {
        let error = ChatCompletion::parse(body, RANDOM).unwrap_err();
        assert_eq!((error.status, error.code), (400, Some("invalid_json")), "{}", error.message);
    }
    assert!(parse(&format!(r#""foo":{}"#, deep(64))).is_ok());
    assert!(parse(r#""seed":1,"seed":2"#).is_ok(), "the last of two equal keys counts");
}

#[test]
fn a_long_value_is_shown_by_its_start() {
    let error = parse(&format!(r#""stream":"{}""#, "é".repeat(10_000))).unwrap_err();
    let start = "é".repeat(40);
    assert_eq!(error.message, format!("stream is \"{start}\"…, expected true or false"));
}

proptest! {
    /// Any JSON under any known field parses or is refused with 400.
    #[test]
    fn no_value_of_a_known_field_is_a_failure(
        field in prop::sample::select(vec![
            "messages", "max_tokens", "max_completion_tokens", "temperature", "top_p", "top_k",
            "min_p", "presence_penalty", "frequency_penalty", "repetition_penalty", "seed",
            "stop", "stream", "stream_options", "n", "tools", "tool_choice", "model",
            "chat_template_kwargs", "reasoning_effort", "cache_prompt", "response_format",
        ]),
        value in prop::sample::select(vec![
            "null", "true", "0", "-1", "1e308", "-0.0", "\"\"", "\"auto\"", "[]", "[null]",
            "[[]]", "{}", "[{}]", "{\"type\":null}", "[{\"role\":\"user\",\"content\":[{}]}]",
            "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":5}]}]",
        ]),
    ) {
        if let Err(error) = parse(&format!(r#""{field}":{value}"#)) {
            prop_assert_eq!(error.status, 400);
            prop_assert!(!error.message.is_empty());
        }
    }
}
