//! `strata-bench`: the only file of the harness that reads the environment, prints or exits.

#![allow(clippy::print_stdout, clippy::print_stderr)] // it is this file's task

mod cli;

use argh::FromArgs;
use cli::{CheckCommand, Cli, Command, FailOn, Output, PlanCommand, RebuildCommand, RunCommand};
use serde_json::json;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use strata_harness::bundle::Bundle;
use strata_harness::check::Severity;
use strata_harness::client::clock::SystemClock;
use strata_harness::config::Stop;
use strata_harness::engine_process::{SUPERVISE, supervise};
use strata_harness::rebuild::rebuild;
use strata_harness::redact::Redactor;
use strata_harness::report::RunStatus;
use strata_harness::review::review;
use strata_harness::run::{Outcome, RunError, Surroundings, run};

/// What a shell is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    Well = 0,
    Internal = 1,
    Usage = 2,
    Nonconforming = 3,
    Rejected = 4,
    Unreachable = 6,
    Interrupted = 130,
}

/// An exit code and what to print before it.
type Failure = (Exit, String);

fn main() -> ExitCode {
    let arguments: Result<Vec<String>, _> =
        std::env::args_os().skip(1).map(|argument| argument.into_string()).collect();
    let exit = match arguments {
        Ok(arguments) => dispatch(&arguments),
        Err(argument) => Err((Exit::Usage, format!("argument {argument:?} is not UTF-8"))),
    };
    let exit = exit.unwrap_or_else(|(exit, message)| {
        eprintln!("strata-bench: {message}");
        exit
    });
    ExitCode::from(exit as u8)
}

fn dispatch(arguments: &[String]) -> Result<Exit, Failure> {
    if let Some((SUPERVISE, engine)) = arguments.split_first().map(|(a, b)| (a.as_str(), b)) {
        return Err((Exit::Internal, supervise(engine)));
    }
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match Cli::from_args(&["strata-bench"], &words) {
        Ok(Cli { command: Command::Plan(command) }) => print_plan(&command),
        Ok(Cli { command: Command::Run(command) }) => run_command(&command, arguments),
        Ok(Cli { command: Command::Check(command) }) => check_command(&command),
        Ok(Cli { command: Command::Rebuild(command) }) => rebuild_command(&command),
        Err(early) if early.status.is_ok() => {
            println!("{}", early.output.trim_end());
            Ok(Exit::Well)
        }
        Err(early) => Err((Exit::Usage, early.output.trim_end().to_string())),
    }
}

fn print_plan(command: &PlanCommand) -> Result<Exit, Failure> {
    let suite = command.suite().map_err(|message| (Exit::Usage, message))?;
    match command.output {
        Output::Json => println!("{:#}", suite.plan_json()),
        Output::Text => print!("{}", suite.plan_text()),
    }
    Ok(Exit::Well)
}

fn check_command(command: &CheckCommand) -> Result<Exit, Failure> {
    let usage = |message: String| (Exit::Usage, message);
    let protocols = command.protocols().map_err(usage)?;
    let outcome = review(&command.path, &protocols).map_err(usage)?;
    match command.output {
        Output::Text => print!("{}", outcome.text()),
        Output::Json => println!("{:#}", outcome.json()),
    }
    let least = match command.fail_on {
        FailOn::Error => Severity::Error,
        FailOn::Warning => Severity::Warning,
    };
    Ok(if outcome.fails_on(least) { Exit::Rejected } else { Exit::Well })
}

fn rebuild_command(command: &RebuildCommand) -> Result<Exit, Failure> {
    let json = rebuild(&command.folder).map_err(|error| (Exit::Usage, error.to_string()))?;
    let bundle = Bundle::open(&command.folder);
    let changed = bundle.replace_results(&json).map_err(|message| (Exit::Internal, message))?;
    println!("results.json {}", if changed { "written anew" } else { "unchanged" });
    Ok(Exit::Well)
}

fn run_command(command: &RunCommand, arguments: &[String]) -> Result<Exit, Failure> {
    let usage = |message: String| (Exit::Usage, message);
    let credential = command.credential_env.as_deref().map(credential).transpose();
    let credential = credential.map_err(usage)?;
    let (home, temporary) = (variable("HOME"), std::env::temp_dir());
    let secrets = credential.iter().cloned().collect();
    let temporary = temporary.to_string_lossy();
    let redactor = Redactor::new(secrets, home.as_deref(), &["/tmp", "/var/tmp", &temporary]);
    let argv: Vec<String> =
        std::iter::once("strata-bench".to_string()).chain(arguments.iter().cloned()).collect();
    let order = command.order(&argv, credential, &redactor).map_err(usage)?;
    let internal = |error: std::io::Error| (Exit::Internal, error.to_string());
    let cancel = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&cancel)).map_err(internal)?;
    }
    let around = Surroundings {
        clock: SystemClock::start(),
        cancel,
        program: std::env::current_exe().map_err(internal)?,
        root: PathBuf::from("/"),
        redactor,
        run_suffix: format!("{:08x}", RandomState::new().build_hasher().finish() as u32),
        runner: strata_harness::version::runner(),
    };
    let outcome = run(&order, &around, &mut |line| eprintln!("{line}"));
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
    print_outcome(&outcome, exit, command.output);
    Ok(exit)
}

fn exit_of(outcome: &Outcome) -> Exit {
    match (&outcome.stop, outcome.breach, outcome.status) {
        (Some(Stop::Interrupted), ..) => Exit::Interrupted,
        (Some(Stop::ServerLost(_)), ..) | (None, true, _) => Exit::Unreachable,
        (None, false, RunStatus::Nonconforming) => Exit::Nonconforming,
        (None, false, RunStatus::Complete) => Exit::Well,
    }
}

fn print_outcome(outcome: &Outcome, exit: Exit, output: Output) {
    let results = outcome.results.display();
    match output {
        Output::Json => println!(
            "{}",
            json!({
                "results": results.to_string(),
                "status": outcome.status,
                "status_reasons": outcome.status_reasons,
                "exit_code": exit as u8,
            })
        ),
        Output::Text => {
            let status = match outcome.status {
                RunStatus::Complete => "complete",
                RunStatus::Nonconforming => "nonconforming",
            };
            println!("{status}: {results}");
            for reason in &outcome.status_reasons {
                println!("  {reason}");
            }
        }
    }
}

fn credential(name: &str) -> Result<String, String> {
    variable(name).filter(|key| !key.is_empty()).ok_or_else(|| {
        format!("--credential-env {name}: no such environment variable; set it to the server's key")
    })
}

#[allow(clippy::disallowed_methods)] // this is the one place
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
