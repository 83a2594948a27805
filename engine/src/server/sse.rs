//! Server-sent events over any writer, each sent the moment it exists: one event, one chunk, one
//! write. It knows nothing of what the events mean.

use std::io::{self, Write};

/// A response body of events. An error from a send means that the client left.
pub(super) struct EventStream<W: Write> {
    connection: W,
    chunked: bool,
}

impl<W: Write> EventStream<W> {
    /// Begins a body, with chunked framing or none.
    pub(super) fn new(connection: W, chunked: bool) -> EventStream<W> {
        EventStream { connection, chunked }
    }

    /// One event. The data is one line, as serialised JSON is.
    pub(super) fn send(&mut self, data: &str) -> io::Result<()> {
        self.write(&format!("data: {data}\n\n"))
    }

    /// A line that keeps the connection alive and that every client skips.
    pub(super) fn comment(&mut self, text: &str) -> io::Result<()> {
        self.write(&format!(": {text}\n\n"))
    }

    /// The last event, and the end of the body.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.send("[DONE]")?;
        if self.chunked {
            self.connection.write_all(b"0\r\n\r\n")?;
        }
        Ok(())
    }

    fn write(&mut self, event: &str) -> io::Result<()> {
        debug_assert_eq!(event.find('\n'), Some(event.len() - 2), "an event is one line");
        if self.chunked {
            // Formatted first: a socket sends each piece it is given as a packet of its own.
            self.connection.write_all(format!("{:X}\r\n{event}\r\n", event.len()).as_bytes())
        } else {
            self.connection.write_all(event.as_bytes())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Remembers where each write ended.
    #[derive(Default)]
    struct Recorder {
        bytes: Vec<u8>,
        ends: Vec<usize>,
    }

    impl Write for &mut Recorder {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.bytes.extend(bytes);
            self.ends.push(self.bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn stream(chunked: bool) -> Recorder {
        let mut recorder = Recorder::default();
        let mut events = EventStream::new(&mut recorder, chunked);
        events.comment("reading prompt 64/320").unwrap();
        events.send(r#"{"a":"é\n"}"#).unwrap();
        events.finish().unwrap();
        recorder
    }

    #[test]
    fn each_event_is_one_chunk_and_one_write() {
        let recorder = stream(true);
        let body = String::from_utf8(recorder.bytes.clone()).unwrap();
        let comment = "19\r\n: reading prompt 64/320\n\n\r\n";
        let event = "14\r\ndata: {\"a\":\"é\\n\"}\n\n\r\n";
        assert_eq!(body, format!("{comment}{event}E\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"));

        let mut end = 0;
        let mut want = Vec::new();
        for chunk in [comment.len(), event.len(), 19, 5] {
            end += chunk;
            want.push(end);
        }
        assert_eq!(recorder.ends, want);
    }

    #[test]
    fn http_1_0_gets_bare_events() {
        let body = String::from_utf8(stream(false).bytes).unwrap();
        assert_eq!(body, ": reading prompt 64/320\n\ndata: {\"a\":\"é\\n\"}\n\ndata: [DONE]\n\n");
    }
}
