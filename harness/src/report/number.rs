//! Numbers as a report prints them. A time has the type of the clock it came from, and there is no
//! way to subtract one from the other.
//!
//! Rounding goes through decimal text: `(x * 1e6).round() / 1e6` makes 11.483941 of 11.4839405,
//! which is really a little less and must become 11.48394.

use serde::{Serialize, Serializer};

/// Decimals of client times, rates and summaries.
pub const FINE_DECIMALS: usize = 6;
/// Decimals of engine times in seconds: engines state milliseconds with one decimal.
const ENGINE_DECIMALS: usize = 4;
/// Tokens per second that no machine reaches: with [`FINE_DECIMALS`], what is below prints as a
/// double in full.
const ABSURD_RATE: f64 = 1e9;

/// `value` with at most `decimals` decimals, correctly rounded. `value` must be finite.
pub fn round(value: f64, decimals: usize) -> f64 {
    format!("{value:.decimals$}").parse().expect("a formatted number can be read back")
}

/// A moment of the client's monotonic clock, microseconds after the run's first dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct ClientInstant {
    micros: u64,
}

impl ClientInstant {
    /// From two stamps of the run's clock. The only place where nanoseconds become microseconds,
    /// so that offsets and the times computed from them agree to the last digit.
    pub fn from_stamps(at_ns: u64, first_dispatch_ns: u64) -> ClientInstant {
        ClientInstant { micros: at_ns.saturating_sub(first_dispatch_ns) / 1_000 }
    }

    /// The time from `earlier` to this; zero should a clock have gone back.
    pub fn since(self, earlier: ClientInstant) -> ClientTime {
        ClientTime { micros: self.micros.saturating_sub(earlier.micros) }
    }

    /// The time from the run's first dispatch to this.
    pub fn since_start(self) -> ClientTime {
        ClientTime { micros: self.micros }
    }
}

/// A duration by the client's monotonic clock. Prints as seconds with up to 6 decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientTime {
    micros: u64,
}

impl ClientTime {
    /// As printed.
    pub fn seconds(self) -> f64 {
        self.micros as f64 / 1e6 // exact to the nearest double, which is what printing needs
    }

    /// Seconds in whole milliseconds, rounded up: a run is never shorter than the sum of its parts.
    pub fn seconds_rounded_up(self) -> f64 {
        self.micros.div_ceil(1_000) as f64 / 1e3
    }
}

impl Serialize for ClientTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.seconds())
    }
}

/// A duration the engine states. Prints as seconds with up to 4 decimals.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct EngineTime {
    seconds: f64,
}

impl EngineTime {
    /// From the milliseconds of a `timings` object, which are finite.
    pub fn from_ms(ms: f64) -> EngineTime {
        EngineTime { seconds: round(ms / 1e3, ENGINE_DECIMALS) }
    }

    /// As printed.
    pub fn seconds(self) -> f64 {
        self.seconds
    }

    /// Whether times of one engine, one after the other, can lie within a span that the client saw.
    /// Each may print half its last digit too long.
    pub fn fit(times: &[EngineTime], span: ClientTime) -> bool {
        let micros = |time: &EngineTime| (time.seconds * 1e6).round();
        let half_digits = 50.0 * times.len() as f64;
        times.iter().map(micros).sum::<f64>() - half_digits <= span.micros as f64
    }

    /// Whether some machine could get through `tokens` in this time, or in one that prints so.
    pub fn can_hold(self, tokens: u64) -> bool {
        self.rate(tokens).is_none_or(|rate| rate < ABSURD_RATE)
    }

