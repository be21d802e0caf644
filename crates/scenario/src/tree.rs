//! A TOML document as a small owned tree that knows where each value came from.
//!
//! Settings given beside the file (`--set key=value`) are edits of this tree before anything is checked,
//! so they obey the same rules and get the same sentences as the file itself.

use crate::moved::{new_name, table_of};
use crate::problem::{Error, Problem, nearest};
use toml::de::{DeTable, DeValue};

/// Key of the name that a table among the values of a sweep may have.
pub(crate) const LABEL: &str = "label";

/// Where a key or a value was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// Byte offset in the file.
    File(usize),
    /// Index of the setting.
    Set(usize),
}

/// A value and where it was written.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub value: Value,
    pub at: Origin,
}

/// A TOML value. Dates are kept as text that no check accepts.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Int(i64),
    Float(f64),
    Bool(bool),
    Date(String),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// One key of a table.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub key: String,
    pub at: Origin,
    pub node: Node,
}

impl Value {
    /// What kind of thing it is, for sentences.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Int(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Bool(_) => "true or false",
            Self::Date(_) => "a date",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }

    /// The value as a reader would recognise it, cut to a length that fits a sentence.
    pub fn shown(&self) -> String {
        let text = match self {
            Self::Text(text) => format!("{text:?}"),
            Self::Int(n) => n.to_string(),
            Self::Float(x) => x.to_string(),
            Self::Bool(b) => b.to_string(),
            Self::Date(text) => text.clone(),
            Self::List(_) => "the list".into(),
            Self::Table(_) => "the table".into(),
        };
        shorten(&text)
    }

    /// As TOML text on one line.
    pub fn toml(&self) -> String {
        match self {
            Self::Text(text) => toml::Value::String(text.clone()).to_string(),
            Self::Float(x) => toml::Value::Float(*x).to_string(),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(|n| n.value.toml()).collect();
                format!("[{}]", items.join(", "))
            }
            Self::Table(entries) => {
                let entries: Vec<String> = entries
                    .iter()
                    .map(|e| {
                        let key = toml::Value::String(e.key.clone());
                        format!("{key} = {}", e.node.value.toml())
                    })
                    .collect();
                format!("{{ {} }}", entries.join(", "))
            }
            _ => self.shown(),
        }
    }

    /// The value for serde. Numbers are finite by the time this is called.
    pub fn json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match self {
            Self::Text(text) | Self::Date(text) => Json::from(text.as_str()),
            Self::Int(n) => Json::from(*n),
            Self::Float(x) => Json::from(*x),
            Self::Bool(b) => Json::from(*b),
            Self::List(items) => items.iter().map(|n| n.value.json()).collect(),
            Self::Table(entries) => {
                Json::Object(entries.iter().map(|e| (e.key.clone(), e.node.value.json())).collect())
            }
        }
    }

    /// Takes the `label` out of a table: a name for people that a value of a sweep has. No table of a scenario has a text of that name.
    pub fn take_label(&mut self) {
        if let Self::Table(entries) = self {
            let is_text = |entry: &Entry| matches!(entry.node.value, Self::Text(_));
            entries.retain(|entry| entry.key != LABEL || !is_text(entry));
        }
    }

    /// The entry with this key, if this is a table that has one.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        match self {
            Self::Table(entries) => entries.iter().find(|e| e.key == key),
            _ => None,
        }
    }
}

/// A quotation short enough for a sentence.
pub(crate) fn shorten(text: &str) -> String {
    if text.chars().count() <= 60 {
        return text.into();
    }
    let start: String = text.chars().take(57).collect();
    format!("{start}...")
}

/// A document: its tree, and what is needed to say where something stands.
#[derive(Clone, Debug)]
pub(crate) struct Document<'a> {
    name: &'a str,
    text: &'a str,
    sets: Vec<(String, String)>,
    pub root: Node,
    /// Keys that were written under a former name, and where: `(place, former name, name)`.
    pub moved: Vec<(Origin, &'static str, &'static str)>,
}

