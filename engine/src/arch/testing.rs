//! A small model file for tests, to be run as it is or spoiled first.

use crate::gguf::testing::Builder;
use crate::gguf::{File, Value};
use crate::quant::Format;

pub(crate) const VOCAB: usize = 24;
pub(crate) const CONTEXT: usize = 32;

/// Two layers of `llama` with random weights.
pub(crate) struct Tiny {
    pub(crate) keys: Vec<(String, Value)>,
    pub(crate) tensors: Vec<Tensor>,
}

pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) dims: Vec<u64>,
    pub(crate) ggml_id: u32,
    pub(crate) bytes: Vec<u8>,
}

impl Tiny {
    pub(crate) fn new() -> Tiny {
        let mut tiny = Tiny { keys: Vec::new(), tensors: Vec::new() };
        tiny.set("general.architecture", "llama");
        let counts = [
            ("block_count", 2),
            ("context_length", CONTEXT as u32),
            ("embedding_length", 32),
            ("feed_forward_length", 64),
            ("attention.head_count", 4),
            ("attention.head_count_kv", 2),
        ];
        for (key, count) in counts {
            tiny.set(&format!("llama.{key}"), count);
        }
        tiny.set("llama.attention.layer_norm_rms_epsilon", 1e-5_f32);
        tiny.set_tokenizer();

        tiny.floats("token_embd.weight", &[32, VOCAB as u64]);
        for layer in 0..2 {
            for (part, dims) in [
                ("attn_norm", &[32][..]),
                ("attn_q", &[32, 32]),
                ("attn_k", &[32, 16]),
                ("attn_v", &[32, 16]),
                ("attn_output", &[32, 32]),
                ("ffn_norm", &[32]),
                ("ffn_gate", &[32, 64]),
                ("ffn_up", &[32, 64]),
                ("ffn_down", &[64, 32]),
            ] {
                tiny.floats(&format!("blk.{layer}.{part}.weight"), dims);
            }
        }
        tiny.floats("output_norm.weight", &[32]);
        tiny
    }

    /// Three special tokens, then letters.
    fn set_tokenizer(&mut self) {
        let special = ["<unk>", "<s>", "</s>"].map(str::to_owned).into_iter();
        let letters = ('a'..).take(VOCAB - 3).map(String::from);
        let tokens: Vec<String> = special.chain(letters).collect();
        let mut types = vec![1_i32; VOCAB];
        types[..3].copy_from_slice(&[2, 3, 3]);
        self.set("tokenizer.ggml.model", "llama");
        self.set("tokenizer.ggml.tokens", tokens);
        self.set("tokenizer.ggml.scores", vec![0.0_f32; VOCAB]);
        self.set("tokenizer.ggml.token_type", types);
        self.set("tokenizer.ggml.bos_token_id", 1_u32);
        self.set("tokenizer.ggml.eos_token_id", 2_u32);
    }

    /// Adds a key or replaces its value.
    pub(crate) fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.keys.retain(|(name, _)| name != key);
        self.keys.push((key.to_owned(), value.into()));
    }

    pub(crate) fn unset(&mut self, key: &str) {
        self.keys.retain(|(name, _)| name != key);
    }

    /// Adds a tensor of f32, or replaces it.
    pub(crate) fn floats(&mut self, name: &str, dims: &[u64]) {
        let len = dims.iter().product::<u64>();
        let values = (0..len).map(|index| (index as f32 * 0.7 + name.len() as f32).sin() * 0.5);
        let bytes = values.flat_map(f32::to_le_bytes).collect();
        self.tensors.retain(|tensor| tensor.name != name);
        let ggml_id = Format::F32.layout().ggml_id;
        self.tensors.push(Tensor { name: name.to_owned(), dims: dims.to_vec(), ggml_id, bytes });
    }

    pub(crate) fn tensor(&mut self, name: &str) -> &mut Tensor {
        self.tensors.iter_mut().find(|tensor| tensor.name == name).unwrap()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut builder = Builder::new();
        for (key, value) in &self.keys {
            builder = builder.key(key, value.clone());
        }
        for Tensor { name, dims, ggml_id, bytes } in &self.tensors {
            builder = builder.tensor_of_type(name, dims, *ggml_id, bytes.clone());
        }
        builder.build()
    }

    pub(crate) fn file(&self) -> File {
        File::parse(self.bytes().into()).unwrap()
    }
}
