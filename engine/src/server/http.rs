//! Requests in, answers out: the one file that knows tiny_http. It owns the socket, the limits on
//! a body and the response head of an event stream. It knows no routes.

use super::openai::ApiError;
use super::sse::EventStream;
use crate::Error;
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};

/// A bound port that does not answer yet, so that a taken port is found before a model is loaded.
#[derive(Debug)]
pub struct Listener(TcpListener);

impl Listener {
    /// Binds `host:port`; port 0 takes any free one.
    pub fn bind(host: &str, port: u16) -> Result<Listener, Error> {
        let refused = |error: io::Error| {
            Error::Input(match error.kind() {
                io::ErrorKind::AddrInUse => format!(
                    "{host}:{port} is already in use: stop what listens there or choose another \
                     --port (0 takes any free one)"
                ),
                io::ErrorKind::PermissionDenied => format!(
                    "{host}:{port} needs rights this user lacks: choose a --port above 1023"
                ),
                _ => format!("cannot listen on {host}:{port}: {error}: check --host and --port"),
            })
        };
        TcpListener::bind((host, port)).map(Listener).map_err(refused)
    }

    /// Where it listens, the real port included.
    pub fn address(&self) -> SocketAddr {
        self.0.local_addr().expect("a bound socket has an address")
    }
}

/// An answering port. tiny_http runs one thread that accepts and one for each open connection.
pub(super) struct Http {
    server: tiny_http::Server,
    local_port: u16,
}

impl Http {
    pub(super) fn new(listener: Listener) -> Result<Http, Error> {
        let local_port = listener.address().port();
        let server = tiny_http::Server::from_listener(listener.0, None)
            .map_err(|error| Error::Input(format!("cannot accept connections: {error}")))?;
        Ok(Http { server, local_port })
    }

    /// Blocks for the next request; `None` after [`Http::wake`] or when the socket failed.
    pub(super) fn next(&self) -> Option<Request> {
        let inner = self.server.recv().ok()?;
        Some(Request { inner, local_port: self.local_port })
    }

    /// Makes one thread's [`Http::next`] return `None`.
    pub(super) fn wake(&self) {
        self.server.unblock();
    }
}

/// A request whose head has been read.
pub(super) struct Request {
    inner: tiny_http::Request,
    local_port: u16,
}

/// Why a body could not be had.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    TooLarge,
    /// The client left, or its framing is broken.
    Broken(String),
}

impl Request {
    pub(super) fn method(&self) -> &str {
        self.inner.method().as_str()
    }

    /// The path without query and trailing slashes.
    pub(super) fn path(&self) -> &str {
        plain_path(self.inner.url())
    }

    /// The first header of this name, in any case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.inner.headers().iter();
        headers
            .find(|header| header.field.as_str().as_str().eq_ignore_ascii_case(name))
            .map(|header| header.value.as_str())
    }

    /// Both ends of the connection: the server's port and the client's address.
    pub(super) fn ends(&self) -> Option<(u16, SocketAddr)> {
        Some((self.local_port, *self.inner.remote_addr()?))
    }

    /// Reads the body, at most [`BODY_MAX_BYTES`]. An announced size is refused before a byte is
    /// read, and never allocated.
    pub(super) fn body(&mut self) -> Result<Vec<u8>, BodyError> {
        let announced = self.inner.body_length();
        if announced.is_some_and(|len| len > BODY_MAX_BYTES) {
            return Err(BodyError::TooLarge);
        }
        let mut body = Vec::new();
        self.inner
            .as_reader()
            .take(BODY_MAX_BYTES as u64 + 1)
            .read_to_end(&mut body)
            .map_err(|error| BodyError::Broken(format!("the body cannot be read: {error}")))?;
        match announced {
            _ if body.len() > BODY_MAX_BYTES => Err(BodyError::TooLarge),
            Some(len) if body.len() < len => Err(BodyError::Broken(format!(
                "the body ended after {} of the {len} bytes that content-length announced",
                body.len()
            ))),
            _ => Ok(body),
        }
    }

    /// Sends a whole answer. A client that left is no error: nobody is there to be told.
    pub(super) fn respond(self, response: Response) {
        if self.inner.body_length().is_some_and(|len| len > DRAIN_MAX_BYTES) {
            return self.respond_and_abandon(&response);
        }
        let header = |name: &str, value: &str| {
            tiny_http::Header::from_bytes(name, value).expect("our header values are ASCII")
        };
        let mut answer = tiny_http::Response::from_string(response.body)
            .with_status_code(response.status)
            .with_chunked_threshold(usize::MAX)
            .with_header(header("content-type", "application/json"));
        for (name, value) in response.headers {
            answer.add_header(header(name, value));
        }
        let _ = self.inner.respond(answer);
    }

    /// tiny_http reads what is left of a body when a request is dropped, into a buffer of the
    /// announced size. The only way not to allocate whatever a stranger announces is never to
    /// drop such a request: its socket and tiny_http's thread for it are given up.
    fn respond_and_abandon(self, response: &Response) {
        // The only way to the socket that keeps the unread body; 100 is no final answer yet.
        let mut connection = self.inner.upgrade("none", tiny_http::Response::empty(100));
        let Response { status, body, .. } = response;
        let _ = write!(
            connection,
            "HTTP/1.1 {status} \r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{body}",
            body.len()
        );
        let _ = connection.flush();
        std::mem::forget(connection);
    }

    /// Answers 200 with a stream of events. HTTP/1.0 knows no chunks: there the events are bare
    /// and the end of the connection ends them.
    pub(super) fn respond_events(self) -> io::Result<EventStream<Box<dyn Write + Send>>> {
        let chunked = *self.inner.http_version() >= tiny_http::HTTPVersion(1, 1);
        EventStream::start(self.inner.into_writer(), chunked)
    }
}

/// A whole answer; the body is JSON.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, &'static str)>,
    pub(super) body: String,
}

impl Response {
    pub(super) fn json(body: &Value) -> Response {
        Response { status: 200, headers: Vec::new(), body: body.to_string() }
    }

    /// An error, with the headers its status asks for.
    pub(super) fn error(error: &ApiError) -> Response {
        let headers = match error.status {
            401 => vec![("www-authenticate", "Bearer")],
            503 => vec![("retry-after", "1")],
            _ => Vec::new(),
        };
        Response { status: error.status, headers, body: error.to_json().to_string() }
    }
}

fn plain_path(url: &str) -> &str {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    match path.trim_end_matches('/') {
        "" => "/",
        path => path,
    }
}

/// Largest request body.
pub(super) const BODY_MAX_BYTES: usize = 16 << 20;

/// Largest announced body that is read to its end after it was refused, so that a client which
/// sends all of it before it reads gets the refusal.
const DRAIN_MAX_BYTES: usize = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lose_query_and_trailing_slash() {
        let check = |url, want| assert_eq!(plain_path(url), want, "{url}");
        check("/v1/models", "/v1/models");
        check("/v1/models/", "/v1/models");
        check("/v1/chat/completions?api-version=1", "/v1/chat/completions");
        check("/v1/models/?a=/b/", "/v1/models");
        check("/", "/");
        check("", "/");
        check("?x", "/");
        check("//v1/models", "//v1/models");
    }

    #[test]
    fn a_taken_port_names_itself_and_the_way_out() {
        let first = Listener::bind("127.0.0.1", 0).unwrap();
        let port = first.address().port();
        let error = Listener::bind("127.0.0.1", port).unwrap_err().to_string();
        assert!(error.starts_with(&format!("127.0.0.1:{port} is already in use")), "{error}");
    }
}
