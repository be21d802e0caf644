//! The checked form of a scenario: what a run needs, all defaults filled in.

pub use crate::fabric::{
    AlikePause, Asks, Buffer, ClassLimit, ClassMarking, ClassPause, ClassWeight, Clock, DeadPort,
    Ecn, EcnMarking, Fabric, FlowPath, Headroom, Hierarchical, MarkAt, NextHops, NotEct, Override,
    Paths, Pause, PauseSettings, Policy, PoolThreshold, QueueFor, Release, Routing, Shaper,
    SharedBuffer, ShortHeadroom, Switch, Watchdog, WatchdogAction, Xoff,
};
pub use crate::faults::{Change, Fault};
pub use crate::host::{HostChange, HostProfile, HostSettings};
pub use crate::kernel::Kernel;
pub use crate::output::{
    Capture, Direction, FlowSamples, LawLog, MemorySamples, Output, QueueSamples,
};
pub use crate::quantity::QueueLength;
pub use crate::scenario::Scenario;
pub use crate::stop::Stop;
pub use crate::topology::{
    Cable, Clos, Dumbbell, FatTree, Graph, LeafSpine, Link, Pods, Star, Topology,
};
pub use crate::traffic::{ListedFlow, LoadRef, Pairs, Rpc, Traffic, TrafficKind, Wait};
pub use crate::transport::{BaseRtt, InflightCap, Rdma, Recovery, Tcp, Transport, TransportKind};
use forebay_host::memory::MemorySettings;
use forebay_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Settings of those that no override names.
    pub settings: HostSettings,
    /// Their path to memory, where it is modelled.
    pub memory: Option<Memory>,
    /// Settings of some hosts only, later ones win.
    pub overrides: Vec<HostOverride>,
    /// Names of hosts that are NICs of one machine, by machine.
    pub machines: Vec<Vec<String>>,
}

impl Host {
    /// The path to memory of the host with this name; `None`: memory is out of the way.
    pub fn memory_at(&self, name: &str) -> Option<&Memory> {
        let named = |o: &&HostOverride| o.memory.is_some() && crate::plan::matches(&o.place, name);
        let over = self.overrides.iter().rev().find(named).and_then(|o| o.memory.as_ref());
        over.or(self.memory.as_ref())
    }

    /// Settings of the host with this name, and whether its ACKs wait, where that is not as its transport has it.
    pub fn at(&self, name: &str) -> (HostSettings, Option<bool>) {
        let of = self.overrides.iter().filter(|o| crate::plan::matches(&o.place, name));
        of.fold((self.settings, None), |(settings, delayed_ack), o| {
            (o.change.over(settings), o.delayed_ack.or(delayed_ack))
        })
    }
}

/// Where the stack paces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// Nowhere.
    Off,
    /// In TCP: a timer opens each flow's gate.
    Internal,
    /// In the fq scheduler: the same gates; the NIC serves flows by bytes, a quantum of two full packets each.
    Fq,
}

/// Other settings for the hosts of a place, a name or a pattern with `*` as an index.
#[derive(Clone, Debug, PartialEq)]
pub struct HostOverride {
    /// Where.
    pub place: String,
    /// What is different.
    pub change: HostChange,
    /// Whether their ACKs may wait for a second segment.
    pub delayed_ack: Option<bool>,
    /// Their path to memory, whole.
    pub memory: Option<Memory>,
}

/// A host's path to memory, and who rules over it.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// Its stages, and its antagonists.
    pub settings: MemorySettings,
    /// Most bytes of a flow that are unread or on their way.
    pub socket_buffer: Bytes,
    /// Throttle level while nobody sets it.
    pub level: u8,
    /// Who sets it.
    pub control: Option<HostControl>,
    /// The NIC pauses its switch while its buffer holds more, until it holds half; `None`: it drops.
    pub pause_above: Option<Bytes>,
}

impl Memory {
    /// The control that acts.
    pub fn acting_control(&self) -> Option<&HostControl> {
        self.control.as_ref().filter(|control| control.enabled)
    }
}

/// A host law and its world.
#[derive(Clone, Debug, PartialEq)]
pub struct HostControl {
    /// Name of the law.
    pub law: String,
    /// Whether the law acts.
    pub enabled: bool,
    /// Parameters that are not the law's defaults, by name and text.
    pub params: Vec<(String, String)>,
    /// How long reading a counter takes.
    pub read: Span,
}

/// Order in which a NIC pulls packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NicOrder {
    /// One packet of each ready flow in turn.
    RoundRobin,
    /// The flow that became ready first sends all it may.
    Fifo,
    /// The flow with the fewest bytes left.
    Srpt,
    /// No pull at all: a flow hands down whatever its window allows, and it leaves in that order, as in Linux before TSQ
    /// (3.6). What waits in the host then counts as in flight and towards the RTT.
    /// At most 1,000 packets of data of a class wait so; flows that find no room go on in turn.
    Push,
}
