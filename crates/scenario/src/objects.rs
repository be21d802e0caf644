//! Laws from object files: `law = "bpf:path/to/cc.bpf.o"`, the path relative to the scenario.

use crate::check::Finding;
use crate::scenario::Scenario;
pub use crate::transport::BPF;
use crate::tree::{Document, push_key, shorten};
use forebay_bpf_law::Object;
use forebay_bpf_law::elf::MAX_BYTES;
use forebay_laws::Laws;
use forebay_laws::kernel::Program;
use std::collections::BTreeSet;

/// Reads the bytes of a file named in a scenario, at most so many. The error is the end of a sentence, `is missing ...`.
pub(crate) type ReadBytes<'a> = dyn Fn(&str, u64) -> Result<Vec<u8>, String> + 'a;

/// Largest object file.
pub(crate) const LARGEST: u64 = MAX_BYTES as u64;

/// The law of an object file under this name, which begins with [`BPF`].
///
/// # Errors
/// If the object cannot be loaded: one sentence.
pub fn law_of_object(name: &str, object: &[u8]) -> Result<Box<dyn Program>, String> {
    let law = Object::read(object).and_then(|object| object.law(name));
    law.map(|law| Box::new(law) as Box<dyn Program>).map_err(|error| error.to_string())
}

/// Adds the laws that a scenario names by object files. Gives a sentence for each that cannot be.
pub(crate) fn add(
    laws: &mut Laws,
    scenario: &Scenario,
    document: &Document<'_>,
    read: &ReadBytes<'_>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut known = BTreeSet::new();
    for (key, name) in named(scenario) {
        let Some(file) = name.strip_prefix(BPF) else { continue };
        if laws.find(name).is_some() || !known.insert(name) {
            continue;
        }
        let law = match read(file, LARGEST) {
            Ok(bytes) => law_of_object(name, &bytes).map_err(|why| format!("{name:?}: {why}")),
            Err(why) => Err(format!("{name:?}: {} {why}", shorten(file))),
        };
        let added =
            law.and_then(|law| laws.clone().with_module(law).map_err(|error| error.to_string()));
        match added {
            Ok(with) => *laws = with,
            Err(why) => findings.push((document.find(&key), key, why)),
        }
    }
    findings
}

/// Keys of laws of flows, and the names there.
fn named(scenario: &Scenario) -> Vec<(String, &str)> {
    let own = [("transport.law".to_string(), scenario.transport.law.as_str())];
    let others = scenario.transports.iter().map(|(name, of)| {
        let mut key = String::from("transports");
        push_key(&mut key, name);
        (key + ".law", of.law.as_str())
    });
    let entries = scenario.traffic.iter().enumerate().filter_map(|(nth, entry)| {
        entry.law.as_deref().map(|law| (format!("traffic[{nth}].law"), law))
    });
    own.into_iter().chain(others).chain(entries).collect()
}
