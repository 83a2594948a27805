//! The pairs of a comparison, case by case: A and B of every seed on one line.

use super::CHARTED;
use super::chart::{Mark, Scale, drawn, lane, mark};
use super::escape::escape;
use super::tables::{decimals, padded};
use crate::compare::{Comparison, Group, Pair};
use crate::view::METRICS;

pub(super) fn charts(comparison: &Comparison) -> String {
    let mut cases: Vec<&str> = comparison.groups.iter().map(|group| group.case).collect();
    cases.dedup();
    let case = |name: &&str| {
        let groups = || comparison.groups.iter().filter(|group| group.case == *name);
        let of = |at: &usize| groups().find(|group| group.metric.name == METRICS[*at].name);
        let charts: String =
            CHARTED.iter().filter_map(of).map(|group| one(comparison, group)).collect();
        format!("<article><h3>{}</h3>\n{charts}</article>\n", escape(name))
    };
    let all: String = cases.iter().map(case).collect();
    format!("<p class=legend>{LEGEND}</p>\n<div class=\"cases pairs\">\n{all}</div>")
}

const LEGEND: &str = "Every scale begins at 0. \
    <span class=key><svg viewBox=\"-7 -7 14 14\"><circle class=ring r=4 /></svg> A</span> \
    <span class=key><svg viewBox=\"-7 -7 14 14\"><path class=square \
    d=\"M-5,0L0,-5L5,0L0,5Z\"/></svg> B</span>";

const HEAD: &str = "<li class=head aria-hidden=true><span></span><span></span>\
    <span class=n>A</span><span class=n>B</span></li>\n";

fn one(comparison: &Comparison, group: &Group) -> String {
    let values = group.pairs.iter().flat_map(|pair| [drawn(&pair.a), drawn(&pair.b)]);
    let scale = Scale::over(values.flatten());
    let cells = group.pairs.iter().flat_map(|pair| [&pair.a, &pair.b]);
    let most = cells.map(decimals).max().unwrap_or(0);
    let row = |pair: &Pair| {
        let (a, b) = (drawn(&pair.a).map(|a| scale.at(a)), drawn(&pair.b).map(|b| scale.at(b)));
        let between = a.zip(b).map(|(a, b)| {
            format!("<line class=between x1=\"{a:.2}%\" x2=\"{b:.2}%\" y1=\"50%\" y2=\"50%\"/>")
        });
        let marks = [between, a.map(|at| mark(Mark::Ring, at)), b.map(|at| mark(Mark::Square, at))];
        let marks: String = marks.into_iter().flatten().collect();
        let seed = pair.seed.text();
        let label = format!(
            "seed {}: A {}, B {}",
            escape(&seed),
            escape(&pair.a.text()),
            escape(&pair.b.text())
        );
        format!(
            "<li><span>{}</span>{}<span class=n>{}</span><span class=n>{}</span></li>\n",
            escape(&format!("seed {seed}")),
            lane(&label, &marks),
            padded(&pair.a, most),
            padded(&pair.b, most),
        )
    };
    let rows: String = group.pairs.iter().take(MOST).map(row).collect();
    let (unit, clock) = (group.metric.unit, group.metric.clock.as_str());
    format!(
        "<figure class=points><figcaption><b>{}</b> <small>{}, {unit}, {clock} clock</small>\
         </figcaption>\n<ol>\n{HEAD}{rows}</ol>\n<p class=reading>{}</p></figure>\n",
        group.metric.name,
        group.metric.title,
        escape(&comparison.reading(group))
    )
}

/// Most pairs of a chart.
const MOST: usize = 100;
