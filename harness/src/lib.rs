//! A reference benchmark for OpenAI-compatible servers: it replays a protocol that is data, records
//! what happened with its clocks and sources, derives a report from that record alone, and reviews
//! reports, its own and others', rule by rule. It never links the engine it measures.

#![forbid(unsafe_code)]

pub mod check;
pub mod client;
pub mod compare;
pub mod config;
pub mod corpus;
pub mod digest;
pub mod fact;
#[cfg(test)]
mod fixture;
pub mod html;
pub mod json;
pub mod manifest;
pub mod plain_file;
pub mod plan;
pub mod probe;
pub mod protocol;
pub mod publication;
pub mod publish;
pub mod record;
pub mod redact;
pub mod report;
pub mod run;
#[cfg(test)]
mod scratch;
pub mod self_test;
pub mod shell;
mod text;
pub mod version;
pub mod view;
