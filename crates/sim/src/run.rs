//! One simulation: one scenario, one seed.

use crate::assemble::build;
use crate::observe::capture::Captures;
use crate::observe::collect::{collect, unsent};
use crate::observe::deadlock::{self, Deadlocks};
use crate::observe::followed_log;
use crate::observe::inspect::{Inspection, inspect};
use crate::observe::link_samples::LinkSamples;
use crate::observe::stall::{self, CHECK_EVERY, Progress};
use crate::observe::traces;
use crate::options::{Options, Outputs, SimError};
use crate::world::{AnyNode, World, machines};
use forebay_engine::{
    AdvanceEnd, Engine, EngineAccess, EngineStats, Goal, LinkId, NodeId, Tuning, Watch,
};
use forebay_laws::flow::FlowParams;
use forebay_record::RunRecord;
use forebay_record::law_logs::LawLogs;
use forebay_record::why::Log;
use forebay_scenario::model::Scenario;
use forebay_scenario::plan::Plan;
use forebay_units::{Span, Time};
use std::sync::atomic::Ordering;

/// What one simulation leaves.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The results.
    pub record: RunRecord,
    /// What a reader of the results should know.
    pub warnings: Vec<String>,
    /// Why nothing moved any more though flows were unfinished: names the port or timer that holds them.
    pub stall: Option<String>,
    /// What the congestion control of a flow did that ended the run, if one did; then `stall` says the same.
    pub fault: Option<String>,
    /// How the execution went; depends on threads and grouping, so it belongs to no result.
    pub execution: EngineStats,
    /// The log of the flows that were followed, if some were.
    pub followed: Option<Log>,
}

impl Outcome {
    /// The outcome, unless a fault ended the run.
    ///
    /// # Errors
    /// [`SimError::Fault`], with its sentence.
    pub fn checked(self) -> Result<Self, SimError> {
        match self.fault {
            Some(why) => Err(SimError::Fault(why)),
            None => Ok(self),
        }
    }
}

/// Runs a checked scenario with one seed.
///
/// Progress goes to `watch` as it happens; setting `watch.stop` ends the run early with valid partial results.
///
/// # Errors
/// See [`SimError`].
pub fn simulate(
    scenario: &Scenario,
    seed: u64,
    options: Options,
    watch: &Watch,
) -> Result<Outcome, SimError> {
    let mut simulation = Simulation::new(scenario, seed, options)?;
    simulation.advance(Time::MAX, watch);
    simulation.finish().checked()
}

/// As [`simulate`]; the scenario's captures and law logs go to `outputs`.
///
/// # Errors
/// See [`SimError`].
pub fn simulate_into<'a>(
    scenario: &'a Scenario,
    seed: u64,
    options: Options,
    watch: &Watch,
    outputs: Outputs<'a>,
) -> Result<Outcome, SimError> {
    let mut simulation = Simulation::with_outputs(scenario, seed, options, outputs)?;
    simulation.advance(Time::MAX, watch);
    simulation.finish().checked()
}

/// A simulation that can be advanced step by step.
pub struct Simulation<'a> {
    scenario: &'a Scenario,
    world: World, // its nodes have moved into the engine
    engine: Engine<AnyNode>,
    goal: Option<Goal>,
    met: bool,  // the goal has been
    last: Time, // the end: the scenario's, or once the goal is met the next multiple of its grain
    progress: Progress,
    ended: Option<AdvanceEnd>,
    stall: Option<String>,
    modules: bool, // a law is a module, which may end the run
    law_logs: Option<&'a dyn LawLogs>,
    fault: Option<String>,        // it did
    deadlocks: Option<Deadlocks>, // where something may pause
    captures: Option<Captures<'a>>,
    links: Option<LinkSamples>,
    follows: bool,           // some flows
    look: Option<StopCheck>, // where windows are longer than it may be between two looks
}

impl<'a> Simulation<'a> {
    /// Lays out a scenario at time zero.
    ///
    /// # Errors
    /// See [`SimError`].
    pub fn new(scenario: &'a Scenario, seed: u64, options: Options) -> Result<Self, SimError> {
        Self::with_outputs(scenario, seed, options, Outputs::default())
    }

    /// Lays out a scenario at time zero. Its captures and law logs go to `outputs`.
    ///
    /// # Errors
    /// See [`SimError`].
    pub fn with_outputs(
        scenario: &'a Scenario,
        seed: u64,
        options: Options,
        outputs: Outputs<'a>,
    ) -> Result<Self, SimError> {
        Self::watched(scenario, seed, options, outputs, &Watch::default())
    }

