//! What is known before the first request: the server's word, the operator's, and what the machine
//! shows; with the provenance files that belong to it.

use super::reach::Server;
use super::{Order, RunError, Surroundings, Target, corpus};
use crate::client::clock::Clock;
use crate::config::{Artifact, Config, Options, Run, SCHEMA_VERSION};
use crate::corpus::{Corpus, Lengths, Suite};
use crate::digest::sha256;
use crate::fact::Fact;
use crate::probe::{HashedFile, Machine, files, process};
use crate::redact::Redactor;
use crate::report::assemble::TEMPLATE_PATH;
use crate::run::server::SelfDescription;
use crate::self_test::self_test;
use serde_json::{Map, Value};
use std::fs;
use std::path::PathBuf;

/// Everything a report needs besides the replies, as far as it is known before the first request,
/// and the provenance files that belong to it.
pub(super) fn describe(
    order: &Order,
    around: &Surroundings,
    server: &Server,
) -> Result<(Config, Files), RunError> {
    let (local, description) = (server.http.is_local(), &server.description);
    let (files, status_missing) = provenance(order, description)?;
    let model_paths = if local { model_paths(order, description) } else { Vec::new() };
    let machine = match local {
        true => Machine::probe(
            &around.root,
            model_paths.first().map(PathBuf::as_path),
            description.uses_gpu(),
        ),
        false => Machine::unknown(NOT_LOCAL),
    };
    let started_at = around.clock.wall().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let stamp: String = started_at.chars().filter(|c| !matches!(c, '-' | ':')).collect();
    let model_files = match order.skip_model_hash {
        true => Fact::Unknown(files::SKIPPED.to_string()),
        false => files::hash(&files::with_shards(model_paths), &around.cancel),
    };
    let config = Config {
        schema_version: SCHEMA_VERSION,
        protocol: order.suite.protocol.clone(),
        protocol_known: Suite::protocols().contains(&order.suite.protocol),
        lengths: lengths(corpus(&order.suite)?, description, &model_files),
        run: Run {
            id: format!("{stamp}-{}", around.run_suffix),
            started_at,
            argv: order.argv.clone(),
            started_engine: server.engine.is_some(),
            api_key_sent: order.credential.is_some(),
            optional: order.optional,
            nonce: order.nonce.as_deref().map(|nonce| around.redactor.apply(nonce)),
        },
        declared: order.declared.clone(),
        server: publishable(description, &around.redactor),
        options: options(order, &around.redactor),
        engine_threads: match &server.engine {
            Some(engine) => process::threads(&around.root, engine.id()),
            None => description.count("/device/threads"),
        },
        machine,
        model_files,
        runner: around.runner.clone(),
        provenance: files.iter().map(artifact).collect(),
        status_missing,
        self_test: self_test()
            .map_or_else(|e| Fact::Unknown(format!("the self-test cannot run: {e}")), Fact::Known),
        warm_up: Fact::Unknown(match order.until_steady {
            true => "the run was killed before it could be kept".to_string(),
            false => "none: no --until-steady was given".to_string(),
        }),
        resumed: Vec::new(),
        end: None,
    };
    Ok((config, files))
}

