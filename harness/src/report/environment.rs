//! The parts of a report that say what was measured, by what, and where: protocol, hardware,
//! software, model, configuration. What the operator declares goes before what the server states.

use super::assemble::TEMPLATE_PATH;
use super::missing::Place;
use super::*;
use crate::config::Config;
use crate::fact::Fact;
use crate::probe::{self, Drive};

pub(super) fn protocol(config: &Config, at: &mut Place) -> ProtocolKey {
    ProtocolKey {
        id: config.protocol.id.clone(),
        git_commit: at.take("git_commit", config.runner.commit.clone()),
        profile: config.protocol.profile.clone(),
        corpus_sha256: config.protocol.corpus_sha256.clone(),
        model_card_revision: at.some(
            "model_card_revision",
            config.protocol.model_card_revision.clone(),
            "the protocol pins no model card revision",
        ),
    }
}

pub(super) fn hardware(config: &Config, at: &mut Place) -> Hardware {
    let machine = &config.machine;
    let storage = at.take("storage", machine.storage.clone());
    let storage = storage.map(|drives| {
        let mut list = at.below("storage");
        let drives = drives.into_iter().enumerate();
        drives.map(|(i, drive)| self::storage(drive, &mut list.below(&i.to_string()))).collect()
    });
    let gpus = at.take("gpus", machine.gpus.clone()).map(|cards| {
        let mut list = at.below("gpus");
        let cards = cards.into_iter().enumerate();
        cards.map(|(i, card)| gpu(card, &mut list.below(&i.to_string()))).collect()
    });
    Hardware {
        gpus,
        cpu: at.take("cpu", machine.cpu.clone()),
        ram_bytes: at.take("ram_bytes", machine.ram_bytes.clone()),
        storage,
        background_workloads: at.some(
            "background_workloads",
            config.declared.background.clone(),
            "the runner does not inspect other programs; none were declared with --background",
        ),
    }
}

fn gpu(card: probe::Gpu, at: &mut Place) -> Gpu {
    Gpu {
        device_index: card.device_index,
        name: card.name,
        memory_bytes: at.take("memory_bytes", card.memory_bytes),
        memory_kind: card.memory_kind,
        power_limit_w: at.take("power_limit_w", card.power_limit_w),
    }
}

fn storage(drive: Drive, at: &mut Place) -> Storage {
    Storage {
        kind: at.take("kind", drive.kind),
        model: at.take("model", drive.model),
        bus: at.take("bus", drive.bus),
    }
}

pub(super) fn software(config: &Config, at: &mut Place) -> Software {
    let (machine, server) = (&config.machine, &config.server);
    let mut os = at.below("os");
    let os = OperatingSystem {
        name: os.take("name", machine.os_name.clone()),
        version: os.take("version", machine.os_version.clone()),
    };
    let commit = match (server.text("/engine/commit"), server.text("/engine/commit_missing")) {
        (Fact::Known(commit), _) if !is_commit(&commit) => Fact::Unknown(format!(
            "the server states `{commit}`, and a commit has 40 lower-case hexadecimal digits"
        )),
        (Fact::Unknown(_), Fact::Known(why)) => Fact::Unknown(format!("the engine: {why}")),
        (commit, _) => commit,
    };
    let build_kind = match server.text("/build/kind") {
        Fact::Known(kind) if !matches!(kind.as_str(), "source" | "release") => Fact::Unknown(
            format!("the server states `{kind}`, and a report knows `source` and `release`"),
        ),
        kind => kind,
    };
    let declared = config.declared.build_options.clone().map(Value::String);
    let build_options = server.field("/build/options", |options| Some(options.clone()));
    let build_options = Fact::of(
        declared.or(build_options.known().cloned()).filter(|options| !options.is_null()),
        "the server does not report build options; pass --build-options",
    );
    Software {
        os,
        drivers: at.take("drivers", machine.drivers.clone()),
        runtime: at.take("runtime", machine.runtime.clone()),
        strata_commit: at.take("strata_commit", commit),
        engine_version: at.take("engine_version", server.text("/engine/version")),
        build_kind: at.take("build_kind", build_kind),
        runner_commit: at.take("runner_commit", config.runner.commit.clone()),
        build_options: at.take_whole(
            "build_options",
            build_options,
            "the server's /v1/status states null",
        ),
    }
}

fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

pub(super) fn model(config: &Config, at: &mut Place) -> Model {
    let declared = &config.declared;
    let stated = config.server.text("/model/quantization");
    let quantization = declared.quantization.clone().or(stated.known().cloned());
    Model {
        id: at.take("id", config.server.model_id()),
        revision: at.some(
            "revision",
            declared.model_revision.clone(),
            "not given: the quantization repository's immutable revision cannot be read from \
             the engine; pass --model-revision",
        ),
        source_revision: at.some(
            "source_revision",
            declared.source_revision.clone(),
            "not given: pass --source-revision",
        ),
        quantization: at.some(
            "quantization",
            quantization,
            "the server does not report it; pass --quantization",
        ),
        files: at.take("files", config.model_files.clone()),
        tokenizer_revision: at.some(
            "tokenizer_revision",
            declared.tokenizer_revision.clone(),
            "not given: pass --tokenizer-revision",
        ),
        custom_pack: at.some(
            "custom_pack",
            declared.custom_pack.clone(),
            "no custom pack or expert profile was declared by the operator (--custom-pack)",
        ),
    }
}

pub(super) fn configuration(config: &Config, at: &mut Place) -> Configuration {
    let mut group = |name: &str| {
        let options = match &config.options {
            Fact::Unknown(reason) => Fact::Unknown(reason.clone()),
            Fact::Known(options) => Fact::of(
                options.groups.get(name).and_then(Value::as_object).cloned(),
                "not declared in the file of --config",
            ),
        };
        at.take(name, options)
    };
    let groups = [
        "kv_cache",
        "expert_cache",
        "offloading",
        "prefill",
        "mtp",
        "calibration",
        "experimental_options",
    ];
    let [kv_cache, expert_cache, offloading, prefill, mtp, calibration, experimental_options] =
        groups.map(&mut group);
    let kwargs = Value::Object(config.protocol.chat_template_kwargs.clone());
    at.take_whole("chat_template_kwargs", Fact::Known(kwargs), "the protocol states null");
    let template = config.provenance.iter().find(|artifact| artifact.path == TEMPLATE_PATH);
    at.below("sampling").some(
        "reasoning_effort",
        config.protocol.sampling.reasoning_effort.as_ref(),
        "the protocol asks for none",
    );
    Configuration {
        track: at.some("track", config.declared.track.clone(), "not given: pass --track"),
        track_notes: at.some(
            "track_notes",
            config.declared.track_notes.clone(),
            "not given: pass --track-notes",
        ),
        context_tokens: at.take("context_tokens", config.server.count("/context_tokens")),
        server_capacity: at.take("server_capacity", config.server.count("/capacity")),
        kv_cache,
        expert_cache,
        offloading,
        prefill,
        mtp,
        calibration,
        experimental_options,
        template: Template {
            path: TEMPLATE_PATH,
            sha256: template.map(|artifact| artifact.sha256.clone()).unwrap_or_default(),
        },
        sampling: config.protocol.sampling.clone(),
        chat_template_kwargs: config.protocol.chat_template_kwargs.clone(),
    }
}
