//! A whole run: a server started or found, asked what it is, the protocol replayed against it, and
//! the folder written. The measured part is `replay`; what a report says of it is `rebuild`'s.

use crate::bundle::{Bundle, RESULTS};
use crate::client::clock::{Clock, SystemClock};
use crate::client::http::{BaseUrl, Http, Timeouts};
use crate::config::{Artifact, Config, Declared, End, Options, Runner, SCHEMA_VERSION, Stop};
use crate::corpus::{Corpus, Suite};
use crate::engine_process::{EngineProcess, Launch, StartError, free_port};
use crate::fact::Fact;
use crate::plan::plan;
use crate::probe::{Machine, files, process};
use crate::profile::Profile;
use crate::rebuild::rebuild_from;
use crate::record::Recorder;
use crate::redact::Redactor;
use crate::replay::{Replay, Sending};
use crate::report::RunStatus;
use crate::report::assemble::TEMPLATE_PATH;
use crate::server::SelfDescription;
use crate::transcript::FailureKind;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fmt, fs, thread};

/// What the operator asks for.
pub struct Order {
    /// The protocol and its payloads.
    pub suite: Suite,
    /// The server.
    pub target: Target,
    /// The folder to fill.
    pub out: PathBuf,
    /// The command, redacted.
    pub argv: Vec<String>,
    /// What goes into the report on the operator's word, redacted.
    pub declared: Declared,
    /// The engine's options by group, for a server that this program did not start.
    pub declared_groups: Option<Map<String, Value>>,
    /// Leave the model's files unread.
    pub skip_model_hash: bool,
    /// The key to send.
    pub credential: Option<String>,
    /// Text before the first user message of every body.
    pub nonce: Option<String>,
    /// Limits on each request.
    pub timeouts: Timeouts,
}

/// Where the server comes from.
#[derive(Debug)]
pub enum Target {
    /// It runs.
    Url(BaseUrl),
    /// It is to be started.
    Profile(Box<Profile>),
}

/// What the program is told of the world around it.
pub struct Surroundings {
    /// The clocks.
    pub clock: SystemClock,
    /// Set when the operator wants to stop.
    pub cancel: Arc<AtomicBool>,
    /// This program's own file.
    pub program: PathBuf,
    /// `/`, unless a test has another.
    pub root: PathBuf,
    /// What must not be published.
    pub redactor: Redactor,
    /// Eight hex digits that tell this run from another of the same second.
    pub run_suffix: String,
    /// This program's version and commit.
    pub runner: Runner,
}

/// How a run went that left a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The report.
    pub results: PathBuf,
    /// `/run/status`
    pub status: RunStatus,
    /// Why it is not `complete`.
    pub status_reasons: Vec<String>,
    /// Why it ended early.
    pub stop: Option<Stop>,
    /// A request failed because the server broke the protocol.
    pub breach: bool,
}

/// Why there is no report.
#[derive(Debug)]
pub enum RunError {
    /// The order cannot be carried out as given.
    Usage(String),
    /// The server could not be started or reached.
    Unreachable(String),
    /// Interrupted before the first request.
    Interrupted,
    /// The folder could not be written, or this program erred.
    Internal(String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            RunError::Usage(message)
            | RunError::Unreachable(message)
            | RunError::Internal(message) => f.write_str(message),
            RunError::Interrupted => f.write_str("interrupted before the first request"),
        }
    }
}

impl std::error::Error for RunError {}

/// Carries out `order`; `progress` is told one line per request.
pub fn run(
    order: &Order,
    around: &Surroundings,
    progress: &mut dyn FnMut(&str),
) -> Result<Outcome, RunError> {
    let requests = sendings(order)?;
    let bundle = Bundle::create(&order.out).map_err(RunError::Usage)?;
    let mut server = Server::reach(order, around, &bundle)?;
    let mut config = describe(order, around, &bundle, &server)?;
    write_config(&bundle, &config)?;
    let outputs = bundle.path("outputs.jsonl");
    let recorder = Recorder::create(&outputs);
    let mut recorder = recorder.map_err(|error| unwritable(&outputs, &error))?;
    let cpu_before = process::own_cpu_s();
    let http = server.http.clone();
    let mut replay = Replay {
        transport: &http,
        clock: &around.clock,
        redactor: &around.redactor,
        passed_reasons: &order.suite.protocol.passed_reasons,
        cancel: &around.cancel,
        lost: &mut || server.lost(),
        progress,
    };
    let stop = replay.run(&requests, &mut recorder);
    let stop = stop.map_err(|error| unwritable(&outputs, &error))?;
    config.end = Some(End {
        stop: stop.clone().map(|stop| redact_stop(stop, &around.redactor)),
        runner_cpu_s: crate::report::number::round(process::own_cpu_s() - cpu_before, 3),
        load: if http.is_local() { crate::probe::cpu::load(&around.root) } else { not_local() },
    });
    drop(server); // its last words are in the log before the log is sealed
    conclude(&bundle, config, &around.redactor, stop)
}

