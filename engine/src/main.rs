//! The `strata` command: arguments in, exit code out. This binary is the only part of the engine
//! that reads the environment and prints.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(message) = failure.message() {
                cli::say(message);
            }
            ExitCode::from(failure.code())
        }
    }
}
