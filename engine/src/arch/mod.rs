//! Forward passes, one file an architecture, read top to bottom, generic over the device.

mod config;
mod llama;
#[cfg(test)]
pub(crate) mod testing;
mod weights;

use crate::device::Device;
use crate::gguf::File;
use crate::memory::{KvCache, KvType};
use crate::{Error, Token};

/// The checked geometry every caller needs; the rest stays inside an architecture's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Positions the model was trained for.
    pub context: usize,
    /// Vocabulary size.
    pub vocab: usize,
}

/// An architecture this build runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// Dense decoder with grouped heads, rotary positions and a gated feed-forward part.
    Llama,
}

impl Architecture {
    const ALL: [Architecture; 1] = [Architecture::Llama];

    /// As `general.architecture` spells it, which is also the prefix of its keys.
    pub fn name(self) -> &'static str {
        match self {
            Architecture::Llama => "llama",
        }
    }

    /// What a file says it holds; an error lists what this build runs.
    pub fn of(file: &File) -> Result<Architecture, Error> {
        const KEY: &str = "general.architecture";
        let names = Architecture::ALL.map(Architecture::name).join(", ");
        let name = file.metadata().string(KEY)?.ok_or_else(|| {
            Error::Model(format!("{KEY}: missing, expected one of those this build runs: {names}"))
        })?;
        Architecture::ALL.into_iter().find(|known| known.name() == name).ok_or_else(|| {
            Error::Model(format!("{KEY}: this build does not run {name:?}, it runs {names}"))
        })
    }

    /// Checks geometry and tensors and places the weights on `device`. `vocab` is the number of
    /// tokens of the file's tokenizer.
    pub fn load<D: Device>(
        self,
        file: &File,
        vocab: usize,
        device: D,
    ) -> Result<Box<dyn Network>, Error> {
        match self {
            Architecture::Llama => Ok(Box::new(llama::Llama::load(file, vocab, device)?)),
        }
    }
}

/// An architecture with its weights on a device.
pub trait Network: Send + Sync {
    /// Its geometry.
    fn shape(&self) -> &Shape;

    /// The device and the kernel set in use.
    fn device(&self) -> (&'static str, &'static str);

    /// Empty state for one timeline of at most `capacity` positions.
    fn state(&self, capacity: usize, kv: KvType) -> Result<Box<dyn State>, Error>;

    /// Evaluates `tokens`, at least one, each inside the vocabulary, at the positions after those
    /// in `state`, whose capacity they fit. With `logits` the last token's logits are written,
    /// `[vocab]`. A token's result does not depend on how a run is cut in calls; a call that fails
    /// leaves the state as it was.
    fn forward(
        &self,
        state: &mut dyn State,
        tokens: &[Token],
        logits: Option<&mut Vec<f32>>,
    ) -> Result<(), Error>;
}

/// What a timeline has left behind in a network: keys and values, later recurrent state.
pub trait State: Send + std::any::Any {
    /// Positions held.
    fn len(&self) -> usize;

    /// Whether no position is held.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets every position from `len` on.
    fn truncate(&mut self, len: usize);
}

impl<D: Device> State for KvCache<D> {
    fn len(&self) -> usize {
        KvCache::len(self)
    }

    fn truncate(&mut self, len: usize) {
        KvCache::truncate(self, len);
    }
}

#[cfg(test)]
mod tests {
    use super::testing::Tiny;
    use super::*;

    fn check(spoil: impl Fn(&mut Tiny), message: &str) {
        let mut tiny = Tiny::new();
        spoil(&mut tiny);
        assert_eq!(Architecture::of(&tiny.file()).unwrap_err().to_string(), message);
    }

    #[test]
    fn an_architecture_this_build_does_not_run_is_named_with_those_it_runs() {
        assert_eq!(Architecture::of(&Tiny::new().file()), Ok(Architecture::Llama));
        check(
            |tiny| tiny.set("general.architecture", "mamba"),
            "general.architecture: this build does not run \"mamba\", it runs llama",
        );
        check(
            |tiny| tiny.unset("general.architecture"),
            "general.architecture: missing, expected one of those this build runs: llama",
        );
        check(
            |tiny| tiny.set("general.architecture", 7_u32),
            "general.architecture: expected a string, got u32 7",
        );
    }
}