    /// Lays out a scenario at time zero. Setting `watch.stop` ends the layout with [`SimError::Stopped`].
    ///
    /// # Errors
    /// See [`SimError`].
    pub fn watched(
        scenario: &'a Scenario,
        seed: u64,
        options: Options,
        outputs: Outputs<'a>,
        watch: &Watch,
    ) -> Result<Self, SimError> {
        let wanted = || !watch.stop.load(Ordering::Relaxed);
        let world = build(scenario, seed, options, &outputs, &wanted)?;
        let simulation = Self::of(world, scenario, options, outputs)?;
        if wanted() { Ok(simulation) } else { Err(SimError::Stopped) }
    }

    /// Of what has been laid out for this scenario and these options.
    pub(crate) fn of(
        mut world: World,
        scenario: &'a Scenario,
        options: Options,
        outputs: Outputs<'a>,
    ) -> Result<Self, SimError> {
        let nodes = std::mem::take(&mut world.nodes);
        let tuning = Tuning { threads: options.threads, cut: options.cut };
        let engine =
            Engine::new(nodes, world.fabric.links(), &world.places, tuning).map_err(|error| {
                let forebay_engine::PlanError::ZeroLookahead(links) = &error;
                SimError::Fabric(format!(
                    "{error}: {}; give them a delay or the switches a latency",
                    names(&world, links)
                ))
            })?;
        let goal = world.goal(scenario.stop);
        let last = scenario.stop.time;
        let deadlocks = world.pauses.then(Deadlocks::default);
        let captures = outputs
            .captures
            .map(|sink| Captures::new(sink, &mut world.taps, &world.common, &world.plan.names));
        let is_module = |law: &FlowParams| law.is_module();
        let modules = world.common.profiles.iter().any(|of| of.law.as_ref().is_some_and(is_module));
        let look = StopCheck::new(scenario, &world.plan, engine.stats().window);
        let links = outputs.links.then(|| LinkSamples::new(&world, last, goal.is_some())).flatten();
        Ok(Self {
            scenario,
            world,
            engine,
            goal,
            met: false,
            last,
            progress: Progress::default(),
            ended: None,
            stall: None,
            modules,
            law_logs: outputs.law_logs,
            fault: None,
            deadlocks,
            captures,
            links,
            follows: outputs.follow.is_some(),
            look,
        })
    }

    /// Virtual time before which everything has been handled.
    pub fn now(&self) -> Time {
        self.engine.now()
    }

    /// How many flows and connections have to be done before the run ends, where that ends it.
    pub fn to_do(&self) -> Option<u64> {
        self.goal.map(|goal| goal.done)
    }

    /// Events handled so far: arrivals, timers, samples. They depend on the engine, and no result may.
    pub fn events(&self) -> u64 {
        self.engine.stats().events.iter().sum()
    }

    /// Packets pushed onto links so far.
    pub fn packet_hops(&self) -> u64 {
        self.engine.pushed()
    }

    /// Handles everything before `until`, or before the scenario's own end if that is earlier. True once the run is over.
    pub fn advance(&mut self, until: Time, watch: &Watch) -> bool {
        while self.ended.is_none() && self.engine.now() < until.min(self.last) {
            let until = until.min(self.last);
            let next = |every| (self.engine.now() + Span::from_ps(1)).round_up(every);
            let pauses = self.deadlocks.as_ref().map_or(Time::MAX, |_| next(deadlock::CHECK_EVERY));
            let look = self.look.as_ref().map_or(Time::MAX, |look| look.next(self.engine.now()));
            let boundary = until
                .min(pauses)
                .min(look)
                .min(self.world.timeline.next())
                .min(self.captures.as_ref().map_or(Time::MAX, Captures::next))
                .min(self.links.as_ref().map_or(Time::MAX, LinkSamples::next))
                .min(if self.modules { next(FAULTS_EVERY) } else { Time::MAX })
                .min(next(CHECK_EVERY));
            let ended = self.engine.advance(boundary, self.goal, watch);
            self.look_for_faults();
            if self.fault.is_some() {
                self.ended = Some(AdvanceEnd::Stopped(self.engine.now()));
                break;
            }
            match ended {
                AdvanceEnd::Reached(now) => {
                    self.world.timeline.apply(now, &self.world.fabric, &mut self.engine);
                    if now == now.round_up(CHECK_EVERY) {
                        self.stall = self.progress.check(
                            now,
                            self.scenario.stop.time,
                            &mut self.engine,
                            &self.world,
                        );
                        self.ended = self.stall.as_ref().map(|_| AdvanceEnd::Stopped(now));
                    }
                    if now == now.round_up(deadlock::CHECK_EVERY) {
                        self.check_for_deadlocks(now);
                    }
                    let mut captures = self.captures.as_mut();
                    if captures
                        .as_mut()
                        .is_some_and(|c| !c.settle(now, &self.world.fabric, &mut self.engine))
                    {
                        self.ended = Some(AdvanceEnd::Stopped(now));
                    }
                }
                AdvanceEnd::Idle if self.world.timeline.next() < self.last => {
                    let now = self.engine.now();
                    self.world.timeline.apply(now, &self.world.fabric, &mut self.engine);
                }
                AdvanceEnd::Idle if self.met => {}
                AdvanceEnd::Idle => {
                    self.stall = stall::why(&mut self.engine, &self.world);
                    self.ended = Some(AdvanceEnd::Idle);
                }
                AdvanceEnd::Done(now) => {
                    // A boundary that has nothing to do with the goal may have come first.
                    self.last = now.round_up(self.scenario.stop.grain).min(self.scenario.stop.time);
                    (self.goal, self.met) = (None, true);
                    if now < self.last {
                        self.world.timeline.apply(now, &self.world.fabric, &mut self.engine);
                    }
                }
                ended => self.ended = Some(ended),
            }
            if let Some(look) = &mut self.look {
                look.spent(self.engine.stats().events.iter().sum());
            }
            let now = self.engine.now();
            if let Some(links) = self.links.as_mut().filter(|links| links.next() <= now) {
                links.sample(now, &mut self.engine, &self.world);
            }
            if self.ended.is_none() && self.met && self.engine.now() >= self.last {
                self.ended = Some(AdvanceEnd::Done(self.last));
            }
        }
        self.ended.is_some() || self.engine.now() >= self.scenario.stop.time
    }

