//! The rounds of the concurrency stage: all requests of one are due at its start, and whatever
//! fails counts towards the time it took.

use super::missing::Place;
use super::number::{ClientTime, FINE_DECIMALS, round};
use super::{ConcurrencyRound, Counts, RequestStatus};
use crate::report::account::Account;

/// The rounds in the plan's order; `at` is the place of the list in the report.
pub(super) fn rounds(accounts: &[Account], at: &mut Place) -> Vec<ConcurrencyRound> {
    let concurrent: Vec<&Account> =
        accounts.iter().filter(|account| account.row.round.is_some()).collect();
    let rounds = concurrent.chunk_by(|a, b| a.row.round == b.row.round);
    rounds.enumerate().map(|(i, round)| of_round(round, &mut at.below(&i.to_string()))).collect()
}

fn of_round(requests: &[&Account], at: &mut Place) -> ConcurrencyRound {
    let mut counts = Counts::default();
    requests.iter().for_each(|account| counts.count(account.row.status));
    let offsets = || requests.iter().filter_map(|account| account.offsets.as_ref());
    let started = offsets().map(|offsets| offsets.dispatch).min();
    let duration = span(requests.iter().copied());
    let ended = requests
        .iter()
        .map(|account| &account.row)
        .filter(|row| matches!(row.status, RequestStatus::Completed | RequestStatus::Truncated));
    let tokens = ended
        .map(|row| row.tokens.output_tokens)
        .try_fold(0_u64, |sum, tokens| sum.checked_add(tokens?));
    let tokens = tokens.filter(|_| duration.is_some());
    let rate = tokens.zip(duration).and_then(|(tokens, duration)| {
        (duration.seconds() > 0.0).then(|| round(tokens as f64 / duration.seconds(), FINE_DECIMALS))
    });
    let unsent = "no request of the round was sent";
    let uncounted = match duration {
        None => unsent,
        Some(_) => "the output of a request that ended was not counted",
    };
    let no_rate = if tokens.is_none() { uncounted } else { "the round's time prints as zero" };
    ConcurrencyRound {
        round: requests.first().and_then(|account| account.row.round).unwrap_or_default(),
        concurrency: requests.len(),
        request_ids: requests.iter().map(|account| account.row.id.clone()).collect(),
        started_us: at.some("started_us", started, unsent),
        duration_s: at.some("duration_s", duration, unsent),
        completed: counts.completed,
        truncated: counts.truncated,
        failed: counts.failed,
        skipped: counts.skipped,
        output_tokens: at.some("output_tokens", tokens, uncounted),
        output_tps: at.some("output_tps", rate, no_rate),
    }
}

/// From the first dispatch to the last end.
pub(super) fn span<'a>(accounts: impl Iterator<Item = &'a Account>) -> Option<ClientTime> {
    let offsets: Vec<_> = accounts.filter_map(|account| account.offsets.as_ref()).collect();
    let first = offsets.iter().map(|offsets| offsets.dispatch).min()?;
    let last = offsets.iter().map(|offsets| offsets.end).max()?;
    Some(last.since(first))
}

#[cfg(test)]
mod tests {
    use crate::client::scripted::Script;
    use crate::config::{Config, End, Stop};
    use crate::fixture::{Honest, config, outputs};
    use crate::plan::plan;
    use crate::report::rebuild::rebuild_from;
    use serde_json::{Value, json};

    fn report(config: &Config, outputs: &[u8]) -> Value {
        let report = rebuild_from(outputs, &serde_json::to_vec(config).unwrap()).unwrap();
        serde_json::from_slice(&report.json).unwrap()
    }

    fn with_rounds() -> Config {
        let mut config = config();
        config.run.optional = true;
        config
    }

    /// A reply of so many tokens, 10 ms each after 515.3 ms.
    fn reply(tokens: usize) -> Script {
        Honest { steps: vec![100; tokens], ..Honest::PLAIN }.script()
    }

    #[test]
    fn a_round_lasts_until_its_last_request_ends_and_failures_take_part() {
        let config = with_rounds();
        let planned = plan(&config.protocol, true);
        let mut scripts = vec![reply(3); 5];
        scripts.extend([reply(2), reply(4), reply(3), Script::events(&[(900, "data: {}\n\n")])]);
        let report = report(&config, &outputs(&planned, &scripts, 0));
        let start = 5 * 545_300;
        let second = start + 555_300;
        assert_eq!(
            report["concurrency_rounds"],
            json!([
                {
                    "round": 1, "concurrency": 2,
                    "request_ids": ["concurrency-pair-a-r1", "concurrency-pair-b-r1"],
                    "started_us": start, "duration_s": 0.5553,
                    "completed": 2, "truncated": 0, "failed": 0, "skipped": 0,
                    "output_tokens": 6, "output_tps": 10.804970,
                },
                {
                    "round": 2, "concurrency": 2,
                    "request_ids": ["concurrency-pair-a-r2", "concurrency-pair-b-r2"],
                    "started_us": second, "duration_s": 0.9,
                    "completed": 1, "truncated": 0, "failed": 1, "skipped": 0,
                    "output_tokens": 3, "output_tps": 3.333333,
                },
            ])
        );
        assert_eq!(report["run"]["optional_duration_s"], 1.456);
        assert_eq!(report["run"]["required_duration_s"], 2.727);
        assert_eq!(report["run"]["optional_concurrency"], true);
        assert_eq!(report["extensions"]["optional_stage_skipped"], false);
        assert_eq!(report["requests"][7]["round"], 2);
        assert_eq!(report["requests"][7]["concurrency"], 2);
        assert_eq!(report["request_counts"]["concurrency"]["planned"], 4);
        assert_eq!(report["summaries"].as_array().unwrap().len(), 5);
    }

    #[test]
    fn rounds_that_were_not_reached_are_listed_with_reasons() {
        let mut config = with_rounds();
        let end = config.end.clone().unwrap();
        config.end = Some(End { stop: Some(Stop::Interrupted), ..end });
        let planned = plan(&config.protocol, true);
        let report = report(&config, &outputs(&planned[..5], &vec![reply(3); 5], 0));
        assert_eq!(report["concurrency_rounds"][1]["skipped"], 2);
        assert_eq!(report["concurrency_rounds"][1]["duration_s"], Value::Null);
        let why = "no request of the round was sent";
        for field in ["started_us", "duration_s", "output_tokens", "output_tps"] {
            assert_eq!(report["missing"][format!("/concurrency_rounds/1/{field}")], why);
        }
        assert_eq!(
            report["missing"]["/run/optional_duration_s"],
            "no request of the optional concurrency stage was sent"
        );
        assert_eq!(report["extensions"]["optional_stage_skipped"], true);
    }
}
