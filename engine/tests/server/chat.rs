//! Answers: the same text however it is asked for, and numbers that add up.

use crate::Running;
use crate::client::{Answer, chat, chat_body, send};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Instant;

const PROMPT: &str = "Once upon a time, there was a little girl named Lily.";

fn with(mut fields: Value, more: Value) -> Value {
    fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    fields
}

/// What must not depend on how an answer is delivered.
fn essence(answer: &Answer) -> (String, Value, Value, Value) {
    let last = answer.last();
    let finish = match answer.header("content-type") {
        Some("application/json") => last["choices"][0]["finish_reason"].clone(),
        _ => {
            let chunks = answer.chunks();
            let finish = |chunk: &Value| chunk["choices"][0]["finish_reason"].clone();
            chunks.iter().map(finish).find(|finish| !finish.is_null()).unwrap()
        }
    };
    let usage = &last["usage"];
    (answer.text(), finish, usage["prompt_tokens"].clone(), usage["completion_tokens"].clone())
}

#[test]
fn streamed_and_whole_cached_and_cold_are_the_same_answer() {
    let running = Running::start(None);
    let check = |fields: Value| {
        let ask = |more| chat(running.address, PROMPT, with(fields.clone(), more));
        let whole = essence(&ask(json!({ "cache_prompt": false })));
        let variants = [
            json!({ "stream": true, "cache_prompt": false }),
            json!({ "stream": true }),
            json!({ "stream": true, "stream_options": { "include_usage": true } }),
            json!({}),
        ];
        for variant in variants {
            assert_eq!(essence(&ask(variant.clone())), whole, "{fields} {variant}");
        }
    };
    check(json!({ "temperature": 0, "max_tokens": 40 }));
    check(json!({ "temperature": 0.9, "seed": 7, "max_tokens": 40 }));
    let narrow = json!({ "top_k": 5, "top_p": 0.9, "min_p": 0.01, "seed": 1, "max_tokens": 20 });
    check(narrow);
    let penalties = json!({ "repetition_penalty": 1.3, "frequency_penalty": 0.5 });
    check(with(penalties, json!({ "temperature": 0, "max_tokens": 20 })));
    check(json!({ "temperature": 0, "stop": ["Lily"], "max_tokens": 60 }));
    check(json!({ "temperature": 0, "max_tokens": 1 }));
}

#[test]
fn seeds_are_exact_and_the_drawn_one_is_reported() {
    let running = Running::start(None);
    let ask = |seed: Value| {
        let fields = json!({ "temperature": 1, "max_tokens": 24, "seed": seed });
        chat(running.address, PROMPT, fields)
    };
    assert_eq!(ask(json!(7)).text(), ask(json!(7)).text());
    assert_ne!(ask(json!(7)).text(), ask(json!(8)).text());
    let large = 9_007_199_254_740_993_u64;
    assert_eq!(ask(json!(large)).json()["seed"], large);
    for random in [Value::Null, json!(-1)] {
        let (first, second) = (ask(random.clone()), ask(random));
        assert_ne!(first.text(), second.text());
        let seed = first.json()["seed"].clone();
        assert_eq!(ask(seed).text(), first.text());
    }
    let greedy = |seed| {
        let fields = json!({ "temperature": 0, "top_k": 50, "seed": seed, "max_tokens": 24 });
        chat(running.address, PROMPT, fields).text()
    };
    assert_eq!(greedy(1), greedy(2));
}

fn check_numbers(address: SocketAddr, fields: Value, cached: Option<u64>) -> Value {
    let sent = Instant::now();
    let answer = chat(address, PROMPT, fields.clone());
    let wall_ms = sent.elapsed().as_secs_f64() * 1000.0;
    let last = answer.last();
    let (usage, timings) = (&last["usage"], &last["timings"]);
    let count = |value: &Value| value.as_u64().unwrap();
    let ms = |value: &Value| value.as_f64().unwrap();
    let [prompt, output] = ["prompt_tokens", "completion_tokens"].map(|key| count(&usage[key]));
    let reused = count(&usage["prompt_tokens_details"]["cached_tokens"]);
    assert_eq!(count(&usage["total_tokens"]), prompt + output);
    assert_eq!(count(&timings["cache_n"]), reused);
    assert_eq!(count(&timings["cache_n"]) + count(&timings["prompt_n"]), prompt);
    assert_eq!(count(&timings["predicted_n"]), output);
    assert!(ms(&timings["prompt_ms"]) + ms(&timings["predicted_ms"]) <= wall_ms, "{timings}");
    for (rate, n, time) in [
        ("prompt_per_second", "prompt_n", "prompt_ms"),
        ("predicted_per_second", "predicted_n", "predicted_ms"),
    ] {
        match (timings[rate].as_f64(), ms(&timings[time])) {
            (None, time) => assert_eq!(time, 0.0),
            (Some(rate), time) => {
                let want = count(&timings[n]) as f64 * 1000.0 / time;
                assert!((rate / want - 1.0).abs() < 1e-9, "{rate}, not {want}");
            }
        }
    }
    if let Some(cached) = cached {
        assert_eq!(reused, cached, "{fields}");
    }
    last
}

