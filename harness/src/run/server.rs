//! What a server says of itself: `/v1/status`, which strata answers, or `/props`, which llama.cpp
//! does, and `/v1/models`, which all do. Whatever it does not say is a fact with a reason.

use crate::client::http::{Http, MAX_STATUS_BYTES};
use crate::client::transport::Fault;
use crate::fact::Fact;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// Deepest nesting of an answer: a report holds parts of it, and is read to a depth of its own.
const MAX_DEPTH: usize = 32;

/// Where llama.cpp's `/props` states what `/v1/status` does. Source: its tools/server/README.md.
const PROPS: [(&str, &str); 6] = [
    ("/engine/version", "/build_info"),
    ("/model/path", "/model_path"),
    ("/model/quantization", "/model_ftype"),
    ("/template/text", "/chat_template"),
    ("/context_tokens", "/default_generation_settings/n_ctx"),
    ("/capacity", "/total_slots"),
];

/// The answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelfDescription {
    /// `/v1/status`.
    pub status: Fact<Value>,
    /// `/props`, where there is no `/v1/status`.
    pub props: Fact<Value>,
    /// `/v1/models`.
    pub models: Fact<Value>,
}

impl SelfDescription {
    /// Asks for them. An error is that of a server that cannot be reached at all.
    pub fn ask(http: &Http) -> Result<SelfDescription, Fault> {
        let status = ask(http, "/v1/status")?;
        let props = match status {
            Fact::Known(_) => Fact::Unknown("not asked: /v1/status is answered".to_string()),
            Fact::Unknown(_) => ask(http, "/props")?,
        };
        Ok(SelfDescription { status, props, models: ask(http, "/v1/models")? })
    }

    /// A field of `/v1/status`, or what `/props` has for it; `read` returns `None` for a value of
    /// another type.
    pub fn field<T>(&self, pointer: &str, read: fn(&Value) -> Option<T>) -> Fact<T> {
        let props = self.props.known();
        let same = PROPS.iter().find(|(status, _)| *status == pointer);
        let (path, answer, pointer) = match (&self.status, props.zip(same)) {
            (Fact::Known(status), _) => ("/v1/status", status, pointer),
            (_, Some((props, (_, pointer)))) => ("/props", props, *pointer),
            (Fact::Unknown(reason), _) => return Fact::Unknown(reason.clone()),
        };
        let value = answer.pointer(pointer).and_then(read);
        Fact::of(value, format!("the server's {path} does not state {}", &pointer[1..]))
    }

    /// A text among them.
    pub fn text(&self, pointer: &str) -> Fact<String> {
        self.field(pointer, |value| value.as_str().map(str::to_string))
    }

    /// A count among them.
    pub fn count(&self, pointer: &str) -> Fact<u64> {
        self.field(pointer, Value::as_u64)
    }

    /// The model's name, from whichever of the two states it.
    pub fn model_id(&self) -> Fact<String> {
        self.text("/model/id").or_else(|| match &self.models {
            Fact::Unknown(reason) => Fact::Unknown(reason.clone()),
            Fact::Known(models) => Fact::of(
                models.pointer("/data/0/id").and_then(Value::as_str).map(str::to_string),
                "neither /v1/status nor /v1/models names the model",
            ),
        })
    }

    /// The model's files as the server names them. A relative path starts from the server's
    /// folder, which nobody tells, and may be another file from here.
    pub fn model_files(&self) -> Vec<PathBuf> {
        let listed = self.field("/model/files", |files| files.as_array().cloned());
        let listed = listed.known().into_iter().flatten();
        let listed = listed.filter_map(|file| file.as_str().map(str::to_string));
        let all = listed.chain(self.text("/model/path").known().cloned()).map(PathBuf::from);
        all.filter(|path| path.is_absolute()).collect()
    }

    /// Whether the engine computes on a graphics card; `None` if it does not say.
    pub fn uses_gpu(&self) -> Option<bool> {
        self.text("/device/name").known().map(|name| name != "cpu")
    }
}

fn ask(http: &Http, path: &str) -> Result<Fact<Value>, Fault> {
    let (status, text) = http.get(path)?;
    if status != 200 {
        return Ok(Fact::Unknown(format!("the server does not answer {path} (HTTP {status})")));
    }
    Ok(read(path, &text))
}

