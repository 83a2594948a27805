//! A small run for tests: a protocol of five requests and two rounds of two, a configuration, and
//! replies of an honest server as scripts.

use crate::client::scripted::Script;
use crate::config::{Artifact, Config, Declared, End, Options, Run, Runner, SCHEMA_VERSION};
use crate::corpus::Lengths;
use crate::fact::Fact;
use crate::plan::Planned;
use crate::probe::memory::{Observation, SwapUse, SystemUse};
use crate::probe::{HashedFile, Machine};
use crate::protocol::Protocol;
use crate::run::server::SelfDescription;
use crate::self_test::{Outcome, SelfTest};
use proptest::test_runner::Config as ProptestConfig;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

pub(crate) fn protocol() -> Protocol {
    let case = |id: &str| {
        let mut case = json!({"nominal_input_tokens": null, "category": null, "evaluator": null});
        case["id"] = json!(id);
        case
    };
    let stage = |phase: &str, repetitions: u32, cap: u32, cases: Vec<Value>| {
        json!({
            "phase": phase, "optional": false, "concurrency": 1, "repetitions": repetitions,
            "order": "repetition-outer", "seed": "repetition", "max_output_tokens": cap,
            "cases": cases,
        })
    };
    let mut rounds = stage("concurrency", 2, 64, vec![case("pair-a"), case("pair-b")]);
    rounds["optional"] = json!(true);
    rounds["concurrency"] = json!(2);
    let sanity = json!({
        "id": "I1", "nominal_input_tokens": null, "category": "instruction",
        "evaluator": {"kind": "exact_text", "expected": "Hi there"},
    });
    let text = json!({
        "id": "small-v1", "profile": "tests", "suite": "small", "not_replayable": null,
        "model_card_revision": null, "corpus_sha256": "c0".repeat(32), "template_sha256": null,
        "sampling": {
            "temperature": 1.0, "top_p": 0.95, "top_k": 20, "min_p": 0.0, "presence_penalty": 0.0,
            "repetition_penalty": 1.0, "reasoning_effort": null,
        },
        "chat_template_kwargs": {}, "categories": ["instruction"],
        "passed_reasons": {
            "exact_text": "the exact expected text", "json_value": "the expected JSON value",
            "tool_call": "the expected tool call",
        },
        "length_tolerance_tokens": 8,
        "phases": [
            stage("warmup", 1, 16, vec![case("warmup")]),
            stage("performance", 3, 64, vec![case("short")]),
            stage("sanity", 1, 32, vec![sanity]),
            rounds,
        ],
        "frozen_input_tokens": null,
    });
    Protocol::parse(&text.to_string(), "the test protocol").unwrap()
}

/// So many cases of a property that costs more than most; in proportion more where
/// `PROPTEST_CASES`, which proptest reads into its default, asks for more than are usual.
pub(crate) fn cases(quick: u32) -> ProptestConfig {
    const USUAL: u32 = 256;
    let asked = ProptestConfig::default().cases;
    ProptestConfig::with_cases((u64::from(quick) * u64::from(asked) / u64::from(USUAL)) as u32)
}

/// Input tokens that [`config`] records for every request.
pub(crate) const INPUT_TOKENS: u64 = 100;

fn lengths(protocol: &Protocol) -> Lengths {
    let ids = crate::plan::plan(protocol, true).into_iter().map(|request| request.id);
    let length = json!({"input_tokens": INPUT_TOKENS, "max_shared_prefix_tokens": 3});
    let requests: Map<String, Value> = ids.map(|id| (id, length.clone())).collect();
    serde_json::from_value(json!({
        "tokenizer_sha256": "70".repeat(32), "template_sha256": "7e".repeat(32),
        "made_by": "a test", "requests": requests,
    }))
    .unwrap()
}

/// A conforming run that has ended.
pub(crate) fn config() -> Config {
    let protocol = protocol();
    let artifact = |path: &str, byte: &str| Artifact {
        kind: "provenance".to_string(),
        path: path.to_string(),
        sha256: byte.repeat(32),
    };
    let text = |text: &str| Fact::Known(text.to_string());
    Config {
        schema_version: SCHEMA_VERSION,
        lengths: Fact::Known(lengths(&protocol)),
        protocol,
        protocol_known: true,
        run: Run {
            id: "20270115T080000Z-0badcafe".to_string(),
            started_at: "2027-01-15T08:00:00Z".to_string(),
            argv: ["strata-bench", "run", "--profile", "<home>/p.json"].map(String::from).to_vec(),
            started_engine: true,
            api_key_sent: false,
            nonce: None,
            optional: false,
        },
        declared: Declared { track: Some("custom".to_string()), ..Declared::default() },
        server: SelfDescription {
            status: Fact::Known(json!({
                "engine": {"version": "0.1.0", "commit": "ab".repeat(20), "dirty": false},
                "build": {"kind": "source", "options": {"profile": "dev"}},
                "model": {"id": "m-f16", "quantization": "F16"},
                "context_tokens": 512, "capacity": 1,
                "device": {"name": "cpu", "kernels": "avx2", "threads": 2},
                "requests_served": 0,
            })),
            props: Fact::Unknown("not asked".to_string()),
            models: Fact::Unknown("not asked".to_string()),
        },
        options: Fact::Known(Options {
            groups: crate::run::profile::group_names()
                .into_iter()
                .map(|g| (g, json!({})))
                .collect(),
            other: Fact::Known(Map::new()),
        }),
        machine: Machine { cpu: text("a processor"), ..Machine::unknown("not looked at") },
        engine_threads: Fact::Known(3),
        model_files: Fact::Known(vec![HashedFile {
            path: "m.gguf".to_string(),
            sha256: "0f".repeat(32),
        }]),
        runner: Runner {
            version: "0.1.0".to_string(),
            commit: Fact::Known("ab".repeat(20)),
            dirty: Fact::Known(false),
        },
        provenance: vec![artifact(crate::report::assemble::TEMPLATE_PATH, "7e")],
        status_missing: Map::new(),
        self_test: Fact::Known(self_test()),
        warm_up: Fact::Unknown("none: no --until-steady was given".to_string()),
        resumed: Vec::new(),
        end: Some(End {
            stop: None,
            runner_cpu_s: Fact::Known(0.25),
            load: Fact::Known([0.5, 0.25, 0.125]),
            memory: memory(),
        }),
    }
}

