//! Everything around an answer: routes, keys, limits, refusals, the queue.

use crate::Running;
use crate::client::{Answer, chat, chat_body, connect, get, raw, read, send};
use crate::leaving::start_endless;
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Status and `error.code`, after the error's shape was checked.
pub(crate) fn outcome(answer: &Answer) -> (u16, String) {
    let body = answer.json();
    let Some(error) = body.get("error") else { return (answer.status, String::new()) };
    let keys: Vec<&String> = error.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["message", "type", "param", "code"]);
    assert!(error["message"].is_string() && error["type"].is_string(), "{error}");
    (answer.status, error["code"].as_str().unwrap_or_default().into())
}

#[test]
fn routes_and_methods() {
    let running = Running::start(None);
    let check = |method: &str, path: &str, status: u16, code: &str| {
        let answer = send(running.address, method, path, &[], "");
        assert_eq!(outcome(&answer), (status, code.into()), "{method} {path}");
        answer
    };
    check("GET", "/health", 200, "");
    check("GET", "/v1/models", 200, "");
    check("GET", "/v1/models/", 200, "");
    check("GET", "/v1/models?a=b", 200, "");
    check("GET", "/v1/status", 200, "");
    check("GET", "/v1/nothing?beta=true", 404, "not_found");
    check("GET", "http://elsewhere/v1/models?a=b", 200, "");
    check("GET", "//v1/models", 404, "not_found");
    check("OPTIONS", "*", 404, "not_found");
    check("GET", "/", 404, "not_found");
    check("GET", "/v1/..%2Fmodels", 404, "not_found");
    check("POST", "/v1/chat/completions/?beta=true", 400, "invalid_json");
    let get_chat = check("GET", "/v1/chat/completions", 405, "method_not_allowed");
    assert_eq!(get_chat.header("allow"), Some("POST"));
    let delete = check("DELETE", "/health", 405, "method_not_allowed");
    assert_eq!(delete.header("allow"), Some("GET, HEAD"));
    let head = send(running.address, "HEAD", "/health", &[], "");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
}

#[test]
fn models_and_status_tell_what_runs() {
    let running = Running::start(None);
    let models = get(running.address, "/v1/models").json();
    assert_eq!(models["data"][0]["id"], "stories260k-f16");
    let status = get(running.address, "/v1/status").json();
    let keys = |pointer: &str| {
        let object = status.pointer(pointer).and_then(|value| value.as_object());
        object.unwrap().keys().map(String::as_str).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        keys(""),
        "engine build model tokenizer template context_tokens capacity device options \
         requests_served"
    );
    assert_eq!(keys("/engine"), "name version commit dirty commit_missing");
    assert_eq!(keys("/build"), "kind options");
    assert_eq!(keys("/build/options"), "profile features target rustc");
    assert_eq!(keys("/model"), "id path quantization bytes files");
    assert_eq!(keys("/tokenizer"), "sha256 kind pre");
    assert_eq!(keys("/template"), "sha256 text");
    assert_eq!(keys("/device"), "name kernels threads");
    assert_eq!(
        keys("/options"),
        "kv_cache expert_cache offloading prefill mtp calibration experimental_options other"
    );
    assert_eq!(status["model"]["quantization"], "F16");
    assert_eq!(status["model"]["bytes"], 535_808);
    assert_eq!(status["context_tokens"], 512);
    assert_eq!(status["capacity"], 1);
    assert_eq!(status["device"], json!({ "name": "cpu", "kernels": "reference", "threads": 1 }));
    assert_eq!(
        status["engine"]["commit"].is_null(),
        status["engine"]["commit_missing"].is_string()
    );
    assert_eq!(status["requests_served"], 0);
}

#[test]
fn the_key_opens_everything_and_health_needs_none() {
    let running = Running::start(Some("k3y"));
    let status =
        |headers: &[(&str, &str)]| send(running.address, "GET", "/v1/models", headers, "").status;
    for right in ["Bearer k3y", "bearer k3y", "Bearer  k3y"] {
        assert_eq!(status(&[("authorization", right)]), 200, "{right}");
    }
    assert_eq!(status(&[("X-Api-Key", "k3y")]), 200);
    for wrong in ["Bearer wrong", "Bearer k3", "Bearer k3yy", "Bearer ", "k3y", "Basic k3y"] {
        assert_eq!(status(&[("authorization", wrong)]), 401, "{wrong}");
    }
    for path in ["/v1/models", "/v1/status", "/v1/nothing"] {
        let answer = get(running.address, path);
        assert_eq!(outcome(&answer), (401, "invalid_api_key".into()), "{path}");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        assert!(!answer.body.contains("k3y"));
    }
    assert_eq!(chat(running.address, "a", json!({})).status, 401);
    assert_eq!(get(running.address, "/health").status, 200);
}

