//! Logits and greedy ids of stories260K against a numpy forward pass (golden/logits).

use super::workspace;
use std::sync::Arc;
use strata_engine::device::KernelChoice;
use strata_engine::memory::KvType;
use strata_engine::{Error, Model, ModelOptions, Session, SessionOptions, Token};

/// Float32 sums in another order than numpy's, through five layers.
const LOGIT_ERROR_MAX: f32 = 2e-4;

struct Golden {
    /// BOS and 256 greedy ids.
    ids: Vec<Token>,
    after_bos: Vec<f32>,
    after_five: Vec<f32>,
}

impl Golden {
    fn read() -> Golden {
        let path = workspace("golden/logits/stories260K/greedy.json");
        let json: serde_json::Value =
            serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let floats = |key: &str| serde_json::from_value(json[key].clone()).unwrap();
        Golden {
            ids: serde_json::from_value(json["ids"].clone()).unwrap(),
            after_bos: floats("logits_after_bos"),
            after_five: floats("logits_after_first_5_ids"),
        }
    }
}

fn check(kernels: KernelChoice, threads: usize) {
    let path = workspace("golden/logits/stories260K/stories260K.f32.gguf");
    let model = match Model::open(&path, &ModelOptions { threads, kernels }) {
        Err(Error::Input(reason)) => return eprintln!("skipped: golden {kernels:?}: {reason}"),
        model => Arc::new(model.unwrap()),
    };
    let golden = Golden::read();
    assert_eq!(golden.ids.len(), 257);
    let options = SessionOptions { kv: KvType::F32, ..SessionOptions::default() };
    let mut session = Session::new(model, options).unwrap();
    session.sync(&golden.ids[..1]).unwrap();
    for (position, id) in golden.ids[1..].iter().enumerate() {
        let logits = session.decode().unwrap();
        match position {
            0 => check_logits(logits, &golden.after_bos),
            4 => check_logits(logits, &golden.after_five),
            _ => (),
        }
        assert_eq!(argmax(logits), *id, "{kernels:?} at position {position}");
        session.push(*id).unwrap();
    }
}

fn check_logits(logits: &[f32], expected: &[f32]) {
    assert_eq!(logits.len(), expected.len());
    for (id, (logit, expected)) in logits.iter().zip(expected).enumerate() {
        assert!((logit - expected).abs() <= LOGIT_ERROR_MAX, "{id}: {logit}, expected {expected}");
    }
}

fn argmax(logits: &[f32]) -> Token {
    let best = (0..logits.len()).max_by(|a, b| logits[*a].total_cmp(&logits[*b]));
    best.unwrap() as Token
}

#[test]
fn reference() {
    check(KernelChoice::Reference, 1);
}

#[test]
fn avx2() {
    check(KernelChoice::Avx2, 1);
}

#[test]
fn avx512() {
    check(KernelChoice::Avx512, 2);
}
