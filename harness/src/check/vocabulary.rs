//! Words that the format keeps to, `spec/vocabulary.json`: another word may mean anything, and no
//! program can compare it.

use super::report::{Report, printed, quoted};
use super::rule::{Log, breach};
use crate::json::{Value, escape};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vocabulary {
    /// By key of `sources`.
    sources: BTreeMap<String, Vec<String>>,
    first_delta_kind: Vec<String>,
    build_kind: Vec<String>,
    track: Vec<String>,
    memory_kind: Vec<String>,
}

static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../spec/vocabulary.json")).expect("a test reads it")
});

fn knows(words: &[String], word: &str) -> bool {
    words.iter().any(|known| known == word)
}

fn one_of(words: &[String]) -> String {
    format!("one of {}", words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", "))
}

pub(super) fn sources_are_known(report: &Report, log: &mut Log) {
    for request in &report.requests {
        let sources = request.value.get("sources").map(Value::entries).unwrap_or_default();
        for (key, source) in sources {
            let Some(words) = VOCABULARY.sources.get(key) else { continue };
            log.judge(source.as_str().is_some_and(|source| knows(words, source)), || {
                let at = request.place(&format!("/sources/{}", escape(key)));
                breach(at, one_of(words), printed(Some(source)))
            });
        }
        let kind = request.value.get("first_delta_kind").and_then(Value::as_str);
        let words = &VOCABULARY.first_delta_kind;
        if let Some(kind) = kind {
            log.judge(knows(words, kind), || {
                breach(request.place("/first_delta_kind"), one_of(words), quoted(kind))
            });
        }
    }
}

/// A track that two public reports do not name may still be one: that part is only a warning.
pub(super) fn build_and_track_are_known(report: &Report, log: &mut Log) {
    let at = "/software/build_kind";
    if let Some(kind) = report.text(at) {
        let words = &VOCABULARY.build_kind;
        log.judge(knows(words, kind), || breach(at, one_of(words), quoted(kind)));
    }
    let at = "/configuration/server_capacity";
    if let Some(capacity) = report.count(at) {
        log.judge(capacity >= 1, || breach(at, "at least 1", capacity));
    }
    let at = "/configuration/track";
    if let Some(track) = report.text(at) {
        let words = &VOCABULARY.track;
        log.judge_mildly(knows(words, track), || breach(at, one_of(words), quoted(track)));
    }
}

pub(super) fn memory_kind_is_known(report: &Report, log: &mut Log) {
    let gpus = report.list("/hardware/gpus");
    for (index, gpu) in gpus.iter().enumerate() {
        if let Some(kind) = gpu.get("memory_kind").and_then(Value::as_str) {
            let words = &VOCABULARY.memory_kind;
            log.judge(knows(words, kind), || {
                breach(format!("/hardware/gpus/{index}/memory_kind"), one_of(words), quoted(kind))
            });
        }
        if let Some(number) = gpu.get("device_index").and_then(Value::as_number) {
            log.judge(number.as_u64().is_some(), || {
                let at = format!("/hardware/gpus/{index}/device_index");
                breach(at, "a whole number from 0", number.text())
            });
        }
    }
}
