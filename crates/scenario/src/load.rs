//! From a file, or its text, to a checked scenario.

use crate::check::check;
use crate::expect::Expect;
use crate::judge::Judge;
use crate::objects::{self, ReadBytes};
use crate::problem::{Error, KEPT, Problem};
use crate::scenario::{File, Scenario};
use crate::tree::{Document, LABEL, Origin, Value};
use crate::whole;
use forebay_laws::Laws;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;

/// A scenario file is refused above this size; it is written by people.
const LARGEST_SCENARIO: u64 = 16 << 20;
/// Lists of flows and distributions are refused above this size.
const LARGEST_DATA: u64 = 2 << 30;

/// More combinations of a sweep than this are refused.
const MOST_RUNS: usize = 100_000;

/// A scenario, and what its file says beyond one run.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedScenario {
    /// What a run needs.
    pub scenario: Scenario,
    /// Key paths and the values each takes in turn, as TOML text, in key order. Feed each combination back
    /// as settings.
    pub sweep: Vec<(String, Vec<String>)>,
    /// Bands that results must lie in.
    pub expect: Vec<Expect>,
    /// What the reader of the file should know, though nothing is wrong: one sentence each.
    pub notes: Vec<String>,
}

impl LoadedScenario {
    /// The settings of each run of the sweep, last key fastest; one empty list where there is no sweep.
    pub fn points(&self) -> Vec<Vec<(String, String)>> {
        let mut points = vec![Vec::new()];
        for (key, values) in &self.sweep {
            let longer = |point: &Vec<(String, String)>| {
                let point = point.clone();
                values.iter().map(move |v| [point.clone(), vec![(key.clone(), v.clone())]].concat())
            };
            points = points.iter().flat_map(longer).collect();
        }
        points
    }
}

/// The settings of one point of a sweep among those of the user, in the order in which they apply.
///
/// A setting of a table that holds a swept key comes first, with all before it: else it would undo the value of the point.
/// The others come last, such as one key of a table that is swept.
pub fn around(sets: &[(String, String)], point: &[(String, String)]) -> Vec<(String, String)> {
    let holds = |(set, _): &(String, String)| {
        let below = |(key, _): &(String, String)| {
            key.strip_prefix(set.as_str()).is_some_and(|rest| rest.starts_with(['.', '[']))
        };
        point.iter().any(below)
    };
    let (first, last) = sets.split_at(sets.iter().rposition(holds).map_or(0, |at| at + 1));
    [first, point, last].concat()
}

/// Reads and checks scenarios whose laws are these; the default has the built-in ones.
///
/// The free functions of this module are those of the default.
#[derive(Clone, Debug, Default)]
pub struct Loader {
    laws: Laws,
}

impl Loader {
    /// A loader for scenarios that may name these laws.
    pub fn new(laws: Laws) -> Self {
        Self { laws }
    }

    /// The laws that scenarios may name.
    pub fn laws(&self) -> &Laws {
        &self.laws
    }

    /// Reads and checks a scenario file, after applying settings such as `("traffic[0].load", "0.5")`.
    ///
    /// # Errors
    /// One sentence for each thing to put right.
    pub fn load<S: AsRef<str>>(
        &self,
        path: &Path,
        sets: &[(S, S)],
    ) -> Result<LoadedScenario, Error> {
        let name = path.display().to_string();
        let resolved = path.join("resolved.toml");
        if resolved.is_file() {
            let text = format!("is the folder of a run; its scenario is {}", resolved.display());
            return Err(Error::one(&name, text));
        }
        let text = read_file(path, LARGEST_SCENARIO).map_err(|why| Error::one(&name, why))?;
        self.text(&name, &text, sets)
    }

    /// Checks a scenario given as text, after applying settings. `name` stands for it in sentences; files that it names are
    /// sought in the folder of `name`.
    ///
    /// # Errors
    /// One sentence for each thing to put right.
    pub fn text<S: AsRef<str>>(
        &self,
        name: &str,
        text: &str,
        sets: &[(S, S)],
    ) -> Result<LoadedScenario, Error> {
        let folder = Path::new(name).parent().unwrap_or(Path::new(""));
        let read = |file: &str, most: u64| bytes_named(&folder.join(file), most);
        read_text(&self.laws, name, text, sets, &read)
    }
}

/// Reads and checks a scenario file.
///
/// # Errors
/// One sentence for each thing to put right.
pub fn load(path: &Path) -> Result<LoadedScenario, Error> {
    load_with::<&str>(path, &[])
}

/// As [`load`], after applying settings such as `("traffic[0].load", "0.5")`.
///
/// # Errors
/// One sentence for each thing to put right.
pub fn load_with<S: AsRef<str>>(path: &Path, sets: &[(S, S)]) -> Result<LoadedScenario, Error> {
    Loader::default().load(path, sets)
}

