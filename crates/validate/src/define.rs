//! Parts of formulas with a name: `[define]` in `rows.toml`.
//!
//! ```toml
//! [define]
//! "slowdown(run)" = "run.flows.elapsed_s / run.flows.ideal_s"
//! [[row]]
//! formula = "p99(slowdown(core[homa]))"
//! ```
//!
//! A use stands for the text of its definition in brackets, with the arguments as words of it. An argument with an operator gets
//! brackets, too. Definitions may use each other.

use std::collections::BTreeMap;

/// Uses that one formula may have, those in definitions included: more are a circle.
const MOST: usize = 1000;

/// All of a suite.
pub(crate) struct Definitions(Vec<Definition>);

/// `"name(parameters)" = "text"`.
struct Definition {
    name: String,
    parameters: Vec<String>,
    text: String,
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Text up to the bracket that closes the first one, and what is behind it.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth == 0 {
            return Some((&text[1..at], &text[at + 1..]));
        }
    }
    None
}

/// Parts between commas that are in no brackets.
fn arguments(text: &str) -> Vec<&str> {
    let (mut depth, mut all, mut begin) = (0, Vec::new(), 0);
    for (at, c) in text.char_indices() {
        depth += i32::from("([".contains(c)) - i32::from(")]".contains(c));
        if c == ',' && depth == 0 {
            all.push(text[begin..at].trim());
            begin = at + 1;
        }
    }
    all.push(text[begin..].trim());
    all
}

impl Definitions {
    /// Reads them. The error is a sentence.
    pub fn new(all: &BTreeMap<String, String>) -> Result<Self, String> {
        let of = |(head, text): (&String, &String)| {
            let at = head.find('(').filter(|_| head.ends_with(')'));
            let at = at.ok_or_else(|| {
                format!("define.{head:?} is no name with parameters; write for instance \"slowdown(run)\"")
            })?;
            let parameters = arguments(&head[at + 1..head.len() - 1]);
            let parameters = parameters.into_iter().map(String::from).collect();
            Ok(Definition { name: head[..at].into(), parameters, text: text.clone() })
        };
        all.iter().map(of).collect::<Result<_, String>>().map(Self)
    }

    /// A formula without uses of them. The error is the rest of a sentence that begins with the formula.
    pub fn expand(&self, text: &str) -> Result<String, String> {
        let mut text = text.to_string();
        for _ in 0..MOST {
            let Some((at, definition)) = self.first(&text) else { return Ok(text) };
            let Definition { name, parameters, text: meant } = definition;
            let behind = &text[at + name.len()..];
            let (inner, rest) =
                bracketed(behind).ok_or_else(|| format!("lacks a ) for {name}(; close it"))?;
            let values = arguments(inner);
            if values.len() != parameters.len() {
                let list = parameters.join(", ");
                return Err(format!("has {name}({inner}); write {name}({list})"));
            }
            let values: Vec<String> = values.into_iter().map(as_one).collect();
            let meant = replaced(meant, parameters, &values);
            text = format!("{}({meant}){rest}", &text[..at]);
        }
        Err("has a definition that uses itself; write it without".into())
    }

    /// The first use in a text.
    fn first(&self, text: &str) -> Option<(usize, &Definition)> {
        let uses = self.0.iter().flat_map(|definition| {
            let head = format!("{}(", definition.name);
            let is_whole = |at: &usize| !text[..*at].ends_with(|c| is_word(c) || c == '.');
            let all = text.match_indices(&head).map(|(at, _)| at).collect::<Vec<_>>();
            all.into_iter().find(is_whole).map(|at| (at, definition))
        });
        uses.min_by_key(|(at, _)| *at)
    }
}

/// An argument that operators around it leave whole.
fn as_one(argument: &str) -> String {
    let mut depth = 0;
    let mut is_outside = |c: char| {
        depth += i32::from("([".contains(c)) - i32::from(")]".contains(c));
        depth == 0
    };
    let outside: String = argument.chars().filter(|c| is_outside(*c)).collect();
    let has_sign = [" + ", " - ", " * ", " / ", " % ", " > ", " < ", " >= ", " <= "]
        .iter()
        .any(|sign| outside.contains(sign));
    if has_sign { format!("({argument})") } else { argument.into() }
}

/// A text with these words replaced.
fn replaced(text: &str, words: &[String], values: &[String]) -> String {
    let mut all = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match is_word(first) {
            // A hyphen is within a word, and no part of `from->to`.
            true => {
                let all = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                rest[..all].trim_end_matches('-').len().max(1)
            }
            false => first.len_utf8(),
        };
        let word = &rest[..end];
        let at = words.iter().position(|known| known == word);
        all += at.map_or(word, |at| &values[at]);
        rest = &rest[end..];
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(defined: &[(&str, &str)], text: &str) -> Result<String, String> {
        let all = defined.iter().map(|(head, text)| (head.to_string(), text.to_string()));
        Definitions::new(&all.collect())?.expand(text)
    }

    #[test]
    fn a_use_stands_for_its_definition_with_the_arguments_as_words() {
        let defined = [
            ("slowdown(run)", "run.flows.a / run.flows.run_b"),
            ("half(x)", "x / 2"),
            ("rate(from)", "a.series(from->host[0] rate)"),
            ("worse(of, by)", "max(mean(slowdown(of[by])), slowdown(of[*, by]))"),
        ];
        for (text, expected) in [
            ("p99(slowdown(core[homa]))", "p99((core[homa].flows.a / core[homa].flows.run_b))"),
            (
                "worse(x-1, y)",
                "(max(mean((x-1[y].flows.a / x-1[y].flows.run_b)), (x-1[*, y].flows.a / x-1[*, y].flows.run_b)))",
            ),
            ("half(sum(a) + b)", "((sum(a) + b) / 2)"),
            ("half(sum(a + b))", "(sum(a + b) / 2)"),
            ("half(x > 3)", "((x > 3) / 2)"),
            ("rate(host[1])", "(a.series(host[1]->host[0] rate))"),
            // Neither within a word nor behind a dot.
            ("a.slowdown(x) + my_slowdown(x)", "a.slowdown(x) + my_slowdown(x)"),
        ] {
            assert_eq!(expanded(&defined, text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_definition_is_said_with_what_to_write() {
        for (head, meant, text, says) in [
            ("a", "1", "1", "is no name with parameters; write for instance"),
            ("a(x)", "x", "a(1, 2)", "has a(1, 2); write a(x)"),
            ("a(x)", "x", "a(1", "lacks a ) for a("),
            ("a(x)", "a(x)", "a(1)", "uses itself"),
        ] {
            let why = expanded(&[(head, meant)], text).expect_err(text);
            assert!(why.contains(says), "{why}");
        }
    }
}
