//! What a template gets to see of a request, in the shapes that templates expect, and with the
//! control tokens in it broken up. Knows nothing of rendering.

use super::ChatRequest;
use crate::Error;
use crate::text::Tokenizer;
use serde_json::{Map, Value, json};

/// JSON inside JSON that a request may hold.
const MAX_DEPTH: usize = 128;

/// Messages as templates expect them, from messages as clients send them: a content of text parts
/// becomes the text they join to, and arguments of a tool call that come as a string, as OpenAI
/// has them, the object it holds. Everything else stays as it is.
pub(super) fn messages(request: &ChatRequest) -> Result<Vec<Value>, Error> {
    let mut messages = request.messages.clone();
    for (index, message) in messages.iter_mut().enumerate() {
        if let Some(text) = message.get("content").and_then(joined_text) {
            message["content"] = Value::String(text);
        }
        let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
        for (call, value) in calls.into_iter().flatten().enumerate() {
            let Some(arguments) = value.pointer_mut("/function/arguments") else { continue };
            let Value::String(text) = arguments else { continue };
            let parsed: Option<Map<String, Value>> = serde_json::from_str(text).ok();
            *arguments = parsed.map(Value::Object).ok_or_else(|| {
                Error::Input(format!(
                    "messages[{index}].tool_calls[{call}].function.arguments: a JSON object is \
                     expected, got {text:?}"
                ))
            })?;
        }
    }
    Ok(messages)
}

/// The text of parts that are all of `{"type": "text", "text": …}`.
fn joined_text(content: &Value) -> Option<String> {
    let text = |part: &Value| {
        let is_text = part.get("type")? == "text";
        part.get("text").filter(|_| is_text)?.as_str().map(str::to_owned)
    };
    content.as_array()?.iter().map(text).collect()
}

/// Everything a template is given. `write` sees each text that comes from the client, keys
/// included, before the template does.
pub(super) fn variables(
    request: &ChatRequest,
    tokenizer: &Tokenizer,
    write: &dyn Fn(&str) -> String,
) -> Result<Map<String, Value>, Error> {
    let mut variables = Map::new();
    // Absent tools and documents are none, not undefined, to a template.
    variables.insert("documents".to_owned(), Value::Null);
    variables.extend(map_texts(&request.kwargs, write));
    let spelling = |token: Option<_>| token.and_then(|token| tokenizer.spelling(token));
    let own = [
        ("messages", Some(map_text(&Value::Array(messages(request)?), write))),
        ("tools", Some(map_text(request.tools.as_ref().unwrap_or(&Value::Null), write))),
        ("add_generation_prompt", Some(json!(true))),
        ("bos_token", spelling(tokenizer.bos()).map(Value::from)),
        ("eos_token", spelling(tokenizer.eos()).map(Value::from)),
    ];
    for (name, value) in own {
        if request.kwargs.contains_key(name) {
            return Err(Error::Input(format!(
                "chat_template_kwargs.{name}: the engine sets this itself; leave it out"
            )));
        }
        variables.extend(value.map(|value| (name.to_owned(), value)));
    }
    Ok(variables)
}

fn map_text(value: &Value, write: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(write(text)),
        Value::Array(items) => items.iter().map(|item| map_text(item, write)).collect(),
        Value::Object(fields) => Value::Object(map_texts(fields, write)),
        other => other.clone(),
    }
}

fn map_texts(fields: &Map<String, Value>, write: &dyn Fn(&str) -> String) -> Map<String, Value> {
    fields.iter().map(|(key, value)| (write(key), map_text(value, write))).collect()
}

/// Refuses what is nested so deeply that walking it might exhaust the stack.
pub(super) fn check_depth(request: &ChatRequest) -> Result<(), Error> {
    let tools = request.tools.iter().map(|tools| ("tools", tools));
    let messages = request.messages.iter().map(|message| ("messages", message));
    let kwargs = request.kwargs.values().map(|value| ("chat_template_kwargs", value));
    for (name, value) in messages.chain(tools).chain(kwargs) {
        if !is_within(value, MAX_DEPTH) {
            return Err(Error::Input(format!("{name}: nested deeper than {MAX_DEPTH}")));
        }
    }
    Ok(())
}

fn is_within(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(items) => depth > 0 && items.iter().all(|item| is_within(item, depth - 1)),
        Value::Object(fields) => {
            depth > 0 && fields.values().all(|item| is_within(item, depth - 1))
        }
        _ => true,
    }
}
