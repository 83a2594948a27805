//! From logits to a token. The random number is a function of (seed, position) alone.

use crate::{Error, Token};

/// How a token is chosen. Zero turns `top_k` and `min_p` off, one `top_p` and the repetition
/// penalty.
#[derive(Debug, Clone, PartialEq)]
pub struct SamplerOptions {
    /// 0 is greedy: the largest logit, the lowest id among equals.
    pub temperature: f32,
    /// Candidates kept by rank; 0 keeps all.
    pub top_k: usize,
    /// Smallest set whose probability reaches this; 1 keeps all.
    pub top_p: f32,
    /// Least probability relative to the best; 0 keeps all.
    pub min_p: f32,
    /// Subtracted once from the logit of every token already produced.
    pub presence_penalty: f32,
    /// Subtracted per occurrence from the logit of every token already produced.
    pub frequency_penalty: f32,
    /// Divides positive and multiplies negative logits of tokens in prompt and answer; 1 is off.
    pub repetition_penalty: f32,
    /// Any value.
    pub seed: u64,
}

impl Default for SamplerOptions {
    fn default() -> SamplerOptions {
        SamplerOptions {
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            repetition_penalty: 1.0,
            seed: 0,
        }
    }
}

/// Checked options, ready to choose.
#[derive(Debug, Clone)]
pub struct Sampler {
    options: SamplerOptions,
}

impl Sampler {
    /// Refuses values out of range, naming the field.
    pub fn new(_options: SamplerOptions) -> Result<Sampler, Error> {
        unimplemented!()
    }

    /// Chooses the token at position `prompt.len() + output.len()`.
    pub fn sample(
        &mut self,
        _logits: &[f32],
        _prompt: &[Token],
        _output: &[Token],
    ) -> Result<Token, Error> {
        unimplemented!()
    }
}