/// Checks a scenario given as text. `name` stands for it in sentences; files that it names are sought in
/// the folder of `name`.
///
/// # Errors
/// One sentence for each thing to put right.
pub fn text(name: &str, text: &str) -> Result<LoadedScenario, Error> {
    text_with::<&str>(name, text, &[])
}

/// As [`text`], after applying settings.
///
/// # Errors
/// One sentence for each thing to put right.
pub fn text_with<S: AsRef<str>>(
    name: &str,
    text: &str,
    sets: &[(S, S)],
) -> Result<LoadedScenario, Error> {
    Loader::default().text(name, text, sets)
}

/// As [`text_with`], with files that `read` knows, so that nothing is read here. Its error is the end of a sentence about the
/// file.
///
/// # Errors
/// One sentence for each thing to put right.
pub fn text_from<S: AsRef<str>>(
    name: &str,
    text: &str,
    sets: &[(S, S)],
    read: &dyn Fn(&str) -> Result<Vec<u8>, String>,
) -> Result<LoadedScenario, Error> {
    let read = |file: &str, _: u64| read(file);
    read_text(&Laws::built_in(), name, text, sets, &read)
}

fn read_text<S: AsRef<str>>(
    laws: &Laws,
    name: &str,
    text: &str,
    sets: &[(S, S)],
    read: &ReadBytes<'_>,
) -> Result<LoadedScenario, Error> {
    let mut document = Document::parse(name, text)?;
    for (key, value) in sets {
        document.set(key.as_ref(), value.as_ref())?;
    }
    if document.root.value.get("sweep").is_some() {
        document.take_missing_from_sweep(&missing(&document));
    }
    let file = grammar(&document)?;
    let sweep = sweep(&document, &file)?;
    let File { mut scenario, mut expect, .. } = file;
    let mut laws = laws.clone();
    let findings = objects::add(&mut laws, &scenario, &document, read);
    if !findings.is_empty() {
        return Err(sentences(&document, findings));
    }
    scenario.laws = laws.clone();
    let read = |file: &str| read(file, LARGEST_DATA).and_then(as_text);
    let mut judge =
        Judge { document: &document, read_file: &read, laws: &laws, findings: Vec::new() };
    let stem = Path::new(name).file_stem().map(|s| s.to_string_lossy().into_owned());
    whole::check(&mut scenario, &stem.unwrap_or_else(|| "scenario".into()), &mut judge);
    for (i, one) in expect.iter_mut().enumerate() {
        one.check(&mut judge, &format!("expect[{i}]"));
    }
    let notes = notes(&document);
    if judge.findings.is_empty() {
        Ok(LoadedScenario { scenario, sweep, expect, notes })
    } else {
        Err(sentences(&document, judge.findings))
    }
}

/// Checks a file of another program, which has the form of `T`. `judge` gives the keys and sentences of what the form allows
/// and the program does not.
///
/// # Errors
/// One sentence for each thing to put right.
pub fn read_as<T: JsonSchema + DeserializeOwned>(
    name: &str,
    text: &str,
    judge: impl FnOnce(&T) -> Vec<(String, String)>,
) -> Result<T, Error> {
    let document = Document::parse(name, text)?;
    let findings = check(&crate::schema::schema_of::<T>(), &document.root);
    if !findings.is_empty() {
        return Err(sentences(&document, findings));
    }
    let read = T::deserialize(document.root.value.json()).map_err(|e| {
        sentences(&document, vec![(document.root.at, String::new(), e.to_string())])
    })?;
    let findings = judge(&read).into_iter().map(|(key, text)| (document.find(&key), key, text));
    match findings.collect::<Vec<_>>() {
        none if none.is_empty() => Ok(read),
        some => Err(sentences(&document, some)),
    }
}

/// One sentence for each former name that the document uses, with the place of its first use.
fn notes(document: &Document<'_>) -> Vec<String> {
    let mut named: Vec<&str> = Vec::new();
    let mut notes = Vec::new();
    for &(at, old, new) in &document.moved {
        if !named.contains(&old) {
            named.push(old);
            let place = document.place(at);
            notes.push(format!(
                "{place}: {old:?} is now called {new:?}; the next release knows the new name alone"
            ));
        }
    }
    notes
}

/// All that does not keep to the grammar.
fn misfits(document: &Document<'_>) -> Vec<crate::check::Finding> {
    static SCHEMA: OnceLock<serde_json::Value> = OnceLock::new();
    check(SCHEMA.get_or_init(crate::schema::schema), &document.root)
}

/// Keys that the grammar wants and the document has not.
fn missing(document: &Document<'_>) -> Vec<String> {
    let absent = |path: &String| document.shown(path).is_none();
    misfits(document).into_iter().map(|(_, path, _)| path).filter(absent).collect()
}

/// The document as written, if it keeps to the grammar.
fn grammar(document: &Document<'_>) -> Result<File, Error> {
    let findings = misfits(document);
    if !findings.is_empty() {
        return Err(sentences(document, findings));
    }
    File::deserialize(document.root.value.json())
        .map_err(|e| sentences(document, vec![(document.root.at, String::new(), e.to_string())]))
}

