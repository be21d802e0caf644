//! Queues of traffic classes over time, of the busiest ports.

use crate::world::{AnyNode, World};
use forebay_engine::NodeId;
use forebay_net::Switch;
use forebay_record::{Quantity, Series};
use std::cmp::Reverse;

/// Ports of which there are series: those whose queue was largest in the mean.
const PORTS: usize = 4;

/// A port whose mean queue is this small a part of the largest one is left out.
const SMALL: u64 = 100;

/// Samples of one port that has several classes.
struct OfPort<'a> {
    node: usize,
    port: usize,
    classes: usize,
    switch: &'a Switch,
    /// Where its classes begin among those of one sampling instant.
    first: usize,
    /// Classes of all sampled ports of the switch together.
    step: usize,
}

impl OfPort<'_> {
    fn of(&self, class: usize) -> impl Iterator<Item = u64> {
        let all = self.switch.sampled_classes().iter();
        all.skip(self.first + class).step_by(self.step).copied()
    }
}

/// Of each class that had packets at the busiest ports; the port with the largest queue comes first.
pub(super) fn series(world: &World, nodes: &[AnyNode]) -> Vec<Series> {
    let switches = nodes.iter().enumerate().filter_map(|(n, node)| Some((n, node.switch()?)));
    let ports = switches.flat_map(|(node, switch)| of_switch(node, switch));
    let mut ports: Vec<(Reverse<u64>, OfPort)> = ports
        .map(|one| (Reverse((0..one.classes).flat_map(|class| one.of(class)).sum()), one))
        .filter(|(Reverse(sum), _)| *sum > 0)
        .collect();
    ports.sort_by_key(|(sum, _)| *sum); // stable: equal ones stay in canonical order
    ports.truncate(PORTS);
    let largest = ports.first().map_or(0, |(Reverse(sum), _)| *sum);
    ports.retain(|(Reverse(sum), _)| *sum >= largest / SMALL);
    let names = &world.plan.names;
    let mut all = Vec::new();
    for (_, one) in &ports {
        let peer = world.fabric.ports_of(NodeId(one.node as u32))[one.port].peer;
        let (node, peer) = (&names[one.node], &names[peer.0 as usize]);
        let (_, times, _) = one.switch.samples().expect("the switch was sampled");
        for class in (0..one.classes).filter(|class| one.of(*class).any(|queue| queue > 0)) {
            all.push(Series {
                name: format!("{node}->{peer} class {class} queue"),
                quantity: Quantity::ClassQueue,
                unit: "bytes",
                at: times.to_vec(),
                values: one.of(class).map(|queue| queue as f64).collect(),
            });
        }
    }
    all
}

fn of_switch(node: usize, switch: &Switch) -> Vec<OfPort<'_>> {
    let sampled = switch.samples().map_or(&[][..], |(ports, ..)| ports);
    let several = |port: &u16| {
        let classes = switch.ports()[usize::from(*port)].classes();
        (classes > 1).then_some((usize::from(*port), classes))
    };
    let ports: Vec<(usize, usize)> = sampled.iter().filter_map(several).collect();
    let step = ports.iter().map(|(_, classes)| classes).sum();
    let begins = ports.iter().scan(0, |next, (_, classes)| {
        let first = *next;
        *next += classes;
        Some(first)
    });
    let of = |(&(port, classes), first)| OfPort { node, port, classes, switch, first, step };
    ports.iter().zip(begins).map(of).collect()
}
