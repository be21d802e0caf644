//! The same simulation on the reference engine: one global heap, explicit departures. For tests.

use crate::build::build;
use crate::collect::collect;
use crate::machine;
use crate::options::{Options, SimError};
use forebay_engine::reference::Reference;
use forebay_engine::{Ended, Ground, LinkId};
use forebay_record::RunRecord;
use forebay_scenario::model::Scenario;

/// Runs a scenario to its end on the reference engine; `explicit_ports` replaces one-touch ports by queues with an event
/// per departure.
///
/// # Errors
/// As [`crate::simulate`].
pub fn reference(
    scenario: &Scenario,
    seed: u64,
    explicit_ports: bool,
) -> Result<RunRecord, SimError> {
    let mut built = build(scenario, seed, Options { explicit_ports, ..Options::default() }, false)?;
    let mut engine = Reference::new(std::mem::take(&mut built.nodes), built.fabric.links());
    let (mut goal, mut last) = (built.goal(scenario.stop), scenario.stop.time);
    let end = loop {
        let boundary = last.min(built.timeline.next());
        if let Ended::Done(at) = engine.advance(boundary, goal) {
            // A fault may come between the last completion and the multiple of the grain after it: `at` is its time then.
            (goal, last) = (None, at.round_up(scenario.stop.grain).min(last));
        }
        if boundary >= last {
            break last;
        }
        built.timeline.apply(boundary, &built.fabric, &mut engine);
    };
    let links = built.fabric.links().len() as u32;
    let flying: Vec<_> = (0..links).map(|link| engine.drain_link(LinkId(link))).collect();
    let mut nodes = engine.into_nodes();
    machine::part(&mut nodes);
    Ok(collect(scenario, &built, &nodes, &flying, end))
}
