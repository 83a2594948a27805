//! Server-sent events as the WHATWG defines them (html.spec.whatwg.org, section 9.2): bytes in, in
//! pieces of any size, events out. It owns no socket and no clock, and reads nothing into the data.
//!
//! One departure: an event whose closing blank line never came is still delivered by `finish`,
//! because servers exist that end the stream right after the last data.

use std::fmt;

/// Longest line, and longest data of one event, in bytes: a tool call of a novel still fits.
pub const MAX_EVENT_BYTES: usize = 4 << 20;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The `event:` field; `None` when absent or empty, which means `message`.
    pub name: Option<String>,
    /// The `data:` lines, joined by line feeds. Bytes that are not UTF-8 became U+FFFD.
    pub data: String,
}

/// A line or an event grew past [`MAX_EVENT_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "an event of more than {MAX_EVENT_BYTES} bytes; no such answer is expected")
    }
}

/// What is known of the stream between two pieces.
#[derive(Debug, Default)]
pub struct Parser {
    line: Vec<u8>,
    name: Vec<u8>,
    data: Option<Vec<u8>>,
    past_first_line: bool,
    /// The last byte was a CR, so that an LF now belongs to it.
    after_cr: bool,
}

impl Parser {
    /// Reads a piece and appends the events it completes to `events`.
    pub fn feed(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), TooLong> {
        let mut rest = bytes;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n' || byte == b'\r') {
            self.extend_line(&rest[..end])?;
            self.end_line(events)?;
            let ended_by_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if ended_by_cr {
                self.after_cr = rest.is_empty();
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
        }
        self.extend_line(rest)
    }

    /// The stream has ended in good order: what is pending counts as complete.
    pub fn finish(mut self, events: &mut Vec<Event>) -> Result<(), TooLong> {
        if !self.line.is_empty() {
            self.end_line(events)?;
        }
        self.dispatch(events);
        Ok(())
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if bytes.len() > MAX_EVENT_BYTES - self.line.len() {
            return Err(TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, events: &mut Vec<Event>) -> Result<(), TooLong> {
        let line = std::mem::take(&mut self.line);
        let mut text: &[u8] = &line;
        if !self.past_first_line {
            self.past_first_line = true;
            text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        }
        if text.is_empty() {
            self.dispatch(events);
            return Ok(());
        }
        let (field, value) = match text.iter().position(|&byte| byte == b':') {
            Some(colon) => (&text[..colon], &text[colon + 1..]),
            None => (text, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => self.append_data(value)?,
            b"event" => self.name = value.to_vec(),
            _ => {} // a comment, `id`, `retry`, or a field the standard tells us to ignore
        }
        Ok(())
    }

    fn append_data(&mut self, value: &[u8]) -> Result<(), TooLong> {
        let Some(data) = &mut self.data else {
            self.data = Some(value.to_vec());
            return Ok(());
        };
        if data.len() + 1 + value.len() > MAX_EVENT_BYTES {
            return Err(TooLong);
        }
        data.push(b'\n');
        data.extend_from_slice(value);
        Ok(())
    }

    fn dispatch(&mut self, events: &mut Vec<Event>) {
        let name = std::mem::take(&mut self.name);
        let Some(data) = self.data.take() else { return };
        let name = (!name.is_empty()).then(|| String::from_utf8_lossy(&name).into_owned());
        events.push(Event { name, data: String::from_utf8_lossy(&data).into_owned() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
        let (mut parser, mut events) = (Parser::default(), Vec::new());
        for piece in pieces {
            parser.feed(piece, &mut events).unwrap();
        }
        parser.finish(&mut events).unwrap();
        events
    }

    /// `expected`: `name|data` per event, the name left out when there is none.
    fn check(stream: &str, expected: &[&str]) {
        let show = |event: Event| match event.name {
            Some(name) => format!("{name}|{}", event.data),
            None => event.data,
        };
        let found: Vec<String> = parse([stream.as_bytes()]).into_iter().map(show).collect();
        assert_eq!(found, expected, "{stream:?}");
    }

    #[test]
    fn events() {
        check("data: a\n\ndata: b\n\n", &["a", "b"]);
        check("data:a\r\n\r\ndata:  b\r\n\r\n", &["a", " b"]);
        check("data: a\r\rdata: b\r\r", &["a", "b"]);
        check("data: a\r\n\ndata: b\n\r\n", &["a", "b"]);
        check("data: a\ndata: b\n\n", &["a\nb"]);
        check("data: a\ndata\ndata:\n\n", &["a\n\n"]);
        check(": keep-alive\n\ndata: a\n\n: bye\n\n", &["a"]);
        check("event: error\ndata: {}\n\ndata: b\n\n", &["error|{}", "b"]);
        check("event: lost\n\ndata: a\n\n", &["a"]);
        check("id: 7\nretry: 9\nnonsense\ndata: a\n\n", &["a"]);
        check("\u{feff}data: a\n\n", &["a"]);
        check("data: a\n\n\u{feff}data: b\n\n", &["a"]);
        check("data: a\n\ndata: last", &["a", "last"]);
        check("data:\n\n", &[""]);
        check("", &[]);
    }

    #[test]
    fn no_line_and_no_event_grows_without_bound() {
        let long = vec![b'x'; MAX_EVENT_BYTES];
        assert_eq!(Parser::default().feed(&long, &mut Vec::new()), Ok(()));
        let mut parser = Parser::default();
        parser.feed(&long, &mut Vec::new()).unwrap();
        assert_eq!(parser.feed(b"x", &mut Vec::new()), Err(TooLong));

        let mut parser = Parser::default();
        let line = [b"data:", &long[..MAX_EVENT_BYTES - 5], b"\n"].concat();
        parser.feed(&line, &mut Vec::new()).unwrap();
        assert_eq!(parser.feed(&line, &mut Vec::new()), Err(TooLong));
    }

    /// Bytes that look like a stream often enough to reach every state.
    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let pieces: [&[u8]; 12] = [
            b"data: ",
            b"data",
            b"event: error",
            b": ping",
            b"\n",
            b"\r",
            b"\r\n",
            b"\n\n",
            "h\u{e9}\u{1f600}".as_bytes(),
            b"\xf0\x9f",
            b"\xef\xbb\xbf",
            b"{\"a\":1}",
        ];
        let piece = proptest::sample::select(pieces.to_vec());
        let noise = proptest::collection::vec(any::<u8>(), 0..40);
        let pieces = proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat());
        prop_oneof![3 => pieces, 1 => noise]
    }

    proptest! {
        /// P3: on bytes, one at a time, inside a character and between CR and LF too.
        #[test]
        fn any_split_is_one_read(
            stream in stream(),
            cuts in proptest::collection::vec(0usize..200, 0..12),
        ) {
            let whole = parse([&stream[..]]);
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|&cut| cut < stream.len()).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort();
            let pieces = cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]);
            prop_assert_eq!(&parse(pieces), &whole);
            prop_assert_eq!(&parse(stream.chunks(1)), &whole);
        }
    }
}
