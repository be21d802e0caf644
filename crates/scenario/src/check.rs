//! Holds a document against the schema, and says all that does not fit in one pass.
//!
//! Invariant: a document without findings here deserialises into [`crate::scenario::File`].

use crate::problem::{nearest, or_list};
use crate::quantity::{example, why_not};
use crate::tree::{Entry, Node, Origin, Value, did_you_mean, push_key};
use serde_json::Value as Json;

/// One thing that does not fit: where, which key, what.
pub(crate) type Finding = (Origin, String, String);

/// Everything in `root` that the schema does not allow.
pub(crate) fn check(schema: &Json, root: &Node) -> Vec<Finding> {
    let mut walk = Walk { schema, findings: Vec::new() };
    walk.node(schema, root, &mut String::new());
    walk.findings
}

/// What others call our words.
const ALSO_CALLED: [(&str, &str); 8] = [
    ("roce", "rdma"),
    ("rocev2", "rdma"),
    ("infiniband", "rdma"),
    ("homa", "receiver-driven"),
    ("ndp", "receiver-driven"),
    ("expresspass", "receiver-driven"),
    ("fattree", "fat-tree"),
    ("topology", "graph"),
];

struct Walk<'a> {
    schema: &'a Json,
    findings: Vec<Finding>,
}

impl<'a> Walk<'a> {
    fn say(&mut self, at: Origin, path: &str, text: String) {
        self.findings.push((at, path.into(), text));
    }

