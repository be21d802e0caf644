//! The judge of a document: collects sentences while its tables are checked, each with the place of its key.

use crate::check::Finding;
use crate::problem::or_list;
use crate::tree::{Document, did_you_mean, push_key, shorten};
use forebay_laws::flow::FlowParams;
use forebay_laws::params::{NamedLaw, ParamError};
use forebay_laws::{Laws, RoleName};
use forebay_settings::SettingsTable;
use forebay_units::{BitsPerSec, Bytes, Span};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use std::fmt::Display;

/// Larger flows than this (1000 TB) are taken for a mistake in the unit.
pub(crate) const LARGEST_FLOW: u64 = 1_000_000_000_000_000;

/// Reads a file named in a scenario. The error is the end of a sentence, `is missing ...`.
pub(crate) type ReadFile<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

/// Collects sentences while a scenario is checked.
pub(crate) struct Judge<'a> {
    pub document: &'a Document<'a>,
    pub read_file: &'a ReadFile<'a>,
    pub laws: &'a Laws,
    pub findings: Vec<Finding>,
}

/// A table of the document, by its path; empty: paths of keys are whole.
pub(crate) struct JudgedTable<'j, 'a> {
    judge: &'j mut Judge<'a>,
    place: &'j str,
}

impl SettingsTable for JudgedTable<'_, '_> {
    fn path(&self, key: &str) -> String {
        match (self.place, key) {
            ("", key) => key.into(),
            (place, "") => place.into(),
            (place, key) => format!("{place}.{key}"),
        }
    }

    fn given(&self, key: &str) -> bool {
        self.judge.given(&self.path(key))
    }

    fn say(&mut self, key: &str, text: impl Into<String>) {
        let path = self.path(key);
        self.judge.say(&path, text);
    }

    fn wrong(&mut self, key: &str, text: impl Display) {
        let path = self.path(key);
        self.judge.wrong(&path, text);
    }
}

