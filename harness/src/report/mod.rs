//! A report, format `strata-standard-benchmark`, schema 1: its fields in the order they are
//! printed. Types only; `assemble` fills them.

pub mod account;
pub mod assemble;
mod environment;
pub mod evaluate;
mod extensions;
pub mod missing;
pub mod number;
pub mod rebuild;
mod rounds;
pub mod status;
pub mod summary;
pub mod transcript;

use crate::config::{Artifact, Resumed};
use crate::probe::Named;
use crate::probe::memory::{SwapUse, SystemUse};
use crate::protocol::{PhaseName, Sampling};
use crate::report::transcript::DeltaKind;
use number::{ClientInstant, ClientTime, EngineTime};
use serde::Serialize;
use serde_json::{Map, Value};

/// The value of `/format`.
pub const FORMAT: &str = "strata-standard-benchmark";
/// The value of `/schema_version`.
pub const SCHEMA_VERSION: u64 = 1;
/// The report's file name in the folder of a run.
pub const RESULTS: &str = "results.json";

/// The whole document.
#[derive(Debug, Serialize)]
#[allow(missing_docs)] // the format's names
pub struct Report {
    pub format: &'static str,
    pub schema_version: u64,
    pub protocol: ProtocolKey,
    pub run: Run,
    pub hardware: Hardware,
    pub software: Software,
    pub model: Model,
    pub configuration: Configuration,
    pub request_counts: RequestCounts,
    pub requests: Vec<Request>,
    pub summaries: Vec<Summary>,
    pub concurrency_rounds: Vec<ConcurrencyRound>,
    pub quality: Quality,
    pub artifacts: Vec<Artifact>,
    pub missing: Map<String, Value>,
    pub extensions: Extensions,
}

/// `/protocol`
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct ProtocolKey {
    pub id: String,
    pub git_commit: Option<String>,
    pub profile: String,
    pub corpus_sha256: String,
    pub model_card_revision: Option<String>,
}

/// `/run`
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Run {
    pub id: String,
    pub started_at: String,
    pub status: RunStatus,
    pub required_duration_s: Option<f64>,
    pub optional_duration_s: Option<f64>,
    pub optional_concurrency: bool,
    pub command: String,
}

/// `/run/status`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum RunStatus {
    Complete,
    Nonconforming,
}

/// `/hardware`
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Hardware {
    pub gpus: Option<Vec<Gpu>>,
    pub cpu: Option<String>,
    pub ram_bytes: Option<u64>,
    pub storage: Option<Vec<Storage>>,
    pub background_workloads: Option<Vec<String>>,
}

/// `/hardware/gpus/*`
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Gpu {
    pub device_index: u32,
    pub name: String,
    pub memory_bytes: Option<u64>,
    pub memory_kind: String,
    pub power_limit_w: Option<f64>,
}

/// `/hardware/storage/*`
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Storage {
    pub kind: Option<String>,
    pub model: Option<String>,
    pub bus: Option<String>,
}

/// `/software`
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Software {
    pub os: OperatingSystem,
    pub drivers: Option<Vec<Named>>,
    pub runtime: Option<Vec<Named>>,
    pub strata_commit: Option<String>,
    pub engine_version: Option<String>,
    pub build_kind: Option<String>,
    pub runner_commit: Option<String>,
    pub build_options: Option<Value>,
}

/// `/software/os`
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct OperatingSystem {
    pub name: Option<String>,
    pub version: Option<String>,
}

/// `/model`
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Model {
    pub id: Option<String>,
    pub revision: Option<String>,
    pub source_revision: Option<String>,
    pub quantization: Option<String>,
    pub files: Option<Vec<crate::probe::HashedFile>>,
    pub tokenizer_revision: Option<String>,
    pub custom_pack: Option<String>,
}

