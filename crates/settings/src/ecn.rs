//! `ecn`: congestion marks by the queue of a port, or by those of classes.

use crate::{QueueLength, SettingsTable};
use forebay_units::{BitsPerSec, Bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Congestion marks.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ecn {
    /// No packet is marked.
    Off,
    /// Marks by the queue of the port.
    #[serde(untagged)]
    Port(EcnMarking),
    /// Marks by the queues of classes.
    #[serde(untagged)]
    ByClass(Vec<ClassMarking>),
}

impl Default for Ecn {
    fn default() -> Self {
        Self::Port(EcnMarking::default())
    }
}

/// Marks by the queue of each of some classes alone. Classes that no entry names are not marked.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct ClassMarking {
    /// The classes, below fabric.switch.classes.
    #[schemars(inner(range(min = 0, max = 7)))]
    pub classes: Vec<u8>,
    /// Thresholds of their queues.
    #[serde(flatten)]
    pub marking: EcnMarking,
}

/// Marking of ECN-capable packets: a step at `k`, or a ramp from `kmin` to `kmax`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct EcnMarking {
    /// Step: every packet that finds this much queue, itself not counted, is marked. Short for equal kmin and kmax; the resolved scenario
    /// has these two keys.
    #[serde(skip_serializing)]
    pub k: Option<QueueLength>,
    /// Ramp: no marks below this queue. Default: 30KB, where neither k nor kmax is given.
    pub kmin: QueueLength,
    /// Ramp: every packet is marked from this queue on. Default: 30KB, where neither k nor kmin is given.
    pub kmax: QueueLength,
    /// Ramp: probability of a mark just below kmax, 0 to 1. Default: 1.
    pub pmax: f64,
    /// Rate of the ports that k, kmin and kmax are for. Thresholds grow in proportion on faster ports. Default: equal thresholds at every
    /// port, and 10Gbps where no threshold is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_rate: Option<BitsPerSec>,
    /// When the queue is compared with the thresholds. Default: "enqueue".
    pub at: MarkAt,
    /// Fate of a packet that is not ECN-capable where it would be marked. Default: "pass".
    pub not_ect: NotEct,
    /// Fate of an ECN-capable packet there. With "pass", which takes not_ect = "drop", the rule marks nothing: selective drop of
    /// unscheduled packets (Aeolus). Default: "mark".
    #[serde(skip_serializing_if = "Ect::is_marked")]
    pub ect: Ect,
}

impl Default for EcnMarking {
    /// A step at 30 KB, DCTCP's for each 10 Gb/s: the convention of the public HPCC simulator. Also the least, since the
    /// DCTCP paper (SIGCOMM 2010) takes as much, 20 packets, at 1 Gb/s.
    fn default() -> Self {
        let k = QueueLength::Bytes(Bytes::new(30_000));
        let (at, not_ect, ect) = (MarkAt::Enqueue, NotEct::Pass, Ect::Mark);
        Self { k: None, kmin: k, kmax: k, pmax: 1.0, for_rate: None, at, not_ect, ect }
    }
}

/// When a mark is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MarkAt {
    /// When the packet joins the queue.
    Enqueue,
    /// When the transmission of the packet begins.
    Dequeue,
}

/// Fate of a packet that is not ECN-capable, where it would be marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NotEct {
    /// The packet passes unmarked.
    Pass,
    /// The packet is dropped (RFC 3168).
    Drop,
}

/// Fate of an ECN-capable packet where a marking rule applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ect {
    /// The packet is marked.
    Mark,
    /// The packet passes unmarked.
    Pass,
}

impl Ect {
    /// Whether packets are marked, the default.
    fn is_marked(&self) -> bool {
        *self == Self::Mark
    }
}

impl EcnMarking {
    /// The thresholds of a port of this rate.
    pub fn thresholds(&self, rate: BitsPerSec) -> (QueueLength, QueueLength) {
        let scaled = |of: QueueLength| match (of, self.for_rate) {
            (QueueLength::Bytes(b), Some(base)) => {
                QueueLength::Bytes(Bytes::new(scale(b.get(), rate, base)))
            }
            (QueueLength::Packets(n), Some(base)) => {
                QueueLength::Packets(u32::try_from(scale(n.into(), rate, base)).unwrap_or(u32::MAX))
            }
            (same, None) => same,
        };
        (scaled(self.kmin), scaled(self.kmax))
    }

