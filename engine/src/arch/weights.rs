//! The way from a file's tensors to weights on a device. Everything that does not fit is named in
//! one message. Knows no architecture.

use crate::Error;
use crate::device::Device;
use crate::gguf::{File, TensorInfo, TensorKind};
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

    /// A matrix, [rows, columns]; `None` if something is wrong with it.
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
        self.problems.extend(left.map(|tensor| format!("{}: no part of {arch}", tensor.name)));
        if self.problems.is_empty() {
            return Ok(());
        }
        let (count, list) = (self.problems.len(), self.problems.join("; "));
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
