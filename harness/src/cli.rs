//! The command line: flags, and the orders they amount to. It reads no environment and prints
//! nothing; what it cannot use it refuses in words.

mod check;
mod compare;
mod explain;
mod fmt;
mod html;
mod publish;
mod schema;
mod self_test;
mod show;

use argh::{FromArgValue, FromArgs};
use self_test::SelfTestCommand;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::time::Duration;
use strata_harness::client::base_url::BaseUrl;
use strata_harness::client::watched::Timeouts;
use strata_harness::config::Declared;
use strata_harness::corpus::Suite;
use strata_harness::plain_file;
use strata_harness::redact::Redactor;
use strata_harness::run::profile::{Profile, group_names};
use strata_harness::run::{Order, Target};

pub(crate) use check::CheckCommand;
pub(crate) use compare::CompareCommand;
pub(crate) use explain::ExplainCommand;
pub(crate) use fmt::FmtCommand;
pub(crate) use html::HtmlCommand;
pub(crate) use publish::PublishCommand;
pub(crate) use schema::SchemaCommand;
pub(crate) use show::ShowCommand;

/// Longest limit on a request: a day.
const MAX_TIMEOUT_S: f64 = 86_400.0;
/// Longest file of `--config`, in bytes.
const MAX_OPTIONS_BYTES: u64 = 1 << 20;

/// Replays a benchmark protocol against an OpenAI-compatible server and reviews reports.
#[derive(FromArgs, Debug)]
#[argh(
    help_triggers("-h", "--help"),
    error_code(1, "internal error"),
    error_code(2, "usage or unusable input"),
    error_code(3, "the run finished but does not conform"),
    error_code(4, "check found errors"),
    error_code(5, "a comparison regressed, or a ratio was refused"),
    error_code(6, "the server could not be reached or broke the protocol"),
    error_code(130, "interrupted; a partial, valid report is written")
)]
pub(crate) struct Cli {
    #[argh(subcommand)]
    pub(crate) command: Command,
}

#[derive(FromArgs, Debug)]
#[argh(subcommand)]
pub(crate) enum Command {
    Plan(PlanCommand),
    Run(Box<RunCommand>),
    Check(CheckCommand),
    Rebuild(RebuildCommand),
    SelfTest(SelfTestCommand),
    Explain(ExplainCommand),
    Show(ShowCommand),
    Compare(CompareCommand),
    Html(HtmlCommand),
    Publish(PublishCommand),
    Fmt(FmtCommand),
    Schema(SchemaCommand),
}

/// A text that says something.
fn some_text(argument: &str) -> Result<String, String> {
    if argument.trim().is_empty() {
        return Err("it is empty; give a text or leave the option out".to_string());
    }
    Ok(argument.to_string())
}

fn some_path(argument: &str) -> Result<PathBuf, String> {
    if argument.is_empty() {
        Err("it is empty; give a path".to_string())
    } else {
        Ok(argument.into())
    }
}

/// Print the requests of a protocol, with the digest of each body. Touches no network.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "plan", help_triggers("-h", "--help"))]
pub(crate) struct PlanCommand {
    /// a suite this program carries, by name
    #[argh(option, from_str_fn(some_text), arg_name = "name")]
    suite: Option<String>,
    /// a protocol file, its corpus beside it
    #[argh(option, from_str_fn(some_path), arg_name = "file")]
    protocol: Option<PathBuf>,
    /// text or json
    #[argh(option, default = "Output::Text", arg_name = "form")]
    pub(crate) output: Output,
}

/// Make results.json of a run's folder again from its outputs.jsonl and config.json.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "rebuild", help_triggers("-h", "--help"))]
pub(crate) struct RebuildCommand {
    /// the folder
    #[argh(positional, from_str_fn(some_path), arg_name = "dir")]
    pub(crate) folder: PathBuf,
}

