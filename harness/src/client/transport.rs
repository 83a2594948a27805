//! What a client needs of a wire: post a body, read the reply in pieces, each with the stamp of
//! the moment it came. Says what can go wrong, not how the bytes travel.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A way to a server. Requests of a round share it; each has a connection of its own.
pub trait Transport: Sync {
    /// Sends a chat completion request and returns once the reply's headers are there.
    fn post(&self, body: &str) -> Result<Reply, Fault>;
}

/// A reply whose body is still to be read.
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// The `Content-Type` header.
    pub content_type: Option<String>,
    /// The body.
    pub body: Box<dyn ByteStream>,
}

/// The body of a reply.
pub trait ByteStream {
    /// Waits for bytes and returns them as soon as there are any; `None` is the end in good order.
    fn read(&mut self) -> Result<Option<Piece<'_>>, Fault>;
}

/// What one read brought.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// The client's clock right after the read.
    pub at_ns: u64,
    /// At least one byte.
    pub bytes: &'a [u8],
}

/// Why no reply came, or why it broke off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// What a caller decides by.
    pub kind: FaultKind,
    /// What a reader is told.
    pub message: String,
}

/// The kinds of [`Fault`] that callers treat differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// No connection: nobody listens there.
    Connect,
    /// A limit of the operator's passed.
    Timeout,
    /// The connection broke or was closed in the middle.
    Broken,
    /// Bytes came that are not the protocol.
    Malformed,
    /// The operator stopped the run.
    Interrupted,
}

impl Fault {
    /// A fault of this kind with this message.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Fault {
        Fault { kind, message: message.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}