impl<'a> Document<'a> {
    /// Reads TOML text; `name` stands for it in sentences.
    pub fn parse(name: &'a str, text: &'a str) -> Result<Self, Error> {
        let root = Node { value: Value::Table(Vec::new()), at: Origin::File(0) };
        let mut document = Self { name, text, sets: Vec::new(), root, moved: Vec::new() };
        let table = DeTable::parse(text).map_err(|e| {
            let at = e.span().map_or(0, |s| s.start);
            let what = e.message().lines().collect::<Vec<_>>().join("; ");
            let looks = looks_like(text);
            Error::one(document.place(Origin::File(at)), format!("not valid TOML: {what}{looks}"))
        })?;
        document.root.value = owned_table(table.get_ref(), &|at| Origin::File(at));
        rename(&mut document.root.value, "", &mut document.moved);
        Ok(document)
    }

    /// Applies one `key.path=value` setting. A value that is not TOML is taken as text, so `law=cubic` and
    /// `rate=100Gbps` need no quotes.
    pub fn set(&mut self, path: &str, value: &str) -> Result<(), Error> {
        let index = self.sets.len();
        self.sets.push((path.into(), value.into()));
        let place = self.place(Origin::Set(index));
        let fail = |key: &str, text: String| {
            Err(Error { problems: vec![Problem { place: place.clone(), key: key.into(), text }] })
        };
        let steps = match parse_path(path) {
            Ok(steps) => steps,
            Err(text) => return fail("", text),
        };
        let origin = Origin::Set(index);
        let mut node = &mut self.root;
        let mut walked = String::new();
        let mut within = String::new();
        let last = steps.len().saturating_sub(1);
        for (nth, step) in steps.into_iter().enumerate() {
            match step {
                Step::Key(mut key) => {
                    if let Some((old, new)) = new_name(&within, &key) {
                        self.moved.push((origin, old, new));
                        key = new.into();
                    }
                    within = table_of(&within, &key).into();
                    let kind = node.value.kind();
                    let Value::Table(entries) = &mut node.value else {
                        let first = match kind {
                            "a list" => format!("; write for instance {walked}[0].{key}"),
                            _ if nth == last => {
                                let value = value_of(value, index).toml();
                                format!(
                                    "; if it may be a table, set it whole: {walked}={{ {key} = {value} }}"
                                )
                            }
                            _ => String::new(),
                        };
                        return fail(&walked, format!("is {kind} and has no key {key:?}{first}"));
                    };
                    push_key(&mut walked, &key);
                    let found = entries.iter().position(|e| e.key == key);
                    let i = found.unwrap_or_else(|| {
                        let node = Node { value: Value::Table(Vec::new()), at: origin };
                        entries.push(Entry { key, at: origin, node });
                        entries.len() - 1
                    });
                    node = &mut entries[i].node;
                }
                Step::Index(i) => {
                    let Value::List(items) = &mut node.value else {
                        return fail(&walked, "is not a list, so it takes no [index]".into());
                    };
                    let n = items.len();
                    if i >= n {
                        let text = match n {
                            0 => "is empty".into(),
                            1 => format!("has one entry, [0], and no [{i}]"),
                            _ => format!("has the entries [0] to [{}], and no [{i}]", n - 1),
                        };
                        return fail(&walked, text);
                    }
                    walked.push_str(&format!("[{i}]"));
                    node = &mut items[i];
                }
            }
        }
        let mut value = value_of(value, index);
        value.take_label();
        *node = Node { value, at: origin };
        rename(&mut node.value, &within, &mut self.moved);
        Ok(())
    }

