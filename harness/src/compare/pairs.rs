//! Pairs: the same request in both reports, metric by metric, and whether their ratio would
//! mislead.

use super::Side;
use super::ratio::Ratio;
use crate::view::{Cell, METRICS, Metric, Row, figure};
use std::collections::HashMap;

/// One request in both reports.
#[derive(Debug)]
pub struct Pair<'a> {
    /// Its name.
    pub id: &'a str,
    /// Its seed.
    pub seed: Cell<'a>,
    /// The figure in A.
    pub a: Cell<'a>,
    /// The figure in B.
    pub b: Cell<'a>,
    /// The logarithm of B to A, where both are positive numbers.
    pub log: Option<f64>,
}

/// The pairs of a case and a metric.
#[derive(Debug)]
pub struct Group<'a> {
    /// The case.
    pub case: &'a str,
    /// The metric.
    pub metric: &'static Metric,
    /// Seed by seed.
    pub pairs: Vec<Pair<'a>>,
    /// Their ratio, or why one would mislead.
    pub ratio: Result<Ratio, String>,
}

impl Group<'_> {
    /// By how much B is slower, as a logarithm; negative if it is faster.
    pub fn slowness(&self) -> Option<f64> {
        let median = self.ratio.as_ref().ok()?.median();
        Some(if self.metric.rate { -median } else { median })
    }
}

/// The stages whose figures are compared.
const MEASURED: [&str; 2] = ["performance", "concurrency"];

/// A request of A and the one of B.
type Both<'r, 'a> = (&'r Row<'a>, &'r Row<'a>);

/// Every case of a measured stage that has a request in both, in the order of A.
pub(super) fn groups<'a>(a: &Side<'a>, b: &Side<'a>) -> Vec<Group<'a>> {
    let in_b: HashMap<&str, &Row<'a>> = b.report.rows().iter().map(|row| (row.id(), row)).collect();
    let mut order: Vec<(&str, &str)> = Vec::new();
    let mut by_case: HashMap<(&str, &str), Vec<Both>> = HashMap::new();
    for row in a.report.rows() {
        let key = (row.text("/phase"), row.text("/case_id"));
        let Some(other) = in_b.get(row.id()).filter(|_| MEASURED.contains(&key.0)) else {
            continue;
        };
        let case = by_case.entry(key).or_default();
        if case.is_empty() {
            order.push(key);
        }
        case.push((row, other));
    }
    let group = |key: &(&'a str, &'a str), metric| {
        let both = &by_case[key];
        let pairs: Vec<Pair> = both.iter().map(|both| pair(a, b, both, metric)).collect();
        let ratio = ratio(a, b, both, &pairs, metric);
        Group { case: key.1, metric, pairs, ratio }
    };
    order.iter().flat_map(|key| METRICS.iter().map(move |metric| group(key, metric))).collect()
}

fn pair<'a>(a: &Side<'a>, b: &Side<'a>, both: &Both<'_, 'a>, metric: &Metric) -> Pair<'a> {
    let log = |row: &Row| row.number(metric.path).filter(|value| *value > 0.0).map(f64::ln);
    Pair {
        id: both.0.id(),
        seed: a.report.of(both.0, "/seed"),
        a: figure(&a.report, both.0, metric),
        b: figure(&b.report, both.1, metric),
        // Exactly the negative when the two are swapped.
        log: log(both.1).zip(log(both.0)).map(|(b, a)| b - a),
    }
}

fn ratio(
    a: &Side,
    b: &Side,
    both: &[Both],
    pairs: &[Pair],
    metric: &Metric,
) -> Result<Ratio, String> {
    let logs: Vec<f64> = pairs.iter().filter_map(|pair| pair.log).collect();
    if logs.len() < pairs.len() {
        let lacking = pairs.len() - logs.len();
        return Err(format!("{lacking} of {} pairs lack a figure", pairs.len()));
    }
    if metric.by_output {
        same_count(both, "/tokens/output_tokens", "output lengths")?;
        same_drafts(a, b, both)?;
    } else {
        same_count(both, "/tokens/read_tokens", "tokens read")?;
    }
    Ratio::new(logs).ok_or_else(|| "no pair".to_string())
}

/// Whether a number of tokens is known and equal in every pair.
fn same_count(both: &[Both], path: &str, what: &str) -> Result<(), String> {
    let count = |row: &Row| row.value.pointer(path).and_then(|value| value.as_number()?.as_u64());
    let counts: Vec<_> = both.iter().map(|(a, b)| count(a).zip(count(b))).collect();
    if counts.contains(&None) {
        return Err(format!("{what} are not known"));
    }
    let differ: Vec<_> = counts.iter().flatten().filter(|(a, b)| a != b).collect();
    match differ.first() {
        None => Ok(()),
        Some((a, b)) => {
            let share = format!("{} of {} pairs", differ.len(), both.len());
            Err(format!("{what} differ in {share}, as in {a} and {b} tokens"))
        }
    }
}

/// Whether as many drafted tokens were accepted, where both reports tell.
fn same_drafts(a: &Side, b: &Side, both: &[Both]) -> Result<(), String> {
    let drafts = both.iter().filter_map(|(row, _)| {
        let (in_a, in_b) = (a.drafts.get(row.id())?, b.drafts.get(row.id())?);
        (in_a != in_b).then_some((in_a, in_b))
    });
    let differ: Vec<_> = drafts.collect();
    let Some(((drafted_a, accepted_a), (drafted_b, accepted_b))) = differ.first() else {
        return Ok(());
    };
    Err(format!(
        "draft acceptance differs in {} of {} pairs, as in {accepted_a} of {drafted_a} and \
         {accepted_b} of {drafted_b}",
        differ.len(),
        both.len()
    ))
}
