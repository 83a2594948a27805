//! A server whose every byte a test decides, and the program under test.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use strata_harness::corpus::{Lengths, Suite};
use strata_harness::fact::Fact;

/// What comes back for one request: bytes, each after a wait.
pub(crate) struct Reply {
    pub(crate) head: String,
    pub(crate) pieces: Vec<(Duration, Vec<u8>)>,
    /// How long the connection stays open after the last piece.
    pub(crate) linger: Duration,
}

impl Reply {
    pub(crate) fn json(status: &str, body: &Value) -> Reply {
        let body = body.to_string();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            body.len()
        );
        Reply { head, pieces: vec![(Duration::ZERO, body.into_bytes())], linger: Duration::ZERO }
    }

    /// An event stream whose end is the end of the connection.
    pub(crate) fn stream(pieces: Vec<(Duration, Vec<u8>)>) -> Reply {
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
        Reply { head: head.to_string(), pieces, linger: Duration::ZERO }
    }
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) head: String,
    pub(crate) body: String,
}

pub(crate) type Answer = dyn Fn(&Asked) -> Option<Reply> + Send;

/// The server; it lives as long as the test's process.
pub(crate) struct Stub {
    pub(crate) url: String,
    pub(crate) asked: Arc<Mutex<Vec<Asked>>>,
}

impl Stub {
    /// `answer` decides; `None` ends the server without a reply.
    pub(crate) fn start(answer: Box<Answer>) -> Stub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                stream.set_nodelay(true).unwrap();
                let Some(request) = read_request(&stream) else { continue };
                log.lock().unwrap().push(request.clone());
                let Some(reply) = answer(&request) else { return };
                send(&mut stream, &reply);
            }
        });
        Stub { url, asked }
    }

    /// The bodies of the chat requests so far.
    pub(crate) fn bodies(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|asked| asked.path.contains("chat")).map(|a| a.body.clone()).collect()
    }
}

/// An address whose queue of connections is full: the kernel leaves the next one unanswered.
pub(crate) struct Deaf {
    pub(crate) url: String,
    _listener: TcpListener,
    _queue: Vec<TcpStream>,
}

impl Deaf {
    pub(crate) fn start() -> Deaf {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        rustix::net::listen(&listener, 0).unwrap(); // once more, for the shortest queue there is
        let address = listener.local_addr().unwrap();
        let mut queue = Vec::new();
        while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(100)) {
            queue.push(stream);
            assert!(queue.len() < 64, "this system's shortest queue has no end");
        }
        Deaf { url: format!("http://{address}"), _listener: listener, _queue: queue }
    }
}

fn read_request(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let path = head.split(' ').nth(1)?.to_string();
    let length = head.to_lowercase().lines().find_map(|line| {
        line.strip_prefix("content-length:").map(|length| length.trim().parse().unwrap())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { path, head, body: String::from_utf8(body).ok()? })
}

/// A client that has left is nothing to complain of.
fn send(stream: &mut TcpStream, reply: &Reply) {
    let _ = stream.write_all(reply.head.as_bytes());
    for (wait, bytes) in &reply.pieces {
        thread::sleep(*wait);
        if stream.write_all(bytes).is_err() {
            return;
        }
    }
    thread::sleep(reply.linger);
}

/// An honest server of the embedded suite, whose model says `Once upon a time`.
pub(crate) struct Honest {
    lengths: Lengths,
    ids: BTreeMap<String, String>,
    status: Value,
}

impl Honest {
    pub(crate) fn new() -> Honest {
        let suite = Suite::named("embedded-v1").unwrap();
        let corpus = suite.corpus.as_ref().unwrap();
        let lengths = recorded_lengths();
        let planned = strata_harness::plan::plan(&suite.protocol, true);
        let ids = planned
            .iter()
            .map(|planned| (corpus.body(&planned.id).unwrap().to_string(), planned.id.clone()));
        let commit = match strata_harness::version::runner().commit {
            Fact::Known(commit) => json!(commit),
            Fact::Unknown(_) => Value::Null,
        };
        let status = json!({
            "engine": {"name": "strata", "version": "0.1.0", "commit": commit, "dirty": false},
            "build": {"kind": "source", "options": {}},
            "model": {"id": "stories260k-f16", "quantization": "F16", "path": null, "files": []},
            "tokenizer": {"sha256": lengths.tokenizer_sha256},
            "template": {"sha256": lengths.template_sha256, "text": null},
            "context_tokens": 512, "capacity": 1,
            "device": {"name": "cpu", "kernels": "avx2", "threads": 2},
            "options": {}, "requests_served": 0,
        });
        Honest { ids: ids.collect(), lengths, status }
    }

    pub(crate) fn answer(&self, asked: &Asked) -> Reply {
        match asked.path.as_str() {
            "/health" => Reply::json("200 OK", &json!({"status": "ok"})),
            "/v1/status" => Reply::json("200 OK", &self.status),
            "/v1/models" => Reply::json("200 OK", &json!({"data": [{"id": "stories260k-f16"}]})),
            _ => self.chat(&asked.body),
        }
    }

    fn chat(&self, body: &str) -> Reply {
        // A body with a nonce is none of the corpus's; its length is anybody's guess.
        let id = self.ids.get(body);
        let input = id.map_or(50, |id| self.lengths.requests[id].input_tokens);
        let mut text = String::from(": reading\n\n");
        for word in ["Once", " upon", " a", " time"] {
            let choice = json!({"index": 0, "delta": {"content": word}, "finish_reason": null});
            text += &format!("data: {}\n\n", json!({"choices": [choice]}));
        }
        let last = json!({
            "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
            "usage": {
                "prompt_tokens": input, "completion_tokens": 4,
                "prompt_tokens_details": {"cached_tokens": 0},
            },
            "timings": {
                "cache_n": 0, "prompt_n": input, "prompt_ms": 1.0, "predicted_n": 4,
                "predicted_ms": 1.0, "predicted_per_second": 4_000.0,
            },
        });
        text += &format!("data: {last}\n\ndata: [DONE]\n\n");
        // No sooner than the engine's times say.
        Reply::stream(vec![(Duration::from_millis(2), text.into_bytes())])
    }

    pub(crate) fn start() -> Stub {
        let honest = Honest::new();
        Stub::start(Box::new(move |asked| Some(honest.answer(asked))))
    }
}

/// Of any tokenizer: the server's word is taken for which it is.
fn recorded_lengths() -> Lengths {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../spec/corpus/embedded-v1/lengths");
    let file = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

static FOLDERS: AtomicU32 = AtomicU32::new(0);

/// A folder for one test, gone with it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("strata-bench-it-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The program with these arguments.
pub(crate) fn bench(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strata-bench"));
    command.args(arguments);
    command
}

pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| panic!("{output:?}"))
}

pub(crate) fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}
