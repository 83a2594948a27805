//! GGUF files, versions 2 and 3, little-endian: bytes in, borrowed and checked views out.
//! Knows what a tensor's format weighs ([`crate::quant`]) and nothing of models.

mod mapped;
mod metadata;
mod reader;
mod shards;
mod tensor;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod value;

pub use mapped::Bytes;
pub use metadata::Metadata;
pub(crate) use reader::quoted;
pub(crate) use shards::model_stem;
pub use tensor::{TensorInfo, TensorKind};
pub use value::{Array, Kind, Strings, Value};

use crate::Error;
use crate::quant::Format;
use reader::{ParseError, Reader};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A parsed file, or the files of a split model as one: everything before the tensor data is owned
/// and checked against the bytes that are there; tensor data is borrowed.
#[derive(Debug, Clone)]
pub struct File {
    parts: Vec<Part>,
    version: u32,
    alignment: u32,
    metadata: Metadata,
    tensors: Vec<TensorInfo>,
    /// Positions in `tensors`.
    by_name: HashMap<String, usize>,
}

impl File {
    /// Maps and parses a file. If it is named as one of a split model, `NAME-00001-of-00004.gguf`,
    /// all of them, which must lie in its folder. Errors name the path. The files must not be
    /// truncated while the result lives: see [`Bytes`].
    pub fn open(path: &Path) -> Result<File, Error> {
        if let Some(set) = shards::Set::of(path) {
            return set.open();
        }
        let file = File::open_part(path)?;
        shards::refuse_part(&file.metadata).map_err(|error| error.in_file(path))?;
        Ok(file)
    }

    /// Parses bytes already at hand. They must be a whole model.
    pub fn parse(bytes: Bytes) -> Result<File, Error> {
        let file = File::read(Part { path: None, bytes })?;
        shards::refuse_part(&file.metadata)?;
        Ok(file)
    }

    fn open_part(path: &Path) -> Result<File, Error> {
        let part = Part { path: Some(path.to_owned()), bytes: Bytes::map(path)? };
        File::read(part).map_err(|error| error.in_file(path))
    }

    fn read(part: Part) -> Result<File, Error> {
        let mut reader = Reader::new(&part.bytes);
        let version = read_version(&mut reader)?;
        let tensor_count = reader.count("number of tensors", TensorInfo::MIN_RECORD_BYTES)?;
        let pair_count = reader.count("number of keys", Metadata::MIN_PAIR_BYTES)?;
        let metadata = Metadata::read(&mut reader, pair_count)?;
        let alignment = alignment(&metadata)?;
        let (tensors, by_name) = read_tensors(&mut reader, tensor_count, alignment)?;
        Ok(File { parts: vec![part], version, alignment, metadata, tensors, by_name })
    }

    /// The files it was read from, in order; one unless the model is split.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// 2 or 3; the first file's.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// `general.alignment`, 32 unless given; the first file's.
    pub fn alignment(&self) -> u64 {
        self.alignment.into()
    }

    /// The key-value pairs of the first file, in its order.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The tensor records in file order.
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.tensors
    }

    /// The record of a tensor by name.
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.by_name.get(name).map(|index| &self.tensors[*index])
    }

    /// A tensor's bytes, shared with the file. Panics if the record is that of a larger file.
    pub fn data(&self, tensor: &TensorInfo) -> Bytes {
        let part = &self.parts[tensor.part];
        part.bytes.slice(tensor.offset as usize, tensor.byte_len as usize)
    }

    /// Bytes of all its files.
    pub fn byte_len(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes.len() as u64).sum()
    }

    /// An error that names the tensors stored in formats this build does not read, if any are.
    /// A file with such tensors parses, so that it can be inspected.
    pub fn refuse_unknown_formats(&self) -> Result<(), Error> {
        let unknown = |tensor: &&TensorInfo| matches!(tensor.kind, TensorKind::Unknown(_));
        let offenders: Vec<&TensorInfo> = self.tensors.iter().filter(unknown).collect();
        if offenders.is_empty() {
            return Ok(());
        }
        let listed = offenders.iter().take(MAX_NAMED_TENSORS);
        let mut list: Vec<String> =
            listed.map(|tensor| format!("{} ({})", quoted(&tensor.name), tensor.kind)).collect();
        if offenders.len() > list.len() {
            list.push(format!("{} more", offenders.len() - list.len()));
        }
        Err(Error::Model(format!(
            "{} of {} tensors are stored in formats this build does not read: {}; it reads {}",
            offenders.len(),
            self.tensors.len(),
            list.join(", "),
            Format::ALL.map(|format| format.layout().name).join(", ")
        )))
    }
}

