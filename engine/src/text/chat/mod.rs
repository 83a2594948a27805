//! From a conversation to the text a model was trained on.

mod bounds;
mod context;
#[cfg(test)]
mod hostile;
mod template;
#[cfg(test)]
mod tests;
mod tojson;

use crate::gguf::Metadata;
use crate::text::{Special, Tokenizer};
use crate::{Error, Token};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use template::Template;

/// A conversation to render, in OpenAI's terms.
#[derive(Debug, Clone, Default)]
pub struct ChatRequest {
    /// Messages as JSON objects (`role`, `content`, …). A content of text parts is the text they
    /// join to; arguments of tool calls may be an object or a string that holds one.
    pub messages: Vec<Value>,
    /// `tools`, if any.
    pub tools: Option<Value>,
    /// Further template variables, as in `chat_template_kwargs`.
    pub kwargs: Map<String, Value>,
    /// For `strftime_now`: seconds since 1970, UTC. A template that asks without one gets an error.
    pub now: Option<i64>,
}

/// The template of a model file, or the plain fallback.
#[derive(Debug)]
pub struct ChatTemplate {
    source: Option<String>,
    digest: String,
    /// Why a template cannot be used is said when it is: the model is of use without.
    template: Option<Result<Template, Error>>,
}

impl ChatTemplate {
    /// `tokenizer.chat_template`; without one, the plain fallback: the contents of the messages
    /// in order, joined by a newline, and nothing else. A template that is not understood does not
    /// fail here but on its first use.
    pub fn from_metadata(metadata: &Metadata) -> Result<ChatTemplate, Error> {
        let source = metadata.string("tokenizer.chat_template")?;
        let digest = Sha256::digest(source.unwrap_or_default());
        Ok(ChatTemplate {
            source: source.map(str::to_owned),
            digest: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            template: source.map(Template::parse),
        })
    }

    /// The file's template text; `None` for the fallback.
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// SHA-256, hex, of the source; of the empty text for the fallback.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Renders with the generation prompt and tokenises. Special tokens come from the template
    /// alone: their text inside a message stays text. Begins with BOS, once, if the model asks for
    /// one.
    ///
    /// A character that occurs nowhere breaks up every control token that a client's text spells,
    /// or begins to spell at its end; it is dropped once the template's own tokens are found.
    pub fn encode(
        &self,
        request: &ChatRequest,
        tokenizer: &Tokenizer,
    ) -> Result<Vec<Token>, Error> {
        context::check_depth(request)?;
        let Some(template) = &self.template else {
            return Ok(tokenizer.with_bos(tokenizer.encode(&plain(request)?, Special::Text)));
        };
        let guard = self.unused_noncharacter(request)?;
        let broken_up = |text: &str| tokenizer.break_up(text, guard);
        match run(template, request, tokenizer, &broken_up) {
            Ok(text) => Ok(tokenizer.with_bos(tokenizer.encode_guarded(&text, guard))),
            Err(Error::Input(message)) => Err(Error::Input(message.replace(guard, ""))),
            Err(error) => Err(error),
        }
    }

    /// The rendered text, for people and tests.
    pub fn render(&self, request: &ChatRequest, tokenizer: &Tokenizer) -> Result<String, Error> {
        context::check_depth(request)?;
        match &self.template {
            None => plain(request),
            Some(template) => run(template, request, tokenizer, &str::to_owned),
        }
    }

    /// The first of the code points that Unicode keeps free for a program's own use that occurs
    /// neither in the request nor in the template.
    fn unused_noncharacter(&self, request: &ChatRequest) -> Result<char, Error> {
        let ChatRequest { messages, tools, kwargs, now: _ } = request;
        let texts = serde_json::to_string(&(messages, tools, kwargs))
            .expect("JSON values with texts as keys can be written");
        let source = self.source().unwrap_or_default();
        let unused =
            ('\u{fdd0}'..='\u{fdef}').find(|c| !texts.contains(*c) && !source.contains(*c));
        unused.ok_or_else(|| {
            Error::Input("the request uses all of U+FDD0 to U+FDEF: leave one out".to_owned())
        })
    }
}

fn run(
    template: &Result<Template, Error>,
    request: &ChatRequest,
    tokenizer: &Tokenizer,
    write: &dyn Fn(&str) -> String,
) -> Result<String, Error> {
    let template = template.as_ref().map_err(Clone::clone)?;
    let variables = context::variables(request, tokenizer, write)?;
    template.render(minijinja::value::Serde(&variables).into(), request.now)
}

/// Contents in order, joined by a newline; a message without one is passed over.
fn plain(request: &ChatRequest) -> Result<String, Error> {
    let mut texts = Vec::new();
    for (index, message) in context::messages(request)?.iter().enumerate() {
        match message.get("content") {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => texts.push(text.clone()),
            Some(_) => {
                return Err(Error::Input(format!(
                    "messages[{index}].content: this model has no chat template and takes only \
                     text"
                )));
            }
        }
    }
    Ok(texts.join("\n"))
}
