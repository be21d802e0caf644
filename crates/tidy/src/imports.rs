//! Which file of a crate imports which, read from its paths.
//!
//! A path counts for the file that defines what it names: re-exports are followed. Paths from a module to the modules inside
//! it do not count, because a parent assembles its children. Code in macros counts like other code.

use crate::source::code;
use std::collections::{BTreeMap, BTreeSet};

/// Module of a file: `a::b` of `src/a/b.rs` and of `src/a/b/mod.rs`; empty for the root.
type Module = Vec<String>;

/// Files of a crate that each file imports, in files below `crates/`.
pub type Imports = BTreeMap<String, BTreeSet<String>>;

/// Reads the imports of a crate.
pub fn imports(of: &str) -> Imports {
    let files: BTreeMap<Module, Source> = code(of)
        .into_iter()
        .map(|(at, text)| (module(&at), Source::new(at, &without_strings(&text))))
        .collect();
    let mut found = Imports::new();
    for (module, source) in &files {
        let used = found.entry(source.at.clone()).or_default();
        for path in &source.paths {
            let Some(target) = resolve(&files, module, path, 8) else { continue };
            if target != *module && !target.starts_with(module) {
                used.insert(files[&target].at.clone());
            }
        }
    }
    found
}

/// Groups of files that import each other, each in order; a file in no circle is in none.
pub fn circles(imports: &Imports) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        imports.keys().map(|file| (file, reach(imports, file))).collect();
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for (file, from_here) in &reached {
        if found.iter().any(|circle| circle.contains(*file)) {
            continue;
        }
        let circle = from_here.iter().filter(|other| reached[*other].contains(file));
        let circle: BTreeSet<String> = circle.map(|other| other.to_string()).collect();
        if !circle.is_empty() {
            found.push(circle);
        }
    }
    found
}

/// Files that one imports, directly or by way of others.
fn reach<'a>(imports: &'a Imports, from: &'a String) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut left = vec![from];
    while let Some(file) = left.pop() {
        left.extend(imports[file].iter().filter(|used| found.insert(*used)));
    }
    found
}

/// A file, the paths in it, and the names that its `use` lines bring.
struct Source {
    at: String,
    paths: Vec<Vec<String>>,
    names: BTreeMap<String, Vec<String>>,
}

impl Source {
    fn new(at: String, code: &str) -> Self {
        let words = words(code);
        let mut source = Self { at, paths: Vec::new(), names: BTreeMap::new() };
        let mut next = 0;
        while next < words.len() {
            match words[next] {
                "use" => next = source.tree(&words, next + 1, &[]),
                "crate" | "super" | "self" if words.get(next + 1) == Some(&"::") => {
                    let (path, end) = plain(&words, next);
                    source.paths.push(path);
                    next = end;
                }
                _ => next += 1,
            }
        }
        source
    }

    /// Reads one tree of a `use` line from `at` on; gives the place behind it.
    fn tree(&mut self, words: &[&str], at: usize, prefix: &[String]) -> usize {
        let (mut path, mut next) = (prefix.to_vec(), at);
        while let Some(word) = words.get(next) {
            match *word {
                "::" => next += 1,
                "{" => {
                    next += 1;
                    while words.get(next).is_some_and(|word| *word != "}") {
                        next = self.tree(words, next, &path);
                        next += usize::from(words.get(next) == Some(&","));
                    }
                    return next + 1;
                }
                "*" => {
                    self.paths.push(path);
                    return next + 1;
                }
                "as" => {
                    self.names.insert(words[next + 1].to_string(), path.clone());
                    self.paths.push(path);
                    return next + 2;
                }
                word if is_name(word) => {
                    path.push(word.to_string());
                    next += 1;
                }
                _ => break,
            }
        }
        if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
            path.pop();
        }
        if let Some(name) = path.last() {
            self.names.insert(name.clone(), path.clone());
            self.paths.push(path);
        }
        next
    }
}

/// The path that begins at a word, and the place behind it.
fn plain(words: &[&str], at: usize) -> (Vec<String>, usize) {
    let mut path = vec![words[at].to_string()];
    let mut next = at + 1;
    while words.get(next) == Some(&"::") && words.get(next + 1).is_some_and(|word| is_name(word)) {
        path.push(words[next + 1].to_string());
        next += 2;
    }
    (path, next)
}

/// The module of the file that defines what a path names. `None`: it names something outside this crate.
fn resolve(
    files: &BTreeMap<Module, Source>,
    from: &Module,
    path: &[String],
    depth: u8,
) -> Option<Module> {
    let mut here = from.clone();
    let mut rest = path;
    let inside = |here: &Module, word: &String| {
        let child = [here.as_slice(), std::slice::from_ref(word)].concat();
        files.contains_key(&child).then_some(child)
    };
    match path.first()?.as_str() {
        "crate" => (here, rest) = (Module::new(), &path[1..]),
        "super" | "self" => {}
        _ => {
            inside(&here, &path[0])?;
        }
    }
    while let Some((word, more)) = rest.split_first() {
        match word.as_str() {
            "self" => {}
            "super" => _ = here.pop(),
            _ => match inside(&here, word) {
                Some(child) => here = child,
                None => {
                    let named = files.get(&here)?.names.get(word).filter(|_| depth > 0);
                    let target = named.and_then(|named| resolve(files, &here, named, depth - 1));
                    return Some(target.unwrap_or(here));
                }
            },
        }
        rest = more;
    }
    Some(here)
}

/// The module of a file below `crates/`.
fn module(at: &str) -> Module {
    let (_, inside) = at.split_once("/src/").expect("a file of code");
    let mut parts: Module = inside.trim_end_matches(".rs").split('/').map(String::from).collect();
    if parts.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        parts.pop();
    }
    parts
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// Names and signs of code.
fn words(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = code.trim_start();
    while !rest.is_empty() {
        let name = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let end = match name.unwrap_or(rest.len()) {
            0 if rest.starts_with("::") => 2,
            0 => rest.chars().next().map_or(0, char::len_utf8),
            end => end,
        };
        let (word, more) = rest.split_at(end);
        found.push(word);
        rest = more.trim_start();
    }
    found
}

/// Code whose texts between quotes are empty, and without comments behind code.
fn without_strings(code: &str) -> String {
    let mut found = String::with_capacity(code.len());
    let mut chars = code.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                // A character, which may be a quote; a lifetime has no second one.
                found.push(' ');
                match chars.peek() {
                    Some('\\') => {
                        chars.next();
                        chars.next();
                    }
                    Some('"') => _ = chars.next(),
                    _ => {}
                }
            }
            '"' => {
                while let Some(c) = chars.next().filter(|c| *c != '"') {
                    if c == '\\' {
                        chars.next();
                    }
                }
                found.push(' ');
            }
            '/' if chars.peek() == Some(&'/') => {
                while chars.peek().is_some_and(|c| *c != '\n') {
                    chars.next();
                }
            }
            c => found.push(c),
        }
    }
    found
}
