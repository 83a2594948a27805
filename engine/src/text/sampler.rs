//! From logits to a token. The random number is a function of (seed, position) alone, and so the
//! choice is one of (logits, options, history).
//!
//! In the order of Hugging Face transformers: repetition, frequency and presence penalty,
//! temperature, top-k, top-p over what top-k left, min-p. All ranks are by (logit descending, id
//! ascending); the draw walks what is left by ascending id, so a filter that keeps all changes
//! nothing.

use super::philox;
use crate::{Error, Token};
use std::cmp::Ordering;
use std::ops::RangeInclusive;

/// How a token is chosen. Zero turns `top_k` and `min_p` off, one `top_p` and the repetition
/// penalty.
#[derive(Debug, Clone, PartialEq)]
pub struct SamplerOptions {
    /// 0 to 2; 0 is greedy: the largest logit, the lowest id among equals.
    pub temperature: f32,
    /// Candidates kept by rank; 0 keeps all.
    pub top_k: usize,
    /// 0 to 1: smallest set whose probability reaches this, at least one token; 1 keeps all.
    pub top_p: f32,
    /// 0 to 1: least probability relative to the best; 0 keeps all.
    pub min_p: f32,
    /// -2 to 2: subtracted once from the logit of every token already produced.
    pub presence_penalty: f32,
    /// -2 to 2: subtracted per occurrence from the logit of every token already produced.
    pub frequency_penalty: f32,
    /// Above 0: divides positive and multiplies negative logits of tokens in prompt and answer; 1
    /// is off.
    pub repetition_penalty: f32,
    /// Any value.
    pub seed: u64,
}

impl Default for SamplerOptions {
    fn default() -> SamplerOptions {
        SamplerOptions {
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            repetition_penalty: 1.0,
            seed: 0,
        }
    }
}

/// Checked options, ready to choose.
#[derive(Debug, Clone)]
pub struct Sampler {
    options: SamplerOptions,
    /// Kept from call to call for their memory alone.
    candidates: Vec<Candidate>,
}

/// A token that may be chosen.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    id: Token,
    /// After penalties; f64, so that no permitted option makes it infinite.
    logit: f64,
    /// Probability over that of the best token.
    weight: f64,
}

impl Sampler {
    /// Refuses values out of range, naming the field.
    pub fn new(options: SamplerOptions) -> Result<Sampler, Error> {
        let within = |field: &str, value: f32, range: RangeInclusive<f32>| {
            if range.contains(&value) {
                return Ok(());
            }
            let (low, high) = range.into_inner();
            Err(Error::Input(format!("{field} is {value}, but must lie in {low} to {high}")))
        };
        within("temperature", options.temperature, 0.0..=2.0)?;
        within("top_p", options.top_p, 0.0..=1.0)?;
        within("min_p", options.min_p, 0.0..=1.0)?;
        within("presence_penalty", options.presence_penalty, -2.0..=2.0)?;
        within("frequency_penalty", options.frequency_penalty, -2.0..=2.0)?;
        let repetition = options.repetition_penalty;
        if !(repetition.is_finite() && repetition > 0.0) {
            return Err(Error::Input(format!(
                "repetition_penalty is {repetition}, but must be a finite number above 0"
            )));
        }
        Ok(Sampler { options, candidates: Vec::new() })
    }

    /// Chooses the token at position `prompt.len() + output.len()` from its logits, `[vocab]`.
    pub fn sample(
        &mut self,
        logits: &[f32],
        prompt: &[Token],
        output: &[Token],
    ) -> Result<Token, Error> {
        let position = prompt.len() + output.len();
        if logits.is_empty() {
            return Err(Error::Input("there are no logits to choose from".to_owned()));
        }
        if !logits.iter().all(|logit| logit.is_finite()) {
            return Err(Error::NotFinite { position: position.saturating_sub(1) });
        }
        self.candidates.clear();
        self.candidates.extend((0..).zip(logits).map(|(id, &logit)| Candidate {
            id,
            logit: f64::from(logit),
            weight: 0.0,
        }));
        self.penalise(prompt, output);
        if self.options.temperature == 0.0 {
            return Ok(best(&self.candidates).id);
        }
        // The temperature changes no rank, so only what is kept by rank is weighed.
        self.keep_top_k();
        self.weigh();
        self.keep_top_p();
        let min_p = f64::from(self.options.min_p);
        self.candidates.retain(|candidate| candidate.weight >= min_p);
        self.candidates.sort_unstable_by_key(|candidate| candidate.id);
        Ok(draw(&self.candidates, philox::uniform(self.options.seed, position as u64)))
    }

