//! A whole run: a server started or found, asked what it is, the protocol replayed against it, and
//! the folder written. The measured part is `replay`; what a report says of it is `rebuild`'s.

pub mod bundle;
mod describe;
pub mod engine_process;
pub mod nonce;
mod observe;
pub mod profile;
mod reach;
pub mod replay;
mod resume;
pub mod server;
mod steady;

use crate::client::base_url::BaseUrl;
use crate::client::clock::SystemClock;
use crate::client::watched::Timeouts;
use crate::config::{Artifact, Config, Declared, End, Runner, Stop, WarmUp};
use crate::corpus::{Corpus, Suite};
use crate::fact::Fact;
use crate::plan::{Planned, plan};
use crate::probe::memory::Observation;
use crate::probe::{cpu, gpu, process};
use crate::protocol::PhaseName;
use crate::record::Recorder;
use crate::redact::Redactor;
use crate::report::number::round;
use crate::report::rebuild::rebuild_from;
use crate::report::transcript::FailureKind;
use crate::report::{RESULTS, RunStatus};
use crate::run::bundle::Bundle;
use crate::run::engine_process::EngineProcess;
use crate::run::profile::Profile;
use crate::run::replay::{Replay, Sending};
use crate::self_test::SelfTest;
use describe::{NOT_LOCAL, describe};
use reach::Server;
use resume::Earlier;
use serde_json::{Map, Value};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use steady::until_steady;

const OUTPUTS: &str = "outputs.jsonl";

/// What the operator asks for.
pub struct Order {
    /// The protocol and its payloads.
    pub suite: Suite,
    /// The server.
    pub target: Target,
    /// The folder to fill, or that of the run to go on with.
    pub out: PathBuf,
    /// Go on with a run that ended early.
    pub resume: bool,
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
    /// Send the requests of optional stages too.
    pub optional: bool,
    /// Send more warm-ups before the first request, until the decode rate is steady.
    pub until_steady: bool,
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
    let planned: Vec<Planned> = requests.iter().map(|(planned, _)| planned.clone()).collect();
    let earlier = order.resume.then(|| Earlier::read(order, &planned)).transpose()?;
    let mut bundle = match earlier {
        None => Bundle::create(&order.out).map_err(RunError::Usage)?,
        Some(_) => Bundle::open(&order.out),
    };
    let prepared = match &earlier {
        None => Prepared::new(order, around, &mut bundle),
        Some(earlier) => Prepared::again(order, around, &mut bundle, earlier, &planned),
    };
    let Prepared { mut server, mut config, mut recorder } = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            bundle.abandon();
            return Err(error);
        }
    };
    if order.until_steady {
        config.warm_up = Fact::Known(warm_up(order, around, &server, &requests));
    }
    let cpu_before = cpu_before(earlier.as_ref()).map(|before| before - process::own_cpu_s());
    let (kept, clock) = match &earlier {
        None => (0, around.clock),
        Some(earlier) => (earlier.kept.requests, SystemClock::reading(earlier.kept.end_ns)),
    };
    let uses_gpu = server.description.uses_gpu();
    let http = server.http.with_clock(clock);
    let mut replay = Replay {
        transport: &http,
        clock: &clock,
        redactor: &around.redactor,
        passed_reasons: &order.suite.protocol.passed_reasons,
        cancel: &around.cancel,
        lost: &mut || server.lost(),
        progress,
    };
    let (stop, samples) =
        observe::during(&around.root, uses_gpu, || replay.run(&requests, kept, &mut recorder));
    let stop = stop.map_err(|error| unwritable(&bundle.path(OUTPUTS), &error))?;
    if stop == Some(Stop::Interrupted) && recorder.is_empty() && earlier.is_none() {
        bundle.abandon();
        return Err(RunError::Interrupted);
    }
    let engine = server.engine.as_ref().map(EngineProcess::id);
    let (local, others) = (http.is_local(), gpu::other_processes(&around.root, uses_gpu, engine));
    config.end = Some(End {
        stop: stop.clone().map(|stop| redact_stop(stop, &around.redactor)),
        runner_cpu_s: cpu_before.map(|before| round(process::own_cpu_s() + before, 3)),
        load: match local {
            true => cpu::load(&around.root),
            false => Fact::Unknown(NOT_LOCAL.to_string()),
        },
        memory: match local {
            true => Fact::Known(Observation::of(&samples, others)),
            false => Fact::Unknown(NOT_LOCAL.to_string()),
        },
    });
    drop(server); // its last words are in the log before the log is sealed
    conclude(&mut bundle, config, &around.redactor, stop)
}

