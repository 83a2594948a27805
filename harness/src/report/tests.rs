//! The public report, made again from its own figures: a wire that shows what it states must be
//! accounted for in the same rows, summaries, counts and reasons, field by field.

use crate::client::scripted::Script;
use crate::corpus::Suite;
use crate::fact::Fact;
use crate::fixture::{config, outputs};
use crate::plan::plan;
use crate::probe::Gpu;
use crate::report::rebuild::rebuild_from;
use serde_json::{Value, json};

const GOLDEN: &str = include_str!("../../../golden/reports/full.json");

/// A reply that shows the figures of this row at the moments it states.
fn reply(row: &Value) -> Script {
    let at = |key: &str| row["timings"][key].as_f64().map(|s| (s * 1e6).round() as u64 * 1_000);
    let ms = |key: &str| (row["timings"][key].as_f64().unwrap() * 1e4).round() / 10.0;
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        json!({"choices": [choice]})
    };
    let mut reads = vec![(at("ttft_s"), chunk(json!({"reasoning_content": "Hm"}), Value::Null))];
    if let Some(first_answer) = at("first_answer_s") {
        let delta = match row["finish_reason"].as_str() {
            Some("tool_calls") => json!({"tool_calls": [{"index": 0, "function": {"name": "f"}}]}),
            _ => json!({"content": "Hi"}),
        };
        reads.push((Some(first_answer), chunk(delta, Value::Null)));
    }
    let mut last = chunk(json!({}), row["finish_reason"].clone());
    let tokens = &row["tokens"];
    last["usage"] = json!({
        "prompt_tokens": tokens["input_tokens"], "completion_tokens": tokens["output_tokens"],
        "prompt_tokens_details": {"cached_tokens": tokens["cached_tokens"]},
    });
    last["timings"] = json!({
        "prompt_n": tokens["read_tokens"], "prompt_ms": ms("prompt_s"),
        "predicted_n": tokens["decode_tokens"], "predicted_ms": ms("decode_s"),
        "predicted_per_second": row["metrics"]["decode_tps"],
    });
    reads.push((at("total_s"), last));
    let mut script = Script::events(&[]);
    let line = |(at, data): (Option<u64>, Value)| (at.unwrap(), format!("data: {data}\n\n"));
    script.reads = reads.into_iter().map(line).map(|(at, text)| (at, text.into_bytes())).collect();
    script.reads.push((at("total_s").unwrap(), b"data: [DONE]\n\n".to_vec()));
    script
}

fn made_again() -> (Value, Value) {
    let golden: Value = serde_json::from_str(GOLDEN).unwrap();
    let mut config = config();
    config.protocol = Suite::named("strata-qwen38-thinking-v1-draft.1").unwrap().protocol;
    config.lengths = Fact::Unknown("the protocol pins them".to_string());
    let scripts: Vec<Script> = golden["requests"].as_array().unwrap().iter().map(reply).collect();
    let outputs = outputs(&plan(&config.protocol, false), &scripts, 0);
    let report = rebuild_from(&outputs, &serde_json::to_vec(&config).unwrap()).unwrap();
    (golden, serde_json::from_slice(&report.json).unwrap())
}

/// Equal as text: order of keys, and digits.
fn check(made: &Value, golden: &Value) {
    assert_eq!(
        serde_json::to_string_pretty(made).unwrap(),
        serde_json::to_string_pretty(golden).unwrap()
    );
}

#[test]
fn rows_summaries_and_counts_are_those_of_the_public_report() {
    let (mut golden, mut made) = made_again();
    check(&made["request_counts"], &golden["request_counts"]);
    check(&made["summaries"], &golden["summaries"]);
    for report in [&mut golden, &mut made] {
        for row in report["requests"].as_array_mut().unwrap() {
            // The truth of its sanity cases is not public, so they cannot be judged again.
            if let Some(evaluation) = row["evaluation"].as_object_mut() {
                evaluation.insert("passed".to_string(), Value::Null);
                evaluation.insert("reason".to_string(), Value::Null);
            }
        }
    }
    check(&made["requests"], &golden["requests"]);
    let of_requests = |report: &Value| {
        let missing = report["missing"].as_object().unwrap().clone();
        missing.into_iter().filter(|(key, _)| key.starts_with("/requests/")).collect::<Value>()
    };
    check(&of_requests(&made), &of_requests(&golden));
}

/// Keys of an object in their order.
fn keys(report: &Value, pointer: &str) -> Vec<String> {
    let object = report.pointer(pointer).and_then(Value::as_object);
    object.unwrap_or_else(|| panic!("no object at {pointer}")).keys().cloned().collect()
}

#[test]
fn fields_stand_in_the_order_of_the_public_report() {
    let (golden, made) = made_again();
    for pointer in [
        "",
        "/protocol",
        "/run",
        "/hardware",
        "/software",
        "/software/os",
        "/model",
        "/configuration",
        "/configuration/template",
        "/configuration/sampling",
        "/configuration/chat_template_kwargs",
        "/quality",
        "/quality/categories",
        "/artifacts/0",
        "/extensions/request_checks",
        "/extensions/request_checks/warmup",
    ] {
        assert_eq!(keys(&made, pointer), keys(&golden, pointer), "{pointer}");
    }
    let (golden, made) = (keys(&golden, "/extensions"), keys(&made, "/extensions"));
    assert_eq!(made[..golden.len()], golden);
}

#[test]
fn a_card_without_a_power_limit_has_one_null() {
    let mut config = config();
    config.end = None; // nothing was sent
    let why = "nvidia-smi states `[N/A]`".to_string();
    config.machine.gpus = Fact::Known(vec![Gpu {
        device_index: 0,
        name: "A".to_string(),
        memory_bytes: Fact::Unknown(why.clone()),
        memory_kind: "dedicated".to_string(),
        power_limit_w: Fact::Unknown(why.clone()),
    }]);
    let report = rebuild_from(b"", &serde_json::to_vec(&config).unwrap()).unwrap();
    let report: Value = serde_json::from_slice(&report.json).unwrap();
    for figure in ["memory_bytes", "power_limit_w"] {
        assert_eq!(report["hardware"]["gpus"][0][figure], Value::Null);
        assert_eq!(report["missing"][format!("/hardware/gpus/0/{figure}")], why);
    }
}
