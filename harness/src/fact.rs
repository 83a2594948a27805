//! Something known, or why it is not. The rule "unknown is null with a reason" as a type: what
//! reaches a report as null has brought its reason along.

use serde::{Deserialize, Serialize};

/// A value, or the reason there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fact<T> {
    /// The value.
    Known(T),
    /// A sentence for the report's `missing`; names the flag to pass if one would help.
    Unknown(String),
}

impl<T> Fact<T> {
    /// The value if there is one, else `reason`.
    pub fn of(value: Option<T>, reason: impl Into<String>) -> Fact<T> {
        value.map_or_else(|| Fact::Unknown(reason.into()), Fact::Known)
    }

    /// The value, if known.
    pub fn known(&self) -> Option<&T> {
        match self {
            Fact::Known(value) => Some(value),
            Fact::Unknown(_) => None,
        }
    }

    /// Carries the reason over to another type.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Fact<U> {
        match self {
            Fact::Known(value) => Fact::Known(f(value)),
            Fact::Unknown(reason) => Fact::Unknown(reason),
        }
    }

    /// This if known, else `other()`.
    pub fn or_else(self, other: impl FnOnce() -> Fact<T>) -> Fact<T> {
        match self {
            Fact::Known(_) => self,
            Fact::Unknown(_) => other(),
        }
    }
}
