//! What a printed rate still tells: it was made of a whole number of tokens and a time in tenths of
//! a millisecond, and six decimals leave few such pairs. So the rates of a wrapper can be turned
//! back although the requests they came from are not in it.

use crate::check::report::{Report, Summary, decimal};
use crate::check::rule::{Log, breach};
use crate::plan::Planned;
use crate::protocol::PhaseName;

/// Most inversions that one rule makes over all its figures; where the plan needs more, it says so.
pub(super) const MAX_INVERSIONS: u64 = 1 << 20;
/// Tenths of a millisecond in a second, times the 10^6 in which rates are counted.
const TICK_RATE: i128 = 10_000 * 1_000_000;

/// The engine times, in tenths of a millisecond, that a rate may have been computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticks {
    pub(super) least: i128,
    pub(super) most: i128,
}

/// The times for which `tokens` over it prints as `rate`, in units of 10^-6; `None` if none does.
/// A tie may have been rounded either way. With `n` known the time is unique while it is below
/// the square root of 10^10 n tenths of a millisecond: 10 s for one token, 226 s for 512.
pub(super) fn invert(tokens: u64, rate: i128) -> Option<Ticks> {
    if tokens == 0 || rate <= 0 {
        return None;
    }
    let twice = 2 * i128::from(tokens) * TICK_RATE;
    let (over, under) = (2 * rate + 1, 2 * rate - 1);
    let (least, most) = ((twice + over - 1) / over, twice / under);
    (least <= most).then_some(Ticks { least, most })
}

/// The values that a summary prints one by one: of up to three, all.
pub(super) fn values(summary: &Summary) -> Option<Vec<(&'static str, i128)>> {
    let (min, median, max) = (("/min", summary.min?), ("/median", summary.median?), summary.max?);
    match summary.n? {
        1 => Some(vec![min]),
        2 => Some(vec![min, ("/max", max)]),
        3 => Some(vec![min, median, ("/max", max)]),
        _ => None,
    }
}

/// A performance case as the plan has it, with the summary of each metric that is asked for.
pub(super) struct Case<'r, 'a> {
    pub(super) planned: &'a Planned<'a>,
    summaries: Vec<&'r Summary<'a>>,
}

impl<'r, 'a> Case<'r, 'a> {
    pub(super) fn of(&self, metric: &str) -> Option<&'r Summary<'a>> {
        self.summaries.iter().find(|summary| summary.metric == metric).copied()
    }
}

/// The performance cases in order.
pub(super) fn cases<'r, 'a>(report: &'r Report<'a>) -> Vec<Case<'r, 'a>> {
    let first = report.planned(PhaseName::Performance).filter(|planned| planned.repetition == 1);
    first
        .map(|planned| {
            let summaries = report.summaries.iter();
            let of_case = |summary: &&Summary| summary.case == planned.case.id;
            Case { planned, summaries: summaries.filter(of_case).collect() }
        })
        .collect()
}

pub(in crate::check) fn prompt_rates_invert(report: &Report, log: &mut Log) {
    for case in cases(report) {
        let Some(tokens) = report.frozen_input_tokens(&case.planned.id) else {
            return log.idle("the protocol pins no input lengths");
        };
        let Some(summary) = case.of("prompt_tps") else { continue };
        for (field, rate) in values(summary).unwrap_or_default() {
            log.judge(invert(tokens, rate).is_some(), || {
                let expected = format!("{tokens} tokens over whole tenths of a millisecond");
                breach(summary.place(field), expected, decimal(rate, 6))
            });
        }
    }
}

/// The decode rates that are printed one by one, with their case.
fn decode_rates<'r, 'a>(
    cases: &'r [Case<'r, 'a>],
) -> impl Iterator<Item = (&'r Case<'r, 'a>, &'r Summary<'a>, &'static str, i128)> {
    cases.iter().flat_map(|case| {
        let summary = case.of("decode_tps");
        let values = summary.and_then(|summary| Some((summary, values(summary)?)));
        values.into_iter().flat_map(move |(summary, values)| {
            values.into_iter().map(move |(field, rate)| (case, summary, field, rate))
        })
    })
}

pub(in crate::check) fn decode_rates_invert(report: &Report, log: &mut Log) {
    let cases = cases(report);
    if inversions(&cases) > MAX_INVERSIONS {
        return log.idle("the caps are too high to try every number of tokens");
    }
    for (case, summary, field, rate) in decode_rates(&cases) {
        let cap = case.planned.max_output_tokens;
        log.judge((1..=cap).any(|tokens| invert(tokens, rate).is_some()), || {
            let expected = format!("1 to {cap} tokens over whole tenths of a millisecond");
            breach(summary.place(field), expected, decimal(rate, 6))
        });
    }
}

/// How many numbers of tokens there are to try for three rates a case.
pub(super) fn inversions(cases: &[Case]) -> u64 {
    let each = cases.iter().map(|case| case.planned.max_output_tokens.saturating_mul(3));
    each.fold(0, u64::saturating_add)
}

/// A request that was cut off gave exactly its cap. One that ended by itself after a divisor of the
/// cap inverts too, so that there are more is only a warning, and none where the record is at hand.
pub(in crate::check) fn capped_rates_are_the_truncated(report: &Report, log: &mut Log) {
    let at = "/request_counts/performance/truncated";
    let ended = report.count("/request_counts/performance/completed");
    let (Some(truncated), Some(completed)) = (report.count(at), ended) else { return };
    let cases = cases(report);
    let mut rates = 0;
    let mut capped = 0;
    for (case, _, _, rate) in decode_rates(&cases) {
        rates += 1;
        capped += u64::from(invert(case.planned.max_output_tokens, rate).is_some());
    }
    if rates == 0 || Some(rates) != truncated.checked_add(completed) {
        return log.idle("not every decode rate is printed");
    }
    let failure = || breach(at, format!("{capped} of {rates} rates are of the cap"), truncated);
    log.judge(truncated <= capped, failure);
    if truncated <= capped && report.rebuilt.is_none() {
        log.judge_mildly(truncated == capped, failure);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Number;
    use proptest::prelude::*;

    /// As a report prints it.
    fn rate(tokens: u64, ticks: i128) -> i128 {
        let printed = format!("{:.6}", tokens as f64 / (ticks as f64 / 1e4));
        Number::new(&printed).unwrap().units(6).unwrap()
    }

    #[test]
    fn rates_of_a_public_report_invert() {
        let check = |tokens, rate, ticks| {
            let found = invert(tokens, rate);
            assert_eq!(found.map(|found| (found.least, found.most)), ticks, "{tokens} {rate}");
        };
        check(77, 101_663_586, Some((7574, 7574)));
        check(77, 101_663_587, None);
        check(512, 49_102_819, Some((104_271, 104_271)));
        check(512, 0, None);
        check(0, 1, None);
        check(1, 1, Some((6_666_666_667, 20_000_000_000)));
    }

    proptest! {
        /// P10: to the time it was made of, and below the bound to no other.
        #[test]
        fn every_printed_rate_inverts(tokens in 1..100_000_u64, ticks in 1..10_000_000_i128) {
            let rate = rate(tokens, ticks);
            if rate > 0 {
                let Ticks { least, most } = invert(tokens, rate).unwrap();
                prop_assert!(least <= ticks && ticks <= most);
                let unique = ticks * ticks < i128::from(tokens) * TICK_RATE / 2;
                prop_assert!(!unique || least == most);
            }
        }
    }
}
