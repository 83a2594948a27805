//! Clients that stall, break the protocol or come in crowds, and a machine without descriptors:
//! whatever they do, the others are served and the server ends when told.

use crate::client::{chat, chat_body, connect, get, raw, read};
use crate::command::Serving;
use crate::leaving::start_endless;
use crate::routes::outcome;
use crate::{MODEL, Running};
use serde_json::json;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const POST: &str = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n";

/// Connections that sent `start` and then nothing.
fn stalled(address: SocketAddr, start: &str, count: usize) -> Vec<TcpStream> {
    let stall = |_| {
        let mut stream = connect(address);
        stream.write_all(start.as_bytes()).unwrap();
        stream
    };
    (0..count).map(stall).collect()
}

#[test]
fn stalled_senders_hold_nobody_up() {
    let mut running = Running::start(None);
    let address = running.address;
    let body = format!("{POST}content-length: 50\r\n\r\n{{");
    let mut held = stalled(address, &body, 70);
    held.extend(stalled(address, "POST /v1/chat/comp", 70));
    held.extend(stalled(address, "", 60));
    let asked = Instant::now();
    assert_eq!(get(address, "/health").status, 200);
    assert!(asked.elapsed() < Duration::from_millis(500), "{:?}", asked.elapsed());
    assert_eq!(chat(address, "a", json!({ "max_tokens": 1 })).status, 200);
    let told = Instant::now();
    running.server.take().unwrap().drain();
    assert!(told.elapsed() < Duration::from_secs(8), "{:?}", told.elapsed());
    // Those whose request had begun are told why it is cut short; the idle ones just end.
    for index in [0, 70] {
        let begun = read(held[index].try_clone().unwrap());
        assert_eq!(outcome(&begun), (503, "stopping".into()));
    }
    let mut last = String::new();
    held.pop().unwrap().read_to_string(&mut last).unwrap();
    assert_eq!(last, "");
}

#[test]
fn a_crowd_is_refused_in_words_and_then_served() {
    let running = Running::start(None);
    let crowd = stalled(running.address, "", 256);
    let refused = read(connect(running.address));
    assert_eq!(outcome(&refused), (503, "too_many_connections".into()));
    assert_eq!(refused.header("retry-after"), Some("1"));
    drop(crowd);
    let deadline = Instant::now() + Duration::from_secs(5);
    while get(running.address, "/health").status != 200 {
        assert!(Instant::now() < deadline, "the places are free again");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn requests_with_two_readings_are_refused_and_end_the_connection() {
    let running = Running::start(None);
    let hidden = "GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n";
    let check = |fields: &str, rest: &str, status: u16, code: &str| {
        let answer = raw(running.address, format!("{POST}{fields}\r\n{rest}").as_bytes());
        assert_eq!(outcome(&answer), (status, code.into()), "{fields:?}");
        assert_eq!(answer.header("connection"), Some("close"));
    };
    check("content-length: 0x10\r\n", hidden, 400, "invalid_request");
    check("content-length: 3\r\ncontent-length: 4\r\n", hidden, 400, "invalid_request");
    let both = "content-length: 4\r\ntransfer-encoding: chunked\r\n";
    check(both, &format!("0\r\n\r\n{hidden}"), 400, "invalid_request");
    check("transfer-encoding: gzip\r\n", hidden, 501, "transfer_encoding");
    check("transfer-encoding: chunked\r\n", &format!("\r\n{hidden}"), 400, "invalid_body");
    check(&format!("a: {}\r\n", "b".repeat(40_000)), "", 431, "head_too_large");
    let answer = raw(running.address, b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(outcome(&answer), (400, "invalid_request".into()));
}

#[test]
fn a_body_that_is_cut_is_not_run() {
    let running = Running::start(None);
    let body = chat_body("a", json!({ "max_tokens": 1 }));
    let check = |sent: String| {
        let mut stream = connect(running.address);
        stream.write_all(sent.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(outcome(&read(stream)), (400, "invalid_body".into()), "{sent:?}");
    };
    check(format!("{POST}content-length: {}\r\n\r\n{body}", body.len() + 1));
    let framed = format!("{:x}\r\n{body}\r\n", body.len());
    check(format!("{POST}transfer-encoding: chunked\r\n\r\n{framed}"));
    check(format!("{POST}transfer-encoding: chunked\r\n\r\n{framed}0\r\n"));
    assert_eq!(running.served(), 0);
}

#[test]
fn a_client_that_asks_before_it_sends_is_told_to() {
    let running = Running::start(None);
    let body = chat_body("a", json!({ "max_tokens": 1 }));
    let mut stream = connect(running.address);
    let length = body.len();
    let fields = format!("content-length: {length}\r\nexpect: 100-continue\r\nconnection: close");
    write!(stream, "{POST}{fields}\r\n\r\n").unwrap();
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(body.as_bytes()).unwrap();
    assert_eq!(read(stream).status, 200);
    // A body that would be refused is not asked for.
    let length = 17 << 20;
    let fields = format!("content-length: {length}\r\nexpect: 100-continue\r\n");
    let refused = raw(running.address, format!("{POST}{fields}\r\n").as_bytes());
    assert_eq!(outcome(&refused), (413, "body_too_large".into()));
}

#[test]
fn a_stream_leaves_its_connection_usable() {
    let running = Running::start(None);
    let body = chat_body("a", json!({ "max_tokens": 2, "stream": true }));
    let ask = format!("{POST}content-length: {}\r\n\r\n{body}", body.len());
    let end = "GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let mut stream = connect(running.address);
    stream.write_all(format!("{ask}{ask}{end}").as_bytes()).unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    assert_eq!(all.matches("data: [DONE]\n\n\r\n0\r\n\r\nHTTP/1.1 200 OK").count(), 2, "{all}");
    assert!(all.ends_with(r#"{"status":"ok"}"#), "{all}");
}

#[test]
fn a_server_that_is_ending_refuses_in_words() {
    let mut running = Running::start_roomy();
    let address = running.address;
    let mut first = start_endless(address, true);
    first.read_exact(&mut [0; 400]).unwrap();
    let server = running.server.take().unwrap();
    let draining = std::thread::spawn(move || server.drain());
    std::thread::sleep(Duration::from_millis(200));
    for _ in 0..2 {
        assert_eq!(outcome(&get(address, "/health")), (503, "stopping".into()));
    }
    assert!(!draining.is_finished(), "the first request runs");
    drop(first);
    draining.join().unwrap();
    assert!(TcpStream::connect(address).is_err());
}

/// The process may have 40 descriptors, of which 60 connections leave none.
#[test]
fn a_server_without_descriptors_goes_on_when_it_has_some() {
    let arguments = ["--model", MODEL, "--port", "0", "--threads", "1"];
    let mut serving = Serving::limited("ulimit -n 40", &arguments);
    let address = serving.address;
    for start in ["", POST] {
        let crowd = stalled(address, start, 60);
        std::thread::sleep(Duration::from_millis(200));
        drop(crowd);
        let asked = Instant::now();
        assert_eq!(get(address, "/health").status, 200, "{start:?}");
        assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    }
    let crowd = stalled(address, "", 60);
    // Idle connections give way to those that ask.
    assert_eq!(get(address, "/health").status, 200);
    assert_eq!(serving.end("-TERM"), Some(0));
    drop(crowd);
}
