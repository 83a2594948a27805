//! A small blocking server: the OpenAI API in front of one model.
//!
//! Its threads: `engine` owns the session and runs one request at a time, `accept` takes
//! connections, and each open connection has one that reads its requests and writes its answers.
//! At most nine of those are held by requests that run or wait.

mod chat;
mod http;
pub mod openai;
mod outcome;
mod queue;
mod sse;
mod status;

pub use chat::prompt;
pub use http::Listener;
pub use status::{Engine, OptionGroups};

use crate::{Cancel, Error, Model, Session, SessionOptions};
use http::{Http, Request, Response};
use openai::ApiError;
use queue::Queue;
use sha2::{Digest, Sha256};
use status::About;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// What the caller knows about the model and its options, for `GET /v1/status`.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Where the model was loaded from.
    pub model_path: PathBuf,
    /// Threads that compute.
    pub threads: usize,
    /// The options in force.
    pub options: OptionGroups,
}

/// A running server. Dropping it leaves its threads running; end it by [`Server::drain`] or
/// [`Server::stop`].
pub struct Server {
    http: Http,
    shared: Arc<Shared>,
    cancel: Cancel,
}

/// What every request may read.
struct Shared {
    model: Arc<Model>,
    context: usize,
    queue: Queue,
    about: About,
    started: u64,
    /// SHA-256 of the key, so that comparing takes the same time for every guess.
    api_key: Option<[u8; 32]>,
}

impl Server {
    /// Starts answering. With a key, every route but `/health` asks for it.
    pub fn start(
        listener: Listener,
        model: Arc<Model>,
        session: SessionOptions,
        facts: &Facts,
        api_key: Option<&str>,
    ) -> Result<Server, Error> {
        let cancel = session.cancel.clone();
        let session = Session::new(Arc::clone(&model), session)?;
        let context = session.capacity();
        let shared = Arc::new(Shared {
            about: About::new(&model, context, facts),
            model,
            context,
            queue: Queue::start(session)?,
            started: chat::unix_seconds(),
            api_key: api_key.map(|key| Sha256::digest(key).into()),
        });
        let handling = Arc::clone(&shared);
        let http = Http::start(listener, Arc::new(move |request| answer(&handling, request)))?;
        Ok(Server { http, shared, cancel })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.http.address()
    }

    /// Takes no new request and returns when those it has are answered.
    pub fn drain(self) {
        self.http.drain();
        if let Some(shared) = Arc::into_inner(self.shared) {
            shared.queue.finish();
        }
    }

    /// As [`Server::drain`], but the requests it has end within one step, as failed.
    pub fn stop(self) {
        self.cancel.set();
        self.drain();
    }
}

fn answer(shared: &Shared, request: Request<'_>) {
    let get = matches!(request.method(), "GET" | "HEAD");
    let response = match request.path() {
        "/health" if get => health(shared),
        _ if !shared.admits(&request) => {
            let message = "this server asks for an API key: send it as Authorization: Bearer KEY";
            Response::error(&ApiError::new(401, "invalid_api_key", message))
        }
        "/v1/models" if get => {
            Response::json(&openai::models(&shared.about.model.id, shared.started))
        }
        "/v1/status" if get => Response::json(&shared.about.status(shared.queue.served())),
        "/v1/chat/completions" if request.method() == "POST" => {
            return chat::complete(shared, request);
        }
        "/health" | "/v1/models" | "/v1/status" => wrong_method(&request, "GET, HEAD"),
        "/v1/chat/completions" => wrong_method(&request, "POST"),
        path => {
            let message = format!("there is nothing at {path}");
            Response::error(&ApiError::new(404, "not_found", message))
        }
    };
    request.respond(response);
}

fn health(shared: &Shared) -> Response {
    if shared.queue.alive() {
        Response::json(&serde_json::json!({ "status": "ok" }))
    } else {
        Response::error(&ApiError::new(503, "engine_stopped", "the engine has stopped"))
    }
}

fn wrong_method(request: &Request, allow: &'static str) -> Response {
    let message = format!("{} is not for {}: use {allow}", request.method(), request.path());
    let mut response = Response::error(&ApiError::new(405, "method_not_allowed", message));
    response.headers.push(("allow", allow));
    response
}

impl Shared {
    fn admits(&self, request: &Request<'_>) -> bool {
        let Some(want) = &self.api_key else { return true };
        let bearer = request.header("authorization").and_then(bearer);
        let key = bearer.or_else(|| request.header("x-api-key")).unwrap_or_default();
        let got: [u8; 32] = Sha256::digest(key).into();
        // Every byte is looked at, whatever the first difference.
        want.iter().zip(got).fold(0, |differ, (want, got)| differ | (want ^ got)) == 0
    }
}

/// The key of `Bearer KEY`, the scheme in any case.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, key) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bearer_tokens() {
        let check = |value, want| assert_eq!(bearer(value), want, "{value}");
        check("Bearer k3y", Some("k3y"));
        check("bearer k3y", Some("k3y"));
        check("BEARER  k3y", Some("k3y"));
        check("Bearer ", Some(""));
        check("Bearer", None);
        check("Basic k3y", None);
        check("k3y", None);
    }
}
