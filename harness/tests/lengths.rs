//! The recorded token lengths of the corpora, counted again with the engine's own tokenizer and the
//! models at hand. Runs the binary `strata` of its own profile; knows nothing of its insides.

#![allow(clippy::print_stderr, clippy::unwrap_used)] // a skip is told; a panic is how a test fails

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use strata_harness::corpus::{Lengths, Suite};
use strata_harness::digest::sha256_of;
use strata_harness::plan::plan;

fn strata(arguments: &[&str]) -> Value {
    let program = Path::new(env!("CARGO_BIN_EXE_strata-bench")).with_file_name("strata");
    assert!(program.exists(), "{}: build the binaries first", program.display());
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Lengths and shared prefixes of every payload. `test` is who says so if the model is not there.
fn check(test: &str, model: &str, suites: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace member");
    let file = root.join(model);
    if !file.exists() {
        eprintln!("skipped: {test}: {model} is not there: make models");
        return;
    }
    let digest = sha256_of(File::open(&file).unwrap()).unwrap();
    for name in suites {
        let suite = Suite::named(name).unwrap();
        let folder = root.join("spec/corpus").join(name).join("payloads");
        let (mut tokens, mut digests) = (BTreeMap::new(), None);
        for request in plan(&suite.protocol, true) {
            let payload = folder.join(format!("{}.json", request.id));
            let [model, payload] = [&file, &payload].map(|path| path.to_str().unwrap());
            let found =
                strata(&["tokenize", "--output", "json", "--model", model, "--chat", payload]);
            let ids: Vec<u32> = serde_json::from_value(found["ids"].clone()).unwrap();
            tokens.insert(request.id, ids);
            let digest = |of: &str| found[of]["sha256"].as_str().unwrap().to_string();
            digests = Some((digest("tokenizer"), digest("template")));
        }
        let (tokenizer, template) = digests.expect("a plan is not empty");
        let corpus = suite.corpus.unwrap();
        let recorded = corpus.lengths(&tokenizer, &template).expect(name);
        let files = recorded.model_files.clone();
        assert!(files.is_empty() || files.contains(&digest), "{name}: {digest}: another file");
        let counted = Lengths::of(&tokenizer, &template, files, &recorded.made_by, &tokens);
        assert_eq!(&counted, recorded, "{name}: run the example record_lengths");
    }
}

#[test]
fn lengths_for_the_bundled_model() {
    let model = "engine/models/stories260K/stories260K.f16.gguf";
    check("lengths_for_the_bundled_model", model, &["embedded-v1"]);
}

#[test]
fn lengths_for_smollm2() {
    let model = ".models/SmolLM2-135M-Instruct.Q4_1.gguf";
    check("lengths_for_smollm2", model, &["small-v1", "standard-v1"]);
}
