//! `outputs.jsonl`: one line per attempt, appended as the run goes on and never changed. It holds
//! what was seen, not what it means: raw event data, so that every number keeps its text, and
//! nanoseconds of the run's one monotonic clock.

use crate::client::transport::Fault;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

/// One request sent, and all that came back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempt {
    /// The planned request.
    pub request_id: String,
    /// SHA-256 of the request body as sent.
    pub body_sha256: String,
    /// When it was sent, on the run's clock like all stamps here; in a round, when that began.
    pub dispatch_ns: u64,
    /// Null when no reply came.
    pub http_status: Option<u16>,
    /// The reply's `Content-Type`.
    pub content_type: Option<String>,
    /// The events in the order they came.
    pub events: Vec<StampedEvent>,
    /// The reply's text if it was not an event stream, cut off at a limit.
    pub body: Option<String>,
    /// When the reply's last byte was read, or when it failed.
    pub end_ns: u64,
    /// Why the reply did not end in good order.
    pub fault: Option<Fault>,
}

/// A server-sent event and when the read that completed it returned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StampedEvent {
    /// The client's clock.
    pub at_ns: u64,
    /// Its `event:` field.
    pub name: Option<String>,
    /// Its data, as sent.
    pub data: String,
}

/// The file while the run lasts.
#[derive(Debug)]
pub struct Recorder {
    file: File,
    is_empty: bool,
}

impl Recorder {
    /// Starts the file; it must not exist.
    pub fn create(path: &Path) -> io::Result<Recorder> {
        Ok(Recorder { file: File::create_new(path)?, is_empty: true })
    }

    /// Goes on with a file of which the first `whole_bytes` hold whole lines.
    pub fn resume(path: &Path, whole_bytes: u64) -> io::Result<Recorder> {
        let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
        file.set_len(whole_bytes)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Recorder { file, is_empty: whole_bytes == 0 })
    }

    /// Whether no attempt was made yet.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Appends a line for each and returns once they are on the disk: a crash loses no finished
    /// request.
    pub fn append(&mut self, attempts: &[Attempt]) -> io::Result<()> {
        self.is_empty = false;
        let mut lines = Vec::new();
        for attempt in attempts {
            serde_json::to_writer(&mut lines, attempt)?;
            lines.push(b'\n');
        }
        self.file.write_all(&lines)?;
        self.file.sync_data()
    }
}

/// A line that is not an attempt.
#[derive(Debug, PartialEq, Eq)]
pub struct BadLine {
    /// From 1.
    pub line: usize,
    /// What the JSON reader said.
    pub problem: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "outputs.jsonl line {}: not an attempt: {}", self.line, self.problem)
    }
}

impl std::error::Error for BadLine {}

/// Length of the lines that were written whole. A last line without its line feed is one that a
/// crash cut off; it counts as never written.
pub fn whole_bytes(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1)
}

/// Reads the file back.
pub fn read(bytes: &[u8]) -> Result<Vec<Attempt>, BadLine> {
    let whole = whole_bytes(bytes);
    let lines = bytes[..whole].split_inclusive(|&byte| byte == b'\n');
    lines
        .enumerate()
        .map(|(i, line)| {
            serde_json::from_slice(line)
                .map_err(|error| BadLine { line: i + 1, problem: error.to_string() })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(id: &str) -> Attempt {
        Attempt {
            request_id: id.to_string(),
            body_sha256: "00".repeat(32),
            dispatch_ns: 5,
            http_status: Some(200),
            content_type: None,
            events: vec![StampedEvent { at_ns: 7, name: None, data: r#"{"x":1.50}"#.to_string() }],
            body: None,
            end_ns: 9,
            fault: None,
        }
    }

    #[test]
    fn what_is_appended_is_read_and_a_torn_line_is_not() {
        let line = |id| serde_json::to_string(&attempt(id)).unwrap() + "\n";
        let text = line("a") + &line("b");
        assert_eq!(read(text.as_bytes()), Ok(vec![attempt("a"), attempt("b")]));
        for cut in text.len() - line("b").len()..text.len() {
            assert_eq!(read(&text.as_bytes()[..cut]), Ok(vec![attempt("a")]), "{cut}");
        }
        assert_eq!(read(b""), Ok(vec![]));
    }

    #[test]
    fn a_damaged_line_is_named() {
        let error = read(b"{}\n").unwrap_err().to_string();
        assert!(
            error.starts_with("outputs.jsonl line 1: not an attempt: missing field"),
            "{error}"
        );
    }
}