/// `/configuration`
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Configuration {
    pub track: Option<String>,
    pub track_notes: Option<String>,
    pub context_tokens: Option<u64>,
    pub server_capacity: Option<u64>,
    pub kv_cache: Option<Map<String, Value>>,
    pub expert_cache: Option<Map<String, Value>>,
    pub offloading: Option<Map<String, Value>>,
    pub prefill: Option<Map<String, Value>>,
    pub mtp: Option<Map<String, Value>>,
    pub calibration: Option<Map<String, Value>>,
    pub experimental_options: Option<Map<String, Value>>,
    pub template: Template,
    pub sampling: Sampling,
    pub chat_template_kwargs: Map<String, Value>,
}

/// `/configuration/template`
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Template {
    pub path: &'static str,
    pub sha256: String,
}

/// `/request_counts`
#[derive(Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct RequestCounts {
    pub warmup: Counts,
    pub performance: Counts,
    pub sanity: Counts,
    pub concurrency: Counts,
}

impl RequestCounts {
    /// The counts of one stage.
    pub fn of(&mut self, phase: PhaseName) -> &mut Counts {
        match phase {
            PhaseName::Warmup => &mut self.warmup,
            PhaseName::Performance => &mut self.performance,
            PhaseName::Sanity => &mut self.sanity,
            PhaseName::Concurrency => &mut self.concurrency,
        }
    }
}

/// `/request_counts/*`
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Counts {
    pub planned: u64,
    pub attempted: u64,
    pub completed: u64,
    pub truncated: u64,
    pub failed: u64,
    pub skipped: u64,
}

impl Counts {
    /// One more planned request, which ended so.
    pub fn count(&mut self, status: RequestStatus) {
        self.planned += 1;
        match status {
            RequestStatus::Completed => self.completed += 1,
            RequestStatus::Truncated => self.truncated += 1,
            RequestStatus::Failed => self.failed += 1,
            RequestStatus::Skipped => self.skipped += 1,
        }
        self.attempted = self.completed + self.truncated + self.failed;
    }
}

/// `/requests/*`
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Request {
    pub id: String,
    pub phase: PhaseName,
    pub case_id: String,
    pub repetition: u32,
    pub seed: u64,
    pub max_output_tokens: u64,
    pub concurrency: u32,
    pub round: Option<u32>,
    pub status: RequestStatus,
    pub finish_reason: Option<String>,
    pub error: Option<String>,
    pub tokens: Tokens,
    pub timings: Timings,
    pub metrics: Metrics,
    pub sources: Sources,
    pub first_delta_kind: Option<DeltaKind>,
    pub token_accounting_note: Option<String>,
    pub evaluation: Option<Evaluation>,
}

/// `/requests/*/status`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum RequestStatus {
    Completed,
    Truncated,
    Failed,
    Skipped,
}

impl RequestStatus {
    /// As printed.
    pub const fn as_str(self) -> &'static str {
        match self {
            RequestStatus::Completed => "completed",
            RequestStatus::Truncated => "truncated",
            RequestStatus::Failed => "failed",
            RequestStatus::Skipped => "skipped",
        }
    }
}

/// `/requests/*/tokens`
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Tokens {
    pub input_tokens: Option<u64>,
    pub cached_tokens: Option<u64>,
    pub read_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub decode_tokens: Option<u64>,
}

/// `/requests/*/timings`: seconds of two clocks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Timings {
    pub prompt_s: Option<EngineTime>,
    pub decode_s: Option<EngineTime>,
    pub ttft_s: Option<ClientTime>,
    pub first_answer_s: Option<ClientTime>,
    pub total_s: Option<ClientTime>,
}

/// `/requests/*/metrics`: tokens per second.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Metrics {
    pub prompt_tps: Option<f64>,
    pub decode_tps: Option<f64>,
}

/// `/requests/*/sources`: where each number was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Sources {
    pub input_tokens: &'static str,
    pub cached_tokens: &'static str,
    pub read_tokens: &'static str,
    pub output_tokens: &'static str,
    pub decode_tokens: &'static str,
    pub engine_timings: &'static str,
    pub client_timings: &'static str,
}

