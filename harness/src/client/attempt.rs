//! One request, start to end: sends it, stamps what comes, and records it unjudged.

use super::clock::Clock;
use super::sse::{self, Event};
use super::transport::{Fault, FaultKind, Reply, Transport};
use crate::digest::sha256;
use crate::record::{Attempt, StampedEvent};

/// Most bytes of one reply that are kept: a day of tokens.
pub const MAX_REPLY_BYTES: usize = 256 << 20;
/// Most events of one reply: each takes memory of its own, however short.
pub const MAX_EVENTS: usize = 1 << 20;
/// Most bytes kept of a reply that is no event stream: an error with its stack.
pub const MAX_PLAIN_BYTES: usize = 64 << 10;

/// Sends `body` at once and records the reply. Never fails: a fault is part of the record.
pub fn attempt(
    transport: &dyn Transport,
    clock: &dyn Clock,
    request_id: &str,
    body: &str,
) -> Attempt {
    attempt_when(transport, clock, request_id, body, &|| clock.now_ns())
}

/// The same once `due` returns, which says when that was to be: all times count from there, so
/// that what a client is late by is in them.
pub fn attempt_when(
    transport: &dyn Transport,
    clock: &dyn Clock,
    request_id: &str,
    body: &str,
    due: &dyn Fn() -> u64,
) -> Attempt {
    let body_sha256 = sha256(body.as_bytes());
    let mut attempt = Attempt {
        request_id: request_id.to_string(),
        body_sha256,
        dispatch_ns: due(),
        http_status: None,
        content_type: None,
        events: Vec::new(),
        body: None,
        end_ns: 0,
        fault: None,
    };
    let end = transport.post(body).and_then(|reply| {
        attempt.http_status = Some(reply.status);
        attempt.content_type = reply.content_type.clone();
        read_reply(reply, &mut attempt)
    });
    attempt.end_ns = clock.now_ns();
    attempt.fault = end.err();
    attempt
}

fn read_reply(mut reply: Reply, attempt: &mut Attempt) -> Result<(), Fault> {
    if !is_event_stream(&reply) {
        let mut kept = Vec::new();
        let end = read_plain(&mut reply, &mut kept);
        attempt.body = Some(String::from_utf8_lossy(&kept).into_owned());
        return end;
    }
    let malformed = |error: sse::TooLong| Fault::new(FaultKind::Malformed, error.to_string());
    let (mut parser, mut events, mut bytes, mut last_ns) = (sse::Parser::default(), vec![], 0, 0);
    while let Some(piece) = reply.body.read()? {
        bytes += piece.bytes.len();
        if bytes > MAX_REPLY_BYTES {
            let message = format!("a reply of more than {MAX_REPLY_BYTES} bytes");
            return Err(Fault::new(FaultKind::Malformed, message));
        }
        last_ns = piece.at_ns;
        let fed = parser.feed(piece.bytes, &mut events).map_err(malformed);
        stamp(&mut events, last_ns, attempt);
        fed?;
        if attempt.events.len() > MAX_EVENTS {
            let message = format!("a reply of more than {MAX_EVENTS} events");
            return Err(Fault::new(FaultKind::Malformed, message));
        }
    }
    parser.finish(&mut events).map_err(malformed)?;
    stamp(&mut events, last_ns, attempt);
    Ok(())
}

fn stamp(events: &mut Vec<Event>, at_ns: u64, attempt: &mut Attempt) {
    let stamped = events.drain(..).map(|Event { name, data }| StampedEvent { at_ns, name, data });
    attempt.events.extend(stamped);
}

fn read_plain(reply: &mut Reply, kept: &mut Vec<u8>) -> Result<(), Fault> {
    while let Some(piece) = reply.body.read()? {
        let room = MAX_PLAIN_BYTES - kept.len();
        kept.extend_from_slice(&piece.bytes[..piece.bytes.len().min(room)]);
        if room == 0 {
            break;
        }
    }
    Ok(())
}

fn is_event_stream(reply: &Reply) -> bool {
    let media_type = reply.content_type.as_deref().and_then(|text| text.split(';').next());
    let declared = media_type.is_some_and(|m| m.trim().eq_ignore_ascii_case("text/event-stream"));
    reply.status == 200 && declared
}

