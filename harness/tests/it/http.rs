//! The client over loopback: limits, faults, and how true its stamps are.

use super::stub::{Deaf, Reply, Stub};
use std::net::TcpListener;
use std::ops::Range;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use strata_harness::client::attempt::attempt;
use strata_harness::client::base_url::BaseUrl;
use strata_harness::client::clock::{Clock, SystemClock};
use strata_harness::client::http::Http;
use strata_harness::client::transport::FaultKind;
use strata_harness::client::watched::Timeouts;
use strata_harness::record::Attempt;
use strata_harness::report::transcript::{FailureKind, transcribe};

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(150);
const TIMEOUTS: Timeouts = Timeouts { connect: LONG, first_byte: LONG, idle: LONG, total: LONG };

fn client(url: &str, timeouts: Timeouts, cancel: &Arc<AtomicBool>) -> (Http, SystemClock) {
    let clock = SystemClock::start();
    let url = BaseUrl::parse(url).unwrap();
    (Http::new(url, None, timeouts, clock, Arc::clone(cancel)), clock)
}

fn ask(url: &str, timeouts: Timeouts) -> Attempt {
    let (http, clock) = client(url, timeouts, &Arc::default());
    attempt(&http, &clock, "a", "{}")
}

fn took(found: &Attempt) -> Duration {
    Duration::from_nanos(found.end_ns - found.dispatch_ns)
}

fn event(text: &str) -> Vec<u8> {
    format!("data: {text}\n\n").into_bytes()
}

/// The reply `make` makes is cut off within a moment of the limit, by a fault of these words.
fn check(
    make: fn() -> Reply,
    timeouts: Timeouts,
    expected: (FaultKind, &str),
    events: Range<usize>,
) {
    let stub = Stub::start(Box::new(move |_| Some(make())));
    let start = Instant::now();
    let found = ask(&stub.url, timeouts);
    let fault = found.fault.unwrap();
    assert_eq!((fault.kind, fault.message.as_str()), expected);
    assert!(events.contains(&found.events.len()), "{} events", found.events.len());
    assert!(start.elapsed() < SHORT * 4, "{:?}", start.elapsed());
}

#[test]
fn limits_hold() {
    check(
        || Reply { head: String::new(), pieces: vec![], linger: SHORT * 5 },
        Timeouts { first_byte: SHORT, ..TIMEOUTS },
        (FaultKind::Timeout, "no byte of a reply within 150ms (--timeout-first-byte)"),
        0..1,
    );
    check(
        || Reply { linger: SHORT * 5, ..Reply::stream(vec![(Duration::ZERO, event("a"))]) },
        Timeouts { idle: SHORT, ..TIMEOUTS },
        (FaultKind::Timeout, "no further byte within 150ms (--timeout-idle)"),
        1..2,
    );
    check(
        || Reply::stream(vec![(SHORT * 2 / 5, event("a")); 30]),
        Timeouts { total: SHORT, ..TIMEOUTS },
        (FaultKind::Timeout, "the reply did not end within 150ms (--timeout-total)"),
        1..4,
    );
}

#[test]
fn a_connection_that_nobody_answers_is_given_up() {
    let deaf = Deaf::start();
    let start = Instant::now();
    let fault = ask(&deaf.url, Timeouts { connect: SHORT, ..TIMEOUTS }).fault.unwrap();
    let expected = format!("no connection to {} within 150ms (--timeout-connect)", deaf.url);
    assert_eq!((fault.kind, fault.message), (FaultKind::Connect, expected));
    assert!((SHORT / 2..SHORT * 4).contains(&start.elapsed()), "{:?}", start.elapsed());
}

#[test]
fn a_server_that_does_not_read_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap(); // the kernel connects, nobody reads
    let url = format!("http://{}", listener.local_addr().unwrap());
    let timeouts = Timeouts { first_byte: SHORT, ..TIMEOUTS };
    let (http, clock) = client(&url, timeouts, &Arc::default());
    let found = attempt(&http, &clock, "a", &"x".repeat(16 << 20));
    let message = found.fault.as_ref().unwrap().message.as_str();
    assert_eq!(message, "no byte of a reply within 150ms (--timeout-first-byte)");
    assert!((SHORT..SHORT * 4).contains(&took(&found)), "{:?}", took(&found));
}

