//! From a checked scenario to nodes, links and a timeline.

use super::base_rtt;
use super::messages;
use super::pools::Pools;
use super::racks::{self, Racks};
use super::stacks::{Stacks, profiles, usual};
use super::symmetric;
use crate::host::{ClassQueues, Common, Host, LawHost, Memory, Nic, NicSide, Profile};
use crate::law_log::{LawTaps, host_tap};
use crate::observe::follow::{FollowedNode, Follower};
use crate::observe::tap::{TappedNode, Taps};
use crate::observe::{
    CreditSamples, Deliveries, FlowSamples, MemorySamples, PoolSamples, SenderWaits,
};
use crate::options::{Options, Outputs, SimError};
use crate::world::routes::Routing;
use crate::world::timeline::{Link, Timeline};
use crate::world::{AnyNode, World, machines};
use forebay_engine::{LinkId, NodeId};
use forebay_host::memory::settings::SmtOrder;
use forebay_laws::host_driver::lockstep::Line;
use forebay_net::{
    CLASSES, Cable, ClassPolicy, Fabric, Form, IngressPool, PathCounts, PortSettings, Routes,
    SharedBuffer, Switch, SwitchSettings, Tor,
};
use forebay_record::law_logs::LawLogs;
use forebay_scenario::model::{self, Change, CreditClass, PortRules, Scenario, Topology};
use forebay_scenario::pause::PauseSetup;
use forebay_scenario::pitfalls::pitfalls;
use forebay_scenario::plan::{self, Plan};
use forebay_scenario::program::Program;
use forebay_scenario::workload::{self, FlowSpec, Hosts};
use forebay_transport::{Config, Frames};
use forebay_units::random::{Purpose, Stream};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use forebay_wire::{FlowId, Rates};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Lays everything out, with the captures and law logs that `outputs` takes. Fails when the layout is no longer `wanted`.
pub(crate) fn build(
    scenario: &Scenario,
    seed: u64,
    options: Options,
    outputs: &Outputs<'_>,
    wanted: &dyn Fn() -> bool,
) -> Result<World, SimError> {
    let profiles = profiles(scenario, &usual(scenario))?;
    build_with(profiles, scenario, seed, options, outputs, wanted)
}

