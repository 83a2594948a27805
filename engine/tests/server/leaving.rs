//! Clients that leave, and a server that is told to end.

use crate::Running;
use crate::client::{Answer, chat, chat_body, connect, get, read};
use serde_json::json;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Time for a request to reach the queue, on a busy machine too.
const ARRIVAL: Duration = Duration::from_millis(200);

/// Asks for an answer that never ends by itself: a negative frequency penalty makes every token
/// more likely each time it appears.
pub(crate) fn start_endless(address: SocketAddr, stream: bool) -> TcpStream {
    start_long(address, stream, None)
}

/// As endless, but for a limit.
fn start_long(address: SocketAddr, stream: bool, max_tokens: Option<usize>) -> TcpStream {
    let fields = json!({
        "stream": stream, "temperature": 0, "frequency_penalty": -2, "max_tokens": max_tokens,
    });
    let body = chat_body("Once upon a time", fields);
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\n";
    let mut connection = connect(address);
    write!(connection, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
    connection
}

fn short(address: SocketAddr) -> Answer {
    chat(address, "Once", json!({ "temperature": 0, "max_tokens": 2 }))
}

/// A second request is answered within a second, and the first was not answered to its end.
fn check_freed(running: &Running) {
    let left = Instant::now();
    assert_eq!(short(running.address).status, 200);
    assert!(left.elapsed() < Duration::from_secs(1), "{:?}", left.elapsed());
    assert_eq!(running.served(), 1);
}

#[test]
fn leaving_a_stream_frees_the_engine() {
    let running = Running::start_roomy();
    let mut connection = start_endless(running.address, true);
    connection.read_exact(&mut [0; 400]).unwrap();
    drop(connection);
    check_freed(&running);
}

#[test]
fn leaving_before_a_whole_answer_frees_the_engine() {
    let running = Running::start_roomy();
    let connection = start_endless(running.address, false);
    std::thread::sleep(ARRIVAL);
    drop(connection);
    check_freed(&running);
}

/// The end of what it sends stands behind the next request.
#[test]
fn leaving_after_asking_ahead_frees_the_engine() {
    let running = Running::start_roomy();
    let mut connection = start_endless(running.address, false);
    std::thread::sleep(ARRIVAL);
    connection.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    drop(connection);
    check_freed(&running);
}

#[test]
fn leaving_while_waiting_costs_nobody_anything() {
    let running = Running::start_roomy();
    let mut first = start_endless(running.address, true);
    first.read_exact(&mut [0; 400]).unwrap();
    let waiting: Vec<_> = (0..5).map(|_| start_endless(running.address, false)).collect();
    std::thread::sleep(ARRIVAL);
    drop(waiting);
    std::thread::sleep(Duration::from_millis(600));
    drop(first);
    check_freed(&running);
}

#[test]
fn ending_only_the_sending_is_not_leaving() {
    let running = Running::start(None);
    let connection = start_endless(running.address, false);
    connection.shutdown(Shutdown::Write).unwrap();
    // Longer than two looks at the client take.
    assert_eq!(read(connection).last()["usage"]["total_tokens"], 512);
}

#[test]
fn a_server_that_stops_ends_its_answers_as_failed() {
    let mut running = Running::start_roomy();
    let mut streamed = start_endless(running.address, true);
    let mut start = [0; 400];
    streamed.read_exact(&mut start).unwrap();
    let waiting = start_endless(running.address, false);
    std::thread::sleep(ARRIVAL);
    let told = Instant::now();
    running.server.take().unwrap().stop();
    assert!(told.elapsed() < Duration::from_secs(1), "{:?}", told.elapsed());
    let mut rest = String::new();
    streamed.read_to_string(&mut rest).unwrap();
    assert!(rest.contains(r#"data: {"error":{"message":"the server is stopping""#), "{rest}");
    assert!(rest.contains("data: [DONE]"), "{rest}");
    assert!(!rest.contains("finish_reason\":\"stop"), "{rest}");
    assert_eq!(read(waiting).status, 503);
}

#[test]
fn a_server_that_drains_answers_what_it_has() {
    let mut running = Running::start(None);
    let mut streamed = start_long(running.address, true, Some(80));
    streamed.read_exact(&mut [0; 400]).unwrap();
    let waiting = start_long(running.address, false, Some(20));
    // Read before the server is told to end.
    std::thread::sleep(ARRIVAL);
    let address = running.address;
    running.server.take().unwrap().drain();
    let mut rest = String::new();
    streamed.read_to_string(&mut rest).unwrap();
    assert!(rest.contains(r#""finish_reason":"length""#), "{rest}");
    assert_eq!(read(waiting).last()["usage"]["completion_tokens"], 20);
    assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
}

#[test]
fn a_long_prompt_keeps_the_line_alive() {
    let running = Running::start(None);
    let fields = json!({ "stream": true, "max_tokens": 1, "temperature": 0 });
    let answer = chat(running.address, &"once upon a time ".repeat(40), fields);
    let prompt = answer.last()["usage"]["prompt_tokens"].as_u64().unwrap();
    let comment = answer.body.lines().next().unwrap();
    assert_eq!(comment, format!(": reading prompt 64/{prompt}"));
    assert_eq!(get(running.address, "/health").status, 200);
}
