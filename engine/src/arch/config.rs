//! From a file's metadata to a checked shape. No other place holds a geometry constant, and
//! nothing is allocated before the numbers here make sense together.

use super::Shape;
use crate::Error;
use crate::device::{AttentionShape, Rope, RopePairs};
use crate::gguf::{File, Metadata};

/// A dense decoder's geometry. Every count is at least 1 and at most [`MAX_COUNT`].
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Config {
    pub(super) shape: Shape,
    pub(super) layers: usize,
    /// Length of a token's activations.
    pub(super) embedding: usize,
    /// Length of the feed-forward part's activations.
    pub(super) ffn: usize,
    pub(super) attention: AttentionShape,
    /// Even, at most the length of a head.
    pub(super) rope_dims: usize,
    pub(super) rope_base: f32,
    /// Epsilon of the norms.
    pub(super) eps: f32,
}

impl Config {
    /// Reads the keys of architecture `arch`; `vocab` is the number of the tokenizer's tokens.
    pub(super) fn read(file: &File, arch: &'static str, vocab: usize) -> Result<Config, Error> {
        let keys = Keys { metadata: file.metadata(), arch };
        keys.refuse_variants()?;
        let layers = keys.count("block_count")?;
        if layers > file.tensors().len() {
            let tensors = file.tensors().len();
            let problem = format!("{layers} layers cannot lie in the file's {tensors} tensors");
            return Err(keys.error("block_count", problem));
        }
        let embedding = keys.count("embedding_length")?;
        let attention = keys.attention(embedding)?;
        let rope_dims = keys.count_or("rope.dimension_count", attention.head_dim)?;
        if !rope_dims.is_multiple_of(2) || rope_dims > attention.head_dim {
            let head_dim = attention.head_dim;
            let problem = format!("{rope_dims}, expected an even number up to {head_dim}");
            return Err(keys.error("rope.dimension_count", problem));
        }
        let stated_vocab = keys.count_or("vocab_size", vocab)?;
        if stated_vocab != vocab {
            let problem = format!("{stated_vocab}, but the tokenizer has {vocab} tokens");
            return Err(keys.error("vocab_size", problem));
        }
        Ok(Config {
            shape: Shape { context: keys.count("context_length")?, vocab },
            layers,
            embedding,
            ffn: keys.count("feed_forward_length")?,
            attention,
            rope_dims,
            rope_base: keys.positive("rope.freq_base", Some(10_000.0))?,
            eps: keys.positive("attention.layer_norm_rms_epsilon", None)?,
        })
    }

    /// Numbers a layer keeps of a position, for key and value each.
    pub(super) fn kv_width(&self) -> usize {
        self.attention.kv_heads * self.attention.head_dim
    }

    /// Pair `i` turns by `base^(-2i / dims)` a position, divided by its factor if there are any
    /// (Llama 3.1 stretches slow pairs so).
    pub(super) fn rope(&self, pairs: RopePairs, factors: Option<Vec<f32>>) -> Rope {
        let (base, dims) = (f64::from(self.rope_base), self.rope_dims as f64);
        let mut frequencies: Vec<f64> =
            (0..self.rope_dims / 2).map(|pair| base.powf(-2.0 * pair as f64 / dims)).collect();
        for (frequency, factor) in frequencies.iter_mut().zip(factors.into_iter().flatten()) {
            *frequency /= f64::from(factor);
        }
        Rope { pairs, head_dim: self.attention.head_dim, frequencies }
    }
}

/// The keys of one architecture.
struct Keys<'a> {
    metadata: &'a Metadata,
    arch: &'static str,
}

impl Keys<'_> {
    fn count(&self, key: &str) -> Result<usize, Error> {
        self.count_if_any(key)?.ok_or_else(|| self.error(key, "missing".to_owned()))
    }

    fn count_or(&self, key: &str, default: usize) -> Result<usize, Error> {
        Ok(self.count_if_any(key)?.unwrap_or(default))
    }

    fn count_if_any(&self, key: &str) -> Result<Option<usize>, Error> {
        match self.metadata.unsigned(&self.name(key))? {
            Some(count) if !(1..=MAX_COUNT).contains(&count) => {
                Err(self.error(key, format!("{count}, expected 1 to {MAX_COUNT}")))
            }
            count => Ok(count.map(|count| count as usize)),
        }
    }

    fn positive(&self, key: &str, default: Option<f32>) -> Result<f32, Error> {
        match self.metadata.float(&self.name(key))?.or(default) {
            None => Err(self.error(key, "missing".to_owned())),
            Some(number) if number.is_finite() && number > 0.0 => Ok(number),
            Some(number) => Err(self.error(key, format!("{number}, expected a number above 0"))),
        }
    }

    fn attention(&self, embedding: usize) -> Result<AttentionShape, Error> {
        let heads = self.count("attention.head_count")?;
        let kv_heads = self.count_or("attention.head_count_kv", heads)?;
        if !heads.is_multiple_of(kv_heads) {
            let problem = format!("{kv_heads} heads cannot share the {heads} query heads evenly");
            return Err(self.error("attention.head_count_kv", problem));
        }
        let head_dim = match self.count_if_any("attention.key_length")? {
            Some(head_dim) => head_dim,
            None if embedding.is_multiple_of(heads) => embedding / heads,
            None => {
                let problem = format!("{heads} heads cannot share {embedding} numbers evenly");
                return Err(self.error("attention.head_count", problem));
            }
        };
        let value_length = self.count_or("attention.value_length", head_dim)?;
        if value_length != head_dim {
            let problem =
                format!("{value_length}, this build runs values as long as keys, here {head_dim}");
            return Err(self.error("attention.value_length", problem));
        }
        Ok(AttentionShape { heads, kv_heads, head_dim })
    }

    /// What would change the result if it were ignored.
    fn refuse_variants(&self) -> Result<(), Error> {
        if let Some(experts @ 1..) = self.metadata.unsigned(&self.name("expert_count"))? {
            let problem = format!("{experts}, this build runs {} without experts", self.arch);
            return Err(self.error("expert_count", problem));
        }
        match self.metadata.string(&self.name("rope.scaling.type"))? {
            None | Some("none") => Ok(()),
            Some(kind) => {
                let problem = format!("{kind:?}, this build scales positions by rope_freqs alone");
                Err(self.error("rope.scaling.type", problem))
            }
        }
    }

    fn name(&self, key: &str) -> String {
        format!("{}.{key}", self.arch)
    }

    fn error(&self, key: &str, problem: String) -> Error {
        Error::Model(format!("{}: {problem}", self.name(key)))
    }
}

/// Largest count of anything: beyond every known model, and no product of two overflows.
const MAX_COUNT: u64 = 1 << 24;
