//! Short names for the values of a swept key: of tables the least that tells them apart.

use super::plain;

/// Key of the name that a table among the values may have.
const LABEL: &str = "label";

/// The label that the author of a sweep gave to a table.
pub(super) fn given(value: &str) -> Option<String> {
    if !value.starts_with('{') || !value.contains(LABEL) {
        return None;
    }
    leaves(value).into_iter().find(|(key, _)| key == LABEL).map(|(_, label)| label)
}

/// A short text for each of these values, TOML texts of one key. Values that are no tables keep their text, and tables with a label have that.
/// Of other tables the text has the one key by which they all differ where there is such a key, else as few keys as do.
pub fn labels(values: &[&str]) -> Vec<String> {
    let leaves: Vec<Vec<(String, String)>> = values.iter().map(|value| leaves(value)).collect();
    let is_table = |of: &[(String, String)]| of.iter().any(|(key, _)| !key.is_empty());
    let tables: Vec<usize> = (0..values.len()).filter(|i| is_table(&leaves[*i])).collect();
    let unnamed: Vec<usize> =
        tables.iter().copied().filter(|i| given(values[*i]).is_none()).collect();
    let mut keys: Vec<&String> = Vec::new();
    for (key, _) in unnamed.iter().flat_map(|i| &leaves[*i]) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let of = |i: usize, key: &str| {
        leaves[i].iter().find(|(other, _)| other == key).map(|(_, value)| value.as_str())
    };
    let varies = |key: &&String| unnamed.iter().any(|i| of(*i, key) != of(unnamed[0], key));
    let mut varying: Vec<&String> = keys.iter().copied().filter(varies).collect();
    // A key that all have says more than one that some lack.
    varying.sort_by_key(|key| unnamed.iter().any(|i| of(*i, key).is_none())); // stable
    let apart = |chosen: &[&String]| {
        let mut seen: Vec<Vec<Option<&str>>> = Vec::new();
        unnamed.iter().all(|i| {
            let here: Vec<Option<&str>> = chosen.iter().map(|key| of(*i, key)).collect();
            let new = !seen.contains(&here);
            seen.push(here);
            new
        })
    };
    let chosen: Vec<&String> = match (unnamed.len(), varying.iter().find(|key| apart(&[**key]))) {
        (1, _) => keys,
        (_, Some(key)) => vec![*key],
        _ => {
            let mut least = varying.clone();
            // From the last: the first keys of a table are the ones that people name it by.
            for key in varying.iter().rev() {
                let without: Vec<&String> = least.iter().copied().filter(|k| k != key).collect();
                if !without.is_empty() && apart(&without) {
                    least = without;
                }
            }
            least
        }
    };
    let label = |(i, value): (usize, &&str)| {
        if !tables.contains(&i) {
            return plain(value).to_string();
        }
        if let Some(label) = given(value) {
            return label;
        }
        let parts: Vec<String> = chosen.iter().map(|key| pair(key, of(i, key))).collect();
        if parts.is_empty() { super::words(value) } else { parts.join(", ") }
    };
    values.iter().enumerate().map(label).collect()
}

/// A short text for each value of each point, by key and then by point. `points` have the values of all keys, TOML texts.
pub fn labels_by_key(points: &[Vec<&str>]) -> Vec<Vec<String>> {
    let of_key = |key: usize| {
        let mut distinct: Vec<&str> = Vec::new();
        for value in points.iter().map(|point| point[key]) {
            if !distinct.contains(&value) {
                distinct.push(value);
            }
        }
        let short = labels(&distinct);
        let one = |point: &Vec<&str>| {
            let at = distinct.iter().position(|known| *known == point[key]);
            short[at.expect("it is one of them")].clone()
        };
        points.iter().map(one).collect()
    };
    (0..points.first().map_or(0, Vec::len)).map(of_key).collect()
}

/// A value by the last part of its key; a law says what it is.
fn pair(key: &str, value: Option<&str>) -> String {
    let last = key.rsplit('.').next().unwrap_or(key);
    match value {
        None => format!("no {last}"),
        Some(value) if matches!(last, "law" | "kind") => value.into(),
        Some(value) => format!("{last} {value}"),
    }
}

/// Leaves of each value that not all values have; whole values where they are no tables.
pub(crate) fn differing(values: &[&str]) -> Vec<String> {
    let all: Vec<Vec<(String, String)>> = values.iter().map(|value| leaves(value)).collect();
    let one = |of: &Vec<(String, String)>| {
        let own = of.iter().filter(|leaf| !all.iter().all(|other| other.contains(leaf)));
        let text = |(key, value): &(String, String)| match key.is_empty() {
            true => value.clone(),
            false => format!("{key} = {value}"),
        };
        own.map(text).collect::<Vec<_>>().join(", ")
    };
    all.iter().map(one).collect()
}

/// The leaves of a TOML value with their keys, `control.law`; a value that is no table is one leaf without a key.
fn leaves(value: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    Reader { rest: value.trim() }.value("", &mut all);
    all
}

