//! A chat completion from body to answer: checks what needs the model, hands the job to the queue
//! and delivers its events, as a stream or as one object. It computes nothing.

use super::Shared;
use super::http::{Request, Response};
use super::openai::{ApiError, CONTEXT_LENGTH_EXCEEDED, ChatCompletion, Reply};
use super::queue::{Event, Job, Refused, WAITING_MAX};
use super::sse::EventStream;
use crate::text::{ChatRequest, ChatTemplate, Tokenizer};
use crate::{GenerationOptions, Token};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Answers `POST /v1/chat/completions`.
pub(super) fn complete(shared: &Shared, mut request: Request<'_>) {
    let accepted = request.body().and_then(|body| accept(shared, &body));
    match accepted {
        Err(error) => request.respond(Response::error(&error)),
        Ok(Accepted { reply, stream, events }) => {
            let events = Events { events, looked: Instant::now() };
            if stream {
                deliver_stream(request, &reply, events);
            } else {
                deliver_whole(request, &reply, events);
            }
        }
    }
}

/// The tokens of a conversation, as the server reads it.
pub fn prompt(
    template: &ChatTemplate,
    tokenizer: &Tokenizer,
    conversation: ChatRequest,
) -> Result<Vec<Token>, ApiError> {
    let conversation = ChatRequest { now: Some(unix_seconds() as i64), ..conversation };
    let prompt = template
        .encode(&conversation, tokenizer)
        .map_err(|error| ApiError { param: Some("messages".into()), ..ApiError::from(error) })?;
    if prompt.is_empty() {
        return Err(ApiError::field("messages", "come to an empty prompt"));
    }
    Ok(prompt)
}

/// A job that is on its way.
struct Accepted {
    reply: Reply,
    stream: bool,
    events: Receiver<Event>,
}

fn accept(shared: &Shared, body: &[u8]) -> Result<Accepted, ApiError> {
    // Below 2^53, so that every JSON reader can send it back exactly.
    let call = ChatCompletion::parse(body, random() >> 11)?;
    let model = &shared.model;
    let prompt = prompt(model.template(), model.tokenizer(), call.conversation)?;
    let max_tokens = room(prompt.len(), call.max_tokens, shared.context)?;
    let (sender, events) = channel();
    let job = Job {
        prompt,
        sampler: call.sampler,
        options: GenerationOptions { max_tokens: Some(max_tokens), stop: call.stop },
        reuse: call.cache_prompt,
        events: sender,
    };
    shared.queue.submit(job).map_err(refusal)?;
    let reply = Reply {
        id: format!("chatcmpl-{:016x}", random()),
        created: unix_seconds(),
        model: shared.about.model.id.clone(),
        seed: call.seed,
        include_usage: call.include_usage,
    };
    Ok(Accepted { reply, stream: call.stream, events })
}

/// Output tokens the context leaves, or the request's own limit if it fits.
fn room(prompt: usize, max_tokens: Option<usize>, context: usize) -> Result<usize, ApiError> {
    let refused = |message| Err(ApiError::new(400, CONTEXT_LENGTH_EXCEEDED, message));
    let left = context.saturating_sub(prompt);
    match max_tokens {
        _ if left == 0 => refused(format!(
            "the prompt has {prompt} tokens and leaves no room in the context of {context}: \
             shorten it or raise --ctx"
        )),
        Some(wanted) if wanted > left => refused(format!(
            "the prompt of {prompt} tokens and max_tokens {wanted} exceed the context of \
             {context}: ask for at most {left} or raise --ctx"
        )),
        Some(wanted) => Ok(wanted),
        None => Ok(left),
    }
}

fn refusal(refused: Refused) -> ApiError {
    match refused {
        Refused::Full => ApiError::new(
            503,
            "queue_full",
            format!("one request runs and {WAITING_MAX} wait: try again later"),
        ),
        Refused::Stopped => stopped().into(),
    }
}

/// The session's thread has ended, which only a defect of the engine can do.
fn stopped() -> crate::Error {
    crate::Error::Model("the engine has stopped: restart the server".into())
}

/// A job's events, for as long as its client is there.
struct Events {
    events: Receiver<Event>,
    /// When the client was last looked at.
    looked: Instant,
}