#[test]
fn bodies_that_cannot_be_used() {
    let running = Running::start(None);
    let check = |body: &str, code: &str| {
        let answer = send(running.address, "POST", "/v1/chat/completions", &[], body);
        assert_eq!(outcome(&answer), (400, code.into()), "{body}: {}", answer.body);
    };
    check("", "invalid_json");
    check("{", "invalid_json");
    check("[]", "invalid_json");
    check("{}", "invalid_value");
    check(r#"{"messages":[]}"#, "invalid_value");
    check(r#"{"messages":[{"role":"user","content":7}]}"#, "invalid_value");
    check(&chat_body("a", json!({ "temperature": "hot" })), "invalid_value");
    check(&chat_body("a", json!({ "n": 2 })), "invalid_value");
    let answer = chat(running.address, "a", json!({ "top_k": 2.5 }));
    assert_eq!(answer.json()["error"]["param"], "top_k");
}

#[test]
fn a_huge_body_is_refused_by_its_announced_size() {
    let running = Running::start(None);
    let announce = |bytes: u64| {
        let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\n";
        let mut stream = connect(running.address);
        write!(stream, "{head}content-length: {bytes}\r\n\r\n{{").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        stream
    };
    let answer = read(announce((16 << 20) + 1));
    assert_eq!(outcome(&answer), (413, "body_too_large".into()));
    // More than any machine could allocate.
    let answer = read(announce(1 << 60));
    assert_eq!(outcome(&answer), (413, "body_too_large".into()));
    let sent_whole = "x".repeat((16 << 20) + 1);
    let answer = send(running.address, "POST", "/v1/chat/completions", &[], &sent_whole);
    assert_eq!(outcome(&answer), (413, "body_too_large".into()));
    assert_eq!(get(running.address, "/health").status, 200);
}

#[test]
fn a_slow_sender_holds_nobody_up() {
    let running = Running::start(None);
    let mut slow = connect(running.address);
    let body = chat_body(&"a ".repeat(600), json!({ "max_tokens": 1 }));
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\n";
    write!(slow, "{head}content-length: {}\r\n\r\n{{", body.len()).unwrap();
    assert_eq!(chat(running.address, "a", json!({ "max_tokens": 1 })).status, 200);
    assert_eq!(get(running.address, "/health").status, 200);
    slow.write_all(&body.as_bytes()[1..]).unwrap();
    assert_ne!(read(slow).status, 500);
}

#[test]
fn health_answers_while_a_request_runs() {
    let running = Running::start_roomy();
    let mut long = start_endless(running.address, true);
    long.read_exact(&mut [0; 400]).unwrap();
    for path in ["/health", "/v1/models", "/v1/status"] {
        let asked = Instant::now();
        assert_eq!(get(running.address, path).status, 200);
        assert!(asked.elapsed() < Duration::from_millis(500), "{path}: {:?}", asked.elapsed());
    }
    assert_eq!(running.served(), 0, "it runs");
}

#[test]
fn one_runs_eight_wait_and_the_rest_is_refused_at_once() {
    let running = Running::start_roomy();
    let mut first = start_endless(running.address, true);
    first.read_exact(&mut [0; 400]).unwrap();
    let mut held: Vec<_> = (0..11).map(|_| start_endless(running.address, true)).collect();
    let answered = |connection: &TcpStream| {
        connection.set_nonblocking(true).unwrap();
        let answered = connection.peek(&mut [0]).is_ok();
        connection.set_nonblocking(false).unwrap();
        answered
    };
    let deadline = Instant::now() + Duration::from_secs(5);
    while held.iter().filter(|connection| answered(connection)).count() < 3 {
        assert!(Instant::now() < deadline, "three of twelve find no place");
        std::thread::sleep(Duration::from_millis(5));
    }
    for connection in held.extract_if(.., |connection| answered(connection)) {
        let answer = read(connection);
        assert_eq!(outcome(&answer), (503, "queue_full".into()));
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    assert_eq!(held.len(), 8);
    assert_eq!(get(running.address, "/health").status, 200);
}

#[test]
fn requests_at_once_are_answered_as_if_each_were_alone() {
    let running = Running::start(None);
    let address = running.address;
    let ask = move |seed: u64| {
        chat(address, "Once upon a time", json!({ "seed": seed, "max_tokens": 20 })).text()
    };
    let alone: Vec<String> = (0..3).map(ask).collect();
    let clients: Vec<_> = (0..6).map(|at| std::thread::spawn(move || ask(at % 3))).collect();
    for (at, client) in clients.into_iter().enumerate() {
        assert_eq!(client.join().unwrap(), alone[at % 3]);
    }
}

#[test]
fn connections_are_kept_alive() {
    let running = Running::start(None);
    let keep = "GET /health HTTP/1.1\r\nhost: x\r\n\r\n";
    let end = "GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let mut stream = connect(running.address);
    stream.write_all(format!("{keep}{end}").as_bytes()).unwrap();
    let mut both = String::new();
    stream.read_to_string(&mut both).unwrap();
    assert_eq!(both.matches("HTTP/1.1 200").count(), 2, "{both}");
    assert_eq!(raw(running.address, b"nonsense\r\n\r\n").status, 400);
}
