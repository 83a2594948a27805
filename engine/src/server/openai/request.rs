//! The body of a chat completion request, checked field by field. A field that is known is
//! honoured or refused by name; a field that is not known is passed over. `null` is absent.

use super::ApiError;
use crate::text::{ChatRequest, Sampler, SamplerOptions};
use serde_json::{Map, Value};

/// A request that says nothing impossible. Whether it fits a context is not known here.
#[derive(Debug, Clone)]
pub struct ChatCompletion {
    /// Messages, tools and template variables.
    pub conversation: ChatRequest,
    /// Most output tokens; `None` takes the rest of the context.
    pub max_tokens: Option<usize>,
    /// How tokens are chosen.
    pub sampler: Sampler,
    /// The sampler's seed.
    pub seed: u64,
    /// Texts that end the answer.
    pub stop: Vec<String>,
    /// Whether the answer comes as events.
    pub stream: bool,
    /// Whether a stream ends with a chunk for the usage alone.
    pub include_usage: bool,
    /// Whether the prompt may reuse what is already computed.
    pub cache_prompt: bool,
}

impl ChatCompletion {
    /// Parses and checks a body. `random_seed` is for a request that leaves the seed open.
    pub fn parse(body: &[u8], random_seed: u64) -> Result<ChatCompletion, ApiError> {
        let body: Value = serde_json::from_slice(body).map_err(|error| {
            ApiError::new(400, "invalid_json", format!("the body is not valid JSON: {error}"))
        })?;
        let Value::Object(map) = body else {
            let message = format!("the body is {}, expected a JSON object", brief(&body));
            return Err(ApiError::new(400, "invalid_json", message));
        };
        let mut fields = Fields(map);
        fields.refuse_what_is_not_honoured()?;
        let tools_barred = fields.take("tool_choice").is_some_and(|choice| choice == "none");
        let tools = fields.take("tools").map(tools).transpose()?.flatten();
        let stream = fields.boolean("stream", false)?;
        fields.string("model")?;
        let seed = fields.seed()?.unwrap_or(random_seed);
        Ok(ChatCompletion {
            conversation: ChatRequest {
                messages: messages(fields.take("messages"))?,
                tools: tools.filter(|_| !tools_barred),
                kwargs: fields.template_variables()?,
                now: None,
            },
            max_tokens: fields.max_tokens()?,
            sampler: sampler(SamplerOptions { seed, ..fields.sampling()? })?,
            seed,
            stop: fields.stop()?,
            stream,
            include_usage: fields.include_usage(stream)?,
            cache_prompt: fields.boolean("cache_prompt", true)?,
        })
    }
}

