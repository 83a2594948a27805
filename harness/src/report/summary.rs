//! Median, minimum and maximum over the repetitions of a case, from the rows as printed, so that
//! a reader of the rows finds the same.

use crate::plan::Planned;
use crate::protocol::PhaseName;
use crate::report::missing::Place;
use crate::report::number::{FINE_DECIMALS, round};
use crate::report::{Excluded, Request, RequestStatus, Summary};
use serde_json::{Map, Value};

/// Fewest values whose median is worth quoting.
const FEWEST: usize = 3;

/// A figure of a row that is summarised.
struct Metric {
    name: &'static str,
    unit: &'static str,
    of: fn(&Request) -> Option<f64>,
}

/// In the order of a report.
const METRICS: [Metric; 5] = [
    Metric { name: "prompt_tps", unit: "tokens/s", of: |row| row.metrics.prompt_tps },
    Metric { name: "decode_tps", unit: "tokens/s", of: |row| row.metrics.decode_tps },
    Metric { name: "ttft_s", unit: "s", of: |row| row.timings.ttft_s.map(|t| t.seconds()) },
    Metric {
        name: "first_answer_s",
        unit: "s",
        of: |row| row.timings.first_answer_s.map(|t| t.seconds()),
    },
    Metric { name: "total_s", unit: "s", of: |row| row.timings.total_s.map(|t| t.seconds()) },
];

/// The summaries of the performance stage: case by case in the plan's order, metric by metric.
/// `at` is the place of the list in the report.
pub fn summarise(planned: &[Planned], rows: &[Request], at: &mut Place) -> Vec<Summary> {
    let performance = |phase| phase == PhaseName::Performance;
    let mut cases: Vec<&str> = Vec::new();
    for request in planned.iter().filter(|request| performance(request.phase)) {
        if !cases.contains(&request.case.id.as_str()) {
            cases.push(&request.case.id);
        }
    }
    let mut summaries = Vec::new();
    for case in cases {
        let repetitions: Vec<&Request> =
            rows.iter().filter(|row| performance(row.phase) && row.case_id == case).collect();
        for metric in &METRICS {
            let place = &mut at.below(&summaries.len().to_string());
            summaries.push(summary(case, metric, &repetitions, place));
        }
    }
    summaries
}

fn summary(case: &str, metric: &Metric, rows: &[&Request], at: &mut Place) -> Summary {
    let (mut values, mut included_request_ids, mut excluded) = (vec![], vec![], vec![]);
    for row in rows {
        let request_id = row.id.clone();
        match (metric.of)(row) {
            Some(value) => {
                values.push(value);
                included_request_ids.push(request_id);
            }
            None => {
                let reason = format!("{} is not available for this request", metric.name);
                excluded.push(Excluded { request_id, reason });
            }
        }
    }
    values.sort_by(f64::total_cmp);
    let none = "no request of this case has the figure";
    Summary {
        phase: PhaseName::Performance,
        case_id: case.to_string(),
        concurrency: 1,
        metric: metric.name,
        unit: metric.unit,
        median: at.some("median", median(&values), none),
        min: at.some("min", values.first().copied(), none),
        max: at.some("max", values.last().copied(), none),
        n: values.len(),
        included_request_ids,
        excluded,
    }
}

/// What a reader must know before quoting a median, by `case/metric`: values of requests that were
/// cut off, requests that never answered, too few values.
pub fn notes(summaries: &[Summary], rows: &[Request]) -> Map<String, Value> {
    let note = |summary: &Summary| {
        let notes = [cut_off(summary, rows), unanswered(summary), few(summary)];
        let notes: Vec<String> = notes.into_iter().flatten().collect();
        let place = format!("{}/{}", summary.case_id, summary.metric);
        (!notes.is_empty()).then(|| (place, Value::from(notes.join("; "))))
    };
    summaries.iter().filter_map(note).collect()
}

