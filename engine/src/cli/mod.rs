//! The subcommands of `strata`, one file each, and what they share: how arguments are read, how
//! lines are printed and what an exit code means.

mod args;
mod engine;
mod generate;
mod inspect;
mod logits;
mod profile;
mod serve;
mod signals;
mod tokenize;

use args::{Command, Strata};
use std::io::{self, ErrorKind, Write};
use strata_engine::Error;

/// Runs the command line of this process.
pub(crate) fn run() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|argument| argument.into_string())
        .collect::<Result<_, _>>()
        .map_err(|argument| {
            Failure::Input(format!("{argument:?} is not UTF-8: give text or a path that is"))
        })?;
    if let Some(("bench", rest)) = arguments.split_first().map(|(first, rest)| (&**first, rest)) {
        return run_bench(rest);
    }
    let arguments = profile::expand(arguments)?;
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let Strata { version, command } = args::parse(&arguments)?;
    match command {
        _ if version => print(&strata_engine::server::Engine::current().to_string()),
        None => Err(Failure::Input("no command given: see strata --help".into())),
        Some(Command::Serve(args)) => serve::run(args),
        Some(Command::Generate(args)) => generate::run(args),
        Some(Command::Inspect(args)) => inspect::run(args),
        Some(Command::Tokenize(args)) => tokenize::run(args),
        Some(Command::Logits(args)) => logits::run(args),
    }
}

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Usage, or input that cannot be used.
    Input(String),
    /// A defect, ours or of the machine.
    Internal(String),
    /// A signal asked for it.
    Interrupted,
    /// Nothing is left to do: help was printed, or whoever read standard output has enough.
    Done,
}

impl Failure {
    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::Done => 0,
            Failure::Internal(_) => 1,
            Failure::Input(_) => 2,
            Failure::Interrupted => 130,
        }
    }

    pub(crate) fn message(&self) -> Option<&str> {
        match self {
            Failure::Input(message) | Failure::Internal(message) => Some(message),
            Failure::Interrupted | Failure::Done => None,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error {
            Error::Cancelled => Failure::Interrupted,
            Error::NotFinite { .. } => Failure::Internal(error.to_string()),
            _ => Failure::Input(error.to_string()),
        }
    }
}

/// Text that a file may have brought along, with everything escaped that a terminal would obey or
/// that would turn a line about.
fn shown_plainly(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(|c| {
        let plain = matches!(c, '"' | '\'' | '\\').then_some(c);
        plain.into_iter().chain(plain.is_none().then(|| c.escape_debug()).into_iter().flatten())
    })
}

/// One line on standard error. Nobody is left to be told when it is closed.
pub(crate) fn say(line: &str) {
    let line: String = shown_plainly(line).collect();
    let _ = writeln!(io::stderr(), "{line}");
}

/// One line on standard output, at once.
fn print(line: &str) -> Result<(), Failure> {
    write(&format!("{line}\n"))
}

/// Text on standard output, at once.
fn write(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|error| {
        match error.kind() {
            ErrorKind::BrokenPipe => Failure::Done,
            _ => Failure::Input(format!("cannot write to standard output: {error}")),
        }
    })
}

/// Becomes the `strata-bench` beside this program, which then sets the exit code.
fn run_bench(arguments: &[String]) -> Result<(), Failure> {
    use std::os::unix::process::CommandExt;
    let program = std::env::current_exe()
        .map_err(|error| Failure::Internal(format!("cannot find this program: {error}")))?
        .with_file_name("strata-bench");
    let error = std::process::Command::new(&program).args(arguments).exec();
    Err(Failure::Input(format!(
        "cannot run {}: {error}: build it with cargo build -p strata-harness",
        program.display()
    )))
}