/// The bodies in the order of the plan.
fn sendings(order: &Order) -> Result<Vec<Sending<'_>>, RunError> {
    let protocol = &order.suite.protocol;
    let corpus = corpus(&order.suite)?;
    plan(protocol, false)
        .into_iter()
        .map(|planned| {
            let body = corpus.body(&planned.id).ok_or_else(|| {
                let id = &planned.id;
                RunError::Usage(format!("protocol {}: no payload for {id}", protocol.id))
            })?;
            let body = match &order.nonce {
                None => body.to_string(),
                Some(nonce) => crate::nonce::prefix(body, nonce)
                    .map_err(|error| RunError::Usage(format!("{}: {error}", planned.id)))?,
            };
            Ok((planned, body))
        })
        .collect()
}

fn corpus(suite: &Suite) -> Result<&Corpus, RunError> {
    suite.corpus.as_ref().ok_or_else(|| {
        let why = suite.protocol.not_replayable.as_deref().unwrap_or("it has no payloads");
        RunError::Usage(format!("protocol {}: {why}", suite.protocol.id))
    })
}

/// A server that answers.
struct Server {
    http: Http,
    engine: Option<EngineProcess>,
    log: PathBuf,
    description: SelfDescription,
}

impl Server {
    fn reach(order: &Order, around: &Surroundings, bundle: &Bundle) -> Result<Server, RunError> {
        let log = bundle.path("provenance/engine.log");
        let client = |url| {
            let (clock, cancel) = (around.clock, Arc::clone(&around.cancel));
            Http::new(url, order.credential.clone(), order.timeouts, clock, cancel)
        };
        let unreachable = |error: &dyn fmt::Display| RunError::Unreachable(error.to_string());
        let (http, engine) = match &order.target {
            Target::Url(url) => {
                let http = client(url.clone());
                let (status, _) = http.get("/health").map_err(|error| unreachable(&error))?;
                if status == 503 {
                    return Err(unreachable(&format!("{url} is not ready (HTTP 503 of /health)")));
                }
                (http, None)
            }
            Target::Profile(profile) => {
                let (mut engine, url) = start(profile, around, &log)?;
                let http = client(url);
                wait_ready(&http, profile, &mut engine, &log)?;
                (http, Some(engine))
            }
        };
        let description = SelfDescription::ask(&http).map_err(|error| unreachable(&error))?;
        Ok(Server { http, engine, log, description })
    }

    /// Why the server is gone, if it is.
    fn lost(&mut self) -> Option<String> {
        if let Some(engine) = &mut self.engine
            && let Err(ended) = engine.check_alive(&self.log)
        {
            return Some(ended);
        }
        self.http.get("/health").err().map(|fault| fault.message)
    }
}

fn start(
    profile: &Profile,
    around: &Surroundings,
    log: &Path,
) -> Result<(EngineProcess, BaseUrl), RunError> {
    let port = match profile.ready_line {
        Some(_) => 0,
        None => free_port().map_err(RunError::Internal)?,
    };
    let beside = around.program.parent().unwrap_or(Path::new("."));
    let launch = Launch {
        supervisor: &around.program,
        program: profile.program(beside),
        arguments: profile.arguments(port),
        ready_line: profile.ready_line.as_deref(),
        port,
        timeout: profile.ready_timeout(),
        log,
    };
    let interrupted = || around.cancel.load(Ordering::Relaxed);
    EngineProcess::start(&launch, &interrupted).map_err(|error| match error {
        StartError::Interrupted => RunError::Interrupted,
        StartError::Failed(message) => {
            RunError::Unreachable(format!("profile {}: {message}", profile.name))
        }
    })
}

