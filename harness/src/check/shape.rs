//! The form of a report: one document, no key twice, every field there with its type. Fields and
//! types are a table; what a figure means is the business of the other rules.

use super::report::{MAX_ITEMS, MAX_REQUESTS, MAX_SUMMARIES, Report, printed, quoted};
use super::rule::{Log, breach};
use crate::json::{Path, Value};

/// The reference format's name.
pub(super) const FORMAT: &str = "strata-standard-benchmark";
const SCHEMA_VERSION: u64 = 1;

/// Whether a document is someone's frame round the summaries of a report.
pub(super) fn is_wrapper(root: &Value) -> bool {
    root.get("selected_run").is_some() && root.get("run").is_none()
}

/// Holds whenever it is asked: what cannot be read has one finding and no other.
pub(super) fn readable(_: &Report, log: &mut Log) {
    log.judge(true, || unreachable!("it was read"));
}

pub(super) fn reference_format(report: &Report, log: &mut Log) {
    log.judge(report.text("/format") == Some(FORMAT), || {
        breach("/format", quoted(FORMAT), printed(report.at("/format")))
    });
    log.judge(report.count("/schema_version") == Some(SCHEMA_VERSION), || {
        breach("/schema_version", SCHEMA_VERSION, printed(report.at("/schema_version")))
    });
}

pub(super) fn top_level_keys(report: &Report, log: &mut Log) {
    let (found, wanted) = (keys(report.root), names("").collect::<Vec<_>>());
    let mut sorted = (found.clone(), wanted.clone());
    sorted.0.sort_unstable();
    sorted.1.sort_unstable();
    let same = sorted.0 == sorted.1;
    log.judge(same, || breach("", wanted.join(", "), found.join(", ")));
    if same {
        log.judge_mildly(found == wanted, || breach("", wanted.join(", "), found.join(", ")));
    }
}

pub(super) fn request_keys(report: &Report, log: &mut Log) {
    let wanted: Vec<&str> = names("/requests/*").collect();
    for request in &report.requests {
        let found = keys(request.value);
        log.judge(found == wanted, || {
            breach(request.place(""), wanted.join(", "), found.join(", "))
        });
    }
}

/// What a wrapper keeps of a report, in the report's order; `run` is `selected_run` there.
const KEPT: [&str; 9] = [
    "selected_run",
    "protocol",
    "hardware",
    "software",
    "model",
    "configuration",
    "request_counts",
    "summaries",
    "quality",
];

/// A copied block has its fields in the order of the format.
pub(super) fn kept_blocks(report: &Report, log: &mut Log) {
    let found: Vec<&str> = keys(report.root).into_iter().filter(|key| KEPT.contains(key)).collect();
    log.judge(found == KEPT, || breach("", KEPT.join(", "), found.join(", ")));
    for block in BLOCKS.iter().filter(|block| !block.only_full) {
        let steps: Vec<&str> = block.at.split('/').skip(1).collect();
        let wanted: Vec<&str> = block.fields().map(|(name, _)| name).collect();
        for_each(report.root, &Path::ROOT, &steps, true, &mut |place, value| {
            let found: Vec<&str> =
                keys(value).into_iter().filter(|key| wanted.contains(key)).collect();
            log.judge(found.len() < wanted.len() || found == wanted, || {
                breach(place.brief(), wanted.join(", "), found.join(", "))
            });
        });
    }
}

fn keys(value: &Value) -> Vec<&str> {
    value.entries().iter().map(|(key, _)| key.as_str()).collect()
}

pub(super) fn no_key_twice(report: &Report, log: &mut Log) {
    report.root.walk(&mut |place, value| {
        let mut keys = keys(value);
        keys.sort_unstable();
        for pair in keys.windows(2) {
            log.judge(pair[0] != pair[1], || {
                breach(place.key(pair[0]).brief(), "one value", "another before it")
            });
        }
    });
}

