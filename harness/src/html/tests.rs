//! The page: what it holds is the report's, what a stranger writes stays text.

use super::{comparison_page, report_page};
use crate::check::{Subject, check};
use crate::compare::{Comparison, Side};
use crate::json::hostile::{self, golden, poison};
use crate::json::{Value, parse};
use crate::view::{Document, Drafts};
use proptest::prelude::*;
use std::collections::HashMap;

fn document(root: Value) -> Document {
    let bytes = root.to_string().into_bytes();
    let subject = Subject { report: &bytes, directory: None, rebuilt: None, protocols: &[] };
    let outcome = check(&subject);
    Document { bytes, root, outcome, dispatches: HashMap::new(), drafts: Drafts::new() }
}

fn open(name: &str) -> Document {
    document(parse(&golden(name)).unwrap())
}

fn compared(a: &Document, b: &Document) -> String {
    let comparison = Comparison::new(Side::new("A", a), Side::new("B", b), None);
    comparison_page(&comparison, [a, b])
}

/// A page without its style and its copy of the report, a tag a line.
fn normal(page: &str) -> String {
    let style = page.split_once("<style>").unwrap();
    let page = [style.0, style.1.split_once("</style>").unwrap().1].concat();
    let (before, data) = page.split_once("base64,").unwrap();
    let page = [before, data.split_once('"').unwrap().1].concat();
    page.replace("><", ">\n<")
}

#[test]
fn the_page_of_a_wrapper() {
    insta::assert_snapshot!("wrapper", normal(&report_page(&open("wrapper.json"))));
}

/// The tags of a page in order, with the names of their attributes. Fails on a page that a reader
/// of HTML could take otherwise.
fn tags(page: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some((text, after)) = rest.split_once('<') {
        assert!(!text.contains('>') || tags.last().is_some_and(|tag| tag == "style"), "{text}");
        let mut tag = String::new();
        let mut quoted = false;
        let end = after.find(|c: char| {
            quoted ^= c == '"';
            if !quoted && c != '"' && c != '>' {
                tag.push(c);
            }
            assert!(c != '<', "a tag in a tag: {after:.80}");
            c == '>' && !quoted
        });
        tags.push(tag);
        rest = &after[end.unwrap() + 1..];
    }
    tags
}

fn check_inert(page: &str) {
    for tag in tags(page) {
        let name = tag.split([' ', '\n']).next().unwrap();
        let known = [
            "!doctype",
            "html",
            "head",
            "meta",
            "title",
            "style",
            "body",
            "main",
            "header",
            "p",
            "h1",
            "h2",
            "h3",
            "span",
            "ul",
            "ol",
            "li",
            "b",
            "i",
            "small",
            "nav",
            "a",
            "section",
            "div",
            "figure",
            "figcaption",
            "svg",
            "line",
            "rect",
            "circle",
            "path",
            "text",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "data",
            "dl",
            "dt",
            "dd",
            "code",
            "article",
            "footer",
            "br",
        ];
        assert!(known.contains(&name.trim_start_matches('/')), "{tag}");
        let attributes = tag.split([' ', '\n']).filter(|part| part.starts_with("on"));
        assert_eq!(attributes.count(), 0, "{tag}");
    }
    assert!(page.chars().all(|c| c == '\n' || !c.is_control()));
    assert!(!page.contains("http-equiv=refresh"));
}

#[test]
fn a_hostile_report_stays_text() {
    let texts = [
        "<script>alert(1)</script>",
        "\" onmouseover=\"alert(1)",
        "' onload='alert(1)",
        "</style></title><!--<img src=x onerror=alert(1)>",
        "]]>\u{2028}\0\u{1b}[2J&lt;",
    ];
    for (text, name) in texts
        .iter()
        .flat_map(|text| ["full.json", "wrapper.json", "embedded.json"].map(|name| (text, name)))
    {
        let mut root = parse(&golden(name)).unwrap();
        poison(&mut root, text);
        let document = document(root);
        let page = report_page(&document);
        check_inert(&page);
        assert!(page.contains("alert(1)") || !text.contains("alert"), "it is shown");
        check_inert(&compared(&document, &open(name)));
    }
}

#[test]
fn a_page_loads_nothing() {
    let pages = [report_page(&open("full.json")), compared(&open("full.json"), &open("full.json"))];
    for page in pages {
        for word in ["src=", "url(", "@import", "<link", "<script", "<iframe", "//fonts"] {
            assert!(!page.contains(word), "{word}");
        }
        let links = page.split("href=\"").skip(1);
        assert!(links.into_iter().all(|to| to.starts_with('#') || to.starts_with("data:")));
    }
}

/// Every figure of requests, summaries and quality is on the page, each with its place and as the
/// report prints it.
#[test]
fn figures_are_the_reports_own() {
    for name in ["full.json", "wrapper.json", "embedded.json"] {
        let document = open(name);
        let page = report_page(&document);
        let mut shown: HashMap<&str, &str> = HashMap::new();
        for figure in page.split("<data value=\"").skip(1) {
            let (value, rest) = figure.split_once("\" data-at=\"").unwrap();
            shown.insert(rest.split_once('"').unwrap().0, value);
            let (_, rest) = rest.split_once('>').unwrap();
            let text = rest.split_once("</data>").unwrap().0;
            assert_eq!(text.replace("<i>", "").replace("</i>", ""), value);
        }
        for (place, value) in &shown {
            assert_eq!(document.root.pointer(place).unwrap().to_string(), *value, "{place}");
        }
        document.root.walk(&mut |place, value| {
            let place = place.to_string();
            let block = place.split('/').nth(1).unwrap_or("");
            let unit = ["tokens/", "timings/", "metrics/"].iter().any(|b| place.contains(b));
            let figure = unit || matches!(block, "summaries" | "quality" | "request_counts");
            if value.as_number().is_some() && figure && !place.ends_with("/concurrency") {
                assert!(shown.contains_key(place.as_str()), "{name}: {place} is not on the page");
            }
        });
    }
}

proptest! {
    #![proptest_config(crate::fixture::cases(32))]

    #[test]
    fn whatever_parses_is_a_page(a in hostile::report(), b in hostile::report()) {
        let (a, b) = (document(a), document(b));
        check_inert(&report_page(&a));
        check_inert(&compared(&a, &b));
    }
}
