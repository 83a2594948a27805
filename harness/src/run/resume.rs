//! Goes on with a run that was interrupted or killed. It must be the same run: what was recorded
//! of it is compared with what is asked for and found now, and a difference is named. Requests that
//! were finished are kept; the clock goes on from the last of them, as if it had stood.

use super::{Order, RunError};
use crate::config::{Config, Resumed};
use crate::plain_file;
use crate::plan::{Planned, rounds};
use crate::record::{self, Attempt};
use crate::report::rebuild::{MAX_CONFIG_BYTES, MAX_OUTPUTS_BYTES};
use crate::report::transcript::{FailureKind, transcribe};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What was recorded before.
pub(super) struct Earlier {
    pub(super) config: Config,
    /// Bytes of `outputs.jsonl` up to the last whole line.
    pub(super) whole_bytes: u64,
    pub(super) kept: Kept,
}

/// What of a record is kept.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// How many requests of the plan, counted from the first.
    pub(super) requests: usize,
    /// The end of the last of them.
    pub(super) end_ns: u64,
    /// Those that are sent again: they were under way, or belong to a round that was.
    pub(super) resent: Vec<String>,
}

impl Kept {
    /// Every request up to the first that is not finished; of a round, all or none.
    pub(super) fn of(planned: &[Planned], attempts: &[Attempt]) -> Kept {
        let latest: BTreeMap<&str, &Attempt> =
            attempts.iter().map(|attempt| (attempt.request_id.as_str(), attempt)).collect();
        let finished = |request: &Planned| {
            latest.get(request.id.as_str()).is_some_and(|attempt| {
                let failure = transcribe(attempt).failure;
                failure.is_none_or(|failure| failure.kind != FailureKind::Interrupted)
            })
        };
        let whole =
            rounds(planned, |request| request).take_while(|round| round.iter().all(finished));
        let requests: usize = whole.map(<[Planned]>::len).sum();
        let (kept, rest) = planned.split_at(requests);
        let recorded = |request: &Planned| latest.get(request.id.as_str()).copied();
        Kept {
            requests,
            end_ns: kept.iter().filter_map(recorded).map(|a| a.end_ns).max().unwrap_or_default(),
            resent: rest
                .iter()
                .filter(|request| recorded(request).is_some())
                .map(|request| request.id.clone())
                .collect(),
        }
    }

    /// What a report says of it.
    pub(super) fn told(&self, planned: &[Planned], at: String) -> Resumed {
        let last = self.requests.checked_sub(1).map(|last| planned[last].id.clone());
        Resumed { at, after_request: last, resent: self.resent.clone() }
    }
}

impl Earlier {
    /// Reads the folder of `order`.
    pub(super) fn read(order: &Order, planned: &[Planned]) -> Result<Earlier, RunError> {
        let usage = |problem: String| {
            RunError::Usage(format!("--resume {}: {problem}", order.out.display()))
        };
        let read = |name: &str, limit| {
            plain_file::read(&order.out.join(name), limit)
                .map_err(|problem| usage(format!("{name}: {problem}; name the folder of a run")))
        };
        let config = Config::parse(&read("config.json", MAX_CONFIG_BYTES)?).map_err(usage)?;
        let outputs = match order.out.join("outputs.jsonl").exists() {
            true => read("outputs.jsonl", MAX_OUTPUTS_BYTES)?,
            false => Vec::new(), // killed before its first request
        };
        let attempts = record::read(&outputs).map_err(|error| usage(error.to_string()))?;
        let kept = Kept::of(planned, &attempts);
        if kept.requests == planned.len() && config.run.optional == order.optional {
            return Err(usage("every request is finished; there is nothing to resume".to_string()));
        }
        Ok(Earlier { config, whole_bytes: record::whole_bytes(&outputs) as u64, kept })
    }

    /// Refuses what is not the run that began: the first difference, with both values.
    pub(super) fn compare(&self, order: &Order, now: &Config) -> Result<(), RunError> {
        let Some(difference) = difference(&identity(&self.config), &identity(now), "") else {
            return Ok(());
        };
        let folder = order.out.display();
        let remedy = "resume with what the run began with, or begin another with --out";
        Err(RunError::Usage(format!("--resume {folder}: {difference}; {remedy}")))
    }
}

/// All that must be the same in every part of a run. What changes by itself is left out: times,
/// loads, how many requests the server has answered.
fn identity(config: &Config) -> Value {
    let mut status = json!(config.server.status);
    if let Some(status) = status.pointer_mut("/known").and_then(Value::as_object_mut) {
        status.remove("requests_served");
    }
    let mut machine = json!(config.machine);
    if let Some(machine) = machine.as_object_mut() {
        machine.remove("load");
    }
    let log = |path: &str| path.starts_with("provenance/engine");
    let provenance: Vec<_> = config.provenance.iter().filter(|file| !log(&file.path)).collect();
    json!({
        "protocol": config.protocol,
        "optional": config.run.optional,
        "nonce": config.run.nonce,
        "started_engine": config.run.started_engine,
        "api_key_sent": config.run.api_key_sent,
        "declared": config.declared,
        "server": {"model": config.server.model_id(), "status": status},
        "options": config.options,
        "model_files": config.model_files,
        "lengths": config.lengths,
        "provenance": provenance,
        "machine": machine,
        "engine_threads": config.engine_threads,
        "runner": config.runner,
    })
}

/// The first place, in the order of `was`, where the two are not the same.
fn difference(was: &Value, now: &Value, at: &str) -> Option<String> {
    match (was, now) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => a
            .iter()
            .zip(b.values())
            .find_map(|((key, was), now)| difference(was, now, &format!("{at}/{key}"))),
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => a
            .iter()
            .zip(b)
            .enumerate()
            .find_map(|(i, (was, now))| difference(was, now, &format!("{at}/{i}"))),
        _ => (was != now).then(|| format!("{at} was {} and is {}", short(was), short(now))),
    }
}

/// As JSON, cut after so many characters.
fn short(value: &Value) -> String {
    const MOST: usize = 120;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::config;

    fn check(pointer: &str, value: Value, expected: Option<&str>) {
        let was = config();
        let mut now = json!(was);
        *now.pointer_mut(pointer).unwrap() = value;
        let now = Config::parse(now.to_string().as_bytes()).unwrap();
        let found = difference(&identity(&was), &identity(&now), "");
        assert_eq!(found.as_deref(), expected, "{pointer}");
    }

    #[test]
    fn another_run_is_told_by_its_first_difference() {
        check("/run/id", json!("20270115T080000Z-00000000"), None);
        check("/run/argv", json!([]), None);
        check("/server/status/known/requests_served", json!(7), None);
        check("/machine/load", json!({"unknown": "for a test"}), None);
        check("/run/nonce", json!("N"), Some(r#"/nonce was null and is "N""#));
        check("/run/optional", json!(true), Some("/optional was false and is true"));
        check(
            "/server/status/known/context_tokens",
            json!(163),
            Some("/server/status/known/context_tokens was 512 and is 163"),
        );
        check(
            "/protocol/sampling/top_k",
            json!(1),
            Some("/protocol/sampling/top_k was 20 and is 1"),
        );
        check("/runner/version", json!("9"), Some(r#"/runner/version was "0.1.0" and is "9""#));
        let long = "é".repeat(200);
        let told = format!("/declared/track was \"custom\" and is \"{}…", "é".repeat(119));
        check("/declared/track", json!(long), Some(&told));
    }
}
