//! Counts the tokens of every payload with an engine's own tokenizer and chat template, and writes
//! the lengths file of the corpus:
//! `cargo run --example record_lengths -- STRATA MODEL spec/protocols/embedded-v1.json [SOURCE]`,
//! where SOURCE says where the model is from if nothing else in the repository does.

#![allow(clippy::print_stdout)] // a program for people

use serde::Deserialize;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;
use strata_harness::corpus::Lengths;
use strata_harness::digest::sha256_of;
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
    let (strata, model, path, source) = match &arguments[..] {
        [strata, model, path] => (strata, model, path, String::new()),
        [strata, model, path, source] => (strata, model, path, format!("; {source}")),
        _ => return Err("give the strata program, a model and a protocol file".into()),
    };
    let protocol = Protocol::parse(&fs::read_to_string(path)?, path)?;
    let corpus = Path::new(path).with_file_name("..").join("corpus").join(&protocol.suite);
    let (mut counted, mut digests) = (BTreeMap::new(), None);
    for request in plan(&protocol, true) {
        let payload = corpus.join("payloads").join(format!("{}.json", request.id));
        let payload = payload.to_str().ok_or("a path in UTF-8 is needed")?;
        let how = ["tokenize", "--output", "json", "--model", model, "--chat", payload];
        let tokenized: Tokenized = serde_json::from_str(&output(strata, &how)?)?;
        counted.insert(request.id, tokenized.ids);
        digests = Some((tokenized.tokenizer.sha256, tokenized.template.sha256));
    }
    let (tokenizer, template) = digests.ok_or("the protocol plans no request")?;
    let version = output(strata, &["--version"])?;
    let (version, _build) = version.split_once(" (").unwrap_or((version.trim(), ""));
    let file_sha256 = sha256_of(fs::File::open(model)?)?;
    let model = Path::new(model).file_name().unwrap_or_default().to_string_lossy();
    let made_by = format!(
        "strata tokenize --output json --model {model} --chat payloads/<id>.json, {version}{source}"
    );
    let lengths = Lengths::of(&tokenizer, &template, vec![file_sha256], &made_by, &counted);
    let file = corpus.join(lengths.path());
    fs::create_dir_all(corpus.join("lengths"))?;
    fs::write(&file, format!("{}\n", serde_json::to_string_pretty(&lengths)?))?;
    println!("{}", file.display());
    Ok(())
}

fn output(program: &str, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let output = Command::new(program).args(arguments).output()?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{program} {}: {message}", arguments.join(" ")).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
