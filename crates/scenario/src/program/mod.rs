//! Kinds of traffic. Each is one file: its keys, their checks, and the flows and programs that it makes.
//!
//! To add one: a file with a struct that is a [`Kind`], its `mod` line, and a row in `kinds!` below.

use crate::judge::Judge;
use crate::plan::Plan;
use crate::problem::{grouped, memory_text};
use crate::stop::Stop;
use forebay_units::{Bytes, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

mod all_to_all;
mod collective;
mod hosts;
mod incast;
mod layout;
mod list;
mod long;
mod op;
mod permutation;
mod poisson;
mod rpc;

pub use forebay_jobs::share;
pub(crate) use hosts::bits;
pub use hosts::{Hosts, LoadRef, Tier};
pub(crate) use layout::Entries;
pub use layout::{Connection, DPORT, Error, FIRST_SPORT, FlowSpec, Layout, Table};
pub use list::ListedFlow;
pub(crate) use list::check_triggers;
pub use op::{Mark, Op, Ops, Program, Signal, Step, WaitList};
pub use rpc::{Pairs, Wait, pairs};

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident($keys:ty) is $module:ident::$type:ident,)*) => {
        $(pub use $module::$type;)*

        /// Kinds of traffic.
        #[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub enum TrafficKind {
            $($(#[$doc])* $name($keys),)*
        }

        impl TrafficKind {
            fn kind(&self) -> &dyn Kind {
                match self { $(Self::$name(kind) => <$keys as std::borrow::Borrow<$type>>::borrow(kind),)* }
            }

            fn kind_mut(&mut self) -> &mut dyn Kind {
                match self { $(Self::$name(kind) => <$keys as std::borrow::BorrowMut<$type>>::borrow_mut(kind),)* }
            }
        }
    };
}

kinds! {
    /// Open loop: Poisson arrivals between uniformly random pairs of different hosts.
    Poisson(Poisson) is poisson::Poisson,
    /// Many senders answer one receiver at once.
    Incast(Incast) is incast::Incast,
    /// Every host sends to one other, and every host receives from one other.
    Permutation(Permutation) is permutation::Permutation,
    /// Every host sends to every other.
    AllToAll(AllToAll) is all_to_all::AllToAll,
    /// Flows without an end, from each of `from` to its partner in `to`.
    Long(LongFlows) is long::LongFlows,
    /// Requests and responses over connections that stay open, each in a closed loop: a client sends its next request when
    /// the response to an earlier one has arrived.
    Rpc(Box<Rpc>) is rpc::Rpc,
    /// An operation of several hosts together, such as an all-reduce. A host sends on when the data for it has arrived.
    Collective(Box<Collective>) is collective::Collective,
    /// A list of flows, in this file or in a CSV file. No jitter is added to their starts.
    List(List) is list::List,
}

/// Traffic that is laid out by a program, in place of an entry's kind.
pub trait Source: Send + Sync {
    /// Lays out flows, connections and programs.
    ///
    /// # Errors
    /// If something cannot be laid out.
    fn lay_out(&self, layout: &mut Layout<'_>) -> Result<(), Error>;
}

/// A kind of traffic.
trait Kind {
    /// Says which of its keys cannot be, and puts files and patterns in their place.
    fn check(&mut self, judge: &mut Judge<'_>, path: &str, around: &Surroundings<'_>);

    /// One line for people.
    fn title(&self) -> String;