    /// Gives those of the keys `missing` that `[sweep]` sets the first of their values, which is that of the first run.
    pub fn take_missing_from_sweep(&mut self, missing: &[String]) {
        let Some(Value::Table(sweep)) = self.root.value.get("sweep").map(|e| &e.node.value) else {
            return;
        };
        let first = |entry: &Entry| match &entry.node.value {
            Value::List(values) if missing.contains(&entry.key) => {
                let mut value = values.first()?.clone();
                value.value.take_label();
                Some((entry.key.clone(), value))
            }
            _ => None,
        };
        for (path, value) in sweep.iter().filter_map(first).collect::<Vec<_>>() {
            let (table, key) = path.rsplit_once('.').unwrap_or(("", &path));
            let Ok(steps) =
                parse_path(table).or_else(|e| if table.is_empty() { Ok(vec![]) } else { Err(e) })
            else {
                continue;
            };
            let inner =
                steps.iter().try_fold(&mut self.root, |node, step| match (step, &mut node.value) {
                    (Step::Key(key), Value::Table(entries)) => {
                        entries.iter_mut().find(|e| e.key == *key).map(|e| &mut e.node)
                    }
                    (Step::Index(i), Value::List(items)) => items.get_mut(*i),
                    _ => None,
                });
            if let Some(Node { value: Value::Table(entries), .. }) = inner {
                entries.push(Entry { key: key.into(), at: value.at, node: value });
            }
        }
    }

    /// `file:line:column` of an offset, or the setting as it was given.
    pub fn place(&self, at: Origin) -> String {
        match at {
            Origin::File(offset) => {
                let (line, column) = line_and_column(self.text, offset);
                format!("{}:{line}:{column}", self.name)
            }
            Origin::Set(i) => {
                let (key, value) = &self.sets[i];
                format!("--set {}={}", shorten(key), shorten(value))
            }
        }
    }

    /// Where the value at `path` was written, or else the innermost table around it.
    pub fn find(&self, path: &str) -> Origin {
        self.walk(path).0.at
    }

    /// The value at `path` as it was written; `None` where a default stands in.
    pub fn shown(&self, path: &str) -> Option<String> {
        let (node, whole) = self.walk(path);
        whole.then(|| node.value.shown())
    }

    /// The value at `path` for serde, if it was written.
    pub fn json(&self, path: &str) -> Option<serde_json::Value> {
        let (node, whole) = self.walk(path);
        whole.then(|| node.value.json())
    }

    /// The node at `path`, or else the innermost one around it, and whether it is the very one.
    fn walk(&self, path: &str) -> (&Node, bool) {
        let mut node = &self.root;
        let Ok(steps) = parse_path(path) else { return (node, false) };
        for step in steps {
            let next = match (&step, &node.value) {
                (Step::Key(key), value) => value.get(key).map(|e| &e.node),
                (Step::Index(i), Value::List(items)) => items.get(*i),
                _ => None,
            };
            match next {
                Some(inner) => node = inner,
                None => return (node, false),
            }
        }
        (node, true)
    }
}

/// Line and column from 1, the column in characters.
pub(crate) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let start = before.rfind('\n').map_or(0, |i| i + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
}

/// Adds a key to a path, quoted where it would be misread.
pub(crate) fn push_key(path: &mut String, key: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(plain) {
        path.push_str(key);
    } else {
        path.push_str(&shorten(&format!("{key:?}")));
    }
}

pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// `traffic[0].load` as steps.
pub(crate) fn parse_path(path: &str) -> Result<Vec<Step>, String> {
    let bad = || {
        let path = shorten(&format!("{path:?}"));
        format!("{path} is not the path of a key; write for instance traffic[0].load")
    };
    let mut steps = Vec::new();
    let mut rest = path;
    loop {
        let (key, after) = first_key(rest).ok_or_else(bad)?;
        steps.push(Step::Key(key));
        rest = after;
        while let Some(after) = rest.strip_prefix('[') {
            let (index, tail) = after.split_once(']').ok_or_else(bad)?;
            steps.push(Step::Index(index.trim().parse().map_err(|_| bad())?));
            rest = tail;
        }
        if rest.is_empty() {
            return Ok(steps);
        }
        rest = rest.strip_prefix('.').ok_or_else(bad)?;
    }
}

