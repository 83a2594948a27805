//! Files and where they come from: artifacts, digests, the folder itself, and what a report must
//! not give away.

use super::report::{Report, printed, quoted};
use super::rule::{Log, breach};
use crate::digest::is_sha256;
use crate::json::{self, Value};
use crate::manifest::{self, NAME as MANIFEST};
use crate::redact::is_private;
use crate::report::RESULTS;
use std::collections::{BTreeMap, HashSet};

/// The artifacts of the format in order; others of kind `provenance` may follow.
const ARTIFACTS: [(&str, &str); 5] = [
    ("outputs", "outputs.jsonl"),
    ("config", "config.json"),
    ("provenance", "provenance/chat_template.jinja"),
    ("provenance", CORPUS_MANIFEST),
    ("provenance", "provenance/corpus-build.json"),
];
const CORPUS_MANIFEST: &str = "provenance/corpus-manifest.sha256";

struct Artifact<'a> {
    kind: &'a str,
    path: &'a str,
    sha256: &'a str,
}

fn artifacts<'a>(report: &Report<'a>) -> Vec<Artifact<'a>> {
    let items = report.list("/artifacts");
    let text = |item: &'a Value, key: &str| item.get(key).and_then(Value::as_str).unwrap_or("");
    let artifact = |item| Artifact {
        kind: text(item, "kind"),
        path: text(item, "path"),
        sha256: text(item, "sha256"),
    };
    items.iter().map(artifact).collect()
}

pub(super) fn artifacts_of_the_format(report: &Report, log: &mut Log) {
    let found = artifacts(report);
    for index in 0..found.len().max(ARTIFACTS.len()) {
        let words = |kind: &str, path: &str| format!("{kind} {path}");
        let artifact = found.get(index).map(|found| words(found.kind, found.path));
        let wanted = ARTIFACTS.get(index).map(|(kind, path)| words(kind, path));
        let more = wanted.is_none()
            && artifact.as_ref().is_some_and(|more| more.starts_with("provenance provenance/"));
        log.judge(more || artifact == wanted, || {
            let wanted = wanted.unwrap_or("only provenance under provenance/".to_string());
            let found = artifact.unwrap_or("nothing".to_string());
            breach(format!("/artifacts/{index}"), wanted, found)
        });
    }
}

/// The digest listed for an artifact, with its pointer.
fn digest_of<'a>(report: &Report<'a>, path: &str) -> Option<(String, &'a str)> {
    let found = artifacts(report);
    let index = found.iter().position(|artifact| artifact.path == path)?;
    Some((format!("/artifacts/{index}/sha256"), found[index].sha256))
}

pub(super) fn corpus_manifest_is_the_corpus(report: &Report, log: &mut Log) {
    judge_same_digest(report, log, CORPUS_MANIFEST, "/protocol/corpus_sha256");
}

pub(super) fn template_is_an_artifact(report: &Report, log: &mut Log) {
    let Some(path) = report.text("/configuration/template/path") else { return };
    let listed = digest_of(report, path);
    log.judge(listed.is_some(), || {
        breach("/configuration/template/path", "a path among /artifacts", quoted(path))
    });
    judge_same_digest(report, log, path, "/configuration/template/sha256");
}

fn judge_same_digest(report: &Report, log: &mut Log, path: &str, field: &str) {
    let (Some((at, found)), Some(wanted)) = (digest_of(report, path), report.text(field)) else {
        return;
    };
    log.judge(found == wanted, || {
        breach(at, format!("{} as in {field}", quoted(wanted)), quoted(found))
    });
}

pub(super) fn artifact_paths_and_digests(report: &Report, log: &mut Log) {
    for (index, artifact) in artifacts(report).iter().enumerate() {
        let path = artifact.path;
        let inside = !path.is_empty()
            && !path.contains('\\')
            && path.split('/').all(|part| !matches!(part, "" | "." | ".."));
        log.judge(inside, || {
            let at = format!("/artifacts/{index}/path");
            breach(at, "a relative path without `..`", quoted(path))
        });
        log.judge(is_sha256(artifact.sha256), || {
            let at = format!("/artifacts/{index}/sha256");
            breach(at, "64 lower-case hexadecimal digits", quoted(artifact.sha256))
        });
    }
}

