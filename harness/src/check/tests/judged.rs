//! Rules about judgements read their words from the protocol: a kind of evaluator that is in no
//! protocol of the specification is reviewed like any other.

use super::{Bench, failures};
use crate::json::Value;
use crate::protocol::{Constraint, Evaluator, PhaseName};

fn check(evaluator: Evaluator) {
    let mut bench = Bench::open("golden/reports/full.json");
    let id = bench.root.pointer("/protocol/id").and_then(Value::as_str).unwrap().to_string();
    let protocol = bench.protocols.iter_mut().find(|protocol| protocol.id == id).unwrap();
    protocol.passed_reasons.instructions = Some("every instruction kept".to_string());
    protocol.passed_reasons.retrieval = Some("the value asked for".to_string());
    let words = protocol.passed_reasons.of(&evaluator).unwrap().to_string();
    let sanity = protocol.phases.iter_mut().find(|phase| phase.phase == PhaseName::Sanity);
    let mut cases = sanity.unwrap().cases.iter_mut();
    cases.find(|case| case.id == "R1").unwrap().evaluator = Some(evaluator);

    let requests = bench.root.get("requests").unwrap().items();
    let at = requests.iter().position(|r| r.get("id").unwrap().as_str() == Some("sanity-R1"));
    let reason = format!("/requests/{}/evaluation/reason", at.unwrap());
    let told = |root: &Value| -> Vec<String> {
        let failures = failures(&bench.review(root)).into_iter();
        failures.filter(|(rule, _)| ["R112", "R113"].contains(rule)).map(|(_, at)| at).collect()
    };
    assert_eq!(told(&bench.root), [reason.as_str()]);
    let mut root = bench.root.clone();
    root.set(&reason, Value::String(words)).unwrap();
    assert_eq!(told(&root), [""; 0]);
}

#[test]
fn words_of_every_kind_are_the_protocols() {
    let constraints = vec![Constraint::Json {}];
    check(Evaluator::Instructions { constraints });
    let (expected, candidates, max_words) = (None, Vec::new(), Some(3));
    check(Evaluator::Retrieval { expected, candidates, max_words });
}
