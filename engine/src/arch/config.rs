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
        const BY_FACTORS: &str = "this build scales positions by rope_freqs alone";
        match self.metadata.string(&self.name("rope.scaling.type"))? {
            None => (),
            Some("none") => return Ok(()),
            Some(kind) => {
                return Err(self.error("rope.scaling.type", format!("{kind:?}, {BY_FACTORS}")));
            }
        }
        for key in ["rope.scaling.factor", "rope.scale_linear"] {
            let factor = self.metadata.float(&self.name(key))?;
            if let Some(factor) = factor.filter(|factor| ![0.0, 1.0].contains(factor)) {
                let problem = format!(
                    "{factor}, which without a rope.scaling.type means linear, {BY_FACTORS}"
                );
                return Err(self.error(key, problem));
            }
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::super::testing::{Tiny, VOCAB};
    use super::*;

    fn read(edit: impl Fn(&mut Tiny)) -> Result<Config, Error> {
        let mut tiny = Tiny::new();
        edit(&mut tiny);
        Config::read(&tiny.file(), "llama", VOCAB)
    }

    fn check_error(edit: impl Fn(&mut Tiny), message: &str) {
        assert_eq!(read(edit).unwrap_err().to_string(), message);
    }

    #[test]
    fn keys_that_are_absent_follow_from_others() {
        let config = read(|_| ()).unwrap();
        assert_eq!(config.attention, AttentionShape { heads: 4, kv_heads: 2, head_dim: 8 });
        assert_eq!((config.rope_dims, config.rope_base, config.kv_width()), (8, 10_000.0, 16));
        let config = read(|tiny| tiny.unset("llama.attention.head_count_kv")).unwrap();
        assert_eq!(config.attention.kv_heads, 4);
    }

    #[test]
    fn keys_that_are_given_count() {
        let config = read(|tiny| {
            tiny.set("llama.attention.key_length", 16_u32);
            tiny.set("llama.attention.value_length", 16_u32);
            tiny.set("llama.rope.dimension_count", 12_u32);
            tiny.set("llama.rope.freq_base", 100_000.0_f32);
            tiny.set("llama.vocab_size", VOCAB as u32);
            tiny.set("llama.rope.scaling.type", "none");
            tiny.set("llama.expert_count", 0_u32);
        });
        let config = config.unwrap();
        assert_eq!(config.attention, AttentionShape { heads: 4, kv_heads: 2, head_dim: 16 });
        assert_eq!((config.rope_dims, config.rope_base), (12, 100_000.0));
    }

    #[test]
    fn pairs_turn_by_falling_powers_of_the_base() {
        let config = read(|_| ()).unwrap();
        let rope = config.rope(RopePairs::Neighbours, None);
        let expected = [1.0, 0.1, 0.01, 0.001];
        assert_eq!(rope.frequencies.len(), expected.len());
        for (frequency, expected) in rope.frequencies.iter().zip(expected) {
            assert!((frequency / expected - 1.0).abs() < 1e-12, "{frequency} {expected}");
        }
        let stretched = config.rope(RopePairs::Neighbours, Some(vec![1.0, 1.0, 4.0, 8.0]));
        assert_eq!(stretched.frequencies[1], rope.frequencies[1]);
        assert_eq!(stretched.frequencies[3], rope.frequencies[3] / 8.0);
    }

    #[test]
    fn counts_out_of_range_are_refused() {
        for (key, count) in [
            ("block_count", 0),
            ("context_length", 0),
            ("embedding_length", u32::MAX),
            ("feed_forward_length", 0),
            ("attention.head_count", 0),
            ("attention.head_count_kv", 0),
            ("attention.key_length", 0),
            ("rope.dimension_count", 0),
            ("vocab_size", MAX_COUNT as u32 + 1),
        ] {
            let key = format!("llama.{key}");
            let message = format!("{key}: {count}, expected 1 to 16777216");
            check_error(|tiny| tiny.set(&key, count), &message);
        }
        check_error(
            |tiny| tiny.set("llama.block_count", -3_i32),
            "llama.block_count: expected an integer from 0 on, got i32 -3",
        );
    }

    #[test]
    fn numbers_that_do_not_go_together_are_refused() {
        let set = |key: &'static str, count: u32| move |tiny: &mut Tiny| tiny.set(key, count);
        check_error(
            set("llama.block_count", 1 << 23),
            "llama.block_count: 8388608 layers cannot lie in the file's 20 tensors",
        );
        check_error(
            set("llama.attention.head_count", 5),
            "llama.attention.head_count_kv: 2 heads cannot share the 5 query heads evenly",
        );
        check_error(
            set("llama.attention.head_count", 6),
            "llama.attention.head_count: 6 heads cannot share 32 numbers evenly",
        );
        check_error(
            set("llama.attention.value_length", 16),
            "llama.attention.value_length: 16, this build runs values as long as keys, here 8",
        );
        check_error(
            set("llama.rope.dimension_count", 7),
            "llama.rope.dimension_count: 7, expected an even number up to 8",
        );
        check_error(
            set("llama.rope.dimension_count", 10),
            "llama.rope.dimension_count: 10, expected an even number up to 8",
        );
        check_error(
            set("llama.vocab_size", 25),
            "llama.vocab_size: 25, but the tokenizer has 24 tokens",
        );
    }

    #[test]
    fn what_is_missing_or_would_be_ignored_is_refused() {
        check_error(|tiny| tiny.unset("llama.embedding_length"), "llama.embedding_length: missing");
        check_error(
            |tiny| tiny.unset("llama.attention.layer_norm_rms_epsilon"),
            "llama.attention.layer_norm_rms_epsilon: missing",
        );
        check_error(
            |tiny| tiny.set("llama.rope.freq_base", f32::NAN),
            "llama.rope.freq_base: NaN, expected a number above 0",
        );
        check_error(
            |tiny| tiny.set("llama.expert_count", 8_u32),
            "llama.expert_count: 8, this build runs llama without experts",
        );
        check_error(
            |tiny| tiny.set("llama.rope.scaling.type", "yarn"),
            "llama.rope.scaling.type: \"yarn\", this build scales positions by rope_freqs alone",
        );
        for key in ["llama.rope.scaling.factor", "llama.rope.scale_linear"] {
            let message = format!(
                "{key}: 4, which without a rope.scaling.type means linear, this build scales \
                 positions by rope_freqs alone"
            );
            check_error(|tiny| tiny.set(key, 4.0_f32), &message);
            for unset in [0.0_f32, 1.0] {
                read(|tiny| tiny.set(key, unset)).unwrap();
            }
            let unscaled = |tiny: &mut Tiny| {
                tiny.set(key, 4.0_f32);
                tiny.set("llama.rope.scaling.type", "none");
            };
            read(unscaled).unwrap();
        }
    }
}
