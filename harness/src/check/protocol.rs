//! What a protocol pins beside its requests: corpus, template, sampling, and a context that holds
//! the longest of them.

use super::format::sampling_keys;
use super::report::{Report, printed, quoted};
use super::rule::{Log, breach};
use crate::json::Value;
use crate::report::assemble::TEMPLATE_PATH;
use serde_json::Value as Json;

/// Of a run that says itself that it did not follow the protocol, that it did not is no news.
pub(super) fn protocol_is_known(report: &Report, log: &mut Log) {
    let admitted = report.admits("protocol");
    let Some(protocol) = report.protocol else {
        return log.judge_unless(admitted, false, || {
            let expected = "a protocol this program carries or was given with --protocol";
            breach("/protocol/id", expected, printed(report.at("/protocol/id")))
        });
    };
    let pinned = [
        ("/protocol/profile", &protocol.profile),
        ("/protocol/corpus_sha256", &protocol.corpus_sha256),
    ];
    let suite = "/extensions/suite"; // which a wrapper leaves out
    let suite = report.at(suite).map(|_| (suite, &protocol.suite));
    for (at, wanted) in pinned.into_iter().chain(suite) {
        log.judge_unless(admitted, report.text(at) == Some(wanted), || {
            breach(at, quoted(wanted), printed(report.at(at)))
        });
    }
    let (at, wanted) = ("/protocol/model_card_revision", protocol.model_card_revision.as_deref());
    let Some(found) = report.at(at) else { return };
    log.judge_unless(
        admitted,
        found.as_str() == wanted && (found.is_null() == wanted.is_none()),
        || breach(at, wanted.map_or("null".to_string(), quoted), printed(Some(found))),
    );
}

/// A draft may still change under the same name.
pub(super) fn protocol_is_pinned(report: &Report, log: &mut Log) {
    let at = "/protocol/id";
    let Some(id) = report.text(at) else { return };
    log.judge(id.split(['-', '.']).all(|part| part != "draft"), || {
        breach(at, "a protocol that is no draft", quoted(id))
    });
}

pub(super) fn sampling_in_order(report: &Report, log: &mut Log) {
    let Some(sampling) = report.at("/configuration/sampling") else { return };
    let found: Vec<&str> = sampling.entries().iter().map(|(key, _)| key.as_str()).collect();
    let wanted = sampling_keys();
    log.judge(found == wanted, || {
        breach("/configuration/sampling", wanted.join(", "), found.join(", "))
    });
}

pub(super) fn sampling_is_the_protocols(report: &Report, log: &mut Log) {
    let Some(protocol) = report.protocol else { return };
    let sampling = serde_json::to_value(&protocol.sampling).expect("plain numbers and a string");
    let admitted = report.admits("sampling");
    let kwargs = Json::Object(protocol.chat_template_kwargs.clone());
    for (block, pinned) in [("sampling", sampling), ("chat_template_kwargs", kwargs)] {
        let at = format!("/configuration/{block}");
        let found = report.at(&at);
        for (key, wanted) in pinned.as_object().expect("both are objects") {
            let value = found.and_then(|found| found.get(key));
            let same = |value: &Value| Value::try_from(wanted).is_ok_and(|it| value.equals(&it));
            log.judge_unless(admitted, value.is_some_and(same), || {
                breach(format!("{at}/{}", crate::json::escape(key)), wanted, printed(value))
            });
        }
        for (key, value) in found.map(Value::entries).unwrap_or_default() {
            log.judge_unless(admitted, pinned.get(key).is_some(), || {
                let at = format!("{at}/{}", crate::json::escape(key));
                breach(at, "no such parameter", printed(Some(value)))
            });
        }
    }
}

pub(super) fn template_is_the_protocols(report: &Report, log: &mut Log) {
    let path = "/configuration/template/path";
    if let Some(found) = report.text(path) {
        log.judge(found == TEMPLATE_PATH, || breach(path, quoted(TEMPLATE_PATH), quoted(found)));
    }
    let Some(pinned) = report.protocol.and_then(|protocol| protocol.template_sha256.as_ref())
    else {
        return; // the protocol leaves the template to the model
    };
    let at = "/configuration/template/sha256";
    let admitted = report.admits("chat template");
    log.judge_unless(admitted, report.text(at) == Some(pinned), || {
        breach(at, quoted(pinned), printed(report.at(at)))
    });
}

/// The longest input is the one the protocol pins, or else the one that was observed.
pub(super) fn context_holds_the_plan(report: &Report, log: &mut Log) {
    let Some(context) = report.count("/configuration/context_tokens") else { return };
    let need = report.plan.iter().filter_map(|planned| {
        let observed = || {
            let request = report.requests.iter().find(|request| request.id == planned.id)?;
            request.input_tokens
        };
        let input = report.frozen_input_tokens(&planned.id).or_else(observed)?;
        Some((input.saturating_add(planned.max_output_tokens), &planned.id))
    });
    let Some((need, id)) = need.max() else {
        return log.idle("no input length is pinned or observed");
    };
    log.judge(context >= need, || {
        breach("/configuration/context_tokens", format!("at least {need} for {id}"), context)
    });
}
