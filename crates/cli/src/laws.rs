//! `forebay laws`: the control laws, and a page for each.

use crate::args::Laws;
use crate::failure::{self, Failure};
use crate::say;
use forebay_laws::credit::{self, CreditParams};
use forebay_laws::flow::{self, FlowParams};
use forebay_laws::grant::{self, GrantParams};
use forebay_laws::group::{self, GroupParams};
use forebay_laws::host::{self, HostParams};
use forebay_laws::log::{self, ReplayError, Replayed};
use forebay_laws::params::{LawInfo, ParamError};
use forebay_laws::pool::{self, PoolParams};
use forebay_scenario::nearest;
use forebay_units::Time;
use serde_json::{Value, json};
use std::path::Path;

/// What a law works on, and so where a scenario names it.
#[derive(Clone, Copy)]
enum Role {
    Flow,
    Host,
    Group,
    Grant,
    Credit,
    Pool,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Flow => "flow",
            Self::Host => "host",
            Self::Group => "group",
            Self::Grant => "grant",
            Self::Credit => "credit",
            Self::Pool => "pool",
        }
    }

    /// Table of the law's parameters in a scenario.
    fn table(self) -> &'static str {
        match self {
            Self::Flow | Self::Grant | Self::Credit => "transport.params",
            Self::Host => "host.memory.control.params",
            Self::Group => "fabric.switch.hierarchical.params",
            Self::Pool => "traffic.pool.params",
        }
    }
}

/// Every law of every role.
fn all() -> impl Iterator<Item = (Role, &'static LawInfo)> {
    let flows = flow::LAWS.iter().map(|law| (Role::Flow, law));
    let groups = group::LAWS.iter().map(|law| (Role::Group, law));
    let hosts = host::LAWS.iter().map(|law| (Role::Host, law));
    let grants = grant::LAWS.iter().map(|law| (Role::Grant, law));
    let credits = credit::LAWS.iter().map(|law| (Role::Credit, law));
    let pools = pool::LAWS.iter().map(|law| (Role::Pool, law));
    flows.chain(hosts).chain(groups).chain(grants).chain(credits).chain(pools)
}

/// Names of all laws.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().map(|(_, law)| law.name)
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
            return say::json(&all().map(|(role, law)| described(role, law)).collect::<Vec<_>>());
        }
        let width = all().map(|(_, law)| law.name.len()).max().unwrap_or(0);
        let mut text = String::new();
        for (role, law) in all() {
            text.push_str(&format!("{:<width$}  {}  {}\n", law.name, role.name(), law.summary()));
        }
        return say::data(&text);
    };
    let (role, law) = all().find(|(_, law)| law.name == name).ok_or_else(|| {
        let known: Vec<&str> = names().collect();
        let close = nearest(name, names()).map(|law| format!("did you mean \"{law}\"? "));
        let close = close.unwrap_or_default();
        Failure::Input(format!(
            "there is no law \"{name}\"; {close}use one of {}",
            known.join(", ")
        ))
    })?;
    if args.json { say::json(&described(role, law)) } else { say::data(&page(role, law)) }
}

/// Steps the law of a log through the log again.
fn replay(path: &Path, json: bool) -> Result<(), Failure> {
    let shown = path.display();
    let log = std::fs::read(path)
        .map_err(|error| Failure::Input(format!("{shown}: {}", failure::plain(&error))))?;
    let done = match log::replay(&log) {
        Ok(done) => done,
        Err(error @ ReplayError::Differs(_)) => {
            return Err(Failure::Missed(format!("{shown}: {error}")));
        }
        Err(error) => return Err(Failure::Input(format!("{shown}: {error}"))),
    };
    let Replayed { role, law, events, first, last } = done;
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
    let (role, law) = all().find(|(_, law)| law.name == name)?;
    let (role, summary) = (role.name(), law.summary());
    Some(format!("{summary} (a law of role {role}; \"forebay laws {name}\" shows its page)"))
}

/// Default values as texts, in the order of the parameters.
fn defaults(role: Role, law: &LawInfo) -> Vec<String> {
    let texts = || -> Result<Vec<String>, ParamError> {
        Ok(match role {
            Role::Flow => {
                FlowParams::new(law.name)?.values().map(|(_, value)| value.to_string()).collect()
            }
            Role::Host => {
                HostParams::new(law.name)?.values().map(|(_, value)| value.to_string()).collect()
            }
            Role::Group => {
                GroupParams::new(law.name)?.values().map(|(_, value)| value.to_string()).collect()
            }
            Role::Grant => {
                GrantParams::new(law.name)?.values().map(|(_, value)| value.to_string()).collect()
            }
            Role::Credit => {
                CreditParams::new(law.name)?.values().map(|(_, value)| value.to_string()).collect()
            }
            Role::Pool => {
                PoolParams::new(law.name)?.values().map(|(_, value)| value.to_string()).collect()
            }
        })
    };
    texts().expect("a registered law has parameters")
}

fn described(role: Role, law: &LawInfo) -> Value {
    let params: Vec<Value> = law
        .params
        .iter()
        .zip(defaults(role, law))
        .map(|(p, default)| {
            json!({
                "name": p.name, "default": default, "takes": p.range, "about": p.doc, "source": p.source,
            })
        })
        .collect();
    let help: Vec<&str> = law.help().collect();
    json!({ "name": law.name, "role": role.name(), "summary": law.summary(), "help": help.join("\n"), "params": params })
}

fn page(role: Role, law: &LawInfo) -> String {
    let mut text = format!("{}\n\n", law.name);
    for line in law.help() {
        text.push_str(format!("  {line}").trim_end());
        text.push('\n');
    }
    text.push_str(&match law.params {
        [] => "\nNo parameters.\n".to_string(),
        _ => format!("\nParameters, as keys of [{}]:\n", role.table()),
    });
    for (param, default) in law.params.iter().zip(defaults(role, law)) {
        text.push_str(&format!(
            "\n  {} = {default}\n      {}\n      takes   {}\n      source  {}\n",
            param.name, param.doc, param.range, param.source
        ));
    }
    text
}
