//! The OpenAI chat API as data: requests into checked values, answers and errors into its JSON
//! shapes. It knows no sockets, no queue and no model.

mod request;
mod response;

pub use request::ChatCompletion;
pub(super) use response::{Reply, models};

use serde_json::{Value, json};

/// A refusal or failure, in OpenAI's error shape.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiError {
    /// HTTP status.
    pub status: u16,
    /// A name to branch on.
    pub code: Option<&'static str>,
    /// The request field at fault, as in `messages[0].role`.
    pub param: Option<String>,
    /// For people: the field, what is wrong with it and what is right.
    pub message: String,
}

impl ApiError {
    /// 400: a field that cannot be used.
    pub(super) fn field(param: impl Into<String>, problem: impl std::fmt::Display) -> ApiError {
        let param = param.into();
        let message = format!("{param} {problem}");
        ApiError { status: 400, code: Some("invalid_value"), param: Some(param), message }
    }

    /// Any other, without a field.
    pub(super) fn new(status: u16, code: &'static str, message: impl Into<String>) -> ApiError {
        ApiError { status, code: Some(code), param: None, message: message.into() }
    }

    /// `{"error": {…}}`.
    pub(super) fn to_json(&self) -> Value {
        let kind = match self.status {
            401 => "authentication_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        };
        json!({ "error": {
            "message": self.message, "type": kind, "param": self.param, "code": self.code,
        } })
    }
}

impl From<crate::Error> for ApiError {
    fn from(error: crate::Error) -> ApiError {
        use crate::Error::*;
        let (status, code) = match error {
            Input(_) => (400, "invalid_value"),
            ContextFull { .. } => (400, CONTEXT_LENGTH_EXCEEDED),
            Cancelled => (503, "stopping"),
            NotFinite { .. } => (500, "not_finite"),
            Model(_) => (500, "model_error"),
        };
        let message = match error {
            Cancelled => "the server is stopping".into(),
            error => error.to_string(),
        };
        ApiError::new(status, code, message)
    }
}

/// OpenAI's name for a prompt, or a prompt and its answer, that does not fit.
pub(super) const CONTEXT_LENGTH_EXCEEDED: &str = "context_length_exceeded";
