//! Every key of the grammar, from its schema: for `forebay explain` and for docs/scenario.md.

use crate::check::{quoted, words};
use crate::problem::{grouped, nearest, or_list};
use crate::quantity::example;
use serde_json::Value;
use std::fmt::Write;
use std::sync::LazyLock;

/// One key of a scenario file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Where it stands, lists without an index: `traffic.load`, `transports.NAME.law`.
    pub path: String,
    /// The kind of table that has it, where only one has.
    pub kind: Option<String>,
    /// What it takes, `a duration such as "10us"`.
    pub takes: String,
    /// Whether its table is wrong without it.
    pub required: bool,
    /// What it does, with its default.
    pub about: String,
    /// Words that it takes, each with what it means.
    pub words: Vec<(String, String)>,
}

/// All keys, tables before what they hold.
pub fn keys() -> &'static [Key] {
    static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
        let root = crate::schema::schema();
        let mut walk = Walk { root: &root, keys: Vec::new() };
        walk.table(&root, "");
        walk.keys
    });
    &KEYS
}

/// What there is to say about a key: `transport.base_rtt`, `traffic[0].load`, or its last part alone. `None`: no key is called so.
pub fn explain(name: &str) -> Option<String> {
    let all = keys();
    let name = without_indices(name);
    let fits = |key: &&Key| stands_for(&name, &key.path);
    let mut found: Vec<&Key> = all.iter().filter(fits).collect();
    if found.is_empty() && !name.contains('.') {
        found = all.iter().filter(|key| key.path.rsplit('.').next() == Some(&name)).collect();
        // The named transports and single hosts have the keys of all; once is enough.
        let again = |key: &&Key| {
            let twin = |path: &str| key.path.strip_prefix(path).is_some();
            twin("transports.NAME.") || twin("host.override.memory.")
        };
        if found.iter().any(|key| !again(key)) {
            found.retain(|key| !again(key));
        }
    }
    let mut text = String::new();
    for key in &found {
        let of = key.kind.as_ref().map_or(String::new(), |kind| format!(" (kind = {kind:?})"));
        let needed = if key.required { ", required" } else { "" };
        let _ = writeln!(text, "{}{of}: {}{needed}", key.path, key.takes);
        let _ = writeln!(text, "    {}", key.about);
        for (word, about) in &key.words {
            let _ = writeln!(text, "    {word:?}: {about}");
        }
        let inner = format!("{}.", key.path);
        let below = all.iter().filter_map(|other| other.path.strip_prefix(&inner));
        let mut below: Vec<&str> = below.filter(|path| !path.contains('.')).collect();
        below.dedup();
        if !below.is_empty() && found.len() == 1 {
            let _ = writeln!(text, "    keys: {}", below.join(", "));
        }
    }
    (!text.is_empty()).then_some(text)
}

/// The path of a key that is close to `name`, if one is.
pub fn close(name: &str) -> Option<String> {
    let all = keys();
    nearest(&without_indices(name), all.iter().map(|key| key.path.as_str())).map(String::from)
}

/// `traffic[0].load` as `traffic.load`.
fn without_indices(name: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for c in name.chars() {
        match c {
            '[' => inside = true,
            ']' => inside = false,
            c if !inside => text.push(c),
            _ => {}
        }
    }
    text
}

/// Whether a name is that path, in which `NAME` is any word.
fn stands_for(name: &str, path: &str) -> bool {
    let (mut names, mut parts) = (name.split('.'), path.split('.'));
    loop {
        match (names.next(), parts.next()) {
            (None, None) => return true,
            (Some(name), Some(part)) if name == part || part == "NAME" => {}
            _ => return false,
        }
    }
}

struct Walk<'a> {
    root: &'a Value,
    keys: Vec<Key>,
}

