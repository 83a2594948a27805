//! One page for a report or a comparison: a single file without script that loads nothing, for a
//! screen, a phone and paper. Everything comes from the sheets of `view` and `compare`; this says
//! only how it looks. Whatever a report holds reaches the page as text.

mod cases;
mod chart;
mod escape;
mod findings;
mod pairs;
mod tables;
mod timeline;

use crate::compare::{Comparison, Verdict};
use crate::digest::sha256;
use crate::report::RESULTS;
use crate::view::{Document, Fact, METRICS, Piece, Report, Sheet, sheet, sources};
use escape::{base64, escape};
use tables::{cell, facts, figures, words};

const STYLE: &str = include_str!("style.css");

/// No script, no image, no font, no frame, wherever it is said to come from.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'";

/// The page of a report.
pub fn report_page(document: &Document) -> String {
    let report = Report::new("", &document.root);
    let sheet = sheet(&report, &document.outcome);
    let table = |name: &str| sheet.tables.iter().find(|table| table.name == name);
    let numbers = |name: &str| table(name).map(figures).unwrap_or_default();
    let judged = table("evaluations").filter(|table| !table.rows.is_empty()).map(figures);
    let quality = numbers("quality") + &judged.unwrap_or_default();
    let measured = facts(&sheet.facts);
    let requests = match report.rows().is_empty() {
        true => "<p>This file holds no requests, only summaries of them.</p>".to_string(),
        false => numbers("requests") + &origins(&report),
    };
    let sections = [
        Section::new("time", "All requests on one time axis", timeline::chart(&report, document)),
        Section::new("cases", "Case by case", cases::charts(&report)),
        Section::new("summaries", "Summaries", numbers("summaries")),
        Section::new("quality", "Quality", quality),
        Section::new("measured", "What was measured", measured + &numbers("counts")),
        Section::new("findings", "What check found", findings::list(&document.outcome)),
        Section::new("unknown", "What is unknown", table("unknown").map(words).unwrap_or_default()),
        Section::new("requests", "Every request", requests).wide(),
        Section::new("report", "The report itself", download(&report, document)),
    ];
    let title = title(&report);
    page(&title, &head(&report, &title, &sheet.head), &sections)
}

/// The page of a comparison.
pub fn comparison_page(comparison: &Comparison, documents: [&Document; 2]) -> String {
    let sheet = comparison.sheet();
    let [a, b] = [&comparison.a.report, &comparison.b.report];
    let mut sections = Vec::new();
    if !comparison.groups.is_empty() {
        sections.push(Section::new("cases", "Case by case", pairs::charts(comparison)));
    }
    sections.push(Section::new("measured", "The two reports", facts(&sheet.facts)));
    for table in &sheet.tables {
        let body =
            if matches!(table.name, "keys" | "context") { words(table) } else { figures(table) };
        sections.push(Section::new(table.name, table.title, body));
    }
    let downloads = download(a, documents[0]) + &download(b, documents[1]);
    sections.push(Section::new("report", "The reports themselves", downloads));
    let title = format!("A {} and B {}", title(a), title(b));
    let head = format!(
        "<header><p class=over>comparison, seed with seed</p><h1><span>A</span> {}<br>\
         <span>B</span> {}</h1>{}</header>",
        escape(&self::title(a)),
        escape(&self::title(b)),
        verdict(&sheet, comparison.verdict() == Verdict::Comparable)
    );
    page(&title, &head, &sections)
}

/// A part of a page with its heading.
struct Section {
    /// Also what the contents call it.
    id: &'static str,
    title: &'static str,
    body: String,
    wide: bool,
}

impl Section {
    fn new(id: &'static str, title: &'static str, body: String) -> Section {
        Section { id, title, body, wide: false }
    }

    fn wide(self) -> Section {
        Section { wide: true, ..self }
    }
}

fn page(title: &str, head: &str, sections: &[Section]) -> String {
    let link = |section: &Section| format!("<li><a href=\"#{0}\">{0}</a></li>", section.id);
    let links: String = sections.iter().map(link).collect();
    let section = |section: &Section| {
        let Section { id, title, body, wide } = section;
        let class = if *wide { " class=wide" } else { "" };
        format!("<section id=\"{id}\"{class}>\n<h2>{title}</h2>\n{body}\n</section>\n")
    };
    let body: String = sections.iter().map(section).collect();
    let (title, version) = (escape(title), env!("CARGO_PKG_VERSION"));
    format!(
        "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\n\
         <meta name=color-scheme content=\"light dark\">\n\
         <meta http-equiv=Content-Security-Policy content=\"{POLICY}\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{head}\n\
         <nav aria-label=Contents><ul>{links}</ul></nav>\n{body}\
         <footer><p>Made by strata-bench {version}. This page holds no script and loads nothing. \
         The title of a figure names its JSON pointer, clock and source.</p></footer>\n\
         </main>\n</body>\n</html>\n"
    )
}