    /// Follows `$ref`.
    fn resolve(&self, mut schema: &'a Json) -> &'a Json {
        while let Some(target) = schema["$ref"].as_str() {
            let name = target.trim_start_matches("#/$defs/");
            schema = &self.schema["$defs"][name];
        }
        schema
    }

    fn node(&mut self, schema: &'a Json, node: &Node, path: &mut String) {
        let schema = self.resolve(schema);
        if let Some(alternatives) = schema["anyOf"].as_array() {
            let fits = |s: &&Json| accepts(self.resolve(s), &node.value);
            match alternatives.iter().find(fits) {
                Some(one) => self.node(one, node, path),
                None => {
                    let kinds: Vec<String> =
                        alternatives.iter().map(|s| expected(self.resolve(s))).collect();
                    let kinds = or_list(kinds.iter().map(String::as_str));
                    self.say(node.at, path, format!("{} does not fit; write {kinds}", found(node)));
                }
            }
        } else if let Some(quantity) = schema["x-quantity"].as_str() {
            self.quantity(quantity, node, path);
        } else if let Some(words) = words(schema) {
            self.word(&words, node, path);
        } else {
            match (schema["type"].as_str(), &node.value) {
                (Some("object"), Value::Table(entries)) => self.table(schema, entries, node, path),
                (Some("array"), Value::List(items)) => self.list(schema, items, node, path),
                (Some("integer" | "number"), Value::Int(_) | Value::Float(_)) => {
                    self.number(schema, node, path);
                }
                (Some("string"), Value::Text(_))
                | (Some("boolean"), Value::Bool(_))
                | (None, _) => {}
                (Some("array"), Value::Table(_)) if self.is_table(&schema["items"]) => {
                    let text = format!(
                        "is one table; write [[{path}]], in double brackets, once for each"
                    );
                    self.say(node.at, path, text);
                }
                _ => {
                    let text = format!("{} does not fit; write {}", found(node), expected(schema));
                    self.say(node.at, path, text);
                }
            }
        }
    }

    fn is_table(&self, schema: &'a Json) -> bool {
        self.resolve(schema)["type"] == "object"
    }

    fn quantity(&mut self, name: &str, node: &Node, path: &str) {
        let text = match &node.value {
            Value::Text(text) => match why_not(name, text) {
                Some(why) => format!("{} {why}", node.value.shown()),
                None => return,
            },
            Value::Int(_) | Value::Float(_) => {
                format!(
                    "{} has no unit; write for instance {:?}",
                    node.value.shown(),
                    example(name)
                )
            }
            _ => format!("{} does not fit; write for instance {:?}", found(node), example(name)),
        };
        self.say(node.at, path, text);
    }

    fn word(&mut self, words: &[&str], node: &Node, path: &str) {
        let text = match &node.value {
            Value::Text(text) if words.contains(&text.as_str()) => return,
            Value::Text(text) => {
                let lower = text.to_lowercase();
                let ours = ALSO_CALLED
                    .iter()
                    .find(|(theirs, ours)| *theirs == lower && words.contains(ours));
                let close = match ours {
                    Some((_, ours)) => format!("; here that is {ours:?}"),
                    None => did_you_mean(text, words.iter().copied()),
                };
                format!("{} is not known; write {}{close}", node.value.shown(), quoted(words))
            }
            _ => format!("{} does not fit; write {}", found(node), quoted(words)),
        };
        self.say(node.at, path, text);
    }

    fn number(&mut self, schema: &Json, node: &Node, path: &str) {
        let shown = node.value.shown();
        let whole = schema["type"] == "integer";
        let value = match node.value {
            Value::Int(n) => n as f64,
            Value::Float(x) if whole => {
                let text = match x {
                    x if x.abs() > i64::MAX as f64 => "is too large".into(),
                    x if x % 1.0 == 0.0 => {
                        format!("is written with a point or an exponent; write {shown}")
                    }
                    _ => "is not a whole number".to_string(),
                };
                return self.say(node.at, path, format!("{shown} {text}"));
            }
            Value::Float(x) => x,
            _ => return,
        };
        if !value.is_finite() {
            return self.say(node.at, path, format!("{shown} is not a finite number"));
        }
        let (min, max) = (schema["minimum"].as_f64(), schema["maximum"].as_f64());
        if whole && min == Some(1.0) && value < 1.0 && max.is_none_or(|max| max >= 4e9) {
            return self.say(node.at, path, format!("{shown} is too few; write 1 or more"));
        }
        if min.is_some_and(|min| value < min) || max.is_some_and(|max| value > max) {
            let range = match (min, max) {
                (Some(min), Some(max)) if min == max => format!("only {min} is known"),
                (Some(min), Some(max)) if max >= 4e9 && value < min => {
                    format!("write {min} or more")
                }
                (Some(min), Some(max)) => format!("write {min} to {max}"),
                (Some(min), None) => format!("write {min} or more"),
                (_, max) => format!("write at most {}", max.unwrap_or_default()),
            };
            self.say(node.at, path, format!("{shown} is out of range; {range}"));
        }
    }

    fn list(&mut self, schema: &'a Json, items: &[Node], node: &Node, path: &mut String) {
        let columns = schema["prefixItems"].as_array();
        if let Some(columns) = columns
            && columns.len() != items.len()
        {
            let text =
                format!("is a list of length {}; write {} values", items.len(), columns.len());
            return self.say(node.at, path, text);
        }
        for (i, item) in items.iter().enumerate() {
            let length = path.len();
            path.push_str(&format!("[{i}]"));
            let schema = columns.map_or(&schema["items"], |columns| &columns[i]);
            self.node(schema, item, path);
            path.truncate(length);
        }
    }

    fn table(&mut self, schema: &'a Json, entries: &[Entry], node: &Node, path: &mut String) {
        let variants = schema["oneOf"].as_array();
        let mut shapes = vec![schema];
        let mut kind_known = true;
        if let Some(variants) = variants {
            match self.variant(variants, node, path) {
                Some(variant) => shapes.push(variant),
                None => kind_known = false,
            }
        }
        let mut meant = Vec::new();
        for entry in entries {
            let length = path.len();
            push_key(path, &entry.key);
            let property = shapes.iter().find_map(|s| s["properties"].get(&entry.key));
            if let Some(property) = property {
                self.node(property, &entry.node, path);
            } else if let Some(any @ (Json::Object(_) | Json::Bool(true))) =
                schema.get("additionalProperties")
            {
                self.node(any, &entry.node, path);
            } else if kind_known {
                let (text, close) = unknown_key(&entry.key, &shapes, variants);
                meant.extend(close);
                self.say(entry.at, path, text);
            }
            path.truncate(length);
        }
        for shape in shapes {
            for key in shape["required"].as_array().into_iter().flatten().filter_map(Json::as_str) {
                let tag = key == "kind" && variants.is_some();
                let there = node.value.get(key).is_some() || meant.iter().any(|m| m == key);
                if !tag && !there {
                    let about = self.about(&shape["properties"][key], key);
                    let length = path.len();
                    push_key(path, key);
                    self.say(node.at, path, format!("is missing; {about}"));
                    path.truncate(length);
                }
            }
        }
    }

    /// The variant of a tagged table that `kind` names.
    fn variant(&mut self, variants: &'a [Json], node: &Node, path: &str) -> Option<&'a Json> {
        let tag = |v: &'a Json| v["properties"]["kind"]["const"].as_str();
        let kinds: Vec<&str> = variants.iter().filter_map(tag).collect();
        let mut path = path.to_string();
        push_key(&mut path, "kind");
        let Some(entry) = node.value.get("kind") else {
            self.say(node.at, &path, format!("is missing; write {}", quoted(&kinds)));
            return None;
        };
        self.word(&kinds, &entry.node, &path);
        let Value::Text(kind) = &entry.node.value else { return None };
        variants.iter().find(|v| tag(v) == Some(kind))
    }

    /// How to write a missing key.
    fn about(&self, schema: &'a Json, key: &str) -> String {
        let inner = self.resolve(schema);
        let example = match inner["x-quantity"].as_str() {
            Some(quantity) => format!("{:?}", example(quantity)),
            None => match (inner["type"].as_str(), key) {
                (_, "version") => "1".into(),
                (_, "stop") => "{ time = \"20ms\" }".into(),
                (_, "law") => "\"dctcp\"".into(),
                (_, "host_link") => "{ rate = \"100Gbps\", delay = \"1us\" }".into(),
                (Some("integer"), _) => "8".into(),
                (Some("number"), _) => "0.5".into(),
                (Some("object"), _) => return format!("write a table [{key}]"),
                (Some("array"), _) => "[...]".into(),
                _ => match words(inner) {
                    Some(words) => quoted(&words),
                    None => "\"...\"".into(),
                },
            },
        };
        format!("write for instance {key} = {example}")
    }
}

/// Whether a value is of the kind of thing that a schema describes.
fn accepts(schema: &Json, value: &Value) -> bool {
    if let (Some(words), Value::Text(text)) = (words(schema), value) {
        return words.contains(&text.as_str());
    }
    matches!(
        (schema["type"].as_str(), value),
        (Some("string"), Value::Text(_))
            | (Some("integer"), Value::Int(_))
            | (Some("number"), Value::Int(_) | Value::Float(_))
            | (Some("boolean"), Value::Bool(_))
            | (Some("array"), Value::List(_))
            | (Some("object"), Value::Table(_))
    )
}

/// The choices of a word, if the schema is one.
pub(crate) fn words(schema: &Json) -> Option<Vec<&str>> {
    if let Some(word) = schema["const"].as_str() {
        return Some(vec![word]);
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(Json::as_str).collect();
    }
    schema["oneOf"].as_array()?.iter().map(|s| s["const"].as_str()).collect()
}

pub(crate) fn quoted(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|w| format!("{w:?}")).collect();
    or_list(words.iter().map(String::as_str))
}

fn found(node: &Node) -> String {
    match node.value {
        Value::List(_) | Value::Table(_) => node.value.kind().into(),
        _ => node.value.shown(),
    }
}

/// What to write, in words.
fn expected(schema: &Json) -> String {
    if let Some(words) = words(schema) {
        return quoted(&words);
    }
    match schema["type"].as_str() {
        Some("object") => format!("a table such as {}", example_table(schema)),
        Some("array") => "a list in [ ]".into(),
        Some("integer") => "a whole number".into(),
        Some("number") => "a number".into(),
        Some("boolean") => "true or false".into(),
        _ => "a text in quotes".into(),
    }
}

/// `{ time = "10us" }`: the keys that must be there, or else the first one.
fn example_table(schema: &Json) -> String {
    let Some(properties) = schema["properties"].as_object() else { return "{ }".into() };
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    let quantity = |key: &&String| !properties[*key]["x-quantity"].is_null();
    // The shortest name is the plainest: k, not for_rate.
    let first = properties.keys().filter(quantity).min_by_key(|key| key.len()).map(String::as_str);
    let keys: Vec<&str> = if required.is_empty() { first.into_iter().collect() } else { required };
    let entry = |key: &str| {
        let value = properties[key]["x-quantity"].as_str().map_or("...", example);
        format!("{key} = {value:?}")
    };
    format!("{{ {} }}", keys.into_iter().map(entry).collect::<Vec<_>>().join(", "))
}

/// A sentence, and the key that was meant, if one is close.
fn unknown_key(
    key: &str,
    shapes: &[&Json],
    variants: Option<&Vec<Json>>,
) -> (String, Option<String>) {
    let keys = |s: &Json| -> Vec<String> {
        s["properties"].as_object().map(|p| p.keys().cloned().collect()).unwrap_or_default()
    };
    let mut known: Vec<String> = shapes.iter().flat_map(|s| keys(s)).collect();
    known.sort();
    known.dedup();
    let elsewhere = variants
        .into_iter()
        .flatten()
        .find(|v| v["properties"].get(key).is_some())
        .and_then(|v| v["properties"]["kind"]["const"].as_str());
    let known = || known.iter().map(String::as_str);
    match (elsewhere, nearest(key, known())) {
        (Some(kind), _) => {
            let this = shapes.iter().find_map(|s| s["properties"]["kind"]["const"].as_str());
            (
                format!(
                    "belongs to kind {kind:?}, not to {:?}; leave it out",
                    this.unwrap_or_default()
                ),
                None,
            )
        }
        (None, Some(close)) => {
            (format!("unknown key; did you mean {close:?}?"), Some(close.into()))
        }
        (None, None) => (format!("unknown key; this table takes {}", or_list(known())), None),
    }
}
