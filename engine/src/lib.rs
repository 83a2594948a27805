//! A synchronous engine for GGUF language models.
//!
//! The caller owns the loop: a [`Model`] is loaded once and shared, a [`Session`] is one mutable
//! timeline of tokens over it, and nothing happens between two calls. No function here reads the
//! environment, prints, exits, starts a thread that was not asked for, or keeps a global.

#![deny(unsafe_code)]

pub mod arch;
pub mod device;
mod error;
pub mod gguf;
pub mod memory;
mod model;
pub mod quant;
#[cfg(feature = "server")]
pub mod server;
pub mod session;
pub mod text;

pub use error::Error;
pub use model::{Model, ModelOptions};
pub use session::{Cancel, Finish, Generation, GenerationOptions, Session, SessionOptions, Step};

/// A vocabulary index.
pub type Token = u32;
