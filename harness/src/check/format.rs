//! The format as a table: every block of a report, of a wrapper and of our own publications with
//! the names and the forms of its fields. The rules of `shape` and the printed schema read it; it
//! knows neither.

use super::report::{MAX_ITEMS, MAX_REQUESTS, MAX_SUMMARIES};
use crate::json::Value;
use crate::publication;
pub(super) use crate::report::{FORMAT, SCHEMA_VERSION};

/// What a document is, by its own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Report,
    /// Somebody's frame round the summaries of a report.
    Wrapper,
    /// A wrapper that this program made.
    Publication,
}

impl Kind {
    pub(super) fn of(root: &Value) -> Kind {
        let wrapper = root.get("selected_run").is_some() && root.get("run").is_none();
        match root.get("format").and_then(Value::as_str) {
            _ if !wrapper => Kind::Report,
            Some(publication::FORMAT) => Kind::Publication,
            _ => Kind::Wrapper,
        }
    }
}

/// Lists that are looked at to their end, and how far that may be.
pub(super) const LISTS: [(&str, usize); 9] = [
    ("/requests", MAX_REQUESTS),
    ("/summaries", MAX_SUMMARIES),
    ("/hardware/gpus", MAX_ITEMS),
    ("/model/files", MAX_ITEMS),
    ("/artifacts", MAX_ITEMS),
    ("/extensions/status_reasons", MAX_ITEMS),
    ("/gpu_unlock/devices", MAX_ITEMS),
    ("/excluded_runs", MAX_ITEMS),
    ("/corrections", MAX_ITEMS),
];

/// An object of the format.
pub(super) struct Block {
    /// Its pointer; `*` stands for any item or key.
    pub(super) at: &'static str,
    /// Who has it.
    pub(super) of: Of,
    pub(super) others: Others,
    /// Names in order, and their form.
    fields: &'static [(&'static str, Form)],
}

/// Documents that have a block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// Reports and wrappers, of anybody.
    Both,
    /// Reports alone.
    Reports,
    /// Publications of this program, which are wrappers.
    Publications,
}

impl Of {
    pub(super) fn is_in(self, kind: Kind) -> bool {
        match self {
            Of::Both => true,
            Of::Reports => kind == Kind::Report,
            Of::Publications => kind == Kind::Publication,
        }
    }
}

/// Whether other fields may stand beside those of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    Refused,
    /// By a rule of their own, R002 or R003.
    RefusedElsewhere,
    Welcome,
}

impl Block {
    pub(super) fn fields(&self) -> impl Iterator<Item = (&'static str, Form)> {
        self.fields.iter().flat_map(|(names, form)| names.split(' ').map(|name| (name, *form)))
    }
}

/// The names of the fields of a report's block in order.
pub(super) fn names(at: &str) -> impl Iterator<Item = &'static str> {
    let of_a_report = |block: &&Block| block.of.is_in(Kind::Report);
    BLOCKS
        .iter()
        .filter(of_a_report)
        .filter(move |block| block.at == at)
        .flat_map(Block::fields)
        .map(|(name, _)| name)
}

/// The JSON type of a field.
#[derive(Clone, Copy)]
pub(super) enum Form {
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
    pub(super) fn allows(self, value: &Value) -> bool {
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

    pub(super) const fn words(self) -> &'static str {
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
    Block { at, of: Of::Both, others: Others::Refused, fields }
}

/// A block of a full report only.
const fn full(at: &'static str, fields: &'static [(&'static str, Form)]) -> Block {
    Block { at, of: Of::Reports, others: Others::Refused, fields }
}

/// A block of a full report beside whose fields another rule refuses any.
const fn framed(at: &'static str, fields: &'static [(&'static str, Form)]) -> Block {
    Block { at, of: Of::Reports, others: Others::RefusedElsewhere, fields }
}

/// A block of a full report that others may extend.
const fn extensible(at: &'static str, fields: &'static [(&'static str, Form)]) -> Block {
    Block { at, of: Of::Reports, others: Others::Welcome, fields }
}

/// A block of our own publications only.
const fn published(at: &'static str, fields: &'static [(&'static str, Form)]) -> Block {
    Block { at, of: Of::Publications, others: Others::Refused, fields }
}

use Form::*;

/// The format, schema version 1, and that of publications. What can be unknown may be null.
pub(super) const BLOCKS: &[Block] = &[
    framed(
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
    framed(
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
    published(
        "",
        &[
            ("format", Text),
            ("schema_version", Count),
            ("operator", ObjectOrNull),
            ("selected_run protocol hardware software model configuration request_counts", Object),
            ("summaries", List),
            ("quality", Object),
            ("memory_observation", ObjectOrNull),
            ("excluded_runs corrections", List),
            ("evidence extensions missing", Object),
        ],
    ),
    published(
        "/excluded_runs/*",
        &[
            ("run_id", Text),
            ("selected_for_headline", Flag),
            ("reason report_path report_sha256", Text),
            ("resource_observation", ObjectOrNull),
        ],
    ),
    published(
        "/corrections/*",
        &[("run_id pointer", Text), ("old new", Any), ("evidence_path evidence_sha256", Text)],
    ),
    published(
        "/evidence",
        &[
            ("archive archive_sha256", Text),
            ("archive_bytes", Count),
            ("selected_report_path selected_report_sha256", Text),
        ],
    ),
    published(
        "/extensions",
        &[("status_reasons", List), ("summary_notes", Object), ("resumed", List)],
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
