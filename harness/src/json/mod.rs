//! The one reader of JSON that strangers wrote. It keeps key order, repeated keys and the text of
//! numbers, which is what a rule about printed digits needs, and is total: any bytes give a value
//! or an error with a place. It knows no report.

#[cfg(test)]
pub(crate) mod hostile;
mod number;
mod parse;
mod pointer;
mod print;

pub use number::Number;
pub use parse::{Error, Problem, parse};
pub use pointer::{Path, compare, escape};
pub use print::canonical;

use std::collections::HashMap;

/// Longest document that is read, in bytes.
pub const MAX_BYTES: usize = 32 << 20;
/// Deepest nesting of arrays and objects that is read.
pub const MAX_DEPTH: usize = 64;
/// Most values in one document, which bounds memory whatever the bytes say.
pub const MAX_NODES: usize = 1 << 20;

/// A JSON value as it was written.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // JSON's own names
pub enum Value {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Value>),
    /// Every pair in the order of the document, repeated keys included.
    Object(Vec<(String, Value)>),
}

impl Value {
    /// The value of `key` in an object. Of repeated keys the last counts, as in most readers.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries().iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The value at a JSON pointer (RFC 6901); `""` is this value.
    pub fn pointer(&self, pointer: &str) -> Option<&Value> {
        pointer::steps(pointer)?.try_fold(self, |value, step| match value {
            Value::Array(items) => items.get(pointer::index(&step)?),
            _ => value.get(&step),
        })
    }

    /// Puts `value` at a pointer: in place of what stands there, as a new key at the end of an
    /// object, or as a new item at the end of an array. `None` where nothing leads there.
    pub fn set(&mut self, pointer: &str, value: Value) -> Option<()> {
        let mut at = self;
        for step in pointer::steps(pointer)? {
            at = match at {
                Value::Array(items) => {
                    let index = pointer::index(&step)?;
                    if index == items.len() {
                        items.push(Value::Null);
                    }
                    items.get_mut(index)?
                }
                Value::Object(entries) => {
                    let known = entries.iter().rposition(|(key, _)| *key == step);
                    let index = known.unwrap_or(entries.len());
                    if known.is_none() {
                        entries.push((step.into_owned(), Value::Null));
                    }
                    &mut entries[index].1
                }
                _ => return None,
            };
        }
        *at = value;
        Some(())
    }

    /// The items of an array; none for any other value.
    pub fn items(&self) -> &[Value] {
        if let Value::Array(items) = self { items } else { &[] }
    }

    /// The pairs of an object; none for any other value.
    pub fn entries(&self) -> &[(String, Value)] {
        if let Value::Object(entries) = self { entries } else { &[] }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        if let Value::String(text) = self { Some(text) } else { None }
    }

    /// A number.
    pub fn as_number(&self) -> Option<&Number> {
        if let Value::Number(number) = self { Some(number) } else { None }
    }

    /// A truth value.
    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(flag) = self { Some(*flag) } else { None }
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        *self == Value::Null
    }

    /// Whether two values are equal: keys in any order, numbers by what they are worth. An object
    /// that repeats a key equals none that does not.
    pub fn equals(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Number(a), Value::Number(b)) => a.is_worth(b),
            (Value::Array(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals(b))
            }
            (Value::Object(a), Value::Object(b)) => {
                a.len() == b.len()
                    && a.iter().all(|(key, a)| other.get(key).is_some_and(|b| a.equals(b)))
                    && b.iter().all(|(key, _)| self.get(key).is_some())
            }
            _ => self == other,
        }
    }

    /// What JSON calls this kind of value.
    pub const fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        }
    }

    /// Calls `visit` with every value from this one down and the way to it, in the order of the
    /// document.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&Path, &'a Value)) {
        self.walk_from(&Path::ROOT, visit);
    }

    /// As [`Value::walk`], each value beside the one that stands at its place in `other`, if any.
    /// Takes no longer than the two together, whatever their keys.
    pub fn walk_beside<'a>(
        &'a self,
        other: Option<&'a Value>,
        visit: &mut impl FnMut(&Path, &'a Value, Option<&'a Value>),
    ) {
        self.walk_beside_from(other, &Path::ROOT, visit);
    }

    fn walk_beside_from<'a>(
        &'a self,
        other: Option<&'a Value>,
        here: &Path,
        visit: &mut impl FnMut(&Path, &'a Value, Option<&'a Value>),
    ) {
        visit(here, self, other);
        let items = other.map(Value::items).unwrap_or_default();
        for (index, item) in self.items().iter().enumerate() {
            let here = here.item(index);
            item.walk_beside_from(items.get(index), &here, visit);
        }
        if self.entries().is_empty() {
            return;
        }
        let entries = other.map(Value::entries).unwrap_or_default();
        let by_key: HashMap<&str, &Value> =
            entries.iter().map(|(key, value)| (key.as_str(), value)).collect();
        for (key, value) in self.entries() {
            let here = here.key(key);
            value.walk_beside_from(by_key.get(key.as_str()).copied(), &here, visit);
        }
    }

    fn walk_from<'a>(&'a self, here: &Path, visit: &mut impl FnMut(&Path, &'a Value)) {
        visit(here, self);
        for (index, item) in self.items().iter().enumerate() {
            item.walk_from(&here.item(index), visit);
        }
        for (key, value) in self.entries() {
            value.walk_from(&here.key(key), visit);
        }
    }
}

/// The form that keeps numbers as they are written; refuses what [`parse`] would.
impl TryFrom<&serde_json::Value> for Value {
    type Error = Error;

    fn try_from(value: &serde_json::Value) -> Result<Value, Error> {
        parse(value.to_string().as_bytes())
    }
}

#[cfg(test)]
mod tests;
