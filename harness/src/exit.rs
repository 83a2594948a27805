//! How the program ends: what a shell is told, and what is said on the way out.

/// What a shell is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Well = 0,
    Internal = 1,
    Usage = 2,
    Nonconforming = 3,
    Rejected = 4,
    Refused = 5,
    Unreachable = 6,
    Interrupted = 130,
}

/// An exit code and what to print before it.
pub(crate) type Failure = (Exit, String);
