//! How much the rules see of everything else: every scalar of a report is changed in turn, and the
//! review of the bare file must find something new. What it cannot see is listed in a golden file
//! that may only shrink, below the reason why nothing in the file tells.

use super::mutation::side_by_side;
use super::{Bench, failures, read};
use crate::json::{Number, Value};
use std::collections::BTreeSet;

/// Another value of the same kind, as near as there is one; of null, some text.
pub(super) fn mutant(value: &Value) -> Option<Value> {
    match value {
        Value::Null => Some(Value::String("x".to_string())),
        Value::Bool(flag) => Some(Value::Bool(!flag)),
        Value::Number(number) => Some(Value::Number(next(number))),
        Value::String(text) => {
            let mut text = text.clone();
            let last = text.pop();
            text.push(if last == Some('0') { '1' } else { '0' });
            Some(Value::String(text))
        }
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// A unit of the last printed place more, or less where the digit is 9.
fn next(number: &Number) -> Number {
    let mut text = number.text().to_string();
    let last = text.pop().and_then(|digit| digit.to_digit(10)).expect("ends in a digit");
    let other = if last == 9 { 8 } else { last + 1 };
    Number::new(&format!("{text}{other}")).expect("as before")
}

/// Whether each change is seen.
fn seen(bench: &Bench, mutants: &[(String, &Value, Value)]) -> Vec<bool> {
    let before = failures(&bench.review(&bench.root));
    let mut root = bench.root.clone();
    let seen = mutants.iter().map(|(pointer, value, mutant)| {
        root.set(pointer, mutant.clone()).unwrap();
        let found = !failures(&bench.review(&root)).is_subset(&before);
        root.set(pointer, (*value).clone()).unwrap();
        found
    });
    seen.collect()
}

/// The pointers of a list, each of which stands below a reason.
fn listed(survivors: &str) -> BTreeSet<String> {
    let text = String::from_utf8(read(survivors)).unwrap();
    assert!(text.starts_with("# "), "{survivors}: begins with no reason");
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_string).collect()
}

fn check(report: &str, survivors: &str, at_least: f64) {
    let bench = Bench::open(report);
    let mut mutants = Vec::new();
    bench.root.walk(&mut |place, value| {
        mutants.extend(mutant(value).map(|mutant| (place.to_string(), value, mutant)));
    });
    let seen = side_by_side(&mutants, |mutants| seen(&bench, mutants));
    let unseen = mutants.iter().zip(&seen).filter(|(_, seen)| !**seen);
    let unseen: BTreeSet<String> = unseen.map(|((pointer, ..), _)| pointer.clone()).collect();
    let found = mutants.len() - unseen.len();
    let percent = 100.0 * found as f64 / mutants.len() as f64;
    println!("{report}: {found} of {} changed scalars found, {percent:.1} %", mutants.len());
    let listed = listed(survivors);
    let lines = |a: &BTreeSet<String>, b: &BTreeSet<String>| {
        a.difference(b).cloned().collect::<Vec<_>>().join("\n")
    };
    assert_eq!(lines(&unseen, &listed), "", "not found and not listed in {survivors}");
    assert_eq!(lines(&listed, &unseen), "", "take out of {survivors} what is found now");
    assert!(percent >= at_least, "{report}: only {percent:.1} % of changed scalars are found");
}

/// P2: for each report the share that is seen has a bound, and what is not seen a reason.
#[test]
fn the_public_full_report() {
    check("golden/reports/full.json", "golden/reports/full.leaves.txt", 92.0);
}

#[test]
fn the_public_wrapper() {
    check("golden/reports/wrapper.json", "golden/reports/wrapper.leaves.txt", 74.0);
}

#[test]
fn a_report_of_our_own() {
    check("golden/reports/embedded.json", "golden/reports/embedded.leaves.txt", 95.0);
}
