//! Whatever a session did before, it gives the bits a new one gives.

use super::{check_bits, greedy, session, session_with, tokens};
use proptest::prelude::*;
use strata_engine::{Cancel, Error, Generation, GenerationOptions, Session, SessionOptions};
use strata_engine::{Step, Token};

/// The greedy answer to a prompt, `len` tokens.
fn answer(session: &mut Session, prompt: &[Token], len: usize) -> Vec<Token> {
    session.sync(prompt).unwrap();
    let options = GenerationOptions { max_tokens: Some(len), ..GenerationOptions::default() };
    let mut generation = Generation::new(session, greedy(), &options).unwrap();
    let mut ids = Vec::new();
    while let Step::Token { id, .. } = generation.step().unwrap() {
        ids.push(id);
    }
    ids
}

/// Syncs to a prompt on a session in use; checks the bits and how much was reused.
fn check(session: &mut Session, prompt: &[Token], reused: usize) {
    assert_eq!(session.sync(prompt), Ok(reused), "{} tokens", prompt.len());
    check_bits(session, prompt);
}

#[test]
fn a_prompt_that_was_asked_before_is_evaluated_from_its_last_token_on() {
    for len in [1, 2, 63, 64, 65, 127, 128, 129] {
        let prompt = tokens(1, len + 1);
        let mut session = session(1);
        check(&mut session, &prompt[..len], 0);
        check(&mut session, &prompt[..len], len - 1);
        check(&mut session, &prompt, len);
        check(&mut session, &prompt[..len], len - 1);
        if len > 1 {
            check(&mut session, &prompt[..len - 1], len - 2);
            check(&mut session, &prompt[..len.div_ceil(2)], len.div_ceil(2) - 1);
        }
    }
}

#[test]
fn an_answer_does_not_move_what_the_next_prompt_reuses() {
    let prompt = tokens(2, 40);
    let expected = answer(&mut session(1), &prompt, 20);
    let mut session = session(1);
    for _ in 0..3 {
        assert_eq!(answer(&mut session, &prompt, 20), expected);
    }
    assert_eq!(answer(&mut session, &prompt, 3), expected[..3]);
    assert_eq!(answer(&mut session, &prompt, 20), expected);
}

#[test]
fn a_rewound_timeline_goes_on_as_if_nothing_had_followed() {
    let prompt = tokens(3, 30);
    let mut session = session(1);
    session.sync(&prompt).unwrap();
    session.decode().unwrap();
    for len in [29, 12, 1] {
        session.rewind(len).unwrap();
        check_bits(&mut session, &prompt[..len]);
    }
    session.push(prompt[1]).unwrap();
    session.push(prompt[2]).unwrap();
    check_bits(&mut session, &prompt[..3]);
    session.rewind(0).unwrap();
    assert!(matches!(session.decode(), Err(Error::Input(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn chunks_and_threads_change_no_bit(
        seed in 0u32..100,
        len in 1usize..150,
        prefill_chunk in 1usize..80,
        threads in 1usize..=2,
    ) {
        let prompt = tokens(seed, len);
        let options = SessionOptions { prefill_chunk, ..SessionOptions::default() };
        let mut session = session_with(threads, options);
        session.sync(&prompt).unwrap();
        check_bits(&mut session, &prompt);
    }

    /// Three conversations take turns on one session in any order. A turn is the whole
    /// conversation so far: what was asked and answered, and something new.
    #[test]
    fn conversations_do_not_leak_into_each_other(order in prop::collection::vec(0usize..3, 2..7)) {
        let mut shared = session(1);
        let mut histories = [tokens(10, 60), tokens(11, 45), tokens(12, 9)];
        for (turn, conversation) in order.into_iter().enumerate() {
            let history = &mut histories[conversation];
            let found = answer(&mut shared, history, 6);
            prop_assert_eq!(&found, &answer(&mut session(1), history, 6));
            history.extend(found);
            history.extend(tokens(20 + turn as u32, 5));
        }
    }

    /// A prompt cut short anywhere, while it is read or answered, then asked again or another one.
    #[test]
    fn cancelling_at_any_step_leaves_a_usable_session(
        chunks_read in 0usize..6,
        tokens_answered in 0usize..6,
        same_again: bool,
    ) {
        let cancel = Cancel::default();
        let options = SessionOptions {
            prefill_chunk: 16,
            cancel: cancel.clone(),
            ..SessionOptions::default()
        };
        let mut session = session_with(1, options);
        let prompt = tokens(30, 60);
        session.begin(&prompt).unwrap();
        for _ in 0..chunks_read {
            session.read_chunk().unwrap();
        }
        if session.read_chunk() == Ok(0) {
            for _ in 0..tokens_answered {
                session.decode().unwrap();
                session.push(7).unwrap();
            }
        }
        cancel.set();
        session.push(8).unwrap();
        prop_assert_eq!(session.decode(), Err(Error::Cancelled));
        prop_assert_eq!(session.sync(&tokens(31, 60)), Err(Error::Cancelled));
        cancel.clear();
        let next = if same_again { prompt } else { tokens(31, 30) };
        session.sync(&next).unwrap();
        check_bits(&mut session, &next);
    }
}
