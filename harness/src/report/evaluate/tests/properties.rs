//! What holds for any answer: a verdict, in few words and in linear time; and for any right one:
//! it passes as it is and under no listed corruption.

use super::*;
use proptest::prelude::*;

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|flag| json!(flag)),
        any::<i32>().prop_map(|number| json!(number)),
        (-1_000_000..1_000_000).prop_map(|n: i32| json!(f64::from(2 * n + 1) / 128.0)),
        "[a-c\"\\\\ é]{0,3}".prop_map(|text| json!(text)),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| json!(items)),
            prop::collection::btree_map("[a-c]{1,2}", inner, 0..4)
                .prop_map(|entries| json!(entries)),
        ]
    })
}

/// One of each kind. Any answer keeps the constraints that count, so that each of them is tried.
fn truths() -> Vec<Evaluator> {
    let loose = |kind: &str| json!({"kind": kind, "min": 0, "max": 1_u64 << 40});
    let loose_on = |kind: &str, text: &str| {
        let mut constraint = loose(kind);
        constraint[kind] = json!(text);
        constraint
    };
    let constraints = json!([
        loose("words"),
        loose("sentences"),
        loose("lines"),
        loose("bullets"),
        loose_on("word", "a"),
        loose_on("text", "a a"),
        {"kind": "json"},
    ]);
    let truths = [
        json!({"kind": "exact_text", "expected": "a"}),
        json!({"kind": "json_value", "expected": {"a": 1}}),
        json!({"kind": "tool_call", "name": "f", "arguments": {"a": [1]}}),
        json!({"kind": "retrieval", "expected": "a", "candidates": ["a", "b c"], "max_words": 2}),
        json!({"kind": "instructions", "constraints": constraints}),
    ];
    truths.into_iter().map(|truth| serde_json::from_value(truth).unwrap()).collect()
}

/// A quadratic step would take an hour here.
#[test]
fn ten_megabytes_are_judged_in_linear_time() {
    let long = |piece: &str| piece.repeat(10_000_000 / piece.len());
    let string = format!("{{\"a\":\"{}\"}}", long("é\\n"));
    for text in [long("a "), long("<["), long("- é。\n\u{200b}"), long("1"), string] {
        let call = calls(&[("f", &text)]);
        for truth in truths() {
            let tool_calls = match truth {
                Evaluator::ToolCall { .. } => call.as_slice(),
                _ => &[],
            };
            evaluate(&truth, &words(), Answer { text: &text, tool_calls });
        }
    }
}

fn passes(truth: &Evaluator, text: &str) -> bool {
    evaluate(truth, &words(), Answer { text, tool_calls: &[] }).passed
}

/// What makes a text answer of any kind wrong.
fn spoilt(right: &str) -> Vec<String> {
    let thought = ["<think>Hm.</think>", "<think>", "</think>", "[THINK]", "<thinking>\n"];
    let mut spoilt: Vec<String> = thought.iter().map(|mark| format!("{mark}{right}")).collect();
    spoilt.extend(thought.iter().map(|mark| format!("{right}{mark}")));
    spoilt.extend(["", " ", "\r\n", "\u{a0}"].map(String::from));
    spoilt
}

fn check_spoilt(truth: &Evaluator, right: &str, more: &[String]) -> Result<(), TestCaseError> {
    prop_assert!(passes(truth, right), "{right:?}");
    prop_assert!(passes(truth, &format!("\r\n {right}\u{a0}\n")), "{right:?} between blanks");
    for text in spoilt(right).iter().chain(more) {
        prop_assert!(!passes(truth, text), "{text:?}");
    }
    let call = calls(&[("f", right)]);
    let called = evaluate(truth, &words(), Answer { text: right, tool_calls: &call });
    prop_assert!(!called.passed);
    Ok(())
}

