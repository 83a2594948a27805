//! `strata inspect`: what is in a GGUF file and whether it runs here. It also
//! shows files this build cannot run.

use super::args::Inspect;
use super::{Failure, shown_plainly, write};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use strata_engine::arch::Architecture;
use strata_engine::gguf::{File, TensorInfo, Value};
use strata_engine::text::{ChatTemplate, Tokenizer};
use strata_engine::{Model, ModelOptions};

pub(super) fn run(args: Inspect) -> Result<(), Failure> {
    let file = File::open(&args.file)?;
    let report = Report::new(&args.file, &file);
    if args.output {
        let json = serde_json::to_string_pretty(&report).expect("plain data serialises");
        return write(&format!("{json}\n"));
    }
    write(&report.text())
}

/// Everything shown, in the order shown.
#[derive(Serialize)]
struct Report<'a> {
    path: String,
    bytes: u64,
    /// The files of a split model in order, or the one.
    parts: Vec<Part>,
    version: u32,
    alignment: u64,
    architecture: Option<String>,
    /// Where all of it would run; null if it does not run here.
    device: Option<&'static str>,
    kernels: Option<&'static str>,
    /// Why it does not run here; empty if it does.
    obstacles: Vec<String>,
    /// Numbers under the architecture's own prefix.
    geometry: BTreeMap<String, Json>,
    formats: Vec<FormatShare>,
    metadata: Map<String, Json>,
    tensors: Vec<Tensor<'a>>,
}

#[derive(Serialize)]
struct Part {
    path: Option<String>,
    bytes: usize,
}

#[derive(Serialize)]
struct FormatShare {
    format: String,
    tensors: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct Tensor<'a> {
    name: &'a str,
    format: String,
    dims: &'a [u64],
    /// From 1 on, as files are named.
    part: usize,
    /// In that part.
    offset: u64,
    /// Null for a format this build does not know.
    bytes: Option<u64>,
}