    /// Tokens that the model has no logit for are passed over.
    fn penalise(&mut self, prompt: &[Token], output: &[Token]) {
        let repetition = f64::from(self.options.repetition_penalty);
        let frequency = f64::from(self.options.frequency_penalty);
        let presence = f64::from(self.options.presence_penalty);
        if repetition != 1.0 {
            for &(id, _) in &counts([prompt, output].concat()) {
                if let Some(candidate) = self.candidates.get_mut(id as usize) {
                    let factor = if candidate.logit > 0.0 { 1.0 / repetition } else { repetition };
                    candidate.logit *= factor;
                }
            }
        }
        if frequency != 0.0 || presence != 0.0 {
            for &(id, count) in &counts(output.to_vec()) {
                if let Some(candidate) = self.candidates.get_mut(id as usize) {
                    candidate.logit -= frequency * count as f64 + presence;
                }
            }
        }
    }

    /// Differences are taken before dividing by the temperature: the best token weighs 1, and
    /// nothing overflows however small the temperature is.
    fn weigh(&mut self) {
        let best = best(&self.candidates).logit;
        let temperature = f64::from(self.options.temperature);
        for candidate in &mut self.candidates {
            candidate.weight = ((candidate.logit - best) / temperature).exp();
        }
    }

    fn keep_top_k(&mut self) {
        let k = self.options.top_k;
        if k != 0 && k < self.candidates.len() {
            self.candidates.select_nth_unstable_by(k - 1, rank);
            self.candidates.truncate(k);
        }
    }

    /// Ranks only as far as needed, in steps that grow: the set is mostly small.
    fn keep_top_p(&mut self) {
        if self.options.top_p >= 1.0 {
            return;
        }
        let total: f64 = self.candidates.iter().map(|candidate| candidate.weight).sum();
        let wanted = f64::from(self.options.top_p) * total;
        let mut reached = 0.0;
        let mut ranked = 0;
        let mut step = 64;
        while ranked < self.candidates.len() {
            let rest = &mut self.candidates[ranked..];
            if step < rest.len() {
                rest.select_nth_unstable_by(step - 1, rank);
            }
            let end = step.min(rest.len());
            rest[..end].sort_unstable_by(rank);
            for candidate in &rest[..end] {
                reached += candidate.weight;
                ranked += 1;
                if reached >= wanted {
                    self.candidates.truncate(ranked);
                    return;
                }
            }
            step *= 4;
        }
    }
}

/// Largest logit first, lowest id among equals.
fn rank(a: &Candidate, b: &Candidate) -> Ordering {
    let by_logit = b.logit.partial_cmp(&a.logit).expect("logits were seen to be finite");
    by_logit.then(a.id.cmp(&b.id))
}

fn best(candidates: &[Candidate]) -> Candidate {
    *candidates.iter().min_by(|a, b| rank(a, b)).expect("the vocabulary was seen not to be empty")
}

/// Each token once, with its number of occurrences.
fn counts(mut tokens: Vec<Token>) -> Vec<(Token, usize)> {
    tokens.sort_unstable();
    tokens.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect()
}