proptest! {
    /// A value passes as its own truth however it is laid out, and only as its own.
    #[test]
    fn a_value_equals_itself_alone(value in any_json(), other in any_json()) {
        let truth = Evaluator::JsonValue { expected: Some(value.clone()) };
        prop_assert!(passes(&truth, &serde_json::to_string_pretty(&value).unwrap()));
        prop_assert_eq!(passes(&truth, &other.to_string()), other == value);
        let right = value.to_string();
        let corruptions = [
            format!("{right} ."),
            format!("{right} {right}"),
            format!("```json\n{right}\n```"),
            format!("\u{feff}{right}"),
            format!("{right}\u{200b}"),
            format!("[{right}]"),
            format!("{{\"a\":{right},\"a\":{right}}}"),
            json!(right).to_string(),
        ];
        check_spoilt(&truth, &right, &corruptions)?;
    }

    #[test]
    fn a_text_equals_itself_alone(
        right in "[a-zé.]{1,8}( [a-zé.]{1,8})?",
        at in any::<prop::sample::Index>(),
        inserted in "[\u{200b}\u{feff}\u{200f}\u{a0}\u{0}A４]",
    ) {
        let truth = Evaluator::ExactText { expected: Some(right.clone()) };
        let places: Vec<usize> = right.char_indices().map(|(at, _)| at).collect();
        let inside = places[1..].get(at.index(places.len()).saturating_sub(1));
        let mut corruptions =
            vec![format!("{right}."), format!("\"{right}\""), format!("\u{feff}{right}")];
        corruptions.extend(inside.map(|&at| format!("{}{inserted}{}", &right[..at], &right[at..])));
        check_spoilt(&truth, &right, &corruptions)?;
    }

    #[test]
    fn a_call_is_right_alone(animal in "[a-z\"]{0,6}", cups in any::<i64>()) {
        let arguments = json!({"animal": animal, "cups": cups});
        let accepted = json!({"animal": [animal, "a dog"], "cups": [cups]});
        let accepted = accepted.as_object().unwrap().clone();
        let truth = Evaluator::ToolCall { name: Some("feed".into()), arguments: accepted };
        let right = arguments.to_string();
        let passes = |tool_calls: &[(&str, &str)]| {
            let tool_calls = calls(tool_calls);
            evaluate(&truth, &words(), Answer { text: "", tool_calls: &tool_calls }).passed
        };
        prop_assert!(passes(&[("feed", &right)]));
        prop_assert!(!passes(&[("feed", &right), ("feed", &right)]));
        prop_assert!(!passes(&[("food", &right)]));
        for arguments in [
            json!(right).to_string(),
            format!("{right}{right}"),
            format!("{right}."),
            format!("[{right}]"),
            right.replacen('{', "{\"cups\":0,", 1),
            right.replacen('{', "{\"more\":0,", 1),
            right.replacen("cups", "Cups", 1),
            right.replacen("\"cups\":", "\"cups\":1", 1),
            right[..right.len() - 1].to_string(),
        ] {
            prop_assert!(!passes(&[("feed", &arguments)]), "{arguments}");
        }
    }

    #[test]
    fn a_value_is_found_alone(
        values in prop::collection::btree_set("[a-f]{2,5}|[1-9][0-9]{2,5}", 2..5),
        which in any::<prop::sample::Index>(),
        beside in prop::collection::vec("[u-z]{1,5}[,.!]?", 0..4),
    ) {
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let expected = values[which.index(values.len())];
        let other = values[(which.index(values.len()) + 1) % values.len()];
        let truth = retrieval(expected, &values, Some(beside.len() as u64));
        let left = beside.join(" ");
        let right = format!("{left} \"{expected}\".");
        prop_assert!(passes(&truth, expected));
        let mut hidden = other.to_uppercase();
        hidden.insert(1, '\u{200b}');
        let corruptions = [
            format!("{right} word"),
            format!("{right} {other}"),
            format!("{right} –{other}–"),
            format!("{right} u/{hidden}/v"),
            values.join(", "),
            values.join("/"),
            format!("{left} {other}"),
            format!("{left} x{expected}"),
            format!("{left} {expected}x"),
            format!("{left} -{expected}"),
            format!("{left} {expected}.5"),
            left,
        ];
        check_spoilt(&truth, right.trim(), &corruptions)?;
    }

    /// Counted exactly, one more or one fewer of a thing is another number.
    #[test]
    fn counts_are_exact(sentences in prop::collection::vec("([a-z]{1,6} ){0,3}[a-z]{1,6}", 1..6)) {
        let count = sentences.len();
        let exactly = |kind: &str, count: usize| {
            constraint(json!({"kind": kind, "min": count, "max": count}))
        };
        let prose = sentences.join(". ") + ".";
        let words = sentences.iter().map(|sentence| sentence.split(' ').count()).sum();
        let fewer = prose.split_once(' ').map_or("", |(_, rest)| rest).to_string();
        check_spoilt(&exactly("words", words), &prose, &[format!("{prose} so"), fewer])?;
        let fewer = sentences[1..].join("! ");
        check_spoilt(&exactly("sentences", count), &prose, &[format!("{prose} So"), fewer])?;
        let list = format!("- {}", sentences.join("\r\n\r\n- "));
        let fewer = list.replacen("- ", "", 1);
        check_spoilt(&exactly("bullets", count), &list, &[format!("{list}\n* so"), fewer])?;
        check_spoilt(&exactly("lines", count), &list, &[format!("{list}\rso")])?;
        let absent = constraint(json!({"kind": "word", "word": "Qx9", "min": 0, "max": 0}));
        let word = [format!("{prose} (QX9)"), format!("qX\u{ad}9, {prose}")];
        check_spoilt(&absent, &prose, &word)?;
        let absent = constraint(json!({"kind": "text", "text": ",", "min": 0, "max": 0}));
        check_spoilt(&absent, &prose, &[format!("{prose},"), format!("so, {prose}")])?;
        let lower = constraint(json!({"kind": "lower_case"}));
        check_spoilt(&lower, &prose, &[format!("{prose} So"), prose.to_uppercase()])?;
    }

    #[test]
    fn any_answer_gets_a_verdict_in_few_words(
        text in prop_oneof![
            ".{0,40}",
            "[ab. <>\\[\\]{}\"\\\\:,\\-*\r\n\u{200b}\u{a0}\u{feff}１。]{0,40}",
        ],
        arguments in ".{0,40}",
    ) {
        let call = ToolCall { name: "f".into(), arguments };
        for truth in truths() {
            for tool_calls in [&[][..], std::slice::from_ref(&call)] {
                let verdict = evaluate(&truth, &words(), Answer { text: &text, tool_calls });
                prop_assert!((1..=50).contains(&verdict.reason.len()));
            }
        }
    }
}