/// Lays everything out with these profiles, by traffic entry.
pub(crate) fn build_with(
    profiles: Vec<Profile>,
    scenario: &Scenario,
    seed: u64,
    options: Options,
    outputs: &Outputs<'_>,
    wanted: &dyn Fn() -> bool,
) -> Result<World, SimError> {
    let plan = Plan::of(&scenario.fabric);
    let topology = &scenario.fabric.topology;
    let hosts = Hosts::of_plan(&plan, topology);
    let mut table = workload::flows_of(scenario, &hosts, seed, &outputs.sources, wanted)
        .map_err(|e| SimError::Traffic(e.to_string()))?
        .ok_or(SimError::Stopped)?;
    let pausing = PauseSetup::of(scenario, &plan);
    let mut warnings = std::mem::take(&mut table.warnings);
    warnings.extend(pausing.iter().flat_map(PauseSetup::warnings));
    warnings.extend(low_answers(scenario));
    warnings.extend(pitfalls(scenario, &plan).into_iter().map(|one| one.text));

    let machines = machines::all(scenario, &plan);
    let fabric = lay_cables(scenario, &plan, &machines, &table);
    let (programs, control) =
        (std::mem::take(&mut table.programs), std::mem::take(&mut table.control));
    let awaited = programs.iter().filter(|program| program.awaited).count() as u64;
    let mut common = common(profiles, scenario, &plan, &fabric, table, seed)?;
    warnings.extend(messages::short_window(&common.profiles, scenario, &fabric));
    let law_logs = scenario.output.law_log.as_ref().zip(outputs.law_logs);
    let grants = |profile: &&Profile| matches!(profile.transport, Config::Granted(_));
    let kinds = common.profiles.iter().filter(grants).count();
    let names = &plan.names[..plan.hosts];
    common.law_taps = law_logs.map(|(logged, logs)| LawTaps::of(logged, logs, names, kinds));
    let routing = Routing::new(scenario, &plan, &fabric, &common, seed);
    let routes = routing.routes(&fabric, &|_| true);
    common.path_counts = PathCounts::of(&routes);
    common.handshakes = base_rtt::handshakes(&common, scenario, &fabric, &routes);
    let common = Arc::new(common);
    let mut taps = match outputs.captures {
        Some(_) => Taps::plan(scenario, &plan, &fabric),
        None => Taps::default(),
    };
    let maker = Maker {
        scenario,
        plan: &plan,
        fabric: &fabric,
        common: &common,
        options,
        explicit: explicit(scenario, &plan),
        pausing,
        taps: &taps,
        law_logs,
        agent: outputs.agent.as_ref(),
        steps: outputs.steps || scenario.output.steps,
        wanted,
        toward: OnceCell::new(),
    };
    let mut nodes = maker.hosts(&machines, (programs, &control))?;
    symmetric::check(&fabric, &routes, &common, &plan.names)?;
    nodes.extend(maker.switches(routes)?);
    let memories = machines.iter().map(|nics| maker.shared_memory(nics));
    let memories = memories.collect::<Result<Vec<_>, _>>()?;
    let each = (0u32..).zip(nodes);
    let tapped = |(id, node)| match taps.take(NodeId(id)) {
        Some(tap) => AnyNode::Tapped(Box::new(TappedNode { node, tap })),
        None => node,
    };
    let mut nodes: Vec<_> = each.map(tapped).collect();
    if let Some(flows) = outputs.follow {
        let follower = Follower::new((flows, outputs.details), &common, scenario, &plan);
        let each = (0u32..).zip(nodes);
        let followed = |(id, mut node)| match follower.follow(NodeId(id), &mut node, &fabric) {
            Some(follow) => AnyNode::Followed(Box::new(FollowedNode::new(node, follow))),
            None => node,
        };
        nodes = each.map(followed).collect();
    }
    for (nics, memory) in machines.iter().zip(memories) {
        machines::join(&mut nodes, nics, memory, &fabric);
    }
    let places = places(&fabric, &plan, topology, &hosts);
    let timeline = Timeline::new(scenario, &plan, &fabric, routing);
    let pauses = pausing.is_some();
    Ok(World { nodes, fabric, places, plan, common, timeline, taps, pauses, awaited, warnings })
}

/// Numbered nodes, and the links between them: of cables, and of control.
fn lay_cables(
    scenario: &Scenario,
    plan: &Plan,
    machines: &[Vec<NodeId>],
    table: &workload::Table,
) -> Fabric {
    let cables =
        plan.cables.iter().map(|planned| cable(planned, scenario.fabric.wire.gap())).collect();
    let homes = machines::homes(machines, plan.hosts);
    let size = (plan.names.len() as u32, plan.hosts as u32);
    let latency = scenario.fabric.switch.latency;
    let control: Vec<_> = table
        .control
        .iter()
        .map(|(from, to, delay)| (NodeId(*from), NodeId(*to), *delay))
        .collect();
    Fabric::with_machines(size, homes, cables, latency, &control)
}

/// What all hosts of the usual stack share.
fn common(
    mut profiles: Vec<Profile>,
    scenario: &Scenario,
    plan: &Plan,
    fabric: &Fabric,
    table: workload::Table,
    seed: u64,
) -> Result<Common, SimError> {
    let telemetry = telemetry(scenario, plan, &profiles)?;
    base_rtt::fill(&mut profiles, scenario, fabric, &table.flows);
    messages::fill(&mut profiles, scenario, fabric, &table.flows);
    let common = Common {
        flows: Arc::new(table.flows),
        numbers: (!table.numbers.is_empty()).then(|| table.numbers.into()),
        profiles,
        addrs: (0..fabric.hosts()).map(|h| fabric.addr(h)).collect(),
        seed,
        first_stream: table.first_stream,
        connections: Arc::new(table.connections),
        rpcs: scenario.traffic.iter().map(rpc).collect::<Vec<_>>().into(),
        warmup: scenario.output.warmup,
        telemetry,
        resume_requests: racks::resume_requests(scenario),
        law_taps: None,
        path_counts: PathCounts::default(),
        handshakes: Arc::default(),
    };
    Ok(common)
}

