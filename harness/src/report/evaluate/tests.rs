//! Right, nearly right and hostile answers for every kind of evaluator, and what holds for any.

use super::*;
use serde_json::json;

mod properties;

fn words() -> PassedReasons {
    PassedReasons {
        exact_text: "the exact expected text".into(),
        json_value: "the expected JSON value".into(),
        tool_call: "the expected tool call".into(),
        instructions: Some("every instruction kept".into()),
        retrieval: Some("the value asked for".into()),
    }
}

/// Calls of functions by name and arguments.
fn calls(calls: &[(&str, &str)]) -> Vec<ToolCall> {
    let call = |(name, arguments): &(&str, &str)| ToolCall {
        name: name.to_string(),
        arguments: arguments.to_string(),
    };
    calls.iter().map(call).collect()
}

fn check(evaluator: &Evaluator, text: &str, tool_calls: &[(&str, &str)], reason: &str) {
    let tool_calls = calls(tool_calls);
    let verdict = evaluate(evaluator, &words(), Answer { text, tool_calls: &tool_calls });
    let passed = words().of(evaluator) == Some(reason);
    assert_eq!(verdict, Verdict { passed, reason: reason.into() }, "{text:?} {tool_calls:?}");
}

#[test]
fn exact_texts() {
    let truth = Evaluator::ExactText { expected: Some("bike".into()) };
    let right = "the exact expected text";
    for text in ["bike", " bike", "\n\tbike\u{a0}\n"] {
        check(&truth, text, &[], right);
    }
    for text in ["Bike", "bik", "b ike", "b\u{131}ke", "\u{feff}"] {
        check(&truth, text, &[], "another text");
    }
    for text in ["bikes", "\"bike\"", "bike.", "a bike", "bike\nbike", "bike\0"] {
        check(&truth, text, &[], "the expected text with other text around it");
    }
    for text in ["b\u{200b}ike", "\u{feff}bike", "ｂｉｋｅ", "\u{202e}ekib", "bi\u{ad}ke"] {
        let found = evaluate(&truth, &words(), Answer { text, tool_calls: &[] });
        assert!(!found.passed, "{text:?}");
    }
    for text in ["<think>a bike?</think>bike", "<think>bike", "bike</think>", "<THINK></THINK>"] {
        check(&truth, text, &[], "reasoning left in the answer");
    }
    check(&truth, "\r\nbike\r\n\u{3000}", &[], right);
    check(&truth, " \n", &[], "no answer text");
    check(&truth, "bike", &[("ride", "{}")], "a tool call instead of text");
    check(&Evaluator::ExactText { expected: None }, "bike", &[], NO_TRUTH);
}

