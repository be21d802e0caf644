//! One value of a scenario's text, read or replaced where it stands: comments, order and everything else stay as written.
//!
//! For forms beside a text, as in the playground. Nothing is checked here but that the text is TOML; code that changed a value
//! checks the whole again. Keys inside a value that replaced a whole table are found as well.

use crate::tree::{Step, parse_path, push_key, shorten};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The value at `path` as it is written, in TOML; `None` where a default stands in, or the text is no TOML.
pub fn value_at<'t>(text: &'t str, path: &str) -> Option<&'t str> {
    let root = DeTable::parse(text).ok()?;
    match find(&root, text, &parse_path(path).ok()?) {
        PathTarget::Value(span) => text.get(span),
        _ => None,
    }
}

/// The text with `value`, in TOML, at `path`. A key that is not there is added to its table, and the table if need be.
///
/// # Errors
/// Why nothing was changed, in one sentence.
pub fn with_value(text: &str, path: &str, value: &str) -> Result<String, String> {
    let root = DeTable::parse(text)
        .map_err(|_| "the scenario is not valid TOML; correct it first".to_string())?;
    let steps = parse_path(path)?;
    let absent = || format!("{} is not in the scenario; add its table first", shorten(path));
    match find(&root, text, &steps) {
        PathTarget::Value(span) => {
            Ok(format!("{}{value}{}", &text[..span.start], &text[span.end..]))
        }
        PathTarget::Inline { end, rest, empty } => {
            let key = dotted(rest).ok_or_else(absent)?;
            let comma = if empty { "" } else { "," };
            let before = text[..end].trim_end();
            Ok(format!("{before}{comma} {key} = {value} {}", &text[end..]))
        }
        PathTarget::Headed { at, rest } => {
            let key = dotted(rest).ok_or_else(absent)?;
            let line = text[at..].find('\n').map_or(text.len(), |i| at + i + 1);
            let gap = if text[..line].ends_with('\n') { "" } else { "\n" };
            Ok(format!("{}{gap}{key} = {value}\n{}", &text[..line], &text[line..]))
        }
        PathTarget::Nothing => {
            let (last, table) = steps.split_last().ok_or_else(absent)?;
            let key = dotted(std::slice::from_ref(last)).ok_or_else(absent)?;
            if table.is_empty() {
                // Keys of the document itself stand before its first table.
                return Ok(format!("{key} = {value}\n{text}"));
            }
            let table = dotted(table).ok_or_else(absent)?;
            let gap = if text.ends_with('\n') { "" } else { "\n" };
            Ok(format!("{text}{gap}\n[{table}]\n{key} = {value}\n"))
        }
    }
}

/// The text without the key at `path`, which stands on a line of its own. A key that is not there is left out already.
///
/// # Errors
/// Why nothing was changed, in one sentence.
pub fn without(text: &str, path: &str) -> Result<String, String> {
    let root = DeTable::parse(text)
        .map_err(|_| "the scenario is not valid TOML; correct it first".to_string())?;
    let steps = parse_path(path)?;
    let PathTarget::Value(span) = find(&root, text, &steps) else { return Ok(text.into()) };
    let start = text[..span.start].rfind('\n').map_or(0, |i| i + 1);
    let end = text[span.end..].find('\n').map_or(text.len(), |i| span.end + i + 1);
    let key = steps.split_last().and_then(|(last, _)| dotted(std::slice::from_ref(last)));
    let before = text[start..span.start].trim_end().trim_end_matches('=').trim();
    match key.is_some_and(|key| before == key || before.ends_with(&format!(".{key}"))) {
        true => Ok(format!("{}{}", &text[..start], &text[end..])),
        false => Err(format!("{} does not stand on a line of its own", shorten(path))),
    }
}

/// Keys as they are written, `memory.control`; `None` where one is an index.
fn dotted(steps: &[Step]) -> Option<String> {
    let keys = steps.iter().map(|step| match step {
        Step::Key(key) => {
            let mut path = String::new();
            push_key(&mut path, key);
            Some(path)
        }
        Step::Index(_) => None,
    });
    Some(keys.collect::<Option<Vec<_>>>()?.join("."))
}

/// What there is at a path.
enum PathTarget<'s> {
    /// The value, from here to there.
    Value(Range<usize>),
    /// A table in braces around it, whose closing one is at `end`, and what is left of the path.
    Inline { end: usize, rest: &'s [Step], empty: bool },
    /// A table below a header, somewhere on the header's line, and what is left of the path.
    Headed { at: usize, rest: &'s [Step] },
    /// Not even a table of the document.
    Nothing,
}

fn find<'s>(root: &Spanned<DeTable<'_>>, text: &str, steps: &'s [Step]) -> PathTarget<'s> {
    let mut around: Option<&Spanned<DeValue<'_>>> = None;
    let mut table = Some(root.get_ref());
    for (i, step) in steps.iter().enumerate() {
        let next = match (step, table, around.map(|node| node.get_ref())) {
            (Step::Key(key), Some(table), _) => {
                table.iter().find(|(k, _)| k.get_ref() == key.as_str()).map(|(_, node)| node)
            }
            (Step::Index(i), _, Some(DeValue::Array(items))) => items.get(*i),
            _ => None,
        };
        let Some(next) = next else {
            let (Some(node), Some(table)) = (around, table) else { return PathTarget::Nothing };
            let (span, rest) = (node.span(), &steps[i..]);
            return match text[span.clone()].starts_with('{') {
                true => PathTarget::Inline { end: span.end - 1, rest, empty: table.is_empty() },
                // Tables that have no header of their own are begun by those below them.
                false if !text[span.clone()].starts_with('[') => PathTarget::Nothing,
                false => PathTarget::Headed { at: span.start, rest },
            };
        };
        table = match next.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => None,
        };
        around = Some(next);
    }
    around.map_or(PathTarget::Nothing, |node| PathTarget::Value(node.span()))
}
