//! The body of a request, of a known length or in chunks, read from any byte source. A size is
//! refused before a byte of it is read and never allocated ahead of what arrived. It knows no
//! sockets and no routes.

use super::head::Framing;
use crate::server::openai::ApiError;
use std::io::{self, Read};

/// A byte source with what was read of it and not yet used.
pub(super) struct Input<R> {
    pub(super) source: R,
    bytes: Vec<u8>,
    /// Of `bytes`, those used.
    used: usize,
}

impl<R: Read> Input<R> {
    pub(super) fn new(source: R) -> Input<R> {
        Input { source, bytes: Vec::new(), used: 0 }
    }

    /// What has arrived and was not yet taken.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[self.used..]
    }

    /// Waits for more; `Ok(0)` at the end of the source.
    pub(super) fn fill(&mut self) -> io::Result<usize> {
        self.bytes.drain(..self.used);
        self.used = 0;
        let mut buffer = [0; 16 << 10];
        loop {
            match self.source.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => {
                    let read = read?;
                    self.bytes.extend_from_slice(&buffer[..read]);
                    return Ok(read);
                }
            }
        }
    }

    /// Takes the first `len` of [`Input::bytes`].
    pub(super) fn take(&mut self, len: usize) -> &[u8] {
        let taken = &self.bytes[self.used..][..len];
        self.used += len;
        taken
    }

    /// Reads a body of at most `max` bytes. After an error the place of the next request is
    /// unknown.
    pub(super) fn body(&mut self, framing: Framing, max: usize) -> Result<Vec<u8>, ApiError> {
        match framing {
            Framing::Length(len) if len > max as u64 => Err(too_large(max)),
            Framing::Length(len) => {
                let mut body = Vec::new();
                self.move_to(&mut body, len as usize, |have| {
                    format!("after {have} of the {len} bytes that content-length announced")
                })?;
                Ok(body)
            }
            Framing::Chunked => self.chunks(max),
        }
    }

    fn chunks(&mut self, max: usize) -> Result<Vec<u8>, ApiError> {
        let mut body = Vec::new();
        loop {
            let size = self.chunk_size()?;
            if size == 0 {
                self.trailers()?;
                return Ok(body);
            }
            if size > (max - body.len()) as u64 {
                return Err(too_large(max));
            }
            let size = size as usize;
            let place = |have| format!("after {have} bytes of a chunk of {size}");
            self.move_to(&mut body, size, place)?;
            while self.bytes().len() < 2 {
                self.more(|| place(size))?;
            }
            if self.take(2) != b"\r\n" {
                return Err(broken(format!("a chunk does not end after its {size} bytes")));
            }
        }
    }

    /// Moves the next `len` bytes to the end of `body` as they arrive, so that what is held here
    /// stays small; `place` says where they end if they do, given how many came.
    fn move_to(
        &mut self,
        body: &mut Vec<u8>,
        len: usize,
        place: impl Fn(usize) -> String,
    ) -> Result<(), ApiError> {
        let mut left = len;
        loop {
            let arrived = self.take(self.bytes().len().min(left));
            body.extend_from_slice(arrived);
            left -= arrived.len();
            if left == 0 {
                return Ok(());
            }
            self.more(|| place(len - left))?;
        }
    }

    fn chunk_size(&mut self) -> Result<u64, ApiError> {
        let no_size = || broken("a chunk does not begin with its size in hexadecimal digits");
        loop {
            // The parser takes a line without digits as 0.
            if self.bytes().first().is_some_and(|byte| !byte.is_ascii_hexdigit()) {
                return Err(no_size());
            }
            match httparse::parse_chunk_size(self.bytes()) {
                Ok(httparse::Status::Complete((len, size))) => {
                    // It takes a line feed as part of an extension, others as the line's end.
                    let line = self.take(len - 1);
                    if line.contains(&b'\n') {
                        return Err(no_size());
                    }
                    self.take(1);
                    return Ok(size);
                }
                Ok(httparse::Status::Partial) if self.bytes().len() <= LINE_MAX_BYTES => {
                    self.more(|| "where a chunk should begin".into())?;
                }
                _ => return Err(no_size()),
            }
        }
    }

    /// Passes over what may follow the last chunk.
    fn trailers(&mut self) -> Result<(), ApiError> {
        loop {
            let mut headers = [httparse::EMPTY_HEADER; 16];
            match httparse::parse_headers(self.bytes(), &mut headers) {
                Ok(httparse::Status::Complete((len, _))) => {
                    self.take(len);
                    return Ok(());
                }
                Ok(httparse::Status::Partial) if self.bytes().len() <= LINE_MAX_BYTES => {
                    self.more(|| "after its last chunk, before the empty line".into())?;
                }
                _ => {
                    let message = "the last chunk is not followed by an empty line, or by a few \
                                   trailers and one";
                    return Err(broken(message));
                }
            }
        }
    }

    /// Reads on; `place` says where the body is if it ends here.
    fn more(&mut self, place: impl Fn() -> String) -> Result<(), ApiError> {
        match self.fill() {
            Ok(0) => Err(broken(format!("the body ended {}", place()))),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                let message = format!("the body stopped {}", place());
                Err(ApiError::new(408, "body_timeout", message))
            }
            Err(error) => Err(broken(format!("the body cannot be read: {error}"))),
        }
    }
}

