//! The transport over HTTP/1.1 without TLS; the one file that knows ureq. One connection a
//! request, no proxy, no redirect, no retry: nothing happens on the wire that is not asked for.
//!
//! ureq has no limit on the silence between two reads and no way to stop one, so [`Watched`] sits
//! between it and the socket, waits in short slices, and looks at the limits between them.

use super::clock::{Clock, SystemClock};
use super::transport::{ByteStream, Fault, FaultKind, Piece, Reply, Transport};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{self as wire, Buffers, Connector, NextTimeout};

/// Longest reply to a question about the server, in bytes.
pub const MAX_STATUS_BYTES: u64 = 16 << 20;
const READ_BYTES: usize = 64 << 10;
/// How late a limit or an interruption may be noticed.
const SLICE: Duration = Duration::from_millis(50);

/// Limits on one request, each the flag `--timeout-<name>`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timeouts {
    /// Until the connection stands.
    pub connect: Duration,
    /// From dispatch to the reply's first byte.
    pub first_byte: Duration,
    /// Between two reads, once the first byte has come.
    pub idle: Duration,
    /// From dispatch to the reply's last byte.
    pub total: Duration,
}

/// Where a server listens: `http://HOST:PORT` and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    text: String,
}

impl BaseUrl {
    /// Reads an operator's URL; a trailing `/` or `/v1` is dropped, anything unusable is refused
    /// in words.
    pub fn parse(url: &str) -> Result<BaseUrl, String> {
        let Some(rest) = url.strip_prefix("http://") else {
            let why = match url.split_once("://") {
                Some(("https", _)) => {
                    "https is not built in: measure on the server's own machine over http, or \
                     through a local tunnel"
                }
                _ => "it must begin with http://",
            };
            return Err(format!("url `{url}`: {why}"));
        };
        let authority = rest.trim_end_matches('/');
        let authority = authority.strip_suffix("/v1").unwrap_or(authority);
        if authority.contains('@') {
            return Err("url: a name or key before `@` would end up in reports; put it into an \
                        environment variable and name that with --credential-env"
                .to_string());
        }
        if authority.is_empty() || authority.contains(['/', '?', '#']) {
            return Err(format!("url `{url}`: give http://HOST:PORT, without a path"));
        }
        Ok(BaseUrl { text: format!("http://{authority}") })
    }

    /// Whether the server runs on this machine, so that its hardware can be looked at.
    pub fn is_local(&self) -> bool {
        let authority = &self.text["http://".len()..];
        let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
        host == "localhost" || host == "[::1]" || host.starts_with("127.")
    }
}

impl std::fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// A server reached over HTTP. No `Debug`: it would print the key.
#[derive(Clone)]
pub struct Http {
    base: BaseUrl,
    bearer: Option<String>,
    timeouts: Timeouts,
    clock: SystemClock,
    cancel: Arc<AtomicBool>,
}

impl Http {
    /// `bearer` is sent as `Authorization`; setting `cancel` stops a request within a moment.
    pub fn new(
        base: BaseUrl,
        bearer: Option<String>,
        timeouts: Timeouts,
        clock: SystemClock,
        cancel: Arc<AtomicBool>,
    ) -> Http {
        Http { base, bearer, timeouts, clock, cancel }
    }

    /// Whether the server runs on this machine.
    pub fn is_local(&self) -> bool {
        self.base.is_local()
    }

    /// Asks for `path` and returns status and text.
    pub fn get(&self, path: &str) -> Result<(u16, String), Fault> {
        let mut request = self.agent().get(format!("{}{path}", self.base));
        if let Some(bearer) = &self.bearer {
            request = request.header("Authorization", format!("Bearer {bearer}"));
        }
        let mut response = request.call().map_err(|error| self.fault(error.into_io()))?;
        let mut text = Vec::new();
        response
            .body_mut()
            .as_reader()
            .take(MAX_STATUS_BYTES)
            .read_to_end(&mut text)
            .map_err(|error| self.fault(error))?;
        Ok((response.status().as_u16(), String::from_utf8_lossy(&text).into_owned()))
    }

    /// An agent for one request: its limits begin now.
    fn agent(&self) -> ureq::Agent {
        let config = ureq::Agent::config_builder()
            .proxy(None)
            .max_redirects(0)
            .http_status_as_error(false)
            .max_idle_connections(0)
            .timeout_connect(Some(self.timeouts.connect))
            .user_agent(concat!("strata-bench/", env!("CARGO_PKG_VERSION")))
            .build();
        let watch = Watch {
            timeouts: self.timeouts,
            clock: self.clock,
            dispatched_ns: self.clock.now_ns(),
            cancel: Arc::clone(&self.cancel),
        };
        let connector = wire::TcpConnector::default().chain(WatchedConnector { watch });
        ureq::Agent::with_parts(config, connector, DefaultResolver::default())
    }

    fn fault(&self, error: io::Error) -> Fault {
        if let Some(fault) = error.get_ref().and_then(|inner| inner.downcast_ref::<Fault>()) {
            return fault.clone();
        }
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>());
        match (inner, error.kind()) {
            (Some(ureq::Error::Timeout(_)), _) => Fault::new(
                FaultKind::Connect,
                format!(
                    "no connection to {} within {:?} (--timeout-connect)",
                    self.base, self.timeouts.connect
                ),
            ),
            (Some(ureq::Error::HostNotFound | ureq::Error::ConnectionFailed), _)
            | (None, io::ErrorKind::ConnectionRefused) => {
                Fault::new(FaultKind::Connect, format!("cannot connect to {}: {error}", self.base))
            }
            (Some(ureq::Error::Protocol(_) | ureq::Error::Http(_)), _) => {
                Fault::new(FaultKind::Malformed, format!("the reply is not HTTP/1.1: {error}"))
            }
            _ => Fault::new(FaultKind::Broken, format!("the connection broke: {error}")),
        }
    }
}

