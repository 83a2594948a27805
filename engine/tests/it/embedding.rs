//! Faults come back as errors, several engines live side by side, work ends when it is told to.

use super::{bundled, check_bits, model, session, session_with, tokens};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;
use strata_engine::device::KernelChoice;
use strata_engine::{Cancel, Error, Model, ModelOptions, Session, SessionOptions, Token};

/// A call that must fail, with the message, on a session that must give the right bits afterwards.
fn check(call: impl Fn(&mut Session) -> Result<(), Error>, message: &str) {
    let mut session = session_with(1, SessionOptions { context: Some(64), ..Default::default() });
    let prompt = tokens(5, 20);
    session.sync(&prompt).unwrap();
    assert_eq!(call(&mut session).unwrap_err().to_string(), message);
    session.sync(&prompt).unwrap();
    check_bits(&mut session, &prompt);
}

#[test]
fn a_session_is_usable_after_every_bad_call() {
    check(|s| s.sync(&[]).map(drop), "a prompt of 0 tokens: give at least one");
    check(|s| s.sync(&[5, 512]).map(drop), "token 512 is outside the vocabulary of 512");
    check(|s| s.push(Token::MAX), "token 4294967295 is outside the vocabulary of 512");
    check(
        |s| s.sync(&tokens(1, 65)).map(drop),
        "65 tokens do not fit the context of 64: shorten the prompt or raise --ctx",
    );
    check(
        |s| {
            s.sync(&tokens(1, 64))?;
            s.decode()?;
            s.push(7)
        },
        "65 tokens do not fit the context of 64: shorten the prompt or raise --ctx",
    );
    check(|s| s.rewind(21), "cannot rewind to 21: 20 tokens are held");
    check(
        |s| {
            s.rewind(0)?;
            s.decode().map(drop)
        },
        "nothing to decode: the timeline is empty",
    );
}

#[test]
fn options_out_of_range_are_refused() {
    let check = |options: SessionOptions, message: &str| {
        assert_eq!(Session::new(model(1), options).err().unwrap().to_string(), message);
    };
    for context in [0, 513] {
        let message = format!(
            "a context of {context} positions: choose 1 to 512, which the model was trained for"
        );
        check(SessionOptions { context: Some(context), ..Default::default() }, &message);
    }
    check(
        SessionOptions { prefill_chunk: 0, ..Default::default() },
        "a prefill chunk of 0 tokens: choose at least 1",
    );
}

#[test]
fn files_that_are_no_models_are_refused() {
    let options = ModelOptions::default();
    let missing = Model::open(Path::new("no/such/model.gguf"), &options).err().unwrap();
    assert!(matches!(missing, Error::Model(_)));
    assert!(missing.to_string().contains("no/such/model.gguf"), "{missing}");
    let bytes = std::fs::read(bundled()).unwrap();
    for len in [0, 3, 24, 1000, bytes.len() / 2, bytes.len() - 1] {
        let error = Model::from_bytes(bytes[..len].to_vec(), &options).err().unwrap();
        assert!(matches!(error, Error::Model(_)), "{len} bytes: {error}");
    }
    let threads = ModelOptions { threads: 0, kernels: KernelChoice::Auto };
    let error = Model::from_bytes(bytes, &threads).err().unwrap();
    assert_eq!(error, Error::Input("0 threads: choose 1 to 1024".to_owned()));
}

#[test]
fn sessions_on_several_threads_share_a_model() {
    std::thread::scope(|scope| {
        for seed in 0..3 {
            scope.spawn(move || {
                let prompt = tokens(seed, 30);
                let mut session = session(2);
                session.sync(&prompt).unwrap();
                check_bits(&mut session, &prompt);
            });
        }
    });
}

#[test]
fn work_ends_when_another_thread_cancels_it() {
    let cancel = Cancel::default();
    let options =
        SessionOptions { prefill_chunk: 1, cancel: cancel.clone(), ..SessionOptions::default() };
    let mut session = session_with(1, options);
    let (ended, end) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        let prompt = tokens(9, 500);
        let error = loop {
            if let Err(error) = session.sync(&prompt) {
                break error;
            }
            session.rewind(0).unwrap();
        };
        ended.send(error).unwrap();
        session
    });
    cancel.set();
    assert_eq!(end.recv_timeout(Duration::from_secs(10)), Ok(Error::Cancelled));
    drop(worker.join().unwrap());
}

#[test]
fn a_model_is_shared_and_a_session_travels() {
    fn shared<T: Send + Sync>() {}
    fn travels<T: Send>() {}
    shared::<Model>();
    shared::<Error>();
    travels::<Session>();
}
