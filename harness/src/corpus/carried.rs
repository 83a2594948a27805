//! The suites inside the program, so that an installed one needs no other file. A test compares
//! this list with what lies in `spec/`.

/// A suite as text.
pub(super) struct Carried {
    pub(super) suite: &'static str,
    pub(super) protocol: &'static str,
    /// Path in the corpus, and content.
    pub(super) files: &'static [(&'static str, &'static str)],
}

pub(super) const SUITES: &[Carried] = &[
    Carried {
        suite: "embedded-v1",
        protocol: include_str!("../../../spec/protocols/embedded-v1.json"),
        files: EMBEDDED_V1,
    },
    Carried {
        suite: "standard-v1",
        protocol: include_str!("../../../spec/protocols/strata-qwen38-thinking-v1-draft.1.json"),
        files: &[],
    },
];

macro_rules! corpus {
    ($folder:literal: $($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../spec/corpus/", $folder, "/", $path)))),*]
    };
}

const EMBEDDED_V1: &[(&str, &str)] = corpus!(
    "embedded-v1":
    "corpus-build.json",
    "lengths/d1f78b755590-e3b0c44298fc.json",
    "manifest.sha256",
    "payloads/concurrency-pair-a-r1.json",
    "payloads/concurrency-pair-a-r2.json",
    "payloads/concurrency-pair-b-r1.json",
    "payloads/concurrency-pair-b-r2.json",
    "payloads/performance-prompt-160-r1.json",
    "payloads/performance-prompt-160-r2.json",
    "payloads/performance-prompt-160-r3.json",
    "payloads/performance-prompt-320-r1.json",
    "payloads/performance-prompt-320-r2.json",
    "payloads/performance-prompt-320-r3.json",
    "payloads/performance-short-r1.json",
    "payloads/performance-short-r2.json",
    "payloads/performance-short-r3.json",
    "payloads/sanity-I1.json",
    "payloads/sanity-I2.json",
    "payloads/sanity-I3.json",
    "payloads/sanity-I4.json",
    "payloads/sanity-R1.json",
    "payloads/sanity-R2.json",
    "payloads/sanity-R3.json",
    "payloads/sanity-R4.json",
    "payloads/sanity-T1.json",
    "payloads/sanity-T2.json",
    "payloads/sanity-T3.json",
    "payloads/sanity-T4.json",
    "payloads/warmup.json",
    "sentences.txt",
);
