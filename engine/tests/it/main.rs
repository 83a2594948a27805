//! The library as a program that embeds it sees it: public names only, real weights.
#![allow(clippy::print_stderr, clippy::unwrap_used)] // a skip is told; what unwraps an error fails

mod embedding;
mod generation;
mod golden;
mod timeline;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use strata_engine::device::KernelChoice;
use strata_engine::text::{Sampler, SamplerOptions};
use strata_engine::{Model, ModelOptions, Session, SessionOptions, Token};

/// A path from the root of the workspace.
fn workspace(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn bundled() -> PathBuf {
    workspace("engine/models/stories260K/stories260K.f16.gguf")
}

/// The bundled model, loaded once for 1 and once for 2 threads.
fn model(threads: usize) -> Arc<Model> {
    static MODELS: [OnceLock<Arc<Model>>; 2] = [const { OnceLock::new() }; 2];
    let load = || {
        let options = ModelOptions { threads, kernels: KernelChoice::Auto };
        Arc::new(Model::open(&bundled(), &options).unwrap())
    };
    Arc::clone(MODELS[threads - 1].get_or_init(load))
}

fn session(threads: usize) -> Session {
    session_with(threads, SessionOptions::default())
}

fn session_with(threads: usize, options: SessionOptions) -> Session {
    Session::new(model(threads), options).unwrap()
}

fn greedy() -> Sampler {
    Sampler::new(SamplerOptions::default()).unwrap()
}

/// Some tokens of the vocabulary of 512, different for every seed from the first one on.
fn tokens(seed: u32, len: usize) -> Vec<Token> {
    (0..len as u32).map(|i| 3 + (seed * 101 + i * i * 31 + i * 7) % 509).collect()
}

/// Checks the logits of a session in use against those of one that has seen nothing else.
fn check_bits(session: &mut Session, prompt: &[Token]) {
    let mut cold = self::session(1);
    cold.sync(prompt).unwrap();
    let bits = |logits: &[f32]| logits.iter().map(|logit| logit.to_bits()).collect::<Vec<_>>();
    let (found, expected) = (bits(session.decode().unwrap()), bits(cold.decode().unwrap()));
    let different = found.iter().zip(&expected).filter(|(a, b)| a != b).count();
    assert_eq!(different, 0, "logits of {} differ, prompt {prompt:?}", found.len());
    assert_eq!(session.tokens(), prompt);
}
