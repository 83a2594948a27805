//! A reference benchmark for OpenAI-compatible servers: it replays a protocol that is data, records
//! what happened with its clocks and sources, derives a report from that record alone, and reviews
//! reports, its own and others', rule by rule. It never links the engine it measures.

#![forbid(unsafe_code)]

pub mod check;
pub mod corpus;
pub mod digest;
pub mod evaluate;
pub mod json;
pub mod plan;
pub mod protocol;