fn wait_ready(
    http: &Http,
    profile: &Profile,
    engine: &mut EngineProcess,
    log: &Path,
) -> Result<(), RunError> {
    const POLL: Duration = Duration::from_millis(50);
    let deadline = Instant::now() + profile.ready_timeout();
    let (name, path) = (&profile.name, &profile.ready_path);
    loop {
        let answer = match http.get(path) {
            Ok((200, _)) => return Ok(()),
            Ok((status, _)) => format!("HTTP {status}"),
            Err(fault) if fault.kind == crate::client::transport::FaultKind::Interrupted => {
                return Err(RunError::Interrupted);
            }
            Err(fault) => fault.message,
        };
        engine
            .check_alive(log)
            .map_err(|ended| RunError::Unreachable(format!("profile {name}: {ended}")))?;
        if Instant::now() > deadline {
            return Err(RunError::Unreachable(format!(
                "profile {name}: {path} did not answer 200 within {:?} (ready_timeout_s): {answer}",
                profile.ready_timeout()
            )));
        }
        thread::sleep(POLL);
    }
}

fn describe(
    order: &Order,
    around: &Surroundings,
    bundle: &Bundle,
    server: &Server,
) -> Result<Config, RunError> {
    let (local, description) = (server.http.is_local(), &server.description);
    let (provenance, status_missing) = write_provenance(order, bundle, description)?;
    let model_paths = if local { model_paths(order, description) } else { Vec::new() };
    let machine = match local {
        true => Machine::probe(
            &around.root,
            model_paths.first().map(PathBuf::as_path),
            description.uses_gpu(),
        ),
        false => Machine::unknown(NOT_LOCAL),
    };
    let started_at = around.clock.wall().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let stamp: String = started_at.chars().filter(|c| !matches!(c, '-' | ':')).collect();
    Ok(Config {
        schema_version: SCHEMA_VERSION,
        protocol: order.suite.protocol.clone(),
        protocol_known: Suite::with_protocol_id(&order.suite.protocol.id)
            .is_some_and(|known| known.protocol == order.suite.protocol),
        lengths: lengths(corpus(&order.suite)?, description),
        run: crate::config::Run {
            id: format!("{stamp}-{}", around.run_suffix),
            started_at,
            argv: order.argv.clone(),
            started_engine: server.engine.is_some(),
            api_key_sent: order.credential.is_some(),
            nonce: order.nonce.clone(),
        },
        declared: order.declared.clone(),
        server: publishable(description, &around.redactor)?,
        options: options(order),
        engine_threads: match &server.engine {
            Some(engine) => process::threads(&around.root, engine.id()),
            None => Fact::Unknown("the runner did not start the engine's process".to_string()),
        },
        machine,
        model_files: if order.skip_model_hash {
            Fact::Unknown(files::SKIPPED.to_string())
        } else {
            files::hash(&files::with_shards(model_paths))
        },
        runner: around.runner.clone(),
        provenance,
        status_missing,
        end: None,
    })
}

