//! A report as the rules look at it: its fields by name, its numbers in whole units, the plan it
//! claims to follow. A field that is absent or of the wrong type is `None` here; that it is so is
//! the business of the rules in `shape` alone.

use super::command::Command;
use super::directory::Directory;
use super::missing::Nulls;
use crate::json::Value;
use crate::plan::Planned;
use crate::protocol::{PhaseName, Protocol};
use std::collections::HashMap;

/// What a review looks at.
pub(super) struct Report<'a> {
    pub(super) root: &'a Value,
    /// Someone's frame round the summaries of a report: no requests, no reasons, no artifacts.
    pub(super) wrapper: bool,
    /// The protocol that the report names, if it is known.
    pub(super) protocol: Option<&'a Protocol>,
    /// The requests that the protocol asks for; none where it is unknown.
    pub(super) plan: &'a [Planned<'a>],
    pub(super) requests: Vec<Request<'a>>,
    pub(super) summaries: Vec<Summary<'a>>,
    pub(super) command: Command<'a>,
    /// The nulls of the document beside the reasons in `missing`.
    pub(super) nulls: Nulls<'a>,
    /// The folder of the report, where it is at hand.
    pub(super) directory: Option<&'a Directory>,
    /// The report's bytes.
    pub(super) bytes: &'a [u8],
    /// What a rebuild from its record makes.
    pub(super) rebuilt: Option<Result<&'a [u8], &'a str>>,
}

impl<'a> Report<'a> {
    /// The value at a pointer. In a wrapper the block `run` has another name.
    pub(super) fn at(&self, pointer: &str) -> Option<&'a Value> {
        self.root.pointer(&self.place(pointer))
    }

    /// Where a pointer leads in this report.
    pub(super) fn place(&self, pointer: &str) -> String {
        match pointer.strip_prefix("/run") {
            Some(rest) if self.wrapper => format!("/selected_run{rest}"),
            _ => pointer.to_string(),
        }
    }

    /// The items of a list, as many as are looked at.
    pub(super) fn list(&self, pointer: &str) -> &'a [Value] {
        let items = self.at(pointer).map(Value::items).unwrap_or_default();
        &items[..items.len().min(MAX_ITEMS)]
    }

    pub(super) fn text(&self, pointer: &str) -> Option<&'a str> {
        self.at(pointer)?.as_str()
    }

    pub(super) fn count(&self, pointer: &str) -> Option<u64> {
        self.at(pointer)?.as_number()?.as_u64()
    }

    pub(super) fn flag(&self, pointer: &str) -> Option<bool> {
        self.at(pointer)?.as_bool()
    }

    /// Seconds in nanoseconds.
    pub(super) fn nanos(&self, pointer: &str) -> Option<i128> {
        self.at(pointer)?.as_number()?.units(9)
    }

    pub(super) fn is_null(&self, pointer: &str) -> bool {
        self.at(pointer).is_some_and(Value::is_null)
    }

    /// Why the run does not conform, by its own account.
    pub(super) fn status_reasons(&self) -> impl Iterator<Item = &'a str> {
        self.list("/extensions/status_reasons").iter().filter_map(Value::as_str)
    }

    /// Whether the report says itself that it does not conform because of this.
    pub(super) fn admits(&self, words: &str) -> bool {
        self.text("/run/status") == Some("nonconforming")
            && self.status_reasons().any(|reason| reason.contains(words))
    }

    /// The reason that `missing` gives for the null at a pointer.
    pub(super) fn reason(&self, pointer: &str) -> Option<&'a str> {
        self.root.get("missing")?.get(pointer)?.as_str()
    }

    /// Whether the optional stage was selected.
    pub(super) fn concurrent(&self) -> bool {
        self.flag("/run/optional_concurrency") == Some(true)
    }

    /// The planned requests of a stage.
    pub(super) fn planned(&self, phase: PhaseName) -> impl Iterator<Item = &'a Planned<'a>> {
        self.plan.iter().filter(move |planned| planned.phase == phase)
    }

    /// What the protocol says the input of a request comes to, where it pins a tokenizer.
    pub(super) fn frozen_input_tokens(&self, id: &str) -> Option<u64> {
        self.protocol?.frozen_input_tokens.as_ref()?.get(id)?.as_u64()
    }
}

/// An entry of `requests`. Times are in nanoseconds; which clock they come from is in the name:
/// `prompt` and `decode` from the engine's, all others from the client's.
pub(super) struct Request<'a> {
    pub(super) index: usize,
    pub(super) value: &'a Value,
    pub(super) id: &'a str,
    pub(super) phase: &'a str,
    pub(super) case: &'a str,
    pub(super) repetition: Option<u64>,
    pub(super) max_output_tokens: Option<u64>,
    pub(super) status: &'a str,
    pub(super) finish_reason: Option<&'a str>,
    pub(super) input_tokens: Option<u64>,
    pub(super) cached_tokens: Option<u64>,
    pub(super) read_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) decode_tokens: Option<u64>,
    pub(super) prompt_ns: Option<i128>,
    pub(super) decode_ns: Option<i128>,
    pub(super) ttft_ns: Option<i128>,
    pub(super) first_answer_ns: Option<i128>,
    pub(super) total_ns: Option<i128>,
    /// The request of this id in the plan.
    pub(super) planned: Option<&'a Planned<'a>>,
}

