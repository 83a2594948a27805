//! How this program sees a server: bytes and their stamps, and nothing they might mean. What an
//! event says is read in `transcript`; what it amounts to in `account`.

pub mod attempt;
pub mod base_url;
pub mod clock;
mod dial;
pub mod http;
#[cfg(test)]
pub(crate) mod scripted;
pub mod sse;
pub mod transport;
pub mod watched;
