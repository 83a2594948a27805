//! What a generation gives step by step: text, stops, limits.

use super::{greedy, session, session_with, tokens, workspace};
use strata_engine::text::Special;
use strata_engine::{Cancel, Error, Finish, Generation, GenerationOptions, Session};
use strata_engine::{SessionOptions, Step, Token};

/// The published greedy story, from BOS on.
fn story() -> String {
    let path = workspace("golden/logits/stories260K/greedy.json");
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    json["text"].as_str().unwrap().to_owned()
}

struct Answer {
    ids: Vec<Token>,
    text: String,
    finish: Finish,
}

fn run(session: &mut Session, max_tokens: Option<usize>, stop: &[&str]) -> Answer {
    let stop = stop.iter().map(|text| (*text).to_owned()).collect();
    let options = GenerationOptions { max_tokens, stop };
    let mut generation = Generation::new(session, greedy(), &options).unwrap();
    let (mut ids, mut text) = (Vec::new(), String::new());
    loop {
        match generation.step().unwrap() {
            Step::Token { id, text: piece } => {
                ids.push(id);
                text.push_str(&piece);
                assert_eq!(generation.produced(), ids.len());
            }
            Step::Done { finish, text: rest } => {
                text.push_str(&rest);
                let again = Step::Done { finish, text: String::new() };
                assert_eq!(generation.step(), Ok(again), "the end stays the end");
                return Answer { ids, text, finish };
            }
        }
    }
}

fn tell_story(max_tokens: Option<usize>, stop: &[&str]) -> Answer {
    let mut session = session(1);
    session.sync(&[1]).unwrap();
    run(&mut session, max_tokens, stop)
}

#[test]
fn the_text_is_the_published_story() {
    let answer = tell_story(Some(256), &[]);
    assert_eq!((answer.ids.len(), answer.finish), (256, Finish::Length));
    assert_eq!(answer.text.trim_start(), story());
}

#[test]
fn a_stop_text_ends_the_answer_before_it() {
    let answer = tell_story(None, &["never told", " red ball"]);
    assert_eq!(answer.finish, Finish::Stop);
    let end = story().find(" red ball").unwrap();
    assert_eq!(answer.text.trim_start(), &story()[..end]);
}

#[test]
fn what_could_have_become_a_stop_text_is_part_of_the_answer() {
    let all = tell_story(Some(20), &[]);
    let last = &all.text[all.text.len() - 3..];
    let answer = tell_story(Some(20), &[&format!("{last}, and then the dragon came")]);
    assert_eq!((answer.text, answer.finish), (all.text, Finish::Length));
}

#[test]
fn no_tokens_are_a_length() {
    let answer = tell_story(Some(0), &[]);
    assert_eq!((answer.ids.len(), answer.text.as_str(), answer.finish), (0, "", Finish::Length));
}

#[test]
fn prompt_and_answer_share_the_context() {
    let options = || SessionOptions { context: Some(8), ..SessionOptions::default() };
    for (prompt_len, room) in [(1, 7), (6, 2), (7, 1)] {
        for max_tokens in [None, Some(20)] {
            let mut session = session_with(1, options());
            session.sync(&tokens(1, prompt_len)).unwrap();
            let answer = run(&mut session, max_tokens, &[]);
            assert_eq!((answer.ids.len(), answer.finish), (room, Finish::Length));
            assert_eq!(session.tokens().len(), 8);
        }
    }
    let mut session = session_with(1, options());
    session.sync(&tokens(1, 8)).unwrap();
    let error = Generation::new(&mut session, greedy(), &GenerationOptions::default()).err();
    assert_eq!(error, Some(Error::ContextFull { needed: 9, capacity: 8 }));
}

#[test]
fn a_cancelled_step_can_be_taken_again() {
    let expected = tell_story(Some(10), &[]);
    let cancel = Cancel::default();
    let options = SessionOptions { cancel: cancel.clone(), ..SessionOptions::default() };
    let mut session = session_with(1, options);
    session.sync(&[1]).unwrap();
    let options = GenerationOptions { max_tokens: Some(10), ..GenerationOptions::default() };
    let mut generation = Generation::new(&mut session, greedy(), &options).unwrap();
    let mut ids = Vec::new();
    for _ in 0..10 {
        cancel.set();
        assert_eq!(generation.step(), Err(Error::Cancelled));
        cancel.clear();
        let Ok(Step::Token { id, .. }) = generation.step() else { panic!("a token") };
        ids.push(id);
    }
    assert_eq!(ids, expected.ids);
}

#[test]
fn text_goes_in_as_text_comes_out() {
    let mut session = session(1);
    let model = session.model().clone();
    let prompt = model.tokenizer().encode_prompt("Once upon a time", Special::Text);
    session.sync(&prompt).unwrap();
    let answer = run(&mut session, Some(12), &[]);
    assert!(story().starts_with(&format!("Once upon a time{}", answer.text)), "{}", answer.text);
}