/// The key that a path begins with, bare or in quotes, and what follows it.
fn first_key(path: &str) -> Option<(String, &str)> {
    let Some(quoted) = path.strip_prefix('"') else {
        let (key, rest) = path.split_at(path.find(['.', '[']).unwrap_or(path.len()));
        let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let key = key.trim();
        return (!key.is_empty() && key.chars().all(plain)).then(|| (key.into(), rest));
    };
    let mut key = String::new();
    let mut chars = quoted.chars();
    loop {
        match chars.next()? {
            '"' => return Some((key, chars.as_str())),
            '\\' => key.push(match chars.next()? {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                '0' => '\0',
                'u' => {
                    let (digits, rest) = chars.as_str().strip_prefix('{')?.split_once('}')?;
                    chars = rest.chars();
                    char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
                }
                c => c,
            }),
            c => key.push(c),
        }
    }
}

/// The value of a setting: TOML if it reads as such, else text.
fn value_of(text: &str, index: usize) -> Value {
    DeValue::parse(text.trim())
        .map(|v| owned(v.get_ref(), &|_| Origin::Set(index)).value)
        .unwrap_or_else(|_| Value::Text(text.into()))
}

fn owned_table(table: &DeTable<'_>, at: &dyn Fn(usize) -> Origin) -> Value {
    let entries = table
        .iter()
        .map(|(key, value)| {
            let mut node = owned(value.get_ref(), at);
            node.at = at(value.span().start);
            Entry { key: key.get_ref().to_string(), at: at(key.span().start), node }
        })
        .collect();
    Value::Table(entries)
}

/// Gives keys that stand under a former name their name; `within` is the key of the table that `value` is.
fn rename(value: &mut Value, within: &str, moved: &mut Vec<(Origin, &'static str, &'static str)>) {
    match value {
        Value::List(items) => {
            items.iter_mut().for_each(|item| rename(&mut item.value, within, moved))
        }
        Value::Table(entries) => {
            for entry in entries {
                if let Some((old, new)) = new_name(within, &entry.key) {
                    moved.push((entry.at, old, new));
                    entry.key = new.into();
                }
                rename(&mut entry.node.value, table_of(within, &entry.key), moved);
            }
        }
        _ => {}
    }
}

fn owned(value: &DeValue<'_>, at: &dyn Fn(usize) -> Origin) -> Node {
    let value = match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(n) => match i64::from_str_radix(n.as_str(), n.radix()) {
            Ok(n) => Value::Int(n),
            Err(_) => Value::Float(n.as_str().parse().unwrap_or(f64::MAX)), // beyond 64 bits; no key takes it
        },
        DeValue::Float(x) => Value::Float(x.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(b) => Value::Bool(*b),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(items) => Value::List(
            items
                .iter()
                .map(|item| {
                    let mut node = owned(item.get_ref(), at);
                    node.at = at(item.span().start);
                    node
                })
                .collect(),
        ),
        DeValue::Table(table) => owned_table(table, at),
    };
    Node { value, at: at(0) }
}

/// What a text is that is no TOML, as the end of a sentence; nothing if that is not plain.
fn looks_like(text: &str) -> &'static str {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let first = text.lines().next().unwrap_or_default();
    let key = |line: &str| {
        line.split_once(':').is_some_and(|(key, rest)| {
            let word = key.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
            word && !key.is_empty() && (rest.is_empty() || rest.starts_with(' '))
        })
    };
    match first {
        _ if text.starts_with('{') => "; this looks like JSON, and a scenario is TOML",
        _ if first.trim_end() == "---" || key(first) => {
            "; this looks like YAML, and a scenario is TOML"
        }
        _ if !first.contains('=') && first.matches(',').count() > 1 => {
            "; this looks like a table (CSV), and a scenario is TOML"
        }
        _ => "",
    }
}

/// The key that was probably meant, as the end of a sentence.
pub(crate) fn did_you_mean<'a>(key: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(key, known).map(|name| format!("; did you mean {name:?}?")).unwrap_or_default()
}