/// Links whose ports need explicit queues, since a fault makes them lose packets or their rate odd.
fn explicit(scenario: &Scenario, plan: &Plan) -> Vec<Link> {
    let needs_queue = |f: &&model::Fault| match f.change() {
        Some(Change::Loss(_) | Change::Drop { .. }) => true,
        Some(Change::Rate(rate)) => rate.whole_ps_per_byte().is_none(),
        Some(Change::Down | Change::Up) | None => false,
    };
    let faults = scenario.faults.iter().filter(needs_queue);
    faults.filter_map(|f| Link::of(plan, &f.link)).collect()
}

/// The rates that INT records encode, if a law of the scenario wants telemetry.
fn telemetry(
    scenario: &Scenario,
    plan: &Plan,
    profiles: &[Profile],
) -> Result<Option<Rates>, SimError> {
    if !profiles.iter().any(|profile| profile.law.as_ref().is_some_and(|law| law.needs().int)) {
        return Ok(None);
    }
    let changed = scenario.faults.iter().filter_map(|fault| match fault.change() {
        Some(Change::Rate(rate)) => Some(rate),
        _ => None,
    });
    let mut rates: Vec<_> =
        plan.cables.iter().map(|cable| cable.link.rate).chain(changed).collect();
    rates.sort_unstable();
    rates.dedup();
    let known = Rates::covering(rates.iter().copied());
    let known = known.map(|rates| rates.with_multi(scenario.fabric.switch.int_multi.unwrap_or(0)));
    known.map(Some).ok_or_else(|| {
        let rates: Vec<String> = rates.iter().map(BitsPerSec::to_string).collect();
        SimError::Fabric(format!(
            "a law wants telemetry, which tells 25, 50, 100, 200 and 400 Gb/s apart and three other rates; links have {}: use fewer",
            rates.join(", ")
        ))
    })
}

/// By host, those hosts with a path to memory that it has flows to.
fn toward_memory(scenario: &Scenario, flows: &[FlowSpec], plan: &Plan) -> Vec<Vec<u32>> {
    let modelled = |host: u32| scenario.host.memory_at(&plan.names[host as usize]).is_some();
    let modelled: Vec<bool> = (0..plan.hosts as u32).map(modelled).collect();
    let mut toward = vec![Vec::new(); plan.hosts];
    for spec in flows.iter().filter(|spec| modelled[spec.dst as usize]) {
        toward[spec.src as usize].push(spec.dst);
    }
    toward
}

/// Said of ACKs that may wait for ever: classes are strict.
fn low_answers(scenario: &Scenario) -> Option<String> {
    let classes = |entry: &model::Traffic| {
        let transport = scenario.transport_of(entry);
        (entry.class.unwrap_or(transport.class), transport.ack_class)
    };
    let (data, acks) = scenario.traffic.iter().map(classes).find(|(data, acks)| acks < data)?;
    Some(format!(
        "ACKs are of class {acks} and wait for data of class {data}, in switches and in NICs; write ack_class = {data}, or more"
    ))
}

fn rpc(traffic: &model::Traffic) -> Option<model::Rpc> {
    match &traffic.kind {
        model::TrafficKind::Rpc(rpc) => Some((**rpc).clone()),
        _ => None,
    }
}

fn cable(planned: &plan::PlannedCable, gap: Bytes) -> Cable {
    Cable {
        a: NodeId(planned.a),
        b: NodeId(planned.b),
        rate: planned.link.rate,
        delay: planned.link.delay,
        gap: gap_time(planned.link, gap),
        loss: planned.loss,
    }
}

/// Time of the gap of a frame on a link. At most half of the delay, which is what windows may be long.
fn gap_time(link: model::Link, gap: Bytes) -> Span {
    link.rate.time_for(gap).min(link.delay / 2)
}

/// What belongs to one host of all that is laid out by host.
#[derive(Default)]
struct Share {
    starts: Vec<u32>,        // its own flows, in order of start
    toward_memory: Vec<u32>, // hosts with a path to memory that it has flows to
    samples: Option<FlowSamples>,
}

