//! The files of a model: their names, and whether weights, side files and engine options belong
//! together.

use super::format::ENGINE_OPTIONS;
use super::report::{Report, quoted};
use super::rule::{Log, breach};
use crate::json::{Value, escape};
use std::collections::HashSet;

/// The entries of `/model/files`.
pub(super) fn model_files<'a>(report: &Report<'a>) -> &'a [Value] {
    report.list("/model/files")
}

/// The name of each entry with its index.
fn paths<'a>(report: &Report<'a>) -> Vec<(usize, &'a str)> {
    let files = model_files(report).iter().enumerate();
    files.filter_map(|(index, file)| Some((index, file.get("path")?.as_str()?))).collect()
}

fn place(index: usize) -> String {
    format!("/model/files/{index}/path")
}

/// Every engine option that is a text, with its pointer.
fn options<'a>(report: &Report<'a>) -> impl Iterator<Item = (String, &'a str)> {
    ENGINE_OPTIONS.split(' ').flat_map(|group| {
        let at = format!("/configuration/{group}");
        let entries = report.at(&at).map(Value::entries).unwrap_or_default();
        let text = move |(option, value): &'a (String, Value)| {
            Some((format!("{at}/{}", escape(option)), value.as_str()?))
        };
        entries.iter().filter_map(text)
    })
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

pub(super) fn sorted(report: &Report, log: &mut Log) {
    let paths = paths(report);
    for (at, (index, path)) in paths.iter().enumerate() {
        let base = !path.contains(['/', '\\']);
        log.judge(base, || breach(place(*index), "a base name", quoted(path)));
        let Some((_, before)) = at.checked_sub(1).map(|before| paths[before]) else { continue };
        log.judge(before < *path, || {
            breach(place(*index), format!("a name after {}", quoted(before)), quoted(path))
        });
    }
}

pub(super) fn option_files_are_hashed(report: &Report, log: &mut Log) {
    if model_files(report).is_empty() {
        return log.idle("no model file was hashed");
    }
    let paths: HashSet<&str> = paths(report).into_iter().map(|(_, path)| path).collect();
    for (at, value) in options(report) {
        if [".bin", ".pack", ".gguf"].iter().any(|ending| value.ends_with(ending)) {
            log.judge(paths.contains(base_name(value)), || {
                breach(at, "a file among /model/files", quoted(value))
            });
        }
    }
}

/// The converse: a file that nothing named cannot have been read. Weights need no option, they are
/// the model; those are shards or, if there is none, one single file.
pub(super) fn side_files_are_options(report: &Report, log: &mut Log) {
    if report.is_null("/configuration/kv_cache") {
        return log.idle("the engine's options are not known");
    }
    let named: HashSet<&str> = options(report).map(|(_, value)| base_name(value)).collect();
    let paths = paths(report);
    let side = |path: &str| shard(path).is_none() && !named.contains(path);
    let weights = paths.iter().find(|(_, path)| path.ends_with(".gguf") && side(path));
    let sharded = paths.iter().any(|(_, path)| shard(path).is_some());
    let single = weights.filter(|_| !sharded).map(|(index, _)| *index);
    for (index, path) in paths.iter().filter(|(_, path)| shard(path).is_none()) {
        log.judge(named.contains(path) || single == Some(*index), || {
            breach(place(*index), "a file that an engine option names", quoted(path))
        });
    }
}

/// A shard's name is `NAME-00001-of-00004.gguf`.
struct Shard<'a> {
    name: &'a str,
    number: u32,
    count: u32,
}

fn shard(path: &str) -> Option<Shard<'_>> {
    let (rest, count) = path.strip_suffix(".gguf")?.rsplit_once("-of-")?;
    let (name, number) = rest.rsplit_once('-')?;
    let digits = |text: &str| {
        let plain = text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
        if plain { text.parse().ok() } else { None }
    };
    Some(Shard { name, number: digits(number)?, count: digits(count)? })
}

pub(super) fn shards_are_complete(report: &Report, log: &mut Log) {
    let shards: Vec<(usize, &str, Shard)> = paths(report)
        .into_iter()
        .filter_map(|(index, path)| Some((index, path, shard(path)?)))
        .collect();
    let there: HashSet<(&str, u32, u32)> =
        shards.iter().map(|(_, _, shard)| (shard.name, shard.count, shard.number)).collect();
    for (index, path, shard) in &shards {
        let Shard { name, number, count } = shard;
        // The one before it is enough: from the last, the chain leads to the first.
        let before = *number == 1 || there.contains(&(name, *count, number.saturating_sub(1)));
        let last = number == count || there.contains(&(name, *count, number + 1));
        log.judge((1..=*count).contains(number) && before && last, || {
            let expected = format!("all {count} shards of {}", quoted(name));
            breach(place(*index), expected, format!("{} without its neighbours", quoted(path)))
        });
    }
}

pub(super) fn weights_name_quantization(report: &Report, log: &mut Log) {
    let Some(quantization) = report.text("/model/quantization") else { return };
    let wanted = quantization.to_lowercase();
    let paths = paths(report);
    for (index, path) in paths.iter().filter(|(_, path)| shard(path).is_some()) {
        log.judge(path.to_lowercase().contains(&wanted), || {
            let expected = format!("a name with {}", quoted(quantization));
            breach(place(*index), expected, quoted(path))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_shards() {
        let check = |path: &str, expected: Option<(&str, u32, u32)>| {
            let found = shard(path).map(|shard| (shard.name, shard.number, shard.count));
            assert_eq!(found, expected, "{path}");
        };
        check("m-00001-of-00002.gguf", Some(("m", 1, 2)));
        check("a-b-00010-of-00010.gguf", Some(("a-b", 10, 10)));
        check("m-1-of-2.gguf", None);
        check("m-+0001-of-00002.gguf", None);
        check("m-00001-of-00002.bin", None);
        check("m.gguf", None);
    }
}
