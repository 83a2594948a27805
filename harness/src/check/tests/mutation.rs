//! How much the rules see: every digit of every number of a report is changed in turn, and the
//! review of the bare file must find something new. What it does not find is listed in a golden
//! file that may only shrink.

use super::{Bench, failures, read};
use crate::json::{Number, Value};
use std::fmt::Write;

/// Mutants of one number: each digit in turn made the next one, 9 made 0. `None` where JSON would
/// not call it a number any more, which the reader finds.
fn mutants(text: &str) -> impl Iterator<Item = (usize, Option<Number>)> {
    let digits = text.char_indices().filter(|(_, character)| character.is_ascii_digit());
    digits.map(move |(at, digit)| {
        let next = (digit.to_digit(10).expect("a digit") + 1) % 10;
        (at, Number::new(&format!("{}{next}{}", &text[..at], &text[at + 1..])))
    })
}

/// What the rules say of one report and its mutants.
pub(super) struct Score {
    pub(super) mutants: usize,
    pub(super) found: usize,
    /// A line for every number with a digit that nothing sees: pointer, number, and the number with
    /// `_` for each digit that is seen.
    survivors: String,
}

pub(super) fn score(bench: &Bench) -> Score {
    let mut numbers = Vec::new();
    bench.root.walk(&mut |pointer, value| {
        numbers.extend(value.as_number().map(|number| (pointer.to_string(), number.text())));
    });
    let lines = side_by_side(&numbers, |numbers| unseen(bench, numbers));
    let mut score = Score { mutants: 0, found: 0, survivors: String::new() };
    for ((pointer, number), unseen) in numbers.iter().zip(lines) {
        let digits = number.chars().filter(char::is_ascii_digit).count();
        let kept = unseen.chars().filter(char::is_ascii_digit).count();
        score.mutants += digits;
        score.found += digits - kept;
        if kept > 0 {
            writeln!(score.survivors, "{pointer} {number} {unseen}").unwrap();
        }
    }
    score
}

/// The work on all items, each thread with its share, in their order.
pub(super) fn side_by_side<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&[T]) -> Vec<R> + Sync,
) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let chunks = items.chunks(items.len().div_ceil(threads));
        let workers: Vec<_> = chunks.map(|items| scope.spawn(|| work(items))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}

/// Each number with `_` for each digit whose change is found.
fn unseen(bench: &Bench, numbers: &[(String, &str)]) -> Vec<String> {
    let before = failures(&bench.review(&bench.root));
    let mut root = bench.root.clone();
    let mut lines = Vec::new();
    for (pointer, number) in numbers {
        let mut line = number.to_string();
        for (at, mutant) in mutants(number) {
            let found = mutant.is_none_or(|mutant| {
                root.set(pointer, Value::Number(mutant)).unwrap();
                !failures(&bench.review(&root)).is_subset(&before)
            });
            if found {
                line.replace_range(at..=at, "_");
            }
        }
        root.set(pointer, Value::Number(Number::new(number).unwrap())).unwrap();
        lines.push(line);
    }
    lines
}

fn check(report: &str, survivors: &str, at_least: f64) {
    let score = score(&Bench::open(report));
    let percent = 100.0 * score.found as f64 / score.mutants as f64;
    println!("{report}: {} of {} changed digits found, {percent:.1} %", score.found, score.mutants);
    let listed = String::from_utf8(read(survivors)).unwrap();
    let new = score.survivors.lines().filter(|line| !listed.lines().any(|listed| listed == *line));
    let new: Vec<&str> = new.collect();
    assert!(new.is_empty(), "not found and not listed in {survivors}:\n{}", new.join("\n"));
    assert!(percent >= at_least, "{report}: only {percent:.1} % of changed digits are found");
    assert_eq!(listed, score.survivors, "take out of {survivors} what is found now");
}

/// Its client times stand alone where no summary holds them: in the warm-up and the sanity stage.
#[test]
fn the_public_full_report() {
    check("golden/reports/full.json", "golden/reports/full.survivors.txt", 90.5);
}

/// A run of the embedded suite on the bundled model.
#[test]
fn a_report_of_our_own() {
    check("golden/reports/embedded.json", "golden/reports/embedded.survivors.txt", 99.0);
}
