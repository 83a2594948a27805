//! A comparison as facts and tables, for every form of output.

use super::keys::{self, Difference};
use super::pairs::Group;
use super::ratio::{FEWEST, Ratio};
use super::{Change, Comparison, Side, Verdict};
use crate::view::{Cell, Clock, Column, Fact, Line, Report, Row, Sheet, Table, metric, verdict};
use std::collections::HashMap;

impl<'a> Comparison<'a> {
    /// Everything, verdict first.
    pub fn sheet(&self) -> Sheet<'a> {
        let (a, b) = (&self.a.report, &self.b.report);
        let mut tables = Vec::new();
        if !self.keys.is_empty() {
            tables.push(differences("keys", "What must be equal and is not", &self.keys));
        }
        if !self.groups.is_empty() {
            tables.extend([self.ratios(), self.pairs()]);
        }
        if a.rows().is_empty() || b.rows().is_empty() {
            tables.push(side_by_side(a, b));
        }
        let context = keys::context(a, b);
        tables.push(differences("context", "What else differs", &context));
        let figures = ["pairs", "keys", "summaries", "context"];
        let figures = figures.into_iter().find(|name| tables.iter().any(|t| t.name == *name));
        Sheet {
            title: format!("A {} and B {}", a.run_id(), b.run_id()),
            head: self.head(),
            facts: [&self.a, &self.b].into_iter().flat_map(identity).collect(),
            tables,
            figures: figures.unwrap_or_default(),
        }
    }

    fn head(&self) -> Vec<Fact<'a>> {
        let word = match self.verdict() {
            Verdict::Comparable => "comparable",
            Verdict::Regressed => "regressed",
            Verdict::Refused => "refused in part",
            Verdict::Incomparable => "not comparable",
        };
        let mut head = vec![Line::new("verdict").words(word).fact()];
        let mut reason = |text: String| head.push(Line::new("because").words(text).fact());
        if !self.keys.is_empty() {
            let keys: Vec<&str> = self.keys.iter().map(|key| key.pointer.as_str()).collect();
            reason(format!("different at {}", keys.join(", ")));
        }
        self.obstacles.iter().cloned().for_each(&mut reason);
        for group in &self.groups {
            let place = format!("{} {}", group.case, group.metric.name);
            if self.change(group) == Some(Change::Slower) {
                reason(format!("{place}: {}", self.reading(group)));
            }
        }
        // One line a reason, not one a case: many cases have the same.
        let mut refused: Vec<(&str, Vec<String>)> = Vec::new();
        for group in &self.groups {
            let Err(why) = &group.ratio else { continue };
            let place = format!("{} {}", group.case, group.metric.name);
            match refused.iter_mut().find(|(known, _)| known == why) {
                Some((_, places)) => places.push(place),
                None => refused.push((why, vec![place])),
            }
        }
        for (why, places) in refused {
            reason(format!("no ratio of {}: {why}", places.join(", ")));
        }
        head
    }

    fn ratios(&self) -> Table<'a> {
        let columns = vec![
            Column::plain("case", ""),
            Column::plain("metric", ""),
            Column::plain("clock", ""),
            Column::plain("pairs", ""),
            Column::plain("lowest B/A", ""),
            Column::plain("median B/A", ""),
            Column::plain("highest B/A", ""),
            Column::plain("reading", ""),
        ];
        let rows = self.groups.iter().map(|group| {
            let figure = |of: fn(&Ratio) -> f64| match &group.ratio {
                Ok(ratio) => Cell::Derived(factor(of(ratio))),
                Err(_) => Cell::made("–"),
            };
            let cells = vec![
                Cell::made(group.case),
                Cell::made(group.metric.name),
                Cell::made(group.metric.clock.as_str()),
                Cell::Derived(group.pairs.len().to_string()),
                figure(|ratio| ratio.range().0),
                figure(Ratio::median),
                figure(|ratio| ratio.range().1),
                Cell::made(self.reading(group)),
            ];
            (String::new(), cells)
        });
        let rows = rows.collect();
        let mut notes = vec![format!(
            "below {FEWEST} pairs the range of the ratios is all that is said, and no interval"
        )];
        if let Some(threshold) = self.threshold {
            notes.push(format!(
                "threshold {threshold} %: slower or faster by more than a factor of {}",
                factor((threshold / 100.0).ln_1p())
            ));
        }
        Table { name: "ratios", title: "Ratios", columns, rows, notes }
    }

    /// What a group's ratio says, or why there is none.
    pub(crate) fn reading(&self, group: &Group) -> String {
        let ratio = match &group.ratio {
            Ok(ratio) => ratio,
            Err(why) => return format!("no ratio: {why}"),
        };
        let (above, below) = ratio.sides();
        let (faster, slower) = if group.metric.rate { (above, below) } else { (below, above) };
        let side = |word: &str, n: usize| format!("B {word} in {n} of {}", ratio.n());
        let mut words = match (faster, slower) {
            (0, 0) => "equal in every pair".to_string(),
            (faster, slower) if faster > slower => side("faster", faster),
            (_, slower) => side("slower", slower),
        };
        if let Some((from, to, holds)) = ratio.interval() {
            let share = 100.0 * holds;
            words += &format!("; {} to {} holds {share:.1} %", factor(from), factor(to));
        }
        match self.change(group) {
            Some(Change::Slower) => words += "; slower beyond the threshold",
            Some(Change::Faster) => words += "; faster beyond the threshold",
            Some(Change::Within) => words += "; within the threshold",
            None => {}
        }
        words
    }

    fn pairs(&self) -> Table<'a> {
        let columns = vec![
            Column::plain("case", ""),
            Column::plain("metric", ""),
            Column::plain("unit", ""),
            Column::plain("clock", ""),
            Column::plain("request", ""),
            Column::plain("seed", ""),
            Column::plain("A", ""),
            Column::plain("B", ""),
            Column::plain("B/A", ""),
        ];
        let rows = self.groups.iter().flat_map(|group| {
            group.pairs.iter().map(move |pair| {
                let ratio = pair.log.filter(|_| group.ratio.is_ok());
                let cells = vec![
                    Cell::made(group.case),
                    Cell::made(group.metric.name),
                    Cell::made(group.metric.unit),
                    Cell::made(group.metric.clock.as_str()),
                    Cell::made(pair.id),
                    pair.seed.clone(),
                    pair.a.clone(),
                    pair.b.clone(),
                    ratio.map_or_else(|| Cell::made("–"), |log| Cell::Derived(factor(log))),
                ];
                (String::new(), cells)
            })
        });
        let rows = rows.collect();
        Table { name: "pairs", title: "Every pair", columns, rows, notes: Vec::new() }
    }
}