fn read(path: &str, text: &str) -> Fact<Value> {
    let object = serde_json::from_str::<Value>(text).ok();
    let object = object.filter(|answer| answer.is_object() && depth(answer) <= MAX_DEPTH);
    let most = format!("at most {MAX_STATUS_BYTES} bytes and {MAX_DEPTH} levels");
    Fact::of(object, format!("the server's {path} is no JSON object of {most}"))
}

/// Levels of arrays and objects; serde_json reads no more than 128.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_are_objects_of_bounded_depth() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        let check = |text: &str, known: bool| {
            let found = read("/v1/status", text);
            let reason = "the server's /v1/status is no JSON object of at most 1048576 bytes and \
                          32 levels";
            let expected = match known {
                true => Fact::Known(serde_json::from_str(text).unwrap()),
                false => Fact::Unknown(reason.to_string()),
            };
            assert_eq!(found, expected, "{text}");
        };
        check(&format!("{{\"a\":{}}}", nested(31)), true);
        check(&format!("{{\"a\":{}}}", nested(32)), false);
        check(&format!("{{\"a\":{}}}", nested(1000)), false);
        for text in ["", "[]", "7", "{", "{\"a\":1e400}"] {
            check(text, false);
        }
    }

    #[test]
    fn fields_are_known_or_explained() {
        let unknown = Fact::Unknown("HTTP 404".to_string());
        let models = Fact::Known(json!({"data": [{"id": "from-models"}]}));
        let props = || Fact::Unknown("HTTP 501".to_string());
        let strata = SelfDescription {
            props: props(),
            status: Fact::Known(json!({
                "context_tokens": 512, "capacity": "one", "device": {"name": "cpu"},
                "model": {"id": "m", "path": "/m/a.gguf", "files": ["/m/a.gguf", 7, "a.gguf"]},
            })),
            models: models.clone(),
        };
        assert_eq!(strata.count("/context_tokens"), Fact::Known(512));
        let reason = "the server's /v1/status does not state capacity".to_string();
        assert_eq!(strata.count("/capacity"), Fact::Unknown(reason));
        assert_eq!(strata.model_id(), Fact::Known("m".to_string()));
        assert_eq!(strata.model_files(), [PathBuf::from("/m/a.gguf"), PathBuf::from("/m/a.gguf")]);
        assert_eq!(strata.uses_gpu(), Some(false));

        let other = SelfDescription { status: unknown.clone(), props: props(), models };
        assert_eq!(other.model_id(), Fact::Known("from-models".to_string()));
        assert_eq!(other.count("/context_tokens"), Fact::Unknown("HTTP 404".to_string()));
        assert_eq!((other.uses_gpu(), other.model_files()), (None, vec![]));
        let nobody = SelfDescription { status: unknown.clone(), props: props(), models: unknown };
        assert_eq!(nobody.model_id(), Fact::Unknown("HTTP 404".to_string()));
    }

    #[test]
    fn llama_cpp_states_some_of_it_elsewhere() {
        let llama_cpp = SelfDescription {
            status: Fact::Unknown("HTTP 404".to_string()),
            props: Fact::Known(json!({
                "default_generation_settings": {"params": {}, "n_ctx": 8192}, "total_slots": 1,
                "model_path": "/m/a.gguf", "chat_template": "{{ x }}", "build_info": "b7-abc",
            })),
            models: Fact::Known(json!({"data": [{"id": "a"}]})),
        };
        let known = |text: &str| Fact::Known(text.to_string());
        assert_eq!(llama_cpp.text("/engine/version"), known("b7-abc"));
        assert_eq!(llama_cpp.text("/template/text"), known("{{ x }}"));
        assert_eq!(llama_cpp.count("/context_tokens"), Fact::Known(8192));
        assert_eq!(llama_cpp.count("/capacity"), Fact::Known(1));
        assert_eq!(llama_cpp.model_files(), [PathBuf::from("/m/a.gguf")]);
        assert_eq!(llama_cpp.model_id(), known("a"));
        let reason = "the server's /props does not state model_ftype".to_string();
        assert_eq!(llama_cpp.text("/model/quantization"), Fact::Unknown(reason));
        let nowhere = Fact::Unknown("HTTP 404".to_string());
        assert_eq!(llama_cpp.text("/tokenizer/sha256"), nowhere);
    }
}
