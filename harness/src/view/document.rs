//! What lies at a path, opened for looking at: the report, its review and, if it is the folder of
//! a run, what the raw record adds: when each request was sent, what was drafted.

use crate::check::Outcome;
use crate::check::review::{document, review};
use crate::json::{self, Value};
use crate::plain_file;
use crate::protocol::Protocol;
use crate::record::{self, Attempt};
use crate::report::rebuild::MAX_OUTPUTS_BYTES;
use std::collections::HashMap;
use std::path::Path;

/// By request id: tokens drafted, and how many of them the model accepted.
pub type Drafts = HashMap<String, (u64, u64)>;

/// A report and what is known about it.
#[derive(Debug)]
pub struct Document {
    /// The file as it is.
    pub bytes: Vec<u8>,
    /// What it says.
    pub root: Value,
    /// What a review came to.
    pub outcome: Outcome,
    /// When each request was sent, on the run's client clock in nanoseconds; none without the
    /// folder of the run.
    pub dispatches: HashMap<String, u64>,
    /// What was drafted, where the server told.
    pub drafts: Drafts,
}

/// Opens a report, or the folder of a run or of a publication.
pub fn open(path: &Path, protocols: &[Protocol]) -> Result<Document, String> {
    let outcome = review(path, protocols)?;
    let folder = path.is_dir();
    let file = document(path);
    let problem = |problem: String| format!("{}: {problem}", file.display());
    let bytes = plain_file::read(&file, json::MAX_BYTES as u64).map_err(problem)?;
    let root = json::parse(&bytes).map_err(|error| problem(format!("no report: {error}")))?;
    let attempts = if folder { attempts(path) } else { Vec::new() };
    let dispatches = attempts.iter().map(|a| (a.request_id.clone(), a.dispatch_ns)).collect();
    let drafts = attempts.iter().filter_map(|a| Some((a.request_id.clone(), drafted(a)?)));
    Ok(Document { drafts: drafts.collect(), bytes, root, outcome, dispatches })
}

/// The record of a run, if it can be read; what is wrong with it is the review's business.
fn attempts(folder: &Path) -> Vec<Attempt> {
    let bytes = plain_file::read(&folder.join("outputs.jsonl"), MAX_OUTPUTS_BYTES);
    bytes.ok().and_then(|bytes| record::read(&bytes).ok()).unwrap_or_default()
}

/// `draft_n` and, where that is no more, `draft_n_accepted` of the `timings` that llama.cpp's
/// server ends a stream with.
fn drafted(attempt: &Attempt) -> Option<(u64, u64)> {
    let last = attempt.events.iter().rev().find(|event| event.data.contains("\"draft_n\""))?;
    let event = json::parse(last.data.as_bytes()).ok()?;
    let count = |key: &str| event.get("timings")?.get(key)?.as_number()?.as_u64();
    let (drafted, accepted) = (count("draft_n")?, count("draft_n_accepted")?);
    (accepted <= drafted).then_some((drafted, accepted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::StampedEvent;

    /// B106: more accepted than drafted is no acceptance.
    #[test]
    fn drafts_are_read_from_the_last_event_that_has_them() {
        let check = |data: &str, expected: Option<(u64, u64)>| {
            let event = |data: &str| StampedEvent { at_ns: 0, name: None, data: data.to_string() };
            let attempt = Attempt {
                request_id: "r".to_string(),
                body_sha256: String::new(),
                dispatch_ns: 0,
                http_status: None,
                content_type: None,
                events: vec![event(data), event("[DONE]")],
                body: None,
                end_ns: 0,
                fault: None,
            };
            assert_eq!(drafted(&attempt), expected, "{data}");
        };
        check(r#"{"timings":{"draft_n":8,"draft_n_accepted":5}}"#, Some((8, 5)));
        check(r#"{"timings":{"draft_n":8}}"#, None);
        check(r#"{"timings":{"draft_n":250,"draft_n_accepted":260}}"#, None);
        check(r#"{"choices":[{"delta":{"content":"\"draft_n\""}}]}"#, None);
        check("\"draft_n\"", None);
    }
}