#[test]
fn numbers_add_up_and_reuse_is_told_truly() {
    let running = Running::start(None);
    let fields = |cache: bool, stream: bool| {
        let delivery = json!({ "cache_prompt": cache, "stream": stream });
        with(delivery, json!({ "temperature": 0, "max_tokens": 12 }))
    };
    let first = check_numbers(running.address, fields(true, false), Some(0));
    let prompt = first["usage"]["prompt_tokens"].as_u64().unwrap();
    for stream in [false, true] {
        check_numbers(running.address, fields(true, stream), Some(prompt - 1));
        check_numbers(running.address, fields(false, stream), Some(0));
    }
    assert_eq!(first["usage"]["completion_tokens"], 12);
    assert_eq!(first["choices"][0]["finish_reason"], "length");
    assert_eq!(running.served(), 5);
}

#[test]
fn usage_stands_once_and_where_the_specification_has_it() {
    let running = Running::start(None);
    let shape = |options: Value| {
        let fields =
            json!({ "temperature": 0, "max_tokens": 3, "stream": true, "stream_options": options });
        let chunks = chat(running.address, PROMPT, fields).chunks();
        let first = &chunks[0]["choices"][0]["delta"];
        assert_eq!(*first, json!({ "role": "assistant" }));
        for chunk in &chunks {
            assert!(chunk["choices"].is_array(), "{chunk}");
            assert_ne!(chunk["choices"][0]["delta"]["content"], "", "{chunk}");
        }
        let with_usage = chunks.iter().filter(|chunk| chunk["usage"].is_object()).count();
        let (last, before) = chunks.split_last().unwrap();
        (
            with_usage,
            last["choices"] == json!([]),
            before.iter().all(|c| c.get("usage") == Some(&Value::Null)),
        )
    };
    let unasked = (1, false, false);
    assert_eq!(shape(Value::Null), unasked);
    assert_eq!(shape(json!({})), unasked);
    assert_eq!(shape(json!({ "include_usage": false })), unasked);
    assert_eq!(shape(json!({ "include_usage": true })), (1, true, true));
}

#[test]
fn a_stop_text_ends_the_answer_before_itself() {
    let running = Running::start(None);
    let ask = |stop: Value| {
        chat(running.address, PROMPT, json!({ "temperature": 0, "max_tokens": 60, "stop": stop }))
    };
    let free = ask(Value::Null).text();
    // A piece that begins in the middle of a token and spans several.
    let (at, _) = free.char_indices().nth(21).unwrap();
    let (end, _) = free.char_indices().nth(30).unwrap();
    let stopped = ask(json!(["never to be seen", &free[at..end]]));
    assert_eq!(stopped.text(), free[..at]);
    assert_eq!(stopped.json()["choices"][0]["finish_reason"], "stop");
    assert!(stopped.json()["usage"]["completion_tokens"].as_u64().unwrap() > 0);
}

#[test]
fn what_does_not_fit_is_refused_with_the_numbers_before_a_stream_begins() {
    let running = Running::start(None);
    let context = crate::client::get(running.address, "/v1/status").json()["context_tokens"]
        .as_u64()
        .unwrap();
    let ask = |prompt: &str, fields| {
        chat(running.address, prompt, with(fields, json!({ "stream": true })))
    };
    let short =
        ask("a", json!({ "max_tokens": 1 })).last()["usage"]["prompt_tokens"].as_u64().unwrap();
    let refused = |answer: Answer, numbers: &[u64]| {
        assert_eq!(answer.status, 400, "{}", answer.body);
        let error = &answer.json()["error"];
        assert_eq!(error["code"], "context_length_exceeded");
        assert_eq!(error["type"], "invalid_request_error");
        for number in numbers {
            assert!(error["message"].as_str().unwrap().contains(&number.to_string()), "{error}");
        }
    };
    let room = context - short;
    refused(ask("a", json!({ "max_tokens": room + 1 })), &[short, room + 1, context, room]);
    refused(ask(&"word ".repeat(2000), json!({})), &[context]);
    let all = ask("a", json!({ "max_tokens": room, "temperature": 0 }));
    assert_eq!(all.status, 200, "{}", all.body);
    assert!(all.last()["usage"]["completion_tokens"].as_u64().unwrap() <= room);
}

