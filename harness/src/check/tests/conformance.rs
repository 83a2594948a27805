//! Cases as data, `conformance/<rule>/*.json`: a report of golden/reports, what is changed in it,
//! and where the rule then fails. Any implementation of the rules can run them.

use super::{Bench, failures, path, read};
use crate::check::{RULES, Severity, State};
use crate::json::{self, Number, Value};
use std::collections::{BTreeMap, BTreeSet};

/// A base as it is, and the state of each rule on it and on each of its cases.
struct Bases {
    benches: BTreeMap<String, Bench>,
    passed: BTreeSet<&'static str>,
    failed: BTreeSet<&'static str>,
}

impl Bases {
    fn open() -> Bases {
        let names = ["full.json", "wrapper.json"];
        let open = |name: &str| (name.to_string(), Bench::open(&format!("golden/reports/{name}")));
        let benches: BTreeMap<String, Bench> = names.map(open).into();
        let mut bases = Bases { benches, passed: BTreeSet::new(), failed: BTreeSet::new() };
        for name in names {
            let bench = &bases.benches[name];
            for (rule, state) in bench.review(&bench.root).rules {
                bases.saw(rule.id, state);
            }
        }
        bases
    }

    fn saw(&mut self, rule: &'static str, state: State) {
        match state {
            State::Passed { .. } => self.passed.insert(rule),
            State::Failed { .. } => self.failed.insert(rule),
            State::NotApplicable(_) => false,
        };
    }

    /// Runs a case; `Err` says how it went otherwise. `expect`: the pointers of the rule's findings
    /// in order, none if it passes, null if it does not apply.
    fn run(&mut self, rule: &str, place: &str) -> Result<(), String> {
        let case = json::parse(&read(place)).map_err(|error| format!("{place}: {error}"))?;
        let base = case.get("base").and_then(Value::as_str).expect(place);
        let bench = &self.benches[base];
        let mut root = bench.root.clone();
        for (pointer, value) in case.get("set").expect(place).entries() {
            root.set(pointer, value.clone()).ok_or(format!("{place}: no {pointer}"))?;
        }
        let outcome = bench.review(&root);
        let of_rule = outcome.findings.iter().filter(|finding| finding.rule.id == rule);
        let found: Vec<&str> = of_rule.map(|finding| finding.pointer.as_str()).collect();
        let (rule, state) = outcome.rules.iter().find(|(known, _)| known.id == rule).expect(place);
        self.saw(rule.id, *state);
        let expect = case.get("expect").expect(place);
        let pointers: Vec<&str> = expect.items().iter().filter_map(Value::as_str).collect();
        let applies = !matches!(state, State::NotApplicable(_));
        if applies == expect.is_null() || found != pointers {
            return Err(format!("{place}: {state:?} at {found:?}"));
        }
        Ok(())
    }
}

fn names(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(path(folder)).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn every_rule_has_a_passing_and_a_failing_report() {
    let mut bases = Bases::open();
    let mut wrong = Vec::new();
    for rule in names("conformance").iter().filter(|name| !name.contains('.')) {
        for name in names(&format!("conformance/{rule}")) {
            wrong.extend(bases.run(rule, &format!("conformance/{rule}/{name}")).err());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let exceptions = json::parse(&read("conformance/exceptions.json")).unwrap();
    let excepted: BTreeSet<&str> = exceptions.entries().iter().map(|(id, _)| id.as_str()).collect();
    let shown: BTreeSet<&str> = bases.passed.intersection(&bases.failed).copied().collect();
    let all: BTreeSet<&str> = RULES.iter().map(|rule| rule.id).chain(["R400"]).collect();
    let without: Vec<&&str> = all.difference(&shown).collect();
    assert_eq!(without, excepted.iter().collect::<Vec<_>>(), "rules without both kinds of case");
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

/// Of two changes, mending one leaves no error that was not there with both.
#[test]
fn mending_one_of_two_changes_makes_no_error() {
    let bench = Bench::open("golden/reports/full.json");
    let errors = |root: &Value| {
        let findings = bench.review(root).findings;
        let errors = findings.into_iter().filter(|finding| finding.severity == Severity::Error);
        errors.map(|finding| (finding.rule.id, finding.pointer)).collect::<BTreeSet<_>>()
    };
    let changes = changes();
    for (a, b) in changes.iter().zip(&changes[1..]) {
        let (both, one) =
            (errors(&changed(&bench.root, &[a, b])), errors(&changed(&bench.root, &[b])));
        assert!(one.is_subset(&both), "{} {}: {:?}", a.pointer, b.pointer, one.difference(&both));
    }
}
