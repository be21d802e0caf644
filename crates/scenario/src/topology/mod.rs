//! Shapes of fabrics. Each is one file: its keys, their checks, and the nodes and cables that they make.
//!
//! To add one: a file with a struct that is a [`Shape`], its `mod` line, and a row in `shapes!` below.

use crate::judge::Judge;
use crate::problem::{grouped, memory_text};
use forebay_units::{BitsPerSec, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod clos;
mod dumbbell;
mod fat_tree;
mod graph;
mod leaf_spine;
mod star;

macro_rules! shapes {
    ($($(#[$doc:meta])* $name:ident in $module:ident,)*) => {
        $(pub use $module::$name;)*

        /// Shape of the fabric, which names its hosts and switches.
        #[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub enum Topology {
            $($(#[$doc])* $name($name),)*
        }

        impl Topology {
            fn shape(&self) -> &dyn Shape {
                match self { $(Self::$name(shape) => shape,)* }
            }

            fn shape_mut(&mut self) -> &mut dyn Shape {
                match self { $(Self::$name(shape) => shape,)* }
            }
        }
    };
}

shapes! {
    /// Two switches, `left` and `right`, and the bottleneck between them; hosts `left.host[i]` and `right.host[j]`.
    Dumbbell in dumbbell,
    /// Hosts `host[i]` around one switch, `tor`.
    Star in star,
    /// Hosts `leaf[i].host[j]` under switches `leaf[i]`, each joined to every `spine[s]`.
    LeafSpine in leaf_spine,
    /// Folded Clos of k-port switches. Two tiers: k leaves of k/2 hosts and k/2 spines, named as in leaf-spine.
    /// Three tiers: `pod[p].edge[e].host[h]`, `pod[p].edge[e]`, `pod[p].agg[a]`, `core[c]`; k^3/4 hosts.
    FatTree in fat_tree,
    /// Folded Clos of three tiers, of any widths: pods of edge and aggregation switches below a core, named as in fat-tree.
    Clos in clos,
    /// Named hosts, switches and cables.
    Graph in graph,
}

pub use graph::Cable;

/// What the rest of the crate needs of a shape.
trait Shape {
    /// Says which of its sizes, names and cables cannot be laid out.
    fn check(&self, judge: &mut Judge<'_>);

    /// Nodes and cables of the shape, whose sizes have been checked.
    fn lay_out(&self) -> Draft;

    /// What it is, for people.
    fn title(&self) -> String;

    /// The tier above its racks, for people.
    fn above_racks(&self) -> &'static str;

    /// Pods of the shape, if it has three tiers.
    fn pods(&self) -> Option<Pods> {
        None
    }

    /// The link that stands under another name than fabric_link, with that name. Leaves none there.
    fn take_link(&mut self) -> Option<(&'static str, Link)> {
        None
    }
}

impl Topology {
    /// Says what cannot be laid out.
    pub(crate) fn check(&self, judge: &mut Judge<'_>) {
        self.shape().check(judge);
    }

    /// Nodes and cables, before rates.
    pub(crate) fn lay_out(&self) -> Draft {
        self.shape().lay_out()
    }

    /// What it is, for people: `leaf-spine, 4 leaves x 16 hosts, 2 spines`.
    pub fn title(&self) -> String {
        self.shape().title()
    }

    /// The tier above its racks, for people.
    pub(crate) fn above_racks(&self) -> &'static str {
        self.shape().above_racks()
    }

    /// Pods of the topology, if it has three tiers.
    pub fn clos(&self) -> Option<Pods> {
        self.shape().pods()
    }

    /// The link that stands under another name than fabric_link, with that name. Leaves none there.
    pub(crate) fn take_link(&mut self) -> Option<(&'static str, Link)> {
        self.shape_mut().take_link()
    }

    /// Ports of the switch that has most.
    pub(crate) fn most_ports(&self) -> u64 {
        let draft = self.lay_out();
        let mut ports = vec![0; draft.hosts.len() + draft.switches.len()];
        for cable in &draft.cables {
            ports[cable.ends.0] += 1;
            ports[cable.ends.1] += 1;
        }
        ports.into_iter().max().unwrap_or(1)
    }
}

/// Rate and propagation delay of a cable, both ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Link {
    /// Rate, above 0 and at most 1000Tbps.
    pub rate: BitsPerSec,
    /// Propagation delay, at most 10s.
    pub delay: Span,
}

/// Counts of a folded Clos network of three tiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pods {
    /// Pods.
    pub pods: u32,
    /// Edge switches of a pod.
    pub edges: u32,
    /// Aggregation switches of a pod.
    pub aggs: u32,
    /// Core switches; a multiple of `aggs`.
    pub cores: u32,
    /// Hosts of an edge switch.
    pub hosts: u32,
}

/// Nodes and cables, before rates.
pub(crate) struct Draft {
    /// Names in canonical order.
    pub hosts: Vec<String>,
    /// Names in canonical order.
    pub switches: Vec<String>,
    /// Cables in canonical order.
    pub cables: Vec<DraftCable>,
}

/// A cable, before rates.
pub(crate) struct DraftCable {
    /// Indices into hosts-then-switches, the end nearer to hosts first.
    pub ends: (usize, usize),
    /// Rate of this cable; `None`: the usual rate of cables there.
    pub rate: Option<BitsPerSec>,
    /// Delay of this cable; `None`: the usual delay of cables there.
    pub delay: Option<Span>,
}

/// A cable like all others there.
fn usual(a: usize, b: usize) -> DraftCable {
    DraftCable { ends: (a, b), rate: None, delay: None }
}

/// Ports of a switch, and switches with hosts, are numbered in 16 bits.
const MOST_PORTS: u64 = 65_535;
/// More hosts than this are refused with a forecast.
const MOST_HOSTS: u128 = 1 << 20;
/// More cables between switches than this are refused with a forecast.
const MOST_CABLES: u128 = 1 << 22;
/// Memory of a host with its flows: 300 MB for 8,192 hosts (docs/notes/performance.md).
const HOST_MEMORY: u128 = 36_600;
/// Memory of a cable between switches. Assumption: two ports with their rings.
const CABLE_MEMORY: u128 = 4_096;
/// One host alone.
const ALONE: &str = "1 host has no other host to send to; write 2 or more";

impl Judge<'_> {
    /// Counts of ports or nodes, each at most what follows it. Whether all are.
    fn counts(&mut self, counts: &[(&str, u64, u64)]) -> bool {
        let before = self.findings.len();
        for (key, n, most) in counts {
            let path = format!("fabric.{key}");
            if u128::from(*n) > MOST_HOSTS {
                self.forecast(&path, u128::from(*n), 0);
            } else if n > most {
                let text = format!("{n} is more than a switch has ports for; write at most {most}");
                self.say(&path, text);
            }
        }
        self.findings.len() == before
    }

    /// Refuses what no memory would hold.
    fn forecast(&mut self, path: &str, hosts: u128, cables: u128) {
        let text = if hosts > MOST_HOSTS {
            let memory = memory_text(hosts * HOST_MEMORY);
            let (hosts, most) = (grouped(hosts), grouped(MOST_HOSTS));
            format!(
                "{hosts} hosts would need about {memory} of memory; write a fabric of at most {most} hosts"
            )
        } else if cables > MOST_CABLES {
            let memory = memory_text(cables * CABLE_MEMORY);
            let (cables, most) = (grouped(cables), grouped(MOST_CABLES));
            format!(
                "{cables} cables between switches would need about {memory} of memory; write a fabric of at most {most}"
            )
        } else {
            return;
        };
        self.say(path, text);
    }
}