impl Transport for Http {
    fn post(&self, body: &str) -> Result<Reply, Fault> {
        let mut request = self
            .agent()
            .post(format!("{}/v1/chat/completions", self.base))
            .header("Content-Type", "application/json")
            .header("Accept", "text/event-stream");
        if let Some(bearer) = &self.bearer {
            request = request.header("Authorization", format!("Bearer {bearer}"));
        }
        let response = request.send(body).map_err(|error| self.fault(error.into_io()))?;
        let content_type = response.headers().get("content-type");
        let content_type = content_type.map(|v| String::from_utf8_lossy(v.as_bytes()).into_owned());
        let status = response.status().as_u16();
        let reader = response.into_body().into_reader();
        let body = HttpBody { reader, buffer: vec![0; READ_BYTES], http: self.clone() };
        Ok(Reply { status, content_type, body: Box::new(body) })
    }
}

struct HttpBody {
    reader: ureq::BodyReader<'static>,
    buffer: Vec<u8>,
    http: Http,
}

impl ByteStream for HttpBody {
    fn read(&mut self) -> Result<Option<Piece<'_>>, Fault> {
        let read = self.reader.read(&mut self.buffer);
        let at_ns = self.http.clock.now_ns();
        match read {
            Ok(0) => Ok(None),
            Ok(len) => Ok(Some(Piece { at_ns, bytes: &self.buffer[..len] })),
            Err(error) => Err(self.http.fault(error)),
        }
    }
}

/// The limits of one request, and the flag that ends it.
#[derive(Debug, Clone)]
struct Watch {
    timeouts: Timeouts,
    clock: SystemClock,
    dispatched_ns: u64,
    cancel: Arc<AtomicBool>,
}

impl Watch {
    /// How long a wait may still last, or why it is over. `last_ns` is when the last byte came.
    fn remaining(&self, last_ns: Option<u64>) -> Result<Duration, Fault> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Fault::new(FaultKind::Interrupted, "interrupted by the operator"));
        }
        let (limit, since_ns, what) = match last_ns {
            None => (self.timeouts.first_byte, self.dispatched_ns, "no byte of a reply"),
            Some(last_ns) => (self.timeouts.idle, last_ns, "no further byte"),
        };
        let flag = if last_ns.is_none() { "first-byte" } else { "idle" };
        let left = self.left(limit, since_ns).ok_or_else(|| timed_out(what, limit, flag))?;
        let total = self.timeouts.total;
        let until_total = self
            .left(total, self.dispatched_ns)
            .ok_or_else(|| timed_out("the reply did not end", total, "total"))?;
        Ok(left.min(until_total))
    }

    fn left(&self, limit: Duration, since_ns: u64) -> Option<Duration> {
        let passed = Duration::from_nanos(self.clock.now_ns().saturating_sub(since_ns));
        limit.checked_sub(passed).filter(|left| !left.is_zero())
    }
}

fn timed_out(what: &str, limit: Duration, flag: &str) -> Fault {
    Fault::new(FaultKind::Timeout, format!("{what} within {limit:?} (--timeout-{flag})"))
}

#[derive(Debug)]
struct WatchedConnector {
    watch: Watch,
}

impl<In: wire::Transport> Connector<In> for WatchedConnector {
    type Out = Watched<In>;

    fn connect(
        &self,
        _details: &wire::ConnectionDetails,
        chained: Option<In>,
    ) -> Result<Option<Watched<In>>, ureq::Error> {
        let watch = self.watch.clone();
        Ok(chained.map(|inner| Watched { inner, watch, last_ns: None }))
    }
}

/// A connection that keeps the limits of [`Watch`] while it waits for input.
#[derive(Debug)]
struct Watched<In> {
    inner: In,
    watch: Watch,
    last_ns: Option<u64>,
}

impl<In: wire::Transport> wire::Transport for Watched<In> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        self.inner.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        loop {
            let remaining = self.watch.remaining(self.last_ns).map_err(io::Error::other)?;
            let slice = NextTimeout { after: remaining.min(SLICE).into(), ..timeout };
            match self.inner.await_input(slice) {
                Err(ureq::Error::Timeout(_)) => continue,
                Err(error) => return Err(error),
                Ok(more) => {
                    self.last_ns = Some(self.watch.clock.now_ns());
                    return Ok(more);
                }
            }
        }
    }

    fn is_open(&mut self) -> bool {
        self.inner.is_open()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expected: Result<&str, &str>) {
        let found = BaseUrl::parse(url).map(|base| base.to_string());
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{url}");
    }

    #[test]
    fn urls() {
        check("http://127.0.0.1:8080", Ok("http://127.0.0.1:8080"));
        check("http://localhost:8080/v1/", Ok("http://localhost:8080"));
        check(
            "https://example.org",
            Err("url `https://example.org`: https is not built in: measure on the server's own \
                 machine over http, or through a local tunnel"),
        );
        check("localhost:1", Err("url `localhost:1`: it must begin with http://"));
        check("http://", Err("url `http://`: give http://HOST:PORT, without a path"));
        check("http://a/b", Err("url `http://a/b`: give http://HOST:PORT, without a path"));
        let error = BaseUrl::parse("http://me:hunter2@a:1").unwrap_err();
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn only_loopback_is_local() {
        for (url, local) in [
            ("http://127.0.0.1:1", true),
            ("http://[::1]:1", true),
            ("http://localhost", true),
            ("http://10.0.0.1:1", false),
            ("http://localhost.example:1", false),
        ] {
            assert_eq!(BaseUrl::parse(url).unwrap().is_local(), local, "{url}");
        }
    }
}
