//! A loaded model: weights on a device, tokenizer and chat template. Immutable and shareable.
//! Knows nothing of conversations or of how its text is delivered.

use crate::device::KernelChoice;
use crate::gguf::{Bytes, File};
use crate::text::{ChatTemplate, Tokenizer};
use crate::{Error, arch};
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
    network: Box<dyn arch::Network>,
    tokenizer: Tokenizer,
    template: ChatTemplate,
    file: File,
}

impl Model {
    /// Opens, checks and loads a file.
    pub fn open(path: &Path, options: &ModelOptions) -> Result<Model, Error> {
        Model::load(File::open(path)?, options)
    }

    /// Loads from bytes already in memory.
    pub fn from_bytes(bytes: Vec<u8>, options: &ModelOptions) -> Result<Model, Error> {
        Model::load(File::parse(Bytes::from(bytes))?, options)
    }

    /// Loads a parsed file.
    pub fn load(_file: File, _options: &ModelOptions) -> Result<Model, Error> {
        unimplemented!()
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
        unimplemented!()
    }

    pub(crate) fn network(&self) -> &dyn arch::Network {
        &*self.network
    }
}
