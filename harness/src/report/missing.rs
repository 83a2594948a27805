//! The `missing` section: every null of a report, in the order of the document, each with its
//! reason. A null without a reason is a mistake of ours and stops the writing.

use crate::fact::Fact;
use crate::json::escape;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Reasons collected while a report is put together, by JSON pointer (RFC 6901).
#[derive(Debug, Default)]
pub struct Reasons {
    by_pointer: BTreeMap<String, String>,
}

impl Reasons {
    /// The collector for the part of the document at `pointer`.
    pub fn at(&mut self, pointer: &str) -> Place<'_> {
        Place { pointer: pointer.to_string(), reasons: self }
    }

    /// Every null leaf of `document` with its reason.
    pub fn missing(&self, document: &Value) -> Result<Map<String, Value>, String> {
        let mut missing = Map::new();
        for pointer in null_leaves(document) {
            let Some(reason) = self.by_pointer.get(&pointer) else {
                return Err(format!("{pointer} is null and nothing says why"));
            };
            missing.insert(pointer, Value::from(reason.as_str()));
        }
        Ok(missing)
    }
}

/// A place in the document whose nulls are being explained.
#[derive(Debug)]
pub struct Place<'r> {
    pointer: String,
    reasons: &'r mut Reasons,
}

impl Place<'_> {
    /// The fact as a report holds it; the reason of an unknown one is kept for `key`.
    pub fn take<T>(&mut self, key: &str, fact: Fact<T>) -> Option<T> {
        match fact {
            Fact::Known(value) => Some(value),
            Fact::Unknown(reason) => {
                let pointer = format!("{}/{}", self.pointer, escape(key));
                self.reasons.by_pointer.insert(pointer, reason);
                None
            }
        }
    }

    /// The same for a value of any shape, whose own nulls are there because of `stated`.
    pub fn take_whole(&mut self, key: &str, fact: Fact<Value>, stated: &str) -> Option<Value> {
        let value = self.take(key, fact)?;
        for within in null_leaves(&value) {
            let pointer = format!("{}/{}{within}", self.pointer, escape(key));
            self.reasons.by_pointer.insert(pointer, stated.to_string());
        }
        Some(value)
    }

    /// `value`, or null because of `reason`.
    pub fn some<T>(&mut self, key: &str, value: Option<T>, reason: &str) -> Option<T> {
        self.take(key, Fact::of(value, reason))
    }

    /// A place below this one.
    pub fn below(&mut self, key: &str) -> Place<'_> {
        let pointer = format!("{}/{}", self.pointer, escape(key));
        Place { pointer, reasons: self.reasons }
    }
}

/// Pointers of all null leaves in document order.
fn null_leaves(document: &Value) -> Vec<String> {
    fn walk(value: &Value, pointer: &str, found: &mut Vec<String>) {
        match value {
            Value::Null => found.push(pointer.to_string()),
            Value::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    walk(item, &format!("{pointer}/{i}"), found);
                }
            }
            Value::Object(members) => {
                for (key, item) in members {
                    walk(item, &format!("{pointer}/{}", escape(key)), found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(document, "", &mut found); // our own report: as deep as its types are
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn nulls_are_listed_in_document_order_with_their_reasons() {
        let mut reasons = Reasons::default();
        let mut root = reasons.at("");
        assert_eq!(root.take("b", Fact::<u8>::Unknown("why b".to_string())), None);
        assert_eq!(root.below("list").below("1").some("x/y~", None::<u8>, "why x"), None);
        assert_eq!(root.take("known", Fact::Known(1)), Some(1));
        let document = json!({"list": [1, {"x/y~": null}], "empty": {}, "b": null});
        let missing = reasons.missing(&document).unwrap();
        let expected = json!({"/list/1/x~1y~0": "why x", "/b": "why b"});
        assert_eq!(serde_json::to_string(&missing).unwrap(), expected.to_string());
    }

    #[test]
    fn nulls_of_others_have_one_reason() {
        for value in [json!(null), json!({"a/b": null, "c": [1, null]})] {
            let mut reasons = Reasons::default();
            let mut at = reasons.at("/x");
            let kept = at.take_whole("y", Fact::Known(value.clone()), "why");
            assert_eq!(kept, Some(value.clone()));
            let missing = reasons.missing(&json!({"x": {"y": value}})).unwrap();
            assert!(missing.values().all(|reason| reason == "why"), "{missing:?}");
        }
    }

    /// Objects and lists of nulls and numbers, whose keys need escaping.
    fn document() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(Value::Null), Just(json!(1))];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let key = prop::sample::select(vec!["a", "a/b", "~", "~1", "--kv", "", "0"]);
            let members = prop::collection::vec((key, inner.clone()), 0..4);
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(Value::from),
                members.prop_map(|all| all.into_iter().map(|(k, v)| (k.to_string(), v)).collect()),
            ]
        })
    }

    fn nulls(value: &Value) -> usize {
        let items = value.as_array().into_iter().flatten();
        let members = value.as_object().into_iter().flat_map(|members| members.values());
        usize::from(value.is_null()) + items.chain(members).map(nulls).sum::<usize>()
    }

    proptest! {
        /// P14: as many reasons as nulls, and each leads to one, whatever the keys.
        #[test]
        fn every_null_has_one_reason_and_no_reason_is_left(value in document()) {
            let mut reasons = Reasons::default();
            reasons.at("").take_whole("x", Fact::Known(value.clone()), "why");
            let document = json!({"x": value});
            let missing = reasons.missing(&document).unwrap();
            prop_assert_eq!(missing.len(), nulls(&document));
            for pointer in missing.keys() {
                prop_assert_eq!(document.pointer(pointer), Some(&Value::Null), "{}", pointer);
            }
        }
    }

    #[test]
    fn a_null_without_a_reason_is_refused() {
        let error = Reasons::default().missing(&json!({"a": [null]})).unwrap_err();
        assert_eq!(error, "/a/0 is null and nothing says why");
    }
}