/// No part of a name may be longer than 63 bytes: no resolver asks anybody for this one.
#[test]
fn a_name_that_is_no_hosts() {
    let name = "x".repeat(64);
    let fault = ask(&format!("http://{name}:80"), TIMEOUTS).fault.unwrap();
    assert_eq!(fault.kind, FaultKind::Connect);
    let (start, end) =
        (format!("host `{name}`: "), "; check the name, or give the server's IP address");
    assert!(fault.message.starts_with(&start) && fault.message.ends_with(end), "{fault:?}");
}

#[test]
fn a_name_is_looked_up() {
    let stub = Stub::start(Box::new(|_| Some(Reply::stream(vec![(Duration::ZERO, event("a"))]))));
    let found = ask(&stub.url.replace("127.0.0.1", "localhost"), TIMEOUTS);
    assert_eq!((found.events.len(), found.fault), (1, None)); // whatever ::1 says before
}

/// A reply of this head and body is one failure of this kind, for a reason that begins so.
fn check_failure(head: &str, body: Vec<u8>, kind: FailureKind, reason: &str) {
    let head = format!("HTTP/1.1 {head}\r\nConnection: close\r\n\r\n");
    let stub = Stub::start(Box::new(move |_| {
        let pieces = vec![(Duration::ZERO, body.clone())];
        Some(Reply { head: head.clone(), pieces, linger: Duration::ZERO })
    }));
    let found = transcribe(&ask(&stub.url, TIMEOUTS)).failure.unwrap();
    assert_eq!(found.kind, kind, "{found:?}");
    assert!(found.reason.starts_with(reason) && found.reason.len() < 300, "{found:?}");
}

#[test]
fn odd_replies_are_failures_with_a_reason() {
    use FailureKind::{Breach, Lost, Refused};
    const STREAM: &str = "200 OK\r\nContent-Type: text/event-stream";
    let much = vec![b'x'; 5 << 20];
    let long = "an event of more than 4194304 bytes";
    check_failure(STREAM, much.clone(), Breach, long);
    check_failure(STREAM, [b"data: ", &much[..]].concat(), Breach, long);
    check_failure(STREAM, vec![], Breach, "the stream ended without [DONE]");
    let html = "HTTP 200, text/html instead of an event stream: `<html>";
    check_failure("200 OK\r\nContent-Type: text/html", b"<html>Hi".to_vec(), Refused, html);
    let bare = "HTTP 200, no content type instead of an event stream: `xxx";
    check_failure("200 OK", much, Refused, bare);
    let moved = "HTTP 302, no content type instead of an event stream";
    check_failure("302 Found\r\nLocation: http://127.0.0.1:1/", vec![], Refused, moved);
    let gzip = "the reply is encoded as \"gzip\", which was not asked for";
    let head = format!("{STREAM}\r\nContent-Encoding: gzip");
    check_failure(&head, b"\x1f\x8b\x08\0".to_vec(), Breach, gzip);
    let head = format!("{STREAM}\r\nContent-Length: 99");
    check_failure(&head, event("{}"), Lost, "the connection broke");
}

/// The operator stops a request of this body to this server; how many events it had by then.
fn check_interruption(url: &str, body: &str) -> usize {
    let cancel = Arc::new(AtomicBool::new(false));
    let (http, clock) = client(url, TIMEOUTS, &cancel);
    let operator = thread::spawn(move || {
        thread::sleep(SHORT);
        cancel.store(true, Ordering::Relaxed);
    });
    let found = attempt(&http, &clock, "a", body);
    operator.join().unwrap();
    assert_eq!(found.fault.as_ref().unwrap().kind, FaultKind::Interrupted);
    assert!(took(&found) < SHORT * 4, "{:?}", took(&found));
    found.events.len()
}