/// `/requests/*/evaluation`
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Evaluation {
    pub category: String,
    pub passed: bool,
    pub reason: String,
}

/// `/summaries/*`
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Summary {
    pub phase: PhaseName,
    pub case_id: String,
    pub concurrency: u32,
    pub metric: &'static str,
    pub unit: &'static str,
    pub median: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub n: usize,
    pub included_request_ids: Vec<String>,
    pub excluded: Vec<Excluded>,
}

/// `/summaries/*/excluded/*`
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Excluded {
    pub request_id: String,
    pub reason: String,
}

/// `/concurrency_rounds/*`: the start is an offset as in `/extensions/client_offsets_us`, the rate
/// that of all output over all of the round's time.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct ConcurrencyRound {
    pub round: u32,
    pub concurrency: usize,
    pub request_ids: Vec<String>,
    pub started_us: Option<ClientInstant>,
    pub duration_s: Option<ClientTime>,
    pub completed: u64,
    pub truncated: u64,
    pub failed: u64,
    pub skipped: u64,
    pub output_tokens: Option<u64>,
    pub output_tps: Option<f64>,
}

/// `/quality`
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Quality {
    pub passed: u64,
    pub total: u64,
    pub categories: Map<String, Value>,
}

/// `/extensions`: what the format leaves to the runner, by request id where it is about requests.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Extensions {
    pub suite: String,
    pub runner: &'static str,
    pub status_reasons: Vec<String>,
    pub started_engine: bool,
    pub server_requests_before_run: Option<u64>,
    pub other_engine_options: Option<Map<String, Value>>,
    pub request_checks: Map<String, Value>,
    pub optional_stage_skipped: bool,
    pub api_key_sent: bool,
    pub argv: Vec<String>,
    pub nonce: Option<String>,
    pub summary_notes: Map<String, Value>,
    pub request_sha256: Map<String, Value>,
    pub client_offsets_us: Map<String, Value>,
    pub engine_device: Option<Value>,
    pub engine_threads: Option<u64>,
    pub governor: Option<String>,
    pub load: Load,
    pub runner_version: String,
    pub runner_dirty: Option<bool>,
    pub runner_cpu_s: Option<f64>,
    pub status_missing: Map<String, Value>,
    pub self_test: SelfTest,
    pub resumed: Vec<Resumed>,
    pub memory_observation: Memory,
    pub warm_up_until_steady: Option<Value>,
}

/// `/extensions/memory_observation`: what was seen of the machine's memory while requests ran.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Memory {
    pub sample_count: Option<usize>,
    pub system: Option<SystemUse>,
    pub swapped: Option<SwapUse>,
    pub gpus: Option<Map<String, Value>>,
    pub other_gpu_processes: Option<u64>,
    pub model_resident_bytes_before: Option<u64>,
}

/// `/extensions/self_test`: how the client did against a server of known truth before the run.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct SelfTest {
    pub latest_stamp_ms: Option<f64>,
    pub failed: Option<Vec<String>>,
}

/// `/extensions/load`: the kernel's load averages over 1, 5 and 15 minutes.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Load {
    pub before: Option<[f64; 3]>,
    pub after: Option<[f64; 3]>,
}

/// `/extensions/client_offsets_us/*`: moments of the client's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct ClientOffsets {
    pub dispatch: ClientInstant,
    pub first_delta: Option<ClientInstant>,
    pub first_answer: Option<ClientInstant>,
    pub end: ClientInstant,
}

/// `/extensions/request_checks/*`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct RequestCheck {
    pub max_shared_prefix_tokens: Option<u64>,
    pub frozen_input_tokens: Option<u64>,
    pub unexpected_payload_reuse: Option<bool>,
    pub length_outside_tolerance: Option<bool>,
}

#[cfg(test)]
mod tests;
