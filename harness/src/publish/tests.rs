//! Publications of folders: what is archived, what is refused, and that nothing is left half done.

use super::*;
use crate::config::{Artifact, Config};
use crate::fact::Fact;
use crate::fixture::{Honest, config, outputs};
use crate::manifest;
use crate::plan::plan;
use crate::report::RESULTS;
use crate::report::assemble::TEMPLATE_PATH;
use crate::report::rebuild::rebuild_from;
use crate::run::bundle::Bundle;
use crate::scratch::Scratch;

/// A run whose provenance is really there.
fn sound_config(id: &str, started_at: &str) -> Config {
    let mut config = config();
    config.run.id = id.to_string();
    config.run.started_at = started_at.to_string();
    let files =
        [TEMPLATE_PATH, "provenance/corpus-manifest.sha256", "provenance/corpus-build.json"];
    config.provenance = files
        .map(|path| Artifact {
            kind: "provenance".to_string(),
            path: path.to_string(),
            sha256: sha256(path.as_bytes()),
        })
        .to_vec();
    let Fact::Known(lengths) = &mut config.lengths else { panic!() };
    lengths.template_sha256 = config.provenance[0].sha256.clone();
    config.protocol.corpus_sha256 = config.provenance[1].sha256.clone();
    config
}

/// Folders of two runs, one after the other.
struct Runs(Scratch);

const EARLIER: &str = "20270115T080000Z-0badcafe";
const LATER: &str = "20270115T090000Z-0badcafe";

impl Runs {
    fn new() -> Runs {
        let runs = Runs(Scratch::new());
        runs.fill("earlier", &sound_config(EARLIER, "2027-01-15T08:00:00Z"));
        runs.fill("later", &sound_config(LATER, "2027-01-15T09:00:00Z"));
        runs
    }

    fn fill(&self, name: &str, config: &Config) {
        let planned = plan(&config.protocol, false);
        let script = Honest { steps: vec![100, 101, 102], ..Honest::PLAIN }.script();
        let outputs = outputs(&planned, &vec![script; planned.len()], 1_000_000);
        let recorded = serde_json::to_vec(config).unwrap();
        let mut bundle = Bundle::create(&self.path(name)).unwrap();
        for artifact in &config.provenance {
            bundle.write(&artifact.path, artifact.path.as_bytes()).unwrap();
        }
        let report = rebuild_from(&outputs, &recorded).unwrap().json;
        bundle.write("outputs.jsonl", &outputs).unwrap();
        bundle.write("config.json", &recorded).unwrap();
        bundle.write(RESULTS, &report).unwrap();
        bundle.seal().unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    fn wanted(&self) -> Wanted {
        Wanted {
            selected: self.path("later"),
            excluded: vec![(self.path("earlier"), "the machine was busy".to_string())],
            corrections: None,
            operator: None,
        }
    }

    fn publish(&self, wanted: &Wanted) -> Result<Made, String> {
        publish(wanted, &[sound_config(LATER, "2027-01-15T09:00:00Z").protocol])
    }

    fn review(&self, name: &str) -> Outcome {
        review(&self.path(name), &[sound_config(LATER, "2027-01-15T09:00:00Z").protocol]).unwrap()
    }
}

#[test]
fn a_publication_holds_in_its_folder_and_only_there() {
    let runs = Runs::new();
    runs.write("engine.log", "track standard");
    let corrections = format!(
        r#"[{{"run_id":"{EARLIER}","pointer":"/configuration/track","new":"standard",
            "evidence":"engine.log"}}]"#
    );
    let operator = r#"{"gpu_unlock":{"enabled":true,"sources":["the kernel log"]}}"#;
    let wanted = Wanted {
        corrections: Some(runs.write("corrections.json", &corrections)),
        operator: Some(runs.write("operator.json", operator)),
        ..runs.wanted()
    };
    let made = runs.publish(&wanted).unwrap();
    assert_eq!(made.archive, runs.publish(&wanted).unwrap().archive);
    made.write(&runs.path("out")).unwrap();
    let outcome = runs.review("out");
    assert!(outcome.verdict != Verdict::Invalid, "{}", outcome.text());
    let files = tar::read(&fs::read(runs.path("out").join(ARCHIVE)).unwrap()).unwrap();
    assert_eq!(files["selected/results.json"], fs::read(runs.path("later/results.json")).unwrap());
    for path in ["excluded-1/outputs.jsonl", "excluded-1/MANIFEST.sha256", "evidence/engine.log"] {
        assert!(files.contains_key(path), "{path}");
    }

    // Somebody writes another figure into the report and packs a whole new publication.
    let mut forged = files.clone();
    let report = String::from_utf8(files["selected/results.json"].clone()).unwrap();
    let report = report.replacen("\"seed\": 1", "\"seed\": 2", 1);
    forged.insert("selected/results.json".to_string(), report.into_bytes());
    let archive = tar::write(&forged).unwrap();
    fs::write(runs.path("out").join(FILE), publication(&archive).unwrap()).unwrap();
    fs::write(runs.path("out").join(ARCHIVE), &archive).unwrap();
    let found = named_errors(&runs.review("out"));
    assert!(found.contains("selected/results.json: not the report that its record"), "{found}");

    fs::remove_file(runs.path("out").join(ARCHIVE)).unwrap();
    let found = named_errors(&runs.review("out"));
    assert!(found.contains("R421") && found.contains("evidence.tar: cannot be read"), "{found}");
}

