//! The `strata` command: argument parsing, the environment, printing and exit codes, nothing else.

fn main() {}
