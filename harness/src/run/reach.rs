//! Gets a server to answer: one that runs, or an engine started from a profile.

use super::{Order, RunError, Surroundings, Target};
use crate::client::base_url::BaseUrl;
use crate::client::http::Http;
use crate::client::transport::{Fault, FaultKind};
use crate::run::engine_process::{EngineProcess, Launch, StartError, free_port};
use crate::run::profile::Profile;
use crate::run::server::SelfDescription;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// A server that answers.
pub(super) struct Server {
    pub(super) http: Http,
    pub(super) engine: Option<EngineProcess>,
    log: PathBuf,
    pub(super) description: SelfDescription,
}

impl Server {
    /// Starts the engine of a profile and waits for it, or looks whether a URL answers.
    pub(super) fn reach(
        order: &Order,
        around: &Surroundings,
        log: PathBuf,
    ) -> Result<Server, RunError> {
        let client = |url| {
            let (clock, cancel) = (around.clock, Arc::clone(&around.cancel));
            Http::new(url, order.credential.clone(), order.timeouts, clock, cancel)
        };
        let (http, engine) = match &order.target {
            Target::Url(url) => {
                let http = client(url.clone());
                let (status, _) = http.get("/health").map_err(unreachable)?;
                if status == 503 {
                    let message = format!("{url} is not ready (HTTP 503 of /health)");
                    return Err(RunError::Unreachable(message));
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
        let description = SelfDescription::ask(&http).map_err(unreachable)?;
        Ok(Server { http, engine, log, description })
    }

    /// Why the server is gone, if it is.
    pub(super) fn lost(&mut self) -> Option<String> {
        if let Some(engine) = &mut self.engine
            && let Err(ended) = engine.check_alive(&self.log)
        {
            return Some(ended);
        }
        let fault = self.http.get("/health").err()?;
        (fault.kind != FaultKind::Interrupted).then_some(fault.message)
    }
}

fn unreachable(fault: Fault) -> RunError {
    match fault.kind {
        FaultKind::Interrupted => RunError::Interrupted,
        _ => RunError::Unreachable(fault.message),
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
            Err(fault) if fault.kind == FaultKind::Interrupted => {
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
