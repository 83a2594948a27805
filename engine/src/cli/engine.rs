//! From the engine's options to a loaded model, and the facts about it that every command prints
//! before it works.

use super::args::{DEVICES, EngineOptions, KERNELS, KV, name_of};
use super::{Failure, say};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use strata_engine::server::{Engine, Facts, OptionGroups};
use strata_engine::{Model, ModelOptions, SessionOptions};

/// A model ready to run, and everything that was resolved on the way.
pub(super) struct Loaded {
    pub(super) model: Arc<Model>,
    pub(super) session: SessionOptions,
    pub(super) facts: Facts,
}

/// Loads a model and says what was resolved, one line a fact.
pub(super) fn load(path: &Path, options: &EngineOptions) -> Result<Loaded, Failure> {
    // Only asked when nothing was said: a machine that cannot tell has at least one.
    let offered = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = options.threads.unwrap_or_else(offered);
    let model = Model::open(path, &ModelOptions { threads, kernels: options.kernels })?;
    let context = options.ctx.unwrap_or_else(|| model.trained_context());
    let session =
        SessionOptions { context: Some(context), kv: options.kv, ..SessionOptions::default() };
    let kv = name_of(&KV, &options.kv);
    let other = [
        ("--ctx", context.to_string()),
        ("--threads", threads.to_string()),
        ("--kernels", name_of(&KERNELS, &options.kernels).into()),
        ("--device", name_of(&DEVICES, &options.device).into()),
    ];
    let group = |flag: &str, value: String| (flag.to_owned(), value);
    let facts = Facts {
        model_path: path.canonicalize().unwrap_or_else(|_| PathBuf::from(path)),
        threads,
        options: OptionGroups {
            kv_cache: [group("--kv", kv.into())].into(),
            other: other.map(|(flag, value)| group(flag, value)).into(),
            ..OptionGroups::default()
        },
    };
    say_plan(&model, &facts, context, kv);
    Ok(Loaded { model: Arc::new(model), session, facts })
}

fn say_plan(model: &Model, facts: &Facts, context: usize, kv: &str) {
    let tokenizer = model.tokenizer();
    let (kind, pre) = tokenizer.kind();
    let (device, kernels) = model.device();
    let template = match model.template().source() {
        Some(_) => "the file's own",
        None => "none in the file: messages are joined by newlines",
    };
    say(&format!("engine     {}", Engine::current()));
    say(&format!(
        "model      {}: {}, {:.1} MB",
        facts.model_path.display(),
        model.quantization(),
        model.file().byte_len() as f64 / 1e6,
    ));
    say(&format!("tokenizer  {kind} {pre}, {} tokens", tokenizer.len()));
    say(&format!("template   {template}"));
    say(&format!("context    {context} tokens, keys and values {kv}"));
    say(&format!("device     {device}, kernels {kernels}, threads {}", facts.threads));
}
