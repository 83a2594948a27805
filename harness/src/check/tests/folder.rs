//! A report beside its folder: every file listed, digested and rebuilt.

use super::{Bench, path, protocols};
use crate::check::{Directory, MAX_FILES, MAX_LEVELS, MAX_MANIFEST_BYTES};
use crate::check::{Outcome, Severity, Subject, check};
use crate::json::Value;
use crate::manifest::{self, NAME as MANIFEST};
use crate::scratch::Scratch;
use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// A folder of our own that goes when the test ends.
pub(super) struct Folder(Scratch);

impl Folder {
    fn new() -> Folder {
        let scratch = Scratch::new();
        fs::create_dir_all(scratch.path().join("provenance")).unwrap();
        Folder(scratch)
    }

    /// A report with artifacts that are really there, and a manifest of everything.
    pub(super) fn of(report: &Value) -> Folder {
        let folder = Folder::new();
        let mut root = report.clone();
        let artifacts = root.get("artifacts").unwrap().items().to_vec();
        for (index, artifact) in artifacts.iter().enumerate() {
            let path = artifact.get("path").unwrap().as_str().unwrap();
            folder.write(path, &format!("this is {path}\n"));
            let digest = Value::String(folder.digest(path));
            root.set(&format!("/artifacts/{index}/sha256"), digest).unwrap();
        }
        folder.write("results.json", &root.to_string());
        folder.seal();
        folder
    }

    fn good() -> Folder {
        Folder::of(&Bench::open("golden/reports/full.json").root)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(super) fn open(&self) -> Directory {
        Directory::open(self.0.path()).unwrap()
    }

    pub(super) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    pub(super) fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap();
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        fs::write(self.path(path), text).unwrap();
    }

    fn digest(&self, path: &str) -> String {
        self.open().files[path].clone().unwrap()
    }

    /// Writes the manifest.
    fn seal(&self) {
        let files = self.open().files;
        let files: BTreeMap<_, _> =
            files.into_iter().filter(|(path, _)| path != MANIFEST).collect();
        let line = |(path, digest): (&String, &Option<String>)| {
            manifest::line(path, digest.as_ref().unwrap())
        };
        self.write(MANIFEST, &files.iter().map(line).collect::<String>());
    }

    fn review(&self, rebuilt: Result<&[u8], &str>) -> Outcome {
        let report = self.read("results.json");
        let directory = self.open();
        check(&Subject {
            report: &report,
            directory: Some(&directory),
            rebuilt: Some(rebuilt),
            protocols: &protocols(),
        })
    }

    /// What the rules about the folder find.
    fn findings(&self) -> Vec<String> {
        let report = self.read("results.json");
        folder_findings(&self.review(Ok(&report)))
    }
}

fn folder_findings(outcome: &Outcome) -> Vec<String> {
    let ours = |rule: &str| matches!(rule, "R144" | "R420" | "R421");
    let findings = outcome.findings.iter().filter(|finding| ours(&finding.rule.id));
    let short = |text: &str| text.chars().take(60).collect::<String>();
    findings
        .map(|finding| {
            let (expected, found) = (short(&finding.expected), short(&finding.found));
            format!("{} {}: {expected} | {found}", finding.rule.id, finding.pointer)
        })
        .collect()
}

fn check_change(change: fn(&Folder), expected: &[&str]) {
    let folder = Folder::good();
    assert_eq!(folder.findings(), [""; 0]);
    change(&folder);
    let found = folder.findings();
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}");
    }
}

#[test]
fn a_changed_file_is_named() {
    check_change(
        |folder| folder.write("outputs.jsonl", "other"),
        &["R420 : outputs.jsonl with digest ", "R144 /artifacts/0/sha256: "],
    );
}

#[test]
fn a_file_that_is_gone_is_named() {
    check_change(
        |folder| fs::remove_file(folder.path("config.json")).unwrap(),
        &["R420 : config.json with digest ", "R144 /artifacts/1/sha256: "],
    );
}

#[test]
fn a_file_that_nothing_lists_is_named() {
    check_change(
        |folder| folder.write("provenance/notes.txt", "?"),
        &[
            "R420 : a line of MANIFEST.sha256 for every file | \"provenance/notes.txt\"",
            "R144 /artifacts: no file that is not listed | \"provenance/notes.txt\"",
        ],
    );
}

