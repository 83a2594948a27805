//! A client that shows everything: one request on one connection, the answer taken apart.

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A response with its framing removed.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Lower-case names.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The data of each event in order, `[DONE]` checked and removed.
    pub(crate) fn chunks(&self) -> Vec<Value> {
        let events = self.body.split_terminator("\n\n").filter(|event| !event.starts_with(':'));
        let mut data: Vec<&str> =
            events.map(|event| event.strip_prefix("data: ").unwrap()).collect();
        assert_eq!(data.pop(), Some("[DONE]"), "{}", self.body);
        data.iter().map(|data| serde_json::from_str(data).unwrap()).collect()
    }

    /// The text of a whole answer, or of a stream's chunks together.
    pub(crate) fn text(&self) -> String {
        if self.header("content-type") == Some("application/json") {
            return self.json()["choices"][0]["message"]["content"].as_str().unwrap().into();
        }
        let chunks = self.chunks();
        chunks.iter().filter_map(|c| c["choices"][0]["delta"]["content"].as_str()).collect()
    }

    /// The object, or the stream's last chunk that has a usage.
    pub(crate) fn last(&self) -> Value {
        if self.header("content-type") == Some("application/json") {
            return self.json();
        }
        self.chunks().into_iter().rfind(|chunk| chunk["usage"].is_object()).unwrap()
    }
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    send(address, "GET", path, &[], "")
}

/// A chat request of one user message with further fields.
pub(crate) fn chat(address: SocketAddr, prompt: &str, fields: Value) -> Answer {
    send(address, "POST", "/v1/chat/completions", &[], &chat_body(prompt, fields))
}

pub(crate) fn chat_body(prompt: &str, mut fields: Value) -> String {
    fields["messages"] = json!([{ "role": "user", "content": prompt }]);
    fields.to_string()
}

pub(crate) fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    if !body.is_empty() {
        head += &format!("content-length: {}\r\n", body.len());
    }
    raw(address, format!("{head}\r\n{body}").as_bytes())
}

/// Sends bytes as they are and reads until the server closes.
pub(crate) fn raw(address: SocketAddr, request: &[u8]) -> Answer {
    let mut stream = connect(address);
    stream.write_all(request).unwrap();
    read(stream)
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Reads until the server closes.
pub(crate) fn read(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    parse(&String::from_utf8(bytes).unwrap())
}

fn parse(mut response: &str) -> Answer {
    while let Some(rest) = response.strip_prefix("HTTP/1.1 100 Continue\r\n\r\n") {
        response = rest;
    }
    let (head, body) = response.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{response:?}"));
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap().parse().unwrap();
    let headers: Vec<(String, String)> = lines
        .map(|line| line.split_once(": ").unwrap())
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let chunked = headers.iter().any(|(name, _)| name == "transfer-encoding");
    let body = if chunked { unchunk(body) } else { body.into() };
    Answer { status, headers, body }
}

fn unchunk(mut framed: &str) -> String {
    let mut body = String::new();
    loop {
        let (size, rest) = framed.split_once("\r\n").unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        body += &rest[..size];
        framed = rest[size..].strip_prefix("\r\n").unwrap();
        if size == 0 {
            assert_eq!(framed, "", "nothing follows the last chunk");
            return body;
        }
    }
}
