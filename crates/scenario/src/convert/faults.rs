//! Changes of cables during the run.

use super::Judge;
use crate::model::{Change, Fault, Stop};
use crate::plan::Plan;
use crate::raw;

impl Judge<'_> {
    /// Faults in file order; each `for` adds the fault that undoes it.
    pub(super) fn faults(&mut self, faults: &[raw::Fault], stop: Stop, plan: &Plan) -> Vec<Fault> {
        let mut all = Vec::new();
        for (i, fault) in faults.iter().enumerate() {
            let path = format!("fault[{i}]");
            let Some(cable) = plan.cable(&fault.link) else {
                let example = plan.cables.last().map(|c| plan.cable_name(*c)).unwrap_or_default();
                self.say(
                    &format!("{path}.link"),
                    format!("{:?} is no cable; write for instance {example:?}", fault.link),
                );
                continue;
            };
            let Some(change) = self.change(&path, fault) else { continue };
            let at = fault.at.0;
            if at >= stop.time {
                let text =
                    format!("{at} is not before the end of the run, stop.time = {}", stop.time);
                self.say(&format!("{path}.at"), text);
            }
            let link = plan.cable_name(cable);
            all.push(Fault { at, link: link.clone(), change });
            if let Some(lasts) = fault.lasts {
                self.span(&format!("{path}.for"), lasts.0);
                let undo = match change {
                    Change::Down => Change::Up,
                    Change::Up => {
                        self.wrong(
                            &format!("{path}.for"),
                            "means nothing with change = \"up\"; leave it out",
                        );
                        continue;
                    }
                    Change::Rate(_) => Change::Rate(cable.link.rate),
                    Change::Loss(_) => Change::Loss(cable.loss),
                };
                let end = at.saturating_add(lasts.0);
                // What would end after the run does not end in it.
                if end < stop.time {
                    all.push(Fault { at: end, link, change: undo });
                }
            }
        }
        all
    }

    fn change(&mut self, path: &str, fault: &raw::Fault) -> Option<Change> {
        let kind = fault.change.unwrap_or(match (fault.rate, fault.loss) {
            (Some(_), _) => raw::Change::Rate,
            (None, Some(_)) => raw::Change::Loss,
            (None, None) => raw::Change::Down,
        });
        let word = match kind {
            raw::Change::Down => "down",
            raw::Change::Up => "up",
            raw::Change::Rate => "rate",
            raw::Change::Loss => "loss",
        };
        if fault.rate.is_some() && kind != raw::Change::Rate {
            self.wrong(
                &format!("{path}.rate"),
                format!(
                    "means nothing with change = {word:?}; leave it out, or add a fault of its own"
                ),
            );
        }
        if fault.loss.is_some() && kind != raw::Change::Loss {
            self.wrong(
                &format!("{path}.loss"),
                format!(
                    "means nothing with change = {word:?}; leave it out, or add a fault of its own"
                ),
            );
        }
        match (kind, fault.rate, fault.loss) {
            (raw::Change::Down, ..) => Some(Change::Down),
            (raw::Change::Up, ..) => Some(Change::Up),
            (raw::Change::Rate, Some(rate), _) => {
                self.rate(&format!("{path}.rate"), rate.0);
                Some(Change::Rate(rate.0))
            }
            (raw::Change::Loss, _, Some(loss)) => {
                self.share(&format!("{path}.loss"), loss);
                Some(Change::Loss(loss))
            }
            _ => {
                self.say(path, format!("change = {word:?} needs a new {word}; write {word} = ..."));
                None
            }
        }
    }
}
