//! The way from a file's tensors to weights on a device. Everything that does not fit is named in
//! one message. Knows no architecture.

use crate::Error;
use crate::device::Device;
use crate::gguf::{File, MAX_NAMED_TENSORS, TensorInfo, TensorKind, quoted};
use crate::quant::Format;
use std::collections::HashSet;

/// Takes tensors out of a file one by one and remembers what was wrong.
pub(super) struct Weights<'a, D: Device> {
    file: &'a File,
    device: &'a D,
    taken: HashSet<String>,
    problems: Vec<String>,
}

impl<'a, D: Device> Weights<'a, D> {
    pub(super) fn new(file: &'a File, device: &'a D) -> Weights<'a, D> {
        Weights { file, device, taken: HashSet::new(), problems: Vec::new() }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.file.tensor(name).is_some()
    }

    /// A matrix, `[rows, columns]`; `None` if something is wrong with it.
    pub(super) fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Option<D::Matrix> {
        let (tensor, format) = self.take(name, &[columns as u64, rows as u64])?;
        let matrix = self.device.matrix(format, rows, columns, self.file.data(tensor));
        self.note(name, matrix)
    }

    /// A vector on the device; `None` if something is wrong with it.
    pub(super) fn vector(&mut self, name: &str, len: usize) -> Option<D::Vector> {
        let values = self.floats(name, len)?;
        let vector = self.device.vector(values);
        self.note(name, vector)
    }

    /// A vector on the host; `None` if something is wrong with it.
    pub(super) fn floats(&mut self, name: &str, len: usize) -> Option<Vec<f32>> {
        let (tensor, format) = self.take(name, &[len as u64])?;
        let mut values = vec![0.0; len];
        format.decode(&self.file.data(tensor), &mut values);
        Some(values)
    }

    /// An error that names every tensor that was wrong, and every one that nothing asked for: to
    /// leave it out would change the result.
    pub(super) fn finish(mut self, arch: &str) -> Result<(), Error> {
        let left = self.file.tensors().iter().filter(|tensor| !self.taken.contains(&tensor.name));
        self.problems
            .extend(left.map(|tensor| format!("{}: no part of {arch}", quoted(&tensor.name))));
        if self.problems.is_empty() {
            return Ok(());
        }
        let count = self.problems.len();
        if count > MAX_NAMED_TENSORS {
            self.problems.truncate(MAX_NAMED_TENSORS);
            self.problems.push(format!("and {} more", count - MAX_NAMED_TENSORS));
        }
        let list = self.problems.join("; ");
        Err(Error::Model(format!("{count} tensors do not fit the architecture {arch}: {list}")))
    }

    fn take(&mut self, name: &str, dims: &[u64]) -> Option<(&'a TensorInfo, Format)> {
        self.taken.insert(name.to_owned());
        let problem = match self.file.tensor(name) {
            None => format!("{name}: missing, expected {dims:?}"),
            Some(TensorInfo { dims: found, .. }) if found != dims => {
                format!("{name}: expected {dims:?}, found {found:?}")
            }
            Some(tensor) => match tensor.kind {
                TensorKind::Known(format) => return Some((tensor, format)),
                TensorKind::Unknown(_) => {
                    let known = Format::ALL.map(|format| format.layout().name).join(", ");
                    format!("{name}: expected one of {known}, found {}", tensor.kind)
                }
            },
        };
        self.problems.push(problem);
        None
    }

    fn note<T>(&mut self, name: &str, result: Result<T, Error>) -> Option<T> {
        result.map_err(|error| self.problems.push(format!("{name}: {error}"))).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Architecture;
    use super::super::testing::{Tiny, VOCAB};
    use crate::device::KernelChoice;
    use crate::device::cpu::Cpu;

    fn error(spoil: impl Fn(&mut Tiny)) -> String {
        let mut tiny = Tiny::new();
        spoil(&mut tiny);
        let device = Cpu::new(1, KernelChoice::Reference).unwrap();
        let result = Architecture::Llama.load(&tiny.file(), VOCAB, device);
        result.err().unwrap().to_string()
    }

    #[test]
    fn every_tensor_that_does_not_fit_is_named_at_once() {
        let message = error(|tiny| {
            tiny.tensors.retain(|tensor| tensor.name != "blk.1.attn_v.weight");
            tiny.floats("blk.0.attn_q.weight", &[32, 31]);
            tiny.floats("blk.0.attn_q.bias", &[32]);
            tiny.tensor("token_embd.weight").ggml_id = 19;
            tiny.floats("output_norm.weight", &[32, 2]);
        });
        let lines = message.replace("; ", "\n").replace(": ", ":\n  ");
        insta::assert_snapshot!(lines, @"
        5 tensors do not fit the architecture llama:
          token_embd.weight:
          expected one of F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q4_K, Q6_K, found ggml type 19
        blk.0.attn_q.weight:
          expected [32, 32], found [32, 31]
        blk.1.attn_v.weight:
          missing, expected [32, 16]
        output_norm.weight:
          expected [32], found [32, 2]
        `blk.0.attn_q.bias`:
          no part of llama
        ");
    }

    #[test]
    fn a_message_names_a_thousand_tensors_at_most() {
        let message = error(|tiny| {
            for index in 0..1200 {
                tiny.floats(&format!("extra.{index}"), &[1]);
            }
        });
        assert!(message.starts_with("1200 tensors do not fit the architecture llama: `extra.0`"));
        assert!(message.ends_with("`extra.999`: no part of llama; and 200 more"));
    }
}
