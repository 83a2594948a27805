//! All requests on one axis of the client's clock: how long each waited for its first token, how
//! long it thought, how long it answered.

use super::chart::{Scale, number};
use super::escape::escape;
use crate::json::Value;
use crate::view::{Document, Report, Row};
use std::collections::HashMap;

/// Most requests that are drawn.
const MOST: usize = 1_000;

/// The moments of a request in seconds from the first dispatch.
struct Bar<'r, 'a> {
    row: &'r Row<'a>,
    sent: f64,
    first_token: Option<f64>,
    first_answer: Option<f64>,
    end: f64,
}

pub(super) fn chart(report: &Report, document: &Document) -> String {
    if report.rows().is_empty() {
        return "<p>This file holds no requests, so there is nothing to put on an axis.</p>"
            .to_string();
    }
    let (sent, note) = dispatches(report, document);
    let bars: Vec<Bar> =
        report.rows().iter().take(MOST).filter_map(|row| bar(row, &sent)).collect();
    let scale = Scale::over(bars.iter().map(|bar| bar.end));
    let rows: String = bars.iter().map(|bar| drawn(bar, scale)).collect();
    let undrawn = report.rows().len() - bars.len();
    let undrawn = if undrawn == 0 {
        String::new()
    } else {
        format!(" {undrawn} requests have no time and are not drawn.")
    };
    format!(
        "<figure class=time><ol>\n{rows}<li class=scale aria-hidden=true><span></span>{}\
         <span></span></li></ol>\n<figcaption>{LEGEND} Seconds of the client’s clock. \
         {note}{undrawn}</figcaption></figure>",
        axis(scale)
    )
}

const LEGEND: &str = "<span class=key><svg viewBox=\"0 0 30 14\"><path class=wait d=\"M0,7H30\"/>\
    </svg> waiting for the first token</span> <span class=key><svg viewBox=\"0 0 30 14\"><rect \
    class=think y=4 width=30 height=6 /></svg> reasoning</span> <span class=key><svg viewBox=\"0 0 \
    30 14\"><rect class=say y=1 width=30 height=12 /></svg> answering</span> <span class=key><svg \
    viewBox=\"0 0 30 14\"><rect class=say y=1 width=24 height=12 /><path class=cut \
    d=\"M26.5,0V14\"/></svg> cut off at the cap</span>";

fn bar<'r, 'a>(row: &'r Row<'a>, sent: &HashMap<&str, f64>) -> Option<Bar<'r, 'a>> {
    let sent = *sent.get(row.id())?;
    let after = |path: &str| row.value.pointer(path).and_then(number).map(|time| sent + time);
    Some(Bar {
        row,
        sent,
        first_token: after("/timings/ttft_s"),
        first_answer: after("/timings/first_answer_s"),
        end: after("/timings/total_s")?,
    })
}

/// When each request was sent, in seconds from the first; and how that is known.
fn dispatches<'a>(
    report: &Report<'a>,
    document: &Document,
) -> (HashMap<&'a str, f64>, &'static str) {
    let times: Vec<(&str, f64)> = report
        .rows()
        .iter()
        .filter_map(|row| Some((row.id(), row.value.pointer("/timings/total_s").and_then(number)?)))
        .collect();
    let offsets = report.value("/extensions/client_offsets_us").map(Value::entries);
    let offsets = offsets.unwrap_or_default().iter();
    let reported: HashMap<&str, f64> = offsets
        .filter_map(|(id, at)| Some((id.as_str(), at.get("dispatch").and_then(number)? / 1e6)))
        .collect();
    let recorded = |id: &str| document.dispatches.get(id).map(|ns| *ns as f64 / 1e9);
    let of = |at: &dyn Fn(&str) -> Option<f64>| {
        let known: Option<Vec<_>> = times.iter().map(|(id, _)| Some((*id, at(id)?))).collect();
        let known = known?;
        let first = known.iter().map(|(_, at)| *at).fold(f64::INFINITY, f64::min);
        Some(known.into_iter().map(|(id, at)| (id, at - first)).collect())
    };
    if let Some(sent) = of(&recorded) {
        return (sent, "When each was sent is from outputs.jsonl.");
    }
    if let Some(sent) = of(&|id| reported.get(id).copied()) {
        return (sent, "When each was sent is from /extensions/client_offsets_us.");
    }
    let mut end = 0.0;
    let laid = times.into_iter().map(|(id, time)| {
        end += time;
        (id, end - time)
    });
    (laid.collect(), "When each was sent is not in this file: they are laid end to end, in order.")
}

fn drawn(bar: &Bar, scale: Scale) -> String {
    let Bar { row, sent, first_token, first_answer, end } = bar;
    let token = first_token.unwrap_or(*end).clamp(*sent, *end);
    let answer = first_answer.unwrap_or(*end).clamp(token, *end);
    let block = |class: &str, from: f64, to: f64, top: u32, height: u32| {
        let (x, width) = (scale.at(from), scale.at(to) - scale.at(from));
        match width > 0.0 {
            true => format!(
                "<rect class={class} x=\"{x:.3}%\" width=\"{width:.3}%\" y={top} height={height} />"
            ),
            false => String::new(),
        }
    };
    let mut marks = grid(scale);
    marks += &format!(
        "<line class=wait x1=\"{:.3}%\" x2=\"{:.3}%\" y1=10 y2=10 />",
        scale.at(*sent),
        scale.at(token)
    );
    marks += &block("think", token, answer, 7, 6);
    marks += &block("say", answer, *end, 4, 12);
    let status = row.text("/status");
    if status == "truncated" {
        let at = scale.at(*end);
        marks += &format!("<line class=cut x1=\"{at:.3}%\" x2=\"{at:.3}%\" y1=2 y2=18 />");
    }
    let said = |what: &str, at: Option<f64>| {
        at.map_or(String::new(), |at| format!(", {what} after {:.3} s", at - sent))
    };
    let label = format!(
        "sent at {sent:.3} s{}{}{}",
        said("first token", *first_token),
        said("first answer", *first_answer),
        said("ended", Some(*end))
    );
    format!(
        "<li><span>{}</span><svg role=img aria-label=\"{label}\">{marks}</svg>\
         <span>{}</span></li>\n",
        escape(row.id()),
        escape(status)
    )
}

fn grid(scale: Scale) -> String {
    let line = |tick: f64| {
        let at = scale.at(tick);
        format!("<line class=grid x1=\"{at:.3}%\" x2=\"{at:.3}%\" y1=0 y2=20 />")
    };
    scale.ticks().into_iter().map(line).collect()
}

fn axis(scale: Scale) -> String {
    let label = |tick: f64| {
        let at = scale.at(tick);
        let anchor = if at > 97.0 {
            "end"
        } else if at < 0.5 {
            "start"
        } else {
            "middle"
        };
        let text = format!("{tick:.3}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        format!("<text x=\"{at:.3}%\" y=14 text-anchor={anchor}>{text}</text>")
    };
    let labels: String = scale.ticks().into_iter().map(label).collect();
    format!("<svg>{labels}</svg>")
}
