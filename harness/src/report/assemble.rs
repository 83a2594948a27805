//! Puts a report together from `config.json` and the recorded attempts. Pure: the same two files
//! give the same bytes, today and at any later time.

use super::missing::{Place, Reasons};
use super::number::ClientTime;
use super::rounds::{rounds, span};
use super::status::{self, Evidence};
use super::*;
use crate::config::Config;
use crate::plan::{Planned, plan};
use crate::record::Attempt;
use crate::report::account::{Account, Context, account};
use crate::report::summary::{notes, summarise};
use crate::report::transcript::FailureKind;
use std::collections::BTreeMap;

/// Where the template lies.
pub const TEMPLATE_PATH: &str = "provenance/chat_template.jinja";

/// A report, and what a runner decides its exit code by.
#[derive(Debug)]
pub struct Assembled {
    /// The document as it is written.
    pub json: Vec<u8>,
    /// `/run/status`
    pub status: RunStatus,
    /// `/extensions/status_reasons`
    pub status_reasons: Vec<String>,
    /// How requests failed, by id in the plan's order.
    pub failures: Vec<(String, FailureKind)>,
}

/// The report of a run. `artifacts` are `outputs.jsonl` and `config.json` with their digests.
pub fn assemble(
    config: &Config,
    attempts: &[Attempt],
    artifacts: [Artifact; 2],
) -> Result<Assembled, String> {
    let planned = plan(&config.protocol, config.run.optional);
    let by_id = attempts_by_id(config, &planned, attempts)?;
    let first_dispatch_ns = by_id.values().map(|a| a.dispatch_ns).min().unwrap_or_default();
    let not_sent = format!("not sent: {}", status::why(config));
    let mut reasons = Reasons::default();
    let accounts: Vec<Account> = planned
        .iter()
        .enumerate()
        .map(|(i, request)| {
            let context = Context {
                first_dispatch_ns,
                passed_reasons: &config.protocol.passed_reasons,
                not_sent: &not_sent,
            };
            let place = &mut reasons.at(&format!("/requests/{i}"));
            account(request, by_id.get(request.id.as_str()).copied(), &context, place)
        })
        .collect();
    let report = report(config, &planned, &by_id, &accounts, artifacts, &mut reasons);
    let failures = accounts
        .iter()
        .filter_map(|account| Some((account.row.id.clone(), account.failure?)))
        .collect();
    Ok(Assembled {
        status: report.run.status,
        status_reasons: report.extensions.status_reasons.clone(),
        failures,
        json: print(report, &reasons)?,
    })
}

/// The one attempt of each request that counts: the last, where a resumed run sent it again.
fn attempts_by_id<'a>(
    config: &Config,
    planned: &[Planned],
    attempts: &'a [Attempt],
) -> Result<BTreeMap<&'a str, &'a Attempt>, String> {
    let mut by_id = BTreeMap::new();
    for (i, attempt) in attempts.iter().enumerate() {
        let id = attempt.request_id.as_str();
        let line = i + 1;
        if !planned.iter().any(|request| request.id == id) {
            return Err(format!("outputs.jsonl line {line}: the plan has no request `{id}`"));
        }
        let resent = config.resumed.iter().any(|part| part.resent.iter().any(|sent| sent == id));
        if by_id.insert(id, attempt).is_some() && !resent {
            return Err(format!("outputs.jsonl line {line}: a second attempt of `{id}`"));
        }
    }
    Ok(by_id)
}

/// Two-space indent and a line feed at the end.
fn print(report: Report, reasons: &Reasons) -> Result<Vec<u8>, String> {
    let mut document = serde_json::to_value(report).map_err(|error| error.to_string())?;
    let missing = reasons.missing(&document)?;
    document["missing"] = Value::Object(missing);
    let mut json = serde_json::to_vec_pretty(&document).map_err(|error| error.to_string())?;
    json.push(b'\n');
    Ok(json)
}

