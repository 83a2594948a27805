//! Keeps a hostile template off the end of the stack, which minijinja's parser, compiler, printer
//! and destructors use in proportion to nesting. A tag is short, and every value that a tag binds
//! to a name passes a filter that makes it plain data of few levels: so no value is ever deeper
//! than those levels and what one tag can add. Knows nothing of conversations.

use minijinja::machinery::{Span, Token, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{
    DynObject, Enumerator, Kwargs, Object, ObjectExt, ObjectRepr, Tuple, ValueOrKwargs,
};
use minijinja::{Environment, Error, ErrorKind, State, Value};
use minijinja_contrib::pycompat::unknown_method_callback;
use std::sync::Arc;

/// Bytes of a template. Models' own have up to 30 KiB.
pub(super) const MAX_BYTES: usize = 256 * 1024;

/// Tokens in one tag: the parser and the compiler recurse for each of a chain of operators. Models'
/// own have up to 35.
pub(super) const MAX_TOKENS: usize = 400;

/// Brackets inside each other in one tag; each is the whole of the expression parser. Models' own
/// have up to 3.
pub(super) const MAX_BRACKETS: usize = 20;

/// Blocks inside each other.
pub(super) const MAX_BLOCKS: usize = 32;

/// `elif`s around one place: to the parser, each is an `if` inside the one before. Models' own have
/// up to 11 in all.
pub(super) const MAX_ELIFS: usize = 100;

/// Lists and mappings inside each other in a value that has a name. A request may hold 128, and
/// another 127 in arguments of tool calls that come as text.
pub(super) const MAX_LEVELS: usize = 160;

/// The filter; filters are in a name space of their own, which no template can write to.
const FILTER: &str = "bounded";

/// Adds what rewritten templates call, and takes away what cannot be bounded.
pub(super) fn prepare(environment: &mut Environment) {
    environment.set_unknown_method_callback(method);
    environment.add_filter(FILTER, bounded);
    environment.add_function("namespace", namespace);
    environment.remove_global("debug");
    // Its groups have attributes besides their items, so they are no plain data.
    environment.remove_filter("groupby");
}

/// The template with every value that gets a name sent through the filter, or why it is refused.
/// What cannot be read is left as it is, for the parser to report.
pub(super) fn rewrite(source: &str, syntax: SyntaxConfig) -> Result<String, String> {
    if source.len() > MAX_BYTES {
        return Err(format!(
            "{} bytes, but at most {MAX_BYTES} are taken: shorten it",
            source.len()
        ));
    }
    let tokens: Vec<_> = tokenize(source, false, syntax).map_while(Result::ok).collect();
    let mut rewriter = Rewriter {
        reads_caller: tokens.iter().any(|(token, _)| is_word(token, "caller")),
        edits: Vec::new(),
        blocks: Vec::new(),
    };
    let mut rest = tokens.as_slice();
    while let Some(start) = rest.iter().position(|(token, _)| is_start(token)) {
        rest = &rest[start..];
        let end = rest.iter().position(|(token, _)| is_end(token)).unwrap_or(rest.len());
        rewriter.check(&rest[..end])?;
        if end < rest.len() && matches!(rest[0].0, Token::BlockStart) {
            rewriter.bind(&rest[1..=end]);
        }
        rest = &rest[end..];
    }
    Ok(rewriter.apply(source))
}

type Located<'a> = (Token<'a>, Span);

struct Rewriter {
    /// Calls can bind `caller`, too; that matters only where a template reads it.
    reads_caller: bool,
    /// What to insert before which byte, in order.
    edits: Vec<(usize, String)>,
    /// How many `elif`s each block that is open has had so far.
    blocks: Vec<usize>,
}