proptest! {
    #![proptest_config(crate::fixture::cases(24))]

    /// P17: any bit of any file but the manifest's is reported with the file's path, and one of the
    /// manifest with its line or the file of that line.
    #[test]
    fn a_changed_bit_is_found_by_its_path(file: Index, at: Index, bit in 0..8_u8) {
        let folder = Folder::good();
        let files = folder.open().files;
        let name = file.get(&files.into_keys().collect::<Vec<_>>()).clone();
        let mut bytes = folder.read(&name);
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        fs::write(folder.path(&name), bytes).unwrap();
        let findings = folder.findings();
        match name.as_str() {
            MANIFEST => prop_assert!(findings.iter().any(|found| found.starts_with("R420"))),
            // What is no document any more has one finding, that it is none.
            "results.json" => prop_assert!(folder.review(Err("")).fails_on(Severity::Error)),
            artifact => {
                let told = format!("R420 : {artifact} with digest ");
                prop_assert!(findings.iter().any(|found| found.starts_with(&told)), "{findings:?}");
                prop_assert!(findings.iter().any(|found| found.starts_with("R144 /artifacts/")));
            }
        }
    }
}

#[test]
fn a_manifest_that_is_no_text_is_named() {
    let folder = Folder::good();
    let mut bytes = folder.read(MANIFEST);
    bytes[70] |= 0x80;
    fs::write(folder.path(MANIFEST), bytes).unwrap();
    let findings = folder.findings();
    assert!(findings.iter().any(|found| found.starts_with("R420")), "{findings:?}");
}

#[test]
fn a_link_is_no_file() {
    check_change(
        |folder| {
            let outputs = folder.path("outputs.jsonl");
            fs::rename(&outputs, folder.path("check.json")).unwrap();
            std::os::unix::fs::symlink("check.json", outputs).unwrap();
        },
        &["R420 : outputs.jsonl with digest ", "R144 /artifacts/0/sha256: "],
    );
}

#[test]
fn a_folder_without_manifest_is_named() {
    check_change(
        |folder| fs::remove_file(folder.path(MANIFEST)).unwrap(),
        &["R420 : MANIFEST.sha256 | no such file"],
    );
    check_change(
        |folder| {
            fs::rename(folder.path(MANIFEST), folder.path("check.json")).unwrap();
            std::os::unix::fs::symlink("check.json", folder.path(MANIFEST)).unwrap();
        },
        &["R420 : MANIFEST.sha256 | a link or a special file"],
    );
    check_change(
        |folder| folder.write(MANIFEST, "not a digest\n"),
        &[
            &["R420 : a digest, two blanks and a path | line 1 of MANIFEST.sha256"][..],
            &["R420 : a line of MANIFEST.sha256 for every file"; 6],
        ]
        .concat(),
    );
}

#[test]
fn a_figure_that_the_record_does_not_make_is_named() {
    let folder = Folder::good();
    let report = folder.read("results.json");
    let text = String::from_utf8(report).unwrap();
    let other = text.replacen("4.046846", "4.046847", 1);
    assert_eq!(
        folder_findings(&folder.review(Ok(other.as_bytes()))),
        ["R421 /requests/4/timings/total_s: 4.046847 by the record | 4.046846"]
    );
    let spaced = text.replacen(':', ": ", 1);
    assert_eq!(
        folder_findings(&folder.review(Ok(spaced.as_bytes()))),
        ["R421 : the bytes that the record makes | others from byte 10 on"]
    );
    assert_eq!(
        folder_findings(&folder.review(Err("outputs.jsonl: line 3 is cut off"))),
        ["R421 : a record that makes a report | \"outputs.jsonl: line 3 is cut off\""]
    );
}

#[test]
fn a_folder_is_read_within_limits() {
    let folder = Folder::new();
    let deep = ["d"; MAX_LEVELS].join("/");
    fs::create_dir_all(folder.path(&deep)).unwrap();
    let error = Directory::open(folder.0.path()).unwrap_err().to_string();
    assert!(error.ends_with(&format!("{deep}: deeper than 8 folders")), "{error}");
    let folder = Folder::new();
    (0..=MAX_FILES).for_each(|index| folder.write(&format!("{index:04}"), ""));
    let error = Directory::open(folder.0.path()).unwrap_err().to_string();
    assert!(error.ends_with("more than 1000 files"), "{error}");
    let folder = Folder::new();
    folder.write(MANIFEST, &"x".repeat(MAX_MANIFEST_BYTES as usize + 1));
    let error = Directory::open(folder.0.path()).unwrap_err().to_string();
    assert!(error.ends_with("longer than the 1048576 bytes that are read"), "{error}");
    let error = Directory::open(&path("no/such/folder")).unwrap_err().to_string();
    assert!(error.contains("no/such/folder: "), "{error}");
}