    /// Tokens per second from the time as printed, so that a reader's division gives the same.
    /// `None` for a time that prints as zero.
    pub fn rate(self, tokens: u64) -> Option<f64> {
        (self.seconds > 0.0).then(|| round(tokens as f64 / self.seconds, FINE_DECIMALS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(value: f64, decimals: usize, expected: &str) {
        assert_eq!(serde_json::to_string(&round(value, decimals)).unwrap(), expected);
    }

    /// P9: pairs of tokens and tenths of a millisecond with what Python 3.11 prints of
    /// `round(tokens / (tenths / 10000), 6)`.
    #[test]
    fn rates_are_pythons() {
        let check = |tokens: u64, tenths: u64, expected: &str| {
            let rate = EngineTime::from_ms(tenths as f64 / 10.0).rate(tokens).unwrap();
            assert_eq!(serde_json::to_string(&rate).unwrap(), expected);
        };
        check(75, 5133, "146.113384");
        check(380, 35496, "107.054316");
        check(512, 104271, "49.102819");
        check(16387, 72400, "2263.39779");
        check(59295, 9391423, "63.137397");
        check(76990, 24, "32079166.666667");
        check(18586, 9, "20651111.111111");
        check(90891, 43915, "20697.02835");
        check(85207, 80, "10650875.0");
        check(1967, 8864767, "2.218896");
        check(8280, 1, "82800000.0");
        check(24931, 77, "3237792.207792");
    }

    #[test]
    fn rounding_is_that_of_the_decimal_text() {
        check((9.674501 + 13.29338) / 2.0, 6, "11.48394"); // seen in a public report
        check(11.4839405, 6, "11.48394");
        check(75.0 / 0.5133, 6, "146.113384");
        check(380.0 / 3.5496, 6, "107.054316");
        check(1.0, 6, "1.0");
        check(0.51335, 4, "0.5133"); // the double below the tie
        check(2.5, 0, "2.0"); // a true tie goes to the even digit
    }

    #[test]
    fn engine_times_and_rates() {
        let prompt = EngineTime::from_ms(513.3);
        assert_eq!(serde_json::to_string(&prompt).unwrap(), "0.5133");
        assert_eq!(prompt.rate(75), Some(146.113384));
        assert_eq!(EngineTime::from_ms(0.04).rate(75), None);
        assert!(prompt.can_hold(1_000_000) && EngineTime::from_ms(0.0).can_hold(u64::MAX));
        assert!(!EngineTime::from_ms(0.1).can_hold(100_000));
    }

    #[test]
    fn engine_times_fit_to_half_a_digit() {
        let check = |ms: &[f64], micros: u64, fit: bool| {
            let times: Vec<EngineTime> = ms.iter().map(|ms| EngineTime::from_ms(*ms)).collect();
            assert_eq!(EngineTime::fit(&times, ClientTime { micros }), fit, "{ms:?} {micros}");
        };
        check(&[513.3], 513_250, true);
        check(&[513.3], 513_249, false);
        check(&[513.3, 1.0], 514_200, true);
        check(&[513.3, 1.0], 514_199, false);
        check(&[1e308], u64::MAX, false);
        check(&[], 0, true);
    }

    #[test]
    fn client_times_come_from_one_rounding() {
        let at = |ns| ClientInstant::from_stamps(ns, 1_000);
        assert_eq!(serde_json::to_string(&at(5_999)).unwrap(), "4");
        let time = at(536_657_999).since(at(1_000_999));
        assert_eq!(serde_json::to_string(&time).unwrap(), "0.535657");
        assert_eq!(at(0), at(1_000)); // a clock that went back
        assert_eq!(at(5_000).since(at(9_000)), at(1_000).since(at(1_000)));
        assert_eq!(at(2_002_000).since_start().seconds_rounded_up(), 0.003);
    }

    proptest! {
        /// P9: the nearest number of six decimals to the very double, of two as near the even one,
        /// as Python's `round` has it; here by whole numbers alone.
        #[test]
        fn a_rate_is_rounded_once(tokens in 1u64..=100_000, tenths in 1u64..=10_000_000) {
            let exact = tokens as f64 / (tenths as f64 / 10_000.0);
            let bits = exact.to_bits();
            let mantissa = u128::from(bits & ((1 << 52) - 1) | 1 << 52) * 1_000_000;
            let shift = 1075 - (bits >> 52); // a rate is below 2^53
            let (whole, rest) = (mantissa >> shift, mantissa & ((1 << shift) - 1));
            let up = match rest.cmp(&(1 << (shift - 1))) {
                std::cmp::Ordering::Equal => whole % 2,
                order => u128::from(order.is_gt()),
            };
            let rate = EngineTime::from_ms(tenths as f64 / 10.0).rate(tokens).unwrap();
            let printed = serde_json::to_string(&rate).unwrap();
            let units = crate::json::Number::new(&printed).unwrap().units(6);
            prop_assert_eq!(units, i128::try_from(whole + up).ok(), "{}", printed);
        }

        /// What a reader computes from printed numbers is what is printed.
        #[test]
        fn a_rate_is_a_quotient(tokens in 1u64..100_000, tenths in 1u64..10_000_000) {
            let time = EngineTime::from_ms(tenths as f64 / 10.0);
            prop_assert_eq!(time.seconds(), tenths as f64 / 10_000.0);
            let rate = time.rate(tokens).unwrap();
            let error = (rate - tokens as f64 / time.seconds()).abs();
            prop_assert!(error <= 0.500_001e-6 * (1.0 + rate * 1e-9)); // half a digit, and doubles
            prop_assert_eq!(round(rate, 6), rate);
        }

        #[test]
        fn a_time_is_the_difference_of_the_offsets(
            from in 0u64..u64::MAX / 2,
            span in 0u64..1 << 40,
            first in 0u64..1 << 40,
        ) {
            let (start, end) = (
                ClientInstant::from_stamps(from, first),
                ClientInstant::from_stamps(from + span, first),
            );
            let micros = end.micros - start.micros;
            prop_assert_eq!(end.since(start).seconds(), micros as f64 / 1e6);
        }
    }
}