/// A logarithm as the factor it stands for.
fn factor(log: f64) -> String {
    format!("{:.4}", log.exp())
}

/// What each report is about, and its own verdict.
fn identity<'a>(side: &Side<'a>) -> Vec<Fact<'a>> {
    let report = &side.report;
    let machine = ["/hardware/gpus/0/name", "/hardware/cpu"].map(|pointer| report.at(pointer));
    let [gpu, cpu] = machine;
    let machine = if matches!(gpu, Cell::Printed { .. }) { gpu } else { cpu };
    let line = Line::new(report.name)
        .cell(report.at("/model/id"))
        .words(" on ")
        .cell(machine)
        .words(", engine ")
        .cell(report.at("/software/engine_version"))
        .words(", run ")
        .cell(report.at(report.run("/status")))
        .words(", quality ")
        .cell(report.at("/quality/passed"))
        .words(" of ")
        .cell(report.at("/quality/total"));
    vec![line.words("; check: ").pieces(verdict(side.outcome).pieces).fact()]
}

fn differences<'a>(name: &'static str, title: &'static str, found: &[Difference<'a>]) -> Table<'a> {
    let columns =
        vec![Column::plain("pointer", ""), Column::plain("A", ""), Column::plain("B", "")];
    let row = |difference: &Difference<'a>| {
        let Difference { pointer, a, b } = difference.clone();
        (String::new(), vec![Cell::made(pointer), a, b])
    };
    let rows = found.iter().map(row).collect();
    Table { name, title, columns, rows, notes: Vec::new() }
}

/// The summaries of both, unpaired, where one of them is all there is.
fn side_by_side<'a>(a: &Report<'a>, b: &Report<'a>) -> Table<'a> {
    let measured = |name, path| Column { path, ..Column::plain(name, "") };
    let columns = vec![
        Column::plain("case", "/case_id"),
        Column::plain("metric", "/metric"),
        Column::plain("unit", ""),
        Column::plain("clock", ""),
        measured("n A", "/n"),
        measured("min A", "/min"),
        measured("median A", "/median"),
        measured("max A", "/max"),
        measured("n B", "/n"),
        measured("min B", "/min"),
        measured("median B", "/median"),
        measured("max B", "/max"),
    ];
    let key = |row: &Row<'a>| (row.text("/case_id"), row.text("/metric"));
    let (in_a, in_b) = (a.summaries(), b.summaries());
    let by_key: HashMap<_, &Row> = in_b.iter().map(|row| (key(row), row)).collect();
    let rows = in_a.iter().filter_map(|row| {
        let other = *by_key.get(&key(row))?;
        let metric = metric(key(row).1);
        let clock = metric.map(|metric| metric.clock);
        let figures = |report: &Report<'a>, row: &Row<'a>| {
            let timed = |cell: Cell<'a>| match clock {
                Some(clock) => cell.clocked(clock),
                None => cell,
            };
            let [n, least, median, most] =
                ["/n", "/min", "/median", "/max"].map(|path| report.of(row, path));
            [n, timed(least), timed(median), timed(most)]
        };
        let names = [a.of(row, "/case_id"), a.of(row, "/metric"), a.of(row, "/unit")];
        let mut cells = names.to_vec();
        cells.push(Cell::made(clock.map_or("", Clock::as_str)));
        cells.extend(figures(a, row));
        cells.extend(figures(b, other));
        Some((String::new(), cells))
    });
    let rows = rows.collect();
    let notes = vec!["not paired: no ratio of two medians is given".to_string()];
    Table { name: "summaries", title: "Summaries side by side", columns, rows, notes }
}