impl Rewriter {
    /// Refuses a tag, given without its end, in which the parser might go too deep, or that keeps
    /// values where no name is.
    fn check(&mut self, tag: &[Located]) -> Result<(), String> {
        let line = tag[0].1.start_line;
        let at_most = |what: &str, found: usize, most: usize, remedy: &str| {
            let message =
                || format!("line {line}: {found} {what}, but at most {most} are taken: {remedy}");
            if found > most { Err(message()) } else { Ok(()) }
        };
        at_most("tokens in a tag", tag.len(), MAX_TOKENS, "split it")?;
        at_most("brackets inside each other", deepest(tag), MAX_BRACKETS, "split the tag")?;
        if let [(Token::BlockStart, _), (Token::Ident(keyword), _), rest @ ..] = tag {
            match *keyword {
                "if" | "for" | "with" | "macro" | "call" | "filter" | "autoescape" => {
                    self.blocks.push(0);
                }
                "set" if find(rest, 0, is_assign).is_none() => self.blocks.push(0),
                "elif" => self.blocks.last_mut().into_iter().for_each(|elifs| *elifs += 1),
                end if end.starts_with("end") => drop(self.blocks.pop()),
                _ => {}
            }
            if *keyword == "for" && rest.iter().any(|(token, _)| is_word(token, "recursive")) {
                return Err(format!("line {line}: no loop may be recursive: use a macro"));
            }
        }
        at_most("blocks inside each other", self.blocks.len(), MAX_BLOCKS, "use macros")?;
        at_most("elif around one place", self.blocks.iter().sum(), MAX_ELIFS, "use several if")?;
        let missing = |word: &str, remedy: &str| {
            let uses =
                |pair: &[Located]| matches!(pair[0].0, Token::Dot) && is_word(&pair[1].0, word);
            let message = || format!("line {line}: there is no loop.{word}: use {remedy}");
            if tag.windows(2).any(uses) { Err(message()) } else { Ok(()) }
        };
        // It keeps values where no name is.
        missing("changed", "loop.previtem")?;
        // minijinja divides by the number of its arguments, which may be none.
        missing("cycle", "loop.index0 and %")
    }

    /// Sends what a block tag binds through the filter; the tag from its keyword to its end.
    fn bind(&mut self, tag: &[Located]) {
        let Token::Ident(keyword) = tag[0].0 else { return };
        let end = tag.len() - 1;
        match keyword {
            "set" => self.bind_set(tag),
            "with" => {
                let mut from = 1;
                while from < end {
                    let to = find(tag, from, |token| matches!(token, Token::Comma)).unwrap_or(end);
                    if let Some(at) = find(&tag[..to], from, is_assign) {
                        self.wrap(tag, at, to, false);
                    }
                    from = to + 1;
                }
            }
            "for" => {
                if let Some(at) = tag.iter().position(|(token, _)| is_word(token, "in")) {
                    let to = find(tag, at + 1, |token| is_word(token, "if")).unwrap_or(end);
                    self.wrap(tag, at, to, false);
                }
            }
            "macro" => self.bind_parameters(tag, 2),
            "call" => self.bind_parameters(tag, 1),
            _ => {}
        }
    }

    fn bind_set(&mut self, tag: &[Located]) {
        let end = tag.len() - 1;
        let value = find(tag, 1, is_assign);
        let filter = find(tag, 1, |token| matches!(token, Token::Pipe));
        let target = &tag[1..value.or(filter).unwrap_or(end)];
        let attribute = target.iter().any(|(token, _)| matches!(token, Token::Dot));
        match (value, filter) {
            (Some(at), _) => self.wrap(tag, at, end, attribute),
            (None, Some(_)) => self.insert(tag[end].1.start_offset, filter_call(attribute)),
            // The text of a block.
            (None, None) => {}
        }
    }

    /// The expression behind token `at` and before token `to`.
    fn wrap(&mut self, tag: &[Located], at: usize, to: usize, attribute: bool) {
        self.insert(tag[at].1.end_offset, " (".to_owned());
        self.insert(tag[to].1.start_offset, format!("){}", filter_call(attribute)));
    }

    /// A macro binds its parameters where it is called, so its body begins by binding them anew.
    fn bind_parameters(&mut self, tag: &[Located], at: usize) {
        let mut names = Vec::new();
        if matches!(tag.get(at), Some((Token::ParenOpen, _))) {
            let close = find(tag, at + 1, |token| matches!(token, Token::ParenClose));
            let mut from = at + 1;
            while from < close.unwrap_or(tag.len() - 1) {
                if let Token::Ident(name) = tag[from].0 {
                    names.push(name);
                }
                let comma = find(tag, from, |token| matches!(token, Token::Comma));
                from = comma.map_or(tag.len(), |comma| comma + 1);
            }
        }
        let end = tag[tag.len() - 1].1.start_offset;
        if self.reads_caller {
            // A macro is only given what it reads before it sets it.
            self.insert(end, " %}{% if caller is defined %}{% endif ".to_owned());
            names.push("caller");
        }
        for name in names {
            self.insert(end, format!(" %}}{{% set {name} = {name}{}", filter_call(false)));
        }
    }

    fn insert(&mut self, before: u32, text: String) {
        self.edits.push((before as usize, text));
    }

    fn apply(self, source: &str) -> String {
        let mut rewritten = String::with_capacity(source.len());
        let mut done = 0;
        for (before, text) in self.edits {
            rewritten += &source[done..before];
            rewritten += &text;
            done = before;
        }
        rewritten + &source[done..]
    }
}

fn filter_call(attribute: bool) -> String {
    format!("|{FILTER}{} ", if attribute { "(true)" } else { "" })
}