fn report(
    config: &Config,
    planned: &[Planned],
    by_id: &BTreeMap<&str, &Attempt>,
    accounts: &[Account],
    [outputs, config_file]: [Artifact; 2],
    reasons: &mut Reasons,
) -> Report {
    let rows: Vec<Request> = accounts.iter().map(|account| account.row.clone()).collect();
    let counts = count(&rows);
    let checks: Vec<RequestCheck> = accounts
        .iter()
        .map(|account| status::check(config, &account.row, account.offsets.as_ref()))
        .collect();
    let model = environment::model(config, &mut reasons.at("/model"));
    let configuration = environment::configuration(config, &mut reasons.at("/configuration"));
    let status_reasons = status::reasons(&Evidence {
        config,
        planned,
        model: &model,
        configuration: &configuration,
        rows: &rows,
        counts: &counts,
        checks: &checks,
    });
    let complete = status_reasons.is_empty();
    let status = if complete { RunStatus::Complete } else { RunStatus::Nonconforming };
    let summaries = summarise(planned, &rows, &mut reasons.at("/summaries"));
    let extensions = {
        let mut at = reasons.at("/extensions");
        let mut extensions = extensions::extensions(config, status_reasons, &mut at);
        extensions.request_checks = extensions::request_checks(config, &rows, &checks, &mut at);
        extensions.optional_stage_skipped =
            counts.concurrency.planned > 0 && counts.concurrency.attempted == 0;
        extensions.summary_notes = notes(&summaries, &rows);
        extensions.request_sha256 = extensions::request_digests(planned, by_id);
        extensions.client_offsets_us = extensions::client_offsets(accounts, &mut at);
        extensions
    };
    Report {
        format: FORMAT,
        schema_version: SCHEMA_VERSION,
        protocol: environment::protocol(config, &mut reasons.at("/protocol")),
        run: run(config, status, accounts, &mut reasons.at("/run")),
        hardware: environment::hardware(config, &mut reasons.at("/hardware")),
        software: environment::software(config, &mut reasons.at("/software")),
        model,
        configuration,
        request_counts: counts,
        summaries,
        concurrency_rounds: rounds(accounts, &mut reasons.at("/concurrency_rounds")),
        quality: quality(config, &rows),
        requests: rows,
        artifacts: [vec![outputs, config_file], config.provenance.clone()].concat(),
        missing: Map::new(),
        extensions,
    }
}

fn run(config: &Config, status: RunStatus, accounts: &[Account], at: &mut Place) -> Run {
    let (optional, required): (Vec<&Account>, Vec<&Account>) =
        accounts.iter().partition(|account| account.row.phase == PhaseName::Concurrency);
    let last_end = required.iter().filter_map(|account| Some(account.offsets?.end)).max();
    let optional_duration = span(optional.iter().copied()).map(ClientTime::seconds_rounded_up);
    let no_duration = match optional.is_empty() {
        true => "the optional concurrency stage was not selected",
        false => "no request of the optional concurrency stage was sent",
    };
    Run {
        id: config.run.id.clone(),
        started_at: config.run.started_at.clone(),
        status,
        required_duration_s: at.some(
            "required_duration_s",
            last_end.map(|end| end.since_start().seconds_rounded_up()),
            "no request was sent",
        ),
        optional_duration_s: at.some("optional_duration_s", optional_duration, no_duration),
        optional_concurrency: !optional.is_empty(),
        command: crate::shell::join(&config.run.argv),
    }
}

fn count(rows: &[Request]) -> RequestCounts {
    let mut counts = RequestCounts::default();
    rows.iter().for_each(|row| counts.of(row.phase).count(row.status));
    counts
}

fn quality(config: &Config, rows: &[Request]) -> Quality {
    let mut quality = Quality { passed: 0, total: 0, categories: Map::new() };
    for category in &config.protocol.categories {
        let judged = rows.iter().filter_map(|row| row.evaluation.as_ref());
        let judged: Vec<&Evaluation> = judged.filter(|e| e.category == *category).collect();
        let passed = judged.iter().filter(|evaluation| evaluation.passed).count() as u64;
        let total = judged.len() as u64;
        quality.passed += passed;
        quality.total += total;
        let counts = serde_json::json!({"passed": passed, "total": total});
        quality.categories.insert(category.clone(), counts);
    }
    quality
}
