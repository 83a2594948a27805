//! A reference benchmark for OpenAI-compatible servers: it replays a protocol that is data, records
//! what happened with its clocks and sources, derives a report from that record alone, and reviews
//! reports, its own and others', rule by rule. It never links the engine it measures.

#![forbid(unsafe_code)]

pub mod account;
pub mod bundle;
pub mod check;
pub mod client;
pub mod config;
pub mod corpus;
pub mod digest;
pub mod engine_process;
pub mod evaluate;
pub mod fact;
#[cfg(test)]
mod fixture;
pub mod json;
pub mod manifest;
pub mod nonce;
pub mod plain_file;
pub mod plan;
pub mod probe;
pub mod profile;
pub mod protocol;
pub mod rebuild;
pub mod record;
pub mod redact;
pub mod replay;
pub mod report;
pub mod review;
pub mod run;
#[cfg(test)]
mod scratch;
pub mod server;
pub mod shell;
pub mod summary;
pub mod transcript;
pub mod version;