#[cfg(test)]
mod tests {
    use super::super::scripted::{Script, Scripted};
    use super::super::transport::{ByteStream, Piece};
    use super::*;

    fn record(script: Script) -> Attempt {
        let transport = Scripted::new([script]);
        transport.clock.set(1_000);
        let clock = transport.clock.clone();
        attempt(&transport, &clock, "a", "{}")
    }

    #[test]
    fn stamps_are_the_scripts_whatever_the_pieces() {
        let script = Script::events(&[
            (40, ": keep-alive\n\n"),
            (60, "data: one\n\ndata: tw"),
            (75, "o\n\n"),
            (90, "data: [DONE]"),
        ]);
        let whole = record(script.clone());
        let stamps: Vec<(u64, &str)> =
            whole.events.iter().map(|event| (event.at_ns, event.data.as_str())).collect();
        let ms = |ms: u64| 1_000 + ms * 1_000_000;
        assert_eq!(stamps, [(ms(60), "one"), (ms(75), "two"), (ms(90), "[DONE]")]);
        assert_eq!((whole.dispatch_ns, whole.end_ns), (1_000, ms(90)));
        for size in 1..20 {
            assert_eq!(record(script.in_pieces_of(size)), whole, "{size}");
        }
    }

    #[test]
    fn a_reply_that_is_no_event_stream_is_kept_as_text() {
        let mut script = Script::events(&[(10, r#"{"error":{"message":"busy"}}"#)]);
        script.content_type = Some("application/json".to_string());
        let found = record(script.clone());
        assert_eq!(found.body.as_deref(), Some(r#"{"error":{"message":"busy"}}"#));
        assert!(found.events.is_empty());

        script.content_type = Some("text/event-stream; charset=utf-8".to_string());
        script.status = 503;
        script.reads = vec![(10, vec![b'x'; 2 * MAX_PLAIN_BYTES]), (20, vec![b'y'])];
        let found = record(script);
        assert_eq!(found.http_status, Some(503));
        assert_eq!(found.body.map(|body| body.len()), Some(MAX_PLAIN_BYTES));
    }

    #[test]
    fn a_reply_does_not_grow_without_bound() {
        let check = |reads: Vec<(u64, Vec<u8>)>, expected: &str| {
            let found = record(Script { reads, ..Script::events(&[]) });
            let fault = found.fault.map(|fault| (fault.kind, fault.message));
            assert_eq!(fault, Some((FaultKind::Malformed, expected.to_string())));
        };
        let pieces = |text: &str| vec![(1, text.repeat(MAX_EVENTS / 256).into_bytes()); 257];
        check(pieces("data:\n\n"), "a reply of more than 1048576 events");
        let line = vec![(1, vec![b'x'; 1 << 20]); 5];
        check(line, "an event of more than 4194304 bytes; no such answer is expected");
    }

    /// Says nothing, and never stops.
    struct Endless(Vec<u8>);

    impl ByteStream for Endless {
        fn read(&mut self) -> Result<Option<Piece<'_>>, Fault> {
            Ok(Some(Piece { at_ns: 1, bytes: &self.0 }))
        }
    }

    #[test]
    fn a_reply_of_comments_does_not_last_for_ever() {
        let comment = [&[b':'; 1 << 20][..], b"\n"].concat();
        let content_type = Some("text/event-stream".to_string());
        let reply = Reply { status: 200, content_type, body: Box::new(Endless(comment)) };
        let mut kept = record(Script::events(&[]));
        let fault = read_reply(reply, &mut kept).unwrap_err();
        let expected = "a reply of more than 268435456 bytes";
        assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::Malformed, expected));
        assert!(kept.events.is_empty());
    }

    #[test]
    fn a_fault_keeps_what_came_before_it() {
        let script = Script::events(&[(10, "data: one\n\ndata: tw")])
            .ending_in(FaultKind::Broken, "the connection broke");
        let found = record(script);
        assert_eq!(found.events.len(), 1);
        assert_eq!(found.fault.map(|fault| fault.kind), Some(FaultKind::Broken));
    }
}
