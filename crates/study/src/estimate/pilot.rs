//! The first part of a run, which knows what no forecast from means does: delays, windows, losses, timeouts, credits.
//!
//! A pilot has a budget of events, not of time, so that a forecast is the same on any machine. A run that ends within it is known to the row.
//! Of any other one the rest is taken from what is still to be delivered, at as many packet-hops a byte as so far.

use super::{Estimate, Rows};
use forebay_record::RunRecord;
use forebay_scenario::model::Scenario;
use forebay_scenario::plan::Plan;
use forebay_sim::{Options, Outputs, SimError, Simulation, Watch};
use forebay_units::{Bytes, Span, Time};

/// What the first part of a run came to.
pub struct Pilot {
    record: RunRecord,
    ended: bool,
    /// When about half of its packets had been sent, and how many.
    half: (Time, u64),
    /// Packets on links and in queues at its end, and what they take.
    bytes: f64,
}

/// Steps at most, for runs that do nothing for long.
const STEPS: usize = 20_000;

impl Pilot {
    /// Runs the first seed for about so many events.
    ///
    /// # Errors
    /// As a run's.
    pub fn run(scenario: &Scenario, plan: &Plan, budget: u64) -> Result<Self, SimError> {
        let seed = scenario.seeds.first().copied().unwrap_or(1);
        let outputs = Outputs { links: true, ..Outputs::default() };
        let mut simulation = Simulation::with_outputs(scenario, seed, Options::default(), outputs)?;
        let watch = Watch::default();
        let longest = longest_step(scenario, plan, budget);
        let mut step = Span::from_ps(1_000_000).min(longest);
        let mut points = vec![(Time::ZERO, 0)];
        let mut ended = false;
        let mut events = 0;
        while !ended && events < budget && points.len() < STEPS {
            ended = simulation.advance(simulation.now().saturating_add(step), &watch);
            let now = simulation.events();
            let spent = now - events;
            events = now;
            points.push((simulation.now(), simulation.packet_hops()));
            if spent < budget / 64 {
                step = (step * 2).min(longest);
            } else if spent > budget / 8 {
                step = Span::from_ps((step.as_ps() / 2).max(1));
            }
        }
        let hops = simulation.packet_hops();
        let half = points.iter().rev().find(|(_, so_far)| *so_far <= hops / 2);
        let half = half.copied().unwrap_or((Time::ZERO, 0));
        let outcome = simulation.finish();
        let execution = &outcome.execution;
        let bytes = execution.ring_bytes as f64 + execution.slab_slots as f64 * SLOT;
        Ok(Self { record: outcome.record, ended, half, bytes })
    }

    /// Puts what this has seen in place of what means say.
    pub fn correct(&self, scenario: &Scenario, of: &mut Estimate) {
        let record = &self.record;
        let (reached, stop) = (record.end.as_secs_f64(), scenario.stop.time.as_secs_f64());
        let hops = record.totals.packet_hops as f64;
        of.bytes = of.bytes.max(self.bytes * 2.0);
        if self.ended {
            (of.packet_hops, of.end_s, of.exact) = (hops, reached, true);
            of.rpcs = record.rpcs.len() as f64;
            let series = record.series.iter().map(|series| series.values.len()).sum::<usize>();
            let memory = record.memory_series.iter().map(|one| one.samples.len()).sum::<usize>();
            let all = record.rows() as f64;
            let links = record.links.len() as f64;
            of.fill_rows(Rows { samples: (series + memory) as f64, links, all });
            return;
        }
        let delivered = record.totals.delivered_bytes as f64;
        let finite = record.flows.iter().filter(|flow| flow.size != Bytes::MAX);
        let offered: f64 = finite.map(|flow| flow.size.get() as f64).sum();
        let (at, before) = self.half;
        let since = (reached - at.as_secs_f64()).max(1e-12);
        let slope = (hops - before as f64) / since;
        let by_time = hops + slope * (stop - reached);
        let by_payload = if delivered > 0.0 { hops * of.payload / delivered } else { f64::MAX };
        let keeps_up = of.endless == 0.0 && of.rpcs == 0.0 && delivered > 0.7 * offered;
        of.packet_hops = match delivered > 0.0 {
            false => of.packet_hops.max(hops),
            true if keeps_up => by_payload,
            true => by_payload.min(by_time),
        }
        .max(hops);
        let ends = scenario.stop.flows && of.endless == 0.0;
        of.end_s = match ends {
            false => stop,
            true if keeps_up => of.end_s.max(reached),
            true => (reached + (of.packet_hops - hops) / slope.max(1e-9)).min(stop),
        };
        let done = record.rpcs.len() as f64 / reached.max(1e-12);
        if of.rpcs > 0.0 {
            of.rpcs = of.rpcs.min(done * stop).max(record.rpcs.len() as f64);
        }
        let longer = of.end_s / reached.max(1e-12);
        let sampled = |record: &RunRecord| {
            let series = record.series.iter().map(|series| series.values.len()).sum::<usize>();
            series + record.memory_series.iter().map(|one| one.samples.len()).sum::<usize>()
        };
        let samples = sampled(record) as f64 * longer;
        let others = record.rows() as f64
            - sampled(record) as f64
            - (record.flows.len() + record.rpcs.len() + record.unfinished.len()) as f64;
        // A flow that has no end, or does not keep up, is a row of those that have not ended as well.
        let unfinished =
            of.endless.max(if ends || keeps_up { 0.0 } else { record.unfinished.len() as f64 });
        let flows = of.flows + of.endless + unfinished + 2.0 * record.connections.len() as f64;
        let links = record.links.len() as f64;
        of.fill_rows(Rows { samples, links, all: samples + others + flows + of.rpcs });
    }
}

/// Bytes of a packet in a slab, about.
const SLOT: f64 = 96.0;

/// A step in which a full fabric, and all samplers, have about the events of the budget.
fn longest_step(scenario: &Scenario, plan: &Plan, budget: u64) -> Span {
    let packet = scenario.largest_packet().get().max(64) as f64 * 8.0;
    let links: f64 = plan.cables.iter().map(|c| 2.0 * c.link.rate.get() as f64 / packet).sum();
    let output = &scenario.output;
    let intervals = [
        output.queues.as_ref().map(|one| one.every),
        output.flows.as_ref().map(|one| one.every),
        output.memory.as_ref().map(|one| one.every),
    ];
    let nodes = plan.names.len() as f64;
    let samples: f64 =
        intervals.into_iter().flatten().map(|every| nodes / every.as_secs_f64().max(1e-12)).sum();
    let seconds = budget as f64 / (links + samples).max(1.0);
    Span::from_ps((seconds * 1e12).clamp(1.0, 8e16) as u64)
}
