//! One connection: requests in, one after the other, and an answer to each, under time limits for
//! every wait. It decides when the connection can carry another request. It knows no routes.

use super::body::Input;
use super::head::{Framing, Head};
use super::registry::{Phase, Slot, Stage};
use super::response::{Response, head};
use crate::server::openai::ApiError;
use crate::server::sse::EventStream;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What answers a request.
pub(in crate::server) type Handler = dyn Fn(Request<'_>) + Send + Sync;

/// Answers requests until either side ends the connection.
pub(super) fn serve(stream: Arc<TcpStream>, slot: Slot, handler: Arc<Handler>) {
    let prepared = stream
        .set_nonblocking(false)
        .and_then(|()| stream.set_nodelay(true))
        .and_then(|()| stream.set_write_timeout(Some(STALL)));
    if prepared.is_err() {
        return; // The client is gone already.
    }
    let source =
        Timed { stream: Arc::clone(&stream), deadline: Instant::now(), pause: Duration::ZERO };
    let mut connection = Connection {
        handler,
        stream,
        input: Input::new(source),
        unread: false,
        answered: false,
        asked: false,
        reusable: true,
        slot,
    };
    while connection.reusable {
        connection.answer_one();
    }
    connection.linger();
}

struct Connection {
    handler: Arc<Handler>,
    stream: Arc<TcpStream>,
    input: Input<Timed>,
    /// Whether the request at hand has a body that was not read.
    unread: bool,
    /// Whether something was sent of the last answer.
    answered: bool,
    /// Whether the client ended its sending and was asked whether it still reads.
    asked: bool,
    /// Whether another request may follow.
    reusable: bool,
    /// Dropped last: when no slot is left, nobody holds what the handler holds.
    slot: Slot,
}

/// A socket whose reads together end by a deadline, and each within a pause.
struct Timed {
    stream: Arc<TcpStream>,
    deadline: Instant,
    pause: Duration,
}

impl Timed {
    /// Allows the reads from now on so much time, all together and each.
    fn allow(&mut self, whole: Duration, pause: Duration) {
        self.deadline = Instant::now() + whole;
        self.pause = pause;
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now()).min(self.pause);
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.as_ref().read(buffer).map_err(|error| match error.kind() {
            // What Unix calls a timeout of a socket.
            io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
            _ => error,
        })
    }
}

impl Connection {
    fn answer_one(&mut self) {
        (self.answered, self.asked, self.reusable) = (false, false, false);
        let head = match self.head() {
            Some(Ok(head)) => head,
            Some(Err(error)) => {
                return self.send(&Response::error(&self.refusal(error)), false, false);
            }
            None => return,
        };
        self.unread = head.framing != Framing::Length(0);
        let handler = Arc::clone(&self.handler);
        let request = Request { head, connection: self };
        if request.connection.slot.stage() == Stage::Serving {
            handler(request);
        } else {
            request.respond(Response::error(&stopping()));
        }
    }

    /// What to say of a request that did not arrive: a server that ends has cut it short itself.
    fn refusal(&self, error: ApiError) -> ApiError {
        if self.slot.stage() == Stage::Serving { error } else { stopping() }
    }

    /// The next head; `None` when the client is done or its connection broke.
    fn head(&mut self) -> Option<Result<Head, ApiError>> {
        self.input.source.allow(IDLE, IDLE);
        self.slot.enter(Phase::Idle);
        let mut began = false;
        loop {
            if !self.input.bytes().is_empty() {
                if !began {
                    began = true;
                    self.slot.enter(Phase::Reading);
                    self.input.source.allow(HEAD, HEAD);
                }
                match Head::parse(self.input.bytes()) {
                    Ok(None) => {}
                    Ok(Some((head, len))) => {
                        self.input.take(len);
                        return Some(Ok(head));
                    }
                    Err(error) => return Some(Err(error)),
                }
            }
            let (status, code, problem) = match self.input.fill() {
                Ok(read) if read > 0 => continue,
                _ if !began => return None,
                Ok(_) => (400, "invalid_request", "ended"),
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    (408, "request_timeout", "stopped")
                }
                Err(_) => return None,
            };
            let message = format!(
                "the request {problem} after {} bytes, before the empty line that ends its head",
                self.input.bytes().len()
            );
            return Some(Err(ApiError::new(status, code, message)));
        }
    }

    /// Sends a whole answer. A client that left is no error: nobody is there to be told.
    fn send(&mut self, response: &Response, head_only: bool, keep_alive: bool) {
        let bytes = response.bytes(head_only, keep_alive);
        self.answered = true;
        let sent = self.stream.as_ref().write_all(bytes.as_bytes());
        self.reusable = keep_alive && sent.is_ok();
    }

    /// Ends the connection so that the last answer arrives: a socket closed over unread bytes is
    /// reset, and the client may lose what it had not read yet.
    fn linger(&mut self) {
        self.slot.enter(Phase::Idle);
        if !self.answered || self.stream.shutdown(Shutdown::Write).is_err() {
            return;
        }
        self.input.source.allow(LINGER, LINGER_PAUSE);
        let mut buffer = [0; 16 << 10];
        while matches!(self.input.source.read(&mut buffer), Ok(1..)) {}
    }
}

/// A request whose head has been read. Dropping it ends the connection without an answer.
pub(in crate::server) struct Request<'c> {
    head: Head,
    connection: &'c mut Connection,
}