/// One file of those that make up a model.
#[derive(Debug, Clone)]
pub struct Part {
    /// `None` for bytes that were already in memory.
    pub path: Option<PathBuf>,
    /// All of them, header included.
    pub bytes: Bytes,
}

fn read_version(reader: &mut Reader) -> Result<u32, ParseError> {
    const BIG_ENDIAN: &str = "the file is big-endian, this build reads little-endian files";
    let magic = reader.array("magic")?;
    match &magic {
        b"GGUF" => (),
        b"FUGG" => return Err(reader.error("magic", BIG_ENDIAN.to_owned())),
        _ => {
            let got = magic.escape_ascii();
            let problem = format!("not a GGUF file: expected it to begin with `GGUF`, got `{got}`");
            return Err(reader.error("magic", problem));
        }
    }
    match reader.u32("version")? {
        version @ 2..=3 => Ok(version),
        version if (1..=3).contains(&version.swap_bytes()) => {
            Err(reader.error("version", BIG_ENDIAN.to_owned()))
        }
        version => Err(reader.error(
            "version",
            format!("{version}, this build reads 2 and 3: convert the model with current tools"),
        )),
    }
}

fn alignment(metadata: &Metadata) -> Result<u32, Error> {
    const KEY: &str = "general.alignment";
    match metadata.get(KEY) {
        None => Ok(DEFAULT_ALIGNMENT),
        Some(Value::U32(alignment)) if alignment.is_power_of_two() => Ok(*alignment),
        Some(other) => Err(Error::Model(format!(
            "{KEY}: expected a u32 that is a power of two, got {} {other}",
            other.kind()
        ))),
    }
}

/// The records, placed: aligned, inside the file, no two over the same bytes. Nothing that was
/// written by ggml overlaps, so an overlap is damage.
fn read_tensors(
    reader: &mut Reader,
    count: usize,
    alignment: u32,
) -> Result<(Vec<TensorInfo>, HashMap<String, usize>), Error> {
    let mut tensors = Vec::new();
    let mut by_name = HashMap::new();
    for index in 0..count {
        let tensor = TensorInfo::read(reader, index)?;
        if let Some(first) = by_name.insert(tensor.name.clone(), index) {
            let name = quoted(&tensor.name);
            return Err(Error::Model(format!(
                "tensor {name}: given twice, as records {first} and {index}"
            )));
        }
        tensors.push(tensor);
    }
    let data = reader.aligned(alignment);
    let mut ranges = Vec::with_capacity(tensors.len());
    for (index, tensor) in tensors.iter_mut().enumerate() {
        ranges.push((tensor.place(reader, data, alignment)?, index));
    }
    ranges.sort_by_key(|(range, _)| (range.start, range.end));
    let overlap = ranges.windows(2).find(|pair| pair[0].0.end > pair[1].0.start);
    if let Some([(first, a), (second, b)]) = overlap {
        let names = [a, b].map(|index| quoted(&tensors[*index].name));
        return Err(Error::Model(format!(
            "tensor {}: its bytes {first:?} overlap {second:?} of {}: the file is damaged",
            names[0], names[1]
        )));
    }
    Ok((tensors, by_name))
}

/// Where tensors lie unless the file says otherwise, from the GGUF specification.
const DEFAULT_ALIGNMENT: u32 = 32;
/// Tensors in one message: more than any model has layers, less than a hostile file can list.
pub(crate) const MAX_NAMED_TENSORS: usize = 1000;
