//! A witness for three summaries: which minimum, median and maximum could have been one request's.
//! The requests are not at hand, but if no assignment keeps the clocks' bounds, none ever did.

use super::rates::{Case, MAX_INVERSIONS, Ticks, cases, inversions, invert, values};
use crate::check::report::Report;
use crate::check::rule::{Log, breach};
use crate::check::timing::{CLIENT_HALF, ENGINE_HALF, MS, on_loopback};

/// An engine time in nanoseconds: at least and at most.
type Span = (i128, i128);

/// The figures of a case by metric, each list in its own order: nothing says which belong together.
struct Figures {
    prompt: Vec<Span>,
    /// For each rate, a time for each number of tokens that it may be of; they ascend.
    decode: Vec<Vec<Span>>,
    ttft: Vec<i128>,
    total: Vec<i128>,
}

fn span(ticks: Ticks) -> Span {
    (ticks.least * MS / 10, ticks.most * MS / 10)
}

impl Figures {
    /// `None` where a figure is not printed or does not invert, which is another rule's business.
    fn of(report: &Report, case: &Case) -> Option<Figures> {
        let read = |metric: &str| -> Option<Vec<i128>> {
            Some(values(case.of(metric)?)?.into_iter().map(|(_, value)| value).collect())
        };
        let tokens = report.frozen_input_tokens(&case.planned.id)?;
        let prompt = read("prompt_tps")?;
        let prompt = prompt.into_iter().map(|rate| invert(tokens, rate).map(span));
        let cap = case.planned.max_output_tokens;
        let decode = read("decode_tps")?.into_iter().map(|rate| -> Option<Vec<Span>> {
            let spans = (1..=cap).filter_map(|tokens| invert(tokens, rate).map(span));
            let spans: Vec<Span> = spans.collect();
            (!spans.is_empty()).then_some(spans)
        });
        let nanos = |micros: Vec<i128>| micros.into_iter().map(|time| time * 1000).collect();
        let figures = Figures {
            prompt: prompt.collect::<Option<_>>()?,
            decode: decode.collect::<Option<_>>()?,
            ttft: nanos(read("ttft_s")?),
            total: nanos(read("total_s")?),
        };
        let n = figures.prompt.len();
        let whole = [figures.decode.len(), figures.ttft.len(), figures.total.len()] == [n; 3];
        whole.then_some(figures)
    }

    /// Whether some assignment keeps R094 and R095, and where there are `limits` on what the
    /// client may add to the engine's time, R097 and R098 too. Up to 6 x 6 x 6 assignments of
    /// 3 requests, each a look into tables that hold at most 27 searches over the cap.
    fn have_a_witness(&self, limits: Limits) -> bool {
        let n = self.prompt.len();
        let first = |p: usize, t: usize| {
            let (least, most) = self.prompt[p];
            let slack = ENGINE_HALF + CLIENT_HALF;
            self.ttft[t] >= least - slack && limits.ttft.keeps(self.ttft[t] - most - slack)
        };
        let last = |p: usize, d: usize, x: usize| {
            let (least, most) = self.prompt[p];
            let slack = 2 * ENGINE_HALF + CLIENT_HALF;
            self.decode[d].iter().any(|span| {
                self.total[x] >= least + span.0 - slack
                    && limits.total.keeps(self.total[x] - most - span.1 - slack)
            })
        };
        let table = |p: usize| -> Vec<Vec<bool>> {
            (0..n).map(|d| (0..n).map(|x| last(p, d, x)).collect()).collect()
        };
        let tables: Vec<Vec<Vec<bool>>> = (0..n).map(table).collect();
        let orders = orders(n);
        let any_ttft = orders.iter().any(|ttft| (0..n).all(|p| first(p, ttft[p])));
        any_ttft
            && orders.iter().any(|decode| {
                orders.iter().any(|total| (0..n).all(|p| tables[p][decode[p]][total[p]]))
            })
    }
}

/// The most that may pass between an engine time and the client's, if anything is known.
#[derive(Clone, Copy)]
struct Limit(Option<i128>);

impl Limit {
    fn keeps(self, span: i128) -> bool {
        self.0.is_none_or(|most| span <= most)
    }
}

#[derive(Clone, Copy)]
struct Limits {
    ttft: Limit,
    total: Limit,
}

/// All orders of up to three things.
fn orders(n: usize) -> Vec<Vec<usize>> {
    match n {
        0 => vec![vec![]],
        1 => vec![vec![0]],
        2 => vec![vec![0, 1], vec![1, 0]],
        _ => [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
            .map(Vec::from)
            .to_vec(),
    }
}

/// Without an assignment at all the summaries are of no three requests. That every assignment takes
/// long between the clocks is only a warning, as it is for a request.
pub(in crate::check) fn a_witness_exists(report: &Report, log: &mut Log) {
    let cases = cases(report);
    if inversions(&cases) > MAX_INVERSIONS {
        return log.idle("the caps are too high to try every number of tokens");
    }
    let tenth = Limit(Some(100 * MS));
    let near = Limit(on_loopback(report).then_some(100 * MS));
    for case in &cases {
        let (Some(figures), Some(summary)) = (Figures::of(report, case), case.of("total_s")) else {
            continue;
        };
        let failure = |words: &str| {
            let expected = format!("rates and times of {} that {words}", case.planned.case.id);
            breach(summary.place(""), expected, "no assignment of them does")
        };
        let free = Limits { ttft: Limit(None), total: Limit(None) };
        let possible = figures.have_a_witness(free);
        log.judge(possible, || failure("one run could have had"));
        if possible {
            let usual = Limits { ttft: near, total: tenth };
            log.judge_mildly(figures.have_a_witness(usual), || {
                failure("leave at most 0.1 s between engine and client")
            });
        }
    }
}