/// Makes hosts, switches and their ports.
struct Maker<'a> {
    scenario: &'a Scenario,
    plan: &'a Plan,
    fabric: &'a Fabric,
    common: &'a Arc<Common>,
    options: Options,
    explicit: Vec<Link>, // whose ports have queues
    pausing: Option<PauseSetup<'a>>,
    taps: &'a Taps,
    law_logs: Option<(&'a model::LawLog, &'a dyn LawLogs)>,
    agent: Option<&'a Arc<dyn Line>>,
    steps: bool, // operations of programs are logged
    wanted: &'a dyn Fn() -> bool,
    toward: OnceCell<Vec<Vec<FlowId>>>, // flows by receiver, where their order says which cores read them
}

impl<'a> Maker<'a> {
    /// All hosts, each with a path to memory of its own where that is modelled, but for NICs of machines.
    fn hosts(
        &self,
        machines: &[Vec<NodeId>],
        (programs, control): (Vec<Program>, &[(u32, u32, Span)]),
    ) -> Result<Vec<AnyNode>, SimError> {
        let mut stacks = Stacks::new(self.scenario, self.common);
        let queues = self.class_queues();
        let shared: BTreeSet<u32> = machines.iter().flatten().map(|nic| nic.0).collect();
        let mut hosts = Vec::with_capacity(self.plan.hosts);
        for (id, share) in (0u32..).zip(self.shares()) {
            if !(self.wanted)() {
                return Err(SimError::Stopped);
            }
            let (common, nic) = stacks.of(&self.plan.names[id as usize])?;
            let mut host = self.host(id, (common, nic), share);
            if let Some(queues) = &queues {
                host.serve_by_class(queues.clone());
            }
            let alone = !shared.contains(&id);
            if let Some(side) = self.nic_side(id)?.filter(|_| alone) {
                host.with_memory(self.memory(&[NodeId(id)], vec![side]));
            }
            hosts.push(Box::new(host));
        }
        for program in programs {
            let links = self.control_links(program.host, control);
            hosts[program.host as usize].add_program(program, links);
        }
        if self.steps {
            hosts.iter_mut().for_each(|host| host.log_programs());
        }
        let pools = Pools::new(self.scenario, &self.plan.names, self.common);
        for (client, every, servers) in pools.sampled(|server| self.memory_sampled_every(server)) {
            hosts[client as usize].add_observer(PoolSamples::new(every, servers));
        }
        for (connection, one) in (0u32..).zip(self.common.connections.iter()) {
            let pool = pools.account(connection, one)?;
            hosts[one.client as usize].add_client(connection, pool);
            hosts[one.server as usize].add_server(connection, pools.shares(one));
        }
        Ok(hosts.into_iter().map(AnyNode::Host).collect())
    }

    /// Control links of a host, with the hosts that they lead to and their delays.
    fn control_links(&self, host: u32, control: &[(u32, u32, Span)]) -> Vec<(u32, LinkId, Span)> {
        let first = control.partition_point(|link| link.0 < host);
        let own = control[first..].iter().take_while(|link| link.0 == host);
        let link = |(from, to, _): &(u32, u32, Span)| {
            let id =
                self.fabric.control_link(NodeId(*from), NodeId(*to)).expect("made for this pair");
            // NICs of a machine may share a link.
            (*to, id, self.fabric.links()[id.0 as usize].lookahead)
        };
        own.map(link).collect()
    }

    /// What the NICs need to queue by class, where data or answers are of several, or some are metered.
    fn class_queues(&self) -> Option<ClassQueues> {
        let classes =
            |of: fn(&Profile) -> u8| self.common.profiles.iter().fold(0, |all, p| all | of(p));
        let data = classes(|profile| profile.transport.data_classes());
        let answers = classes(|profile| profile.transport.answer_classes());
        ClassQueues::new(data, answers, self.credits())
    }

    /// What belongs to each host.
    fn shares(&self) -> Vec<Share> {
        let (scenario, flows) = (self.scenario, &self.common.flows);
        let samples = FlowSamples::of(scenario.output.flows.as_ref(), flows, self.plan);
        let toward = toward_memory(scenario, flows, self.plan);
        let pairs = samples.into_iter().zip(toward);
        let share = |(samples, toward_memory)| Share { samples, toward_memory, ..Share::default() };
        let mut shares: Vec<Share> = pairs.map(share).collect();
        for (flow, spec) in (0u32..).zip(flows.iter()) {
            if spec.start != Time::MAX {
                shares[spec.src as usize].starts.push(flow);
            }
        }
        shares
    }