#[test]
fn json_values() {
    let expected = json!({"animal": "cat", "legs": 4, "of": [0.5, null, {"a": true}]});
    let truth = Evaluator::JsonValue { expected: Some(expected) };
    for text in [
        r#"{"animal":"cat","legs":4,"of":[0.5,null,{"a":true}]}"#,
        r#" {"of": [5e-1, null, {"a": true}], "legs": 4.0, "animal": "\u0063at"} "#,
        r#"{"animal":"cat","legs":40e-1,"of":[0.50,null,{"a":true}]}"#,
    ] {
        check(&truth, text, &[], "the expected JSON value");
    }
    for text in [
        r#"{"animal":"cat","legs":"4","of":[0.5,null,{"a":true}]}"#,
        r#"{"animal":"cat","legs":4.000000000000000000001,"of":[0.5,null,{"a":true}]}"#,
        r#"{"animal":"cat","legs":1e400,"of":[0.5,null,{"a":true}]}"#,
        r#"{"animal":"cat","legs":4,"of":[null,0.5,{"a":true}]}"#,
        r#"{"animal":"cat","legs":4,"of":[0.5,null,{"a":true}],"more":1}"#,
        r#"{"animal":"cat","legs":4}"#,
        r#"[]"#,
        r#"null"#,
        r#""{}""#,
    ] {
        check(&truth, text, &[], "another JSON value");
    }
    for text in [
        r#"{"animal":"cat","legs":NaN,"of":[]}"#,
        "```json\n{}\n```",
        "{} {}",
        "{}.",
        "The answer is {}",
        r#"{"animal":"cat""#,
        "{'animal':'cat'}",
        "[1,]",
        "{}\0",
        "{}{}",
        "{}\n{}",
        "Infinity",
        "-Infinity",
        "４",
        "+4",
        "04",
        "0x4",
        "\u{feff}{}",
        "{}\u{200b}",
        "{\u{a0}}",
        "\u{200f}{}",
        "/* */ {}",
        "\"\u{7}\"",
        r#""\ud800""#,
        &"[".repeat(100_000),
    ] {
        check(&truth, text, &[], "not one JSON value");
    }
    let twice = r#"{"animal":"cat","legs":4,"of":[0.5,null,{"a":false,"a":true}]}"#;
    check(&truth, twice, &[], "a JSON value with a repeated key");
    check(&truth, "<think>{}</think>{}", &[], "reasoning left in the answer");
    check(&truth, "", &[], "no answer text");
    check(&truth, "{}", &[("f", "{}")], "a tool call instead of text");
}

#[test]
fn big_numbers_are_not_rounded_together() {
    let truth = Evaluator::JsonValue { expected: Some(json!(9007199254740993_u64)) };
    check(&truth, "9007199254740993", &[], "the expected JSON value");
    check(&truth, "9007199254740993.0", &[], "the expected JSON value");
    check(&truth, "9007199254740992", &[], "another JSON value");
    let truth = Evaluator::JsonValue { expected: Some(json!(0)) };
    for zero in ["0", "-0", "-0.0", "0e400", "\u{a0}0\u{a0}", "0\r\n"] {
        check(&truth, zero, &[], "the expected JSON value");
    }
    for other in ["1e-400", "-1e-400", "1e400", "\"0\"", "false", "null", "[0]"] {
        check(&truth, other, &[], "another JSON value");
    }
}

