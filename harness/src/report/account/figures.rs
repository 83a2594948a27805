//! The numbers of one request with their sources: read from what the server stated, or, for times
//! of the client, from its stamps. Each is known or has its reason.

use crate::fact::Fact;
use crate::report::missing::Place;
use crate::report::number::{ClientInstant, ClientTime, EngineTime};
use crate::report::transcript::{EngineTimings, Transcript};
use crate::report::{ClientOffsets, Metrics, Sources, Timings, Tokens};

/// The numbers of a row, each known or with the reason why not.
pub(super) struct Figures {
    input: Fact<u64>,
    cached: Fact<u64>,
    read: Fact<u64>,
    output: Fact<u64>,
    decode: Fact<u64>,
    prompt_s: Fact<EngineTime>,
    decode_s: Fact<EngineTime>,
    ttft_s: Fact<ClientTime>,
    first_answer_s: Fact<ClientTime>,
    total_s: Fact<ClientTime>,
    prompt_tps: Fact<f64>,
    decode_tps: Fact<f64>,
    pub(super) sources: Sources,
    pub(super) note: Option<String>,
}

impl Figures {
    pub(super) fn absent(reason: &str, source: &'static str) -> Figures {
        fn no<T>(reason: &str) -> Fact<T> {
            Fact::Unknown(reason.to_string())
        }
        Figures {
            input: no(reason),
            cached: no(reason),
            read: no(reason),
            output: no(reason),
            decode: no(reason),
            prompt_s: no(reason),
            decode_s: no(reason),
            ttft_s: no(reason),
            first_answer_s: no(reason),
            total_s: no(reason),
            prompt_tps: no(reason),
            decode_tps: no(reason),
            sources: Sources {
                input_tokens: source,
                cached_tokens: source,
                read_tokens: source,
                output_tokens: source,
                decode_tokens: source,
                engine_timings: source,
                client_timings: source,
            },
            note: None,
        }
    }

    pub(super) fn read(read: &Transcript, offsets: &ClientOffsets) -> Figures {
        let (usage, engine) = (&read.usage, &read.timings);
        let (cached, cached_source) = cached_tokens(read);
        let input = Fact::of(usage.prompt_tokens, NO_USAGE);
        let (fresh, fresh_source) = read_tokens(engine, &input, &cached);
        let output = Fact::of(usage.completion_tokens, NO_USAGE);
        let decode = Fact::of(engine.predicted_n, NO_TIMINGS);
        let (prompt_s, decode_s) = engine_times(engine, &fresh, offsets);
        let since = |instant: Option<ClientInstant>| instant.map(|at| at.since(offsets.dispatch));
        let counted = |fact: &Fact<u64>, source| if fact.known().is_some() { source } else { NONE };
        Figures {
            prompt_tps: rate(&fresh, &prompt_s, 1, "no token of the prompt was read"),
            decode_tps: rate(&decode, &decode_s, 2, "a rate needs at least two tokens"),
            ttft_s: Fact::of(since(offsets.first_delta), "no token arrived"),
            first_answer_s: Fact::of(since(offsets.first_answer), NO_ANSWER),
            total_s: Fact::Known(offsets.end.since(offsets.dispatch)),
            sources: Sources {
                input_tokens: counted(&input, "usage.prompt_tokens of the final stream chunk"),
                cached_tokens: cached_source,
                read_tokens: fresh_source,
                output_tokens: counted(
                    &output,
                    "usage.completion_tokens of the final stream chunk",
                ),
                decode_tokens: decode_source(engine),
                engine_timings: match (prompt_s.known(), decode_s.known()) {
                    (None, None) => NO_ENGINE_TIMINGS,
                    _ => ENGINE_TIMINGS,
                },
                client_timings: CLIENT_TIMINGS,
            },
            note: note(&input, &cached, &fresh, &output, &decode),
            input,
            cached,
            read: fresh,
            output,
            decode,
            prompt_s,
            decode_s,
        }
    }

    pub(super) fn tokens(&self, at: &mut Place) -> Tokens {
        Tokens {
            input_tokens: at.take("input_tokens", self.input.clone()),
            cached_tokens: at.take("cached_tokens", self.cached.clone()),
            read_tokens: at.take("read_tokens", self.read.clone()),
            output_tokens: at.take("output_tokens", self.output.clone()),
            decode_tokens: at.take("decode_tokens", self.decode.clone()),
        }
    }

    pub(super) fn timings(&self, at: &mut Place) -> Timings {
        Timings {
            prompt_s: at.take("prompt_s", self.prompt_s.clone()),
            decode_s: at.take("decode_s", self.decode_s.clone()),
            ttft_s: at.take("ttft_s", self.ttft_s.clone()),
            first_answer_s: at.take("first_answer_s", self.first_answer_s.clone()),
            total_s: at.take("total_s", self.total_s.clone()),
        }
    }

    pub(super) fn metrics(&self, at: &mut Place) -> Metrics {
        Metrics {
            prompt_tps: at.take("prompt_tps", self.prompt_tps.clone()),
            decode_tps: at.take("decode_tps", self.decode_tps.clone()),
        }
    }
}

fn cached_tokens(read: &Transcript) -> (Fact<u64>, &'static str) {
    if let Some(cached) = read.usage.cached_tokens {
        return (Fact::Known(cached), "usage.prompt_tokens_details.cached_tokens");
    }
    match read.timings.cache_n {
        Some(cached) => (Fact::Known(cached), "timings.cache_n"),
        None => (Fact::Unknown(NO_CACHED.to_string()), NONE),
    }
}

