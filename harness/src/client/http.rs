//! The transport over HTTP/1.1 without TLS, by ureq. One connection a request, no proxy, no
//! redirect, no retry: nothing happens on the wire that is not asked for.

use super::base_url::BaseUrl;
use super::clock::{Clock, SystemClock};
use super::dial::Dial;
use super::transport::{ByteStream, Fault, FaultKind, Piece, Reply, Transport};
use super::watched::{Timeouts, Watch};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Longest reply to a question about the server, in bytes.
pub const MAX_STATUS_BYTES: u64 = 1 << 20;
const READ_BYTES: usize = 64 << 10;
/// Longest wait for an answer to such a question.
const STATUS_TIMEOUT: Duration = Duration::from_secs(30);

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

    /// The same server by another clock.
    pub fn with_clock(&self, clock: SystemClock) -> Http {
        Http { clock, ..self.clone() }
    }

    /// Whether the server runs on this machine.
    pub fn is_local(&self) -> bool {
        self.base.is_local()
    }

    /// Asks for `path` and returns status and text.
    pub fn get(&self, path: &str) -> Result<(u16, String), Fault> {
        let timeouts = Timeouts {
            first_byte: self.timeouts.first_byte.min(STATUS_TIMEOUT),
            total: self.timeouts.total.min(STATUS_TIMEOUT),
            ..self.timeouts
        };
        let mut request = self.agent(timeouts).get(format!("{}{path}", self.base));
        if let Some(bearer) = &self.bearer {
            request = request.header("Authorization", format!("Bearer {bearer}"));
        }
        let mut response = request.call().map_err(|error| fault(error.into_io()))?;
        let mut text = Vec::new();
        response
            .body_mut()
            .as_reader()
            .take(MAX_STATUS_BYTES)
            .read_to_end(&mut text)
            .map_err(fault)?;
        Ok((response.status().as_u16(), String::from_utf8_lossy(&text).into_owned()))
    }

    /// An agent for one request: its limits begin now.
    fn agent(&self, timeouts: Timeouts) -> ureq::Agent {
        let config = ureq::Agent::config_builder()
            .proxy(None)
            .max_redirects(0)
            .http_status_as_error(false)
            .max_idle_connections(0)
            .user_agent(concat!("strata-bench/", env!("CARGO_PKG_VERSION")))
            .build();
        let watch = Watch {
            timeouts,
            clock: self.clock,
            dispatched_ns: self.clock.now_ns(),
            cancel: Arc::clone(&self.cancel),
        };
        let dial = Dial { watch };
        ureq::Agent::with_parts(config, dial.clone(), dial)
    }
}

fn fault(error: io::Error) -> Fault {
    if let Some(fault) = error.get_ref().and_then(|inner| inner.downcast_ref::<Fault>()) {
        return fault.clone();
    }
    match error.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>()) {
        Some(ureq::Error::Protocol(_) | ureq::Error::Http(_)) => {
            Fault::new(FaultKind::Malformed, format!("the reply is not HTTP/1.1: {error}"))
        }
        _ => Fault::new(FaultKind::Broken, format!("the connection broke: {error}")),
    }
}

impl Transport for Http {
    fn post(&self, body: &str) -> Result<Reply, Fault> {
        let mut request = self
            .agent(self.timeouts)
            .post(format!("{}/v1/chat/completions", self.base))
            .header("Content-Type", "application/json")
            .header("Accept", "text/event-stream");
        if let Some(bearer) = &self.bearer {
            request = request.header("Authorization", format!("Bearer {bearer}"));
        }
        let response = request.send(body).map_err(|error| fault(error.into_io()))?;
        let encoding = response.headers().get("content-encoding");
        if let Some(encoding) = encoding.filter(|encoding| *encoding != "identity") {
            let message = format!("the reply is encoded as {encoding:?}, which was not asked for");
            return Err(Fault::new(FaultKind::Malformed, message));
        }
        let content_type = response.headers().get("content-type");
        let content_type = content_type.map(|v| String::from_utf8_lossy(v.as_bytes()).into_owned());
        let status = response.status().as_u16();
        let reader = response.into_body().into_reader();
        let body = HttpBody { reader, buffer: vec![0; READ_BYTES], clock: self.clock };
        Ok(Reply { status, content_type, body: Box::new(body) })
    }
}

struct HttpBody {
    reader: ureq::BodyReader<'static>,
    buffer: Vec<u8>,
    clock: SystemClock,
}

impl ByteStream for HttpBody {
    fn read(&mut self) -> Result<Option<Piece<'_>>, Fault> {
        let read = self.reader.read(&mut self.buffer);
        let at_ns = self.clock.now_ns();
        match read {
            Ok(0) => Ok(None),
            Ok(len) => Ok(Some(Piece { at_ns, bytes: &self.buffer[..len] })),
            Err(error) => Err(fault(error)),
        }
    }
}
