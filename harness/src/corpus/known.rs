//! What a review needs of the corpora this program carries: the digests of their payloads and the
//! lengths that were recorded. Nothing is verified here: a test does that for all of them.

use super::carried::{Carried, SUITES};
use super::{Lengths, manifest};
use crate::digest::sha256;
use crate::manifest::lines;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A corpus this program carries.
#[derive(Debug)]
pub struct Known {
    /// SHA-256 of each request's body, by its id.
    pub bodies: BTreeMap<&'static str, &'static str>,
    /// Under each tokenizer and template that was counted with.
    pub lengths: Vec<Lengths>,
}

/// The corpus of this digest, if this program carries it.
pub fn known(corpus_sha256: &str) -> Option<&'static Known> {
    KNOWN.get(corpus_sha256)
}

static KNOWN: LazyLock<BTreeMap<String, Known>> =
    LazyLock::new(|| SUITES.iter().filter_map(of).collect());

fn of(carried: &'static Carried) -> Option<(String, Known)> {
    let (_, manifest) = carried.files.iter().find(|(path, _)| *path == manifest::NAME)?;
    let body = |(path, digest): (&'static str, &'static str)| {
        Some((path.strip_prefix("payloads/")?.strip_suffix(".json")?, digest))
    };
    let counted = carried.files.iter().filter(|(path, _)| path.starts_with("lengths/"));
    let parse = |(path, text): &(&str, &str)| {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    let bodies = lines(manifest).flatten().filter_map(body).collect();
    Some((sha256(manifest.as_bytes()), Known { bodies, lengths: counted.map(parse).collect() }))
}