/// What was measured on what, in a few words.
fn title(report: &Report) -> String {
    let text = |pointer: &str| report.value(pointer).and_then(|value| value.as_str());
    let model = text("/model/id").unwrap_or("an unnamed model");
    let machine = text("/hardware/gpus/0/name").or_else(|| text("/hardware/cpu"));
    format!("{model} on {}", machine.unwrap_or("an unnamed machine"))
}

fn head(report: &Report, title: &str, head: &[Fact]) -> String {
    let (model, machine) = title.split_once(" on ").unwrap_or((title, ""));
    let line = |pointer: String| cell(&report.at(pointer));
    format!(
        "<header><p class=over>{}, schema {}</p>\n<h1>{} <span>on {}</span></h1>\n\
         <p class=lead>{}, run {}</p>\n{}</header>",
        line("/format".to_string()),
        line("/schema_version".to_string()),
        escape(model),
        escape(machine),
        line("/protocol/id".to_string()),
        line(report.run("/id")),
        states(head),
    )
}

/// The verdicts on a report: by the review, by the run itself.
fn states(head: &[Fact]) -> String {
    let state = |fact: &Fact| {
        let text = fact.text();
        let (word, rest) = text.split_once(':').unwrap_or((&text, ""));
        let good = matches!(word, "accepted" | "complete");
        let (class, mark) = if good { ("good", "✓") } else { ("bad", "✕") };
        let who = match &*fact.label {
            "check" => "by a review of every rule",
            _ => "by the run’s own account",
        };
        format!(
            "<li class={class}><b><i aria-hidden=true>{mark}</i> {}</b> <span>{}</span>\
             <small>{who}</small></li>\n",
            escape(word),
            escape(rest.trim()),
        )
    };
    format!("<ul class=verdict>\n{}</ul>", head.iter().map(state).collect::<String>())
}

/// The verdict on a comparison, each reason on its own line.
fn verdict(sheet: &Sheet, good: bool) -> String {
    let (class, mark) = if good { ("good", "✓") } else { ("bad", "✕") };
    let mut lines = sheet.head.iter().map(|fact| escape(&fact.text()));
    let word = lines.next().unwrap_or_default();
    let reasons: String = lines.map(|reason| format!("<li>{reason}</li>\n")).collect();
    let reasons = if reasons.is_empty() { reasons } else { format!("<ul>{reasons}</ul>") };
    format!(
        "<ul class=verdict><li class={class}><b><i aria-hidden=true>{mark}</i> {word}</b>\
         {reasons}</li></ul>"
    )
}

/// Where the figures of the requests were read, by column.
fn origins(report: &Report) -> String {
    let keys = [
        ("input", "input_tokens"),
        ("cached", "cached_tokens"),
        ("read", "read_tokens"),
        ("output", "output_tokens"),
        ("decode", "decode_tokens"),
        ("prompt_s, decode_s and their rates", "engine_timings"),
        ("ttft_s, first_answer_s, total_s", "client_timings"),
    ];
    let entry = |(columns, key): (&str, &str)| {
        let texts: Vec<String> = sources(report, key).into_iter().map(escape).collect();
        let texts = if texts.is_empty() { "not stated".to_string() } else { texts.join(" · ") };
        format!("<dt>{columns}</dt><dd>{texts}</dd>\n")
    };
    let entries: String = keys.into_iter().map(entry).collect();
    format!("<h3>Where the figures were read</h3>\n<dl class=facts>\n{entries}</dl>")
}

/// The report's own bytes as a link, with their digest.
fn download(report: &Report, document: &Document) -> String {
    let bytes = &document.bytes;
    let name =
        if report.name.is_empty() { RESULTS.to_string() } else { format!("{}.json", report.name) };
    format!(
        "<p><a class=button download=\"{name}\" href=\"data:application/json;base64,{}\">Save \
         {name}</a> {} bytes, SHA-256 <code>{}</code></p>\n",
        base64(bytes),
        bytes.len(),
        sha256(bytes),
    )
}

/// Text of a piece for the page.
fn piece(piece: &Piece) -> String {
    match piece {
        Piece::Words(text) => escape(text),
        Piece::Cell(value) => cell(value),
    }
}

/// The metrics in the order of the charts.
const CHARTED: [usize; METRICS.len()] = [1, 0, 2, 3, 4];

#[cfg(test)]
mod tests;