impl<'a> Judge<'a> {
    /// The table at `place`, for the checks of its own type.
    pub fn table<'j>(&'j mut self, place: &'j str) -> JudgedTable<'j, 'a> {
        JudgedTable { judge: self, place }
    }

    /// Whether the key at `path` was written.
    pub fn given(&self, path: &str) -> bool {
        self.document.shown(path).is_some()
    }

    /// Gives a key that was not written at `path` its default.
    pub fn usual<T>(&self, path: &str, key: &mut T, default: T) {
        if !self.given(path) {
            *key = default;
        }
    }

    /// The table at `path`; keys that were not written, and empty lists, are those of `base`.
    pub fn over<T: Serialize + DeserializeOwned>(&self, path: &str, base: &T) -> T {
        let mut keys =
            serde_json::to_value(base).expect("texts, finite numbers and lists are JSON");
        if let (Json::Object(keys), Some(Json::Object(written))) =
            (&mut keys, self.document.json(path))
        {
            keys.extend(written.into_iter().filter(|(_, value)| *value != Json::Array(Vec::new())));
        }
        T::deserialize(keys).expect("the grammar has been held against what was written")
    }

    /// `file:line:column` of the key at `path`.
    pub fn place(&self, path: &str) -> String {
        self.document.place(self.document.find(path))
    }

    /// Notes a sentence about the key at `path`.
    pub fn say(&mut self, path: &str, text: impl Into<String>) {
        self.findings.push((self.document.find(path), path.into(), text.into()));
    }

    /// Notes a sentence that begins with the value at `path`, as it was written.
    pub fn wrong(&mut self, path: &str, text: impl Display) {
        let value = self.document.shown(path).map(|value| format!("{value} ")).unwrap_or_default();
        self.say(path, format!("{value}{text}"));
    }

    /// A span must be above zero and at most a day.
    pub fn span(&mut self, path: &str, span: Span) {
        self.table("").span(path, span);
    }

    /// A span must be at most a day.
    pub fn short(&mut self, path: &str, span: Span) {
        self.table("").short(path, span);
    }

    pub fn share(&mut self, path: &str, share: f64) {
        self.table("").share(path, share);
    }

    /// The law of this name with its published defaults, or a sentence.
    pub fn law(&mut self, path: &str, law: &str) -> Option<FlowParams> {
        let laws = self.laws;
        let known = laws.flow(law).ok();
        if known.is_none() {
            let names = || laws.names(RoleName::Flow);
            let (close, role) = (did_you_mean(law, names()), laws.find(law).map(|(role, _)| role));
            let (law, names) = (shorten(law), or_list(names()));
            let text = match role {
                Some(RoleName::Host) => {
                    format!("{law:?} is a law for host.memory.control; write {names} for flows")
                }
                Some(RoleName::Group) => {
                    format!(
                        "{law:?} is a law for fabric.switch.hierarchical; write {names} for flows"
                    )
                }
                Some(RoleName::Pool) => {
                    format!("{law:?} is a law for pool of an rpc entry; write {names} for flows")
                }
                Some(RoleName::Grant | RoleName::Credit) => format!(
                    "{law:?} is a law of receivers; write {names}, or kind = \"receiver-driven\""
                ),
                Some(RoleName::Flow) | None => {
                    format!("no law is called {law:?}; write {names}{close}")
                }
            };
            self.say(path, text);
        }
        known
    }

    /// Sets parameters in the law, each one that it takes.
    pub fn params(
        &mut self,
        place: &str,
        law: Option<&mut FlowParams>,
        params: &[(String, String)],
    ) {
        let Some(law) = law else { return };
        let wrong = self.findings.len();
        self.set_params(place, law, params);
        if let Some(lacks) = law.lacks().filter(|_| self.findings.len() == wrong) {
            self.say(place, lacks);
        }
    }

    /// Sets each parameter, and says which the law does not take.
    pub fn set_params(&mut self, place: &str, law: &mut dyn NamedLaw, params: &[(String, String)]) {
        for (key, text) in params {
            let mut path = String::from(place);
            push_key(&mut path, key);
            match law.set(key, text) {
                Ok(()) => {}
                Err(e @ ParamError::BadValue { .. }) => {
                    self.say(&path, format!("{:?} does not fit; {e}", shorten(text)));
                }
                Err(e) => {
                    let close = did_you_mean(key, law.info().params().iter().map(|p| p.name));
                    self.say(&path, format!("{e}{close}"));
                }
            }
        }
    }

    /// Says which laws a role has, where `law` is none of them.
    pub fn no_such_law(&mut self, path: &str, role: RoleName, law: &str) {
        let laws = self.laws;
        let names = || laws.names(role);
        let close = did_you_mean(law, names());
        let (law, names) = (shorten(law), or_list(names()));
        let role = role.word();
        let text = format!("no law of role {role} is called {law:?}; write {names}{close}");
        self.say(path, text);
    }

    /// The path of entry `i` of a key that is one text or a list of them.
    pub fn one_or_more(&self, path: &str, i: usize) -> String {
        let inner = format!("{path}[{i}]");
        if self.document.find(&inner) == self.document.find(path) { path.into() } else { inner }
    }

    /// Says that a rate is none that a cable can have.
    pub fn rate(&mut self, path: &str, rate: BitsPerSec) {
        if rate.get() == 0 {
            self.wrong(path, "never sends; write a rate above 0 (a [[fault]] takes a cable down)");
        } else if rate > BitsPerSec::from_gbps(1_000_000) {
            self.wrong(path, "is more than 1000Tbps; write for instance \"100Gbps\"");
        }
    }

    /// Says that a delay is longer than that of any cable.
    pub fn delay(&mut self, path: &str, delay: Span) {
        self.table("").delay(path, delay);
    }

    /// A class has to be among those of the switches.
    pub fn class_exists(&mut self, path: &str, class: u8, classes: u8) {
        self.table("").class_exists(path, class, classes);
    }

    /// Says that a size is none that a flow can have.
    pub fn flow_size(&mut self, path: &str, size: Bytes) {
        if size == Bytes::ZERO {
            self.wrong(path, "is not a flow; write 1B or more");
        } else if size.get() > LARGEST_FLOW {
            self.wrong(path, "is more than 1000TB; for a flow without an end use kind = \"long\"");
        }
    }
}