    /// Looks for the first fault of a module. All events before [`Simulation::now`] have been handled, so it is the first of the run.
    fn look_for_faults(&mut self) {
        if !self.modules || self.fault.is_some() {
            return;
        }
        let faults = (0..self.world.fabric.hosts()).filter_map(|host| {
            machines::node(&mut self.engine, &self.world.fabric, NodeId(host))
                .host()?
                .module_fault()
        });
        self.fault = faults.min().map(|(at, flow, why)| {
            let spec = self.world.common.flows[flow as usize];
            let law = self.world.common.profiles[usize::from(spec.traffic)].law.as_ref();
            let [from, to] = [spec.src, spec.dst].map(|host| &self.world.plan.names[host as usize]);
            format!(
                "flow {flow} from {from} to {to} at {:.3} ms, law \"{}\": {why}",
                at.as_secs_f64() * 1e3,
                law.map_or("", |law| law.name()),
            )
        });
        self.stall.clone_from(&self.fault);
    }

    fn check_for_deadlocks(&mut self, now: Time) {
        if let Some(deadlocks) = &mut self.deadlocks {
            deadlocks.check(now, &mut self.engine, &self.world);
        }
    }

    /// Collects the results.
    pub fn finish(mut self) -> Outcome {
        self.look_for_faults();
        let end = match self.ended {
            Some(AdvanceEnd::Done(at) | AdvanceEnd::Stopped(at)) => at,
            Some(AdvanceEnd::Idle) if self.stall.is_none() => self.scenario.stop.time,
            Some(AdvanceEnd::Idle) => {
                self.engine.now().round_up(CHECK_EVERY).min(self.scenario.stop.time)
            }
            _ => self.engine.now(),
        };
        self.check_for_deadlocks(end);
        let links = self.links.take().map(|l| l.finish(end, &mut self.engine, &self.world));
        let interrupted =
            matches!(self.ended, Some(AdvanceEnd::Stopped(_))) && self.stall.is_none();
        let execution = self.engine.stats();
        let unsent = unsent(&mut self.engine, &self.world.fabric, end);
        let mut nodes = self.engine.into_nodes();
        machines::part(&mut nodes);
        if let Some(captures) = self.captures {
            captures.end(end, &mut nodes);
        }
        let mut record = collect(self.scenario, &self.world, &nodes, &unsent, end);
        let followed =
            self.follows.then(|| followed_log::gather(&self.world, &mut nodes, &record.flows));
        record.links = links.unwrap_or_default();
        record.interrupted = interrupted;
        if self.stall.is_none() && !interrupted && self.world.timeline.next() == Time::MAX {
            self.stall = stall::dead_end(&record);
        }
        let idle = matches!(self.ended, Some(AdvanceEnd::Idle));
        let left = stall::programs(&record, &self.world, !idle && self.stall.is_none());
        if idle && record.programs.iter().any(|row| row.awaited && row.ended.is_none()) {
            self.stall = self.stall.or_else(|| left.clone());
        }
        record.stalled = self.stall.is_some();
        let said_of_all = left.is_some() && (idle || record.stalled);
        let mut warnings = std::mem::take(&mut self.world.warnings);
        let (deadlocks, said) = self.deadlocks.unwrap_or_default().finish();
        record.deadlocks = deadlocks;
        warnings.extend(said);
        warnings.extend(stall::watchdogs(&nodes, &self.world, end));
        if let Some(logs) = self.law_logs.filter(|_| self.modules) {
            warnings.extend(traces::traces(logs, &nodes, &self.world.plan.names));
        }
        warnings.extend(stall::cut_off(&record, &self.world));
        warnings.extend(left.filter(|left| self.stall.as_ref() != Some(left)));
        if !said_of_all {
            warnings.extend(stall::collectives(&record, &nodes, &self.world));
        }
        Outcome { record, warnings, stall: self.stall, fault: self.fault, execution, followed }
    }
}

