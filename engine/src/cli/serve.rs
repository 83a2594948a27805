//! `strata serve`: one model behind the OpenAI API until a signal comes.

use super::args::Serve;
use super::signals::{End, Signals};
use super::{Failure, engine, print, say};
use std::time::Instant;
use strata_engine::server::{Listener, Server};

pub(super) fn run(args: Serve) -> Result<(), Failure> {
    let key = args.api_key_env.as_deref().map(api_key).transpose()?;
    // A taken port is found before the model is loaded.
    let listener = Listener::bind(&args.host, args.port)?;
    let open = !listener.address().ip().is_loopback() && key.is_none();
    let loading = Instant::now();
    let loaded = engine::load(&args.model, &args.engine())?;
    say(&format!("loaded     in {:.1} s", loading.elapsed().as_secs_f64()));
    say(match args.api_key_env {
        Some(_) => "API key    asked for",
        None if open => "API key    none, and anybody who reaches this machine can use it",
        None => "API key    none",
    });
    let mut signals = Signals::install()
        .map_err(|error| Failure::Internal(format!("cannot watch for signals: {error}")))?;
    let engine::Loaded { model, session, facts } = loaded;
    let server = Server::start(listener, model, session, &facts, key.as_deref())?;
    // A parent that does not read the line still gets its server.
    let _ = print(&format!("listening on http://{}", server.address()));
    match signals.wait() {
        End::Interrupt => {
            say("stopping: interrupted");
            server.stop();
            Err(Failure::Interrupted)
        }
        End::Terminate => {
            say("stopping: the requests at hand are answered first");
            server.drain();
            Ok(())
        }
    }
}

#[allow(clippy::disallowed_methods)] // the one place that reads the environment
fn api_key(variable: &str) -> Result<String, Failure> {
    match std::env::var(variable) {
        Ok(key) if !key.is_empty() => Ok(key),
        _ => Err(Failure::Input(format!(
            "--api-key-env names {variable}, which is not set or empty: set it to the key"
        ))),
    }
}
