//! The program from outside: against servers on loopback that a test scripts.

#![allow(missing_docs, clippy::unwrap_used)]

mod command_line;
mod engine;
mod http;
mod look;
mod review;
mod run;
mod stub;
