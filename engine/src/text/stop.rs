//! Stop texts across token borders: text that could still become one is held back.

/// Watches an answer for texts that end it. The first one to be complete wins; among those that
/// complete at the same character, the one that began first. So the result does not depend on how
/// the answer was cut into pieces.
#[derive(Debug, Clone, Default)]
pub struct StopStrings {
    stops: Vec<String>,
    held: String,
    found: bool,
}

impl StopStrings {
    /// Empty texts are ignored.
    pub fn new(stops: &[String]) -> StopStrings {
        let stops = stops.iter().filter(|stop| !stop.is_empty()).cloned().collect();
        StopStrings { stops, held: String::new(), found: false }
    }

    /// Adds text; returns what is certain to be part of the answer, and whether a stop was found.
    /// Everything after a stop is dropped.
    pub fn push(&mut self, text: &str) -> (String, bool) {
        if self.found {
            return (String::new(), true);
        }
        self.held.push_str(text);
        let complete = self.stops.iter().filter_map(|stop| {
            let start = self.held.find(stop)?;
            Some((start + stop.len(), start))
        });
        if let Some((_, start)) = complete.min() {
            self.found = true;
            let mut answer = std::mem::take(&mut self.held);
            answer.truncate(start);
            return (answer, true);
        }
        let open = self.held.split_off(self.open_from());
        (std::mem::replace(&mut self.held, open), false)
    }

    /// What was held back when the answer ended for another reason.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    /// Where the longest tail begins that is the beginning of a stop.
    fn open_from(&self) -> usize {
        let longest = self.stops.iter().map(String::len).max().unwrap_or(0);
        let tail = self.held.len().saturating_sub(longest.saturating_sub(1));
        (tail..self.held.len())
            .filter(|&start| self.held.is_char_boundary(start))
            .find(|&start| self.stops.iter().any(|stop| stop.starts_with(&self.held[start..])))
            .unwrap_or(self.held.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Joined answer, whether a stop was found, and what `finish` released.
    fn run(stops: &[&str], pieces: &[&str]) -> (String, bool) {
        let stops: Vec<String> = stops.iter().map(|stop| (*stop).to_owned()).collect();
        let mut watch = StopStrings::new(&stops);
        let mut answer = String::new();
        let mut found = false;
        for piece in pieces {
            let (text, stop) = watch.push(piece);
            assert!(!found || (text.is_empty() && stop), "nothing follows a stop");
            answer += &text;
            found = stop;
        }
        (answer + &watch.finish(), found)
    }

    fn check(stops: &[&str], pieces: &[&str], answer: &str, found: bool) {
        assert_eq!(run(stops, pieces), (answer.to_owned(), found), "{stops:?} in {pieces:?}");
    }

    #[test]
    fn stops() {
        check(&["DEFGHIJ"], &["DEF", "G", "HI", "J"], "", true);
        check(&["DEFGHIJ"], &["DEF", "G", "HI"], "DEFGHI", false);
        let updated = [">>>>>>> UPDATED", ">>>>>>> UPDATED\n"];
        check(&updated, &["x\n>>", ">>>>> UPD", "ATED\n"], "x\n", true);
        check(&["Pari"], &[" Paris"], " ", true);
        check(&["b,c"], &["a,", "b", ",d"], "a,b,d", false);
        check(&["🌍"], &["hi 🌍!"], "hi ", true);
        check(&["", "b"], &["abc"], "a", true);
        check(&[""], &["abc"], "abc", false);
        check(&[], &["abc"], "abc", false);
        check(&["1", "2", "3", "4", "5"], &["a5b1"], "a", true);
        check(&["end"], &["an end", " and more"], "an ", true);
        check(&["aab"], &["aa", "ab"], "a", true);
    }

    #[test]
    fn the_first_to_be_complete_wins_and_then_the_longer() {
        check(&["abcde", "bc"], &["abcde"], "a", true);
        check(&["bc", "abc"], &["abc"], "", true);
    }

    #[test]
    fn text_that_cannot_become_a_stop_is_not_held() {
        let mut watch = StopStrings::new(&["stop".to_owned()]);
        assert_eq!(watch.push("a st"), ("a ".to_owned(), false));
        assert_eq!(watch.push("ay"), ("stay".to_owned(), false));
    }

    proptest! {
        /// Cut into single characters or given whole: the same answer. A small alphabet makes
        /// stops overlap each other and themselves.
        #[test]
        fn cuts_change_nothing(
            text in "[abé]{0,24}",
            stops in prop::collection::vec("[abé]{0,5}", 0..4),
            cuts in prop::collection::vec(any::<bool>(), 24),
        ) {
            let stops: Vec<&str> = stops.iter().map(String::as_str).collect();
            let whole = run(&stops, &[&text]);
            let mut pieces = vec![String::new()];
            for (c, cut) in text.chars().zip(cuts) {
                if cut {
                    pieces.push(String::new());
                }
                pieces.last_mut().expect("never empty").push(c);
            }
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            prop_assert_eq!(run(&stops, &pieces), whole.clone());
            let stops: Vec<&&str> = stops.iter().filter(|stop| !stop.is_empty()).collect();
            prop_assert_eq!(whole.1, stops.iter().any(|stop| text.contains(**stop)));
            prop_assert!(text.starts_with(&whole.0));
            prop_assert!(stops.iter().all(|stop| !whole.0.contains(**stop)));
        }
    }
}