pub(super) fn fields_and_types(report: &Report, log: &mut Log) {
    for (list, most) in LISTS {
        let found = report.at(list).map(Value::items).unwrap_or_default().len();
        log.judge(found <= most, || breach(list, format!("at most {most} entries"), found));
    }
    for block in BLOCKS.iter().filter(|block| !(report.wrapper && block.only_full)) {
        let steps: Vec<&str> = block.at.split('/').skip(1).collect();
        let fields: Vec<(&str, Form)> = block.fields().collect();
        for_each(report.root, &Path::ROOT, &steps, report.wrapper, &mut |place, value| {
            if let Value::Object(entries) = value {
                judge_fields(log, &fields, place, entries, block.open);
            } // if not, that is judged where it is a field
        });
    }
}

/// Calls `visit` with every value that a pattern leads to; `*` is any item or key.
fn for_each(
    value: &Value,
    place: &Path,
    steps: &[&str],
    wrapper: bool,
    visit: &mut impl FnMut(&Path, &Value),
) {
    let Some((&step, rest)) = steps.split_first() else {
        return visit(place, value);
    };
    let renamed = wrapper && place.is_root() && step == "run";
    let step = if renamed { "selected_run" } else { step };
    if step != "*" {
        if let Some(next) = value.get(step) {
            for_each(next, &place.key(step), rest, wrapper, visit);
        }
        return;
    }
    for (index, item) in value.items().iter().enumerate() {
        for_each(item, &place.item(index), rest, wrapper, visit);
    }
    for (key, item) in value.entries() {
        for_each(item, &place.key(key), rest, wrapper, visit);
    }
}

fn judge_fields(
    log: &mut Log,
    fields: &[(&str, Form)],
    place: &Path,
    entries: &[(String, Value)],
    open: bool,
) {
    let mut known = 0;
    for (index, &(name, form)) in fields.iter().enumerate() {
        // In a good report a field stands at its own place.
        let expected = entries.get(index).filter(|(key, _)| key == name);
        let entry = expected.or_else(|| entries.iter().rev().find(|(key, _)| key == name));
        let found = entry.map(|(_, value)| value);
        known += usize::from(found.is_some());
        log.judge(found.is_some_and(|found| form.allows(found)), || {
            breach(place.key(name).brief(), form.words(), printed(found))
        });
    }
    if open || known == entries.len() {
        return;
    }
    for (key, found) in entries {
        log.judge(fields.iter().any(|(name, _)| name == key), || {
            breach(place.key(key).brief(), "no such field", printed(Some(found)))
        });
    }
}

/// Lists that are looked at to their end, and how far that may be.
const LISTS: [(&str, usize); 8] = [
    ("/requests", MAX_REQUESTS),
    ("/summaries", MAX_SUMMARIES),
    ("/hardware/gpus", MAX_ITEMS),
    ("/model/files", MAX_ITEMS),
    ("/artifacts", MAX_ITEMS),
    ("/extensions/status_reasons", MAX_ITEMS),
    ("/gpu_unlock/devices", MAX_ITEMS),
    ("/excluded_runs", MAX_ITEMS),
];

/// An object of the format.
struct Block {
    /// Its pointer; `*` stands for any item or key.
    at: &'static str,
    /// A wrapper has no such block.
    only_full: bool,
    /// Other fields may stand beside these.
    open: bool,
    /// Names in order, and their form.
    fields: &'static [(&'static str, Form)],
}

impl Block {
    fn fields(&self) -> impl Iterator<Item = (&'static str, Form)> {
        self.fields.iter().flat_map(|(names, form)| names.split(' ').map(|name| (name, *form)))
    }
}

/// The names of a block's fields in order.
fn names(at: &str) -> impl Iterator<Item = &'static str> {
    BLOCKS.iter().filter(move |block| block.at == at).flat_map(Block::fields).map(|(name, _)| name)
}

