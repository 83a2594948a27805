//! The suites inside the program, so that an installed one needs no other file. A test compares
//! this list with what lies in `spec/`.

/// A suite as text.
pub(super) struct Carried {
    /// For `--suite`: the short name, or the id of a protocol that only reviews can use.
    pub(super) name: &'static str,
    pub(super) protocol: &'static str,
    /// Path in the corpus, and content.
    pub(super) files: &'static [(&'static str, &'static str)],
}

pub(super) const SUITES: &[Carried] = &[
    Carried {
        name: "embedded-v1",
        protocol: include_str!("../../../spec/protocols/embedded-v1.json"),
        files: EMBEDDED_V1,
    },
    Carried {
        name: "small-v1",
        protocol: include_str!("../../../spec/protocols/small-v1.json"),
        files: SMALL_V1,
    },
    Carried {
        name: "standard-v1",
        protocol: include_str!("../../../spec/protocols/standard-v1.json"),
        files: STANDARD_V1,
    },
    Carried {
        name: "strata-qwen38-thinking-v1-draft.1",
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

const SMALL_V1: &[(&str, &str)] = corpus!(
    "small-v1":
    "corpus-build.json",
    "lengths/53d9bf02c6aa-872be49dbb63.json",
    "lengths/8f4e8d81e57f-cd8e9439f057.json",
    "lengths/8f4e8d81e57f-d5495a1e5db0.json",
    "lengths/unpinned-a4aee8afcf2e.json",
    "lengths/unpinned-c3cf9e34abf4.json",
    "manifest.sha256",
    "payloads/performance-prompt-1k-r1.json",
    "payloads/performance-prompt-1k-r2.json",
    "payloads/performance-prompt-1k-r3.json",
    "payloads/performance-prompt-4k-r1.json",
    "payloads/performance-prompt-4k-r2.json",
    "payloads/performance-prompt-4k-r3.json",
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

const STANDARD_V1: &[(&str, &str)] = corpus!(
    "standard-v1":
    "corpus-build.json",
    "lengths/53d9bf02c6aa-872be49dbb63.json",
    "lengths/8f4e8d81e57f-cd8e9439f057.json",
    "lengths/8f4e8d81e57f-d5495a1e5db0.json",
    "lengths/unpinned-a4aee8afcf2e.json",
    "lengths/unpinned-c3cf9e34abf4.json",
    "manifest.sha256",
    "payloads/performance-prompt-16k-r1.json",
    "payloads/performance-prompt-16k-r2.json",
    "payloads/performance-prompt-16k-r3.json",
    "payloads/performance-prompt-4k-r1.json",
    "payloads/performance-prompt-4k-r2.json",
    "payloads/performance-prompt-4k-r3.json",
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
