//! `strata inspect`: what is in a GGUF file and whether it runs here. It loads nothing, so it
//! also shows files this build cannot run.

use super::args::Inspect;
use super::Failure;

pub(super) fn run(_args: Inspect) -> Result<(), Failure> {
    Err(Failure::Internal(String::new()))
}
