//! The form of a report: one document, no key twice, every field there with its type, as the table
//! of `format` has it; what a figure means is the business of the other rules.

use super::format::{BLOCKS, FORMAT, Form, Kind, LISTS, Of, Others, SCHEMA_VERSION, names};
use super::report::{Report, printed, quoted};
use super::rule::{Log, breach};
use crate::json::{Path, Value};
use crate::publication::KEPT;

/// Holds whenever it is asked: what cannot be read has one finding and no other.
pub(super) fn readable(_: &Report, log: &mut Log) {
    log.judge(true, || unreachable!("it was read"));
}

pub(super) fn reference_format(report: &Report, log: &mut Log) {
    log.judge(report.text("/format") == Some(FORMAT), || {
        breach("/format", quoted(FORMAT), printed(report.at("/format")))
    });
    log.judge(report.count("/schema_version") == Some(SCHEMA_VERSION), || {
        breach("/schema_version", SCHEMA_VERSION, printed(report.at("/schema_version")))
    });
}

pub(super) fn top_level_keys(report: &Report, log: &mut Log) {
    let (found, wanted) = (keys(report.root), names("").collect::<Vec<_>>());
    let mut sorted = (found.clone(), wanted.clone());
    sorted.0.sort_unstable();
    sorted.1.sort_unstable();
    let same = sorted.0 == sorted.1;
    log.judge(same, || breach("", wanted.join(", "), found.join(", ")));
    if same {
        log.judge_mildly(found == wanted, || breach("", wanted.join(", "), found.join(", ")));
    }
}

pub(super) fn request_keys(report: &Report, log: &mut Log) {
    let wanted: Vec<&str> = names("/requests/*").collect();
    for request in &report.requests {
        let found = keys(request.value);
        log.judge(found == wanted, || {
            breach(request.place(""), wanted.join(", "), found.join(", "))
        });
    }
}

/// A copied block has its fields in the order of the format.
pub(super) fn kept_blocks(report: &Report, log: &mut Log) {
    let found: Vec<&str> = keys(report.root).into_iter().filter(|key| KEPT.contains(key)).collect();
    log.judge(found == KEPT, || breach("", KEPT.join(", "), found.join(", ")));
    for block in BLOCKS.iter().filter(|block| block.of == Of::Both) {
        let steps: Vec<&str> = block.at.split('/').skip(1).collect();
        let wanted: Vec<&str> = block.fields().map(|(name, _)| name).collect();
        for_each(report.root, &Path::ROOT, &steps, true, &mut |place, value| {
            let found: Vec<&str> =
                keys(value).into_iter().filter(|key| wanted.contains(key)).collect();
            log.judge(found.len() < wanted.len() || found == wanted, || {
                breach(place.brief(), wanted.join(", "), found.join(", "))
            });
        });
    }
}

fn keys(value: &Value) -> Vec<&str> {
    value.entries().iter().map(|(key, _)| key.as_str()).collect()
}

pub(super) fn no_key_twice(report: &Report, log: &mut Log) {
    report.root.walk(&mut |place, value| {
        let mut keys = keys(value);
        keys.sort_unstable();
        for pair in keys.windows(2) {
            log.judge(pair[0] != pair[1], || {
                breach(place.key(pair[0]).brief(), "one value", "another before it")
            });
        }
    });
}

pub(super) fn fields_and_types(report: &Report, log: &mut Log) {
    let kind = Kind::of(report.root);
    for (list, most) in LISTS {
        let found = report.at(list).map(Value::items).unwrap_or_default().len();
        log.judge(found <= most, || breach(list, format!("at most {most} entries"), found));
    }
    for block in BLOCKS.iter().filter(|block| block.of.is_in(kind)) {
        let steps: Vec<&str> = block.at.split('/').skip(1).collect();
        let fields: Vec<(&str, Form)> = block.fields().collect();
        for_each(report.root, &Path::ROOT, &steps, report.wrapper, &mut |place, value| {
            match value {
                Value::Object(entries) => judge_fields(log, &fields, place, entries, block.others),
                // Where it is a field, that is judged there.
                _ if steps.last() == Some(&"*") => {
                    log.judge(false, || breach(place.brief(), "an object", printed(Some(value))));
                }
                _ => {}
            }
        });
    }
}

/// Calls `visit` with every value that a pattern leads to; `*` is any item or key.
fn for_each(
    value: &Value,
    place: &Path,
    steps: &[&str],
    wrapper: bool,
    visit: &mut impl FnMut(&Path, &Value),
) {
    let Some((&step, rest)) = steps.split_first() else {
        return visit(place, value);
    };
    let renamed = wrapper && place.is_root() && step == "run";
    let step = if renamed { "selected_run" } else { step };
    if step != "*" {
        if let Some(next) = value.get(step) {
            for_each(next, &place.key(step), rest, wrapper, visit);
        }
        return;
    }
    for (index, item) in value.items().iter().enumerate() {
        for_each(item, &place.item(index), rest, wrapper, visit);
    }
    for (key, item) in value.entries() {
        for_each(item, &place.key(key), rest, wrapper, visit);
    }
}

fn judge_fields(
    log: &mut Log,
    fields: &[(&str, Form)],
    place: &Path,
    entries: &[(String, Value)],
    others: Others,
) {
    let mut known = 0;
    for (index, &(name, form)) in fields.iter().enumerate() {
        // In a good report a field stands at its own place.
        let expected = entries.get(index).filter(|(key, _)| key == name);
        let entry = expected.or_else(|| entries.iter().rev().find(|(key, _)| key == name));
        let found = entry.map(|(_, value)| value);
        known += usize::from(found.is_some());
        log.judge(found.is_some_and(|found| form.allows(found)), || {
            breach(place.key(name).brief(), form.words(), printed(found))
        });
    }
    if others != Others::Refused || known == entries.len() {
        return;
    }
    for (key, found) in entries {
        log.judge(fields.iter().any(|(name, _)| name == key), || {
            breach(place.key(key).brief(), "no such field", printed(Some(found)))
        });
    }
}
