//! `forebay laws`: the control laws, and a page for each.

use crate::args::Laws;
use crate::failure::{self, Failure};
use crate::{itself, say};
use forebay_laws::Laws as Registry;
use forebay_laws::RoleName;
use forebay_laws::log::{ReplayError, ReplayedLog};
use forebay_laws::params::LawInfo;
use forebay_scenario::nearest;
use forebay_scenario::objects::{BPF, law_of_object};
use forebay_scenario::read_object;
use forebay_units::Time;
use serde_json::{Value, json};
use std::path::Path;

/// Table of the parameters of a role's laws in a scenario.
fn table(role: RoleName) -> &'static str {
    match role {
        RoleName::Flow | RoleName::Grant | RoleName::Credit => "transport.params",
        RoleName::Host => "host.memory.control.params",
        RoleName::Group => "fabric.switch.hierarchical.params",
        RoleName::Pool => "traffic.pool.params",
    }
}

/// Every law of every role.
fn all() -> impl Iterator<Item = (RoleName, &'static LawInfo)> {
    itself::laws().all()
}

/// Names of all laws.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().map(|(_, law)| law.name())
}

/// The verb.
pub fn laws(args: &Laws) -> Result<(), Failure> {
    match (args.name.as_deref(), &args.log) {
        (Some("replay"), Some(log)) => return replay(log, args.json),
        (Some("replay"), None) => {
            let text =
                "name the log: forebay laws replay LOG (forebay run --law-log FLOW writes one)";
            return Err(Failure::Input(text.into()));
        }
        (Some(name), Some(log)) => {
            let log = log.display();
            return Err(Failure::Input(format!(
                "\"{name} {log}\": one law has one page; to replay a log write \"forebay laws replay {log}\""
            )));
        }
        _ => {}
    }
    let Some(name) = &args.name else {
        if args.json {
            let described = |(role, law)| described(itself::laws(), role, law);
            return say::json(&all().map(described).collect::<Vec<_>>());
        }
        let width = all().map(|(_, law)| law.name().len()).max().unwrap_or(0);
        let mut text = String::new();
        for (role, law) in all() {
            text.push_str(&format!("{:<width$}  {}  {}\n", law.name(), role.word(), law.summary()));
        }
        return say::data(&text);
    };
    if let Some(file) = name.strip_prefix(BPF) {
        return object(name, Path::new(file), args.json);
    }
    let (role, law) = all().find(|(_, law)| law.name() == name).ok_or_else(|| {
        let known: Vec<&str> = names().collect();
        let close = nearest(name, names()).map(|law| format!("did you mean \"{law}\"? "));
        let close = close.unwrap_or_default();
        Failure::Input(format!(
            "there is no law \"{name}\"; {close}use one of {}",
            known.join(", ")
        ))
    })?;
    show(itself::laws(), (role, law), args.json)
}

fn show(laws: &Registry, (role, law): (RoleName, &LawInfo), json: bool) -> Result<(), Failure> {
    match json {
        true => say::json(&described(laws, role, law)),
        false => say::data(&page(laws, role, law)),
    }
}

/// The page of a law from an object file: what it reads, writes and calls.
fn object(name: &str, file: &Path, json: bool) -> Result<(), Failure> {
    let shown = file.display();
    let bytes = read_object(file).map_err(|why| Failure::Input(format!("{shown} {why}")))?;
    let law =
        law_of_object(name, &bytes).map_err(|why| Failure::Input(format!("{shown}: {why}")))?;
    let laws = Registry::built_in().with_module(law);
    let laws = laws.map_err(|why| Failure::Input(why.to_string()))?;
    let law = laws.find(name).expect("it was just added");
    show(&laws, law, json)
}

/// Steps the law of a log through the log again.
fn replay(path: &Path, json: bool) -> Result<(), Failure> {
    let shown = path.display();
    let log = std::fs::read(path)
        .map_err(|error| Failure::Input(format!("{shown}: {}", failure::plain(&error))))?;
    let done = match itself::laws().replay(&log) {
        Ok(done) => done,
        Err(error @ ReplayError::Differs(_)) => {
            return Err(Failure::Missed(format!("{shown}: {error}")));
        }
        Err(error) => return Err(Failure::Input(format!("{shown}: {error}"))),
    };
    let ReplayedLog { role, law, events, first, last } = done;
    if json {
        return say::json(&json!({
            "law": law, "role": role, "events": events, "first_ps": first.as_ps(),
            "last_ps": last.as_ps(), "equal": true,
        }));
    }
    let at = |time: Time| format!("{:.3} us", time.as_secs_f64() * 1e6);
    say::data(&format!(
        "{shown}: {law}, a law of role {role}, repeats the logged actions of its start and all {events} events from {} to {}\n",
        at(first),
        at(last),
    ))
}

/// What a law of this name is, in one line.
pub fn explain(name: &str) -> Option<String> {
    let (role, law) = all().find(|(_, law)| law.name() == name)?;
    let (role, summary) = (role.word(), law.summary());
    Some(format!("{summary} (a law of role {role}; \"forebay laws {name}\" shows its page)"))
}

/// Default values as texts, in the order of the parameters.
fn defaults(laws: &Registry, role: RoleName, law: &LawInfo) -> Vec<String> {
    let named = laws.named(role, law.name());
    named.expect("a listed law has parameters").texts()
}

fn described(laws: &Registry, role: RoleName, law: &LawInfo) -> Value {
    let params: Vec<Value> = law
        .params()
        .iter()
        .zip(defaults(laws, role, law))
        .map(|(p, default)| {
            json!({
                "name": p.name, "default": default, "takes": p.range, "about": p.doc, "source": p.source,
            })
        })
        .collect();
    let help: Vec<&str> = law.help().collect();
    json!({ "name": law.name(), "role": role.word(), "summary": law.summary(), "help": help.join("\n"), "params": params })
}

fn page(laws: &Registry, role: RoleName, law: &LawInfo) -> String {
    let mut text = format!("{}\n\n", law.name());
    for line in law.help() {
        text.push_str(format!("  {line}").trim_end());
        text.push('\n');
    }
    text.push_str(&match law.params() {
        [] => "\nNo parameters.\n".to_string(),
        _ => format!("\nParameters, as keys of [{}]:\n", table(role)),
    });
    for (param, default) in law.params().iter().zip(defaults(laws, role, law)) {
        text.push_str(&format!(
            "\n  {} = {default}\n      {}\n      takes   {}\n      source  {}\n",
            param.name, param.doc, param.range, param.source
        ));
    }
    text
}
