//! Llama: a dense decoder with grouped heads, rotary positions on neighbouring pairs and a gated
//! feed-forward part. Top to bottom the way a token travels.

use super::config::Config;
use super::weights::Weights;
use super::{Network, Shape, State};
use crate::device::{Device, Rope, RopePairs};
use crate::gguf::File;
use crate::memory::{KvCache, KvType};
use crate::{Error, Token};
use std::any::Any;

const ARCH: &str = "llama";

/// The weights, and the device they lie on.
pub(super) struct Llama<D: Device> {
    device: D,
    config: Config,
    rope: Rope,
    /// `[vocab, embedding]`
    token_embd: D::Matrix,
    layers: Vec<Layer<D>>,
    /// `[embedding]`
    output_norm: D::Vector,
    /// `[vocab, embedding]`; without one, `token_embd` serves.
    output: Option<D::Matrix>,
}

struct Layer<D: Device> {
    /// `[embedding]`
    attn_norm: D::Vector,
    /// `[heads * head_dim, embedding]`
    attn_q: D::Matrix,
    /// `[kv_heads * head_dim, embedding]`
    attn_k: D::Matrix,
    /// `[kv_heads * head_dim, embedding]`
    attn_v: D::Matrix,
    /// `[embedding, heads * head_dim]`
    attn_output: D::Matrix,
    /// `[embedding]`
    ffn_norm: D::Vector,
    /// `[ffn, embedding]`
    ffn_gate: D::Matrix,
    /// `[ffn, embedding]`
    ffn_up: D::Matrix,
    /// `[embedding, ffn]`
    ffn_down: D::Matrix,
}

impl<D: Device> Network for Llama<D> {
    fn shape(&self) -> &Shape {
        &self.config.shape
    }

    fn device(&self) -> (&'static str, &'static str) {
        self.device.name()
    }

    fn state(&self, capacity: usize, kv: KvType) -> Result<Box<dyn State>, Error> {
        let Config { layers, .. } = self.config;
        let cache = KvCache::new(&self.device, layers, capacity, self.config.kv_width(), kv)?;
        Ok(Box::new(cache))
    }

    fn forward(
        &self,
        state: &mut dyn State,
        tokens: &[Token],
        logits: Option<&mut Vec<f32>>,
    ) -> Result<(), Error> {
        let cache = (state as &mut dyn Any).downcast_mut::<KvCache<D>>();
        let cache = cache.expect("the state comes from this network");
        let Llama { device, config, rope, .. } = self;
        let (first, eps) = (cache.len(), config.eps);

        let mut x = device.gather(&self.token_embd, tokens);
        for (layer, kv) in self.layers.iter().zip(cache.stores()) {
            let normed = device.rms_norm(&x, &layer.attn_norm, eps);
            let projections = [&layer.attn_q, &layer.attn_k, &layer.attn_v];
            let [mut q, mut k, v] = device.matmul(projections, &normed);
            device.rope(&mut q, rope, first);
            device.rope(&mut k, rope, first);
            device.append(kv, first, &k, &v);
            let mixed = device.attention(&q, kv, &config.attention, first);
            let [out] = device.matmul([&layer.attn_output], &mixed);
            device.add(&mut x, &out);

            let normed = device.rms_norm(&x, &layer.ffn_norm, eps);
            let gated = device.gated(&layer.ffn_gate, &layer.ffn_up, &normed);
            let [out] = device.matmul([&layer.ffn_down], &gated);
            device.add(&mut x, &out);
        }
        if let Some(logits) = logits {
            let normed = device.rms_norm(&device.last_row(x), &self.output_norm, eps);
            let output = self.output.as_ref().unwrap_or(&self.token_embd);
            let [out] = device.matmul([output], &normed);
            device.read(&out, logits)?;
        }
        cache.advance(tokens.len());
        Ok(())
    }
}

impl<D: Device> Llama<D> {
    pub(super) fn load(file: &File, vocab: usize, device: D) -> Result<Llama<D>, Error> {
        const FACTORS: &str = "rope_freqs.weight";
        const OUTPUT: &str = "output.weight";
        let config = Config::read(file, ARCH, vocab)?;
        let embedding = config.embedding;
        let mut weights = Weights::new(file, &device);

        let token_embd = weights.matrix("token_embd.weight", vocab, embedding);
        let layers: Vec<_> =
            (0..config.layers).map(|index| Layer::load(&mut weights, &config, index)).collect();
        let output_norm = weights.vector("output_norm.weight", embedding);
        let output = match weights.has(OUTPUT) {
            true => weights.matrix(OUTPUT, vocab, embedding),
            false => None,
        };
        let factors = match weights.has(FACTORS) {
            true => weights.floats(FACTORS, config.rope_dims / 2),
            false => None,
        };
        weights.finish(ARCH)?;

        const FOUND: &str = "finish found nothing missing";
        let rope = config.rope(RopePairs::Neighbours, factors);
        let layers = layers.into_iter().map(|layer| layer.expect(FOUND)).collect();
        let (token_embd, output_norm) = (token_embd.expect(FOUND), output_norm.expect(FOUND));
        Ok(Llama { device, config, rope, token_embd, layers, output_norm, output })
    }
}