    /// The rule of a port of this rate, with the thresholds that hold there.
    pub fn at_rate(mut self, rate: BitsPerSec) -> Self {
        (self.kmin, self.kmax) = self.thresholds(rate);
        Self { for_rate: None, ..self }
    }

    fn check(&mut self, table: &mut impl SettingsTable, path: &str) {
        let at = |key: &str| format!("{path}.{key}");
        match (self.k.take(), table.given(&at("kmin")), table.given(&at("kmax"))) {
            (None, false, false) => _ = self.for_rate.get_or_insert(BitsPerSec::from_gbps(10)),
            (Some(k), false, false) => (self.kmin, self.kmax) = (k, k),
            (None, true, true) => {}
            (Some(_), ..) => {
                let text = "is a step, kmin and kmax are a ramp; write one or the other";
                return table.wrong(&at("k"), text);
            }
            _ => {
                let text = "has half a ramp; write kmin and kmax, or k alone for a step";
                return table.say(path, text);
            }
        }
        let falls = match (self.kmin, self.kmax) {
            (QueueLength::Bytes(a), QueueLength::Bytes(b)) => a > b,
            (QueueLength::Packets(a), QueueLength::Packets(b)) => a > b,
            _ => {
                let text = "and kmin are not both bytes or both packets; write both in one of them";
                table.wrong(&at("kmax"), text);
                false
            }
        };
        if falls {
            let text =
                format!("\"{}\" is less than kmin, \"{}\"; a ramp goes up", self.kmax, self.kmin);
            table.say(&at("kmax"), text);
        }
        if self.for_rate.is_some_and(|rate| rate.get() == 0) {
            table.wrong(&at("for_rate"), "is not a rate; write for instance \"10Gbps\"");
        }
        table.share(&at("pmax"), self.pmax);
        if self.ect == Ect::Pass && (self.not_ect == NotEct::Pass || self.at == MarkAt::Dequeue) {
            let remedy = match self.not_ect {
                NotEct::Pass => "not_ect = \"drop\"",
                NotEct::Drop => "at = \"enqueue\"",
            };
            let text = format!("leaves a rule that does nothing; write {remedy}, or leave ect out");
            table.wrong(&at("ect"), text);
        }
    }
}

/// `threshold * rate / base` for faster ports, rounded down; unchanged for others.
fn scale(threshold: u64, rate: BitsPerSec, base: BitsPerSec) -> u64 {
    let larger = u128::from(threshold) * u128::from(rate.get()) / u128::from(base.get().max(1));
    u64::try_from(larger).unwrap_or(u64::MAX).max(threshold)
}

impl Ecn {
    /// Marks by the queue of the port.
    pub fn of_port(&self) -> Option<EcnMarking> {
        match self {
            Self::Port(marking) => Some(*marking),
            Self::Off | Self::ByClass(_) => None,
        }
    }

    /// Marks by the queue of a class alone.
    pub fn of_class(&self, class: u8) -> Option<EcnMarking> {
        let Self::ByClass(all) = self else { return None };
        all.iter().find(|one| one.classes.contains(&class)).map(|one| one.marking)
    }

    /// Spells out steps as ramps, and says what is wrong with `ecn` of the table. `classes`: number of classes.
    pub fn check(&mut self, table: &mut impl SettingsTable, classes: u8) {
        let path = "ecn";
        let mut marked = 0u8;
        match self {
            Self::Off => {}
            Self::Port(marking) => marking.check(table, path),
            Self::ByClass(all) => {
                for (i, one) in all.iter_mut().enumerate() {
                    one.check(table, &format!("{path}[{i}]"), classes, &mut marked);
                }
            }
        }
    }
}

impl ClassMarking {
    /// `marked`: a bit for each class of the entries before.
    fn check(&mut self, table: &mut impl SettingsTable, path: &str, classes: u8, marked: &mut u8) {
        self.marking.check(table, path);
        let path = format!("{path}.classes");
        if self.classes.is_empty() {
            table.say(&path, "marks nothing; write the classes to mark, for instance [3]");
        }
        for class in &self.classes {
            if *marked & 1 << class != 0 {
                table.say(&path, format!("marks class {class} a second time; write it once"));
            }
            *marked |= 1 << class;
        }
        table.class_exists(&path, self.classes.iter().max().copied().unwrap_or(0), classes);
    }
}