impl<'a> Walk<'a> {
    fn resolve(&self, mut schema: &'a Value) -> &'a Value {
        while let Some(target) = schema["$ref"].as_str() {
            schema = &self.root["$defs"][target.trim_start_matches("#/$defs/")];
        }
        schema
    }

    /// The keys of a table, those of each kind after those of all.
    fn table(&mut self, schema: &'a Value, path: &str) {
        self.properties(schema, path, None);
        for variant in schema["oneOf"].as_array().into_iter().flatten() {
            if let Some(kind) = variant["properties"]["kind"]["const"].as_str() {
                self.properties(variant, path, Some(kind));
            }
        }
        if let Some(any) = schema.get("additionalProperties").filter(|any| any.is_object()) {
            self.key(any, &joined(path, "NAME"), None, false);
        }
    }

    fn properties(&mut self, schema: &'a Value, path: &str, kind: Option<&str>) {
        let Some(properties) = schema["properties"].as_object() else { return };
        let required = |key: &str| {
            schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == key))
        };
        let mut all: Vec<_> = properties.iter().collect();
        let tables = |property| self.takes(property).contains("table");
        all.sort_by_cached_key(|(key, property)| (tables(property), !required(key)));
        for (key, property) in all {
            if kind.is_none() || key != "kind" {
                self.key(property, &joined(path, key), kind, required(key));
            }
        }
        if path.is_empty() || kind.is_some() {
            return;
        }
        let kinds = schema["oneOf"].as_array().into_iter().flatten();
        let word = |v: &Value| {
            let kind = v["properties"]["kind"]["const"].as_str()?.to_string();
            Some((kind, described(v)))
        };
        let words: Vec<_> = kinds.filter_map(word).collect();
        if !words.is_empty() {
            let takes = quoted(&words.iter().map(|w| w.0.as_str()).collect::<Vec<_>>());
            let about = "Kind of this table. Each kind has keys of its own.".into();
            let path = joined(path, "kind");
            self.keys.push(Key { path, kind: None, takes, required: true, about, words });
        }
    }

    fn key(&mut self, property: &'a Value, path: &str, kind: Option<&str>, required: bool) {
        let schema = self.resolve(property);
        let own = [property, schema].map(described);
        // Values of a table of any names: what the table says.
        let around = || self.keys.iter().rev().find(|key| path.starts_with(&key.path));
        let about = own.into_iter().find(|text| !text.is_empty());
        let about = about.or_else(|| around().map(|key| key.about.clone())).unwrap_or_default();
        let key = Key {
            path: path.into(),
            kind: kind.map(String::from),
            takes: self.takes(property),
            required,
            about,
            words: self.words(property),
        };
        // Tables of two forms have most keys in both.
        let same = |other: &Key| {
            (&other.path, &other.kind, &other.about) == (&key.path, &key.kind, &key.about)
        };
        if !self.keys.iter().any(same) {
            self.keys.push(key);
        }
        self.below(property, path);
    }

    /// What tables a value may be, or hold.
    fn below(&mut self, schema: &'a Value, path: &str) {
        let schema = self.resolve(schema);
        for one in schema["anyOf"].as_array().into_iter().flatten() {
            self.below(one, path);
        }
        if schema["type"] == "object" {
            self.table(schema, path);
        } else if schema["items"].is_object() {
            self.below(&schema["items"], path);
        }
    }

    fn words(&self, schema: &'a Value) -> Vec<(String, String)> {
        let schema = self.resolve(schema);
        let alternatives = schema["anyOf"].as_array().into_iter().flatten();
        let mut all: Vec<_> = alternatives.flat_map(|one| self.words(one)).collect();
        let words = schema["oneOf"].as_array().into_iter().flatten();
        for word in words.chain([schema]) {
            if let Some(text) = word["const"].as_str() {
                all.push((text.into(), described(word)));
            }
        }
        all
    }

    fn takes(&self, schema: &'a Value) -> String {
        let schema = self.resolve(schema);
        if let Some(alternatives) = schema["anyOf"].as_array() {
            let mut all: Vec<String> = alternatives.iter().map(|one| self.takes(one)).collect();
            all.dedup();
            return or_list(all.iter().map(String::as_str));
        }
        if let Some(quantity) = schema["x-quantity"].as_str() {
            let article = match quantity {
                "length" => "a size or a number of packets",
                "duration" => "a duration",
                "size" => "a size",
                "fraction" => "a fraction",
                _ => "a rate",
            };
            return format!("{article} such as {:?}", example(quantity));
        }
        if let Some(words) = words(schema) {
            return quoted(&words);
        }
        let range = match (schema["minimum"].as_f64(), schema["maximum"].as_f64()) {
            (Some(min), Some(max)) if min == max => format!(", {min}"),
            (Some(min), Some(max)) if max >= 4e9 => format!(", {min} or more"),
            (Some(min), Some(max)) => {
                let max = if max >= 1e4 { grouped(max as u128) } else { max.to_string() };
                format!(", {min} to {max}")
            }
            (Some(min), None) => format!(", {min} or more"),
            _ => String::new(),
        };
        match schema["type"].as_str() {
            Some("object") => "a table".into(),
            Some("array") => match self.takes(&schema["items"]).as_str() {
                "a table" => "a list of tables".into(),
                item => format!("a list, each {item}"),
            },
            Some("integer") => format!("a whole number{range}"),
            Some("number") => format!("a number{range}"),
            Some("boolean") => "true or false".into(),
            Some("string") => "a text".into(),
            _ => "any value".into(),
        }
    }
}

fn described(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().into()
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() { key.into() } else { format!("{path}.{key}") }
}

