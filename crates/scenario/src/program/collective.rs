//! Traffic of kind `collective`: an operation of all ranks together, such as an all-reduce.
//!
//! The schedule comes from `forebay_jobs`: operations of one rank on one channel. Each becomes a program of the rank's host, see `ranks`.

mod ranks;

use super::{Error, Kind, Layout, Surroundings, control_delay, one};
use crate::judge::Judge;
use crate::names::OneOrMore;
use forebay_jobs::{self as jobs, Algorithm, Group, Meaning, Operation, Schedule};
use forebay_units::{Bytes, Span, human};
use ranks::{RankGroup, RankOps, Times, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An operation of several hosts together. Each of them is a rank, in the order of `ranks`. A rank begins its next send when the data for it
/// has arrived. Connections stay open for all messages of the entry.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Collective {
    /// Operation.
    pub op: Operation,
    /// Algorithm. Default: "ring".
    #[serde(default)]
    pub algorithm: Algorithm,
    /// Hosts that take part, as names or patterns with `*` as an index. Each is there once. A list of lists makes several groups, each with a
    /// collective of its own.
    #[serde(deserialize_with = "groups", serialize_with = "one_list_or_more")]
    #[schemars(with = "Ranks")]
    pub ranks: Vec<Vec<String>>,
    /// Size. "0B" is a barrier: each part has one byte. If sizes do not divide, the first parts have one byte more.
    pub bytes: Bytes,
    /// Whether `bytes` is the whole, as nccl-tests counts it, or the part of one rank. Default: "whole".
    #[serde(default)]
    pub bytes_are: Meaning,
    /// Channels. Each carries a share of the data at the same time, on connections of its own. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub channels: u32,
    /// The most that one message carries. A part that is larger goes in several. Default: messages are not cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Bytes>,
    /// Connections from a rank to another one, for each channel. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub connections: u32,
    /// How messages use the connections between two ranks: each takes one of them in turn, or is split over all. Default: "message".
    #[serde(default)]
    pub spread: Spread,
    /// Bytes of buffers that a rank has posted for each rank that sends to it, on each channel. A message takes one buffer, of the size of the
    /// largest message. The receiver posts it again when the message has come. The sender knows 1us later. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Bytes>,
    /// Rank that has the data of a broadcast. Default: 0.
    #[serde(default, skip_serializing_if = "is_first")]
    pub root: u32,
    /// Time between the arrival of data and the begin of a send that waits for it. Default: 0s.
    #[serde(default)]
    pub step_delay: Span,
    /// Time before the first sends of each collective. It counts as time of the collective. Default: 0s.
    #[serde(default)]
    pub start_delay: Span,
    /// How many collectives follow each other on the same connections. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub repeat: u32,
    /// Time at a rank from the end of its share of a collective to the next one. Default: 0s.
    #[serde(default)]
    pub gap: Span,
}

/// Use of several connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// Each message takes the next connection in turn.
    #[default]
    Message,
    /// Each message is cut into a part of equal size for each connection. It has come when all parts have.
    Split,
}

/// Ranks as they are written.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Ranks {
    /// A name or pattern.
    One(String),
    /// Names of one group, or a list with those of each group.
    More(Vec<OneOrMore>),
}

fn groups<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Vec<String>>, D::Error> {
    let several = |one: &OneOrMore| matches!(one, OneOrMore::More(_));
    Ok(match Ranks::deserialize(from)? {
        Ranks::One(name) => vec![vec![name]],
        Ranks::More(all) if all.is_empty() => Vec::new(),
        Ranks::More(all) if all.iter().any(several) => {
            all.into_iter().map(OneOrMore::names).collect()
        }
        Ranks::More(all) => vec![all.into_iter().flat_map(OneOrMore::names).collect()],
    })
}

fn one_list_or_more<S: Serializer>(groups: &[Vec<String>], to: S) -> Result<S::Ok, S::Error> {
    match groups {
        [group] => group.serialize(to),
        groups => groups.serialize(to),
    }
}

fn is_first(rank: &u32) -> bool {
    *rank == 0
}

/// More connections than this between two ranks on a channel are taken for a mistake.
const MOST_CONNECTIONS: u32 = 1 << 7;