/// Replay a protocol against a server and write a report.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "run", help_triggers("-h", "--help"))]
pub(crate) struct RunCommand {
    /// a suite this program carries, by name
    #[argh(option, from_str_fn(some_text), arg_name = "name")]
    suite: Option<String>,
    /// a protocol file, its corpus beside it
    #[argh(option, from_str_fn(some_path), arg_name = "file")]
    protocol: Option<PathBuf>,
    /// a server that runs: http://HOST:PORT
    #[argh(option, from_str_fn(some_text), arg_name = "url")]
    url: Option<String>,
    /// a profile to start an engine from
    #[argh(option, from_str_fn(some_path), arg_name = "file")]
    profile: Option<PathBuf>,
    /// the folder to fill; must not exist or be empty
    #[argh(option, from_str_fn(some_path), arg_name = "dir")]
    out: Option<PathBuf>,
    /// the folder of a run that ended early, in place of --out: what it finished is kept
    #[argh(option, from_str_fn(some_path), arg_name = "dir")]
    resume: Option<PathBuf>,
    /// the environment variable that holds the server's key
    #[argh(option, from_str_fn(some_text), arg_name = "name")]
    pub(crate) credential_env: Option<String>,
    /// text before the first user message of every body, against foreign caches; the report no
    /// longer conforms
    #[argh(option, from_str_fn(some_text), arg_name = "text")]
    nonce: Option<String>,
    /// run the optional stages too: rounds of concurrent requests
    #[argh(switch)]
    optional: bool,
    /// before the first request, send warm-ups until the decode rate is steady
    #[argh(switch)]
    until_steady: bool,
    /// leave the model's files unread; the report no longer conforms
    #[argh(switch)]
    skip_model_hash: bool,
    /// declared: the track the run is for
    #[argh(option, from_str_fn(some_text), arg_name = "name")]
    track: Option<String>,
    /// declared: what is special about this run
    #[argh(option, from_str_fn(some_text), arg_name = "text")]
    track_notes: Option<String>,
    /// declared: the model's quantization, if the server does not state it
    #[argh(option, from_str_fn(some_text), arg_name = "name")]
    quantization: Option<String>,
    /// declared: where a custom pack or expert profile is from
    #[argh(option, from_str_fn(some_text), arg_name = "text")]
    custom_pack: Option<String>,
    /// declared: a program that runs beside the server; once for each, or `none`
    #[argh(option, from_str_fn(some_text), arg_name = "text")]
    background: Vec<String>,
    /// declared: options the engine was built with
    #[argh(option, from_str_fn(some_text), arg_name = "text")]
    build_options: Option<String>,
    /// declared: immutable revision of the quantized model
    #[argh(option, from_str_fn(some_text), arg_name = "id")]
    model_revision: Option<String>,
    /// declared: immutable revision of the model it was made from
    #[argh(option, from_str_fn(some_text), arg_name = "id")]
    source_revision: Option<String>,
    /// declared: immutable revision of the tokenizer
    #[argh(option, from_str_fn(some_text), arg_name = "id")]
    tokenizer_revision: Option<String>,
    /// declared, with --url: a JSON file with the engine's options by group
    #[argh(option, from_str_fn(some_path), arg_name = "file")]
    config: Option<PathBuf>,
    /// seconds until the connection stands (10)
    #[argh(option, default = "10.0", arg_name = "s")]
    timeout_connect: f64,
    /// seconds from dispatch to the first byte of a reply (600)
    #[argh(option, default = "600.0", arg_name = "s")]
    timeout_first_byte: f64,
    /// seconds of silence within a reply (120)
    #[argh(option, default = "120.0", arg_name = "s")]
    timeout_idle: f64,
    /// seconds from dispatch to the end of a reply (3600)
    #[argh(option, default = "3600.0", arg_name = "s")]
    timeout_total: f64,
    /// what stdout gets in the end: text or json
    #[argh(option, default = "Output::Text", arg_name = "form")]
    pub(crate) output: Output,
}

/// A form of output.
#[derive(FromArgValue, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    Text,
    Json,
}

impl PlanCommand {
    pub(crate) fn suite(&self) -> Result<Suite, String> {
        suite(self.suite.as_deref(), self.protocol.as_deref())
    }
}

