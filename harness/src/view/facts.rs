//! The lines above the tables: what was measured, on what, by which protocol, with which options.

use super::report::Report;
use super::table::{Cell, Fact, Line, Piece};
use crate::json::{Value, escape};

/// The run's own word on itself, with its reasons.
pub(super) fn status<'a>(report: &Report<'a>) -> Fact<'a> {
    let mut line = Line::new("status").cell(report.at(report.run("/status")));
    let reasons = report.root.pointer("/extensions/status_reasons");
    let reasons = reasons.map(Value::items).unwrap_or_default();
    for (index, reason) in reasons.iter().take(MAX_LEAVES).enumerate() {
        let pointer = format!("/extensions/status_reasons/{index}");
        line = line.words(if index == 0 { ": " } else { "; " });
        line = line.cell(report.cell(Some(reason), pointer));
    }
    line.fact()
}

pub(super) fn facts<'a>(report: &Report<'a>) -> Vec<Fact<'a>> {
    let line = Line::new;
    let at = |pointer: &str| report.at(pointer);
    let run = |field: &str| report.at(report.run(field));
    let all = |pointer: &str| listing(report, pointer);
    let mut facts = vec![
        line("model")
            .cell(at("/model/id"))
            .words(", quantization ")
            .cell(at("/model/quantization"))
            .fact(),
        line("model files").pieces(all("/model/files")).fact(),
    ];
    facts.extend(gpus(report));
    facts.extend([
        line("processor").cell(at("/hardware/cpu")).fact(),
        bytes(line("memory"), at("/hardware/ram_bytes")).fact(),
        line("storage").pieces(all("/hardware/storage")).fact(),
        line("other programs").pieces(all("/hardware/background_workloads")).fact(),
        line("engine")
            .cell(at("/software/engine_version"))
            .words(", build ")
            .cell(at("/software/build_kind"))
            .words(", commit ")
            .cell(at("/software/strata_commit"))
            .fact(),
        line("build options").pieces(all("/software/build_options")).fact(),
        line("system").pieces(all("/software/os")).fact(),
        line("drivers").pieces(all("/software/drivers")).fact(),
        line("runtime").pieces(all("/software/runtime")).fact(),
        line("protocol")
            .cell(at("/protocol/id"))
            .words(", profile ")
            .cell(at("/protocol/profile"))
            .fact(),
        line("corpus").cell(at("/protocol/corpus_sha256")).fact(),
        line("template").cell(at("/configuration/template/sha256")).fact(),
        line("sampling").pieces(all("/configuration/sampling")).fact(),
        line("template options").pieces(all("/configuration/chat_template_kwargs")).fact(),
        line("run")
            .cell(run("/id"))
            .words(", started ")
            .cell(run("/started_at"))
            .words(", took ")
            .cell(run("/required_duration_s"))
            .words(" s (client clock)")
            .fact(),
        line("track")
            .cell(at("/configuration/track"))
            .words(": ")
            .cell(at("/configuration/track_notes"))
            .fact(),
        line("context")
            .cell(at("/configuration/context_tokens"))
            .words(" tokens, requests at once ")
            .cell(at("/configuration/server_capacity"))
            .fact(),
    ]);
    facts.push(options(report));
    facts.push(line("command").cell(run("/command")).fact());
    facts.extend(others(report));
    facts
}

/// Blocks of engine options.
const GROUPS: [&str; 7] = [
    "kv_cache",
    "expert_cache",
    "offloading",
    "prefill",
    "mtp",
    "calibration",
    "experimental_options",
];

/// All groups in one line; where the report knows none of them for one reason, that reason once.
fn options<'a>(report: &Report<'a>) -> Fact<'a> {
    let cells = GROUPS.map(|group| report.at(format!("/configuration/{group}")));
    let reasons = cells.iter().map(|cell| match cell {
        Cell::Unknown { reason, .. } => Some(*reason),
        _ => None,
    });
    let reasons: Vec<_> = reasons.collect();
    let line = Line::new("engine options");
    if reasons[0].is_some() && reasons.iter().all(|reason| *reason == reasons[0]) {
        let [first, ..] = cells;
        return line.cell(first).words(format!(": {}", GROUPS.join(", "))).fact();
    }
    let mut line = line;
    for (index, group) in GROUPS.iter().enumerate() {
        let comma = if index > 0 { "; " } else { "" };
        let pieces = listing(report, &format!("/configuration/{group}"));
        line = line.words(format!("{comma}{group} ")).pieces(pieces);
    }
    line.fact()
}

