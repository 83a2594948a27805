//! A model inside a single-threaded program: the caller owns the loop, and no second thread exists
//! while it runs. `cargo run --example embed`; it also runs as a test.
#![allow(clippy::print_stdout)]

use std::path::Path;
use std::sync::Arc;
use strata_engine::text::{Sampler, SamplerOptions, Special};
use strata_engine::{Error, Generation, GenerationOptions, Step};
use strata_engine::{Model, ModelOptions, Session, SessionOptions};

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/models/stories260K/stories260K.f16.gguf");
const PROMPT: &str = "Once upon a time";

fn main() -> Result<(), Error> {
    let options = ModelOptions { threads: 1, ..ModelOptions::default() };
    let model = Arc::new(Model::open(Path::new(MODEL), &options)?);
    let mut session = Session::new(Arc::clone(&model), SessionOptions::default())?;
    session.sync(&model.tokenizer().encode_prompt(PROMPT, Special::Text))?;

    let sampler = Sampler::new(SamplerOptions::default())?;
    let options = GenerationOptions { max_tokens: Some(60), ..GenerationOptions::default() };
    let mut generation = Generation::new(&mut session, sampler, &options)?;
    print!("{PROMPT}");
    loop {
        assert_eq!(threads(), 1, "threads of this process");
        match generation.step()? {
            Step::Token { text, .. } => print!("{text}"),
            Step::Done { text, .. } => break println!("{text}"),
        }
    }
    Ok(())
}

/// Threads of this process; 1 where the system does not list them.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count)
}