impl<'a> Request<'a> {
    fn new(index: usize, value: &'a Value, plan: &HashMap<&str, &'a Planned<'a>>) -> Request<'a> {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let tokens = value.get("tokens");
        let timings = value.get("timings");
        let count = |of: Option<&Value>, key: &str| of?.get(key)?.as_number()?.as_u64();
        let nanos = |key: &str| timings?.get(key)?.as_number()?.units(9);
        let id = text("id").unwrap_or("");
        Request {
            index,
            value,
            id,
            phase: text("phase").unwrap_or(""),
            case: text("case_id").unwrap_or(""),
            repetition: count(Some(value), "repetition"),
            max_output_tokens: count(Some(value), "max_output_tokens"),
            status: text("status").unwrap_or(""),
            finish_reason: text("finish_reason"),
            input_tokens: count(tokens, "input_tokens"),
            cached_tokens: count(tokens, "cached_tokens"),
            read_tokens: count(tokens, "read_tokens"),
            output_tokens: count(tokens, "output_tokens"),
            decode_tokens: count(tokens, "decode_tokens"),
            prompt_ns: nanos("prompt_s"),
            decode_ns: nanos("decode_s"),
            ttft_ns: nanos("ttft_s"),
            first_answer_ns: nanos("first_answer_s"),
            total_ns: nanos("total_s"),
            planned: plan.get(id).copied(),
        }
    }

    /// The pointer of a field, as in `place("/timings/total_s")`.
    pub(super) fn place(&self, field: &str) -> String {
        format!("/requests/{}{field}", self.index)
    }

    /// A field as printed.
    pub(super) fn printed(&self, field: &str) -> String {
        printed(self.value.pointer(field))
    }

    /// Whether it came to an end of its own or at its cap, so that its figures count.
    pub(super) fn ended(&self) -> bool {
        matches!(self.status, "completed" | "truncated")
    }

    /// The metric of a summary in units of 10^-6.
    pub(super) fn metric(&self, metric: &str) -> Option<i128> {
        let block = if metric.ends_with("_tps") { "metrics" } else { "timings" };
        self.value.get(block)?.get(metric)?.as_number()?.units(6)
    }
}

/// An entry of `summaries`; figures in units of 10^-6.
pub(super) struct Summary<'a> {
    pub(super) index: usize,
    pub(super) value: &'a Value,
    pub(super) phase: &'a str,
    pub(super) case: &'a str,
    pub(super) metric: &'a str,
    pub(super) n: Option<u64>,
    pub(super) min: Option<i128>,
    pub(super) median: Option<i128>,
    pub(super) max: Option<i128>,
    pub(super) included: Vec<&'a str>,
    pub(super) excluded: Vec<&'a str>,
}

impl<'a> Summary<'a> {
    fn new(index: usize, value: &'a Value) -> Summary<'a> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or("");
        let micros = |key: &str| value.get(key)?.as_number()?.units(6);
        let list = |key: &str| value.get(key).map(Value::items).unwrap_or_default();
        Summary {
            index,
            value,
            phase: text("phase"),
            case: text("case_id"),
            metric: text("metric"),
            n: value.get("n").and_then(|n| n.as_number()?.as_u64()),
            min: micros("min"),
            median: micros("median"),
            max: micros("max"),
            included: list("included_request_ids").iter().filter_map(Value::as_str).collect(),
            excluded: list("excluded")
                .iter()
                .filter_map(|entry| entry.get("request_id")?.as_str())
                .collect(),
        }
    }

    /// The pointer of a field, as in `place("/median")`.
    pub(super) fn place(&self, field: &str) -> String {
        format!("/summaries/{}{field}", self.index)
    }

    /// A field as printed.
    pub(super) fn printed(&self, field: &str) -> String {
        printed(self.value.pointer(field))
    }
}

/// The requests of a report, each beside the planned one of its id.
pub(super) fn requests<'a>(root: &'a Value, plan: &'a [Planned<'a>]) -> Vec<Request<'a>> {
    let by_id: HashMap<&str, &Planned> =
        plan.iter().map(|planned| (planned.id.as_str(), planned)).collect();
    let items = root.get("requests").map(Value::items).unwrap_or_default();
    let items = items.iter().take(MAX_REQUESTS).enumerate();
    items.map(|(index, value)| Request::new(index, value, &by_id)).collect()
}

/// The summaries of a report.
pub(super) fn summaries(root: &Value) -> Vec<Summary<'_>> {
    let items = root.get("summaries").map(Value::items).unwrap_or_default();
    let items = items.iter().take(MAX_SUMMARIES).enumerate();
    items.map(|(index, value)| Summary::new(index, value)).collect()
}

/// Most requests that are looked at; that there are more is an error.
pub(super) const MAX_REQUESTS: usize = 10_000;
/// Most items of any other list that are looked at; that there are more is an error where the list
/// is one of the format.
pub(super) const MAX_ITEMS: usize = 1_000;
/// Most summaries that are looked at; that there are more is an error.
pub(super) const MAX_SUMMARIES: usize = 1_000;

/// A value for a message: compact JSON, long ones cut.
pub(super) fn printed(value: Option<&Value>) -> String {
    let Some(value) = value else { return "nothing".to_string() };
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

/// A text for a message.
pub(super) fn quoted(text: &str) -> String {
    printed(Some(&Value::String(text.to_string())))
}

/// Units of 10^-`decimals` as a decimal number, trailing zeros left out.
pub(super) fn decimal(units: i128, decimals: usize) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", units.unsigned_abs(), width = decimals + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}")
}

/// Most characters of a value in a message.
const LONGEST: usize = 160;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_without_trailing_zeros() {
        let check = |units, decimals, text: &str| assert_eq!(decimal(units, decimals), text);
        check(1_500_000, 6, "1.5");
        check(-7, 3, "-0.007");
        check(0, 9, "0");
        check(12_000, 3, "12");
        check(123, 0, "123");
    }

    #[test]
    fn long_values_are_cut() {
        assert_eq!(quoted(&"é".repeat(400)).chars().count(), LONGEST + 1);
        assert_eq!(printed(None), "nothing");
    }
}