/// Every value of a sweep must at least keep to the grammar.
fn sweep(document: &Document<'_>, file: &File) -> Result<Vec<(String, Vec<String>)>, Error> {
    let mut all = Vec::new();
    let mut runs = 1usize;
    let Some(sweep) = &file.sweep else { return Ok(all) };
    let entries = document.root.value.get("sweep").map(|e| &e.node.value);
    for key in sweep.keys() {
        let Some(entry) = entries.and_then(|e| e.get(key)) else { continue };
        let Value::List(items) = &entry.node.value else { continue };
        let say = |at: Origin, text: String| {
            let mut path = String::from("sweep");
            crate::tree::push_key(&mut path, key);
            sentences(document, vec![(at, path, text)])
        };
        if items.is_empty() {
            return Err(say(entry.node.at, "is empty; write at least one value".into()));
        }
        let mut labels: Vec<String> = Vec::new();
        for item in items {
            let Some(label) = item.value.get(LABEL).map(|entry| &entry.node) else { continue };
            match &label.value {
                // A table of that name is one of the scenario, such as a transport.
                Value::Table(_) => {}
                Value::Text(text) if text.trim().is_empty() => {
                    return Err(say(label.at, "the label is empty; write a name".into()));
                }
                Value::Text(text) if labels.contains(text) => {
                    let text = format!("two values have the label {text:?}; write another name");
                    return Err(say(label.at, text));
                }
                Value::Text(text) => labels.push(text.clone()),
                other => {
                    let (shown, kind) = (other.shown(), other.kind());
                    let text = format!("the label {shown} is {kind}; write a text in quotes");
                    return Err(say(label.at, text));
                }
            }
        }
        let values: Vec<String> = items.iter().map(|n| n.value.toml()).collect();
        for (item, value) in items.iter().zip(&values) {
            let mut trial = document.clone();
            let fits = trial.set(key, value).and_then(|()| grammar(&trial).map(|_| ()));
            if let Err(e) = fits {
                let problem = &e.problems[0];
                return Err(say(
                    item.at,
                    format!("the value {value}: {}: {}", problem.key, problem.text),
                ));
            }
        }
        runs = runs.saturating_mul(values.len());
        all.push((key.clone(), values));
    }
    if runs > MOST_RUNS {
        let at = document.find("sweep");
        let text =
            format!("makes {runs} runs; at most {MOST_RUNS} are possible, so write fewer values");
        return Err(sentences(document, vec![(at, "sweep".into(), text)]));
    }
    Ok(all)
}

/// Findings as sentences, in file order.
fn sentences(document: &Document<'_>, mut findings: Vec<crate::check::Finding>) -> Error {
    findings.sort_by_key(|(at, ..)| *at);
    findings.truncate(KEPT);
    let problems = findings
        .into_iter()
        .map(|(at, key, text)| Problem { place: document.place(at), key, text })
        .collect();
    Error { problems }
}

/// A file that a scenario names. A device or a pipe may never end, so only regular files are read.
fn bytes_named(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let what = std::fs::metadata(path).map_err(|e| why_unreadable(&e))?;
    if !what.is_file() && !what.is_dir() {
        return Err("is a device or a pipe; write the path of a regular file".into());
    }
    read_bytes(path, most)
}

/// The bytes of an object file.
///
/// # Errors
/// If it cannot be read, is no regular file or is too big: the end of a sentence about it.
pub fn read_object(path: &Path) -> Result<Vec<u8>, String> {
    bytes_named(path, objects::LARGEST)
}

/// The text of a file of at most `most` bytes. The error is the end of a sentence.
fn read_file(path: &Path, most: u64) -> Result<String, String> {
    read_bytes(path, most).and_then(as_text)
}

fn read_bytes(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let size = std::fs::metadata(path).map_err(|e| why_unreadable(&e))?;
    if size.is_dir() {
        return Err("is a folder; write the path of a file".into());
    }
    if size.len() > most {
        return Err(format!("is too big ({} bytes); at most {most} bytes are read", size.len()));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|e| why_unreadable(&e))?;
    file.take(most + 1).read_to_end(&mut bytes).map_err(|e| why_unreadable(&e))?;
    if bytes.len() as u64 > most {
        return Err(format!("is too big; at most {most} bytes are read"));
    }
    Ok(bytes)
}

fn as_text(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        format!("is not UTF-8 text (byte {}); save it as UTF-8", at + 1)
    })
}

fn why_unreadable(e: &std::io::Error) -> String {
    match e.kind() {
        std::io::ErrorKind::NotFound => "is missing; check the path".into(),
        std::io::ErrorKind::PermissionDenied => "may not be read; check its permissions".into(),
        _ => format!("cannot be read: {e}"),
    }
}