    /// Number of its flows: exact for closed forms, expected for random arrivals. A connection that stays open counts as two.
    fn forecast(&self, layout: &Layout<'_>) -> u128;

    /// Payload of its flows, on average; `None`: they have no end.
    fn mean_size(&self) -> Option<f64>;

    /// Payload of its largest flow, where the keys say it.
    fn largest(&self) -> Option<Bytes> {
        None
    }

    /// Time at which its last flow begins by itself, in an entry that lasts from `start` to `end`.
    fn last_start(&self, start: Time, _end: Time) -> Time {
        start
    }

    /// Whether chance decides how many flows there are.
    fn is_random(&self) -> bool {
        false
    }

    /// Bits per second that it offers at random between all hosts.
    fn offered(&self, _hosts: &Hosts) -> f64 {
        0.0
    }

    /// Lays out its flows.
    ///
    /// # Errors
    /// If a host is unknown.
    fn lay_out(&self, layout: &mut Layout<'_>) -> Result<(), Error>;
}

impl TrafficKind {
    /// Says which of its keys cannot be, and puts files and patterns in their place.
    pub(crate) fn check(&mut self, judge: &mut Judge<'_>, path: &str, around: &Surroundings<'_>) {
        self.kind_mut().check(judge, path, around);
    }

    /// Whether its connections stay open for several messages.
    pub fn keeps_connections(&self) -> bool {
        matches!(self, Self::Rpc(_) | Self::Collective(_))
    }

    /// One line for people: `incast of 16 x 64KB, 3 rounds`.
    pub fn title(&self) -> String {
        self.kind().title()
    }

    /// Payload of its flows, on average; `None`: they have no end.
    pub fn mean_size(&self) -> Option<f64> {
        self.kind().mean_size()
    }

    /// Payload of its largest flow, where the keys say it.
    pub fn largest(&self) -> Option<Bytes> {
        self.kind().largest()
    }

    /// Time at which its last flow begins by itself, in an entry that lasts from `start` to `end`.
    pub fn last_start(&self, start: Time, end: Time) -> Time {
        self.kind().last_start(start, end)
    }

    /// Whether chance decides how many flows there are.
    pub fn is_random(&self) -> bool {
        self.kind().is_random()
    }

    /// Number of its flows: exact for closed forms, expected for random arrivals.
    pub(crate) fn forecast(&self, layout: &Layout<'_>) -> u128 {
        self.kind().forecast(layout)
    }

    /// Bits per second that it offers at random between all hosts.
    pub(crate) fn offered(&self, hosts: &Hosts) -> f64 {
        self.kind().offered(hosts)
    }

    /// Lays out its flows.
    ///
    /// # Errors
    /// If a host is unknown.
    pub(crate) fn lay_out(&self, layout: &mut Layout<'_>) -> Result<(), Error> {
        if layout.hosts.names.len() < 2 {
            return Err(layout.error("needs two hosts or more".into()));
        }
        self.kind().lay_out(layout)
    }
}

fn one() -> u32 {
    1
}

pub(crate) fn never() -> Time {
    Time::MAX
}

pub(crate) fn is_never(time: &Time) -> bool {
    *time == Time::MAX
}

/// Time from the last delivery of a round of a closed loop to the next. Our choice: one way across a rack row.
fn control_delay() -> Span {
    Span::from_us(1)
}

/// More flows than this in one run are refused with a forecast.
pub const MOST_FLOWS: u128 = 50_000_000;
/// Memory of a flow: its entry in the table and its row in the results. Assumption: about 160 B.
const FLOW_MEMORY: u128 = 160;
/// The sentence that refuses too many flows.
pub(crate) fn too_many(flows: u128) -> String {
    let memory = memory_text(flows.saturating_mul(FLOW_MEMORY));
    format!(
        "makes about {} flows, which would need about {memory} of memory; at most {} are possible, so shorten \
         the run or lower the load",
        grouped(flows),
        grouped(MOST_FLOWS)
    )
}

/// Run and fabric that the keys of a kind are held against.
pub(crate) struct Surroundings<'a> {
    /// When the run ends.
    pub stop: Stop,
    /// Nodes and cables.
    pub plan: &'a Plan,
    hosts: BTreeSet<&'a str>,
}

impl<'a> Surroundings<'a> {
    pub fn new(stop: Stop, plan: &'a Plan) -> Self {
        let hosts = plan.names[..plan.hosts].iter().map(String::as_str).collect();
        Self { stop, plan, hosts }
    }

    /// Whether a host is called so.
    fn knows(&self, name: &str) -> bool {
        self.hosts.contains(name)
    }
}

impl Judge<'_> {
    fn host(&mut self, path: &str, name: &str, around: &Surroundings<'_>) {
        if !around.knows(name) {
            self.no_such_node(path, name, around.plan, true);
        }
    }

    /// Puts names in the place of patterns, in canonical order within each.
    fn hosts(&mut self, path: &str, names: &mut Vec<String>, around: &Surroundings<'_>) {
        let mut all = Vec::new();
        for (i, name) in names.iter().enumerate() {
            if name.contains('*') {
                let before = all.len();
                let found = around.plan.nodes_like(name).filter(|n| *n < around.plan.hosts);
                all.extend(found.map(|n| around.plan.names[n].clone()));
                if all.len() > before {
                    continue;
                }
            } else if around.knows(name) {
                all.push(name.clone());
                continue;
            }
            let path = self.one_or_more(path, i);
            self.no_such_node(&path, name, around.plan, true);
        }
        if names.is_empty() {
            self.say(path, "is empty; write at least one host");
        }
        *names = all;
    }
}

/// Payload of a flow for people.
fn size_text(size: Bytes) -> String {
    if size == Bytes::MAX { "endless flows".into() } else { size.to_string() }
}

/// Mean payload of flows that all have this one.
fn mean_of(size: Bytes) -> Option<f64> {
    (size != Bytes::MAX).then_some(size.get() as f64)
}
