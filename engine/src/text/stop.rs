//! Stop texts across token borders: text that could still become one is held back.

/// Watches an answer for texts that end it.
#[derive(Debug, Clone, Default)]
pub struct StopStrings {
    stops: Vec<String>,
    held: String,
}

impl StopStrings {
    /// Empty texts are ignored.
    pub fn new(_stops: &[String]) -> StopStrings {
        unimplemented!()
    }

    /// Adds text; returns what is certain to be part of the answer, and whether a stop was found.
    pub fn push(&mut self, _text: &str) -> (String, bool) {
        unimplemented!()
    }

    /// What was held back when the answer ended for another reason.
    pub fn finish(&mut self) -> String {
        unimplemented!()
    }
}
