//! The printed schema against the golden reports and against the rules on fields and types: what
//! one refuses the other does.

use super::{Bench, read};
use crate::check::schema;
use crate::check::{Outcome, Severity};
use crate::json::{self, Value, hostile};
use proptest::prelude::*;
use serde_json::Value as Json;

/// Whether a value keeps a schema, by the keywords that [`schema`] uses. Any other is a defect.
fn keeps(schema: &Json, value: &Value) -> bool {
    schema.as_object().unwrap().iter().all(|(keyword, wanted)| match keyword.as_str() {
        "$schema" | "title" | "description" => true,
        "const" => value.equals(&Value::try_from(wanted).unwrap()),
        "type" => {
            let names = wanted.as_array().cloned().unwrap_or(vec![wanted.clone()]);
            names.iter().any(|name| is_a(value, name.as_str().unwrap()))
        }
        "minimum" => number(value).is_none_or(|found| found >= wanted.as_f64().unwrap()),
        "maximum" => number(value).is_none_or(|found| found <= wanted.as_f64().unwrap()),
        "exclusiveMaximum" => number(value).is_none_or(|found| found < wanted.as_f64().unwrap()),
        "maxItems" => value.items().len() as u64 <= wanted.as_u64().unwrap(),
        "items" => value.items().iter().all(|item| keeps(wanted, item)),
        "required" => {
            let mut keys = wanted.as_array().unwrap().iter().map(|key| key.as_str().unwrap());
            !matches!(value, Value::Object(_)) || keys.all(|key| value.get(key).is_some())
        }
        "properties" => {
            let fields = wanted.as_object().unwrap().iter();
            let known = fields.filter_map(|(key, wanted)| Some((wanted, value.get(key)?)));
            known.into_iter().all(|(wanted, found)| keeps(wanted, found))
        }
        "additionalProperties" => {
            let fields = schema.get("properties").and_then(Json::as_object);
            let others = value.entries().iter();
            let mut others =
                others.filter(|(key, _)| !fields.is_some_and(|all| all.contains_key(key)));
            match wanted {
                Json::Bool(false) => others.next().is_none(),
                wanted => others.all(|(_, found)| keeps(wanted, found)),
            }
        }
        unknown => panic!("{unknown}"),
    })
}

fn number(value: &Value) -> Option<f64> {
    value.as_number().map(json::Number::as_f64)
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "integer" => value.as_number().is_some_and(|number| number.decimals() == 0),
        name => value.kind() == name,
    }
}

#[test]
fn the_schemas() {
    insta::assert_snapshot!("schema_report", format!("{:#}", schema::report()));
    insta::assert_snapshot!("schema_publication", format!("{:#}", schema::publication()));
}

#[test]
fn golden_reports_keep_the_schema() {
    for name in ["full.json", "embedded.json"] {
        assert!(keeps(&schema::report(), &json::parse(&hostile::golden(name)).unwrap()), "{name}");
    }
    let wrapper = json::parse(&read("golden/reports/wrapper.json")).unwrap();
    assert!(!keeps(&schema::report(), &wrapper) && !keeps(&schema::publication(), &wrapper));
}

fn refuses(outcome: &Outcome, rules: &[&str]) -> bool {
    let mut errors = outcome.findings.iter().filter(|f| f.severity == Severity::Error);
    errors.any(|error| rules.contains(&error.rule.id.as_str()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn schema_and_rules_refuse_the_same(report in hostile::report()) {
        let is_report = report.get("run").is_some() || report.get("selected_run").is_none();
        prop_assume!(is_report && report.get("requests").is_some());
        let bench = Bench { root: report, protocols: Vec::new() };
        let outcome = bench.review(&bench.root);
        let kept = keeps(&schema::report(), &bench.root);
        let rules = ["R001", "R002", "R003", "R402"];
        prop_assert_eq!(kept, !refuses(&outcome, &rules), "{}", outcome.text());
    }
}
