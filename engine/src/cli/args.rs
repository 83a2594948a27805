//! The command line as data: one struct a subcommand, whose doc comments are its help. The
//! engine's options are spelled once, for every command that runs a model.

use super::Failure;
use argh::{EarlyExit, FromArgs, SubCommands};
use std::path::PathBuf;
use strata_engine::device::KernelChoice;
use strata_engine::memory::KvType;

/// Parses arguments; `--help` prints and ends well.
pub(super) fn parse(arguments: &[&str]) -> Result<Strata, Failure> {
    Strata::from_args(&["strata"], arguments).map_err(|EarlyExit { output, status }| match status {
        Ok(()) => super::print(output.trim_end()).err().unwrap_or(Failure::Done),
        Err(()) => {
            let problem = output.trim_end_matches(['.', '\n']).replace("\n    ", " ");
            let known = |name: &&&str| Command::COMMANDS.iter().any(|known| known.name == **name);
            let command = arguments.first().filter(known).map(|name| format!(" {name}"));
            Failure::Input(format!("{problem}: see strata{} --help", command.unwrap_or_default()))
        }
    })
}

/// Runs GGUF language models: serves them over the OpenAI API, or works with one on the command
/// line. `strata bench …` runs the strata-bench beside this program.
#[derive(FromArgs)]
#[argh(help_triggers("-h", "--help", "help"))]
pub(super) struct Strata {
    /// print version and commit
    #[argh(switch)]
    pub(super) version: bool,

    #[argh(subcommand)]
    pub(super) command: Option<Command>,
}

#[derive(FromArgs)]
#[argh(subcommand)]
pub(super) enum Command {
    Serve(Serve),
    Generate(Generate),
    Inspect(Inspect),
    Tokenize(Tokenize),
    Logits(Logits),
}

/// What a model runs with.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EngineOptions {
    pub(super) ctx: Option<usize>,
    pub(super) threads: Option<usize>,
    pub(super) kernels: KernelChoice,
    pub(super) kv: KvType,
    pub(super) device: Device,
}

/// Where a model runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Device {
    Cpu,
}