impl Request<'_> {
    pub(in crate::server) fn method(&self) -> &str {
        &self.head.method
    }

    /// The path without query and trailing slashes.
    pub(in crate::server) fn path(&self) -> &str {
        &self.head.path
    }

    /// The first header of this name, in any case.
    pub(in crate::server) fn header(&self, name: &str) -> Option<&str> {
        self.head.header(name)
    }

    /// Reads the body, at most [`BODY_MAX_BYTES`].
    pub(in crate::server) fn body(&mut self) -> Result<Vec<u8>, ApiError> {
        let connection = &mut *self.connection;
        connection.input.source.allow(BODY, STALL);
        let ask = self.head.expects_continue && connection.unread;
        if ask && connection.input.bytes().is_empty() {
            // Where this fails the body does not come.
            let _ = connection.stream.as_ref().write_all(CONTINUE);
        }
        let body = connection.input.body(self.head.framing, BODY_MAX_BYTES);
        let body = body.map_err(|error| connection.refusal(error))?;
        connection.unread = false;
        connection.slot.enter(Phase::Answering);
        Ok(body)
    }

    /// Whether the client left; asked after the body and before the answer. What it sends ahead
    /// is read, for its end stands behind that. One that ended its sending may still read: it is
    /// asked by an interim answer, which every client passes over and a closed socket answers
    /// with a reset.
    pub(in crate::server) fn client_left(&mut self) -> bool {
        let Connection { stream, input, asked, .. } = &mut *self.connection;
        if input.bytes().len() >= AHEAD_MAX_BYTES {
            return false;
        }
        input.source.allow(LOOK, LOOK);
        match input.fill() {
            Ok(1..) => false,
            Ok(0) if self.head.http_1_0 => true,
            Ok(0) if !*asked => {
                *asked = true;
                stream.as_ref().write_all(CONTINUE).is_err()
            }
            Ok(0) => !matches!(stream.take_error(), Ok(None)),
            Err(error) => error.kind() != io::ErrorKind::TimedOut,
        }
    }

    /// Sends a whole answer.
    pub(in crate::server) fn respond(self, response: Response) {
        let keep_alive = self.keep_alive();
        self.connection.send(&response, self.head.method == "HEAD", keep_alive);
    }

    /// Answers 200 with a stream of events, which `write` writes to its end; after an error of it
    /// the stream is broken off. HTTP/1.0 knows no chunks: there the events are bare and the end
    /// of the connection ends them.
    pub(in crate::server) fn respond_events(
        self,
        write: impl FnOnce(EventStream<&TcpStream>) -> io::Result<()>,
    ) {
        let chunked = !self.head.http_1_0;
        let mut fields = vec![
            ("content-type", "text/event-stream"),
            ("cache-control", "no-store"),
            ("x-accel-buffering", "no"),
        ];
        fields.extend(chunked.then_some(("transfer-encoding", "chunked")));
        let keep_alive = self.keep_alive();
        self.connection.answered = true;
        let mut stream = self.connection.stream.as_ref();
        let sent = stream
            .write_all(head(200, &fields, keep_alive).as_bytes())
            .and_then(|()| write(EventStream::new(stream, chunked)));
        self.connection.reusable = keep_alive && sent.is_ok();
    }

    fn keep_alive(&self) -> bool {
        let serving = self.connection.slot.stage() == Stage::Serving;
        serving && self.head.keep_alive && !self.connection.unread
    }
}

fn stopping() -> ApiError {
    ApiError::new(503, "stopping", "the server is stopping: try again later")
}

/// The interim answer that asks for a body, and that may be repeated.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Largest request body.
const BODY_MAX_BYTES: usize = 16 << 20;

/// Longest wait for the next byte of a body, and for room to write more of an answer.
const STALL: Duration = Duration::from_secs(30);

/// Time to look at what has arrived.
const LOOK: Duration = Duration::from_millis(1);

/// Most that is read of the requests behind the one at hand.
const AHEAD_MAX_BYTES: usize = 64 << 10;

/// Longest wait for the first byte of a request.
const IDLE: Duration = Duration::from_secs(75);

/// From the first byte of a head to its last.
const HEAD: Duration = Duration::from_secs(30);

/// From the end of the head to the end of the body.
const BODY: Duration = Duration::from_secs(300);

/// Longest wait for a client to take its last answer and close, and for each byte of what it still
/// sends.
const LINGER: Duration = Duration::from_secs(30);
const LINGER_PAUSE: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::super::registry::Registry;
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn each_wait_has_its_own_limit() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let stream = Arc::new(listener.accept().unwrap().0);
        let slot = Arc::new(Registry::new()).admit(&stream, 1).unwrap();
        let served = Arc::clone(&stream);
        let serving = std::thread::spawn(move || {
            serve(served, slot, Arc::new(|mut request: Request<'_>| drop(request.body())));
        });
        let check = |limit: Duration| {
            let deadline = Instant::now() + Duration::from_secs(5);
            let about = limit - Duration::from_secs(1)..=limit;
            while !stream.read_timeout().unwrap().is_some_and(|left| about.contains(&left)) {
                assert!(Instant::now() < deadline, "{limit:?}, not {:?}", stream.read_timeout());
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        check(IDLE);
        client.write_all(b"POST / HTTP/1.1\r\n").unwrap();
        check(HEAD);
        client.write_all(b"host: h\r\ncontent-length: 2\r\n\r\n").unwrap();
        check(STALL);
        drop(client);
        serving.join().unwrap();
    }
}
