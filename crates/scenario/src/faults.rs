//! `[[fault]]`: changes of cables and lost packets during the run, one type for the file, the checked scenario and the resolved file.

use crate::judge::Judge;
use crate::plan::{Plan, PlannedCable};
use crate::stop::Stop;
use forebay_units::{BitsPerSec, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A change of a cable during the run.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Fault {
    /// When, before stop.time.
    pub at: Time,
    /// The cable: `leaf[2]-spine[1]`, both ways. Losses may affect one direction: `leaf[2]->spine[1]`.
    pub link: String,
    /// Change of the cable. Default: "rate", "loss" or "drop" where one of these keys is given, else "down".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    change: Option<Word>,
    /// The new rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rate: Option<BitsPerSec>,
    /// The new probability of loss, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    loss: Option<f64>,
    /// Numbers of the packets that the link loses after it sent them, of one direction. The count starts at `at` with 1 and takes in
    /// packets that are sent again (as ReceiveListErrorModel of ns-3, which starts with 0). One to 10,000 numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(range(min = 1)), length(max = 10_000))]
    drop: Vec<u64>,
    /// The flow, by its number in flows.csv, whose packets drop counts: data in the direction to its receiver, ACKs in the other. Default:
    /// packets of all flows, counted together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    flow: Option<u32>,
    /// After this time the cable is as the fabric tables say again. Default: the change stays.
    #[serde(rename = "for", default, skip_serializing_if = "Option::is_none")]
    lasts: Option<Span>,
}

/// Kind of change.
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
    /// The packets of these numbers are lost.
    Drop,
}

/// What a fault does to a cable, or to one direction of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The cable dies.
    Down,
    /// The cable returns.
    Up,
    /// The rate of the cable becomes this.
    Rate(BitsPerSec),
    /// Packets are lost with this probability.
    Loss(f64),
    /// The packets of these numbers are lost.
    Drop {
        /// The flow whose packets are counted; `None`: those of all flows.
        flow: Option<u32>,
        /// Numbers, from 1.
        packets: Vec<u64>,
    },
}

impl Change {
    fn word(&self) -> Word {
        match self {
            Self::Down => Word::Down,
            Self::Up => Word::Up,
            Self::Rate(_) => Word::Rate,
            Self::Loss(_) => Word::Loss,
            Self::Drop { .. } => Word::Drop,
        }
    }
}

impl Fault {
    /// A change of a cable, or of one direction of a cable.
    pub fn new(at: Time, link: impl Into<String>, change: Change) -> Self {
        let fault = Self {
            at,
            link: link.into(),
            change: Some(change.word()),
            rate: None,
            loss: None,
            drop: Vec::new(),
            flow: None,
            lasts: None,
        };
        match change {
            Change::Down | Change::Up => fault,
            Change::Rate(rate) => Self { rate: Some(rate), ..fault },
            Change::Loss(loss) => Self { loss: Some(loss), ..fault },
            Change::Drop { flow, packets } => Self { drop: packets, flow, ..fault },
        }
    }

