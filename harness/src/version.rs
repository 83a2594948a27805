//! What this program was built from, as the build script found it.

use crate::config::Runner;
use crate::fact::Fact;

const NO_CHECKOUT: &str = "the runner was not built from a git checkout";

/// This program's version and commit.
pub fn runner() -> Runner {
    let (commit, dirty) = (env!("STRATA_BENCH_COMMIT"), env!("STRATA_BENCH_DIRTY"));
    Runner {
        version: env!("CARGO_PKG_VERSION").to_string(),
        commit: Fact::of((!commit.is_empty()).then(|| commit.to_string()), NO_CHECKOUT),
        dirty: Fact::of(dirty.parse().ok(), NO_CHECKOUT),
    }
}
