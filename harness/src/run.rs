//! A whole run: a server started or found, asked what it is, the protocol replayed against it, and
//! the folder written. The measured part is `replay`; what a report says of it is `rebuild`'s.

pub mod bundle;
mod describe;
pub mod engine_process;
pub mod nonce;
pub mod profile;
mod reach;
pub mod replay;
pub mod server;

use crate::client::base_url::BaseUrl;
use crate::client::clock::SystemClock;
use crate::client::watched::Timeouts;
use crate::config::{Artifact, Config, Declared, End, Runner, Stop};
use crate::corpus::{Corpus, Suite};
use crate::fact::Fact;
use crate::plan::plan;
use crate::probe::{cpu, process};
use crate::record::Recorder;
use crate::redact::Redactor;
use crate::report::RunStatus;
use crate::report::number::round;
use crate::report::rebuild::rebuild_from;
use crate::report::transcript::FailureKind;
use crate::run::bundle::{Bundle, RESULTS};
use crate::run::profile::Profile;
use crate::run::replay::{Replay, Sending};
use describe::{NOT_LOCAL, describe};
use reach::Server;
use serde_json::{Map, Value};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const OUTPUTS: &str = "outputs.jsonl";
const ENGINE_LOG: &str = "provenance/engine.log";

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
    let mut bundle = Bundle::create(&order.out).map_err(RunError::Usage)?;
    let prepared = Prepared::new(order, around, &mut bundle);
    let Prepared { mut server, mut config, mut recorder } = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            bundle.abandon();
            return Err(error);
        }
    };
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
    let stop = stop.map_err(|error| unwritable(&bundle.path(OUTPUTS), &error))?;
    if stop == Some(Stop::Interrupted) && recorder.is_empty() {
        bundle.abandon();
        return Err(RunError::Interrupted);
    }
    config.end = Some(End {
        stop: stop.clone().map(|stop| redact_stop(stop, &around.redactor)),
        runner_cpu_s: round(process::own_cpu_s() - cpu_before, 3),
        load: if http.is_local() {
            cpu::load(&around.root)
        } else {
            Fact::Unknown(NOT_LOCAL.to_string())
        },
    });
    drop(server); // its last words are in the log before the log is sealed
    conclude(&mut bundle, config, &around.redactor, stop)
}

/// All that stands before the first request is sent.
struct Prepared {
    server: Server,
    config: Config,
    recorder: Recorder,
}

impl Prepared {
    fn new(
        order: &Order,
        around: &Surroundings,
        bundle: &mut Bundle,
    ) -> Result<Prepared, RunError> {
        let server = Server::reach(order, around, bundle.claim(ENGINE_LOG))?;
        let config = describe(order, around, bundle, &server)?;
        write_config(bundle, &config)?;
        let outputs = bundle.claim(OUTPUTS);
        let recorder = Recorder::create(&outputs).map_err(|error| unwritable(&outputs, &error))?;
        Ok(Prepared { server, config, recorder })
    }
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
                Some(nonce) => crate::run::nonce::prefix(body, nonce)
                    .map_err(|error| RunError::Usage(format!("{}: {error}", planned.id)))?,
            };
            Ok((planned, body))
        })
        .collect()
}

fn corpus(suite: &Suite) -> Result<&Corpus, RunError> {
    suite.corpus.as_ref().ok_or_else(|| {
        let why = suite.protocol.not_replayable.as_deref().unwrap_or("it has no payloads");
        RunError::Usage(format!("protocol {} cannot be replayed: {why}", suite.protocol.id))
    })
}

fn conclude(
    bundle: &mut Bundle,
    mut config: Config,
    redactor: &Redactor,
    stop: Option<Stop>,
) -> Result<Outcome, RunError> {
    if let Ok(text) = fs::read(bundle.path(ENGINE_LOG)) {
        let clean = redactor.apply(&String::from_utf8_lossy(&text));
        let path = ENGINE_LOG.to_string();
        let sha256 = bundle.write(&path, clean.as_bytes()).map_err(RunError::Internal)?;
        config.provenance.push(Artifact { kind: "provenance".to_string(), path, sha256 });
    }
    let config = write_config(bundle, &config)?;
    let outputs = bundle.path(OUTPUTS);
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

fn write_config(bundle: &mut Bundle, config: &Config) -> Result<Vec<u8>, RunError> {
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