/// Refused once `spoil` has been done.
fn check(spoil: impl Fn(&Runs, &mut Wanted), expected: &str) {
    let runs = Runs::new();
    let mut wanted = runs.wanted();
    spoil(&runs, &mut wanted);
    let problem = runs.publish(&wanted).map(|_| ()).unwrap_err();
    assert!(problem.contains(expected), "{problem}");
}

#[test]
fn what_cannot_be_published_is_refused() {
    let other_figure = |runs: &Runs, _: &mut Wanted| {
        let path = runs.path("later/results.json");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, text.replacen("\"seed\": 1", "\"seed\": 2", 1)).unwrap();
    };
    check(other_figure, "later: the report is invalid; `strata-bench check` says more\nR420 ");
    let manifest = |run: &'static str| {
        move |runs: &Runs, _: &mut Wanted| {
            runs.write(&format!("{run}/{}", manifest::NAME), "not a digest\n");
        }
    };
    check(manifest("later"), "later: the report is invalid");
    check(manifest("earlier"), "earlier: the folder is not as its run left it");
    check(
        |runs, _| fs::write(runs.path("earlier/provenance/more"), "").unwrap(),
        "earlier: the folder is not as its run left it",
    );
    check(
        |_, wanted| wanted.excluded[0].0 = wanted.selected.clone(),
        "is selected/results.json too",
    );
    check(
        |_, wanted| wanted.excluded.push(wanted.excluded[0].clone()),
        "excluded-2/results.json: run",
    );
    check(|runs, wanted| wanted.selected = runs.path("gone"), "gone: not the folder of a run");
    check(
        |runs, wanted| wanted.selected = runs.path("later/results.json"),
        "not the folder of a run",
    );
    check(|_, wanted| wanted.excluded[0].1 = " ".to_string(), "/reasons/0: no reason in words");
    check(|_, wanted| wanted.excluded[0].1 = "see /home/me/x".to_string(), "order.json: a home");
}

#[test]
fn what_an_operator_gives_is_refused_in_words() {
    let corrections = |text: &'static str, expected: &str| {
        let spoil = |runs: &Runs, wanted: &mut Wanted| {
            wanted.corrections = Some(runs.write("c.json", text));
        };
        check(spoil, expected);
    };
    corrections("{}", "c.json: no list of corrections");
    corrections("[{}]", "c.json: correction {}: `pointer` is no text");
    corrections("[", "c.json: byte 1: the document ends");
    corrections(
        r#"[{"run_id":"r","pointer":"/model/id","new":"m","evidence":"gone.log"}]"#,
        "gone.log: cannot be read",
    );
    corrections(
        r#"[{"run_id":"r","pointer":"/quality/passed","new":12,"evidence":"c.json"}]"#,
        "/quality/passed is in none of hardware, software, model, configuration",
    );
    let operator = |text: &'static str, expected: &str| {
        let spoil = |runs: &Runs, wanted: &mut Wanted| {
            wanted.operator = Some(runs.write("o.json", text));
        };
        check(spoil, expected);
    };
    operator("[]", "o.json: the operator's facts are no object with subjects");
    operator(r#"{"a":{"b":1}}"#, "o.json: the operator's facts on `a` have no `sources`");
    operator(
        r#"{"gpu_unlock":{"boot_parameters":{"gpu_unlock.targets":"0000:09:00.0"},
            "devices":[],"sources":["the kernel log"]}}"#,
        "publication.json: the publication would be invalid; `strata-bench check` says more\nR210",
    );
}

#[test]
fn a_folder_is_filled_whole_or_not_at_all() {
    let runs = Runs::new();
    let made = runs.publish(&runs.wanted()).unwrap();
    let check = |name: &str, expected: &str| {
        let problem = made.write(&runs.path(name)).unwrap_err();
        assert!(problem.contains(expected), "{problem}");
    };
    check("later", "later: is not an empty folder; name another");
    check("later/results.json", "results.json: is not an empty folder");
    check("later/results.json/x", "x: cannot be made: ");
    fs::create_dir(runs.path("out.partial")).unwrap();
    check("out", "out.partial: File exists");
    assert!(!runs.path("out").exists());
    fs::remove_dir(runs.path("out.partial")).unwrap();
    fs::create_dir(runs.path("out")).unwrap();
    made.write(&runs.path("out")).unwrap();
    let names = fs::read_dir(runs.path("out")).unwrap();
    assert_eq!(names.count(), 2);
    assert!(!runs.path("out.partial").exists());
}