/// Paths in the run's folder, and what is to stand there.
pub(super) type Files = Vec<(&'static str, String)>;

fn artifact((path, text): &(&'static str, String)) -> Artifact {
    let (kind, path) = ("provenance".to_string(), path.to_string());
    Artifact { kind, path, sha256: sha256(text.as_bytes()) }
}

/// The model's files on this host: those the server names and those the profile does.
fn model_paths(order: &Order, description: &SelfDescription) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    if let Target::Profile(profile) = &order.target {
        paths.push(profile.model_path());
        paths.extend(profile.side_files());
    }
    paths.extend(description.model_files());
    let mut found = Vec::new();
    for path in paths.iter().filter_map(|path| fs::canonicalize(path).ok()) {
        if path.is_file() && !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

fn options(order: &Order, redactor: &Redactor) -> Fact<Options> {
    let clean = |options: &Map<String, Value>| redacted(options, redactor);
    match (&order.target, &order.declared_groups) {
        (Target::Profile(profile), _) => {
            let grouped = profile.grouped();
            Fact::Known(Options {
                groups: clean(&grouped.groups),
                other: Fact::Known(clean(&grouped.other)),
            })
        }
        (Target::Url(_), Some(groups)) => Fact::Known(Options {
            groups: clean(groups),
            other: Fact::Unknown("only the groups of --config are declared".to_string()),
        }),
        (Target::Url(_), None) => Fact::Unknown(
            "engine options are not exposed by a running server; start it from a profile or pass \
             --config"
                .to_string(),
        ),
    }
}

/// The recorded lengths, by the digests the server states, else by its model's file and template.
fn lengths(
    corpus: &Corpus,
    description: &SelfDescription,
    files: &Fact<Vec<HashedFile>>,
) -> Fact<Lengths> {
    let mut in_file = files.known().into_iter().flatten();
    let in_file = in_file.find_map(|file| corpus.tokenizer_in(&file.sha256));
    let tokenizer = match (description.text("/tokenizer/sha256"), in_file) {
        (Fact::Unknown(_), Some(digest)) => Fact::Known(digest.to_string()),
        (stated, _) => stated,
    };
    let template = description
        .text("/template/sha256")
        .or_else(|| template(corpus, description).map(|text| sha256(text.as_bytes())));
    let (tokenizer, template) = match (tokenizer, template) {
        (Fact::Known(tokenizer), Fact::Known(template)) => (tokenizer, template),
        (Fact::Unknown(reason), _) | (_, Fact::Unknown(reason)) => {
            return Fact::Unknown(format!("the tokenizer is not known: {reason}"));
        }
    };
    Fact::of(
        corpus.lengths(&tokenizer, &template).cloned(),
        format!("no lengths are recorded for tokenizer {tokenizer} with template {template}"),
    )
}

/// The model's template. Only `/v1/status` is sure to have its last newline.
fn template(corpus: &Corpus, description: &SelfDescription) -> Fact<String> {
    let text = description.text("/template/text");
    match description.status {
        Fact::Known(_) => text,
        Fact::Unknown(_) => text.map(|text| corpus.whole_template(&text)),
    }
}

/// The files a report lists, and what the server left out of them.
fn provenance(
    order: &Order,
    description: &SelfDescription,
) -> Result<(Files, Map<String, Value>), RunError> {
    let corpus = corpus(&order.suite)?;
    let template = template(corpus, description);
    let mut status_missing = Map::new();
    if let Fact::Unknown(reason) = &template {
        let null = description.field("/template/text", |text| text.is_null().then_some(()));
        let none = null.known().map(|()| "the model has no chat template");
        let reason = none.unwrap_or(reason);
        status_missing.insert("template".to_string(), Value::from(reason));
    }
    let template = template.known().cloned().unwrap_or_default();
    let files = vec![
        (TEMPLATE_PATH, template),
        ("provenance/corpus-manifest.sha256", corpus.manifest().to_string()),
        ("provenance/corpus-build.json", corpus.build_record().to_string()),
    ];
    Ok((files, status_missing))
}

/// The description without what is private, and without the template, which has its own file.
fn publishable(description: &SelfDescription, redactor: &Redactor) -> SelfDescription {
    let clean = |answer: &Fact<Value>, holder: &str, template: &str| {
        let clean = answer.clone().map(|value| redacted_value(&value, redactor));
        clean.map(|mut answer| {
            if let Some(Value::Object(holder)) = answer.pointer_mut(holder) {
                holder.remove(template);
            }
            answer
        })
    };
    SelfDescription {
        status: clean(&description.status, "/template", "text"),
        props: clean(&description.props, "", "chat_template"),
        models: clean(&description.models, "", ""),
    }
}

/// The same members, no text of them private.
fn redacted(members: &Map<String, Value>, redactor: &Redactor) -> Map<String, Value> {
    let clean =
        |(key, value): (&String, &Value)| (redactor.apply(key), redacted_value(value, redactor));
    members.iter().map(clean).collect()
}

/// `value` is no deeper than serde_json reads.
fn redacted_value(value: &Value, redactor: &Redactor) -> Value {
    match value {
        Value::String(text) => Value::String(redactor.apply(text)),
        Value::Array(items) => items.iter().map(|item| redacted_value(item, redactor)).collect(),
        Value::Object(members) => Value::Object(redacted(members, redactor)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// The reason for everything about a machine that is not this one.
pub(super) const NOT_LOCAL: &str = "the server does not run on this host";
