//! Reports as a stranger might send them, for the tests of everything that reads reports.

use super::{Number, Value, parse};
use proptest::prelude::*;

/// A report of `golden/reports`.
pub(crate) fn golden(name: &str) -> Vec<u8> {
    let path = format!("{}/../golden/reports/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Puts a text before every text of a document, keys that are no names of fields among them.
pub(crate) fn poison(value: &mut Value, text: &str) {
    match value {
        Value::String(known) => *known = format!("{text}{known}"),
        Value::Array(items) => {
            items.iter_mut().for_each(|item| poison(item, text));
        }
        Value::Object(entries) => {
            for (key, value) in entries {
                poison(value, text);
                // The names of fields stay, so that there is something to show.
                if !key.chars().all(|c| c.is_ascii_lowercase() || "_0123456789".contains(c)) {
                    *key = format!("{text}{key}");
                }
            }
        }
        _ => {}
    }
}

fn value() -> impl Strategy<Value = Value> {
    let number = prop::sample::select(vec!["0", "-1", "3", "0.5", "1e-9", "1e400", "-1e400"]);
    let word = prop::sample::select(vec![
        "",
        "performance",
        "truncated",
        "first_answer_s",
        "<script>alert(1)</script>",
        "\u{1b}[2J\u{2028}",
        "=1+1",
        "\"' onload=x",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number.prop_map(|text| Value::Number(Number::new(text).unwrap())),
        word.prop_map(|text| Value::String(text.to_string())),
    ];
    let key = prop::sample::select(vec![
        "id", "case_id", "metric", "timings", "total_s", "missing", "run", "<b>", "~/", "dispatch",
    ]);
    leaf.prop_recursive(3, 12, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((key.clone().prop_map(String::from), inner), 0..4)
                .prop_map(Value::Object),
        ]
    })
}

/// A good report or wrapper in which something else stands at some places; sometimes no report.
pub(crate) fn report() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(vec!["full.json", "wrapper.json", "embedded.json"]);
    let changes = prop::collection::vec((any::<prop::sample::Index>(), value()), 1..9);
    let changed = (names, changes).prop_map(|(name, changes)| {
        let mut root = parse(&golden(name)).unwrap();
        let mut places = Vec::new();
        root.walk(&mut |place, _| places.push(place.to_string()));
        for (index, value) in changes {
            // The root stays: what is no report at all is the other kind. An earlier change may
            // have taken the place away.
            let place = index.get(&places[1..]);
            let _ = root.set(place, value);
        }
        root
    });
    prop_oneof![9 => changed, 1 => value()]
}
