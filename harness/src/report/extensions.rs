//! `/extensions`: what the format leaves to the runner. With it every printed client time can be
//! recomputed from the bare file, and every request body be told from another.

use super::missing::Place;
use super::*;
use crate::config::{Config, End, Resumed};
use crate::fact::Fact;
use crate::plan::Planned;
use crate::probe::memory::{GpuUse, Observation};
use crate::record::Attempt;
use crate::report::account::Account;
use std::collections::BTreeMap;

/// The program's name in `/extensions/runner`.
const RUNNER: &str = "strata-bench";

pub(super) fn extensions(
    config: &Config,
    status_reasons: Vec<String>,
    at: &mut Place,
) -> Extensions {
    let running = "the run was killed before it could be measured";
    let end = |read: fn(&End) -> Fact<[f64; 3]>| match &config.end {
        Some(end) => read(end),
        None => Fact::Unknown(running.to_string()),
    };
    let cpu = match &config.end {
        Some(end) => end.runner_cpu_s.clone(),
        None => Fact::Unknown(running.to_string()),
    };
    let other = match &config.options {
        Fact::Known(options) => options.other.clone(),
        Fact::Unknown(reason) => Fact::Unknown(reason.clone()),
    };
    let mut load = at.below("load");
    let load = Load {
        before: load.take("before", config.machine.load.clone()),
        after: load.take("after", end(|end| end.load.clone())),
    };
    let device = config.server.field("/device", |device| Some(device.clone()));
    Extensions {
        suite: config.protocol.suite.clone(),
        runner: RUNNER,
        status_reasons,
        started_engine: config.run.started_engine,
        server_requests_before_run: at
            .take("server_requests_before_run", config.server.count("/requests_served")),
        other_engine_options: at.take("other_engine_options", other),
        request_checks: Map::new(),
        optional_stage_skipped: false,
        api_key_sent: config.run.api_key_sent,
        argv: config.run.argv.clone(),
        nonce: at.some("nonce", config.run.nonce.clone(), "none: no --nonce was given"),
        summary_notes: Map::new(),
        request_sha256: Map::new(),
        client_offsets_us: Map::new(),
        engine_device: at.take_whole(
            "engine_device",
            device,
            "the server's /v1/status states null",
        ),
        engine_threads: at.take("engine_threads", config.engine_threads.clone()),
        governor: at.take("governor", config.machine.governor.clone()),
        load,
        runner_version: config.runner.version.clone(),
        runner_dirty: at.take("runner_dirty", config.runner.dirty.clone()),
        runner_cpu_s: at.take("runner_cpu_s", cpu),
        status_missing: config.status_missing.clone(),
        self_test: self_test(config, &mut at.below("self_test")),
        resumed: resumed(config, &mut at.below("resumed")),
        warm_up_until_steady: at.take_whole(
            "warm_up_until_steady",
            config.warm_up.clone().map(|warm_up| serde_json::json!(warm_up)),
            "none: it went on to its end",
        ),
        memory_observation: memory(config, running, &mut at.below("memory_observation")),
    }
}

fn memory(config: &Config, running: &str, at: &mut Place) -> Memory {
    let seen = match &config.end {
        Some(end) => end.memory.clone(),
        None => Fact::Unknown(running.to_string()),
    };
    fn part<T>(seen: &Fact<Observation>, of: impl FnOnce(&Observation) -> Fact<T>) -> Fact<T> {
        match seen {
            Fact::Known(seen) => of(seen),
            Fact::Unknown(reason) => Fact::Unknown(reason.clone()),
        }
    }
    let gpus = at.take("gpus", part(&seen, |seen| seen.gpus.clone()));
    let mut devices = at.below("gpus");
    let device = |(index, card): (String, GpuUse)| {
        let below =
            devices.below(&index).take("power_limit_below_default", card.power_limit_below_default);
        let card = serde_json::json!({
            "used_first_bytes": card.used_first_bytes,
            "used_peak_bytes": card.used_peak_bytes,
            "power_limit_below_default": below,
        });
        (index, card)
    };
    let gpus = gpus.map(|gpus| gpus.into_iter().map(device).collect());
    let resident = "the engine had read the model before this program could look";
    Memory {
        sample_count: at.take("sample_count", part(&seen, |s| Fact::Known(s.sample_count))),
        system: at.take("system", part(&seen, |seen| seen.system.clone())),
        swapped: at.take("swapped", part(&seen, |seen| seen.swapped.clone())),
        gpus,
        other_gpu_processes: at
            .take("other_gpu_processes", part(&seen, |seen| seen.other_gpu_processes.clone())),
        model_resident_bytes_before: at.some("model_resident_bytes_before", None, resident),
    }
}

fn resumed(config: &Config, at: &mut Place) -> Vec<Resumed> {
    for (i, part) in config.resumed.iter().enumerate() {
        let last = part.after_request.as_ref();
        at.below(&i.to_string()).some("after_request", last, "no request was finished before");
    }
    config.resumed.clone()
}

fn self_test(config: &Config, at: &mut Place) -> SelfTest {
    let found = config.self_test.clone();
    let latest = match config.self_test.clone().map(|found| found.latest_stamp_ms()) {
        Fact::Known(latest) => Fact::of(latest, "no event came in any case of the self-test"),
        Fact::Unknown(reason) => Fact::Unknown(reason),
    };
    SelfTest {
        latest_stamp_ms: at.take("latest_stamp_ms", latest),
        failed: at.take("failed", found.map(|found| found.failed())),
    }
}

pub(super) fn request_checks(
    config: &Config,
    rows: &[Request],
    checks: &[RequestCheck],
    at: &mut Place,
) -> Map<String, Value> {
    let unrecorded = match &config.lengths {
        Fact::Unknown(reason) => reason.as_str(),
        Fact::Known(_) => "the recorded lengths leave this request out",
    };
    let mut list = at.below("request_checks");
    let entry = |(row, check): (&Request, &RequestCheck)| {
        let mut at = list.below(&row.id);
        let uncounted = "the input of this request was not counted, or its length not recorded";
        at.some("max_shared_prefix_tokens", check.max_shared_prefix_tokens, unrecorded);
        at.some("frozen_input_tokens", check.frozen_input_tokens, unrecorded);
        at.some("unexpected_payload_reuse", check.unexpected_payload_reuse, uncounted);
        at.some("length_outside_tolerance", check.length_outside_tolerance, uncounted);
        (row.id.clone(), serde_json::json!(check))
    };
    rows.iter().zip(checks).map(entry).collect()
}

/// Digest of each body that was sent.
pub(super) fn request_digests(
    planned: &[Planned],
    by_id: &BTreeMap<&str, &Attempt>,
) -> Map<String, Value> {
    let sent = planned.iter().filter_map(|request| by_id.get(request.id.as_str()));
    sent.map(|attempt| (attempt.request_id.clone(), Value::from(&*attempt.body_sha256))).collect()
}

/// Offsets of each request that was sent.
pub(super) fn client_offsets(accounts: &[Account], at: &mut Place) -> Map<String, Value> {
    let mut list = at.below("client_offsets_us");
    let entry = |account: &Account| {
        let (id, offsets) = (account.row.id.clone(), account.offsets?);
        let mut at = list.below(&id);
        at.some("first_delta", offsets.first_delta, "no token arrived");
        at.some("first_answer", offsets.first_answer, "no answer text or tool call arrived");
        Some((id, serde_json::json!(offsets)))
    };
    accounts.iter().filter_map(entry).collect()
}
