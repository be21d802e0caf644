//! `forebay laws`: the control laws, and a page for each.

use crate::args::Laws;
use crate::failure::Failure;
use crate::say;
use forebay_laws::flow::{FlowParams, LAWS};
use forebay_laws::params::LawInfo;
use serde_json::{Value, json};

/// The verb.
pub fn laws(args: &Laws) -> Result<(), Failure> {
    let Some(name) = &args.name else {
        if args.json {
            return say::json(&LAWS.iter().map(described).collect::<Vec<_>>());
        }
        let width = LAWS.iter().map(|law| law.name.len()).max().unwrap_or(0);
        let mut text = String::new();
        for law in LAWS {
            text.push_str(&format!("{:<width$}  {}\n", law.name, law.summary()));
        }
        return say::data(&text);
    };
    let law = LAWS.iter().find(|law| law.name == name).ok_or_else(|| {
        let known: Vec<&str> = LAWS.iter().map(|law| law.name).collect();
        Failure::Input(format!("there is no law \"{name}\"; use one of {}", known.join(", ")))
    })?;
    if args.json { say::json(&described(law)) } else { say::data(&page(law)) }
}

/// Default values as texts, in the order of the parameters.
fn defaults(law: &LawInfo) -> Vec<String> {
    let params = FlowParams::new(law.name).expect("a registered law has parameters");
    params.values().map(|(_, value)| value.to_string()).collect()
}

fn described(law: &LawInfo) -> Value {
    let params: Vec<Value> = law
        .params
        .iter()
        .zip(defaults(law))
        .map(|(p, default)| {
            json!({
                "name": p.name, "default": default, "takes": p.range, "about": p.doc, "source": p.source,
            })
        })
        .collect();
    let help: Vec<&str> = law.help().collect();
    json!({ "name": law.name, "summary": law.summary(), "help": help.join("\n"), "params": params })
}

fn page(law: &LawInfo) -> String {
    let mut text = format!("{}\n\n", law.name);
    for line in law.help() {
        text.push_str(format!("  {line}").trim_end());
        text.push('\n');
    }
    if law.params.is_empty() {
        text.push_str("\nNo parameters.\n");
    } else {
        text.push_str("\nParameters, as keys of [transport.params]:\n");
    }
    for (param, default) in law.params.iter().zip(defaults(law)) {
        text.push_str(&format!(
            "\n  {} = {default}\n      {}\n      takes   {}\n      source  {}\n",
            param.name, param.doc, param.range, param.source
        ));
    }
    text
}