/// By the clock of this program, not that of the run, which has not begun.
fn warm_up(order: &Order, around: &Surroundings, server: &Server, requests: &[Sending]) -> WarmUp {
    let is_warm_up = |(planned, _): &&Sending| planned.phase == PhaseName::Warmup;
    let Some((planned, body)) = requests.iter().find(is_warm_up) else {
        let problem = Some("the protocol has no warm-up".to_string());
        return WarmUp { decode_tps: Vec::new(), steady: false, problem };
    };
    let replay = Replay {
        transport: &server.http,
        clock: &around.clock,
        redactor: &around.redactor,
        passed_reasons: &order.suite.protocol.passed_reasons,
        cancel: &around.cancel,
        lost: &mut || None,
        progress: &mut |_| {},
    };
    let interrupted = || around.cancel.load(Ordering::Relaxed);
    until_steady(body, |body| replay.aside(planned, body), interrupted)
}

/// Processor time of the earlier parts of the run.
fn cpu_before(earlier: Option<&Earlier>) -> Fact<f64> {
    match earlier.map(|earlier| &earlier.config.end) {
        None => Fact::Known(0.0),
        Some(Some(end)) => end.runner_cpu_s.clone(),
        Some(None) => Fact::Unknown("an earlier part of the run was killed".to_string()),
    }
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
        let server = Server::reach(order, around, bundle.claim(&engine_log(0)))?;
        let (config, files) = describe(order, around, &server)?;
        for (path, text) in files {
            bundle.write(path, text.as_bytes()).map_err(RunError::Internal)?;
        }
        write_config(bundle, &config)?;
        let outputs = bundle.claim(OUTPUTS);
        let recorder = Recorder::create(&outputs).map_err(|error| unwritable(&outputs, &error))?;
        Ok(Prepared { server, config, recorder })
    }

    /// The same for a run that is gone on with: what was written of it stays.
    fn again(
        order: &Order,
        around: &Surroundings,
        bundle: &mut Bundle,
        earlier: &Earlier,
        planned: &[Planned],
    ) -> Result<Prepared, RunError> {
        let mut config = earlier.config.clone();
        let log = engine_log(config.resumed.len() + 1);
        // One may be left of a part that was killed before its first request.
        let _ = fs::remove_file(bundle.path(&log));
        let log = bundle.claim(&log);
        let server = Server::reach(order, around, log)?;
        let (now, _) = describe(order, around, &server)?;
        earlier.compare(order, &now)?;
        config.resumed.push(earlier.kept.told(planned, now.run.started_at));
        config.end = None;
        if config.self_test.known().is_none_or(SelfTest::passed) {
            config.self_test = now.self_test;
        }
        write_config(bundle, &config)?;
        let outputs = bundle.path(OUTPUTS);
        let recorder = Recorder::resume(&outputs, earlier.whole_bytes)
            .map_err(|error| unwritable(&outputs, &error))?;
        Ok(Prepared { server, config, recorder })
    }
}

/// What the engine printed in the first part of a run, or after so many others.
fn engine_log(part: usize) -> String {
    match part {
        0 => "provenance/engine.log".to_string(),
        _ => format!("provenance/engine-{}.log", part + 1),
    }
}

/// The bodies in the order of the plan.
fn sendings(order: &Order) -> Result<Vec<Sending<'_>>, RunError> {
    let protocol = &order.suite.protocol;
    if order.optional && !protocol.phases.iter().any(|phase| phase.optional) {
        let id = &protocol.id;
        let message = format!("protocol {id} has no optional stage; leave --optional out");
        return Err(RunError::Usage(message));
    }
    let corpus = corpus(&order.suite)?;
    plan(protocol, order.optional)
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
    for path in (0..=config.resumed.len()).map(engine_log) {
        if config.provenance.iter().any(|listed| listed.path == path) {
            continue;
        }
        let Ok(text) = fs::read(bundle.path(&path)) else { continue };
        let clean = redactor.apply(&String::from_utf8_lossy(&text));
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