#[test]
fn tool_calls() {
    let accepted = json!({"animal": ["cat", "the cat"], "cups": [2]});
    let accepted = accepted.as_object().unwrap().clone();
    let truth = Evaluator::ToolCall { name: Some("feed".into()), arguments: accepted };
    let right = r#"{"animal":"cat","cups":2}"#;
    check(&truth, "", &[("feed", right)], "the expected tool call");
    check(&truth, "I will.", &[("feed", right)], "the expected tool call");
    check(&truth, "<think>Feed it.</think>", &[("feed", right)], "the expected tool call");
    let other = r#" {"cups":2.0,"animal":"the cat"} "#;
    check(&truth, "", &[("feed", other)], "the expected tool call");
    check(&truth, right, &[], "no tool call");
    check(&truth, "", &[("feed", right), ("feed", right)], "more than one tool call");
    check(&truth, "", &[("feed", right), ("", "")], "more than one tool call");
    for name in ["Feed", "", " feed", "feed\u{200b}", "ｆｅｅｄ", "feed()"] {
        check(&truth, "", &[(name, right)], "a call of another function");
    }
    for (arguments, reason) in [
        ("", "arguments not in JSON"),
        ("animal=cat", "arguments not in JSON"),
        (r#"{"animal":"cat","cups":2"#, "arguments not in JSON"),
        (r#"["cat",2]"#, "arguments not in a JSON object"),
        (r#""{\"animal\":\"cat\",\"cups\":2}""#, "arguments not in a JSON object"),
        (r#"{"animal":"dog","animal":"cat","cups":2}"#, "arguments with a repeated key"),
        (r#"{"animal":"cat"}"#, "a missing argument"),
        (r#"{"animal":"dog","cups":2}"#, "another value of an argument"),
        (r#"{"animal":["cat","the cat"],"cups":2}"#, "another value of an argument"),
        (r#"{"animal":"cat","cups":"2"}"#, "another value of an argument"),
        (r#"{"animal":"cat","cups":2,"now":true}"#, "an argument too many"),
        (r#"{"animal":"cat","cups":2}{}"#, "arguments not in JSON"),
        (r#"{"animal":"cat","cups":2} ok"#, "arguments not in JSON"),
        ("```json\n{}\n```", "arguments not in JSON"),
        (r#"{"animal":"cat","cups":NaN}"#, "arguments not in JSON"),
        (r#"{"animal":"cat","cups":1e400}"#, "another value of an argument"),
        (r#"{"animal":"cat","cups":-2}"#, "another value of an argument"),
        (r#"{"animal":"cat","cups":"２"}"#, "another value of an argument"),
        (r#"{"animal":"c\u200bat","cups":2}"#, "another value of an argument"),
        (r#"{"animal":"cat ","cups":2}"#, "another value of an argument"),
        (r#"{"animal":"<think>cat","cups":2}"#, "another value of an argument"),
        ("\u{feff}{}", "arguments not in JSON"),
    ] {
        check(&truth, "", &[("feed", arguments)], reason);
    }
}

fn constraint(constraint: serde_json::Value) -> Evaluator {
    serde_json::from_value(json!({"kind": "instructions", "constraints": [constraint]})).unwrap()
}

/// Answers that keep a constraint, and answers that fail it for this reason.
fn check_kept(stated: serde_json::Value, kept: &[&str], reason: &str, broken: &[&str]) {
    let truth = constraint(stated);
    kept.iter().for_each(|text| check(&truth, text, &[], "every instruction kept"));
    broken.iter().for_each(|text| check(&truth, text, &[], reason));
}

#[test]
fn counted_constraints() {
    check_kept(
        json!({"kind": "words", "min": 2, "max": 3}),
        &["one two", "one\u{a0}two\r\nthree", "- one – two!", "o\u{200b}ne two", "４ ２"],
        "another number of words",
        &["one", "one\u{200b}two", "a b c d", "one - –", "one/two", "..."],
    );
    check_kept(
        json!({"kind": "sentences", "min": 2, "max": 2}),
        &["One. Two.", "One! \"Two?\"", "One。Two", "1. One. Two", "One.\r\nTwo", "A.\u{feff} B."],
        "another number of sentences",
        &["One", "One.Two.", "One. Two. Three", "1. 2. 3.", "One\nTwo", "e.g. one. Two."],
    );
    check_kept(
        json!({"kind": "lines", "min": 2, "max": null}),
        &["a\nb", "a\r\nb", "a\rb", "a\n\n \nb\nc", "\u{feff}\na\nb"],
        "another number of lines",
        &["a", "a\n\n", "a\n\u{200b}\n\u{a0}", "a\u{2028}b", "a\\nb"],
    );
    check_kept(
        json!({"kind": "bullets", "min": 2, "max": 2}),
        &["- a\n- b", "So:\r\n  * a\r\n\r\n• b\r\nend", "-\ta\n+ b", "\u{200f}- a\n- b"],
        "another number of bullet items",
        &["- a", "-a\n-b", "- a\n- b\n- c", "1. a\n2. b", "**a**\n**b**", "- a - b", "- a\n-"],
    );
}

#[test]
fn constraints_on_words_and_characters() {
    check_kept(
        json!({"kind": "word", "word": "sea", "min": 1, "max": 2}),
        &["The Sea.", "**SEA**,", "sea (sea)", "s\u{200b}ea", "\u{201c}sea\u{201d}", "a\u{a0}sea!"],
        "a word too often or not often enough",
        &["see", "seas", "sea-side", "the sea's", "sea sea sea", "ｓｅａ", "se a", "ѕea"],
    );
    check_kept(
        json!({"kind": "word", "word": "Straße", "min": 0, "max": 0}),
        &["Strasse", "Straßen", "a"],
        "a word too often or not often enough",
        &["straße", "a STRAßE.", "Stra\u{ad}ße"],
    );
    check_kept(
        json!({"kind": "text", "text": ",", "min": 0, "max": 0}),
        &["a b", "a，b", "a;b"],
        "a text too often or not often enough",
        &[",", "a, b", "1,000", "a,\u{200b}b"],
    );
    check_kept(
        json!({"kind": "text", "text": "aa", "min": 2, "max": 2}),
        &["aaaa", "aaaaa", "aa\naa", "a\u{feff}aaa"],
        "a text too often or not often enough",
        &["aaa", "AAAA", "aaaaaa", "a a a a"],
    );
    check_kept(
        json!({"kind": "starts_with", "text": "Dear"}),
        &["Dear", "\n Dear me", "\u{feff}Dear", "Dearest"],
        "another beginning",
        &["dear", "\"Dear", "D ear", "**Dear**", "Oh Dear"],
    );
    check_kept(
        json!({"kind": "ends_with", "text": "Bye."}),
        &["Bye.", "So\u{a0}Bye.\r\n", "Bye.\u{200e}"],
        "another end",
        &["Bye", "Bye. ok", "Bye.**", "bye.", "Bye. ."],
    );
    check_kept(
        json!({"kind": "lower_case"}),
        &["abc", "é 42!", "ß", "猫 cat"],
        "not all in lower case",
        &["Abc", "abÉ", "42", "猫", "𝐀bc", "a\u{200b}B"],
    );
    check_kept(
        json!({"kind": "upper_case"}),
        &["ABC", "É 42!", "猫 CAT"],
        "not all in upper case",
        &["ABc", "STRAßE", "42", "猫"],
    );
}

#[test]
fn json_alone() {
    let truth = constraint(json!({"kind": "json"}));
    let big = r#"{"a":[1e400,-0,9007199254740993]}"#;
    for text in ["{}", "[]", " {\"a\": 1}\r\n", "\u{a0}[1]", big] {
        check(&truth, text, &[], "every instruction kept");
    }
    for text in ["1", "\"{}\"", "null", "-0", "1e400"] {
        check(&truth, text, &[], "neither a JSON object nor an array");
    }
    for text in ["```json\n{}\n```", "{} {}", "{}.", "[NaN]", "[Infinity]", "\u{feff}{}", "{'a':1}"]
    {
        check(&truth, text, &[], "not one JSON value");
    }
    check(&truth, r#"[{"a":1,"a":1}]"#, &[], "a JSON value with a repeated key");
}

#[test]
fn instructions_hold_all_at_once() {
    let truth = json!({"kind": "instructions", "constraints": [
        {"kind": "lines", "min": 2, "max": 2},
        {"kind": "starts_with", "text": "-"},
        {"kind": "lower_case"},
    ]});
    let truth: Evaluator = serde_json::from_value(truth).unwrap();
    check(&truth, "- a\n- b", &[], "every instruction kept");
    check(&truth, "- a\nB\nc", &[], "another number of lines");
    check(&truth, "a\n- B", &[], "another beginning");
    check(&truth, "- a\n- B", &[], "not all in lower case");
    for text in ["<think>\n- a</think>\n- b", "- a\n<think>", "- a\n- [think]", "-\n<|channel|>"] {
        check(&truth, text, &[], "reasoning left in the answer");
    }
    for text in ["", "\r\n", "\u{feff}", " \u{200b}\u{a0}\u{200f} "] {
        check(&truth, text, &[], "no answer text");
    }
    check(&truth, "- a\n- b", &[("f", "{}")], "a tool call instead of text");
    check(&Evaluator::Instructions { constraints: vec![] }, "a", &[], NO_TRUTH);
    let PassedReasons { exact_text, json_value, tool_call, .. } = words();
    let old =
        PassedReasons { exact_text, json_value, tool_call, instructions: None, retrieval: None };
    let verdict = evaluate(&truth, &old, Answer { text: "- a\n- b", tool_calls: &[] });
    assert!(!verdict.passed);
}

fn retrieval(expected: &str, candidates: &[&str], max_words: Option<u64>) -> Evaluator {
    Evaluator::Retrieval {
        expected: Some(expected.into()),
        candidates: candidates.iter().map(|value| value.to_string()).collect(),
        max_words,
    }
}

#[test]
fn retrieved_values_alone() {
    let truth = retrieval("Sue", &["Bob", "Sue", "Sara"], None);
    for text in ["Sue", " Sue\r\n", "\u{a0}Sue", "\u{feff}Sue", "\u{200f}Sue\u{200f}"] {
        check(&truth, text, &[], "the value asked for");
    }
    for text in ["Sue.", "**Sue**", "It is Sue", "Sue Sue"] {
        check(&truth, text, &[], "the value with other text around it");
    }
    for text in ["sue", "Suzy", "Sue-Ann", "Su", "S ue", "Ｓｕｅ", "Sue\0", "42", "..."] {
        check(&truth, text, &[], "none of the protocol's values");
    }
    check(&truth, "Sara", &[], "another of the protocol's values");
    check(&truth, "Sue\u{a0}Bob", &[], "more than one of the protocol's values");
    check(&truth, "<think>Bob?</think>Sue", &[], "reasoning left in the answer");
    check(&truth, "<think>Sue", &[], "reasoning left in the answer");
    check(&truth, "\u{feff}\u{200b}", &[], "no answer text");
    check(&truth, "", &[], "no answer text");
    check(&truth, "Sue", &[("f", "{}")], "a tool call instead of text");
    let kept = Evaluator::Retrieval { expected: None, candidates: vec![], max_words: None };
    check(&kept, "Sue", &[], NO_TRUTH);
}

#[test]
fn retrieved_values_among_words() {
    let truth = retrieval("Sue", &["Sue", "Bob", "Mary Ann"], Some(3));
    for text in ["Sue.", "It was **Sue**!", "Sue, I say. Sue.", "S\u{200b}ue", "(Sue) – … Bobby"]
    {
        check(&truth, text, &[], "the value asked for");
    }
    for text in [
        "Sue and Bob",
        "Sue BOB",
        "Sue (Bob/Mary)",
        "Sue b\u{200b}ob",
        "Sue, mary-ann",
        "Sue <Bob>",
    ] {
        check(&truth, text, &[], "more than one of the protocol's values");
    }
    for text in ["bob", "Bob's", "It is Sue/Bob", "Mary\r\nAnn"] {
        check(&truth, text, &[], "another of the protocol's values");
    }
    for text in ["sue", "Sue's", "Sue-Ann", "Sue/Mary", "Suebob", "Mary"] {
        check(&truth, text, &[], "none of the protocol's values");
    }
    for text in ["I do think it is Sue", "Sue a b\u{a0}c\nd"] {
        check(&truth, text, &[], "too many words beside the value");
    }
    let number = retrieval("42", &["42", "17"], Some(5));
    for text in ["42", "42.", "It is 42, yes.", "(42)", "\u{202e}42"] {
        check(&number, text, &[], "the value asked for");
    }
    for text in ["-42", ".42", "42.5", "4 2", "042", "４２", "42%", "1,42", "42e1"] {
        check(&number, text, &[], "none of the protocol's values");
    }
    check(&number, "42, not 17.5", &[], "more than one of the protocol's values");
    let nested = retrieval("New York City", &["New York", "New York City", "York"], Some(2));
    check(&nested, "New  York\nCity!", &[], "the value asked for");
    check(&nested, "New York City, New York City", &[], "the value asked for");
    check(&nested, "New York City, York", &[], "more than one of the protocol's values");
    check(&nested, "New York", &[], "another of the protocol's values");
}