/// The JSON type of a field.
#[derive(Clone, Copy)]
enum Form {
    Text,
    /// A whole number from 0, printed as one.
    Count,
    /// A number from 0 with at most nine decimals.
    Decimal,
    Flag,
    List,
    Object,
    TextOrNull,
    CountOrNull,
    DecimalOrNull,
    FlagOrNull,
    ListOrNull,
    ObjectOrNull,
    Any,
}

impl Form {
    fn allows(self, value: &Value) -> bool {
        let null = value.is_null();
        let number = value.as_number();
        match self {
            Form::Text => value.as_str().is_some(),
            Form::Count => number.is_some_and(|number| number.as_u64().is_some()),
            Form::Decimal => {
                number.and_then(|number| number.units(9)).is_some_and(|units| units >= 0)
            }
            Form::Flag => value.as_bool().is_some(),
            Form::List => matches!(value, Value::Array(_)),
            Form::Object => matches!(value, Value::Object(_)),
            Form::TextOrNull => null || Form::Text.allows(value),
            Form::CountOrNull => null || Form::Count.allows(value),
            Form::DecimalOrNull => null || Form::Decimal.allows(value),
            Form::FlagOrNull => null || Form::Flag.allows(value),
            Form::ListOrNull => null || Form::List.allows(value),
            Form::ObjectOrNull => null || Form::Object.allows(value),
            Form::Any => true,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Form::Text => "a string",
            Form::Count => "a whole number from 0",
            Form::Decimal => "a number from 0 with at most 9 decimals",
            Form::Flag => "true or false",
            Form::List => "an array",
            Form::Object => "an object",
            Form::TextOrNull => "a string or null",
            Form::CountOrNull => "a whole number from 0 or null",
            Form::DecimalOrNull => "a number from 0 with at most 9 decimals, or null",
            Form::FlagOrNull => "true, false or null",
            Form::ListOrNull => "an array or null",
            Form::ObjectOrNull => "an object or null",
            Form::Any => "any value",
        }
    }
}