impl Collective {
    /// What each rank of a group does; `None` if there is no such group.
    ///
    /// # Errors
    /// If there is no such collective.
    pub fn schedule(&self, group: usize) -> Option<Result<Schedule, jobs::Error>> {
        let ranks = self.ranks.get(group)?;
        let collective = jobs::Collective {
            operation: self.op,
            algorithm: self.algorithm,
            ranks: u32::try_from(ranks.len()).unwrap_or(u32::MAX),
            bytes: self.bytes,
            meaning: self.bytes_are,
            channels: self.channels,
            message: self.message,
            root: self.root,
            step_delay: self.step_delay,
        };
        Some(collective.schedule())
    }

    /// Schedules of all groups that have one.
    pub fn schedules(&self) -> impl Iterator<Item = Schedule> {
        (0..self.ranks.len()).filter_map(|group| self.schedule(group)?.ok())
    }

    /// Connections of all groups.
    pub fn all_connections(&self) -> u64 {
        let of = |schedule: Schedule| schedule.connections();
        self.schedules().map(of).sum::<u64>().saturating_mul(self.connections.into())
    }

    /// Bytes that go onto a connection at once, at most: a message, or a share of it.
    pub fn largest_writes(&self) -> impl Iterator<Item = Bytes> {
        let shares = if self.spread == Spread::Split { self.connections } else { 1 };
        let share = move |message: Bytes| Bytes::new(message.get().div_ceil(shares.max(1).into()));
        self.schedules().map(move |schedule| share(schedule.largest_message()))
    }

    /// Payload that all ranks send.
    pub fn sent_by_all(&self) -> f64 {
        let of = |schedule: Schedule| schedule.sent_by_all().get() as f64;
        self.schedules().map(of).sum::<f64>() * f64::from(self.repeat)
    }

    /// Operations of all ranks, or somewhat more: lists all of them.
    pub fn most_operations(&self) -> f64 {
        let width = if self.window.is_some() { 2.0 } else { 1.0 };
        let of = |schedule: Schedule| {
            let channels = || 0..schedule.channels();
            let programs =
                (0..schedule.ranks()).flat_map(|rank| channels().map(move |c| (rank, c)));
            let listed =
                programs.map(|(rank, channel)| schedule.steps(rank, channel).count() as f64);
            // Begin, end, and joins of two connections each at both ends.
            let others = 6.0 * f64::from(schedule.ranks()) * f64::from(schedule.channels())
                + 4.0 * schedule.connections() as f64 * f64::from(self.connections);
            width * listed.sum::<f64>() + others
        };
        self.schedules().map(of).sum::<f64>() * f64::from(self.repeat)
    }

    fn check_group(&self, group: usize, around: &Surroundings<'_>) -> Result<(), (&str, String)> {
        let of = |error: jobs::Error| (key(&error), error.to_string());
        Group::new(self.ranks[group].clone(), around.plan.hosts).map_err(of)?;
        let schedule = self.schedule(group).expect("a group").map_err(of)?;
        let message = schedule.largest_message();
        if let Some(window) = self.window.filter(|window| *window < message) {
            let text = format!(
                "{window} is less than a message, which has up to {message}; write {message} or more, or a smaller message"
            );
            return Err(("window", text));
        }
        match &self.ranks[group][..] {
            [one] => Err((
                "ranks",
                format!(
                    "names {one:?} alone, which has nobody to send to; write two hosts or more"
                ),
            )),
            _ => Ok(()),
        }
    }
}

/// Key that an error is about.
fn key(error: &jobs::Error) -> &'static str {
    use jobs::Error as E;
    match error {
        E::Ranks(_) | E::Twice { .. } | E::Hosts { .. } | E::Outside { .. } => "ranks",
        E::Root { .. } => "root",
        E::Unable { .. } | E::PowerOfTwo { .. } => "algorithm",
        E::NoParts(_) => "bytes_are",
        E::Size { .. } => "bytes",
        E::Channels(_) => "channels",
        E::EmptyMessage | E::Messages { .. } => "message",
    }
}

