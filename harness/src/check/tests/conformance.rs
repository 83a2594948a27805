//! Every rule is words, a function, a counter-example and cases that pass and fail, and none of
//! them without the others. Cases are data: any implementation of the rules can run them.

use super::cases::{Bases, open};
use super::leaves::mutant;
use super::{Bench, failures, path, read};
use crate::check::rules::CHECKS;
use crate::check::{Severity, State, rule, rules};
use crate::fixture::cases;
use crate::json::{Number, Value};
use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::BTreeSet;

fn names(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(path(folder)).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn words_and_functions_are_tied() {
    let words: Vec<&str> = rules().iter().map(|rule| rule.id.as_str()).collect();
    let functions: Vec<&str> = CHECKS.iter().map(|check| check.id).collect();
    assert_eq!(words, functions);
    let folders = names("conformance").into_iter().filter(|name| !name.contains('.'));
    assert_eq!(words, folders.collect::<Vec<_>>());
}

/// `found` is what the rule then says first, word for word.
#[test]
fn every_counter_example_breaks_its_rule() {
    let bases = Bases::open();
    let mut wrong = Vec::new();
    for rule in rules() {
        let case = &rule.counter_example;
        let outcome = bases.review(case).unwrap_or_else(|error| panic!("{}: {error}", rule.id));
        let mut of_rule = outcome.findings.iter().filter(|finding| finding.rule.id == rule.id);
        let found = of_rule.next().map(|finding| finding.words());
        if found.as_deref() != case.get("found").and_then(Value::as_str) {
            wrong.push(format!("{}: {}", rule.id, found.as_deref().unwrap_or("(nothing)")));
        }
    }
    assert!(wrong.is_empty(), "found otherwise:\n{}", wrong.join("\n"));
}

/// How a case of a rule goes, and what it should; `expect` holds the pointers of the findings in
/// order, none if the rule passes, null if it does not apply.
fn run(bases: &Bases, id: &str, place: &str) -> Result<State, String> {
    let case = open(place);
    let outcome = bases.review(&case).map_err(|error| format!("{place}: {error}"))?;
    let of_rule = outcome.findings.iter().filter(|finding| finding.rule.id == id);
    let found: Vec<&str> = of_rule.map(|finding| finding.pointer.as_str()).collect();
    let (_, state) = outcome.rules.iter().find(|(rule, _)| rule.id == id).expect(place);
    let expect = case.get("expect").expect(place);
    let pointers: Vec<&str> = expect.items().iter().filter_map(Value::as_str).collect();
    let applies = !matches!(state, State::NotApplicable(_));
    if applies == expect.is_null() || found != pointers {
        return Err(format!("{place}: {state:?} at {found:?}"));
    }
    Ok(*state)
}

#[test]
fn every_rule_has_a_passing_and_a_failing_case() {
    let bases = Bases::open();
    let mut wrong = Vec::new();
    for rule in rules() {
        let (id, mut passes, mut fails) = (&rule.id, false, false);
        for name in names(&format!("conformance/{id}")) {
            match run(&bases, id, &format!("conformance/{id}/{name}")) {
                Err(problem) => wrong.push(problem),
                Ok(State::Passed { .. }) => passes = true,
                Ok(State::Failed { .. }) => fails = true,
                Ok(State::NotApplicable(_)) => {}
            }
        }
        if !(passes && fails) {
            wrong.push(format!("{id}: passes {passes}, fails {fails}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_rule_is_found_in_either_case() {
    assert_eq!(rule("r095").unwrap().id, "R095");
    assert!(rule("R099n").is_none(), "it fails on every honest report");
}

/// One change of one digit, and the rule that must see it.
struct Change {
    pointer: String,
    number: Number,
    rule: String,
}

/// The lines of `full.changes.txt`: pointer, new number, rule.
fn changes() -> Vec<Change> {
    let text = String::from_utf8(read("golden/reports/full.changes.txt")).unwrap();
    let change = |line: &str| {
        let [pointer, number, rule] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let number = Number::new(number).expect(line);
        Change { pointer: pointer.to_string(), number, rule: rule.to_string() }
    };
    text.lines().map(change).collect()
}

fn changed(root: &Value, changes: &[&Change]) -> Value {
    let mut root = root.clone();
    for change in changes {
        root.set(&change.pointer, Value::Number(change.number.clone())).unwrap();
    }
    root
}

#[test]
fn forty_listed_changes_of_a_digit_are_found() {
    let bench = Bench::open("golden/reports/full.json");
    let before = failures(&bench.review(&bench.root));
    let changes = changes();
    assert_eq!(changes.len(), 40);
    for change in &changes {
        let Change { pointer, number, rule } = change;
        let old = bench.root.pointer(pointer).and_then(Value::as_number).expect(pointer).text();
        let differ = old.bytes().zip(number.text().bytes()).filter(|(old, new)| old != new);
        assert_eq!((old.len(), differ.count()), (number.text().len(), 1), "{pointer}");
        let after = failures(&bench.review(&changed(&bench.root, &[change])));
        let found = after.difference(&before).any(|(id, _)| id == rule);
        assert!(found, "{rule} does not see {pointer} {} for {old}", number.text());
    }
}

proptest! {
    #![proptest_config(cases(48))]

    /// P19: with any two scalars changed, mending one makes no error, unless the two hid each other
    /// from a rule: then it fails with either alone.
    #[test]
    fn mending_one_of_any_two_changes_makes_no_error(a: Index, b: Index) {
        let bench = Bench::open("golden/reports/full.json");
        let mut numbers = Vec::new();
        bench.root.walk(&mut |place, value| {
            let mutant = mutant(value).filter(|mutant| mutant.as_number().is_some());
            numbers.extend(mutant.map(|mutant| (place.to_string(), mutant)));
        });
        let errors = |changes: &[&(String, Value)]| {
            let mut root = bench.root.clone();
            changes.iter().for_each(|(place, value)| root.set(place, value.clone()).unwrap());
            let findings = bench.review(&root).findings.into_iter();
            let errors = findings.filter(|finding| finding.severity == Severity::Error);
            errors.map(|finding| (&finding.rule.id, finding.pointer)).collect::<BTreeSet<_>>()
        };
        let (a, b) = (a.get(&numbers), b.get(&numbers));
        let (both, mended, other) = (errors(&[a, b]), errors(&[b]), errors(&[a]));
        for (rule, place) in mended.difference(&both) {
            let hidden = other.iter().any(|(other, _)| other == rule);
            prop_assert!(hidden, "{} {}: {} {}", a.0, b.0, rule, place);
        }
    }
}

/// P19: of two changes, mending one leaves no error that was not there with both.
#[test]
fn mending_one_of_two_changes_makes_no_error() {
    let bench = Bench::open("golden/reports/full.json");
    let errors = |root: &Value| {
        let findings = bench.review(root).findings;
        let errors = findings.into_iter().filter(|finding| finding.severity == Severity::Error);
        errors.map(|finding| (&finding.rule.id, finding.pointer)).collect::<BTreeSet<_>>()
    };
    let changes = changes();
    for (a, b) in changes.iter().zip(&changes[1..]) {
        let (both, one) =
            (errors(&changed(&bench.root, &[a, b])), errors(&changed(&bench.root, &[b])));
        assert!(one.is_subset(&both), "{} {}: {:?}", a.pointer, b.pointer, one.difference(&both));
    }
}
