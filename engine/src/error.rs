//! The one error type of the library. Callers report most of it and branch on the few cases that
//! have a name of their own. It must not know where it will be shown.

use std::fmt;
use std::path::Path;

/// Why a call failed. The message names the place, both values and the remedy.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A model file that cannot be opened, is damaged, or is of a kind this build does not run.
    Model(String),
    /// An argument that cannot be used: a token outside the vocabulary, an option out of range,
    /// a chat template that refused the conversation.
    Input(String),
    /// The tokens do not fit the session's context.
    ContextFull {
        /// Positions the call would need.
        needed: usize,
        /// Positions the session has.
        capacity: usize,
    },
    /// The caller's [`crate::Cancel`] was set. The session stays usable.
    Cancelled,
    /// The model computed a logit that is not a number: a damaged weight, most likely.
    NotFinite {
        /// Position of the token whose logits they are.
        position: usize,
    },
}

impl Error {
    /// The same error; what is wrong with a model is said to be so of the one at `path`.
    pub(crate) fn in_file(self, path: &Path) -> Error {
        match self {
            Error::Model(message) => Error::Model(format!("{}: {message}", path.display())),
            other => other,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Model(message) | Error::Input(message) => f.write_str(message),
            Error::ContextFull { needed, capacity } => write!(
                f,
                "{needed} tokens do not fit the context of {capacity}: shorten the prompt or \
                 raise --ctx"
            ),
            Error::Cancelled => f.write_str("cancelled"),
            Error::NotFinite { position } => write!(
                f,
                "the logits after position {position} are not finite: a weight of the model is \
                 damaged"
            ),
        }
    }
}

impl std::error::Error for Error {}
