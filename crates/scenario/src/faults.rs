//! `[[fault]]`: changes of cables during the run, one type for the file, the checked scenario and the resolved file.

use crate::judge::Judge;
use crate::model::Stop;
use crate::plan::Plan;
use forebay_units::{BitsPerSec, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A change of a cable during the run.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Fault {
    /// When, before stop.time.
    pub at: Time,
    /// Which cable: `leaf[2]-spine[1]`.
    pub link: String,
    /// What happens to the cable, both ways. Default: "rate" or "loss" where one of these keys is given, else "down".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    change: Option<Word>,
    /// The new rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rate: Option<BitsPerSec>,
    /// The new probability of loss, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    loss: Option<f64>,
    /// After this time the cable is as the fabric tables say again. Default: the change stays.
    #[serde(rename = "for", default, skip_serializing_if = "Option::is_none")]
    lasts: Option<Span>,
}

/// What happens, by the word of the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Word {
    /// The cable dies; packets on it are lost.
    Down,
    /// The cable returns.
    Up,
    /// The rate becomes `rate`.
    Rate,
    /// Packets are lost with probability `loss`.
    Loss,
}

/// What a fault does to a cable, both ways.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// The cable dies.
    Down,
    /// The cable returns.
    Up,
    /// Its rate becomes this.
    Rate(BitsPerSec),
    /// Packets are lost with this probability.
    Loss(f64),
}

impl Fault {
    /// This change of this cable.
    pub fn new(at: Time, link: impl Into<String>, change: Change) -> Self {
        let (word, rate, loss) = match change {
            Change::Down => (Word::Down, None, None),
            Change::Up => (Word::Up, None, None),
            Change::Rate(rate) => (Word::Rate, Some(rate), None),
            Change::Loss(loss) => (Word::Loss, None, Some(loss)),
        };
        Self { at, link: link.into(), change: Some(word), rate, loss, lasts: None }
    }

    /// What the fault does; nothing where a new rate or loss is missing, which is refused.
    pub fn change(&self) -> Option<Change> {
        let word = self.change.unwrap_or(match (self.rate, self.loss) {
            (Some(_), _) => Word::Rate,
            (None, Some(_)) => Word::Loss,
            (None, None) => Word::Down,
        });
        match word {
            Word::Down => Some(Change::Down),
            Word::Up => Some(Change::Up),
            Word::Rate => self.rate.map(Change::Rate),
            Word::Loss => self.loss.map(Change::Loss),
        }
    }

    /// The fault as it is resolved, and what undoes it if it ends within the run.
    fn check(
        &self,
        judge: &mut Judge<'_>,
        path: &str,
        (stop, plan): (Stop, &Plan),
    ) -> [Option<Self>; 2] {
        let at = |key: &str| format!("{path}.{key}");
        let Some(cable) = plan.cable(&self.link) else {
            let example = plan.cables.last().map(|c| plan.cable_name(*c)).unwrap_or_default();
            let text = format!("{:?} is no cable; write for instance {example:?}", self.link);
            judge.say(&at("link"), text);
            return [None, None];
        };
        let Some(change) = self.check_change(judge, path) else { return [None, None] };
        if self.at >= stop.time {
            let (when, stop) = (self.at, stop.time);
            let text = format!("{when} is not before the end of the run, stop.time = {stop}");
            judge.say(&at("at"), text);
        }
        let link = plan.cable_name(cable);
        let fault = Some(Self::new(self.at, link.clone(), change));
        let Some(lasts) = self.lasts else { return [fault, None] };
        judge.span(&at("for"), lasts);
        let undo = match change {
            Change::Down => Change::Up,
            Change::Up => {
                judge.wrong(&at("for"), "means nothing with change = \"up\"; leave it out");
                return [fault, None];
            }
            Change::Rate(_) => Change::Rate(cable.link.rate),
            Change::Loss(_) => Change::Loss(cable.loss),
        };
        // What would end after the run does not end in it.
        let end = self.at.saturating_add(lasts);
        [fault, (end < stop.time).then(|| Self::new(end, link, undo))]
    }

    /// What happens, if all that it needs is given and nothing else.
    fn check_change(&self, judge: &mut Judge<'_>, path: &str) -> Option<Change> {
        let change = self.change();
        let word = match (change, self.change) {
            (Some(Change::Down), _) => "down",
            (Some(Change::Up), _) => "up",
            (Some(Change::Rate(_)), _) | (None, Some(Word::Rate)) => "rate",
            _ => "loss",
        };
        for (key, given) in [("rate", self.rate.is_some()), ("loss", self.loss.is_some())] {
            if given && key != word {
                let text = format!(
                    "means nothing with change = {word:?}; leave it out, or add a fault of its own"
                );
                judge.wrong(&format!("{path}.{key}"), text);
            }
        }
        match change {
            Some(Change::Rate(rate)) => judge.rate(&format!("{path}.rate"), rate),
            Some(Change::Loss(loss)) => judge.share(&format!("{path}.loss"), loss),
            Some(_) => {}
            None => {
                let text = format!("change = {word:?} needs a new {word}; write {word} = ...");
                judge.say(path, text);
            }
        }
        change
    }
}

/// Faults in file order; each `for` adds the fault that undoes it.
pub(crate) fn check(
    faults: &[Fault],
    judge: &mut Judge<'_>,
    (stop, plan): (Stop, &Plan),
) -> Vec<Fault> {
    let all = faults.iter().enumerate();
    let one = |(i, fault): (usize, &Fault)| {
        fault.check(judge, &format!("fault[{i}]"), (stop, plan)).into_iter().flatten()
    };
    all.flat_map(one).collect()
}
