//! The reader against serde_json, against its limits, and against any bytes at all.

use super::*;
use proptest::prelude::*;

fn check(text: &str, error: &str) {
    assert_eq!(parse(text.as_bytes()).unwrap_err().to_string(), error, "{text}");
}

#[test]
fn what_is_wrong_and_where() {
    check("", "byte 0: the document ends, a JSON value expected");
    check("[1,", "byte 3: the document ends, a JSON value expected");
    check("[1 2]", "byte 3: `,` or `]` expected");
    check("[1,]", "byte 3: a JSON value expected");
    check("{\"a\" 1}", "byte 5: `:` expected");
    check("{a:1}", "byte 1: a key expected");
    check("{\"a\":1,}", "byte 7: a key expected");
    check("\"a", "byte 2: the document ends, `\"` expected");
    check("\"\u{1}\"", "byte 1: a control character in a string must be escaped");
    check("\"\\x\"", "byte 1: not an escape of JSON, or half a surrogate pair");
    check("\"\\ud800\"", "byte 1: not an escape of JSON, or half a surrogate pair");
    check("\"\\ud800\\u0041\"", "byte 1: not an escape of JSON, or half a surrogate pair");
    check("\"\\u+041\"", "byte 1: not an escape of JSON, or half a surrogate pair");
    check("tru", "byte 0: a JSON value expected");
    check("1.5 x", "byte 4: the end of the document expected");
    check("\u{feff}{}", "byte 0: a JSON value expected");
    assert_eq!(parse(b"[\"\xff\"]").unwrap_err().to_string(), "byte 2: not UTF-8");
}

#[test]
fn order_repeated_keys_and_number_text_are_kept() {
    let text = r#"{"b":1.0,"a":[1e2,-0],"b":0.10,"é\n":"\"\\","":true}"#;
    let value = parse(text.as_bytes()).unwrap();
    assert_eq!(value.to_string(), text);
    assert_eq!(value.get("b").unwrap().to_string(), "0.10");
    let mut pointers = Vec::new();
    value.walk(&mut |pointer, _| pointers.push(pointer.to_string()));
    assert_eq!(pointers, ["", "/b", "/a", "/a/0", "/a/1", "/b", "/é\n", "/"]);
}

#[test]
fn limits() {
    let nested = |levels| ["[".repeat(levels), "]".repeat(levels)].concat();
    assert!(parse(nested(MAX_DEPTH).as_bytes()).is_ok());
    check(&nested(MAX_DEPTH + 1), "byte 64: nested deeper than 64 levels");
    let list = |items: usize| format!("[0{}]", ",0".repeat(items - 1));
    assert!(parse(list(MAX_NODES - 1).as_bytes()).is_ok());
    check(&list(MAX_NODES), "byte 2097151: more than 1048576 values");
    let blanks = |bytes: usize| format!("1{}", " ".repeat(bytes - 1));
    assert!(parse(blanks(MAX_BYTES).as_bytes()).is_ok());
    let long = "byte 33554432: 33554433 bytes in all, at most 33554432 are read";
    check(&blanks(MAX_BYTES + 1), long);
}

fn document() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<f64>().prop_map(serde_json::Value::from),
        ".{0,8}".prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(serde_json::Value::from),
            prop::collection::vec((".{0,4}", inner), 0..6)
                .prop_map(|entries| serde_json::Value::Object(entries.into_iter().collect())),
        ]
    })
}

#[test]
fn the_canonical_form_is_that_of_a_report() {
    let ours = hostile::golden("embedded.json");
    assert_eq!(canonical(&ours).unwrap().as_bytes(), ours);
    let check = |text: &str, wanted: &str| assert_eq!(canonical(text.as_bytes()).unwrap(), wanted);
    check("[ ]", "[]\n");
    check(
        "{\"b\":1.0,\"a\" : [-0,1E2 ,{}],\"b\":\"\\u0008\\/\\u00e9\\u001f\"}",
        "{\n  \"b\": 1.0,\n  \"a\": [\n    -0,\n    1E2,\n    {}\n  ],\n  \
         \"b\": \"\\b/é\\u001f\"\n}\n",
    );
    let list = format!("[0{}]", ",0".repeat(1 << 18));
    let deep = [&"[".repeat(MAX_DEPTH - 1), &list[..], &"]".repeat(MAX_DEPTH - 1)].concat();
    let problem = canonical(deep.as_bytes()).unwrap_err();
    assert!(problem.ends_with(" bytes in canonical form, at most 33554432 are read"), "{problem}");
}

