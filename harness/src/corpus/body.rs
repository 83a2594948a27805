//! A request body: a conversation and the settings that follow from the protocol. The builder
//! writes with the same function the loader checks with, so a payload cannot contradict its plan.

use crate::plan::Planned;
use crate::protocol::Protocol;
use serde_json::{Map, Value, json};

/// Everything in the body of a planned request but `messages` and `tools`, in order.
///
/// It names no `model`: the bytes are the same against any server, and each serves its own.
pub(super) fn settings(protocol: &Protocol, request: &Planned) -> Map<String, Value> {
    let sampling = serde_json::to_value(&protocol.sampling).ok();
    let mut settings = sampling
        .and_then(|sampling| sampling.as_object().cloned())
        .expect("a struct of numbers and a text is an object");
    settings.retain(|_, value| !value.is_null());
    settings.insert("seed".into(), json!(request.seed));
    settings.insert("max_tokens".into(), json!(request.max_output_tokens));
    if !request.case.stop.is_empty() {
        settings.insert("stop".into(), json!(request.case.stop));
    }
    settings.insert("stream".into(), json!(true));
    settings.insert("stream_options".into(), json!({"include_usage": true}));
    settings.insert("cache_prompt".into(), json!(false));
    if !protocol.chat_template_kwargs.is_empty() {
        settings.insert("chat_template_kwargs".into(), json!(protocol.chat_template_kwargs));
    }
    settings
}

/// The body as it is sent: one line.
pub(super) fn body(
    protocol: &Protocol,
    request: &Planned,
    messages: Vec<Value>,
    tools: Option<&Value>,
) -> String {
    let mut body = Map::new();
    body.insert("messages".into(), Value::Array(messages));
    if let Some(tools) = tools {
        body.insert("tools".into(), tools.clone());
    }
    body.extend(settings(protocol, request));
    format!("{}\n", Value::Object(body))
}

/// Checks that a body asks for what the protocol says and for nothing else.
pub(super) fn check(protocol: &Protocol, request: &Planned, body: &str) -> Result<(), String> {
    let mut found: Map<String, Value> =
        serde_json::from_str(body).map_err(|error| format!("not a JSON object: {error}"))?;
    match found.remove("messages") {
        Some(Value::Array(messages)) if !messages.is_empty() => {}
        _ => return Err("/messages must be an array with at least one message".to_string()),
    }
    if found.remove("tools").is_some_and(|tools| !tools.is_array()) {
        return Err("/tools must be an array or left out".to_string());
    }
    let mut wanted = settings(protocol, request);
    for (field, found) in found {
        match wanted.remove(&field) {
            None => return Err(format!("/{field} is {found}; the protocol sends no such field")),
            Some(wanted) if wanted != found => {
                return Err(format!("/{field} is {found}; the protocol says {wanted}"));
            }
            Some(_) => {}
        }
    }
    match wanted.into_iter().next() {
        Some((field, wanted)) => Err(format!("/{field} is missing; the protocol says {wanted}")),
        None => Ok(()),
    }
}