/// The first token from `from` on, outside of brackets that open there, that is wanted.
fn find(tag: &[Located], from: usize, wanted: impl Fn(&Token) -> bool) -> Option<usize> {
    let mut open = 0_usize;
    for (index, (token, _)) in tag.iter().enumerate().skip(from) {
        if open == 0 && wanted(token) {
            return Some(index);
        }
        open = brackets(open, token);
    }
    None
}

/// The brackets open behind a token.
fn brackets(open: usize, token: &Token) -> usize {
    match token {
        Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => open + 1,
        Token::ParenClose | Token::BracketClose | Token::BraceClose => open.saturating_sub(1),
        _ => open,
    }
}

fn deepest(tag: &[Located]) -> usize {
    let mut open = 0_usize;
    let mut deepest = 0;
    for (token, _) in tag {
        open = brackets(open, token);
        deepest = deepest.max(open);
    }
    deepest
}

fn is_word(token: &Token, word: &str) -> bool {
    matches!(token, Token::Ident(found) if *found == word)
}

fn is_assign(token: &Token) -> bool {
    matches!(token, Token::Assign)
}

fn is_start(token: &Token) -> bool {
    matches!(token, Token::BlockStart | Token::VariableStart)
}

fn is_end(token: &Token) -> bool {
    matches!(token, Token::BlockEnd | Token::VariableEnd)
}

/// What a name may hold: plain data, or one thing of the template's own (a namespace, a macro, a
/// loop). An attribute of a namespace may hold plain data only.
fn bounded(state: &State, value: &Value, attribute: Option<bool>) -> Result<Value, Error> {
    match value.as_object() {
        Some(object) if is_own(object) && attribute != Some(true) => Ok(value.clone()),
        _ => plain(state, value, MAX_LEVELS),
    }
}

/// Python's methods, but for a `format` whose result nobody would pay fuel for.
fn method(state: &mut State, value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    if name == "format" && value.as_str().is_some_and(is_wide) {
        return Err(refuse("a width of 5 digits or more in format()".to_owned()));
    }
    unknown_method_callback(state, value, name, args)
}

/// Whether a field of a format text holds a number of 5 digits.
fn is_wide(text: &str) -> bool {
    let fields = text.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    fields.into_iter().any(|field| {
        let mut runs = field.split(|c: char| !c.is_ascii_digit());
        runs.any(|digits| digits.len() >= 5)
    })
}

/// minijinja's, with attributes that a namespace may have.
fn namespace(state: &State, values: Option<ValueOrKwargs>) -> Result<Value, Error> {
    let Some(values) = values else { return minijinja::functions::namespace(None) };
    let values = plain(state, &values, MAX_LEVELS + 1)?;
    minijinja::functions::namespace(Some(values.into()))
}

/// The value with lists and mappings in place of what computes its items only when they are asked
/// for: such things stand for others inside them without showing how many. Costs half an
/// instruction an item, as minijinja's own lists do.
fn plain(state: &State, value: &Value, levels: usize) -> Result<Value, Error> {
    let Some(object) = value.as_object() else { return Ok(value.clone()) };
    if is_own(object) {
        return Err(refuse("a namespace, macro or loop inside another value".to_owned()));
    }
    let Some(levels) = levels.checked_sub(1) else {
        return Err(refuse(format!("a value nested deeper than {MAX_LEVELS}")));
    };
    state.consume_fuel(1)?;
    if object.repr() == ObjectRepr::Map {
        let no_others = Kwargs::from_iter(std::iter::empty::<(String, Value)>());
        let mut pairs = Vec::new();
        for (key, value) in object.try_iter_pairs().into_iter().flatten() {
            state.consume_fuel(1)?;
            pairs.push((plain(state, &key, levels)?, plain(state, &value, levels)?));
        }
        return minijinja::functions::dict(Some(Value::from_object(Pairs(pairs))), no_others);
    }
    let mut items = Vec::new();
    for (index, item) in object.try_iter().into_iter().flatten().enumerate() {
        state.consume_fuel(index as u64 % 2)?;
        items.push(plain(state, &item, levels)?);
    }
    Ok(if value.is_tuple() { Tuple::from(items).into() } else { items.into() })
}

/// A mapping on its way to minijinja's own, whose type has no name outside.
#[derive(Debug)]
struct Pairs(Vec<(Value, Value)>);

impl Object for Pairs {
    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.mapped_key_value_enumerator(|pairs| Box::new(pairs.0.iter().cloned()))
    }
}

/// Whether it is neither a list nor a mapping, or one that templates change.
fn is_own(object: &DynObject) -> bool {
    let name = object.type_name();
    object.repr() == ObjectRepr::Plain
        || ["::Namespace", "::Macro", "::Loop"].iter().any(|own| name.ends_with(own))
}

fn refuse(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}
