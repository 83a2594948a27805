//! `strata generate`: one continuation, the text on standard output as it comes.

use super::args::Generate;
use super::signals::Signals;
use super::{Failure, engine, say, write};
use std::time::Instant;
use strata_engine::text::{Sampler, SamplerOptions, Special};
use strata_engine::{Finish, Generation, GenerationOptions, Session, Step};

pub(super) fn run(args: Generate) -> Result<(), Failure> {
    let sampler = Sampler::new(SamplerOptions {
        temperature: args.temp,
        top_p: args.top_p,
        top_k: args.top_k,
        seed: args.seed,
        ..SamplerOptions::default()
    })?;
    let loaded = engine::load(&args.model, &args.engine())?;
    let prompt = loaded.model.tokenizer().encode_prompt(&args.prompt, Special::Text);
    if prompt.is_empty() {
        return Err(Failure::Input("--prompt comes to no token: give it a text".into()));
    }
    let signals = Signals::install()
        .map_err(|error| Failure::Internal(format!("cannot watch for signals: {error}")))?;
    let unless_signalled = || signals.seen().map_or(Ok(()), |_| Err(Failure::Interrupted));

    let mut session = Session::new(loaded.model, loaded.session)?;
    let started = Instant::now();
    session.begin(&prompt)?;
    while session.read_chunk()? > 0 {
        unless_signalled()?;
    }
    let read = Instant::now();
    let options = GenerationOptions { max_tokens: args.max_tokens, stop: Vec::new() };
    let mut generation = Generation::new(&mut session, sampler, &options)?;
    let finish = loop {
        unless_signalled()?;
        match generation.step()? {
            Step::Token { text, .. } => write(&text)?,
            Step::Done { text, finish } => {
                write(&text)?;
                break finish;
            }
        }
    };
    let (prompt_s, decode_s) = ((read - started).as_secs_f64(), read.elapsed().as_secs_f64());
    say(""); // ends the answer's line on a terminal
    say(&format!("prompt     {} tokens in {prompt_s:.2} s", prompt.len()));
    say(&format!(
        "answer     {} tokens in {decode_s:.2} s, {}",
        generation.produced(),
        match finish {
            Finish::Stop => "ended by the model",
            Finish::Length => "ended by the limit",
        },
    ));
    Ok(())
}
