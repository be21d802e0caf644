//! What is wrong with `fabric.switch.credits`.

use crate::fabric::{CreditClass, Routing};
use crate::judge::Judge;
use crate::scenario::Scenario;
use crate::transport::{self, Transport};
use forebay_laws::Paths;

/// What is wrong with the class of credits of a scenario, if it has one, or with laws that need it.
pub(crate) fn check(judge: &mut Judge<'_>, scenario: &Scenario) {
    check_law(judge, scenario, "transport", &scenario.transport);
    for (name, one) in &scenario.transports {
        check_law(judge, scenario, &transport::path(name), one);
    }
    if let Some(credits) = &scenario.fabric.switch.credits {
        check_table(judge, credits, scenario);
    }
}

/// Credits take the links that their data takes back, and ports meter them there.
fn check_law(judge: &mut Judge<'_>, scenario: &Scenario, place: &str, of: &Transport) {
    let Some(law) = of.credit_law(judge.laws) else { return };
    let key = |key: &str| format!("{place}.{key}");
    if scenario.fabric.switch.credits.is_none() {
        let text = format!(
            "{:?} has credits that ports meter; write fabric.switch.classes = 2 and fabric.switch.credits = {{ class = 1 }}",
            of.law
        );
        judge.say(&key("law"), text);
    }
    let routing = of.routing.unwrap_or(scenario.fabric.routing);
    if law.facts().paths == Paths::Symmetric && routing != Routing::EcmpSymmetric {
        let text = format!(
            "{:?} needs credits and data on the same links; write {place}.routing = \"ecmp-symmetric\"",
            of.law
        );
        judge.say(&key(if of.routing.is_some() { "routing" } else { "law" }), text);
    }
}

/// What is wrong with the table in `scenario`.
fn check_table(judge: &mut Judge<'_>, of: &CreditClass, scenario: &Scenario) {
    let (path, fabric, class) = ("fabric.switch.credits", &scenario.fabric, of.class);
    let switch = &fabric.switch;
    let at = |key: &str| format!("{path}.{key}");
    judge.class_exists(&at("class"), class, switch.classes);
    if class + 1 < switch.classes {
        let highest = switch.classes - 1;
        let text = format!(
            "{class} is not the highest class, and credits go before all others; write {highest}"
        );
        judge.say(&at("class"), text);
    }
    of.check(&mut judge.table(path), fabric.wire.overhead);
    let both = |other: &str| format!("and {other}; leave out one of them");
    if switch.limits.iter().any(|one| one.class == class) {
        let other = format!("fabric.switch.limits both limit class {class}");
        judge.say(&at("limit"), both(&other));
    }
    if switch.weights.iter().any(|one| one.class == class) {
        let other = format!("fabric.switch.weights both say when class {class} goes");
        judge.say(&at("class"), both(&other));
    }
    if switch.class_trims().iter().flatten().any(|trim| trim.class == class) {
        judge.say(&at("class"), format!("{class} holds trimmed headers; write a class of its own"));
    }
    if switch.wrr.is_some() && class < 2 {
        let other = format!("fabric.switch.wrr both say when class {class} goes");
        judge.say(&at("class"), both(&other));
    }
    let of_entries = scenario.traffic.iter().filter_map(|entry| entry.class);
    let mut data = of_entries.chain(scenario.all_transports().map(|one| one.class));
    if let Some(of_data) = data.find(|of_data| *of_data >= class) {
        let text = format!(
            "{class} is below data of class {of_data}; write more, or give data a class below"
        );
        judge.say(&at("class"), text);
    }
    if fabric.pauses().next().is_some() {
        judge.say(path, both("pause both hold packets back"));
    }
    if switch.hierarchical.is_some() {
        judge.say(path, both("hierarchical both put credits into the highest class"));
    }
    if !fabric.shapers.is_empty() {
        judge.say(path, both("shaper both meter a port"));
    }
}