    /// One host, with its observers.
    fn host(&self, id: u32, (common, nic): (Arc<Common>, Nic), share: Share) -> Host {
        let output = &self.scenario.output;
        let profiles = &common.profiles;
        let gives_credit = profiles.iter().any(|one| one.transport.frames() == Frames::Message);
        let mut host = Host::new(common, self.nic(NodeId(id)), nic, share.starts);
        if self.pausing.is_some_and(|pausing| pausing.classes().is_some()) {
            host.separate_classes();
        }
        if let Some(queues) = &output.queues {
            host.add_observer(Deliveries::new(queues.every));
            if gives_credit {
                host.add_observer(CreditSamples::new(queues.every));
            }
        }
        if let Some(samples) = share.samples {
            host.add_observer(samples);
        }
        if let Some(waits) = SenderWaits::new(output.warmup, share.toward_memory) {
            host.add_observer(waits);
        }
        if let Some(every) = self.memory_sampled_every(id) {
            host.add_observer(MemorySamples::new(every));
        }
        host
    }

    /// All switches, with their routes.
    fn switches(&self, routes: Vec<Routes>) -> Result<Vec<AnyNode>, SimError> {
        let Common { profiles, seed, .. } = &**self.common;
        let racks = Racks::new(self.scenario, self.fabric, profiles, *seed);
        let one = |(id, routes)| {
            let switch = Switch::new(self.switch(NodeId(id), routes));
            let rack = racks.as_ref().map_or(Ok(None), |racks| racks.rack(NodeId(id)))?;
            Ok(match rack {
                Some(rack) => AnyNode::Tor(Box::new(Tor::new(switch, rack))),
                None => AnyNode::Switch(Box::new(switch)),
            })
        };
        (self.fabric.hosts()..).zip(routes).map(one).collect()
    }

    /// The path to memory of a machine with these NICs.
    fn shared_memory(&self, nics: &[NodeId]) -> Result<Box<Memory>, SimError> {
        let sides = nics.iter().filter_map(|nic| self.nic_side(nic.0).transpose());
        Ok(self.memory(nics, sides.collect::<Result<_, _>>()?))
    }

    /// Flows by the host where they end.
    fn flows_by_receiver(&self) -> Vec<Vec<FlowId>> {
        let mut toward = vec![Vec::new(); self.plan.hosts];
        for (flow, spec) in (0u32..).zip(self.common.flows.iter()) {
            toward[spec.dst as usize].push(FlowId(flow));
        }
        toward
    }