    /// What the fault does; nothing where a new rate, loss or numbers of packets are missing, which is refused.
    pub fn change(&self) -> Option<Change> {
        let by_keys = || match (self.rate, self.loss) {
            (Some(_), _) => Word::Rate,
            (None, Some(_)) => Word::Loss,
            (None, None) if !self.drop.is_empty() => Word::Drop,
            (None, None) => Word::Down,
        };
        match self.change.unwrap_or_else(by_keys) {
            Word::Down => Some(Change::Down),
            Word::Up => Some(Change::Up),
            Word::Rate => self.rate.map(Change::Rate),
            Word::Loss => self.loss.map(Change::Loss),
            Word::Drop if self.drop.is_empty() => None,
            Word::Drop => Some(Change::Drop { flow: self.flow, packets: self.drop.clone() }),
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
        let Some((cable, from)) = plan.link(&self.link) else {
            let example = plan.cables.last().map(|c| plan.cable_name(*c)).unwrap_or_default();
            let text = format!("{:?} is not a cable; write for instance {example:?}", self.link);
            judge.say(&at("link"), text);
            return [None, None];
        };
        let Some(change) = self.check_change(judge, path) else { return [None, None] };
        if self.at >= stop.time {
            let (when, stop) = (self.at, stop.time);
            let text = format!("{when} is not before the end of the run, stop.time = {stop}");
            judge.say(&at("at"), text);
        }
        let link = plan.link_name(cable, from);
        self.check_direction(judge, path, &change, (plan, cable, from.is_some()));
        let fault = Some(Self::new(self.at, link.clone(), change.clone()));
        let Some(lasts) = self.lasts else { return [fault, None] };
        judge.span(&at("for"), lasts);
        let undo = match change {
            Change::Down => Change::Up,
            Change::Up | Change::Drop { .. } => {
                let word = change.word().text();
                let text = format!("means nothing with change = {word:?}; leave it out");
                judge.wrong(&at("for"), text);
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
        let word = change.as_ref().map(Change::word).or(self.change);
        let word = word.unwrap_or(Word::Down).text();
        let keys = [
            ("rate", self.rate.is_some(), "rate"),
            ("loss", self.loss.is_some(), "loss"),
            ("drop", !self.drop.is_empty(), "drop"),
            ("flow", self.flow.is_some(), "drop"),
        ];
        for (key, given, of) in keys {
            if given && of != word {
                let text = format!(
                    "means nothing with change = {word:?}; leave it out, or add a fault of its own"
                );
                judge.wrong(&format!("{path}.{key}"), text);
            }
        }
        match &change {
            Some(Change::Rate(rate)) => judge.rate(&format!("{path}.rate"), *rate),
            Some(Change::Loss(loss)) => judge.share(&format!("{path}.loss"), *loss),
            Some(Change::Drop { packets, .. }) if packets.len() > MOST_DROPS => {
                let text = format!(
                    "has {} numbers; write at most {MOST_DROPS}, or loss = ... for a share of the packets",
                    packets.len()
                );
                judge.say(&format!("{path}.drop"), text);
            }
            Some(Change::Down | Change::Up | Change::Drop { .. }) => {}
            None if word == "drop" => {
                let text = "change = \"drop\" needs the numbers of packets; write for instance drop = [1, 2]";
                judge.say(path, text);
            }
            None => {
                let text = format!("change = {word:?} needs a new {word}; write {word} = ...");
                judge.say(path, text);
            }
        }
        change
    }

    /// Losses may be of one direction, packets are counted in one, and all else is of the cable.
    fn check_direction(
        &self,
        judge: &mut Judge<'_>,
        path: &str,
        change: &Change,
        (plan, cable, one_way): (&Plan, PlannedCable, bool),
    ) {
        let text = match change {
            Change::Drop { .. } if !one_way => format!(
                "{:?} has two directions, and drop counts the packets of one; write link = {:?} or {:?}",
                self.link,
                plan.link_name(cable, Some(cable.a)),
                plan.link_name(cable, Some(cable.b)),
            ),
            Change::Down | Change::Up | Change::Rate(_) if one_way => format!(
                "{:?} is one direction, and change = {:?} is of both; write link = {:?}",
                self.link,
                change.word().text(),
                plan.cable_name(cable),
            ),
            _ => return,
        };
        judge.say(&format!("{path}.link"), text);
    }
}

impl Word {
    fn text(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Up => "up",
            Self::Rate => "rate",
            Self::Loss => "loss",
            Self::Drop => "drop",
        }
    }
}

/// Most numbers of packets in one fault.
const MOST_DROPS: usize = 10_000;

/// Whether a fault counts the packets of a flow.
pub(crate) fn count_flows(faults: &[Fault]) -> bool {
    faults.iter().any(|fault| fault.flow.is_some())
}

/// The flows whose packets are counted have to be there with each seed. `counts`: how many flows each seed has, with the seed.
pub(crate) fn check_flows(
    faults: &[Fault],
    judge: &mut Judge<'_>,
    counts: impl Iterator<Item = (usize, u64)>,
) {
    let Some((count, seed)) = counts.min() else { return };
    for (i, fault) in faults.iter().enumerate() {
        if let Some(flow) = fault.flow.filter(|flow| *flow as usize >= count) {
            let last = count.saturating_sub(1);
            let text =
                format!("there is no flow {flow} with seed {seed}, whose flows are 0 to {last}");
            judge.say(&format!("fault[{i}].flow"), text);
        }
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
