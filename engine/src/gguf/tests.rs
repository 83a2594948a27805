//! Whole files: valid ones come back as written, hostile ones are refused in words.

use super::testing::Builder;
use super::*;
use proptest::prelude::*;

fn parse(bytes: Vec<u8>) -> Result<File, Error> {
    File::parse(Bytes::from(bytes))
}

/// The bytes are refused with a message that contains every one of `words`.
fn check_refused(bytes: Vec<u8>, words: &[&str]) {
    let message = match parse(bytes) {
        Ok(_) => panic!("accepted, expected an error with {words:?}"),
        Err(error) => error.to_string(),
    };
    for word in words {
        assert!(message.contains(word), "{message:?} does not say {word:?}");
    }
}
