//! JSON pointers (RFC 6901): how they are written, read and put in order.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

/// A key as a pointer spells it: `~` and `/` are escaped.
pub fn escape(key: &str) -> Cow<'_, str> {
    if key.contains(['~', '/']) {
        Cow::Owned(key.replace('~', "~0").replace('/', "~1"))
    } else {
        Cow::Borrowed(key)
    }
}

/// The order of two pointers: step by step, indices as numbers, so that item 4 precedes item 10.
pub fn compare(a: &str, b: &str) -> Ordering {
    fn key(step: &str) -> (usize, &str) {
        (index(step).unwrap_or(usize::MAX), step)
    }
    a.split('/').map(key).cmp(b.split('/').map(key))
}

/// The way to a value, from the value upwards; prints as a pointer.
#[derive(Debug, Clone, Copy)]
pub struct Path<'a>(Option<(&'a Path<'a>, Step<'a>)>);

impl<'a> Path<'a> {
    /// The way to the document itself.
    pub const ROOT: Path<'static> = Path(None);

    /// Whether this is the way to the document itself.
    pub const fn is_root(&self) -> bool {
        self.0.is_none()
    }

    /// The way to an item of the array here.
    pub const fn item(&'a self, index: usize) -> Path<'a> {
        Path(Some((self, Step::Index(index))))
    }

    /// The way to a key of the object here.
    pub const fn key(&'a self, key: &'a str) -> Path<'a> {
        Path(Some((self, Step::Key(key))))
    }

    /// The pointer, if it has at most about this many bytes: a document of a million nulls below
    /// one long key has no room for all of theirs.
    pub fn within(&self, most: usize) -> Option<String> {
        let mut pointer = String::new();
        self.write_within(most, &mut pointer).then_some(pointer)
    }

    fn write_within(&self, most: usize, pointer: &mut String) -> bool {
        let Some((parent, step)) = self.0 else { return true };
        if !parent.write_within(most, pointer) || pointer.len() + step.bytes() > most {
            return false;
        }
        pointer.push('/');
        match step {
            Step::Index(index) => pointer.push_str(&index.to_string()),
            Step::Key(key) => pointer.push_str(&escape(key)),
        }
        true
    }

    /// The pointer for a message: of each step no more than its first characters.
    pub fn brief(&self) -> String {
        match self.0 {
            None => String::new(),
            Some((parent, Step::Key(key))) if key.len() > MOST_OF_A_KEY => {
                let cut: String = key.chars().take(MOST_OF_A_KEY).collect();
                format!("{}/{}…", parent.brief(), escape(&cut))
            }
            Some((parent, step)) => format!("{}{step}", parent.brief()),
        }
    }
}

/// Most characters of a key in a message.
const MOST_OF_A_KEY: usize = 400;

/// The last step of a way.
#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Index(usize),
    Key(&'a str),
}

impl Step<'_> {
    fn bytes(&self) -> usize {
        match self {
            Step::Index(_) => 1,
            Step::Key(key) => 1 + key.len(),
        }
    }
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Step::Index(index) => write!(f, "/{index}"),
            Step::Key(key) => write!(f, "/{}", escape(key)),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.0 {
            None => Ok(()),
            Some((parent, step)) => write!(f, "{parent}{step}"),
        }
    }
}

/// The unescaped steps of a pointer; `None` if it is neither empty nor begins with `/`.
pub(super) fn steps(pointer: &str) -> Option<impl Iterator<Item = Cow<'_, str>>> {
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return None;
    }
    Some(pointer.split('/').skip(1).map(unescape))
}

fn unescape(step: &str) -> Cow<'_, str> {
    if step.contains('~') {
        Cow::Owned(step.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(step)
    }
}

/// A step as an array index: digits without a leading zero.
pub(super) fn index(step: &str) -> Option<usize> {
    let plain = step == "0" || step.starts_with(|first: char| ('1'..='9').contains(&first));
    if plain { step.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Value, parse};

    fn check(pointer: &str, found: Option<&str>) {
        let document = parse(br#"{"a/b":[10,{"m~n":1}],"":{"":2},"01":3,"~1":4}"#).unwrap();
        let value = document.pointer(pointer).map(Value::to_string);
        assert_eq!(value.as_deref(), found, "{pointer}");
        let mut changed = document.clone();
        if found.is_some() {
            changed.set(pointer, Value::Null).unwrap();
            assert_eq!(changed.pointer(pointer), Some(&Value::Null), "{pointer}");
        }
    }

    #[test]
    fn pointers_of_rfc_6901() {
        check("/a~1b/0", Some("10"));
        check("/a~1b/1/m~0n", Some("1"));
        check("//", Some("2"));
        check("/01", Some("3"));
        check("/~01", Some("4"));
        check("/a~1b/00", None);
        check("/a~1b/2", None);
        check("/a~1b/-", None);
        check("/a~1b/0/0", None);
        check("01", None);
    }

    #[test]
    fn values_are_set_or_added() {
        let set = |pointer: &str| {
            let mut document = parse(br#"{"a":[1],"b":2}"#).unwrap();
            document.set(pointer, Value::Null).map(|()| document.to_string())
        };
        assert_eq!(set("").unwrap(), "null");
        assert_eq!(set("/a/0").unwrap(), r#"{"a":[null],"b":2}"#);
        assert_eq!(set("/a/1").unwrap(), r#"{"a":[1,null],"b":2}"#);
        assert_eq!(set("/c~1d").unwrap(), r#"{"a":[1],"b":2,"c/d":null}"#);
        assert_eq!((set("/a/2"), set("/b/c"), set("a")), (None, None, None));
    }

    #[test]
    fn long_ways_are_cut_or_left_out() {
        let key = "é".repeat(500);
        let document = parse(format!(r#"{{"{key}":[0],"a~":1}}"#).as_bytes()).unwrap();
        let mut ways = Vec::new();
        document.walk(&mut |way, _| ways.push((way.within(500), way.brief())));
        let cut = format!("/{}…", "é".repeat(400));
        assert_eq!(ways[1], (None, cut.clone()));
        assert_eq!(ways[2], (None, format!("{cut}/0")));
        assert_eq!(ways[3], (Some("/a~0".to_string()), "/a~0".to_string()));
    }

    #[test]
    fn order_is_by_step_and_number() {
        let mut pointers = ["/r/10/a", "/r/4", "/r/4/t/x", "/q", "", "/r", "/r/4/s"];
        pointers.sort_by(|a, b| compare(a, b));
        assert_eq!(pointers, ["", "/q", "/r", "/r/4", "/r/4/s", "/r/4/t/x", "/r/10/a"]);
    }
}
