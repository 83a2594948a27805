//! A suite: a protocol and its corpus of frozen payloads, carried inside the program or read from
//! files. Every digest is verified on the way in; nothing later reads a payload from disk.

mod body;
pub mod builder;
mod carried;
mod folder;
mod known;
mod lengths;
mod listing;
mod manifest;

pub use known::{Known, known};
pub use lengths::{Length, Lengths};

use crate::digest::sha256;
use crate::plain_file;
use crate::plan::plan;
use crate::protocol::{LoadError, Protocol};
use std::collections::BTreeMap;
use std::path::Path;

/// Path in a corpus, `/` between its parts, to content.
pub type Files = BTreeMap<String, String>;

/// The sentences payloads are made of.
pub const STOCK: &str = "sentences.txt";
/// How payloads are made of them.
pub const RECIPE: &str = "corpus-build.json";
/// Longest protocol file that is read, in bytes.
pub const MAX_PROTOCOL_BYTES: u64 = 4 << 20;

/// A protocol with what it takes to replay it.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// The plan and its judgements.
    pub protocol: Protocol,
    /// The payloads; `None` where [`Protocol::not_replayable`] says why.
    pub corpus: Option<Corpus>,
}

impl Suite {
    /// Names for `--suite`.
    pub fn names() -> Vec<&'static str> {
        carried::SUITES.iter().map(|carried| carried.name).collect()
    }

    /// A suite this program carries, by `--suite` name.
    pub fn named(name: &str) -> Result<Suite, LoadError> {
        let carried = carried::SUITES.iter().find(|carried| carried.name == name);
        let carried = carried.ok_or_else(|| LoadError {
            place: format!("suite `{name}`"),
            problem: format!(
                "not one of {}; for a protocol of your own give its file",
                Suite::names().join(", ")
            ),
        })?;
        let protocol = Protocol::parse(carried.protocol, name)?;
        let files = carried.files.iter().map(|(path, text)| (path.to_string(), text.to_string()));
        Suite::assemble(protocol, name, || Ok(files.collect()))
    }

    /// The protocols this program carries. A review needs no corpus.
    pub fn protocols() -> Vec<Protocol> {
        let parse = |carried: &carried::Carried| Protocol::parse(carried.protocol, carried.name);
        let protocols = carried::SUITES.iter().map(parse).collect::<Result<_, _>>();
        protocols.expect("a test loads every suite this program carries")
    }

    /// A protocol file `X/protocols/NAME.json` with its corpus in `X/corpus/SUITE`.
    pub fn open(protocol: &Path) -> Result<Suite, LoadError> {
        let place = protocol.display().to_string();
        let text = plain_file::read_text(protocol, MAX_PROTOCOL_BYTES)
            .map_err(|problem| LoadError { place: place.clone(), problem })?;
        let parsed = Protocol::parse(&text, &place)?;
        let corpus = protocol.with_file_name("..").join("corpus").join(&parsed.suite);
        let place = corpus.display().to_string();
        Suite::assemble(parsed, &place, || folder::read(&corpus))
    }

    fn assemble(
        protocol: Protocol,
        place: &str,
        files: impl FnOnce() -> Result<Files, String>,
    ) -> Result<Suite, LoadError> {
        let corpus = match &protocol.not_replayable {
            Some(_) => None,
            None => {
                let corpus = files().and_then(|files| Corpus::verify(&protocol, files));
                Some(corpus.map_err(|problem| LoadError { place: place.to_string(), problem })?)
            }
        };
        Ok(Suite { protocol, corpus })
    }
}

/// Frozen payloads, verified against their manifest and their protocol.
#[derive(Debug, Clone, PartialEq)]
pub struct Corpus {
    files: Files,
    manifest: String,
    lengths: Vec<Lengths>,
}

impl Corpus {
    /// Takes files as they lie in a corpus folder. Those of `lengths/` stand beside the manifest,
    /// so that a tokenizer can be added without another corpus digest.
    fn verify(protocol: &Protocol, mut files: Files) -> Result<Corpus, String> {
        let manifest = files.remove(manifest::NAME).ok_or("manifest.sha256 is missing")?;
        let found = sha256(manifest.as_bytes());
        if found != protocol.corpus_sha256 {
            return Err(format!(
                "{} has sha256 {found}, the protocol names {}; take the corpus and the protocol \
                 of one version",
                manifest::NAME,
                protocol.corpus_sha256
            ));
        }
        let (counted, files): (Files, Files) =
            files.into_iter().partition(|(path, _)| path.starts_with("lengths/"));
        manifest::check(&manifest, &files)?;
        let requests = plan(protocol, true);
        for request in &requests {
            let path = payload_path(&request.id);
            let body = files.get(&path).ok_or_else(|| format!("{path} is missing"))?;
            body::check(protocol, request, body).map_err(|problem| format!("{path}: {problem}"))?;
        }
        let payloads = files.keys().filter(|path| path.starts_with("payloads/")).count();
        if payloads != requests.len() {
            return Err(format!(
                "{payloads} payloads for {} planned requests; remove those of no request",
                requests.len()
            ));
        }
        if !files.contains_key(RECIPE) {
            return Err(format!("{RECIPE} is missing; restore it"));
        }
        let parse = |(path, text): (&String, &String)| {
            let lengths = Lengths::parse(path, text, &requests);
            lengths.map_err(|problem| format!("{path}: {problem}"))
        };
        let lengths = counted.iter().map(parse).collect::<Result<_, _>>()?;
        Ok(Corpus { files, manifest, lengths })
    }

    /// The request body of a planned id, byte for byte as it is sent.
    pub fn body(&self, id: &str) -> Option<&str> {
        self.files.get(&payload_path(id)).map(String::as_str)
    }

    /// `manifest.sha256`, whose own digest is the protocol's `corpus_sha256`.
    pub fn manifest(&self) -> &str {
        &self.manifest
    }

    /// `corpus-build.json`: what the payloads were made from.
    pub fn build_record(&self) -> &str {
        &self.files[RECIPE] // checked on the way in
    }

    /// Token lengths under this tokenizer and this template; `None` if none were recorded.
    pub fn lengths(&self, tokenizer_sha256: &str, template_sha256: &str) -> Option<&Lengths> {
        self.lengths.iter().find(|lengths| {
            lengths.tokenizer_sha256.as_deref() == Some(tokenizer_sha256)
                && lengths.template_sha256 == template_sha256
        })
    }

    /// A template as the model's file has it. llama.cpp leaves out the newline that may end one, as
    /// Jinja does when it renders; the recorded digests tell which have it.
    pub fn whole_template(&self, text: &str) -> String {
        let whole = format!("{text}\n");
        let digest = sha256(whole.as_bytes());
        match self.lengths.iter().any(|lengths| lengths.template_sha256 == digest) {
            true => whole,
            false => text.to_string(),
        }
    }

    /// The tokenizer in a model file of this SHA-256; `None` if nobody recorded it.
    pub fn tokenizer_in(&self, file_sha256: &str) -> Option<&str> {
        let holds = |lengths: &&Lengths| lengths.model_files.iter().any(|file| file == file_sha256);
        self.lengths.iter().find(holds)?.tokenizer_sha256.as_deref()
    }
}

fn payload_path(id: &str) -> String {
    format!("payloads/{id}.json")
}

#[cfg(test)]
mod tests;
