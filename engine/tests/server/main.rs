//! The server over loopback and the `strata` command, on the model that lies in the repository.

#![cfg(feature = "cli")]

mod chat;
mod client;
mod command;
mod leaving;
mod routes;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use strata_engine::device::KernelChoice;
use strata_engine::server::{Facts, Listener, OptionGroups, Server};
use strata_engine::{Model, ModelOptions, SessionOptions};

/// The bundled model.
const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/models/stories260K/stories260K.f16.gguf");

/// A server of this process; it stops when dropped.
struct Running {
    server: Option<Server>,
    address: SocketAddr,
}

impl Running {
    fn start(api_key: Option<&str>) -> Running {
        Running::with(SessionOptions::default(), api_key)
    }

    /// With a context that takes seconds to fill.
    fn start_roomy() -> Running {
        Running::with(SessionOptions { context: Some(8192), ..SessionOptions::default() }, None)
    }

    fn with(session: SessionOptions, api_key: Option<&str>) -> Running {
        static LOADED: OnceLock<Arc<Model>> = OnceLock::new();
        let options = ModelOptions { threads: 1, kernels: KernelChoice::Reference };
        let model = LOADED.get_or_init(|| Arc::new(Model::open(MODEL.as_ref(), &options).unwrap()));
        let facts = Facts {
            model_path: PathBuf::from(MODEL),
            threads: 1,
            options: OptionGroups::default(),
        };
        let listener = Listener::bind("127.0.0.1", 0).unwrap();
        let server = Server::start(listener, Arc::clone(model), session, &facts, api_key).unwrap();
        Running { address: server.address(), server: Some(server) }
    }

    fn served(&self) -> u64 {
        client::get(self.address, "/v1/status").json()["requests_served"].as_u64().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
        }
    }
}
