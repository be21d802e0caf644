//! A simulation on the reference engine: one global heap, explicit departures. For tests.

use crate::assemble::build;
use crate::observe::collect::{collect, unsent};
use crate::observe::stall::{self, CHECK_EVERY, Progress};
use crate::options::{Options, Outputs, SimError};
use crate::world::machines;
use forebay_engine::AdvanceEnd;
use forebay_engine::reference::Reference;
use forebay_record::RunRecord;
use forebay_scenario::model::Scenario;
use forebay_units::{Span, Time};

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
    let mut world = build(
        scenario,
        seed,
        Options { explicit_ports, ..Options::default() },
        &Outputs::default(),
        &|| true,
    )?;
    let mut engine = Reference::new(std::mem::take(&mut world.nodes), world.fabric.links());
    let (mut goal, mut last) = (world.goal(scenario.stop), scenario.stop.time);
    let (mut now, mut met, mut progress) = (Time::ZERO, false, Progress::default());
    let end = loop {
        let check = (now + Span::from_ps(1)).round_up(CHECK_EVERY);
        let boundary = last.min(world.timeline.next()).min(check);
        match engine.advance(boundary, goal) {
            AdvanceEnd::Done(at) => {
                // A fault may come between the last completion and the multiple of the grain after it: `at` is its time then.
                (goal, met, last) = (None, true, at.round_up(scenario.stop.grain).min(last));
            }
            AdvanceEnd::Idle if !met && world.timeline.next() >= last => {
                let stalled = stall::why(&mut engine, &world).is_some();
                break if stalled { boundary.round_up(CHECK_EVERY).min(last) } else { last };
            }
            _ => {}
        }
        if boundary >= last {
            break last;
        }
        world.timeline.apply(boundary, &world.fabric, &mut engine);
        now = boundary;
        if now == check && progress.check(now, scenario.stop.time, &mut engine, &world).is_some() {
            break now;
        }
    };
    let unsent = unsent(&mut engine, &world.fabric, end);
    let mut nodes = engine.into_nodes();
    machines::part(&mut nodes);
    Ok(collect(scenario, &world, &nodes, &unsent, end))
}