fn gpus<'a>(report: &Report<'a>) -> Vec<Fact<'a>> {
    let Some(gpus) = report.root.pointer("/hardware/gpus").filter(|gpus| !gpus.items().is_empty())
    else {
        return vec![Line::new("GPU").pieces(listing(report, "/hardware/gpus")).fact()];
    };
    let gpu = |index: usize| {
        let at = |field: &str| report.at(format!("/hardware/gpus/{index}/{field}"));
        let line = Line::new("GPU").cell(at("name")).words(", ");
        bytes(line, at("memory_bytes"))
            .words(" ")
            .cell(at("memory_kind"))
            .words(", limit ")
            .cell(at("power_limit_w"))
            .words(" W")
            .fact()
    };
    (0..gpus.items().len().min(MAX_LEAVES)).map(gpu).collect()
}

/// A number of bytes, and what that is in GiB.
fn bytes<'a>(line: Line<'a>, cell: Cell<'a>) -> Line<'a> {
    let gib = match &cell {
        Cell::Printed { value, .. } => {
            let bytes = value.as_number().map(|bytes| bytes.as_f64());
            bytes.filter(|bytes| bytes.is_finite()).map(|bytes| bytes / f64::from(1 << 30))
        }
        _ => None,
    };
    let words = gib.map_or(String::new(), |gib| format!(" bytes ({gib:.1} GiB)"));
    line.cell(cell).words(words)
}

/// What a stranger's file holds beside the blocks of a report, such as a wrapper's observations.
fn others<'a>(report: &Report<'a>) -> Vec<Fact<'a>> {
    let entries = report.root.entries().iter();
    let others = entries.filter(|(key, _)| !BLOCKS.contains(&key.as_str())).take(MAX_LEAVES);
    others
        .map(|(key, value)| {
            let mut pieces = Vec::new();
            list(report, value, &format!("/{}", escape(key)), &mut pieces);
            Line::new(key.as_str()).pieces(pieces).fact()
        })
        .collect()
}

/// The blocks of a report and of a wrapper that are shown by name.
const BLOCKS: [&str; 17] = [
    "format",
    "schema_version",
    "protocol",
    "run",
    "selected_run",
    "hardware",
    "software",
    "model",
    "configuration",
    "request_counts",
    "requests",
    "summaries",
    "concurrency_rounds",
    "quality",
    "artifacts",
    "missing",
    "extensions",
];

/// Every leaf below a pointer with its name.
pub(super) fn listing<'a>(report: &Report<'a>, pointer: &str) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    match report.root.pointer(pointer) {
        Some(value) => list(report, value, pointer, &mut pieces),
        None => pieces.push(Piece::Cell(report.at(pointer))),
    }
    pieces
}

/// Items are set apart by `;`, entries by `,`, a block within a block by parentheses.
fn list<'a>(report: &Report<'a>, value: &'a Value, pointer: &str, pieces: &mut Vec<Piece<'a>>) {
    let words = |text: String| Piece::Words(text.into());
    match value {
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                pieces.push(words(if index > 0 { "; " } else { "" }.to_string()));
                if full(pieces) {
                    return;
                }
                list(report, item, &format!("{pointer}/{index}"), pieces);
            }
        }
        Value::Object(entries) if !entries.is_empty() => {
            for (index, (key, item)) in entries.iter().enumerate() {
                let comma = if index > 0 { ", " } else { "" };
                let named = index == 0 && matches!(key.as_str(), "name" | "path");
                let key_words = if named { String::new() } else { format!("{key} ") };
                let block = matches!(item, Value::Array(_) | Value::Object(_));
                let open = if block { "(" } else { "" };
                pieces.push(words(format!("{comma}{key_words}{open}")));
                if full(pieces) {
                    return;
                }
                list(report, item, &format!("{pointer}/{}", escape(key)), pieces);
                pieces.push(words(if block { ")" } else { "" }.to_string()));
            }
        }
        Value::Array(_) | Value::Object(_) => pieces.push(words("none".to_string())),
        leaf => pieces.push(Piece::Cell(report.cell(Some(leaf), pointer.to_string()))),
    }
}

/// Whether a list is long enough; if so it ends here.
fn full(pieces: &mut Vec<Piece>) -> bool {
    let full = pieces.len() > 3 * MAX_LEAVES;
    if full {
        pieces.push(Piece::Words("…".into()));
    }
    full
}

/// Most leaves of a block that are shown.
const MAX_LEAVES: usize = 100;