/// The page docs/scenario.md: tasks with an example each, then every key, table by table.
pub fn page() -> String {
    let mut page = Page { all: keys(), text: TASKS.into(), written: Vec::new() };
    let (tables, single): (Vec<&Key>, Vec<&Key>) =
        page.direct("").into_iter().partition(|key| !page.direct(&key.path).is_empty());
    page.text.push_str("\n### Top level\n\n");
    for key in single {
        page.item(key, "", "");
    }
    for key in tables {
        page.written.push(&key.path);
        page.heading("###", key);
        page.table(&key.path, "####");
    }
    page.text
}

/// The tasks of the page, each with an example that is checked.
pub const TASKS: &str = include_str!("reference/tasks.txt");

/// A table with fewer keys is listed within the table that holds it.
const FEW: usize = 3;

struct Page<'a> {
    all: &'a [Key],
    text: String,
    /// Paths of the tables that are written out.
    written: Vec<&'a str>,
}

impl<'a> Page<'a> {
    /// The keys of a table, without those of tables in it.
    fn direct(&self, table: &str) -> Vec<&'a Key> {
        let of = |key: &&Key| key.path.rsplit_once('.').map_or("", |(table, _)| table) == table;
        self.all.iter().filter(of).collect()
    }

    /// Path of a table with the same keys that is written out already.
    fn elsewhere(&self, key: &Key) -> Option<&'a str> {
        let own = self.within(&key.path);
        self.written.iter().copied().find(|path| self.within(path) == own)
    }

    /// What is said of all keys in a table.
    fn within(&self, table: &str) -> Vec<(&'a str, &'a str, &'a str, &'a Option<String>)> {
        let inner = |key: &'a Key| {
            let path = key.path.strip_prefix(table)?.strip_prefix('.')?;
            Some((path, &*key.takes, &*key.about, &key.kind))
        };
        self.all.iter().filter_map(inner).collect()
    }

    fn heading(&mut self, level: &str, key: &'a Key) {
        let (open, close) = if key.takes.starts_with("a list") { ("[[", "]]") } else { ("[", "]") };
        let _ = write!(self.text, "\n{level} `{open}{}{close}`\n\n{}\n\n", key.path, key.about);
        if !key.words.is_empty() {
            let needed = if key.required { ", required" } else { "" };
            let _ = writeln!(self.text, "Takes {}{needed}.\n", key.takes);
            for (word, about) in &key.words {
                let _ = writeln!(self.text, "- `{word:?}`: {about}");
            }
            self.text.push_str("\nKeys of the table:\n\n");
        }
    }

    /// Keys of a table: those of every kind, those of each kind, and then large tables in it.
    fn table(&mut self, path: &'a str, level: &str) {
        let mut large = Vec::new();
        let mut kind = None;
        for key in self.direct(path) {
            if key.kind != kind {
                kind = key.kind.clone();
                let kind = kind.as_deref().unwrap_or_default();
                let _ = writeln!(self.text, "\nWith `kind = {kind:?}`:\n");
            }
            let few = self.direct(&key.path).len() < FEW;
            if !few && self.elsewhere(key).is_none() {
                let name = key.path.rsplit('.').next().unwrap_or_default();
                let (takes, path) = (&key.takes, &key.path);
                let needed = if key.required { ", required" } else { "" };
                let link = anchor(path);
                let _ =
                    writeln!(self.text, "- `{name}` ({takes}{needed}). See [`{path}`]({link}).");
                self.written.push(&key.path);
                large.push(key);
                continue;
            }
            let first = self.elsewhere(key).filter(|_| !few);
            let same = |first| format!(" Keys as in [`{first}`]({}).", anchor(first));
            self.item(key, path, &first.map_or(String::new(), same));
            let inner = format!("{}.", key.path);
            for key in self.all.iter().filter(|key| few && key.path.starts_with(&inner)) {
                self.item(key, path, "");
            }
        }
        // Overrides have the keys of what they override.
        large.sort_by_key(|key| key.path.ends_with(".override"));
        for key in large {
            self.heading(level, key);
            self.table(&key.path, level);
        }
    }

    fn item(&mut self, key: &Key, table: &str, more: &str) {
        let name = key.path.strip_prefix(table).unwrap_or(&key.path).trim_start_matches('.');
        let needed = if key.required { ", required" } else { "" };
        let _ = writeln!(self.text, "- `{name}` ({}{needed}). {}{more}", key.takes, key.about);
        for (word, about) in &key.words {
            let _ = writeln!(self.text, "    - `{word:?}`: {about}");
        }
    }
}

/// Anchor of the heading of a table.
fn anchor(path: &str) -> String {
    format!("#{}", path.replace('.', "").to_lowercase())
}