fn self_test() -> SelfTest {
    let (name, latest_ns) = ("plain".to_string(), Some(31_250));
    SelfTest { cases: vec![Outcome { name, problem: None, latest_ns }] }
}

fn memory() -> Fact<Observation> {
    Fact::Known(Observation {
        sample_count: 3,
        system: Fact::Known(SystemUse {
            used_peak_bytes: 3 << 30,
            available_min_bytes: 5 << 30,
            swap_used_min_bytes: 0,
            swap_used_max_bytes: 0,
        }),
        swapped: Fact::Known(SwapUse { pages_in: 0, pages_out: 0 }),
        gpus: Fact::Known(BTreeMap::new()),
        other_gpu_processes: Fact::Unknown("the engine uses no card".to_string()),
    })
}

/// What an honest server does with one request. Times are in units, by default of the tenth of a
/// millisecond that it prints.
#[derive(Debug, Clone)]
pub(crate) struct Honest {
    pub(crate) cached: u64,
    pub(crate) prompt: u64,
    /// One per output token. The engine counts all of them as decoding, the first too.
    pub(crate) steps: Vec<u64>,
    /// How many of the tokens are reasoning.
    pub(crate) reasoning: usize,
    /// From the server's clock to the client's.
    pub(crate) delay: u64,
    pub(crate) truncated: bool,
    /// Nanoseconds of a unit of time.
    pub(crate) unit_ns: u64,
    /// The engine prints whole multiples of this, rounded down.
    pub(crate) printed_ns: u64,
    /// The client notices what came at the next multiple of this.
    pub(crate) tick_ns: u64,
}

impl Honest {
    pub(crate) const PLAIN: Honest = Honest {
        cached: 0,
        prompt: 5_133,
        steps: Vec::new(),
        reasoning: 0,
        delay: 20,
        truncated: false,
        unit_ns: 100_000,
        printed_ns: 100_000,
        tick_ns: 1,
    };

    /// The reply as it reaches the client. The answer is `Hi there` whatever its number of tokens.
    pub(crate) fn script(&self) -> Script {
        let chunk = |delta: Value, finish: Option<&str>| {
            json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).to_string()
        };
        let mut at = self.prompt + self.delay;
        let mut reads: Vec<(u64, String)> =
            vec![(self.delay, chunk(json!({"role": "assistant"}), None))];
        for (i, step) in self.steps.iter().enumerate() {
            let answer = self.steps.len() - self.reasoning;
            let delta = match i.checked_sub(self.reasoning) {
                None => json!({"reasoning_content": "hm "}),
                Some(0) if answer == 1 => json!({"content": "Hi there"}),
                Some(0) => json!({"content": "Hi"}),
                Some(1) => json!({"content": " there"}),
                Some(_) => json!({"content": " "}),
            };
            at += step;
            reads.push((at, chunk(delta, None)));
        }
        let steps_a_ms = 1_000_000 / self.printed_ns;
        let ms = |units: u64| (units * self.unit_ns / self.printed_ns) as f64 / steps_a_ms as f64;
        let (prompt_ms, decode_ms) = (ms(self.prompt), ms(self.steps.iter().sum()));
        let fresh = INPUT_TOKENS - self.cached;
        let predicted = self.steps.len();
        let finish = if self.truncated { "length" } else { "stop" };
        let last = json!({
            "choices": [{"index": 0, "delta": {}, "finish_reason": finish}],
            "usage": {
                "prompt_tokens": INPUT_TOKENS, "completion_tokens": predicted,
                "prompt_tokens_details": {"cached_tokens": self.cached},
            },
            "timings": {
                "cache_n": self.cached, "prompt_n": fresh, "prompt_ms": prompt_ms,
                "predicted_n": predicted, "predicted_ms": decode_ms,
                "predicted_per_second": predicted as f64 * 1e3 / decode_ms,
            },
        });
        reads.push((at, last.to_string()));
        reads.push((at, "[DONE]".to_string()));
        let line = |(units, data): (u64, String)| {
            let noticed_ns = (units * self.unit_ns).next_multiple_of(self.tick_ns);
            (noticed_ns, format!("data: {data}\n\n").into_bytes())
        };
        let mut script = Script::events(&[]);
        script.reads = reads.into_iter().map(line).collect();
        script
    }
}

/// Records `scripts` as replies to the plan of [`protocol`], one line each; the gap between two
/// requests is `gap_ns`. Those of a round start at once.
pub(crate) fn outputs(planned: &[Planned], scripts: &[Script], gap_ns: u64) -> Vec<u8> {
    let transport = crate::client::scripted::Scripted::new(scripts.iter().cloned());
    let clock = transport.clock.clone();
    let (mut lines, mut end_ns) = (Vec::new(), 0);
    for round in crate::plan::rounds(planned, |request| request) {
        let start_ns = end_ns + gap_ns;
        for request in round {
            clock.set(start_ns);
            let attempt = crate::client::attempt::attempt(&transport, &clock, &request.id, "{}");
            end_ns = end_ns.max(attempt.end_ns);
            lines.extend(serde_json::to_vec(&attempt).unwrap());
            lines.push(b'\n');
        }
    }
    lines
}
