//! A loaded model: weights on a device, tokenizer and chat template. Immutable and shareable.
//! Knows nothing of conversations or of how its text is delivered.

use crate::Error;
use crate::arch::{Architecture, Network};
use crate::device::KernelChoice;
use crate::device::cpu::Cpu;
use crate::gguf::{Bytes, File, TensorKind, model_stem};
use crate::quant::Format;
use crate::text::{ChatTemplate, Tokenizer};
use std::path::Path;

/// How a model is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelOptions {
    /// Threads that compute, the caller's included. 1 starts none.
    pub threads: usize,
    /// Which kernels run; `Auto` takes the best the processor has.
    pub kernels: KernelChoice,
}

impl Default for ModelOptions {
    fn default() -> ModelOptions {
        ModelOptions { threads: 1, kernels: KernelChoice::Auto }
    }
}

/// A model ready to run. Share it behind an `Arc`.
pub struct Model {
    network: Box<dyn Network>,
    tokenizer: Tokenizer,
    template: ChatTemplate,
    file: File,
    /// Of the path it was opened by, without the number of a shard.
    file_stem: Option<String>,
}

impl Model {
    /// Opens, checks and loads a file, or the split model it is part of.
    pub fn open(path: &Path, options: &ModelOptions) -> Result<Model, Error> {
        let loaded = Model::load(File::open(path)?, options);
        let mut model = loaded.map_err(|error| error.in_file(path))?;
        model.file_stem = model_stem(path);
        Ok(model)
    }

    /// Loads from bytes already in memory.
    pub fn from_bytes(bytes: Vec<u8>, options: &ModelOptions) -> Result<Model, Error> {
        Model::load(File::parse(Bytes::from(bytes))?, options)
    }

    /// Loads a parsed file.
    pub fn load(file: File, options: &ModelOptions) -> Result<Model, Error> {
        let architecture = Architecture::of(&file)?;
        let tokenizer = Tokenizer::from_metadata(file.metadata())?;
        let template = ChatTemplate::from_metadata(file.metadata())?;
        let device = Cpu::new(options.threads, options.kernels)?;
        let network = architecture.load(&file, tokenizer.len(), device)?;
        Ok(Model { network, tokenizer, template, file, file_stem: None })
    }

    /// Vocabulary and splitting.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The file's own chat template, or the stated plain fallback.
    pub fn template(&self) -> &ChatTemplate {
        &self.template
    }

    /// The file it was loaded from.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Positions the model was trained for.
    pub fn trained_context(&self) -> usize {
        self.network.shape().context
    }

    /// Logits a decode gives.
    pub fn vocab_size(&self) -> usize {
        self.network.shape().vocab
    }

    /// `cpu`, and the kernel set in use: `reference`, `avx2`, `avx512`.
    pub fn device(&self) -> (&'static str, &'static str) {
        self.network.device()
    }

    /// What the file calls itself, else the file's stem, in lower case with `-` for blanks, and
    /// the quantization where it is not yet the end: `smollm2-135m-instruct-q4_1`.
    pub fn id(&self) -> String {
        let name = match self.file.metadata().get("general.name") {
            Some(crate::gguf::Value::String(name)) if !name.trim().is_empty() => Some(name),
            _ => self.file_stem.as_ref(),
        };
        model_id(name.map_or("model", |name| name), &self.quantization())
    }

    /// `general.file_type` by name, else the format with most bytes: `Q4_K_M`, `F16`.
    pub fn quantization(&self) -> String {
        let stated = self.file.metadata().unsigned("general.file_type").ok().flatten();
        stated.and_then(file_type_name).map_or_else(|| heaviest_format(&self.file), str::to_owned)
    }

    pub(crate) fn network(&self) -> &dyn Network {
        &*self.network
    }
}

fn model_id(name: &str, quantization: &str) -> String {
    let words: Vec<String> = name.split_whitespace().map(str::to_lowercase).collect();
    let (name, quantization) = (words.join("-"), quantization.to_lowercase());
    if name.ends_with(&quantization) { name } else { format!("{name}-{quantization}") }
}

fn heaviest_format(file: &File) -> String {
    let bytes = |format: &Format| -> u64 {
        let stored = |kind| kind == TensorKind::Known(*format);
        file.tensors().iter().filter(|tensor| stored(tensor.kind)).map(|t| t.byte_len).sum()
    };
    let format = Format::ALL.into_iter().max_by_key(bytes).expect("there are formats");
    format.layout().name.to_owned()
}

/// llama.cpp's `llama_ftype`, the mix of formats a file was made with.
fn file_type_name(file_type: u64) -> Option<&'static str> {
    Some(match file_type {
        0 => "F32",
        1 => "F16",
        2 => "Q4_0",
        3 => "Q4_1",
        7 => "Q8_0",
        8 => "Q5_0",
        9 => "Q5_1",
        10 => "Q2_K",
        11 => "Q3_K_S",
        12 => "Q3_K_M",
        13 => "Q3_K_L",
        14 => "Q4_K_S",
        15 => "Q4_K_M",
        16 => "Q5_K_S",
        17 => "Q5_K_M",
        18 => "Q6_K",
        19 => "IQ2_XXS",
        20 => "IQ2_XS",
        21 => "Q2_K_S",
        22 => "IQ3_XS",
        23 => "IQ3_XXS",
        24 => "IQ1_S",
        25 => "IQ4_NL",
        26 => "IQ3_S",
        27 => "IQ3_M",
        28 => "IQ2_S",
        29 => "IQ2_M",
        30 => "IQ4_XS",
        31 => "IQ1_M",
        32 => "BF16",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::testing::Tiny;

    fn load(edit: impl Fn(&mut Tiny)) -> Model {
        let mut tiny = Tiny::new();
        edit(&mut tiny);
        Model::from_bytes(tiny.bytes(), &ModelOptions::default()).unwrap()
    }

    #[test]
    fn the_quantization_is_stated_or_that_of_most_bytes() {
        let check = |file_type: Option<u32>, expected: &str| {
            let model = load(|tiny| {
                if let Some(file_type) = file_type {
                    tiny.set("general.file_type", file_type);
                }
            });
            assert_eq!(model.quantization(), expected);
        };
        check(None, "F32");
        check(Some(15), "Q4_K_M");
        check(Some(999), "F32");
    }

    #[test]
    fn an_id_is_a_name_and_a_quantization_in_lower_case() {
        let check = |name: &str, quantization: &str, expected: &str| {
            assert_eq!(model_id(name, quantization), expected);
        };
        check("stories260K", "F16", "stories260k-f16");
        check("Qwen2.5 Coder  1.5B", "Q4_K_M", "qwen2.5-coder-1.5b-q4_k_m");
        check("SmolLM2-135M-Instruct.Q4_1", "Q4_1", "smollm2-135m-instruct.q4_1");
        assert_eq!(load(|_| ()).id(), "model-f32");
        assert_eq!(load(|tiny| tiny.set("general.name", "Tiny One")).id(), "tiny-one-f32");
        assert_eq!(load(|tiny| tiny.set("general.name", " ")).id(), "model-f32");
    }
}
