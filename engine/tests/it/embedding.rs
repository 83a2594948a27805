//! Faults come back as errors, several engines live side by side, work ends when it is told to.

use super::{bundled, check_bits, greedy, model, session, session_with, tokens};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use strata_engine::device::KernelChoice;
use strata_engine::{Cancel, Error, Generation, GenerationOptions, Model, ModelOptions, Session};
use strata_engine::{SessionOptions, Step, Token};

/// A call that must fail, with the message, on a session that must give the right bits afterwards.
fn check(call: impl Fn(&mut Session) -> Result<(), Error>, message: &str) {
    let mut session = session_with(1, SessionOptions { context: Some(64), ..Default::default() });
    let prompt = tokens(5, 20);
    session.sync(&prompt).unwrap();
    assert_eq!(call(&mut session).unwrap_err().to_string(), message);
    session.sync(&prompt).unwrap();
    check_bits(&mut session, &prompt);
}

/// B115: and the session is as good as before.
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

/// Files of 0 to 96 bytes that are GGUF in form, as hexadecimal digits to be followed by zeros: a
/// dimension of 0, an empty key, sizes that overflow, an array of bytes where numbers belong,
/// alignments that are none, data beyond the end, and one that is whole but no model.
const DAMAGED: [(&str, usize); 9] = [
    ("47475546030000000100000000000000000000000000000001000000000000007401", 64),
    ("4747554603000000000000000000000001000000000000000000000000000000040000000700", 64),
    (
        "4747554603000000010000000000000000000000000000000100000000000000\
         7402000000ffffffffffffff7f020000000000000018",
        96,
    ),
    (
        "4747554603000000010000000000000000000000000000000100000000000000\
         74020000000000400000000000010000000004",
        96,
    ),
    (
        "474755460300000000000000000000000100000000000000\
         1900000000000000746f6b656e697a65722e67676d6c2e746f6b656e5f74797065\
         0900000000000000040000000000000001010101",
        96,
    ),
    (
        "474755460300000000000000000000000100000000000000\
         110000000000000067656e6572616c2e616c69676e6d656e740500000020",
        64,
    ),
    (
        "474755460300000000000000000000000100000000000000\
         110000000000000067656e6572616c2e616c69676e6d656e740400000003",
        64,
    ),
    (
        "474755460300000001000000000000000000000000000000\
         0100000000000000740100000008000000000000000000000000000000000000000100",
        96,
    ),
    (
        "474755460300000001000000000000000000000000000000\
         0100000000000000740100000008",
        96,
    ),
];

/// B115: a damaged file of any size is an error of the model, by its bytes and by its path.
#[test]
fn damaged_files_are_errors() {
    let path = std::env::temp_dir().join(format!("strata-damaged-{}.gguf", std::process::id()));
    for (digits, len) in DAMAGED {
        let byte = |pair: &[u8; 2]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
        let mut whole: Vec<u8> = digits.as_bytes().as_chunks().0.iter().map(byte).collect();
        whole.resize(len, 0);
        for cut in 0..=len {
            let bytes = whole[..cut].to_vec();
            let error = Model::from_bytes(bytes, &ModelOptions::default()).err().unwrap();
            assert!(matches!(error, Error::Model(_)), "{cut} bytes of {digits}: {error}");
        }
        std::fs::write(&path, &whole).unwrap();
        let error = Model::open(&path, &ModelOptions::default()).err().unwrap().to_string();
        assert!(error.contains(path.to_str().unwrap()), "{error}");
    }
    std::fs::remove_file(&path).unwrap();
}

/// B115: the last owner may let go on another thread, in the middle of an answer.
#[test]
fn an_answer_that_is_dropped_half_way_harms_nobody() {
    let own = Arc::new(Model::open(&bundled(), &ModelOptions::default()).unwrap());
    let mut session = Session::new(Arc::clone(&own), SessionOptions::default()).unwrap();
    drop(own);
    let half_way = std::thread::spawn(move || {
        session.sync(&tokens(4, 20)).unwrap();
        let options = GenerationOptions::default();
        let mut answer = Generation::new(&mut session, greedy(), &options).unwrap();
        assert!(matches!(answer.step(), Ok(Step::Token { .. })));
        drop(answer);
        session
    });
    let session = half_way.join().unwrap();
    std::thread::spawn(move || drop(session)).join().unwrap();
    let prompt = tokens(6, 20);
    let mut other = session_with(2, SessionOptions::default());
    other.sync(&prompt).unwrap();
    check_bits(&mut other, &prompt);
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
