//! An engine as a child process: started, waited for, and stopped whatever happens. Everything it
//! prints goes to one log.
//!
//! It must not outlive this program. Linux ends a child whose parent has died if the child asked
//! for that, so the engine is started by way of [`supervise`]: this program once more, which asks
//! and then becomes the engine.

use crate::client::base_url::BaseUrl;
use std::fmt;
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// First argument of this program when it is to become an engine; not for people.
pub const SUPERVISE: &str = "supervise-engine";
const POLL: Duration = Duration::from_millis(20);
/// Most lines of its log that an error quotes.
const LAST_LINES: usize = 8;
/// How long an engine may take to end by itself once asked.
const PATIENCE: Duration = Duration::from_secs(5);

/// What to start.
#[derive(Debug, Clone)]
pub struct Launch<'a> {
    /// This program, for [`supervise`].
    pub supervisor: &'a Path,
    /// The engine.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// What precedes the URL in the line it prints once it listens.
    pub ready_line: Option<&'a str>,
    /// The port it was given; used when there is no ready line.
    pub port: u16,
    /// Longest wait for the ready line.
    pub timeout: Duration,
    /// Where its output goes; must not exist.
    pub log: &'a Path,
}

/// A running engine; dropping it stops it.
#[derive(Debug)]
pub struct EngineProcess {
    child: Child,
}

/// Why an engine is not there.
#[derive(Debug)]
pub enum StartError {
    /// It could not be started, ended, or did not speak in time.
    Failed(String),
    /// The operator interrupted the wait.
    Interrupted,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            StartError::Failed(message) => f.write_str(message),
            StartError::Interrupted => f.write_str("interrupted while the engine started"),
        }
    }
}

impl std::error::Error for StartError {}

impl EngineProcess {
    /// Starts an engine and waits until it says where it listens. `interrupted` is asked often.
    pub fn start(
        launch: &Launch,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(EngineProcess, BaseUrl), StartError> {
        let mut engine = EngineProcess { child: spawn(launch).map_err(StartError::Failed)? };
        let Some(ready_line) = launch.ready_line else {
            let url = format!("http://127.0.0.1:{}", launch.port);
            return Ok((engine, BaseUrl::parse(&url).expect("a loopback URL")));
        };
        let deadline = Instant::now() + launch.timeout;
        loop {
            if let Some(url) = announced(&log_text(launch.log), ready_line) {
                let url = BaseUrl::parse(&url)
                    .map_err(|error| StartError::Failed(format!("ready line: {error}")))?;
                return Ok((engine, url));
            }
            engine.check_alive(launch.log).map_err(StartError::Failed)?;
            if interrupted() {
                return Err(StartError::Interrupted);
            }
            if Instant::now() > deadline {
                return Err(StartError::Failed(format!(
                    "the engine printed no line with `{ready_line}` within {:?} \
                     (ready_timeout_s of the profile); {}",
                    launch.timeout,
                    last_words(launch.log)
                )));
            }
            thread::sleep(POLL);
        }
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// `Err` with its last words once the engine has ended.
    pub fn check_alive(&mut self, log: &Path) -> Result<(), String> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(format!("the engine ended ({status}); {}", last_words(log))),
            Err(error) => Err(format!("the engine cannot be waited for: {error}")),
        }
    }
}

impl Drop for EngineProcess {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        // Errors here mean that it has ended already, which is what is wanted.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(POLL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port nobody listens on just now.
pub fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener.map(|address| address.port()).map_err(|error| format!("no free port: {error}"))
}

fn spawn(launch: &Launch) -> Result<Child, String> {
    let log = File::create_new(launch.log)
        .and_then(|log| log.try_clone().map(|copy| (log, copy)))
        .map_err(|error| format!("{}: cannot be written: {error}", launch.log.display()))?;
    let mut command = Command::new(launch.supervisor);
    command.arg(SUPERVISE).arg(std::process::id().to_string());
    command.arg(&launch.program).args(&launch.arguments);
    command.stdin(Stdio::null()).stdout(log.0).stderr(log.1);
    // A group of its own: a Ctrl-C at the terminal is this program's to act on.
    command.process_group(0);
    command.spawn().map_err(|error| format!("{}: {error}", launch.supervisor.display()))
}

/// Becomes the engine named by `arguments`: the parent's process id, a program, its arguments.
/// Returns only if that failed, with the reason.
pub fn supervise(arguments: &[String]) -> String {
    let [parent, program, arguments @ ..] = arguments else {
        return format!("{SUPERVISE} needs a process id and a program");
    };
    if let Err(error) = die_with_parent(parent) {
        return error;
    }
    let error = Command::new(program).args(arguments).exec();
    format!("cannot start `{program}`: {error}")
}

#[cfg(target_os = "linux")]
fn die_with_parent(parent: &str) -> Result<(), String> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("cannot tie the engine to its runner: {error}"))?;
    // The parent may have died before the signal was asked for.
    let now = getppid().map(|pid| pid.as_raw_nonzero().to_string());
    if now.as_deref() == Some(parent) { Ok(()) } else { Err("the runner has ended".to_string()) }
}

#[cfg(not(target_os = "linux"))]
fn die_with_parent(_parent: &str) -> Result<(), String> {
    Ok(()) // no such signal: there the engine outlives a killed runner
}

fn log_text(log: &Path) -> String {
    fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// The URL in the line that begins it with `ready_line`, once that line is whole.
fn announced(log: &str, ready_line: &str) -> Option<String> {
    let whole = log.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let rest = whole.into_iter().find_map(|line| line.split_once(ready_line))?.1;
    rest.split_whitespace().next().map(str::to_string)
}

/// The end of the log for an error message: the log itself goes with a run that did not begin.
fn last_words(log: &Path) -> String {
    let text = log_text(log);
    let lines = text.lines().rev().filter(|line| !line.trim().is_empty());
    let mut lines: Vec<String> = lines.take(LAST_LINES).map(printable).collect();
    lines.reverse();
    match &lines[..] {
        [] => "it printed nothing".to_string(),
        [line] => format!("its last line: {line}"),
        lines => format!("its last lines:\n  {}", lines.join("\n  ")),
    }
}

fn printable(line: &str) -> String {
    line.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(log: &str, expected: Option<&str>) {
        assert_eq!(announced(log, "listening on ").as_deref(), expected, "{log:?}");
    }

    #[test]
    fn ready_lines() {
        check("", None);
        check("loading\nlistening on http://127.0.0.1:4711\n", Some("http://127.0.0.1:4711"));
        check("listening on http://127.0.0.1:47", None);
        check("strata: listening on http://h:1 with 2 threads\nx", Some("http://h:1"));
        check("listening on \n", None);
    }
}
