//! Scenarios in the formats of the public HPCC simulator, for runs of the same thing in both.

use crate::identity::numbers;
use crate::import::{Flow, Flows, Link, Topology};
use crate::plan::Plan;
use crate::scenario::Scenario;
use crate::workload::Table;
use forebay_units::{Bytes, Time};

/// Priority group of flows without a class, as in the flow files of that simulator.
const GROUP: u8 = 3;

/// The fabric.
pub fn topology(scenario: &Scenario) -> Topology {
    let plan = Plan::of(&scenario.fabric);
    let numbers = numbers(&plan);
    let mut switches: Vec<u32> = numbers[plan.hosts..].to_vec();
    switches.sort_unstable();
    let nodes = numbers.iter().max().map_or(0, |last| last + 1);
    let links = plan.cables.iter().map(|cable| Link {
        a: numbers[cable.a as usize],
        b: numbers[cable.b as usize],
        rate: cable.link.rate,
        delay: cable.link.delay,
        loss: cable.loss,
    });
    Topology { nodes, switches, links: links.collect() }
}

/// The flows of one seed that the format has, as indices into the table, in the order in which they are written: by start, and
/// those of one host by source port, since that simulator counts ports in the order of its file.
pub fn order(table: &Table) -> Vec<u32> {
    let plain = |flow: &u32| {
        let f = &table.flows[*flow as usize];
        f.start != Time::MAX && f.size != Bytes::MAX && f.size != Bytes::ZERO
    };
    let mut flows: Vec<u32> = (0..table.flows.len() as u32).filter(plain).collect();
    flows.sort_by_key(|flow| {
        let f = &table.flows[*flow as usize];
        (f.start, f.src, f.sport, f.dst, *flow)
    });
    flows
}

/// Exports the flows of a table.
pub fn flows(scenario: &Scenario, table: &Table) -> Flows {
    let numbers = numbers(&Plan::of(&scenario.fabric));
    let one = |flow: u32| {
        let f = &table.flows[flow as usize];
        Flow {
            src: numbers[f.src as usize],
            dst: numbers[f.dst as usize],
            pg: scenario.traffic[usize::from(f.traffic)].class.unwrap_or(GROUP),
            dport: f.dport,
            size: f.size.get(),
            start: f.start,
        }
    };
    Flows(order(table).into_iter().map(one).collect())
}
