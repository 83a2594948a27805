//! Models that are too large for the repository, in a folder `.models` of the workspace. What is
//! not there is skipped, and says so.
#![allow(clippy::print_stderr, clippy::unwrap_used)] // a skip is told; what unwraps an error fails

use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use strata_engine::device::KernelChoice;
use strata_engine::text::{ChatRequest, Sampler, SamplerOptions};
use strata_engine::{Generation, GenerationOptions, Model, ModelOptions};
use strata_engine::{Session, SessionOptions, Step, Token};

/// `None` if the file is not there, which is said on stderr.
fn open(test: &str, file: &str, options: &ModelOptions) -> Option<Arc<Model>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.models").join(file);
    if !path.exists() {
        eprintln!("skipped: {test}: .models/{file} is not there: make models");
        return None;
    }
    Some(Arc::new(Model::open(&path, options).unwrap()))
}

/// The greedy answer to one question in the model's own template, the end token included.
fn answer(model: &Arc<Model>, question: &str) -> Vec<Token> {
    let request = ChatRequest {
        messages: vec![json!({ "role": "user", "content": question })],
        ..ChatRequest::default()
    };
    let prompt = model.template().encode(&request, model.tokenizer()).unwrap();
    let options = SessionOptions { context: Some(512), ..SessionOptions::default() };
    let mut session = Session::new(Arc::clone(model), options).unwrap();
    session.sync(&prompt).unwrap();
    let options = GenerationOptions { max_tokens: Some(32), ..GenerationOptions::default() };
    let sampler = Sampler::new(SamplerOptions::default()).unwrap();
    let mut generation = Generation::new(&mut session, sampler, &options).unwrap();
    let mut ids = Vec::new();
    while let Step::Token { id, .. } = generation.step().unwrap() {
        ids.push(id);
    }
    ids
}

/// Ids as llama.cpp gives them for the same file. The last one ends the answer.
#[test]
fn smollm2_135m_knows_the_capital_of_france() {
    let options = ModelOptions { threads: 2, kernels: KernelChoice::Auto };
    let file = "SmolLM2-135M-Instruct.Q4_1.gguf";
    let Some(model) = open("smollm2_135m_knows_the_capital_of_france", file, &options) else {
        return;
    };
    let ids = answer(&model, "What is the capital of France?");
    assert_eq!(ids, [504, 3575, 282, 4649, 314, 7042, 30, 2]);
}
