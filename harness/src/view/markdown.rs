//! A sheet as Markdown with the tables of GitHub. A stranger's text stays text: no markup, no HTML.

use super::inert::{cut, inert};
use super::table::{Cell, Sheet, Table};
use std::fmt::Write;

impl Sheet<'_> {
    /// Everything, as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = format!("# {}\n\n", escaped(&self.title));
        for (index, facts) in [&self.head, &self.facts].into_iter().enumerate() {
            for fact in facts {
                let (name, value) = (escaped(&fact.label), fact.text());
                let strong = if index == 0 { "**" } else { "" };
                put(&mut text, format_args!("- {strong}{name}{strong}: {}\n", escaped(&value)));
            }
            text.push_str(if facts.is_empty() { "" } else { "\n" });
        }
        for table in &self.tables {
            put(&mut text, format_args!("## {}\n\n", table.title));
            write_table(&mut text, table);
            for note in &table.notes {
                put(&mut text, format_args!("\n{}\n", escaped(note)));
            }
            text.push('\n');
        }
        text.truncate(text.trim_end().len());
        text + "\n"
    }
}

fn put(text: &mut String, what: std::fmt::Arguments) {
    text.write_fmt(what).expect("writing to a string cannot fail");
}

fn write_table(text: &mut String, table: &Table) {
    if table.rows.is_empty() {
        text.push_str("none\n");
        return;
    }
    let shown = || table.columns.iter().enumerate().filter(|(_, column)| !column.detail);
    let (mut names, mut rules) = (String::from("|"), String::from("|"));
    for (index, column) in shown() {
        let measure = column.measure();
        let measure = if measure.is_empty() { measure } else { format!(" ({measure})") };
        put(&mut names, format_args!(" {}{measure} |", escaped(column.name)));
        rules.push_str(if table.is_numeric(index) { " --: |" } else { " --- |" });
    }
    put(text, format_args!("{names}\n{rules}\n"));
    for (_, cells) in &table.rows {
        text.push('|');
        for (index, _) in shown() {
            put(text, format_args!(" {} |", value(&cells[index])));
        }
        text.push('\n');
    }
}

fn value(cell: &Cell) -> String {
    escaped(&cell.text())
}

/// The text in one line without any character that Markdown or HTML would take for its own.
fn escaped(text: &str) -> String {
    let shown = inert(text);
    let shown = cut(&shown, MOST);
    let mut escaped = String::with_capacity(shown.len());
    let mut before = ' ';
    let mut rest = shown.chars().peekable();
    while let Some(character) = rest.next() {
        let inside = before.is_alphanumeric() && rest.peek().is_some_and(|c| c.is_alphanumeric());
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '_' if inside => escaped.push('_'), // GitHub marks nothing within a word
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' | '$' => {
                escaped.extend(['\\', character]);
            }
            '@' => escaped.push_str("&#64;"), // names nobody
            plain => escaped.push(plain),
        }
        before = character;
    }
    escaped
}

/// Most characters of a text.
const MOST: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(escaped(text), expected);
    }

    #[test]
    fn markup_stays_text() {
        check("first_answer_s", "first_answer_s");
        check("_a_ *b* `c`|", r"\_a\_ \*b\* \`c\`\|");
        check("<b>&[x](y)", r"&lt;b&gt;&amp;\[x\](y)");
        check("a\n# b\r", r"a\\n\# b\\r");
    }
}
