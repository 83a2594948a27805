//! What a server says of itself: `/v1/status`, which strata answers, and `/v1/models`, which all
//! do. Whatever it does not say is a fact with a reason.

use crate::client::http::{Http, MAX_STATUS_BYTES};
use crate::client::transport::Fault;
use crate::fact::Fact;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// Deepest nesting of an answer: a report holds parts of it, and is read to a depth of its own.
const MAX_DEPTH: usize = 32;

/// The two answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelfDescription {
    /// `/v1/status`.
    pub status: Fact<Value>,
    /// `/v1/models`.
    pub models: Fact<Value>,
}

impl SelfDescription {
    /// Asks for both. An error is that of a server that cannot be reached at all.
    pub fn ask(http: &Http) -> Result<SelfDescription, Fault> {
        Ok(SelfDescription { status: ask(http, "/v1/status")?, models: ask(http, "/v1/models")? })
    }

    /// A field of `/v1/status`; `read` returns `None` for a value of another type.
    pub fn field<T>(&self, pointer: &str, read: fn(&Value) -> Option<T>) -> Fact<T> {
        match &self.status {
            Fact::Unknown(reason) => Fact::Unknown(reason.clone()),
            Fact::Known(status) => {
                let value = status.pointer(pointer).and_then(read);
                Fact::of(value, format!("the server's /v1/status does not state {}", &pointer[1..]))
            }
        }
    }

    /// A text of `/v1/status`.
    pub fn text(&self, pointer: &str) -> Fact<String> {
        self.field(pointer, |value| value.as_str().map(str::to_string))
    }

    /// A count of `/v1/status`.
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

    /// The model's files as the server names them.
    pub fn model_files(&self) -> Vec<PathBuf> {
        let Some(status) = self.status.known() else { return Vec::new() };
        let listed = status.pointer("/model/files").and_then(Value::as_array);
        let path = status.pointer("/model/path");
        let all = listed.into_iter().flatten().chain(path);
        all.filter_map(|file| file.as_str().map(PathBuf::from)).collect()
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
        let strata = SelfDescription {
            status: Fact::Known(json!({
                "context_tokens": 512, "capacity": "one", "device": {"name": "cpu"},
                "model": {"id": "m", "path": "/m/a.gguf", "files": ["/m/a.gguf", 7]},
            })),
            models: models.clone(),
        };
        assert_eq!(strata.count("/context_tokens"), Fact::Known(512));
        let reason = "the server's /v1/status does not state capacity".to_string();
        assert_eq!(strata.count("/capacity"), Fact::Unknown(reason));
        assert_eq!(strata.model_id(), Fact::Known("m".to_string()));
        assert_eq!(strata.model_files(), [PathBuf::from("/m/a.gguf"), PathBuf::from("/m/a.gguf")]);
        assert_eq!(strata.uses_gpu(), Some(false));

        let other = SelfDescription { status: unknown.clone(), models };
        assert_eq!(other.model_id(), Fact::Known("from-models".to_string()));
        assert_eq!(other.count("/context_tokens"), Fact::Unknown("HTTP 404".to_string()));
        assert_eq!((other.uses_gpu(), other.model_files()), (None, vec![]));
        let nobody = SelfDescription { status: unknown.clone(), models: unknown };
        assert_eq!(nobody.model_id(), Fact::Unknown("HTTP 404".to_string()));
    }
}
