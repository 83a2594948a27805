//! Runs a model's chat template the way Hugging Face transformers does: Jinja2 with trimmed
//! blocks, loop controls, `raise_exception`, `strftime_now` and its own `tojson`; methods of
//! Python's strings, lists and mappings. Knows no vocabulary.

use super::bounds;
use super::tojson::{repr, tojson};
use crate::Error;
use fancy_regex::Regex;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::ValueKind;
use minijinja::{AutoEscape, Environment, ErrorKind, Output, State, Value, escape_formatter};
use std::error::Error as _;
use std::fmt;

/// What one rendering may cost: an instruction or 64 bytes of text a unit, about. Models' own
/// templates take 100 for a message; one that would run or grow for ever is ended.
const FUEL: u64 = 2_000_000;

/// Macros, loops and blocks inside each other.
const RECURSION_LIMIT: usize = 500;

/// The name that messages about a template give it.
const NAME: &str = "chat template";

/// A template that was understood.
#[derive(Debug)]
pub(super) struct Template {
    environment: Environment<'static>,
}

impl Template {
    pub(super) fn parse(source: &str) -> Result<Template, Error> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        let syntax = syntax.expect("the delimiters are the usual ones");
        let source = bounds::rewrite(&without_generation_tags(source), syntax.clone())
            .map_err(|error| Error::Model(format!("tokenizer.chat_template: {error}")))?;
        environment.set_syntax(syntax);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_recursion_limit(RECURSION_LIMIT);
        environment.set_fuel(Some(FUEL));
        environment.set_formatter(write_value);
        environment.add_filter("string", string);
        environment.add_filter("tojson", tojson);
        environment.add_test("iterable", is_iterable);
        environment.add_function("raise_exception", raise_exception);
        bounds::prepare(&mut environment);
        environment.add_template_owned(NAME, source).map_err(|error| {
            Error::Model(format!("tokenizer.chat_template is not understood: {error}"))
        })?;
        Ok(Template { environment })
    }

    /// `now` in seconds since 1970, UTC.
    pub(super) fn render(&self, variables: Value, now: Option<i64>) -> Result<String, Error> {
        let mut environment = self.environment.clone();
        environment.add_function("strftime_now", move |format: &str| strftime(format, now));
        let template = environment.get_template(NAME).expect("parse added it");
        template.render(variables).map_err(explain)
    }
}

/// `{% generation %}` marks for training what an assistant said; to a reader it is a plain block.
fn without_generation_tags(source: &str) -> String {
    let replace = |source: &str, tag: &str, plain: &str| {
        let pattern = format!(r"(\{{%[-+]?\s*){tag}(\s*[-+]?%\}})");
        let regex = Regex::new(&pattern).expect("the pattern compiles whatever the tag's name");
        regex.replace_all(source, format!("${{1}}{plain}${{2}}")).into_owned()
    };
    replace(&replace(source, "generation", "if true"), "endgeneration", "endif")
}

/// What a template says when it refuses a conversation, to be found behind minijinja's own error.
#[derive(Debug)]
struct Raised(String);

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Raised {}

/// Prints as Jinja2 does, to whom a float is what Python's `repr` makes of it.
fn write_value(out: &mut Output, state: &mut State, value: &Value) -> Result<(), minijinja::Error> {
    match value.kind() {
        ValueKind::Number => Ok(out.write_str(&string(value))?),
        _ => escape_formatter(out, state, value),
    }
}

fn string(value: &Value) -> String {
    match f64::try_from(value.clone()) {
        Ok(float) if value.kind() == ValueKind::Number && !value.is_integer() => repr(float),
        _ => value.to_string(),
    }
}

/// To Python, none is not: templates ask this of tools before they count them.
fn is_iterable(value: &Value) -> bool {
    !value.is_none() && value.try_iter().is_ok()
}

fn raise_exception(message: &Value) -> Result<Value, minijinja::Error> {
    Err(invalid("raised").with_source(Raised(message.to_string())))
}

fn invalid(message: impl Into<String>) -> minijinja::Error {
    minijinja::Error::new(ErrorKind::InvalidOperation, message.into())
}

fn explain(error: minijinja::Error) -> Error {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(Raised(message)) = inner.downcast_ref() {
            return Error::Input(format!("the chat template refuses the conversation: {message}"));
        }
        cause = inner.source();
    }
    Error::Input(format!("the conversation does not fit the chat template: {error}"))
}

fn strftime(format: &str, now: Option<i64>) -> Result<String, minijinja::Error> {
    let now = now.ok_or_else(|| invalid("strftime_now: the request gives no time"))?;
    let time = jiff::Timestamp::from_second(now)
        .map_err(|error| invalid(format!("strftime_now: {error}")))?;
    jiff::fmt::strtime::format(format, &time.to_zoned_datetime(jiff::tz::TimeZone::UTC))
        .map_err(|error| invalid(format!("strftime_now: {error}")))
}