/// Text that is nearly JSON, so that both ways of a decision are met.
fn scribble() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"a\"",
        "\"\\u00e9\"",
        "\"\\ud83d\\ude00\"",
        "\"\\ud83d\"",
        "1",
        "-0.5",
        "1e-3",
        "01",
        "true",
        "null",
        " ",
        "\n",
        "\"",
        "\\",
        "é",
        "tr",
    ]);
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// Our value as serde_json's, whose own reading of decimals is not the nearest double.
fn as_serde(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => match number.text().parse::<i64>() {
            Ok(whole) => whole.into(),
            Err(_) => number.as_f64().into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => items.iter().map(as_serde).collect(),
        Value::Object(entries) => serde_json::Value::Object(
            entries.iter().map(|(key, value)| (key.clone(), as_serde(value))).collect(),
        ),
    }
}

/// P15: what is printed of a report is its bytes without the blanks, `1.0` as `1.0`.
#[test]
fn a_report_is_printed_as_it_was_written() {
    for name in ["full.json", "wrapper.json", "embedded.json"] {
        let bytes = super::hostile::golden(name);
        let (mut inside, mut escaped) = (false, false);
        let kept = bytes.iter().copied().filter(|byte| {
            let blank = !inside && byte.is_ascii_whitespace();
            inside ^= *byte == b'"' && !escaped;
            escaped = *byte == b'\\' && !escaped;
            !blank
        });
        let kept: Vec<u8> = kept.collect();
        let printed = parse(&bytes).unwrap().to_string();
        assert!(printed.as_bytes() == kept, "{name}");
        assert!(printed.contains("1.0"), "{name}");
    }
}

proptest! {
    #[test]
    fn agrees_with_serde_json_on_documents(document in document(), pretty: bool) {
        let print = if pretty { serde_json::to_vec_pretty } else { serde_json::to_vec };
        let value = parse(&print(&document).unwrap()).unwrap();
        prop_assert_eq!(as_serde(&value), document);
        let mut found = true;
        value.walk(&mut |pointer, at| found &= value.pointer(&pointer.to_string()) == Some(at));
        prop_assert!(found, "a pointer leads elsewhere in {}", value);
    }

    #[test]
    fn accepts_what_serde_json_accepts(text in scribble()) {
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        prop_assert_eq!(parse(text.as_bytes()).is_ok(), theirs.is_ok(), "{:?} {:?}", text, theirs);
    }

    #[test]
    fn any_bytes_give_a_value_or_a_place(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Err(error) = parse(&bytes) {
            prop_assert!(error.offset <= bytes.len(), "{}", error);
        }
    }

    /// P15: nothing is lost by printing.
    #[test]
    fn print_then_parse_is_identity(text in scribble()) {
        if let Ok(value) = parse(text.as_bytes()) {
            prop_assert_eq!(parse(value.to_string().as_bytes()), Ok(value.clone()));
            let printed = value.canonical();
            prop_assert_eq!(parse(printed.as_bytes()), Ok(value));
            prop_assert_eq!(canonical(printed.as_bytes()), Ok(printed.clone()));
        }
    }

    /// What serde_json prints with an indent, and a line feed: the form our own reports have.
    #[test]
    fn the_canonical_form_is_serde_jsons(document in document()) {
        let printed = format!("{document:#}\n");
        prop_assert_eq!(canonical(document.to_string().as_bytes()), Ok(printed));
    }
}
