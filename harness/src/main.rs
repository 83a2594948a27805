//! `strata-bench`: the only file of the harness that reads the environment, prints or exits.

mod cli;
mod exit;

use argh::FromArgs;
use cli::{Cli, Command, Output, PlanCommand, RebuildCommand, RunCommand};
use exit::{Exit, Failure};
use serde_json::json;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use strata_harness::client::clock::SystemClock;
use strata_harness::config::Stop;
use strata_harness::redact::Redactor;
use strata_harness::report::RunStatus;
use strata_harness::report::rebuild::rebuild;
use strata_harness::run::bundle::Bundle;
use strata_harness::run::engine_process::{SUPERVISE, supervise};
use strata_harness::run::{Outcome, RunError, Surroundings, run};
use strata_harness::shell;

fn main() -> ExitCode {
    let arguments: Result<Vec<String>, _> =
        std::env::args_os().skip(1).map(|argument| argument.into_string()).collect();
    let exit = match arguments {
        Ok(arguments) => dispatch(&arguments),
        Err(argument) => Err((Exit::Usage, format!("argument {argument:?} is not UTF-8"))),
    };
    let exit = exit.unwrap_or_else(|(exit, message)| {
        tell(&format!("strata-bench: {message}"));
        exit
    });
    ExitCode::from(exit as u8)
}

/// Writes to standard output. A reader that has seen enough is not an error: what the exit code
/// says holds without it.
fn write(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err((Exit::Internal, format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a line to standard error, where nothing can be said of a failure.
fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

fn dispatch(arguments: &[String]) -> Result<Exit, Failure> {
    if let Some((SUPERVISE, engine)) = arguments.split_first().map(|(a, b)| (a.as_str(), b)) {
        return Err((Exit::Internal, supervise(engine)));
    }
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match Cli::from_args(&["strata-bench"], &words) {
        Ok(Cli { command: Command::Plan(command) }) => print_plan(&command),
        Ok(Cli { command: Command::Run(command) }) => run_command(&command, arguments),
        Ok(Cli { command: Command::Check(command) }) => print(command.answer()),
        Ok(Cli { command: Command::Rebuild(command) }) => rebuild_command(&command),
        Ok(Cli { command: Command::SelfTest(command) }) => print(command.answer()),
        Ok(Cli { command: Command::Explain(command) }) => print(command.answer()),
        Ok(Cli { command: Command::Show(command) }) => print(command.answer()),
        Ok(Cli { command: Command::Compare(command) }) => print(command.answer()),
        Ok(Cli { command: Command::Html(command) }) => print(command.answer()),
        Ok(Cli { command: Command::Publish(command) }) => print(command.answer()),
        Ok(Cli { command: Command::Fmt(command) }) => print(command.answer()),
        Ok(Cli { command: Command::Schema(command) }) => print(command.answer()),
        Err(early) if early.status.is_ok() => {
            write(&format!("{}\n", early.output.trim_end()))?;
            Ok(Exit::Well)
        }
        Err(early) => Err((Exit::Usage, early.output.trim_end().to_string())),
    }
}

/// What a command made: its exit code and the whole of standard output.
fn print(made: Result<(Exit, String), Failure>) -> Result<Exit, Failure> {
    let (exit, text) = made?;
    write(&text)?;
    Ok(exit)
}

fn print_plan(command: &PlanCommand) -> Result<Exit, Failure> {
    let suite = command.suite().map_err(|message| (Exit::Usage, message))?;
    write(&match command.output {
        Output::Json => format!("{:#}\n", suite.plan_json()),
        Output::Text => suite.plan_text(),
    })?;
    Ok(Exit::Well)
}

fn rebuild_command(command: &RebuildCommand) -> Result<Exit, Failure> {
    let json = rebuild(&command.folder).map_err(|error| (Exit::Usage, error.to_string()))?;
    let mut bundle = Bundle::open(&command.folder);
    let changed = bundle.replace_results(&json).map_err(|message| (Exit::Internal, message))?;
    write(&format!("results.json {}\n", if changed { "written anew" } else { "unchanged" }))?;
    Ok(Exit::Well)
}

fn run_command(command: &RunCommand, arguments: &[String]) -> Result<Exit, Failure> {
    let usage = |message: String| (Exit::Usage, message);
    let credential = command.credential_env.as_deref().map(credential).transpose();
    let credential = credential.map_err(usage)?;
    let home = variable("HOME").and_then(|home| home.into_string().ok());
    let temporary = std::env::temp_dir();
    let secrets = credential.iter().cloned().collect();
    let temporary = temporary.to_string_lossy();
    let redactor = Redactor::new(secrets, home.as_deref(), &["/tmp", "/var/tmp", &temporary]);
    let argv: Vec<String> =
        std::iter::once("strata-bench".to_string()).chain(arguments.iter().cloned()).collect();
    let order = command.order(&argv, credential, &redactor).map_err(usage)?;
    let internal = |error: io::Error| (Exit::Internal, error.to_string());
    let cancel = catch_signals().map_err(internal)?;
    let around = Surroundings {
        clock: SystemClock::start(),
        cancel,
        program: std::env::current_exe().map_err(internal)?,
        root: PathBuf::from("/"),
        redactor,
        run_suffix: format!("{:08x}", RandomState::new().build_hasher().finish() as u32),
        runner: strata_harness::version::runner(),
    };
    let outcome = run(&order, &around, &mut tell);
    let outcome = outcome.map_err(|error| {
        let exit = match error {
            RunError::Usage(_) => Exit::Usage,
            RunError::Unreachable(_) => Exit::Unreachable,
            RunError::Interrupted => Exit::Interrupted,
            RunError::Internal(_) => Exit::Internal,
        };
        (exit, error.to_string())
    })?;
    let exit = exit_of(&outcome);
    write(&outcome_text(&outcome, exit, command.output))?;
    Ok(exit)
}

/// The flag that the first SIGINT or SIGTERM sets; the second ends the process at once.
fn catch_signals() -> io::Result<Arc<AtomicBool>> {
    let cancel = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal must not find its own mark.
        flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&cancel))?;
        flag::register(signal, Arc::clone(&cancel))?;
    }
    Ok(cancel)
}