impl RunCommand {
    /// What is asked for. `argv` is the whole command as typed; `credential` the key, if named.
    pub(crate) fn order(
        &self,
        argv: &[String],
        credential: Option<String>,
        redactor: &Redactor,
    ) -> Result<Order, String> {
        let target = match (&self.url, &self.profile) {
            (Some(url), None) => Target::Url(BaseUrl::parse(url)?),
            (None, Some(profile)) => Target::Profile(Box::new(Profile::open(profile)?)),
            _ => return Err("give one of --url and --profile".to_string()),
        };
        let out = match (&self.out, &self.resume) {
            (Some(folder), None) | (None, Some(folder)) => folder.clone(),
            _ => return Err("give one of --out and --resume".to_string()),
        };
        if self.config.is_some() && self.profile.is_some() {
            return Err("--config declares what a profile already states; leave it out".to_string());
        }
        Ok(Order {
            suite: suite(self.suite.as_deref(), self.protocol.as_deref())?,
            target,
            out,
            resume: self.resume.is_some(),
            argv: argv.iter().map(|argument| redactor.apply(argument)).collect(),
            declared: self.declared(redactor)?,
            declared_groups: self.config.as_deref().map(declared_groups).transpose()?,
            skip_model_hash: self.skip_model_hash,
            credential,
            nonce: self.nonce.clone(),
            optional: self.optional,
            until_steady: self.until_steady,
            timeouts: Timeouts {
                connect: seconds("connect", self.timeout_connect)?,
                first_byte: seconds("first-byte", self.timeout_first_byte)?,
                idle: seconds("idle", self.timeout_idle)?,
                total: seconds("total", self.timeout_total)?,
            },
        })
    }

    fn declared(&self, redactor: &Redactor) -> Result<Declared, String> {
        let clean = |text: &Option<String>| text.as_deref().map(|text| redactor.apply(text));
        let background = match &self.background[..] {
            [] => None,
            [none] if none == "none" => Some(Vec::new()),
            all if all.iter().any(|program| program == "none") => {
                return Err(
                    "--background none: and others beside it; give one or the other".to_string()
                );
            }
            all => Some(all.iter().map(|program| redactor.apply(program)).collect()),
        };
        Ok(Declared {
            track: clean(&self.track),
            track_notes: clean(&self.track_notes),
            quantization: clean(&self.quantization),
            custom_pack: clean(&self.custom_pack),
            background,
            build_options: clean(&self.build_options),
            model_revision: clean(&self.model_revision),
            source_revision: clean(&self.source_revision),
            tokenizer_revision: clean(&self.tokenizer_revision),
        })
    }
}

fn suite(name: Option<&str>, file: Option<&Path>) -> Result<Suite, String> {
    let suite = match (name, file) {
        (Some(name), None) => Suite::named(name),
        (None, Some(file)) => Suite::open(file),
        _ => {
            let names = Suite::names().join(", ");
            return Err(format!("give one of --suite ({names}) and --protocol"));
        }
    };
    suite.map_err(|error| error.to_string())
}

fn seconds(name: &str, seconds: f64) -> Result<Duration, String> {
    if seconds > 0.0 && seconds <= MAX_TIMEOUT_S {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(format!("--timeout-{name} {seconds}: give seconds above 0, at most {MAX_TIMEOUT_S}"))
}

/// The file of `--config`: every group of a report, each an object of option to text.
fn declared_groups(path: &Path) -> Result<Map<String, Value>, String> {
    let place = format!("--config {}", path.display());
    let text = plain_file::read_text(path, MAX_OPTIONS_BYTES)
        .map_err(|problem| format!("{place}: {problem}"))?;
    let groups: Map<String, Value> =
        serde_json::from_str(&text).map_err(|error| format!("{place}: no object: {error}"))?;
    let names = group_names();
    if !groups.keys().eq(&names) {
        let wanted = names.join(", ");
        return Err(format!(
            "{place}: give exactly these groups in this order, {{}} for one without options: \
             {wanted}"
        ));
    }
    for (group, options) in &groups {
        let texts = options.as_object().is_some_and(|all| all.values().all(Value::is_string));
        if !texts {
            return Err(format!("{place}: `{group}` is {options}; give option names with texts"));
        }
    }
    Ok(groups)
}