impl Simulation<'_> {
    /// Names of all nodes: hosts, then switches.
    pub fn names(&self) -> &[String] {
        &self.world.plan.names
    }

    /// How things stand at [`Simulation::now`].
    pub fn inspect(&mut self) -> Inspection {
        let now = self.engine.now();
        inspect(&self.world, &mut self.engine, now)
    }

    /// The record that [`Simulation::finish`] would leave if the run were interrupted now. The run goes on as if it had
    /// not been queried; while this lasts, its nodes are in memory twice.
    pub fn so_far(&mut self) -> RunRecord {
        let end = self.engine.now();
        let fabric = &self.world.fabric;
        let mut sent = vec![Default::default(); fabric.links().len()];
        for n in 0..fabric.nodes() {
            for (p, direction) in fabric.ports_of(NodeId(n)).iter().enumerate() {
                let flying = self.engine.drain_link(direction.link);
                let port = &machines::node(&mut self.engine, fabric, NodeId(n)).ports()[p];
                sent[direction.link.0 as usize] = port.unsent(end, &flying);
                flying.iter().for_each(|one| self.engine.push_link(direction.link, one));
            }
        }
        let links = self.links.clone();
        let links = links.map(|l| l.finish(end, &mut self.engine, &self.world));
        self.engine.refresh();
        let copy = |n| self.engine.node_mut(NodeId(n)).clone();
        let mut nodes: Vec<AnyNode> = (0..fabric.nodes()).map(copy).collect();
        machines::part(&mut nodes);
        let mut record = collect(self.scenario, &self.world, &nodes, &sent, end);
        record.links = links.unwrap_or_default();
        record.interrupted = true;
        record.deadlocks = self.deadlocks.clone().unwrap_or_default().finish().0;
        record
    }
}

/// Between two looks at whether the run is still wanted, where the engine, which looks at each window, would not for long.
#[derive(Clone, Copy, Debug)]
struct StopCheck {
    least: Span, // in which full links and all samplers have `MOST_UNWATCHED` events
    step: Span,
    events: u64,
}

/// Faults of modules are looked for at multiples of this time.
const FAULTS_EVERY: Span = Span::from_ms(10);

/// Events between two looks: well below a second of work.
const MOST_UNWATCHED: u64 = 2_000_000;

/// How much longer than on a full fabric it may be while little happens.
const PATIENCE: u64 = 16;

impl StopCheck {
    fn new(scenario: &Scenario, plan: &Plan, window: Span) -> Option<Self> {
        let packet = scenario.largest_packet().get().max(64) as f64 * 8.0;
        let links: f64 = plan.cables.iter().map(|c| 2.0 * c.link.rate.get() as f64 / packet).sum();
        let output = &scenario.output;
        let every = [
            output.queues.as_ref().map(|one| one.every),
            output.flows.as_ref().map(|one| one.every),
            output.memory.as_ref().map(|one| one.every),
        ];
        let nodes = plan.names.len() as f64;
        let samples: f64 =
            every.into_iter().flatten().map(|every| nodes / every.as_secs_f64().max(1e-12)).sum();
        let seconds = MOST_UNWATCHED as f64 / (links + samples).max(1.0);
        let least = Span::from_ps((seconds * 1e12).clamp(1.0, 8e16) as u64);
        (least < window).then_some(Self { least, step: least, events: 0 })
    }

    fn next(&self, now: Time) -> Time {
        now.saturating_add(self.step)
    }

    /// Takes longer steps where little has happened since the last one.
    fn spent(&mut self, events: u64) {
        let spent = events - self.events;
        self.events = events;
        self.step = match spent {
            few if few < MOST_UNWATCHED / 32 => (self.step * 2).min(self.least * PATIENCE),
            many if many > MOST_UNWATCHED => self.least,
            _ => self.step,
        };
    }
}

/// Cables of some links, for people.
fn names(world: &World, links: &[LinkId]) -> String {
    let name = |link: &LinkId| {
        let spec = world.fabric.links()[link.0 as usize];
        format!(
            "{}-{}",
            world.plan.names[spec.from.0 as usize], world.plan.names[spec.to.0 as usize]
        )
    };
    let mut all: Vec<String> = links.iter().take(4).map(name).collect();
    if links.len() > 4 {
        all.push(format!("and {} more", links.len() - 4));
    }
    all.join(", ")
}