fn exit_of(outcome: &Outcome) -> Exit {
    match (&outcome.stop, outcome.breach, outcome.status) {
        (Some(Stop::Interrupted), ..) => Exit::Interrupted,
        (Some(Stop::ServerLost(_)), ..) | (None, true, _) => Exit::Unreachable,
        (None, false, RunStatus::Nonconforming) => Exit::Nonconforming,
        (None, false, RunStatus::Complete) => Exit::Well,
    }
}

fn outcome_text(outcome: &Outcome, exit: Exit, output: Output) -> String {
    let results = outcome.results.display();
    match output {
        Output::Json => {
            let outcome = json!({
                "results": results.to_string(),
                "status": outcome.status,
                "status_reasons": outcome.status_reasons,
                "exit_code": exit as u8,
            });
            format!("{outcome}\n")
        }
        Output::Text => {
            let status = match outcome.status {
                RunStatus::Complete => "complete",
                RunStatus::Nonconforming => "nonconforming",
            };
            let mut text = format!("{status}: {results}\n");
            for reason in &outcome.status_reasons {
                text += &format!("  {reason}\n");
            }
            let folder = outcome.results.parent().unwrap_or(Path::new("."));
            let review = ["strata-bench", "check", &folder.display().to_string()];
            text + &format!("review it: {}\n", shell::join(&review.map(str::to_string)))
        }
    }
}

fn credential(name: &str) -> Result<String, String> {
    let key = variable(name)
        .filter(|key| !key.is_empty())
        .ok_or("no such environment variable; set it to the server's key".to_string());
    let key = key.and_then(|key| {
        key.into_string().map_err(|_| "not UTF-8; set it to the server's key".to_string())
    });
    let key = key.and_then(|key| match key.chars().position(char::is_control) {
        None => Ok(key),
        Some(at) => Err(format!(
            "character {} is a line break or another control character, which no HTTP header \
             carries; set it to the server's key alone",
            at + 1
        )),
    });
    key.map_err(|problem| format!("--credential-env {name}: {problem}"))
}

#[allow(clippy::disallowed_methods)] // this is the one place
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}