/// A block that a wrapper has too.
const fn shared(at: &'static str, fields: &'static [(&'static str, Form)]) -> Block {
    Block { at, only_full: false, open: false, fields }
}

/// A block of a full report only.
const fn full(at: &'static str, fields: &'static [(&'static str, Form)]) -> Block {
    Block { at, only_full: true, open: false, fields }
}

/// A block of a full report that others may extend.
const fn extensible(at: &'static str, fields: &'static [(&'static str, Form)]) -> Block {
    Block { at, only_full: true, open: true, fields }
}

use Form::*;

/// The format, schema version 1. What can be unknown may be null. Extra keys of the document itself
/// and of a request are R002's and R003's business.
const BLOCKS: &[Block] = &[
    extensible(
        "",
        &[
            ("format", Text),
            ("schema_version", Count),
            ("protocol run hardware software model configuration request_counts", Object),
            ("requests summaries concurrency_rounds", List),
            ("quality", Object),
            ("artifacts", List),
            ("missing extensions", Object),
        ],
    ),
    shared(
        "/protocol",
        &[
            ("id", Text),
            ("git_commit", TextOrNull),
            ("profile corpus_sha256", Text),
            ("model_card_revision", TextOrNull),
        ],
    ),
    shared(
        "/run",
        &[
            ("id started_at status", Text),
            ("required_duration_s optional_duration_s", DecimalOrNull),
            ("optional_concurrency", Flag),
            ("command", Text),
        ],
    ),
    shared(
        "/hardware",
        &[
            ("gpus", ListOrNull),
            ("cpu", TextOrNull),
            ("ram_bytes", CountOrNull),
            ("storage background_workloads", ListOrNull),
        ],
    ),
    shared(
        "/hardware/gpus/*",
        &[
            ("device_index", Count),
            ("name", Text),
            ("memory_bytes", CountOrNull),
            ("memory_kind", TextOrNull),
            ("power_limit_w", DecimalOrNull),
        ],
    ),
    shared("/hardware/storage/*", &[("kind model bus", TextOrNull)]),
    shared(
        "/software",
        &[
            ("os", ObjectOrNull),
            ("drivers runtime", ListOrNull),
            ("strata_commit engine_version build_kind runner_commit", TextOrNull),
            ("build_options", Any),
        ],
    ),
    shared("/software/os", &[("name version", TextOrNull)]),
    shared("/software/drivers/*", &[("name", Text), ("version", TextOrNull)]),
    shared("/software/runtime/*", &[("name", Text), ("version", TextOrNull)]),
    shared(
        "/model",
        &[
            ("id revision source_revision quantization", TextOrNull),
            ("files", ListOrNull),
            ("tokenizer_revision custom_pack", TextOrNull),
        ],
    ),
    shared("/model/files/*", &[("path sha256", Text)]),
    shared(
        "/configuration",
        &[
            ("track track_notes", TextOrNull),
            ("context_tokens server_capacity", CountOrNull),
            (ENGINE_OPTIONS, ObjectOrNull),
            ("template", ObjectOrNull),
            ("sampling chat_template_kwargs", Object),
        ],
    ),
    shared("/configuration/template", &[("path", Text), ("sha256", TextOrNull)]),
    shared(
        SAMPLING,
        &[
            ("temperature top_p", Decimal),
            ("top_k", Count),
            ("min_p presence_penalty repetition_penalty", Decimal),
            ("reasoning_effort", TextOrNull),
        ],
    ),
    shared("/request_counts", &[("warmup performance sanity concurrency", Object)]),
    shared("/request_counts/*", &[("planned attempted completed truncated failed skipped", Count)]),
    extensible(
        "/requests/*",
        &[
            ("id phase case_id", Text),
            ("repetition seed max_output_tokens concurrency", Count),
            ("round", CountOrNull),
            ("status", Text),
            ("finish_reason", TextOrNull),
            ("error", Any),
            ("tokens timings metrics sources", Object),
            ("first_delta_kind token_accounting_note", TextOrNull),
            ("evaluation", ObjectOrNull),
        ],
    ),
    full(
        "/requests/*/tokens",
        &[("input_tokens cached_tokens read_tokens output_tokens decode_tokens", CountOrNull)],
    ),
    full(
        "/requests/*/timings",
        &[("prompt_s decode_s ttft_s first_answer_s total_s", DecimalOrNull)],
    ),
    full("/requests/*/metrics", &[("prompt_tps decode_tps", DecimalOrNull)]),
    full("/requests/*/evaluation", &[("category", Text), ("passed", Flag), ("reason", Text)]),
    shared(
        "/summaries/*",
        &[
            ("phase case_id", Text),
            ("concurrency", Count),
            ("metric unit", Text),
            ("median min max", DecimalOrNull),
            ("n", Count),
            ("included_request_ids excluded", List),
        ],
    ),
    shared("/summaries/*/excluded/*", &[("request_id reason", Text)]),
    shared("/quality", &[("passed total", Count), ("categories", Object)]),
    shared("/quality/categories/*", &[("passed total", Count)]),
    full("/artifacts/*", &[("kind path sha256", Text)]),
    extensible(
        "/extensions",
        &[
            ("status_reasons", List),
            ("started_engine", Flag),
            ("server_requests_before_run", CountOrNull),
            ("request_checks", Object),
            ("api_key_sent", Flag),
        ],
    ),
    extensible(
        "/extensions/request_checks/*",
        &[
            ("max_shared_prefix_tokens frozen_input_tokens", CountOrNull),
            ("unexpected_payload_reuse length_outside_tolerance", FlagOrNull),
        ],
    ),
];

const SAMPLING: &str = "/configuration/sampling";

/// The seven groups of engine options.
pub(super) const ENGINE_OPTIONS: &str =
    "kv_cache expert_cache offloading prefill mtp calibration experimental_options";

/// The seven sampling parameters in order.
pub(super) fn sampling_keys() -> Vec<&'static str> {
    names(SAMPLING).collect()
}