impl<'a> Report<'a> {
    fn new(path: &Path, file: &'a File) -> Report<'a> {
        let metadata = file.metadata();
        let architecture =
            metadata.string("general.architecture").ok().flatten().map(str::to_owned);
        let prefix = architecture.as_ref().map(|name| format!("{name}."));
        let geometry = metadata.iter().filter_map(|(key, value)| {
            let name = key.strip_prefix(prefix.as_deref()?)?;
            Some((name.to_owned(), shown(value)))
        });
        let place = place(file);
        let known = |tensor: &TensorInfo| tensor.byte_len > 0;
        Report {
            path: path.display().to_string(),
            bytes: file.byte_len(),
            parts: parts(file),
            version: file.version(),
            alignment: file.alignment(),
            device: place.as_ref().ok().map(|(device, _)| *device),
            kernels: place.as_ref().ok().map(|(_, kernels)| *kernels),
            obstacles: place.err().unwrap_or_default(),
            geometry: geometry.collect(),
            formats: formats(file),
            metadata: metadata.iter().map(|(key, value)| (key.to_owned(), shown(value))).collect(),
            tensors: file
                .tensors()
                .iter()
                .map(|tensor| Tensor {
                    name: &tensor.name,
                    format: tensor.kind.to_string(),
                    dims: &tensor.dims,
                    part: tensor.part + 1,
                    offset: tensor.offset,
                    bytes: known(tensor).then_some(tensor.byte_len),
                })
                .collect(),
            architecture,
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |line: std::fmt::Arguments| {
            text.extend(shown_plainly(&line.to_string()));
            text.push('\n');
        };
        let architecture = self.architecture.as_deref().unwrap_or("not given");
        line(format_args!("file          {}", self.path));
        line(format_args!("size          {} bytes", self.bytes));
        let split = self.parts.len() > 1;
        for (Part { path, bytes }, number) in self.parts.iter().zip(1..).filter(|_| split) {
            let path = path.as_deref().unwrap_or("in memory");
            line(format_args!("part {number:<8} {path}, {bytes} bytes"));
        }
        line(format_args!("GGUF          version {}, alignment {}", self.version, self.alignment));
        line(format_args!("architecture  {architecture}"));
        if let (Some(device), Some(kernels)) = (self.device, self.kernels) {
            line(format_args!("runs here     yes, all of it on {device}, kernels {kernels}"));
        }
        for obstacle in &self.obstacles {
            line(format_args!("runs here     no: {obstacle}"));
        }
        line(format_args!(""));
        line(format_args!("formats"));
        for FormatShare { format, tensors, bytes } in &self.formats {
            line(format_args!("  {format:<12} {tensors:>6} tensors {bytes:>14} bytes"));
        }
        line(format_args!(""));
        line(format_args!("metadata"));
        for (key, value) in &self.metadata {
            line(format_args!("  {key} = {value}"));
        }
        line(format_args!(""));
        line(format_args!("tensors"));
        for Tensor { name, format, dims, part, offset, bytes } in &self.tensors {
            let bytes = bytes.map_or("unknown".into(), |bytes| bytes.to_string());
            let part = if split { format!(" of part {part}") } else { String::new() };
            line(format_args!(
                "  {name:<32} {format:<12} {dims:?} {bytes} bytes at {offset}{part}"
            ));
        }
        text
    }
}

/// The device and kernel set that would run the file, or everything that keeps it from running.
fn place(file: &File) -> Result<(&'static str, &'static str), Vec<String>> {
    let checks = [
        Architecture::of(file).map(drop),
        file.refuse_unknown_formats(),
        Tokenizer::from_metadata(file.metadata()).map(drop),
        ChatTemplate::from_metadata(file.metadata()).map(drop),
    ];
    let found = checks.into_iter().filter_map(|check| check.err().map(|error| error.to_string()));
    let obstacles: Vec<String> = found.collect();
    if !obstacles.is_empty() {
        return Err(obstacles);
    }
    // Loading maps weights and reads none, and it checks geometry and tensors.
    let model = Model::load(file.clone(), &ModelOptions::default());
    model.map(|model| model.device()).map_err(|error| vec![error.to_string()])
}

fn parts(file: &File) -> Vec<Part> {
    let shown = |path: &PathBuf| path.display().to_string();
    let parts = file.parts().iter();
    parts
        .map(|part| Part { path: part.path.as_ref().map(shown), bytes: part.bytes.len() })
        .collect()
}

fn formats(file: &File) -> Vec<FormatShare> {
    let mut shares: BTreeMap<String, FormatShare> = BTreeMap::new();
    for tensor in file.tensors() {
        let format = tensor.kind.to_string();
        let share =
            shares.entry(format.clone()).or_insert(FormatShare { format, tensors: 0, bytes: 0 });
        share.tensors += 1;
        share.bytes += tensor.byte_len;
    }
    let mut shares: Vec<FormatShare> = shares.into_values().collect();
    shares.sort_by_key(|share| std::cmp::Reverse(share.bytes));
    shares
}

/// A scalar as it is; of an array, type and length.
fn shown(value: &Value) -> Json {
    match value {
        Value::U8(number) => json!(number),
        Value::I8(number) => json!(number),
        Value::U16(number) => json!(number),
        Value::I16(number) => json!(number),
        Value::U32(number) => json!(number),
        Value::I32(number) => json!(number),
        Value::U64(number) => json!(number),
        Value::I64(number) => json!(number),
        // The shortest decimal that reads back as this f32.
        Value::F32(number) => json!(number.to_string().parse::<f64>().ok()),
        Value::F64(number) => json!(number),
        Value::Bool(boolean) => json!(boolean),
        Value::String(text) => json!(text),
        Value::Array(_) => json!(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shard `no` of two; each has one tensor, a number.
    fn shard(no: u32) -> Vec<u8> {
        let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
        let mut bytes =
            [&b"GGUF\x03\0\0\0"[..], &[1_u64, 4].map(u64::to_le_bytes).concat()].concat();
        bytes.extend([text("general.architecture"), vec![8, 0, 0, 0], text("rwkv")].concat());
        for (key, value) in [("split.no", no), ("split.count", 2), ("split.tensors.count", 2)] {
            bytes.extend(text(key));
            bytes.extend([4, value].map(u32::to_le_bytes).concat());
        }
        bytes.extend(text(&format!("t{no}")));
        // One dimension of 1, F32, at the start of the data.
        bytes.extend([1, 1, 0, 0, 0, 0].map(u32::to_le_bytes).concat());
        bytes.resize(bytes.len().next_multiple_of(32) + 4, 0);
        bytes
    }

    #[test]
    fn a_split_model_is_shown_with_its_parts() {
        let folder = std::env::temp_dir().join(format!("strata-inspect-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let paths =
            ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"].map(|name| folder.join(name));
        paths.iter().zip(0..).for_each(|(path, no)| std::fs::write(path, shard(no)).unwrap());
        let file = File::open(&paths[1]);
        std::fs::remove_dir_all(&folder).unwrap();

        let text = Report::new(&paths[1], &file.unwrap()).text();
        let shown = text.replace(&folder.display().to_string(), "FOLDER");
        let lines: Vec<&str> =
            shown.lines().filter(|line| !line.starts_with("runs here")).collect();
        insta::assert_snapshot!(lines.join("\n"), @r#"
        file          FOLDER/m-00002-of-00002.gguf
        size          392 bytes
        part 1        FOLDER/m-00001-of-00002.gguf, 196 bytes
        part 2        FOLDER/m-00002-of-00002.gguf, 196 bytes
        GGUF          version 3, alignment 32
        architecture  rwkv

        formats
          F32               2 tensors              8 bytes

        metadata
          general.architecture = "rwkv"
          split.no = 0
          split.count = 2
          split.tensors.count = 2

        tensors
          t0                               F32          [1] 4 bytes at 192 of part 1
          t1                               F32          [1] 4 bytes at 192 of part 2
        "#);
    }
}
