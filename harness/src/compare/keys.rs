//! What two reports must have in common before a figure of one is held against the other: the
//! protocol, the corpus, the template, the sampling, and for every request its seed and its cap.
//! The commit, the machine and the model may differ: that is what is compared.

use crate::json::{Value, escape};
use crate::view::{Cell, Report, Row};
use std::collections::{HashMap, HashSet};

/// A place where two reports differ.
#[derive(Debug, Clone)]
pub struct Difference<'a> {
    /// The place in A, or in B where A has none.
    pub pointer: String,
    /// What A has.
    pub a: Cell<'a>,
    /// What B has.
    pub b: Cell<'a>,
}

/// Blocks and fields that must be equal.
const KEYS: [&str; 6] = [
    "/protocol/id",
    "/protocol/profile",
    "/protocol/corpus_sha256",
    "/configuration/template/sha256",
    "/configuration/sampling",
    "/configuration/chat_template_kwargs",
];

/// Fields of a request that must be equal.
const REQUEST_KEYS: [&str; 4] = ["/case_id", "/seed", "/max_output_tokens", "/concurrency"];

/// Blocks whose differences are worth a look.
const CONTEXT: [&str; 7] = [
    "/hardware",
    "/software",
    "/model",
    "/configuration",
    "/request_counts",
    "/extensions/engine_device",
    "/extensions/governor",
];

/// Every key that differs.
pub(super) fn differing<'a>(a: &Report<'a>, b: &Report<'a>) -> Vec<Difference<'a>> {
    let mut found: Vec<_> = KEYS.iter().flat_map(|key| differences(a, b, key, true)).collect();
    found.extend(requests(a, b));
    found
}

/// Every other difference in what was measured.
pub(super) fn context<'a>(a: &Report<'a>, b: &Report<'a>) -> Vec<Difference<'a>> {
    let is_key = |pointer: &str| KEYS.iter().any(|key| pointer.starts_with(key));
    let blocks = CONTEXT.iter().flat_map(|block| differences(a, b, block, false));
    blocks.filter(|difference| !is_key(&difference.pointer)).collect()
}

/// The leaves below a pointer that differ. What neither report has is only held to be equal where
/// it need not be known.
fn differences<'a>(
    a: &Report<'a>,
    b: &Report<'a>,
    pointer: &str,
    needed: bool,
) -> Vec<Difference<'a>> {
    let [in_a, in_b] = [a, b].map(|report| leaves(report, pointer));
    if in_a.is_empty() && in_b.is_empty() && needed {
        let pointer = pointer.to_string();
        return vec![Difference { a: a.at(&*pointer), b: b.at(&*pointer), pointer }];
    }
    let by_pointer: HashMap<&str, &Value> = in_b.iter().map(|(p, v)| (p.as_str(), *v)).collect();
    let known: HashSet<&str> = in_a.iter().map(|(pointer, _)| pointer.as_str()).collect();
    let differs = in_a.iter().filter(|(pointer, value)| {
        by_pointer.get(pointer.as_str()).is_none_or(|other| !value.equals(other))
            && !below(pointer, |above| by_pointer.contains_key(above))
    });
    let only_in_b = in_b.iter().filter(|(pointer, _)| {
        !known.contains(pointer.as_str()) && !below(pointer, |above| known.contains(above))
    });
    differs
        .chain(only_in_b)
        .take(MOST_SHOWN)
        .map(|(p, _)| Difference { pointer: p.clone(), a: a.at(&**p), b: b.at(&**p) })
        .collect()
}

/// Whether a place lies below one of these: where one report has a leaf and the other a block, the
/// block is shown whole.
fn below(pointer: &str, is_leaf: impl Fn(&str) -> bool) -> bool {
    pointer.match_indices('/').any(|(end, _)| is_leaf(&pointer[..end]))
}

/// Scalars, empty lists and empty objects below a pointer, the pointer's own value among them.
fn leaves<'a>(report: &Report<'a>, pointer: &str) -> Vec<(String, &'a Value)> {
    let mut found = Vec::new();
    let Some(block) = report.value(pointer) else { return found };
    block.walk(&mut |place, value| {
        let leaf = value.items().is_empty() && value.entries().is_empty();
        if leaf && found.len() < MOST_LEAVES {
            let place = format!("{pointer}{place}");
            // Longer ones are no report's.
            if place.len() < LONGEST {
                found.push((place, value));
            }
        }
    });
    found
}

/// Requests of one id in both that were not the same question; one example a field.
fn requests<'a>(a: &Report<'a>, b: &Report<'a>) -> Vec<Difference<'a>> {
    let in_b: HashMap<&str, &Row> = b.rows().iter().map(|row| (row.id(), row)).collect();
    let both: Vec<(&Row, &Row)> =
        a.rows().iter().filter_map(|row| Some((row, *in_b.get(row.id())?))).collect();
    let differs = |a: Option<&Value>, b: Option<&Value>| match (a, b) {
        (Some(a), Some(b)) => !a.equals(b),
        (a, b) => a.is_some() != b.is_some(),
    };
    let field = |path: &&str| {
        let differs =
            |(a, b): &&(&Row<'a>, &Row<'a>)| differs(a.value.pointer(path), b.value.pointer(path));
        let (in_a, in_b) = both.iter().find(differs)?;
        let pointer = format!("{}{path}", in_a.pointer);
        Some(Difference { pointer, a: a.of(in_a, path), b: b.of(in_b, path) })
    };
    let fields = REQUEST_KEYS.iter().filter_map(field);
    // The bodies as they were sent, where both tell.
    let bodies = both.iter().find_map(|(row, _)| {
        let pointer = format!("/extensions/request_sha256/{}", escape(row.id()));
        let (in_a, in_b) = (a.value(&pointer)?, b.value(&pointer)?);
        let difference = || Difference { a: a.at(&*pointer), b: b.at(&*pointer), pointer };
        (!in_a.equals(in_b)).then(difference)
    });
    fields.chain(bodies).collect()
}

/// Most leaves of a block that are looked at.
const MOST_LEAVES: usize = 2_000;
/// Most differences of a block that are shown.
const MOST_SHOWN: usize = 200;
/// Longest pointer that is looked at.
const LONGEST: usize = 1_000;