/// Walks the weights up to a share `u`, in [0, 1), of their sum.
fn draw(candidates: &[Candidate], u: f64) -> Token {
    let total: f64 = candidates.iter().map(|candidate| candidate.weight).sum();
    let mut left = u * total;
    for candidate in candidates {
        left -= candidate.weight;
        if left < 0.0 {
            return candidate.id;
        }
    }
    // Rounding may leave a crumb: the last token that can be drawn at all takes it.
    candidates
        .iter()
        .rfind(|candidate| candidate.weight > 0.0)
        .expect("the best token weighs 1 and passes every filter")
        .id
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sampler(change: impl FnOnce(&mut SamplerOptions)) -> Sampler {
        let mut options = SamplerOptions { temperature: 1.0, ..SamplerOptions::default() };
        change(&mut options);
        Sampler::new(options).expect("in range")
    }

    fn choose(sampler: &mut Sampler, logits: &[f32], position: usize) -> Token {
        sampler.sample(logits, &vec![0; position], &[]).expect("finite")
    }

    /// How often each token is drawn at 4,000 positions.
    fn histogram(mut sampler: Sampler, logits: &[f32]) -> Vec<f64> {
        let mut drawn = vec![0.0; logits.len()];
        let prompt = vec![0; 4_000];
        for position in 0..prompt.len() {
            let token = sampler.sample(logits, &prompt[..position], &[]).expect("finite");
            drawn[token as usize] += 1.0;
        }
        drawn
    }

    /// Which of five logits, ln 16, 8, 4, 2 and 1 in another order, options leave possible.
    fn check_kept(change: impl FnOnce(&mut SamplerOptions), kept: &[Token]) {
        let logits = [4f32, 16.0, 1.0, 8.0, 2.0].map(f32::ln);
        let drawn = histogram(sampler(change), &logits);
        let seen: Vec<Token> = (0..5).filter(|&id| drawn[id as usize] > 0.0).collect();
        assert_eq!(seen, kept);
    }

    #[test]
    fn filters_keep_what_they_say() {
        check_kept(|_| {}, &[0, 1, 2, 3, 4]);
        check_kept(|o| o.top_k = 1, &[1]);
        check_kept(|o| o.top_k = 3, &[0, 1, 3]);
        check_kept(|o| o.top_k = 64, &[0, 1, 2, 3, 4]);
        check_kept(|o| o.top_k = 1_000_000_000, &[0, 1, 2, 3, 4]);
        check_kept(|o| o.top_p = 0.0, &[1]);
        check_kept(|o| o.top_p = 0.5, &[1]); // 16 of 31 reach it
        check_kept(|o| o.top_p = 0.75, &[1, 3]); // 24 of 31
        check_kept(|o| o.top_p = 0.8, &[0, 1, 3]);
        check_kept(|o| o.min_p = 1.0, &[1]);
        check_kept(|o| o.min_p = 0.2, &[0, 1, 3]);
        // 16 of 24 is below 0.7, though 16 + 8 of 31 are above: top-p sees what top-k left.
        check_kept(|o| (o.top_k, o.top_p) = (2, 0.7), &[1, 3]);
        check_kept(|o| (o.top_k, o.top_p) = (2, 0.6), &[1]);
    }

    #[test]
    fn ties_go_to_the_lowest_id() {
        let logits = [1.0, 3.0, 3.0, 0.5];
        for seed in 0..10 {
            for (top_k, top_p, min_p) in [(0, 1.0, 0.0), (1, 0.1, 0.0), (50, 1.0, 0.5)] {
                let mut greedy = sampler(|o| {
                    *o = SamplerOptions { top_k, top_p, min_p, seed, ..Default::default() };
                });
                assert_eq!(choose(&mut greedy, &logits, 3), 1);
            }
            assert_eq!(choose(&mut sampler(|o| (o.top_k, o.seed) = (1, seed)), &logits, 3), 1);
            assert_eq!(choose(&mut sampler(|o| (o.top_p, o.seed) = (0.0, seed)), &logits, 3), 1);
        }
    }

    #[test]
    fn tiny_temperatures_are_greedy_and_not_nan() {
        for temperature in [1e-4, 1e-38, 1e-45] {
            for logits in [[-3.0e38, 3.0e38, 1.0], [-1.0, 0.5, 0.25]] {
                assert_eq!(choose(&mut sampler(|o| o.temperature = temperature), &logits, 0), 1);
            }
        }
        let mut extreme = sampler(|o| o.repetition_penalty = f32::MAX);
        assert!(extreme.sample(&[-3.0e38, -3.0e38], &[0], &[1]).is_ok());
    }

    fn check_refused(change: impl FnOnce(&mut SamplerOptions), message: &str) {
        let mut options = SamplerOptions::default();
        change(&mut options);
        assert_eq!(Sampler::new(options).expect_err(message).to_string(), message);
    }

    #[test]
    fn impossible_values_are_refused_by_name() {
        check_refused(|o| o.temperature = -1.0, "temperature is -1, but must lie in 0 to 2");
        check_refused(|o| o.temperature = 2.5, "temperature is 2.5, but must lie in 0 to 2");
        check_refused(|o| o.temperature = f32::NAN, "temperature is NaN, but must lie in 0 to 2");
        check_refused(|o| o.top_p = 1.0001, "top_p is 1.0001, but must lie in 0 to 1");
        check_refused(|o| o.top_p = -0.1, "top_p is -0.1, but must lie in 0 to 1");
        check_refused(|o| o.min_p = 1.5, "min_p is 1.5, but must lie in 0 to 1");
        check_refused(
            |o| o.presence_penalty = 3.0,
            "presence_penalty is 3, but must lie in -2 to 2",
        );
        check_refused(
            |o| o.frequency_penalty = -3.0,
            "frequency_penalty is -3, but must lie in -2 to 2",
        );
        for value in ["0", "-1", "inf"] {
            check_refused(
                |o| o.repetition_penalty = value.parse().expect("a float"),
                &format!("repetition_penalty is {value}, but must be a finite number above 0"),
            );
        }
        let permitted =
            SamplerOptions { repetition_penalty: 1e9, top_p: 0.0, ..Default::default() };
        assert!(Sampler::new(permitted).is_ok());
    }

    #[test]
    fn penalties_reach_the_tokens_they_are_for() {
        let check = |change: fn(&mut SamplerOptions), logits: &[f32], want: Token| {
            let mut sampler = sampler(|o| o.temperature = 0.0);
            change(&mut sampler.options);
            assert_eq!(sampler.sample(logits, &[0, 0, 99], &[1, 1]), Ok(want), "{logits:?}");
        };
        check(|_| {}, &[3.0, 2.9, 2.8], 0);
        check(|o| o.repetition_penalty = 2.0, &[3.0, 2.9, 2.8], 2);
        check(|o| o.repetition_penalty = 2.0, &[-1.0, -1.5, -1.9], 2);
        check(|o| o.presence_penalty = 0.5, &[1.0, 1.4, 0.8], 0);
        check(|o| o.presence_penalty = 0.3, &[1.0, 1.4, 0.8], 1);
        check(|o| o.frequency_penalty = 0.3, &[1.0, 1.4, 0.8], 0);
        check(|o| o.frequency_penalty = -2.0, &[1.0, -2.9, 0.8], 1);
    }

    #[test]
    fn logits_that_are_not_finite_are_reported() {
        let mut sampler = sampler(|_| {});
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let found = sampler.sample(&[0.0, bad], &[0; 5], &[0; 2]);
            assert_eq!(found, Err(Error::NotFinite { position: 6 }));
        }
        assert!(matches!(sampler.sample(&[], &[], &[]), Err(Error::Input(_))));
    }

    #[test]
    fn frequencies_follow_the_softmax() {
        let logits = [1.0f32, -0.5, 0.25, 2.0, 0.0, -2.0];
        for (temperature, seed) in [(1.0, 1), (0.7, 2), (1.9, 3)] {
            let drawn =
                histogram(sampler(|o| (o.temperature, o.seed) = (temperature, seed)), &logits);
            let weights = logits.map(|logit| f64::from(logit / temperature).exp());
            let total: f64 = weights.iter().sum();
            let chi_square: f64 = weights
                .iter()
                .zip(&drawn)
                .map(|(weight, drawn)| {
                    let expected = 4_000.0 * weight / total;
                    (drawn - expected).powi(2) / expected
                })
                .sum();
            // With 5 degrees of freedom, 20.5 is exceeded by chance in 1 of 1,000 runs.
            assert!(chi_square < 20.5, "chi-square {chi_square} at temperature {temperature}");
        }
    }

    fn logits() -> impl Strategy<Value = Vec<f32>> {
        prop::collection::vec(prop_oneof![-20.0f32..20.0, Just(1.0)], 1..400)
    }

    proptest! {
        #[test]
        fn the_choice_is_a_function_of_its_inputs(
            logits in logits(), other in logits(), seed: u64, position in 0usize..50,
        ) {
            let mut used = sampler(|o| (o.seed, o.top_k, o.top_p) = (seed, 40, 0.9));
            let mut fresh = used.clone();
            choose(&mut used, &other, position + 1);
            prop_assert_eq!(
                choose(&mut used, &logits, position),
                choose(&mut fresh, &logits, position)
            );
        }

        #[test]
        fn top_k_of_one_is_greedy(logits in logits(), seed: u64, position in 0usize..50) {
            let greedy = choose(&mut sampler(|o| o.temperature = 0.0), &logits, position);
            let top = choose(&mut sampler(|o| (o.seed, o.top_k) = (seed, 1)), &logits, position);
            prop_assert_eq!(top, greedy);
        }

        #[test]
        fn filters_that_keep_all_change_nothing(
            logits in logits(), seed: u64, position in 0usize..50,
        ) {
            let all = choose(&mut sampler(|o| o.seed = seed), &logits, position);
            let mut wide = sampler(|o| (o.seed, o.top_k, o.min_p) = (seed, logits.len(), 1e-30));
            prop_assert_eq!(choose(&mut wide, &logits, position), all);
        }

        /// The step-wise ranking of top-p against a full sort.
        #[test]
        fn top_p_keeps_the_smallest_set(logits in logits(), top_p in 0.0f32..1.0) {
            let mut sampler = sampler(|o| o.top_p = top_p);
            sampler.sample(&logits, &[], &[]).expect("finite");
            let kept: Vec<Token> = sampler.candidates.iter().map(|c| c.id).collect();
            let mut ids: Vec<usize> = (0..logits.len()).collect();
            ids.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
            let best = f64::from(logits[ids[0]]);
            let weights: Vec<f64> =
                logits.iter().map(|&logit| (f64::from(logit) - best).exp()).collect();
            let wanted = f64::from(top_p) * weights.iter().sum::<f64>();
            let mut reached = 0.0;
            let mut expected: Vec<Token> = Vec::new();
            for id in ids {
                expected.push(id as Token);
                reached += weights[id];
                if reached >= wanted {
                    break;
                }
            }
            expected.sort_unstable();
            prop_assert_eq!(kept, expected);
        }
    }
}
