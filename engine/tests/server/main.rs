//! The server over loopback and the `strata` command, on the model that lies in the repository.

#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used)] // a panic is how a test fails

mod chat;
mod client;
mod command;
mod edges;
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

/// One thread and the slowest kernels, so that there is something to interrupt.
const OPTIONS: ModelOptions = ModelOptions { threads: 1, kernels: KernelChoice::Reference };

/// A server of this process; it stops when dropped.
struct Running {
    server: Option<Server>,
    address: SocketAddr,
}

impl Running {
    fn start(api_key: Option<&str>) -> Running {
        static LOADED: OnceLock<Arc<Model>> = OnceLock::new();
        let model = LOADED.get_or_init(|| Arc::new(Model::open(MODEL.as_ref(), &OPTIONS).unwrap()));
        Running::with(model, api_key)
    }

    /// With a context that takes seconds to fill: the bundled weights under a longer one.
    fn start_roomy() -> Running {
        static LOADED: OnceLock<Arc<Model>> = OnceLock::new();
        let model = LOADED.get_or_init(|| {
            let mut bytes = std::fs::read(MODEL).unwrap();
            let key = b"llama.context_length";
            let at = bytes.windows(key.len()).position(|window| window == key).unwrap();
            // After the key: the type, u32, and the value.
            let value = at + key.len() + 4;
            assert_eq!(bytes[value..value + 4], 512_u32.to_le_bytes());
            bytes[value..value + 4].copy_from_slice(&16_384_u32.to_le_bytes());
            Arc::new(Model::from_bytes(bytes, &OPTIONS).unwrap())
        });
        Running::with(model, None)
    }

    /// With a chat template.
    fn start_templated(template: &str) -> Running {
        let model = Model::from_bytes(with_template(template), &OPTIONS).unwrap();
        Running::with(&Arc::new(model), None)
    }

    fn with(model: &Arc<Model>, api_key: Option<&str>) -> Running {
        let facts = Facts {
            model_path: PathBuf::from(MODEL),
            threads: OPTIONS.threads,
            options: OptionGroups::default(),
        };
        let listener = Listener::bind("127.0.0.1", 0).unwrap();
        let session = SessionOptions::default();
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

/// The bundled file with a chat template: one more pair in front of the others, filled up by a
/// comment to a multiple of the alignment, so that no tensor moves against it.
fn with_template(template: &str) -> Vec<u8> {
    let bytes = std::fs::read(MODEL).unwrap();
    let key = "tokenizer.chat_template";
    let (start, pairs, rest) = (&bytes[..16], &bytes[16..24], &bytes[24..]);
    let pairs = u64::from_le_bytes(pairs.try_into().unwrap()) + 1;
    let comment = "{##}";
    let len = 8 + key.len() + 4 + 8 + template.len() + comment.len();
    let blanks = len.next_multiple_of(32) - len;
    let template = format!("{template}{{#{}#}}", " ".repeat(blanks));
    let string = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let string_type = &8_u32.to_le_bytes()[..];
    [start, &pairs.to_le_bytes(), &string(key), string_type, &string(&template), rest].concat()
}