    /// The path to memory of these NICs, whose cores have been dealt to flows.
    fn memory(&self, nics: &[NodeId], sides: Vec<(&'a model::Memory, NicSide)>) -> Box<Memory> {
        let readers = sides[0].0.settings.readers;
        let mut memory = Memory::new(sides);
        if readers.smt_order != SmtOrder::Entry {
            let toward = self.toward.get_or_init(|| self.flows_by_receiver());
            let here = nics.iter().flat_map(|nic| &toward[nic.0 as usize]);
            let traffic = |flow: FlowId| self.common.flows[flow.0 as usize].traffic;
            let mut here: Vec<FlowId> = here.copied().collect();
            here.sort_unstable_by_key(|flow| (traffic(*flow), *flow));
            memory.deal(&here, &readers);
        }
        memory
    }

    /// Whether a cable of `node` carries pause frames to it (`heard`) or from it.
    fn has_pause(&self, node: NodeId, heard: bool) -> bool {
        let Some(pausing) = self.pausing else { return false };
        self.fabric.ports_of(node).iter().any(|direction| {
            let cable = self.plan.cables[direction.cable as usize];
            match heard {
                true => pausing.pauses_peer(direction.peer.0 as usize, cable),
                false => pausing.pauses(node.0 as usize, cable),
            }
        })
    }

    /// The accounts of a switch's in-ports, if any of them pauses.
    fn ingress(&self, node: NodeId) -> Option<IngressPool> {
        let pausing = self.pausing.filter(|_| self.has_pause(node, false))?;
        let lossless = pausing.classes();
        let of_class = |direction: &forebay_net::Direction, class: Option<u8>| {
            let cable = self.plan.cables[direction.cable as usize];
            pausing.ingress(node.0 as usize, cable, class)
        };
        let settings = |direction: &forebay_net::Direction| {
            core::array::from_fn(|class| of_class(direction, lossless.map(|_| class as u8)))
        };
        let ports: Vec<[_; 8]> = self.fabric.ports_of(node).iter().map(settings).collect();
        let counts = |class: &usize| match lossless {
            None => *class == 0,
            Some(classes) => classes & 1 << class != 0,
        };
        let accounts = ports.iter().flat_map(|port| (0..8).filter(counts).map(|class| port[class]));
        let kept = accounts.fold(Bytes::ZERO, |all, account| {
            all.saturating_add(account.reserved)
                .saturating_add(account.headroom.unwrap_or(Bytes::ZERO))
        });
        let size = self.scenario.fabric.switch.shared_buffer().map_or(Bytes::MAX, |b| b.size);
        Some(IngressPool {
            shared: size.saturating_sub(kept),
            ports,
            lossless,
            alpha: pausing.lossy_alpha(),
        })
    }

    /// Policies of the classes of a switch's ports; empty if all classes are treated alike.
    fn classes(&self, node: NodeId) -> Vec<[ClassPolicy; CLASSES]> {
        let switch = &self.scenario.fabric.switch;
        let paused = self.pausing.filter(|pausing| pausing.classes().is_some());
        // Rates scale thresholds, but do not decide whether a class has a policy: any rate will do.
        let alike = [ClassPolicy::default(); CLASSES];
        if paused.is_none()
            && ClassPolicy::all_of(switch, self.scenario.fabric.host_link.rate, false) == alike
        {
            return Vec::new();
        }
        let core_trims = self.common.profiles.iter().any(|of| of.transport.wants_core_trims());
        let policies = |direction: &forebay_net::Direction| {
            let cable = self.plan.cables[direction.cable as usize];
            let tells = core_trims && direction.peer.0 >= self.fabric.hosts();
            let mut policies = ClassPolicy::all_of(switch, cable.link.rate, tells);
            if let Some(pausing) = paused {
                let watchdogs = pausing.watchdogs(node.0 as usize, cable);
                policies.iter_mut().zip(watchdogs).for_each(|(policy, of)| policy.watchdog = of);
            }
            policies
        };
        self.fabric.ports_of(node).iter().map(policies).collect()
    }

    /// Port `port` of `node`, without anything that only switches have.
    fn bare(&self, node: NodeId, port: usize) -> PortSettings {
        let direction = self.fabric.ports_of(node)[port];
        let cable = self.fabric.cable(direction.cable);
        let explicit = |link: &Link| {
            link.cable == direction.cable && link.from.is_none_or(|from| from == node)
        };
        PortSettings {
            rate: cable.rate,
            flight: direction.flight,
            link: direction.link,
            limit: None,
            marking: None,
            classes: self.credits().map_or(1, |of| of.class + 1),
            rules: PortRules::default(),
            wire: self.scenario.fabric.wire,
            loss: cable.loss,
            shaper: self.shaper_of(node, direction.peer).map(|shaper| shaper.bucket),
            credits: self.credits(),
            key: Stream::new(self.common.seed, u64::from(direction.link.0), Purpose::Red).key(),
            form: match () {
                () if self.options.explicit_ports => Form::Naive,
                () if self.explicit.iter().any(explicit) => Form::Queued,
                () => Form::Any,
            },
            telemetry: None,
        }
    }

    /// The last shaper that names this port.
    fn shaper_of(&self, node: NodeId, peer: NodeId) -> Option<&'a model::Shaper> {
        let [node, peer] = [node, peer].map(|n| &*self.plan.names[n.0 as usize]);
        self.scenario.fabric.shapers.iter().rev().find(|shaper| shaper.covers(node, peer))
    }

    fn credits(&self) -> Option<CreditClass> {
        self.scenario.fabric.switch.credits
    }

    fn nic(&self, host: NodeId) -> PortSettings {
        self.bare(host, 0)
    }

    /// How often the path to memory of a host is sampled, if there is one and an output needs it.
    fn memory_sampled_every(&self, host: u32) -> Option<Span> {
        let (scenario, name) = (self.scenario, &self.plan.names[host as usize]);
        scenario.host.memory_at(name)?;
        scenario.output.memory.as_ref()?.every_at(name)
    }

