//! `strata tokenize`: the tokens of a text or of a chat request, from a model file's metadata.

use super::args::Tokenize;
use super::{Failure, print};
use serde_json::json;
use std::fmt::Display;
use std::io::Read;
use std::path::Path;
use strata_engine::gguf::File;
use strata_engine::server::openai::ChatCompletion;
use strata_engine::server::prompt;
use strata_engine::text::{ChatTemplate, Special, Tokenizer};

pub(super) fn run(args: Tokenize) -> Result<(), Failure> {
    let file = File::open(&args.model)?;
    let tokenizer = Tokenizer::from_metadata(file.metadata())?;
    let template = ChatTemplate::from_metadata(file.metadata())?;
    let ids = match (&args.text, &args.file, &args.chat) {
        (Some(text), None, None) => tokenizer.encode_prompt(text, Special::Text),
        (None, Some(path), None) => tokenizer.encode_prompt(&read(path)?, Special::Text),
        (None, None, Some(path)) => {
            let chat = |error: &dyn std::fmt::Display| {
                Failure::Input(format!("{}: {error}", path.display()))
            };
            let request = ChatCompletion::parse(read(path)?.as_bytes(), 0)
                .map_err(|error| chat(&error.message))?;
            prompt(&template, &tokenizer, request.conversation)
                .map_err(|error| chat(&error.message))?
        }
        _ => {
            let message =
                "give exactly one of --text, --file and --chat: see strata tokenize --help";
            return Err(Failure::Input(message.into()));
        }
    };
    if args.output {
        let (kind, pre) = tokenizer.kind();
        let json = json!({
            "tokenizer": { "sha256": tokenizer.digest(), "kind": kind, "pre": pre },
            "template": { "sha256": template.digest() },
            "count": ids.len(),
            "ids": ids,
        });
        return print(&json.to_string());
    }
    let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
    print(&ids.join(","))
}

/// Most bytes of a text or a request that are read.
const MAX_BYTES: u64 = 64 << 20;

fn read(path: &Path) -> Result<String, Failure> {
    let wrong = |problem: &dyn Display| Failure::Input(format!("{}: {problem}", path.display()));
    let file = std::fs::File::open(path).map_err(|error| wrong(&error))?;
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(|error| wrong(&error))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(wrong(&format!("longer than the {MAX_BYTES} bytes that are read: cut it")));
    }
    Ok(text)
}