/// Reads resolved TOML values. What it does not understand it keeps as text.
struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\n', '\t', '\r', ',']);
    }

    /// The text up to what ends a value, texts in quotes whole; without the quotes.
    fn scalar(&mut self) -> String {
        let quote = self.rest.chars().next().filter(|c| matches!(c, '"' | '\''));
        let mut escaped = false;
        let end = self.rest.char_indices().find(|(at, c)| match quote {
            Some(quote) => {
                let ends = *at > 0 && *c == quote && !escaped;
                escaped = quote == '"' && *c == '\\' && !escaped;
                ends
            }
            None => matches!(c, ',' | '}' | ']' | ' '),
        });
        let end = end.map_or(self.rest.len(), |(at, _)| at + usize::from(quote.is_some()));
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        let literal = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
        literal.unwrap_or_else(|| plain(text)).to_string()
    }

    fn value(&mut self, key: &str, all: &mut Vec<(String, String)>) {
        self.skip();
        let before = self.rest;
        let joined =
            |last: &str| if key.is_empty() { last.into() } else { format!("{key}.{last}") };
        if let Some(rest) = self.rest.strip_prefix('{') {
            self.rest = rest;
            let from = all.len();
            loop {
                self.skip();
                if self.rest.is_empty() || self.rest.starts_with('}') {
                    break;
                }
                let length = self.rest.len();
                let name = self.scalar();
                self.skip();
                self.rest = self.rest.strip_prefix('=').unwrap_or(self.rest);
                self.value(&joined(&name), all);
                if self.rest.len() == length {
                    break; // no progress: not TOML
                }
            }
            self.rest = self.rest.strip_prefix('}').unwrap_or(self.rest);
            if all.len() == from {
                all.push((key.into(), "{}".into()));
            }
        } else if let Some(rest) = self.rest.strip_prefix('[') {
            self.rest = rest;
            let (mut inner, mut at) = (Vec::new(), 0);
            loop {
                self.skip();
                if self.rest.is_empty() || self.rest.starts_with(']') {
                    break;
                }
                let length = self.rest.len();
                self.value(&format!("[{at}]"), &mut inner);
                at += 1;
                if self.rest.len() == length {
                    break;
                }
            }
            self.rest = self.rest.strip_prefix(']').unwrap_or(self.rest);
            match inner.iter().any(|(key, _)| key.contains('.')) {
                true => {
                    all.extend(inner.into_iter().map(|(one, value)| (format!("{key}{one}"), value)))
                }
                // A list of plain values is one leaf.
                false => {
                    let text = &before[..before.len() - self.rest.len()];
                    all.push((key.into(), text.replace('"', "")));
                }
            }
        } else {
            let text = self.scalar();
            all.push((key.into(), text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_named_by_the_least_that_tells_them_apart() {
        let by_one = [
            "{ kmin = \"100KB\", kmax = \"400KB\", pmax = 0.2 }",
            "{ kmin = \"200KB\", kmax = \"800KB\", pmax = 0.2 }",
        ];
        assert_eq!(labels(&by_one), ["kmin 100KB", "kmin 200KB"]);
        let by_two = [
            "{ kmin = \"100KB\", kmax = \"400KB\" }",
            "{ kmin = \"100KB\", kmax = \"800KB\" }",
            "{ kmin = \"200KB\", kmax = \"800KB\" }",
        ];
        assert_eq!(
            labels(&by_two),
            ["kmin 100KB, kmax 400KB", "kmin 100KB, kmax 800KB", "kmin 200KB, kmax 800KB"]
        );
        assert_eq!(labels(&["\"off\"", by_one[0], by_one[1]])[..2], ["off", "kmin 100KB"]);
        assert_eq!(labels(&["\"30KB\"", "0.0625", "true"]), ["30KB", "0.0625", "true"]);
        let laws = [
            "{ kind = \"rdma\", law = \"dcqcn\" }",
            "{ kind = \"rdma\", law = \"hpcc\", eta = 0.95 }",
            "{ kind = \"tcp\", law = \"dctcp\" }",
        ];
        assert_eq!(labels(&laws), ["dcqcn", "hpcc", "dctcp"]);
    }

    #[test]
    fn a_label_names_its_table_and_tables_without_one_are_told_apart_by_their_keys() {
        let some = [
            "\"off\"",
            "{ \"label\" = \"shallow, 20 to 40\", \"kmin\" = \"20KB\", \"pmax\" = 0.1 }",
            "{ \"kmin\" = \"100KB\", \"pmax\" = 0.1 }",
            "{ \"kmin\" = \"200KB\", \"pmax\" = 0.1 }",
        ];
        assert_eq!(labels(&some), ["off", "shallow, 20 to 40", "kmin 100KB", "kmin 200KB"]);
        assert_eq!(labels(&some[1..2]), ["shallow, 20 to 40"]);
        assert_eq!(labels(&["{ label = 'say \"x, y\"', a = 1 }"]), ["say \"x, y\""]);
        // A key of an inner table is no label of the whole.
        assert_eq!(labels(&["{ a = { label = \"x\" } }"]), ["label x"]);
    }

    #[test]
    fn nested_tables_and_lists_are_told_apart_by_their_leaves() {
        let nested = [
            "{ control = { law = \"hostcc\", enabled = true }, antagonist = [{ cores = 3 }] }",
            "{ control = { law = \"hostcc\", enabled = false }, antagonist = [{ cores = 3 }] }",
        ];
        assert_eq!(labels(&nested), ["enabled true", "enabled false"]);
        assert_eq!(differing(&nested), ["control.enabled = true", "control.enabled = false"]);
        assert_eq!(differing(&["\"dctcp\"", "\"reno\""]), ["dctcp", "reno"]);
        assert_eq!(labels(&["[1, 2]", "[3]", "{}"]), ["[1, 2]", "[3]", "{}"]);
    }

    #[test]
    fn what_is_no_toml_ends_too() {
        for text in ["{", "{{{", "}", "[", "{ a", "{ = }", "\"", "", "a b c", "{ a = [ }"] {
            assert_eq!(labels(&[text, "{ b = 1 }"]).len(), 2, "{text}");
        }
    }
}