    /// A host's part of a path to memory, and its settings, where that is modelled.
    fn nic_side(&self, host: u32) -> Result<Option<(&'a model::Memory, NicSide)>, SimError> {
        let (scenario, name) = (self.scenario, &self.plan.names[host as usize]);
        let Some(memory) = scenario.host.memory_at(name) else { return Ok(None) };
        let key = Stream::new(self.common.seed, u64::from(host), Purpose::HostLaw).key();
        let whose = match self.agent {
            Some(agent) => {
                LawHost { agent: Some(Arc::clone(agent)), log: None, laws: &scenario.laws }
            }
            None => LawHost {
                agent: None,
                laws: &scenario.laws,
                log: self.law_logs.and_then(|(logged, logs)| host_tap(logged, logs, name)),
            },
        };
        let mut side = NicSide::new(memory, scenario.output.warmup, key, whose)?;
        if let Some(above) = self.pausing.and_then(|pausing| pausing.nic_threshold(host as usize)) {
            let classes = self.pausing.and_then(|pausing| pausing.classes());
            side.pause_above(above, classes.unwrap_or(u8::MAX));
        }
        Ok(Some((memory, side)))
    }

    fn switch(&self, node: NodeId, routes: Routes) -> SwitchSettings {
        let switch = &self.scenario.fabric.switch;
        let count = self.fabric.ports_of(node).len();
        // A pause may stop one port and free room taken by packets of any, so all queues are explicit.
        let classes = self.classes(node);
        let explicit = self.has_pause(node, false) || self.has_pause(node, true);
        let explicit = explicit || (!classes.is_empty() && switch.classes <= 1);
        let least = if explicit { Form::Queued } else { Form::Any };
        let formed = |port: PortSettings| PortSettings { form: port.form.max(least), ..port };
        let ports = (0..count).map(|p| formed(self.switch_port(node, p))).collect();
        let ingress = self.ingress(node);
        let name = &self.plan.names[node.0 as usize];
        let queues = self.scenario.output.queues.as_ref();
        let queues = queues.filter(|q| q.nodes.iter().any(|pattern| plan::matches(pattern, name)));
        let samples = queues.map(|queues| ((0..count as u16).collect(), queues.every));
        let shared = switch.shared_buffer().filter(|_| ingress.is_none());
        let shared = shared.map(|pool| SharedBuffer::from(&pool));
        SwitchSettings { routes, ports, shared, ingress, classes, samples }
    }

    fn switch_port(&self, node: NodeId, port: usize) -> PortSettings {
        let bare = self.bare(node, port);
        let name = &self.plan.names[node.0 as usize];
        let cable = self.plan.cables[self.fabric.ports_of(node)[port].cable as usize];
        let own_limit = |o: &&model::Override| {
            o.port_limit.is_some() && plan::covers_port(&o.place, self.plan, cable, name)
        };
        let limit =
            self.scenario.fabric.overrides.iter().rev().find(own_limit).and_then(|o| o.port_limit);
        let shaped = self.shaper_of(node, self.fabric.ports_of(node)[port].peer);
        let limit = shaped.and_then(|shaper| shaper.limit).or(limit);
        PortSettings {
            form: if self.taps.watches(node, port) { Form::Naive } else { bare.form },
            telemetry: self.common.telemetry,
            ..bare.at_switch(&self.scenario.fabric.switch, limit)
        }
    }
}

/// Where each node belongs: pods in a three-tier fat tree, racks elsewhere, nowhere for what joins them.
fn places(fabric: &Fabric, plan: &Plan, topology: &Topology, hosts: &Hosts) -> Vec<u32> {
    let clos = topology.clos().filter(|clos| clos.pods > 1);
    let pod_size = clos.map_or(1, |clos| clos.edges);
    let mut places = vec![u32::MAX; plan.names.len()];
    for (host, rack) in hosts.racks.iter().enumerate() {
        places[host] = rack / pod_size;
        places[fabric.tors()[*rack as usize].0 as usize] = rack / pod_size;
    }
    if let Some(clos) = clos {
        let first_agg = fabric.hosts() + clos.pods * clos.edges;
        for agg in 0..clos.pods * clos.aggs {
            places[(first_agg + agg) as usize] = agg / clos.aggs;
        }
    }
    places
}