#[test]
fn a_chunked_body_is_read_and_a_broken_one_refused() {
    let running = Running::start(None);
    let body = chat_body("a", json!({ "max_tokens": 1 }));
    let post = |framed: &str| {
        let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
                    transfer-encoding: chunked\r\n\r\n";
        crate::client::raw(running.address, format!("{head}{framed}").as_bytes()).status
    };
    let framed: String = body
        .as_bytes()
        .chunks(7)
        .map(|part| format!("{:x};ext=1\r\n{}\r\n", part.len(), std::str::from_utf8(part).unwrap()))
        .collect();
    assert_eq!(post(&format!("{framed}0\r\n\r\n")), 200);
    assert_eq!(post("zz\r\n{}\r\n0\r\n\r\n"), 400);
}

#[test]
fn http_1_0_gets_a_stream_that_the_connections_end_ends() {
    let running = Running::start(None);
    let body = chat_body("a", json!({ "max_tokens": 2, "temperature": 0, "stream": true }));
    let request = format!(
        "POST /v1/chat/completions HTTP/1.0\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let bare = crate::client::raw(running.address, request.as_bytes());
    assert_eq!(bare.header("transfer-encoding"), None);
    let framed = send(running.address, "POST", "/v1/chat/completions", &[], &body);
    assert_eq!(bare.text(), framed.text());
}

#[test]
fn a_template_that_refuses_is_a_400_with_its_words() {
    let template = "{% if messages[0].role == 'system' %}{{ raise_exception('no system here') }}\
                    {% endif %}{{ messages[0].content }}";
    let running = Running::start_templated(template);
    let ask = |role: &str| {
        let messages = json!([{ "role": role, "content": "Once" }]);
        let body = json!({ "messages": messages, "max_tokens": 1, "stream": true });
        send(running.address, "POST", "/v1/chat/completions", &[], &body.to_string())
    };
    let refused = ask("developer");
    assert_eq!(refused.status, 400);
    let error = &refused.json()["error"];
    assert!(error["message"].as_str().unwrap().contains("no system here"), "{error}");
    assert_eq!(error["param"], "messages");
    assert_eq!(ask("user").status, 200);
}

#[test]
fn tools_and_variables_reach_the_template() {
    let template = "{{ messages[0].content }} {% if tools %}{{ tools[0].function.name }}\
                    {% endif %} {{ reasoning_effort }} {{ enable_thinking }} {{ mood }}";
    let running = Running::start_templated(template);
    let plain = Running::start(None);
    let count = |answer: Answer| answer.last()["usage"]["prompt_tokens"].clone();
    let check = |fields: Value, rendered: &str| {
        let fields = with(fields, json!({ "max_tokens": 1 }));
        let templated = count(chat(running.address, "Lily", fields.clone()));
        assert_eq!(
            templated,
            count(chat(plain.address, rendered, json!({ "max_tokens": 1 }))),
            "{fields}"
        );
    };
    let tool = json!([{ "type": "function", "function": { "name": "look_up_the_weather" } }]);
    check(json!({}), "Lily    ");
    check(json!({ "tools": tool }), "Lily look_up_the_weather   ");
    check(json!({ "tools": tool, "tool_choice": "none" }), "Lily    ");
    check(json!({ "reasoning_effort": "minimal" }), "Lily  minimal  ");
    check(json!({ "reasoning_effort": "none" }), "Lily  none False ");
    check(json!({ "chat_template_kwargs": { "mood": "happy" } }), "Lily    happy");
    let owned = chat(running.address, "a", json!({ "chat_template_kwargs": { "messages": [] } }));
    assert_eq!(owned.status, 400);
}

#[test]
fn a_damaged_weight_is_a_failure_and_not_an_answer() {
    let mut bytes = std::fs::read(crate::MODEL).unwrap();
    let file = strata_engine::gguf::File::parse(bytes.clone().into()).unwrap();
    let at = file.tensor("output_norm.weight").unwrap().offset as usize;
    bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    let model = strata_engine::Model::from_bytes(bytes, &crate::OPTIONS).unwrap();
    let running = Running::with(&std::sync::Arc::new(model), None);
    for stream in [false, true] {
        let answer = chat(running.address, PROMPT, json!({ "stream": stream }));
        assert_eq!(answer.status, 500);
        assert_eq!(answer.json()["error"]["type"], "server_error");
        assert_eq!(answer.json()["error"]["code"], "not_finite");
    }
    assert_eq!(running.served(), 0);
}