#[test]
fn an_interruption_ends_every_wait() {
    let stub = Stub::start(Box::new(|_| {
        Some(Reply { linger: LONG, ..Reply::stream(vec![(Duration::ZERO, event("a"))]) })
    }));
    assert_eq!(check_interruption(&stub.url, "{}"), 1);
    assert_eq!(check_interruption(&Deaf::start().url, "{}"), 0);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let unread = format!("http://{}", listener.local_addr().unwrap());
    assert_eq!(check_interruption(&unread, &"x".repeat(16 << 20)), 0);
}

#[test]
fn faults_are_told_apart() {
    let nobody = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let found = ask(&nobody, TIMEOUTS).fault.unwrap();
    assert_eq!(found.kind, FaultKind::Connect);
    assert!(found.message.starts_with(&format!("cannot connect to {nobody}: ")), "{found:?}");

    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    let cut = Stub::start(Box::new(move |_| {
        let piece = b"9\r\ndata: a\n\n\r\n20\r\ndata: ".to_vec();
        let pieces = vec![(Duration::ZERO, piece)];
        Some(Reply { head: head.to_string(), pieces, linger: Duration::ZERO })
    }));
    let found = ask(&cut.url, TIMEOUTS);
    assert_eq!(found.events.len(), 1);
    assert_eq!(found.fault.unwrap().kind, FaultKind::Broken);

    let noise = Stub::start(Box::new(|_| {
        let pieces = vec![(Duration::ZERO, b"SSH-2.0-OpenSSH\r\n\r\n".to_vec())];
        Some(Reply { head: String::new(), pieces, linger: Duration::ZERO })
    }));
    assert_eq!(ask(&noise.url, TIMEOUTS).fault.unwrap().kind, FaultKind::Malformed);
}

#[test]
fn the_key_is_sent_and_redirects_are_not_followed() {
    let stub = Stub::start(Box::new(|_| {
        let head = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\
                    Connection: close\r\n\r\n";
        Some(Reply { head: head.to_string(), pieces: vec![], linger: Duration::ZERO })
    }));
    let (clock, url) = (SystemClock::start(), BaseUrl::parse(&stub.url).unwrap());
    let http = Http::new(url, Some("sesame".to_string()), TIMEOUTS, clock, Arc::default());
    let found = attempt(&http, &clock, "a", "{}");
    assert_eq!((found.http_status, found.fault), (Some(302), None));
    let head = stub.asked.lock().unwrap()[0].head.to_lowercase();
    assert!(head.contains("authorization: bearer sesame\r\n"), "{head}");
}

/// 60 events, 3 ms apart, through chunked encoding: when the server wrote them against when the
/// client says it read them, by the same clock.
#[test]
fn stamps_are_true_to_two_milliseconds() {
    const EVENTS: usize = 60;
    let clock = SystemClock::start();
    let written = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&written);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"{}") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            request.push(byte[0]);
        }
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                    Transfer-Encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        for _ in 0..EVENTS {
            thread::sleep(Duration::from_millis(3));
            log.lock().unwrap().push(clock.now_ns());
            stream.write_all(b"9\r\ndata: a\n\n\r\n").unwrap();
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
    });
    let url = BaseUrl::parse(&url).unwrap();
    let http = Http::new(url, None, TIMEOUTS, clock, Arc::default());
    let found = attempt(&http, &clock, "a", "{}");
    server.join().unwrap();
    assert_eq!(found.fault, None);
    let written = written.lock().unwrap();
    assert_eq!((found.events.len(), written.len()), (EVENTS, EVENTS));
    let mut errors: Vec<u64> = found
        .events
        .iter()
        .zip(written.iter())
        .map(|(event, written)| {
            event.at_ns.checked_sub(*written).expect("read after it was written")
        })
        .collect();
    errors.sort();
    assert!(errors[EVENTS / 2] < 2_000_000, "{errors:?}");
}