fn cut_off(summary: &Summary, rows: &[Request]) -> Option<String> {
    let depends_on_the_end = matches!(summary.metric, "decode_tps" | "total_s");
    let included = |row: &&Request| summary.included_request_ids.contains(&row.id);
    let truncated = rows.iter().filter(included);
    let truncated = truncated.filter(|row| row.status == RequestStatus::Truncated).count();
    (depends_on_the_end && truncated > 0)
        .then(|| format!("{truncated} of {} requests were cut off at their cap", summary.n))
}

fn unanswered(summary: &Summary) -> Option<String> {
    let (out, all) = (summary.excluded.len(), summary.n + summary.excluded.len());
    (summary.metric == "first_answer_s" && out > 0).then(|| {
        format!("{out} of {all} requests gave no answer before their end and would be slower")
    })
}

fn few(summary: &Summary) -> Option<String> {
    let n = summary.n;
    (1..FEWEST).contains(&n).then(|| format!("{n} values make no representative median"))
}

/// Of sorted values; the mean of the middle two if their number is even.
fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    Some(round((sorted[middle - 1] + upper) / 2.0, FINE_DECIMALS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;
    use crate::report::account::{Context, account};
    use crate::report::missing::Reasons;
    use proptest::prelude::*;

    fn check(values: &[f64], expected: Option<f64>) {
        assert_eq!(median(values), expected, "{values:?}");
    }

    /// B104: the middle value, or the mean of the two; no percentile is given of three values.
    #[test]
    fn medians() {
        check(&[], None);
        check(&[2.5], Some(2.5));
        check(&[9.674501, 13.29338], Some(11.48394)); // seen in a public report
        check(&[1.0, 2.0, 9.0], Some(2.0));
        check(&[1.0, 2.0, 4.0, 9.0], Some(3.0));
        check(&[0.01, 0.02, 0.03, 0.04], Some(0.025));
        check(&(1..=10).map(f64::from).collect::<Vec<_>>(), Some(5.5));
    }

    /// The summary of a metric over rows with these values in this order.
    fn of(metric: &Metric, values: &[Option<f64>]) -> Summary {
        let protocol = crate::fixture::protocol();
        let planned = plan(&protocol, false);
        let context = Context {
            first_dispatch_ns: 0,
            passed_reasons: &protocol.passed_reasons,
            not_sent: "",
        };
        let mut reasons = Reasons::default();
        let row = |(i, value): (usize, &Option<f64>)| {
            let mut row = account(&planned[1], None, &context, &mut reasons.at("")).row;
            row.id = format!("r{i}");
            row.metrics.decode_tps = *value;
            row
        };
        let rows: Vec<Request> = values.iter().enumerate().map(row).collect();
        let rows: Vec<&Request> = rows.iter().collect();
        summary("short", metric, &rows, &mut Reasons::default().at(""))
    }

    proptest! {
        /// P11: the order of the requests moves no figure, and one without the value is only
        /// counted out.
        #[test]
        fn a_summary_is_of_the_values_alone(
            micros in proptest::collection::vec(1u64..1 << 40, 1..4),
            turn in 0usize..3,
            without in 0usize..4,
        ) {
            let rates = &METRICS[1];
            let values: Vec<_> = micros.iter().map(|&us| Some(us as f64 / 1e6)).collect();
            let figures = |of: &Summary| (of.min, of.median, of.max, of.n);
            let found = of(rates, &values);
            prop_assert!(found.min <= found.median && found.median <= found.max);
            let mut other = values.clone();
            other.rotate_left(turn % values.len());
            prop_assert_eq!(figures(&of(rates, &other)), figures(&found));
            other = values.clone();
            other.insert(without.min(values.len()), None);
            let other = of(rates, &other);
            prop_assert_eq!(figures(&other), figures(&found));
            prop_assert_eq!((other.excluded.len(), found.excluded.len()), (1, 0));
        }

        #[test]
        fn a_median_lies_between_the_extremes(
            micros in proptest::collection::vec(0u64..1 << 40, 1..9),
        ) {
            let mut values: Vec<f64> = micros.iter().map(|&us| us as f64 / 1e6).collect();
            values.sort_by(f64::total_cmp);
            let median = median(&values).unwrap();
            prop_assert!(values[0] <= median && median <= values[values.len() - 1]);
        }
    }
}