/// Fields this server does not honour, each with the values (a JSON list) that ask for nothing.
const NOT_HONOURED: [(&str, &str); 14] = [
    ("n", "[1]"),
    ("best_of", "[1]"),
    ("tool_choice", r#"["auto","none"]"#),
    ("parallel_tool_calls", "[true]"),
    ("functions", "[[]]"),
    ("function_call", r#"["auto","none"]"#),
    ("response_format", r#"[{"type":"text"}]"#),
    ("logprobs", "[false]"),
    ("top_logprobs", "[0]"),
    ("logit_bias", "[{}]"),
    ("modalities", r#"[["text"]]"#),
    ("audio", "[null]"),
    ("suffix", r#"[""]"#),
    ("echo", "[false]"),
];

/// The members of the body that are not yet looked at.
struct Fields(Map<String, Value>);

impl Fields {
    fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    fn refuse_what_is_not_honoured(&self) -> Result<(), ApiError> {
        for (name, allowed) in NOT_HONOURED {
            let Some(value) = self.0.get(name).filter(|value| !value.is_null()) else { continue };
            let list: Vec<Value> = serde_json::from_str(allowed).expect("a list of JSON values");
            if !list.contains(value) {
                let allowed: Vec<String> = list.iter().map(Value::to_string).collect();
                return Err(wrong(name, value, &format!("only {}", allowed.join(" or "))));
            }
        }
        Ok(())
    }

    fn boolean(&mut self, name: &str, default: bool) -> Result<bool, ApiError> {
        match self.take(name) {
            None => Ok(default),
            Some(Value::Bool(value)) => Ok(value),
            Some(other) => Err(wrong(name, &other, "true or false")),
        }
    }

    fn string(&mut self, name: &str) -> Result<Option<String>, ApiError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(value)) => Ok(Some(value)),
            Some(other) => Err(wrong(name, &other, "a string")),
        }
    }

    /// A number; its range is the sampler's to check.
    fn number(&mut self, name: &str, default: f32) -> Result<f32, ApiError> {
        let Some(value) = self.take(name) else { return Ok(default) };
        value.as_f64().map(|number| number as f32).ok_or_else(|| wrong(name, &value, "a number"))
    }

    fn sampling(&mut self) -> Result<SamplerOptions, ApiError> {
        let top_k = match self.take("top_k") {
            None => 0,
            // The spelling of "off" in vLLM and Transformers.
            Some(value) if value.as_i64() == Some(-1) => 0,
            Some(value) => value
                .as_u64()
                .and_then(|count| usize::try_from(count).ok())
                .ok_or_else(|| wrong("top_k", &value, "a whole number, 0 or -1 for all"))?,
        };
        Ok(SamplerOptions {
            temperature: self.number("temperature", 1.0)?,
            top_k,
            top_p: self.number("top_p", 1.0)?,
            min_p: self.number("min_p", 0.0)?,
            presence_penalty: self.number("presence_penalty", 0.0)?,
            frequency_penalty: self.number("frequency_penalty", 0.0)?,
            repetition_penalty: self.number("repetition_penalty", 1.0)?,
            seed: 0,
        })
    }

    /// Every integer of 64 bits, signed or not; the negative ones modulo 2^64.
    fn seed(&mut self) -> Result<Option<u64>, ApiError> {
        let Some(value) = self.take("seed") else { return Ok(None) };
        match (value.as_u64(), value.as_i64()) {
            (Some(seed), _) => Ok(Some(seed)),
            (None, Some(-1)) => Ok(None),
            (None, Some(seed)) => Ok(Some(seed as u64)),
            (None, None) => Err(wrong("seed", &value, "an integer of 64 bits")),
        }
    }

    /// The newer name wins; -1 is absent.
    fn max_tokens(&mut self) -> Result<Option<usize>, ApiError> {
        let mut limit = |name| {
            let Some(value) = self.take(name) else { return Ok(None) };
            match value.as_i64() {
                Some(-1) => Ok(None),
                Some(count @ 1..) => Ok(Some(usize::try_from(count).unwrap_or(usize::MAX))),
                _ => Err(wrong(name, &value, "1 or more, or -1 for the rest of the context")),
            }
        };
        let (newer, older) = (limit("max_completion_tokens")?, limit("max_tokens")?);
        Ok(newer.or(older))
    }

    fn stop(&mut self) -> Result<Vec<String>, ApiError> {
        let expected = format!("a text or up to {STOP_MAX} texts, none of them empty");
        let Some(value) = self.take("stop") else { return Ok(Vec::new()) };
        let texts = match &value {
            Value::Array(texts) if texts.len() <= STOP_MAX => texts.as_slice(),
            Value::Array(_) => return Err(wrong("stop", &value, &expected)),
            text => std::slice::from_ref(text),
        };
        let text = |text: &Value| match text.as_str() {
            Some(text) if !text.is_empty() => Ok(text.to_owned()),
            _ => Err(wrong("stop", text, &expected)),
        };
        texts.iter().map(text).collect()
    }

    fn include_usage(&mut self, stream: bool) -> Result<bool, ApiError> {
        match self.take("stream_options") {
            None => Ok(false),
            Some(Value::Object(_)) if !stream => {
                Err(ApiError::field("stream_options", "is given, but stream is not true"))
            }
            Some(Value::Object(options)) => match options.get("include_usage") {
                None | Some(Value::Null) => Ok(false),
                Some(Value::Bool(include)) => Ok(*include),
                Some(other) => Err(wrong("stream_options.include_usage", other, "true or false")),
            },
            Some(other) => Err(wrong("stream_options", &other, "an object")),
        }
    }

    /// `chat_template_kwargs` as they are. `reasoning_effort` is one more variable, and `none`
    /// also turns `enable_thinking` off; neither replaces what the former says.
    fn template_variables(&mut self) -> Result<Map<String, Value>, ApiError> {
        let mut variables = match self.take("chat_template_kwargs") {
            None => Map::new(),
            Some(Value::Object(variables)) => variables,
            Some(other) => return Err(wrong("chat_template_kwargs", &other, "an object")),
        };
        if let Some(effort) = self.take("reasoning_effort") {
            if !effort.as_str().is_some_and(|effort| EFFORTS.contains(&effort)) {
                let expected = format!("one of {}", EFFORTS.join(", "));
                return Err(wrong("reasoning_effort", &effort, &expected));
            }
            if effort == "none" {
                variables.entry("enable_thinking").or_insert(Value::Bool(false));
            }
            variables.entry("reasoning_effort").or_insert(effort);
        }
        Ok(variables)
    }
}

/// A sampler's refusal begins with the name of the field.
fn sampler(options: SamplerOptions) -> Result<Sampler, ApiError> {
    Sampler::new(options).map_err(|error| {
        let error = ApiError::from(error);
        let param = error.message.split(' ').next().map(str::to_owned);
        ApiError { param, ..error }
    })
}

fn messages(value: Option<Value>) -> Result<Vec<Value>, ApiError> {
    match value {
        Some(Value::Array(list)) if !list.is_empty() => {
            list.into_iter().enumerate().map(|(at, value)| message(at, value)).collect()
        }
        Some(other) => Err(wrong("messages", &other, "a list of at least one message")),
        None => Err(ApiError::field("messages", "is missing: expected a list of messages")),
    }
}

/// One message: its role known, its content text. What else it holds is the template's.
fn message(at: usize, value: Value) -> Result<Value, ApiError> {
    let place = format!("messages[{at}]");
    let Value::Object(mut message) = value else {
        return Err(wrong(&place, &value, "an object"));
    };
    let role = message.get("role").unwrap_or(&Value::Null);
    let role = match role.as_str() {
        Some("developer") => "system", // OpenAI's newer name for the same thing
        Some(role) if ROLES.contains(&role) => role,
        _ => {
            let expected = format!("one of {}, developer", ROLES.join(", "));
            return Err(wrong(&format!("{place}.role"), role, &expected));
        }
    }
    .to_owned();
    let calls = match message.get("tool_calls") {
        None | Some(Value::Null) => false,
        Some(Value::Array(calls)) => !calls.is_empty(),
        Some(other) => return Err(wrong(&format!("{place}.tool_calls"), other, "a list")),
    };
    let field = format!("{place}.content");
    match message.get("content").unwrap_or(&Value::Null) {
        Value::String(_) => {}
        Value::Array(parts) => check_parts(&field, parts)?,
        Value::Null if role == "assistant" && calls => {}
        other => return Err(wrong(&field, other, "a text or a list of text parts")),
    }
    message.insert("role".into(), Value::String(role));
    Ok(Value::Object(message))
}

/// Text parts alone.
fn check_parts(field: &str, parts: &[Value]) -> Result<(), ApiError> {
    for (at, part) in parts.iter().enumerate() {
        match part.get("type").and_then(Value::as_str) {
            Some("text") if part["text"].is_string() => {}
            Some("text") | None => {
                let expected = r#"{"type": "text", "text": …}"#;
                return Err(wrong(&format!("{field}[{at}]"), part, expected));
            }
            Some(_) => {
                let place = format!("{field}[{at}].type");
                return Err(wrong(&place, &part["type"], r#"only "text""#));
            }
        }
    }
    Ok(())
}

/// Function tools; an empty list is none.
fn tools(value: Value) -> Result<Option<Value>, ApiError> {
    let Value::Array(list) = &value else { return Err(wrong("tools", &value, "a list")) };
    for (at, tool) in list.iter().enumerate() {
        if tool["type"] != "function" || !tool["function"]["name"].is_string() {
            let expected = r#"{"type": "function", "function": {"name": …}}"#;
            return Err(wrong(&format!("tools[{at}]"), tool, expected));
        }
    }
    Ok((!list.is_empty()).then_some(value))
}

fn wrong(field: &str, found: &Value, expected: &str) -> ApiError {
    ApiError::field(field, format_args!("is {}, expected {expected}", brief(found)))
}

/// A value as an error message shows it: short, whatever a client sent.
fn brief(value: &Value) -> String {
    match value {
        Value::Object(map) if map.is_empty() => "an empty object".into(),
        Value::Object(_) => "an object".into(),
        Value::Array(list) => format!("a list of {}", list.len()),
        Value::String(text) if text.chars().count() > BRIEF_CHARS => {
            let start: String = text.chars().take(BRIEF_CHARS).collect();
            format!("{}…", Value::String(start))
        }
        other => other.to_string(),
    }
}

const ROLES: [&str; 4] = ["system", "user", "assistant", "tool"];

const EFFORTS: [&str; 6] = ["none", "minimal", "low", "medium", "high", "xhigh"];

/// Stop texts a request may have.
const STOP_MAX: usize = 16;

const BRIEF_CHARS: usize = 40;

#[cfg(test)]
mod tests;
