//! From a conversation to the text a model was trained on.

use crate::gguf::Metadata;
use crate::text::Tokenizer;
use crate::{Error, Token};
use serde_json::{Map, Value};

/// A conversation to render, in OpenAI's terms.
#[derive(Debug, Clone, Default)]
pub struct ChatRequest {
    /// Messages as JSON objects (`role`, `content`, …).
    pub messages: Vec<Value>,
    /// `tools`, if any.
    pub tools: Option<Value>,
    /// Further template variables, as in `chat_template_kwargs`.
    pub kwargs: Map<String, Value>,
    /// For `strftime_now`: seconds since 1970, UTC. A template that asks without one gets an error.
    pub now: Option<i64>,
}

/// The template of a model file, or the plain fallback.
pub struct ChatTemplate {}

impl ChatTemplate {
    /// `tokenizer.chat_template`; without one, the plain fallback: the contents of the messages
    /// in order, joined by a newline, and nothing else.
    pub fn from_metadata(_metadata: &Metadata) -> Result<ChatTemplate, Error> {
        unimplemented!()
    }

    /// The file's template text; `None` for the fallback.
    pub fn source(&self) -> Option<&str> {
        unimplemented!()
    }

    /// SHA-256, hex, of the source; of the empty text for the fallback.
    pub fn digest(&self) -> &str {
        unimplemented!()
    }

    /// Renders with the generation prompt and tokenises. Special tokens come from the template
    /// alone: their text inside a message stays text.
    pub fn encode(
        &self,
        _request: &ChatRequest,
        _tokenizer: &Tokenizer,
    ) -> Result<Vec<Token>, Error> {
        unimplemented!()
    }

    /// The rendered text, for people and tests.
    pub fn render(&self, _request: &ChatRequest, _tokenizer: &Tokenizer) -> Result<String, Error> {
        unimplemented!()
    }
}