/// Adds the engine's options to a subcommand's own; argh cannot share a struct between commands.
macro_rules! with_engine_options {
    ($(#[$attribute:meta])* struct $name:ident { $($own:tt)* }) => {
        $(#[$attribute])*
        pub(super) struct $name {
            $($own)*

            /// positions of the context (default: what the model was trained for)
            #[argh(option, arg_name = "n", from_str_fn(positive))]
            ctx: Option<usize>,

            /// threads that compute (default: what the machine offers)
            #[argh(option, arg_name = "n", from_str_fn(positive))]
            threads: Option<usize>,

            /// auto, reference, avx2 or avx512 (default: auto)
            #[argh(option, arg_name = "set", default = "KernelChoice::Auto", from_str_fn(kernels))]
            kernels: KernelChoice,

            /// how keys and values are stored: f16 or f32 (default: f16)
            #[argh(option, arg_name = "type", default = "KvType::F16", from_str_fn(kv))]
            kv: KvType,

            /// where the model runs: cpu (default: cpu)
            #[argh(option, arg_name = "name", default = "Device::Cpu", from_str_fn(device))]
            device: Device,
        }

        impl $name {
            pub(super) fn engine(&self) -> EngineOptions {
                EngineOptions {
                    ctx: self.ctx,
                    threads: self.threads,
                    kernels: self.kernels,
                    kv: self.kv,
                    device: self.device,
                }
            }
        }
    };
}

with_engine_options! {
    /// Serve a model over the OpenAI API.
    #[derive(FromArgs)]
    #[argh(subcommand, name = "serve", help_triggers("-h", "--help", "help"))]
    struct Serve {
        /// the model, a GGUF file; left out where --profile names it
        #[argh(option, arg_name = "file")]
        pub(super) model: PathBuf,

        /// a JSON file that names the model and options; options given beside it win
        #[argh(option, arg_name = "file")]
        #[allow(dead_code)] // expanded before the arguments are parsed
        profile: Option<PathBuf>,

        /// address to listen on (default: 127.0.0.1)
        #[argh(option, arg_name = "address", default = "String::from(\"127.0.0.1\")")]
        pub(super) host: String,

        /// port to listen on, 0 for any free one (default: 8080)
        #[argh(option, arg_name = "n", default = "8080")]
        pub(super) port: u16,

        /// environment variable that holds the API key (default: no key)
        #[argh(option, arg_name = "name")]
        pub(super) api_key_env: Option<String>,
    }
}

with_engine_options! {
    /// Continue a text: the answer on standard output as it comes, everything else on standard
    /// error. No chat template is applied.
    #[derive(FromArgs)]
    #[argh(subcommand, name = "generate", help_triggers("-h", "--help", "help"))]
    struct Generate {
        /// the model, a GGUF file
        #[argh(option, arg_name = "file")]
        pub(super) model: PathBuf,

        /// the text to continue
        #[argh(option, arg_name = "text")]
        pub(super) prompt: String,

        /// most tokens to produce (default: the rest of the context)
        #[argh(option, arg_name = "n", from_str_fn(positive))]
        pub(super) max_tokens: Option<usize>,

        /// temperature; 0 is greedy (default: 0)
        #[argh(option, arg_name = "f", default = "0.0")]
        pub(super) temp: f32,

        /// smallest set of tokens whose probability reaches this (default: 1)
        #[argh(option, arg_name = "f", default = "1.0")]
        pub(super) top_p: f32,

        /// candidates kept by rank; 0 keeps all (default: 0)
        #[argh(option, arg_name = "n", default = "0")]
        pub(super) top_k: usize,

        /// the same seed gives the same text (default: 0)
        #[argh(option, arg_name = "n", default = "0")]
        pub(super) seed: u64,
    }
}

with_engine_options! {
    /// Write the logits after each token of a sequence: little-endian f32, [tokens, vocab].
    #[derive(FromArgs)]
    #[argh(subcommand, name = "logits", help_triggers("-h", "--help", "help"))]
    struct Logits {
        /// the model, a GGUF file
        #[argh(option, arg_name = "file")]
        pub(super) model: PathBuf,

        /// token ids, as in 1,2,3
        #[argh(option, arg_name = "ids", from_str_fn(token_ids))]
        pub(super) tokens: TokenIds,

        /// the file to write
        #[argh(option, arg_name = "file")]
        pub(super) out: PathBuf,
    }
}

/// Show what is in a GGUF file and what would run where; also for files that cannot run here.
#[derive(FromArgs)]
#[argh(subcommand, name = "inspect", help_triggers("-h", "--help", "help"))]
pub(super) struct Inspect {
    /// the GGUF file
    #[argh(positional)]
    pub(super) file: PathBuf,

    /// text or json (default: text)
    #[argh(option, arg_name = "form", default = "false", from_str_fn(text_or_json))]
    pub(super) output: bool,
}

/// Show the tokens of a prompt, as the model would read it.
#[derive(FromArgs)]
#[argh(subcommand, name = "tokenize", help_triggers("-h", "--help", "help"))]
pub(super) struct Tokenize {
    /// the model, a GGUF file; its weights are not read
    #[argh(option, arg_name = "file")]
    pub(super) model: PathBuf,

    /// the text itself
    #[argh(option, arg_name = "text")]
    pub(super) text: Option<String>,

    /// a file that holds the text
    #[argh(option, arg_name = "file")]
    pub(super) file: Option<PathBuf>,

    /// a file that holds an OpenAI chat request, rendered by the model's template
    #[argh(option, arg_name = "file")]
    pub(super) chat: Option<PathBuf>,

    /// ids or json (default: ids)
    #[argh(option, arg_name = "form", default = "false", from_str_fn(ids_or_json))]
    pub(super) output: bool,
}

/// Token ids of a list.
pub(super) struct TokenIds(pub(super) Vec<strata_engine::Token>);

pub(super) const KERNELS: [(&str, KernelChoice); 4] = [
    ("auto", KernelChoice::Auto),
    ("reference", KernelChoice::Reference),
    ("avx2", KernelChoice::Avx2),
    ("avx512", KernelChoice::Avx512),
];

pub(super) const KV: [(&str, KvType); 2] = [("f16", KvType::F16), ("f32", KvType::F32)];

pub(super) const DEVICES: [(&str, Device); 1] = [("cpu", Device::Cpu)];

/// The spelling of a value.
pub(super) fn name_of<T: PartialEq>(choices: &[(&'static str, T)], value: &T) -> &'static str {
    let found = choices.iter().find(|(_, choice)| choice == value);
    found.expect("every value has a spelling").0
}

fn one_of<T: Copy>(choices: &[(&str, T)], text: &str) -> Result<T, String> {
    choices.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        format!("not in this build; allowed: {}", names.join(", "))
    })
}

fn kernels(text: &str) -> Result<KernelChoice, String> {
    one_of(&KERNELS, text)
}

fn kv(text: &str) -> Result<KvType, String> {
    one_of(&KV, text)
}

fn device(text: &str) -> Result<Device, String> {
    one_of(&DEVICES, text)
}

fn text_or_json(text: &str) -> Result<bool, String> {
    one_of(&[("text", false), ("json", true)], text)
}

fn ids_or_json(text: &str) -> Result<bool, String> {
    one_of(&[("ids", false), ("json", true)], text)
}

fn positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| "expected a whole number from 1".into())
}

fn token_ids(text: &str) -> Result<TokenIds, String> {
    let ids: Option<Vec<_>> = text.split(',').map(|id| id.trim().parse().ok()).collect();
    ids.map(TokenIds).ok_or_else(|| "expected token ids, as in 1,2,3".into())
}