fn read_tokens(
    engine: &EngineTimings,
    input: &Fact<u64>,
    cached: &Fact<u64>,
) -> (Fact<u64>, &'static str) {
    if let Some(read) = engine.prompt_n {
        return (Fact::Known(read), "timings.prompt_n");
    }
    let rest = input.known().zip(cached.known()).and_then(|(i, c)| i.checked_sub(*c));
    match rest {
        Some(read) => (Fact::Known(read), "input_tokens minus cached_tokens"),
        None => (Fact::Unknown(NO_TIMINGS.to_string()), NONE),
    }
}

/// Prompt and decode time as the engine states them, unless the client's clock or the number of
/// tokens says that they cannot be.
fn engine_times(
    engine: &EngineTimings,
    read: &Fact<u64>,
    offsets: &ClientOffsets,
) -> (Fact<EngineTime>, Fact<EngineTime>) {
    let until = |end: ClientInstant| end.since(offsets.dispatch);
    let first_token = until(offsets.first_delta.unwrap_or(offsets.end));
    let total = until(offsets.end);
    let stated = |ms: Option<f64>, tokens: Option<u64>, before: Option<EngineTime>, limit| {
        let Some(ms) = ms else { return Fact::Unknown(NO_TIMINGS.to_string()) };
        let time = EngineTime::from_ms(ms);
        let times: Vec<EngineTime> = before.into_iter().chain([time]).collect();
        if !EngineTime::fit(&times, limit) {
            let limit = limit.seconds();
            return Fact::Unknown(format!(
                "the engine states {ms:?} ms, more than the client's {limit} s leave room for"
            ));
        }
        match tokens.filter(|tokens| !time.can_hold(*tokens)) {
            None => Fact::Known(time),
            Some(tokens) => Fact::Unknown(format!(
                "the engine states {ms:?} ms for {tokens} tokens, which is out of all reach"
            )),
        }
    };
    let prompt = stated(engine.prompt_ms, read.known().copied(), None, first_token);
    let before = prompt.known().copied();
    let decode = stated(engine.predicted_ms, engine.predicted_n, before, total);
    (prompt, decode)
}

/// `least` is the fewest tokens of which a rate can be told.
fn rate(tokens: &Fact<u64>, time: &Fact<EngineTime>, least: u64, too_few: &str) -> Fact<f64> {
    match (tokens, time) {
        (Fact::Unknown(reason), _) | (_, Fact::Unknown(reason)) => Fact::Unknown(reason.clone()),
        (Fact::Known(tokens), _) if *tokens < least => Fact::Unknown(too_few.to_string()),
        (Fact::Known(tokens), Fact::Known(time)) => Fact::of(time.rate(*tokens), ZERO_TIME),
    }
}

fn decode_source(engine: &EngineTimings) -> &'static str {
    let Some(predicted) = engine.predicted_n else { return NONE };
    let Some((rate, ms)) = engine.predicted_per_second.zip(engine.predicted_ms) else {
        return "timings.predicted_n";
    };
    let counted = rate * ms / 1e3;
    let same_token = (counted - predicted as f64).abs() < 0.5;
    if same_token {
        "timings.predicted_n (agrees with timings.predicted_per_second x predicted_ms)"
    } else {
        "timings.predicted_n (timings.predicted_per_second x predicted_ms gives another count)"
    }
}

/// Where the API and the engine count differently, in numbers.
fn note(
    input: &Fact<u64>,
    cached: &Fact<u64>,
    read: &Fact<u64>,
    output: &Fact<u64>,
    decode: &Fact<u64>,
) -> Option<String> {
    let mut notes = Vec::new();
    if let (Fact::Known(output), Fact::Known(decode)) = (output, decode)
        && output != decode
    {
        notes.push(format!("the API counts {output} output tokens, the engine {decode}"));
    }
    if let (Fact::Known(input), Fact::Known(cached)) = (input, cached) {
        let counts = format!("the API counts {input} input tokens of which {cached} cached");
        match read {
            Fact::Known(read) if cached.checked_add(*read) != Some(*input) => {
                notes.push(format!("{counts}, the engine read {read}"));
            }
            Fact::Unknown(_) if cached > input => notes.push(counts),
            _ => {}
        }
    }
    (!notes.is_empty()).then(|| notes.join("; "))
}

pub(super) const NONE: &str = "none: the server does not state it";
pub(super) const NONE_FAILED: &str = "none: the request failed";
pub(super) const NONE_SKIPPED: &str = "none: the request was not finished";
pub(super) const NO_ENGINE_TIMINGS: &str = "none: the server states no time that can be";
const ENGINE_TIMINGS: &str = "timings.prompt_ms, timings.predicted_ms, \
    timings.predicted_per_second of the final stream chunk (raw values in outputs.jsonl)";
const CLIENT_TIMINGS: &str = "client monotonic clock from dispatch; event offsets in outputs.jsonl";
pub(super) const NO_USAGE: &str = "the server sent no such count in usage, and absent is not zero";
pub(super) const NO_CACHED: &str = "the server does not say how many input tokens it had \
    cached, and absent is not zero";
pub(super) const NO_TIMINGS: &str = "the server sent no such value in timings, or none that is \
    a number from 0; the engine's own clock and counts are not known";
const NO_ANSWER: &str = "no answer text or tool call arrived (reasoning alone does not count)";
pub(super) const ZERO_TIME: &str = "the engine's time prints as zero, so there is no rate";