/// The model's files on this host: those the server names and those the profile does.
fn model_paths(order: &Order, description: &SelfDescription) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    if let Target::Profile(profile) = &order.target {
        paths.push(profile.model_path());
        paths.extend(profile.side_files());
    }
    paths.extend(description.model_files());
    let mut found = Vec::new();
    for path in paths.iter().filter_map(|path| fs::canonicalize(path).ok()) {
        if path.is_file() && !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

fn options(order: &Order) -> Fact<Options> {
    match (&order.target, &order.declared_groups) {
        (Target::Profile(profile), _) => {
            let grouped = profile.grouped();
            Fact::Known(Options { groups: grouped.groups, other: Fact::Known(grouped.other) })
        }
        (Target::Url(_), Some(groups)) => Fact::Known(Options {
            groups: groups.clone(),
            other: Fact::Unknown("only the groups of --config are declared".to_string()),
        }),
        (Target::Url(_), None) => Fact::Unknown(
            "engine options are not exposed by a running server; start it from a profile or pass \
             --config"
                .to_string(),
        ),
    }
}

fn lengths(corpus: &Corpus, description: &SelfDescription) -> Fact<crate::corpus::Lengths> {
    let tokenizer = description.text("/tokenizer/sha256");
    let template = description.text("/template/sha256");
    let (tokenizer, template) = match (tokenizer, template) {
        (Fact::Known(tokenizer), Fact::Known(template)) => (tokenizer, template),
        (Fact::Unknown(reason), _) | (_, Fact::Unknown(reason)) => {
            return Fact::Unknown(format!("the tokenizer is not known: {reason}"));
        }
    };
    Fact::of(
        corpus.lengths(&tokenizer, &template).cloned(),
        format!("no lengths are recorded for tokenizer {tokenizer} with template {template}"),
    )
}

/// Writes the files a report lists, and says what the server left out of them.
fn write_provenance(
    order: &Order,
    bundle: &Bundle,
    description: &SelfDescription,
) -> Result<(Vec<Artifact>, Map<String, Value>), RunError> {
    let corpus = corpus(&order.suite)?;
    let template = description.field("/template/text", |text| text.as_str().map(str::to_string));
    let mut status_missing = Map::new();
    if let Fact::Unknown(reason) = &template {
        status_missing.insert("template".to_string(), Value::from(reason.as_str()));
    }
    let template = template.known().cloned().unwrap_or_default();
    let mut artifacts = Vec::new();
    for (path, text) in [
        (TEMPLATE_PATH, template.as_str()),
        ("provenance/corpus-manifest.sha256", corpus.manifest()),
        ("provenance/corpus-build.json", corpus.build_record()),
    ] {
        let sha256 = bundle.write(path, text.as_bytes()).map_err(RunError::Internal)?;
        artifacts.push(Artifact { kind: "provenance".to_string(), path: path.to_string(), sha256 });
    }
    Ok((artifacts, status_missing))
}

/// The description without what is private, and without the template, which has its own file.
fn publishable(
    description: &SelfDescription,
    redactor: &Redactor,
) -> Result<SelfDescription, RunError> {
    let internal = |error: serde_json::Error| RunError::Internal(error.to_string());
    let mut description = description.clone();
    if let Fact::Known(status) = &mut description.status
        && let Some(template) = status.get_mut("template").and_then(Value::as_object_mut)
    {
        template.remove("text");
    }
    let text = serde_json::to_string(&description).map_err(internal)?;
    serde_json::from_str(&redactor.apply(&text)).map_err(internal)
}

fn conclude(
    bundle: &Bundle,
    mut config: Config,
    redactor: &Redactor,
    stop: Option<Stop>,
) -> Result<Outcome, RunError> {
    let log = bundle.path("provenance/engine.log");
    if let Ok(text) = fs::read(&log) {
        let clean = redactor.apply(&String::from_utf8_lossy(&text));
        let path = "provenance/engine.log".to_string();
        let sha256 = bundle.write(&path, clean.as_bytes()).map_err(RunError::Internal)?;
        config.provenance.push(Artifact { kind: "provenance".to_string(), path, sha256 });
    }
    let config = write_config(bundle, &config)?;
    let outputs = bundle.path("outputs.jsonl");
    let outputs = fs::read(&outputs).map_err(|error| unwritable(&outputs, &error))?;
    let report = rebuild_from(&outputs, &config)
        .map_err(|error| RunError::Internal(format!("the report: {error}")))?;
    bundle.write(RESULTS, &report.json).map_err(RunError::Internal)?;
    bundle.seal().map_err(RunError::Internal)?;
    let breach = report.failures.iter().any(|(_, kind)| *kind == FailureKind::Breach);
    Ok(Outcome {
        results: bundle.path(RESULTS),
        status: report.status,
        status_reasons: report.status_reasons,
        stop,
        breach,
    })
}

fn write_config(bundle: &Bundle, config: &Config) -> Result<Vec<u8>, RunError> {
    let mut json = serde_json::to_vec_pretty(config)
        .map_err(|error| RunError::Internal(format!("config.json: {error}")))?;
    json.push(b'\n');
    bundle.write("config.json", &json).map_err(RunError::Internal)?;
    Ok(json)
}

fn redact_stop(stop: Stop, redactor: &Redactor) -> Stop {
    match stop {
        Stop::Interrupted => Stop::Interrupted,
        Stop::ServerLost(why) => Stop::ServerLost(redactor.apply(&why)),
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> RunError {
    RunError::Internal(format!("{}: {error}", path.display()))
}

fn not_local<T>() -> Fact<T> {
    Fact::Unknown(NOT_LOCAL.to_string())
}

const NOT_LOCAL: &str = "the server does not run on this host";
