//! Tokenizers for tests: the bundled model's, and the small vocabulary of golden/tokens.

use super::Tokenizer;
use crate::Error;
use crate::gguf::testing::Builder;
use crate::gguf::{Bytes, File};
use std::path::Path;
use std::sync::LazyLock;

/// What other tools say.
pub(in crate::text) const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../golden/tokens");

/// The tokenizer of a file with these keys.
pub(in crate::text) fn tokenizer(builder: &Builder) -> Result<Tokenizer, Error> {
    let file = File::parse(Bytes::from(builder.build())).expect("the builder writes valid files");
    Tokenizer::from_metadata(file.metadata())
}

/// The tokenizer of a model file.
pub(in crate::text) fn from_file(path: &Path) -> Tokenizer {
    let file = File::open(path).expect("a GGUF file");
    Tokenizer::from_metadata(file.metadata()).expect("a known tokenizer")
}

/// The vocabulary `small` of golden/tokens: every byte, the merges, six special tokens.
pub(in crate::text) fn small(pre: &str) -> Builder {
    let merges = std::fs::read_to_string(format!("{GOLDEN}/merges.txt")).expect("a golden file");
    let merges: Vec<&str> = merges.lines().collect();
    let alphabet = ('!'..='~').chain('¡'..='¬').chain('®'..='ÿ').chain('Ā'..='Ń');
    let mut tokens: Vec<String> = alphabet.map(String::from).collect();
    tokens.extend(merges.iter().map(|merge| merge.replace(' ', "")));
    let mut types = vec![1; tokens.len()];
    for (text, kind) in [
        ("<|endoftext|>", 3),
        ("<|im_start|>", 3),
        ("<|im_end|>", 3),
        ("<|im|>", 3),
        ("<think>", 4),
        ("</think>", 4),
    ] {
        tokens.push(text.to_owned());
        types.push(kind);
    }
    let bos = tokens.len() as u32 - 6;
    Builder::new()
        .key("tokenizer.ggml.model", "gpt2")
        .key("tokenizer.ggml.pre", pre)
        .key("tokenizer.ggml.tokens", tokens)
        .key("tokenizer.ggml.token_type", types)
        .key("tokenizer.ggml.merges", &merges[..])
        .key("tokenizer.ggml.bos_token_id", bos)
        .key("tokenizer.ggml.eos_token_id", bos)
}

/// The bundled model's: SentencePiece.
pub(in crate::text) static STORIES: LazyLock<Tokenizer> = LazyLock::new(|| {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    from_file(&manifest.join("models/stories260K/stories260K.f16.gguf"))
});

/// The small vocabulary, split as Qwen2 does; BOS and EOS are `<|endoftext|>`.
pub(in crate::text) static SMALL: LazyLock<Tokenizer> =
    LazyLock::new(|| tokenizer(&small("qwen2")).expect("a valid vocabulary"));