fn too_large(max: usize) -> ApiError {
    let message = format!("the body is larger than {} MiB, the most that is read", max >> 20);
    ApiError::new(413, "body_too_large", message)
}

fn broken(message: impl Into<String>) -> ApiError {
    ApiError::new(400, "invalid_body", message)
}

/// Largest line of chunk framing, and largest block of trailers.
const LINE_MAX_BYTES: usize = 4 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Gives its bytes in pieces of the given sizes, over and over.
    struct Pieces<'b> {
        bytes: &'b [u8],
        sizes: std::iter::Cycle<std::vec::IntoIter<usize>>,
    }

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let size = self.sizes.next().unwrap_or(1).min(self.bytes.len()).min(buffer.len());
            let (piece, rest) = self.bytes.split_at(size);
            buffer[..size].copy_from_slice(piece);
            self.bytes = rest;
            Ok(size)
        }
    }

    fn input(bytes: &[u8], sizes: Vec<usize>) -> Input<Pieces<'_>> {
        Input::new(Pieces { bytes, sizes: sizes.into_iter().cycle() })
    }

    proptest! {
        #[test]
        fn a_body_is_itself_however_it_is_framed_and_cut(
            chunks in vec(vec(any::<u8>(), 1..40), 0..6),
            sizes in vec(1..50_usize, 1..5),
            trailer in prop_oneof![Just(""), Just("a: b\r\n")],
        ) {
            let body = chunks.concat();
            let mut framed = Vec::new();
            for chunk in &chunks {
                framed.extend(format!("{:x};name=value\r\n", chunk.len()).bytes());
                framed.extend(chunk);
                framed.extend(b"\r\n");
            }
            framed.extend(format!("0\r\n{trailer}\r\n").bytes());
            let forms = [(Framing::Length(body.len() as u64), &body), (Framing::Chunked, &framed)];
            for (framing, bytes) in forms {
                let next = [bytes, &b"GET /"[..]].concat();
                let mut whole = input(&next, sizes.clone());
                prop_assert_eq!(whole.body(framing, 1 << 20), Ok(body.clone()));
                let mut rest = whole.bytes().to_vec();
                rest.extend(whole.source.bytes);
                prop_assert_eq!(rest, b"GET /");
                for len in 0..bytes.len() {
                    let cut = input(&bytes[..len], sizes.clone()).body(framing, 1 << 20);
                    prop_assert_eq!(cut.map_err(|error| error.status), Err(400));
                }
            }
        }

        #[test]
        fn any_bytes_are_chunks_or_a_refusal(bytes in "[0-3a\r\n;]{0,40}") {
            let _ = input(bytes.as_bytes(), vec![7]).body(Framing::Chunked, 100);
        }
    }

    #[test]
    fn a_large_body_leaves_no_memory_behind() {
        let body = vec![b'x'; 1 << 20];
        let framed = [b"100000\r\n", body.as_slice(), b"\r\n0\r\n\r\n"].concat();
        for (framing, bytes) in [(Framing::Length(1 << 20), &body), (Framing::Chunked, &framed)] {
            let mut input = input(bytes, vec![5000]);
            assert_eq!(input.body(framing, 1 << 20).unwrap(), body);
            assert!(input.bytes.capacity() <= 64 << 10, "{}", input.bytes.capacity());
        }
    }

    #[test]
    fn bodies_that_are_refused() {
        let check = |framing, bytes: &[u8], status: u16, words: &str| {
            let error = input(bytes, vec![3]).body(framing, 2 << 20).unwrap_err();
            assert_eq!(error.status, status, "{error:?}");
            assert!(error.message.contains(words), "{}", error.message);
        };
        let length = Framing::Length;
        check(length(u64::MAX), b"", 413, "larger than 2 MiB");
        check(length((2 << 20) + 1), b"", 413, "larger than 2 MiB");
        check(length(9), b"1234", 400, "after 4 of the 9 bytes");
        check(Framing::Chunked, b"FFFFFFFFFFFFFFFF\r\n", 413, "larger than 2 MiB");
        check(Framing::Chunked, b"FFFFFFFFFFFFFFFFF\r\n", 400, "hexadecimal");
        check(Framing::Chunked, b"\r\n\r\n", 400, "hexadecimal");
        check(Framing::Chunked, b"-1\r\n", 400, "hexadecimal");
        check(Framing::Chunked, b"2\r\nabc\r\n0\r\n\r\n", 400, "after its 2 bytes");
        check(Framing::Chunked, b"2\r\nab", 400, "after 2 bytes of a chunk of 2");
        check(Framing::Chunked, b"0\r\n", 400, "before the empty line");
        check(Framing::Chunked, b"0\r\na b\r\n\r\n", 400, "by an empty line");
        let many = format!("0\r\n{}\r\n", "a: b\r\n".repeat(17));
        check(Framing::Chunked, many.as_bytes(), 400, "a few trailers");
        check(Framing::Chunked, b"1;a\nb\r\nx\r\n0\r\n\r\n", 400, "hexadecimal");
        let endless = [b"1;", vec![b'x'; 2 * LINE_MAX_BYTES].as_slice()].concat();
        check(Framing::Chunked, &endless, 400, "hexadecimal");
    }
}