/// Files that no artifact lists: the report, and what is made from it later.
const UNLISTED: [&str; 4] = [RESULTS, MANIFEST, "check.json", "report.html"];

pub(super) fn folder_is_the_artifacts(report: &Report, log: &mut Log) {
    let Some(directory) = report.directory else { return };
    let listed = artifacts(report);
    for (index, artifact) in listed.iter().enumerate() {
        let wanted = quoted(artifact.sha256);
        let found = directory.files.get(artifact.path);
        log.judge(found.is_some_and(|found| found.as_deref() == Some(artifact.sha256)), || {
            let at = format!("/artifacts/{index}/sha256");
            breach(at, format!("{wanted} of {}", artifact.path), digest_words(found))
        });
    }
    let paths: HashSet<&str> =
        listed.iter().map(|artifact| artifact.path).chain(UNLISTED).collect();
    for path in directory.files.keys() {
        log.judge(paths.contains(path.as_str()), || {
            breach("/artifacts", "no file that is not listed", quoted(path))
        });
    }
}

fn digest_words(found: Option<&Option<String>>) -> String {
    match found {
        None => "no such file".to_string(),
        Some(None) => "a link or a special file".to_string(),
        Some(Some(digest)) => quoted(digest),
    }
}

pub(super) fn manifest_covers_the_folder(report: &Report, log: &mut Log) {
    let Some(directory) = report.directory else { return };
    log.judge(directory.manifest.is_some(), || {
        breach("", MANIFEST, digest_words(directory.files.get(MANIFEST)))
    });
    let Some(manifest) = &directory.manifest else { return };
    let mut named = BTreeMap::new();
    for (index, line) in manifest::lines(manifest).enumerate() {
        log.judge(line.is_some(), || {
            let place = format!("line {} of {MANIFEST}", index + 1);
            breach("", "a digest, two blanks and a path", place)
        });
        named.extend(line);
    }
    for (path, digest) in &named {
        let found = directory.files.get(*path);
        log.judge(found.is_some_and(|found| found.as_deref() == Some(*digest)), || {
            breach("", format!("{path} with digest {digest} of {MANIFEST}"), digest_words(found))
        });
    }
    let later = |path: &str| path == MANIFEST || matches!(path, "check.json" | "report.html");
    for path in directory.files.keys().filter(|path| !later(path)) {
        log.judge(named.contains_key(path.as_str()), || {
            breach("", format!("a line of {MANIFEST} for every file"), quoted(path))
        });
    }
}

/// Names the figures that differ, so that a digest is not all one learns.
pub(super) fn rebuild_makes_the_same(report: &Report, log: &mut Log) {
    let Some(rebuilt) = report.rebuilt else {
        return log.idle("the report was not rebuilt from its record");
    };
    let rebuilt = match rebuilt {
        Ok(rebuilt) => rebuilt,
        Err(why) => {
            return log.judge(false, || breach("", "a record that makes a report", quoted(why)));
        }
    };
    let bytes = report.bytes;
    let same = bytes == rebuilt;
    let mut differs = false;
    if let Ok(other) = json::parse(rebuilt)
        && !same
    {
        report.root.walk_beside(Some(&other), &mut |place, value, wanted| {
            if !value.items().is_empty() || !value.entries().is_empty() {
                return;
            }
            differs |= wanted != Some(value);
            log.judge(wanted == Some(value), || {
                let expected = format!("{} by the record", printed(wanted));
                breach(place.brief(), expected, printed(Some(value)))
            });
        });
    }
    log.judge(same || differs, || {
        let first = bytes.iter().zip(rebuilt).take_while(|(a, b)| a == b).count();
        breach("", "the bytes that the record makes", format!("others from byte {first} on"))
    });
}

pub(super) fn no_secret_and_no_home(report: &Report, log: &mut Log) {
    report.root.walk(&mut |place, value| {
        if let Some(text) = value.as_str() {
            log.judge(!is_private(text), || {
                breach(place.brief(), "no home folder and no key", quoted(text))
            });
        }
        for (key, _) in value.entries() {
            log.judge(!is_private(key), || {
                breach(place.key(key).brief(), "no home folder and no key", quoted(key))
            });
        }
    });
}