impl Events {
    /// The next event before an answer begins; `None` when the client left, and dropping `self`
    /// then ends the work.
    fn next(&mut self, request: &mut Request<'_>) -> Option<Event> {
        loop {
            // Events that come fast leave no pause in which to look.
            if self.looked.elapsed() >= LOOK_EVERY {
                if request.client_left() {
                    return None;
                }
                self.looked = Instant::now();
            }
            match self.events.recv_timeout(LOOK_EVERY) {
                Ok(event) => return Some(event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Some(Event::Failed(stopped())),
            }
        }
    }
}

fn deliver_whole(mut request: Request<'_>, reply: &Reply, mut events: Events) {
    let mut answer = String::new();
    while let Some(event) = events.next(&mut request) {
        match event {
            Event::Reading { .. } => {}
            Event::Text(text) => answer.push_str(&text),
            Event::Done(outcome) => {
                let body = reply.whole(&answer, &outcome);
                return request.respond(Response::json(&body));
            }
            Event::Failed(error) => return request.respond(Response::error(&error.into())),
        }
    }
}

/// The response begins with the first event, so that a job which fails before it is answered by
/// an error response.
fn deliver_stream(mut request: Request<'_>, reply: &Reply, mut events: Events) {
    match events.next(&mut request) {
        None => {}
        Some(Event::Failed(error)) => request.respond(Response::error(&error.into())),
        Some(first) => request.respond_events(|stream| {
            // A write that fails means that the client left: dropping the events ends the work.
            let rest = events.events.into_iter();
            write_events(stream, reply, std::iter::once(first).chain(rest))
        }),
    }
}

/// Writes each event as it comes. An answer that comes to an end, good or bad, ends the stream.
fn write_events<W: Write>(
    mut stream: EventStream<W>,
    reply: &Reply,
    events: impl Iterator<Item = Event>,
) -> io::Result<()> {
    let mut spoke = false;
    let mut commented: Option<Instant> = None;
    for event in events {
        match event {
            Event::Reading { read, of } => {
                if commented.is_none_or(|at| at.elapsed() >= COMMENT_EVERY) {
                    stream.comment(&format!("reading prompt {read}/{of}"))?;
                    commented = Some(Instant::now());
                }
            }
            Event::Text(text) => {
                if !spoke {
                    stream.send(&reply.role_chunk().to_string())?;
                    spoke = true;
                }
                if !text.is_empty() {
                    stream.send(&reply.text_chunk(&text).to_string())?;
                }
            }
            Event::Done(outcome) => {
                for chunk in reply.last_chunks(&outcome) {
                    stream.send(&chunk.to_string())?;
                }
                return stream.finish();
            }
            Event::Failed(error) => {
                stream.send(&ApiError::from(error).to_json().to_string())?;
                return stream.finish();
            }
        }
    }
    stream.send(&ApiError::from(stopped()).to_json().to_string())?;
    stream.finish()
}

pub(super) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A number nobody can guess: the standard library keys its hashers from the system's entropy.
fn random() -> u64 {
    RandomState::new().hash_one(Instant::now())
}

/// Between two looks at whether the client is still there.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Between two comments while a prompt is read.
const COMMENT_EVERY: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Finish;
    use crate::server::outcome::Outcome;

    fn written(events: Vec<Event>) -> Vec<String> {
        let reply =
            Reply { id: "id".into(), created: 7, model: "m".into(), seed: 3, include_usage: false };
        let mut bytes = Vec::new();
        let stream = EventStream::new(&mut bytes, false);
        write_events(stream, &reply, events.into_iter()).unwrap();
        let body = String::from_utf8(bytes).unwrap();
        body.split_terminator("\n\n").map(str::to_owned).collect()
    }

    #[test]
    fn a_stream_has_no_empty_text_and_ends_once() {
        let outcome = Outcome {
            finish: Finish::Length,
            prompt_tokens: 3,
            cached_tokens: 0,
            output_tokens: 3,
            prompt: Duration::from_millis(2),
            predicted: Duration::from_millis(3),
        };
        let reading = |read| Event::Reading { read, of: 192 };
        let text = |text: &str| Event::Text(text.into());
        let events =
            vec![reading(64), reading(128), text(""), text("é"), text(""), Event::Done(outcome)];
        let lines = written(events);
        assert_eq!(lines[0], ": reading prompt 64/192");
        assert!(lines[1].contains(r#""delta":{"role":"assistant"}"#), "{}", lines[1]);
        assert!(lines[2].contains(r#""delta":{"content":"é"}"#), "{}", lines[2]);
        assert!(lines[3].contains(r#""finish_reason":"length""#), "{}", lines[3]);
        assert_eq!(lines[4..], ["data: [DONE]"]);
    }

    #[test]
    fn a_failure_after_the_start_is_an_event_and_the_end() {
        let failed = Event::Failed(crate::Error::NotFinite { position: 9 });
        let lines = written(vec![Event::Text("a".into()), failed]);
        assert_eq!(lines.len(), 4);
        assert!(lines[2].starts_with(r#"data: {"error":{"message":"the logits"#), "{}", lines[2]);
        assert!(lines[2].contains(r#""type":"server_error""#), "{}", lines[2]);
        assert_eq!(lines[3], "data: [DONE]");
    }

    #[test]
    fn the_answer_and_its_prompt_fit_the_context_exactly() {
        let check = |prompt, wanted, want: Result<usize, &str>| {
            let got = room(prompt, wanted, 4096).map_err(|error| error.message);
            match (got, want) {
                (Ok(got), Ok(want)) => assert_eq!(got, want),
                (Err(got), Err(want)) => assert!(got.starts_with(want), "{got}"),
                (got, want) => panic!("{got:?}, not {want:?}"),
            }
        };
        check(4000, None, Ok(96));
        check(4095, None, Ok(1));
        check(4091, Some(5), Ok(5));
        check(4091, Some(6), Err("the prompt of 4091 tokens and max_tokens 6 exceed"));
        check(1, Some(4096), Err("the prompt of 1 tokens and max_tokens 4096 exceed"));
        check(4096, None, Err("the prompt has 4096 tokens and leaves no room"));
        check(20_000, Some(1), Err("the prompt has 20000 tokens and leaves no room"));
    }
}
