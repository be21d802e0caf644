//! Answers about texts: what is wrong with one, what it asks for, one with another value, and the presets.

use crate::play::{Files, load, too_much};
use crate::presets::{Control, PRESETS};
use forebay_scenario::edit::{value_at, with_value, without};
use forebay_scenario::plan::Plan;
use forebay_study::estimate::{Estimate, overflow};
use serde_json::{Value, json};

/// What is wrong with a text that may name these files, or what it asks for; and the values of `keys` as it has them.
pub fn check<'k>(text: &str, keys: impl Iterator<Item = &'k str>, files: &Files) -> Value {
    let values: serde_json::Map<String, Value> =
        keys.map(|key| (key.to_string(), json!(value_at(text, key)))).collect();
    match load(text, files) {
        Err(problems) => json!({ "problems": problems, "values": values }),
        Ok(loaded) => {
            let scenario = &loaded.scenario;
            let plan = Plan::of(&scenario.fabric);
            let estimate = Estimate::of(scenario, &plan);
            let mut notes = loaded.notes.clone();
            notes.extend(overflow(scenario));
            if !loaded.sweep.is_empty() {
                notes.push("[sweep] is left out here; forebay sweep runs all of it".into());
            }
            if scenario.seeds.len() > 1 {
                notes.push("one seed runs here, the first; forebay run takes all of them".into());
            }
            json!({
                "values": values,
                "name": scenario.name,
                "hosts": plan.hosts,
                "packet_hops": estimate.packet_hops.round(),
                "too_much": too_much(&plan, &estimate),
                "notes": notes,
            })
        }
    }
}

/// The text with values replaced; an empty one takes the line of its key away.
///
/// # Errors
/// Why nothing was changed, in one sentence.
pub fn edited<'k>(
    text: &str,
    changes: impl Iterator<Item = (&'k str, &'k str)>,
) -> Result<String, String> {
    let mut text = text.to_string();
    for (key, value) in changes {
        text = if value.is_empty() { without(&text, key) } else { with_value(&text, key, value) }?;
    }
    Ok(text)
}

/// The presets with their controls.
pub fn presets_as_json() -> Value {
    let control = |control: &Control| match control {
        Control::Choice { label, key, options } => {
            let one = |(word, value): &(&str, &str)| json!({ "word": word, "value": value });
            let options: Vec<Value> = options.iter().map(one).collect();
            json!({ "kind": "choice", "label": label, "key": key, "options": options })
        }
        Control::Slider { label, key, values } => {
            json!({ "kind": "slider", "label": label, "key": key, "values": values })
        }
    };
    let presets = PRESETS.iter().map(|preset| {
        let controls: Vec<Value> = preset.controls.iter().map(control).collect();
        json!({
            "name": preset.name,
            "title": preset.title,
            "try": preset.hint,
            "text": preset.text,
            "watch": preset.watch,
            "controls": controls,
        })
    });
    presets.collect()
}
