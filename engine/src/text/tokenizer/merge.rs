//! The loop that both kinds of tokenizer share: of all neighbours that may merge, always the best
//! pair first, the leftmost among equals. A heap over a linked list: n log n for a piece of n.

use crate::Token;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// A stretch of the text.
#[derive(Debug, Clone)]
pub(super) struct Symbol {
    /// Bytes of the text; empty once merged into the symbol before it.
    pub(super) range: Range<usize>,
    /// The token it is, if it is one.
    pub(super) token: Option<Token>,
}

/// What two neighbours may become.
#[derive(Debug, Clone, Copy)]
pub(super) struct Merge {
    /// Smallest first.
    pub(super) rank: u32,
    pub(super) token: Token,
}

/// Merges neighbours until none may; `find` says which may, and depends on the two alone. What
/// remains are the symbols whose range is not empty, in order.
pub(super) fn merge(symbols: &mut [Symbol], find: impl Fn(&Symbol, &Symbol) -> Option<Merge>) {
    let mut links: Vec<Links> =
        (0..symbols.len()).map(|i| Links { before: i.wrapping_sub(1), after: i + 1 }).collect();
    let found = |symbols: &[Symbol], left: usize, right: usize| {
        find(symbols.get(left)?, symbols.get(right)?)
    };
    let mut queue: BinaryHeap<Reverse<(u32, usize)>> = (1..symbols.len())
        .filter_map(|right| Some(Reverse((found(symbols, right - 1, right)?.rank, right - 1))))
        .collect();
    while let Some(Reverse((rank, left))) = queue.pop() {
        // The pair may be gone, or its right half may have grown since it was queued.
        if symbols[left].range.is_empty() {
            continue;
        }
        let Links { before, after: right } = links[left];
        let Some(merge) = found(symbols, left, right).filter(|merge| merge.rank == rank) else {
            continue;
        };
        let after = links[right].after;
        symbols[left] = Symbol {
            range: symbols[left].range.start..symbols[right].range.end,
            token: Some(merge.token),
        };
        symbols[right].range = 0..0;
        links[left].after = after;
        if let Some(links) = links.get_mut(after) {
            links.before = left;
        }
        for (left, right) in [(before, left), (left, after)] {
            if let Some(merge) = found(symbols, left, right) {
                queue.push(Reverse((merge.rank, left)));
            }
        }
    }
}

/// Neighbours of a symbol by index; out of bounds at the ends.
#[derive(Debug, Clone, Copy)]
struct Links {
    before: usize,
    after: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Tokens below 8 may merge as a table of ranks says: to one of the eight.
    type Table = Vec<Option<Merge>>;

    fn find(table: &Table, left: &Symbol, right: &Symbol) -> Option<Merge> {
        table[left.token? as usize * 8 + right.token? as usize]
    }

    /// The definition: look at all pairs, merge the best, look again.
    fn merge_by_definition(mut symbols: Vec<Symbol>, table: &Table) -> Vec<Symbol> {
        let best = |symbols: &[Symbol]| {
            let pairs = symbols.windows(2).enumerate();
            pairs
                .filter_map(|(at, pair)| Some((find(table, &pair[0], &pair[1])?, at)))
                .min_by_key(|(merge, at)| (merge.rank, *at))
        };
        while let Some((merge, at)) = best(&symbols) {
            let right = symbols.remove(at + 1);
            symbols[at].range.end = right.range.end;
            symbols[at].token = Some(merge.token);
        }
        symbols
    }

    proptest! {
        /// Few ranks, so that many are equal, and merges that make what merges again.
        #[test]
        fn the_heap_does_what_the_definition_says(
            table in prop::collection::vec(prop::option::of((0u32..12, 0u32..8)), 64),
            tokens in prop::collection::vec(prop::option::weighted(0.95, 0u32..8), 0..40),
        ) {
            let table: Table =
                table.into_iter().map(|m| m.map(|(rank, token)| Merge { rank, token })).collect();
            let symbol = |(at, token)| Symbol { range: at..at + 1, token };
            let symbols: Vec<Symbol> = tokens.into_iter().enumerate().map(symbol).collect();
            let mut merged = symbols.clone();
            merge(&mut merged, |left, right| find(&table, left, right));
            let merged = merged.into_iter().filter(|symbol| !symbol.range.is_empty());
            let spelled = |symbol: Symbol| (symbol.range, symbol.token);
            let expected = merge_by_definition(symbols, &table);
            prop_assert_eq!(
                merged.map(spelled).collect::<Vec<_>>(),
                expected.into_iter().map(spelled).collect::<Vec<_>>()
            );
        }
    }
}