impl Kind for Collective {
    fn check(&mut self, judge: &mut Judge<'_>, path: &str, around: &Surroundings<'_>) {
        let at = |key: &str| format!("{path}.{key}");
        let several = self.ranks.len() > 1;
        let of = |group: usize| match several {
            true => format!("{path}.ranks[{group}]"),
            false => at("ranks"),
        };
        let mut known = !self.ranks.is_empty();
        if !known {
            judge.say(&at("ranks"), "is empty; write at least two hosts");
        }
        for (group, names) in self.ranks.iter_mut().enumerate() {
            let written = names.len();
            judge.hosts(&of(group), names, around);
            known &= names.len() >= written;
        }
        if self.connections > MOST_CONNECTIONS {
            let text = format!("is too many; write at most {MOST_CONNECTIONS}");
            judge.wrong(&at("connections"), text);
        }
        let wrong = (0..self.ranks.len()).filter(|_| known).find_map(|group| {
            let (key, text) = self.check_group(group, around).err()?;
            Some((if key == "ranks" { of(group) } else { at(key) }, text))
        });
        if let Some((path, text)) = wrong {
            judge.say(&path, text);
        }
        let delays = [("step_delay", self.step_delay), ("start_delay", self.start_delay)];
        for (key, span) in delays.into_iter().chain([("gap", self.gap)]) {
            judge.short(&at(key), span);
        }
    }

    fn title(&self) -> String {
        let times = if self.repeat == 1 { String::new() } else { format!("{} x ", self.repeat) };
        let part = if self.bytes_are == Meaning::Part { " each" } else { "" };
        let sizes = || self.ranks.iter().map(Vec::len);
        let (least, ranks) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
        let groups = match self.ranks.len() {
            0 | 1 => String::new(),
            n if least < ranks => format!("{n} groups of up to "),
            n => format!("{n} groups of "),
        };
        let channels = match self.channels {
            1 => String::new(),
            n => format!(", {n} channels"),
        };
        format!(
            "{times}{} of {}{part} over {groups}{}, {}{channels}",
            self.op.name(),
            self.bytes,
            human::counted(ranks, "rank"),
            self.algorithm.name()
        )
    }

    /// Connections.
    fn forecast(&self, _layout: &Layout<'_>) -> u128 {
        self.all_connections().into()
    }

    fn mean_size(&self) -> Option<f64> {
        Some(self.sent_by_all() / self.all_connections().max(1) as f64)
    }

    fn lay_out(&self, layout: &mut Layout<'_>) -> Result<(), Error> {
        let times = Times {
            start: layout.start,
            delay: self.start_delay,
            gap: self.gap,
            repeat: self.repeat,
        };
        let mut groups = Vec::with_capacity(self.ranks.len());
        let mut tags = self.ranks.len() as u32; // signals of groups come first
        // Connections of all groups come first: programs name them by their numbers.
        for (group, names) in (0..).zip(&self.ranks) {
            let schedule = self.schedule(group as usize).expect("a group");
            let schedule = schedule.map_err(|error| layout.error(error.to_string()))?;
            let hosts: Vec<u32> =
                names.iter().map(|name| layout.host(name)).collect::<Result<_, _>>()?;
            let mut first = None;
            for (from, to, _) in (0..schedule.connections()).map_while(|nth| schedule.ends(nth)) {
                if layout.is_unwanted() {
                    return Ok(());
                }
                let (from, to) = (hosts[from as usize], hosts[to as usize]);
                if self.window.is_some() {
                    layout.control_link(to, from, control_delay());
                }
                for _ in 0..self.connections {
                    let number = layout.connection(from, to);
                    first.get_or_insert(number);
                }
            }
            let posted = |window: Bytes| window.get() / schedule.largest_message().get().max(1);
            let window = self.window.map(|window| Window {
                messages: u32::try_from(posted(window)).unwrap_or(u32::MAX),
                delay: control_delay(),
                tags,
            });
            tags = tags.saturating_add(u32::try_from(schedule.connections()).unwrap_or(u32::MAX));
            let (first, each) = (first.unwrap_or(0), self.connections);
            let turns = self.spread == Spread::Message;
            let hosts = hosts.into();
            groups.push(RankGroup { schedule, hosts, group, first, each, turns, window });
        }
        for of in groups {
            let stripes = if of.turns { 1 } else { of.each as u8 };
            for (rank, host) in (0..).zip(of.hosts.iter().copied()) {
                for channel in 0..of.schedule.channels() {
                    let ops = RankOps::new(of.clone(), (rank, channel), layout.entry(), times);
                    layout.striped_program(host, of.ahead(), stripes, Box::new(ops));
                }
            }
        }
        Ok(())
    }
}