impl<D: Device> Layer<D> {
    /// `None` if a tensor is wrong; all of them have been looked at then.
    fn load(weights: &mut Weights<D>, config: &Config, index: usize) -> Option<Layer<D>> {
        let Config { embedding, ffn, ref attention, .. } = *config;
        let (q_width, kv_width) = (attention.heads * attention.head_dim, config.kv_width());
        let name = |part: &str| format!("blk.{index}.{part}.weight");
        let attn_norm = weights.vector(&name("attn_norm"), embedding);
        let attn_q = weights.matrix(&name("attn_q"), q_width, embedding);
        let attn_k = weights.matrix(&name("attn_k"), kv_width, embedding);
        let attn_v = weights.matrix(&name("attn_v"), kv_width, embedding);
        let attn_output = weights.matrix(&name("attn_output"), embedding, q_width);
        let ffn_norm = weights.vector(&name("ffn_norm"), embedding);
        let ffn_gate = weights.matrix(&name("ffn_gate"), ffn, embedding);
        let ffn_up = weights.matrix(&name("ffn_up"), ffn, embedding);
        let ffn_down = weights.matrix(&name("ffn_down"), embedding, ffn);
        Some(Layer {
            attn_norm: attn_norm?,
            attn_q: attn_q?,
            attn_k: attn_k?,
            attn_v: attn_v?,
            attn_output: attn_output?,
            ffn_norm: ffn_norm?,
            ffn_gate: ffn_gate?,
            ffn_up: ffn_up?,
            ffn_down: ffn_down?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Architecture;
    use super::super::testing::{CONTEXT, Tiny, VOCAB};
    use super::*;
    use crate::device::KernelChoice;
    use crate::device::cpu::Cpu;

    fn logits(edit: impl Fn(&mut Tiny)) -> Vec<f32> {
        let mut tiny = Tiny::new();
        edit(&mut tiny);
        let device = Cpu::new(1, KernelChoice::Auto).unwrap();
        let network = Architecture::Llama.load(&tiny.file(), VOCAB, device).unwrap();
        let mut state = network.state(CONTEXT, KvType::F32).unwrap();
        let mut logits = Vec::new();
        network.forward(&mut *state, &[1, 5, 9, 7], Some(&mut logits)).unwrap();
        assert_eq!((logits.len(), state.len()), (VOCAB, 4));
        logits
    }

    #[test]
    fn without_an_output_matrix_the_embedding_serves() {
        let tied = logits(|_| ());
        let separate = logits(|tiny| {
            let mut bytes = tiny.tensor("token_embd.weight").bytes.clone();
            tiny.floats("output.weight", &[32, VOCAB as u64]);
            std::mem::swap(&mut tiny.tensor("output.weight").bytes, &mut bytes);
        });
        let other = logits(|tiny| tiny.floats("output.weight", &[32, VOCAB as u64]));
        assert_eq!(tied, separate);
        assert_ne!(tied, other);
    }

    #[test]
    fn rotary_factors_count() {
        let factors = |factor: f32| {
            move |tiny: &mut Tiny| {
                tiny.floats("rope_freqs.weight", &[4]);
                tiny.tensor("rope_freqs.weight").bytes = factor.to_le_bytes().repeat(4);
            }
        };
        assert_eq!(logits(factors(1.0)), logits(|_| ()));
        assert_ne!(logits(factors(8.0)), logits(|_| ()));
    }

    #[test]
    fn heads_may_be_longer_than_their_share_of_the_embedding() {
        logits(|tiny| {
            tiny.set("llama.attention.key_length", 12_u32);
            tiny.set("llama.attention.value_length", 12_u32);
            for layer in 0..2 {
                tiny.floats(&format!("blk.{layer}.attn_q.weight"), &[32, 48]);
                tiny.floats(&format!("blk.{layer}.attn_k.weight"), &[32, 24]);
                tiny.floats(&format!("blk.{layer}.attn_v.weight"), &[32, 24]);
                tiny.floats(&format!("blk.{layer}.attn_output.weight"), &[48, 32]);
            }
        });
    }

    #[test]
    fn a_cache_beyond_all_memory_is_refused() {
        let device = Cpu::new(1, KernelChoice::Auto).unwrap();
        let network = Architecture::Llama.load(&Tiny::new().file(), VOCAB, device).unwrap();
        let error = network.state(usize::MAX / 64, KvType::F32).err().unwrap();
        assert_eq!(
            error.to_string(),
            "a context of 288230376151711743 positions needs more memory than there can be: \
             2 layers of 16 keys and as many values: lower --ctx"
        );
    }
}
