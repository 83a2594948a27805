//! What the recorded command says against what the report says: declarations, the way the server
//! was reached, and reasons.

use super::format::ENGINE_OPTIONS;
use super::report::{Report, printed, quoted};
use super::rule::{Log, breach};
use crate::json::{Number, Value};

/// Options that declare a field.
const DECLARED: [(&str, &str); 4] = [
    ("--track", "/configuration/track"),
    ("--track-notes", "/configuration/track_notes"),
    ("--quantization", "/model/quantization"),
    ("--custom-pack", "/model/custom_pack"),
];

pub(super) fn command_states_declarations(report: &Report, log: &mut Log) {
    judge_declarations(report, log, &DECLARED[..3]);
}

pub(super) fn command_states_custom_pack(report: &Report, log: &mut Log) {
    judge_declarations(report, log, &DECLARED[3..]);
}

fn judge_declarations(report: &Report, log: &mut Log, declared: &[(&str, &str)]) {
    for (option, field) in declared {
        let Some(value) = report.text(field) else { continue };
        if *option == "--quantization" && !report.command.has(option) {
            continue; // the server stated it itself
        }
        log.judge(report.command.says(option, value), || {
            let expected = format!("{option} {value}");
            breach(report.place("/run/command"), quoted(&expected), quoted(report.command.line))
        });
    }
}

pub(super) fn command_begins_with_program(report: &Report, log: &mut Log) {
    let line = report.command.line;
    let blank = line.trim().len() < line.len() || line.is_empty();
    log.judge(!blank, || {
        let expected = "the program's name first and no blank at either end";
        breach(report.place("/run/command"), expected, quoted(line))
    });
    let named = (report.text("/extensions/argv/0"), report.text("/extensions/runner"));
    let (Some(program), Some(runner)) = named else { return };
    log.judge(program.rsplit('/').next() == Some(runner), || {
        let at = "/extensions/runner";
        breach(at, format!("the program of the command, {}", quoted(program)), quoted(runner))
    });
}

pub(super) fn command_splits_back(report: &Report, log: &mut Log) {
    let at = report.place("/run/command");
    log.judge(report.command.arguments.is_some(), || {
        breach(at.clone(), "quotes that end", quoted(report.command.line))
    });
    let Some(arguments) = &report.command.arguments else { return };
    if let Some(argv) = report.at("/extensions/argv") {
        let same =
            argv.items().iter().map(Value::as_str).eq(arguments.iter().map(|a| Some(a.as_str())));
        log.judge(same, || {
            let expected = format!("the words of /extensions/argv, {}", printed(Some(argv)));
            breach(at.clone(), expected, quoted(report.command.line))
        });
    }
    for (option, field) in DECLARED {
        let Some(recorded) = report.text(field) else { continue };
        if !report.command.has(option) {
            continue;
        }
        let split = report.command.value(option).unwrap_or("");
        log.judge(split == recorded, || {
            let expected = format!("{option} quoted so that it splits into {}", quoted(recorded));
            breach(at.clone(), expected, quoted(split))
        });
    }
}

/// Engine options that set a figure which the report states too.
const SETTING: [(&str, &str); 2] = [
    ("--ctx", "/configuration/context_tokens"),
    ("--threads", "/extensions/engine_device/threads"),
];

pub(super) fn options_are_what_they_set(report: &Report, log: &mut Log) {
    let groups = ENGINE_OPTIONS.split(' ').map(|group| format!("/configuration/{group}"));
    let groups: Vec<String> =
        groups.chain(["/extensions/other_engine_options".to_string()]).collect();
    for (option, figure) in SETTING {
        let Some(stated) = report.at(figure).and_then(Value::as_number) else { continue };
        for group in &groups {
            let Some(set) = report.at(group).and_then(|group| group.get(option)) else { continue };
            // `auto` and its like leave the figure to the engine.
            let Some(number) = set.as_str().and_then(Number::new) else { continue };
            log.judge(number.is_worth(stated), || {
                breach(
                    figure,
                    format!("{} as {option} of {group} sets", number.text()),
                    stated.text(),
                )
            });
        }
    }
}

pub(super) fn engine_options_known_if_started(report: &Report, log: &mut Log) {
    if report.command.has("--config") {
        return log.idle("--config states the options of a server that was not started");
    }
    let attached = report.command.has("--url");
    let unknown = report.is_null("/configuration/kv_cache");
    log.judge(attached == unknown, || {
        let (expected, found) = if attached {
            ("null: the command attaches with --url", "options")
        } else {
            ("options: the command starts the engine", "null")
        };
        breach("/configuration/kv_cache", expected, found)
    });
}

/// `{}` says that there are no others; of a server whose options are not known nobody can say so.
pub(super) fn other_options_known_if_any_are(report: &Report, log: &mut Log) {
    let at = "/extensions/other_engine_options";
    let Some(others) = report.at(at) else { return };
    let unknown = report.is_null("/configuration/kv_cache");
    log.judge(!unknown || others.is_null(), || {
        breach(at, "null: the options of this server are not known", printed(Some(others)))
    });
}

pub(super) fn started_engine_if_no_url(report: &Report, log: &mut Log) {
    judge_flag(report, log, "/extensions/started_engine", !report.command.has("--url"));
}

pub(super) fn api_key_sent_if_named(report: &Report, log: &mut Log) {
    let named = report.command.has("--credential-env");
    judge_flag(report, log, "/extensions/api_key_sent", named);
}

fn judge_flag(report: &Report, log: &mut Log, at: &str, expected: bool) {
    if let Some(found) = report.flag(at) {
        log.judge(found == expected, || breach(at, format!("{expected} by the command"), found));
    }
}

pub(super) fn reason_agrees_with_command(report: &Report, log: &mut Log) {
    if !report.command.has("--skip-model-hash") {
        return log.idle("the command does not say --skip-model-hash");
    }
    let Some(reason) = report.reason("/model/files") else { return };
    log.judge(reason.contains("skip"), || {
        breach("/missing/~1model~1files", "that --skip-model-hash skipped it", quoted(reason))
    });
}
