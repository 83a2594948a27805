//! Counts the tokens of every payload with an engine's own tokenizer and chat template, and writes
//! the lengths file of the corpus:
//! `cargo run --example record_lengths -- STRATA MODEL spec/protocols/embedded-v1.json`

#![allow(clippy::print_stdout)] // a program for people

use serde::Deserialize;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;
use strata_harness::corpus::Lengths;
use strata_harness::plan::plan;
use strata_harness::protocol::Protocol;

/// What `strata tokenize --output json` prints, as far as it is needed here.
#[derive(Deserialize)]
struct Tokenized {
    ids: Vec<u32>,
    tokenizer: Digest,
    template: Digest,
}

#[derive(Deserialize)]
struct Digest {
    sha256: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [strata, model, path] = &arguments[..] else {
        return Err("give the strata program, a model and a protocol file".into());
    };
    let protocol = Protocol::parse(&fs::read_to_string(path)?, path)?;
    let corpus = Path::new(path).with_file_name("..").join("corpus").join(&protocol.suite);
    let (mut counted, mut last) = (BTreeMap::new(), None);
    for request in plan(&protocol, true) {
        let payload = corpus.join("payloads").join(format!("{}.json", request.id));
        let output = Command::new(strata)
            .args(["tokenize", "--output", "json", "--model", model, "--chat"])
            .arg(payload)
            .output()?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{}: {message}", request.id).into());
        }
        let tokenized: Tokenized = serde_json::from_slice(&output.stdout)?;
        counted.insert(request.id, tokenized.ids.clone());
        last = Some(tokenized);
    }
    let engine = last.ok_or("the protocol plans no request")?;
    let version = String::from_utf8(Command::new(strata).arg("--version").output()?.stdout)?;
    let model = Path::new(model).file_name().unwrap_or_default().to_string_lossy();
    let made_by = format!(
        "strata tokenize --output json --model {model} --chat payloads/<id>.json, {}",
        version.trim()
    );
    let (tokenizer, template) = (&engine.tokenizer.sha256, &engine.template.sha256);
    let lengths = Lengths::of(tokenizer, template, &made_by, &counted);
    let file = corpus.join(lengths.path());
    fs::write(&file, format!("{}\n", serde_json::to_string_pretty(&lengths)?))?;
    println!("{}", file.display());
    Ok(())
}
