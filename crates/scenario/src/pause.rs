//! Which ingress ports pause, what each keeps of the buffer, and whether that is enough to lose nothing.

mod bounds;
mod fits;

pub(crate) use fits::check;

use crate::fabric::{
    Clock, EcnMarking, Fabric, IngressAccount, Pause, PauseSettings, ShortHeadroom, Threshold,
    Watchdog, WireSettings,
};
use crate::plan::{Plan, PlannedCable, covers_port};
use crate::quantity::{Measure, QueueLength};
use crate::scenario::Scenario;
use crate::transport::Transport;
use forebay_laws::flow::{Echo, FlowParams};
use forebay_units::{Bytes, Span};

/// A MAC control frame (IEEE 802.3 Annex 31B).
const FRAME: u64 = 64;
/// Factor of the dynamic threshold at the rate of a host: the public HPCC simulator's.
const ALPHA: f64 = 0.125;

/// What the ingress ports of one switch keep for themselves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BufferDemand {
    pub node: usize,
    pub ports: u64,
    pub headroom: Bytes,
    pub kept: Bytes,   // headroom and reserves
    pub dynamic: bool, // some threshold follows the free pool
}

/// An ingress port whose headroom is less than what may arrive.
#[derive(Clone, Debug)]
pub(crate) struct Shortage {
    /// The ingress port, for people.
    pub place: String,
    pub given: Bytes,
    pub needed: Bytes,
    /// The class of the account; `None`: there is one for all.
    pub class: Option<u8>,
    /// Whether the scenario accepts that.
    pub allowed: bool,
    /// The override that says so; `None`: the settings of all switches.
    pub by_override: Option<usize>,
}

/// Pause in one scenario.
#[derive(Clone, Copy, Debug)]
pub struct PauseSetup<'a> {
    scenario: &'a Scenario,
    plan: &'a Plan,
}

impl<'a> PauseSetup<'a> {
    /// `None`: nothing pauses anywhere.
    pub fn of(scenario: &'a Scenario, plan: &'a Plan) -> Option<Self> {
        scenario.fabric.pauses().next().map(|_| Self { scenario, plan })
    }

    /// The settings of the ingress port of switch `node` from `cable`, and the override that they come from.
    fn settings(&self, node: usize, cable: PlannedCable) -> (Option<&'a Pause>, Option<usize>) {
        let Fabric { overrides, switch, .. } = &self.scenario.fabric;
        let name = &self.plan.names[node];
        let own = overrides.iter().enumerate().rev();
        let mut own = own.filter_map(|(i, o)| Some((i, &o.place, o.pause.as_ref()?)));
        match own.find(|(_, place, _)| covers_port(place, self.plan, cable, name)) {
            Some((i, _, pause)) => (pause.on(), Some(i)),
            None => (switch.pause.on(), None),
        }
    }

    /// Classes that are paused one by one, a bit each; `None`: all together. The same everywhere.
    pub fn classes(&self) -> Option<u8> {
        self.scenario.fabric.pauses().next().and_then(Pause::classes)
    }

    /// Classes with accounts of their own, of which none is dropped; one account for all has no class.
    fn lanes(&self) -> impl Iterator<Item = Option<u8>> + use<> {
        let classes = self.classes();
        let all = classes.is_none().then_some(None);
        let each = (0..8).filter(move |class| classes.is_some_and(|of| of & 1 << class != 0));
        all.into_iter().chain(each.map(Some))
    }

    /// What the port of switch `node` to `cable` does about each class that stays stopped.
    pub fn watchdogs(&self, node: usize, cable: PlannedCable) -> [Option<Watchdog>; 8] {
        let pause = self.settings(node, cable).0;
        core::array::from_fn(|class| pause?.of(class as u8)?.watchdog)
    }

    /// Whether the node at this end of a cable pauses the one at the other end: an ingress port of a switch, or the NIC of a host
    /// whose path to memory may be full.
    pub fn pauses_peer(&self, node: usize, cable: PlannedCable) -> bool {
        self.pauses(node, cable) || self.nic_threshold(node).is_some()
    }

    /// What the buffer of a host's NIC holds when it pauses its switch.
    pub fn nic_threshold(&self, node: usize) -> Option<Bytes> {
        let name = self.plan.names.get(node).filter(|_| !self.is_switch(node))?;
        self.scenario.host.memory_at(name)?.pause_above
    }

    fn is_switch(&self, node: usize) -> bool {
        node >= self.plan.hosts
    }

    /// Whether the switch at this end of a cable pauses the node at the other end.
    pub fn pauses(&self, node: usize, cable: PlannedCable) -> bool {
        self.is_switch(node) && self.settings(node, cable).0.is_some()
    }

    /// The largest packet on the wire, overhead included; a frame may be larger.
    fn packet(&self) -> u64 {
        let size = self.scenario.largest_packet();
        size.get().max(FRAME) + self.scenario.fabric.wire.overhead.get()
    }

    /// Bytes that may have to go to headroom: what arrives from the peer after the packet that crosses the threshold, and
    /// that packet.
    ///
    /// `rate * (2 delay + latencies) + frame + 3 packets`: the frame waits for a packet in transmission here, flies, and
    /// lets the peer finish the packet it has just begun, while a cable full of packets is on its way. Source: the standard's
    /// terms (802.1Qbb Annex), where the response time of the peer is here its ingress latency: a modelled port acts as
    /// soon as it has the frame. The packet that crosses is ours to add, since it is charged to headroom whole.
    pub fn headroom(&self, cable: PlannedCable) -> Bytes {
        let latency = self.scenario.fabric.switch.latency;
        let peers = u64::from(self.is_switch(cable.a as usize))
            + u64::from(self.is_switch(cable.b as usize));
        let away: Span = cable.link.delay * 2 + latency * peers;
        let flying = self.quickened(cable, cable.link.rate.bytes_in(away).get() + 1); // a part of a byte is one
        let frame = FRAME + self.scenario.fabric.wire.overhead.get();
        Bytes::new(flying + frame + 3 * self.packet())
    }

    /// What a cable carries while it should carry `bytes`. With a clock of whole nanoseconds, rounded down, a packet of `n` to
    /// `n + 1` ns takes `n`, which matters most for the smallest.
    fn quickened(&self, cable: PlannedCable, bytes: u64) -> u64 {
        let WireSettings { clock, overhead, .. } = &self.scenario.fabric.wire;
        let least = |t: &Transport| t.ack_size.get().min(t.header.get() + 1);
        let packets = self.scenario.all_transports().map(least);
        let smallest = packets.fold(FRAME, u64::min) + overhead.get();
        let ns = cable.link.rate.time_for(Bytes::new(smallest)).as_ps() / 1_000;
        match clock {
            Clock::Exact => bytes,
            Clock::TruncateNs => bytes.saturating_mul(ns.max(1) + 1) / ns.max(1) + 1,
        }
    }

    /// The account of a class at the ingress port of switch `node` from `cable`, or that of all classes, which has no class.
    pub fn ingress(&self, node: usize, cable: PlannedCable, class: Option<u8>) -> IngressAccount {
        let hosts = self.scenario.fabric.host_link.rate.get().max(1);
        let faster = (cable.link.rate.get() / hosts).max(1).ilog2();
        let by_rate = ALPHA * f64::from(1u32 << faster.min(16));
        let pause = self.settings(node, cable).0;
        match pause.and_then(|pause| pause.of(class.unwrap_or(0))) {
            Some(p) => {
                p.account((cable.link.rate, cable.link.delay), || self.headroom(cable), by_rate)
            }
            None => IngressAccount::lossy(self.lossy_alpha()),
        }
    }

    /// The factor of what drops: that of the buffer.
    pub fn lossy_alpha(&self) -> f64 {
        let pool = self.scenario.fabric.switch.shared_buffer();
        pool.and_then(|pool| pool.alpha).unwrap_or(f64::from(1u32 << 16))
    }

    /// What each switch that pauses keeps for its ingress ports, in canonical order.
    pub(crate) fn needs(&self) -> Vec<BufferDemand> {
        let mut all = vec![BufferDemand::default(); self.plan.names.len()];
        for cable in &self.plan.cables {
            for node in [cable.a as usize, cable.b as usize] {
                if !self.pauses(node, *cable) {
                    continue;
                }
                let need = &mut all[node];
                need.node = node;
                need.ports += 1;
                for class in self.lanes() {
                    let ingress = self.ingress(node, *cable, class);
                    let headroom = ingress.headroom.unwrap_or(Bytes::ZERO);
                    need.headroom = need.headroom.saturating_add(headroom);
                    need.kept = need.kept.saturating_add(headroom).saturating_add(ingress.reserved);
                    need.dynamic |= matches!(ingress.xoff, Threshold::Dynamic(_));
                }
            }
        }
        all.retain(|need| need.ports > 0);
        all
    }

    /// In-ports whose headroom is less than what may arrive, each with the class that is worst off: not allowed rather than allowed, then
    /// the least.
    pub(crate) fn shortages(&self) -> Vec<Shortage> {
        let ends = |c: &PlannedCable| [(c.a as usize, *c), (c.b as usize, *c)];
        let short = |(node, cable): (usize, PlannedCable)| {
            let pause = self.settings(node, cable).0.filter(|_| self.is_switch(node))?;
            let needed = self.headroom(cable);
            let of = |(class, settings): (Option<u8>, &PauseSettings)| {
                let given = self.ingress(node, cable, class).headroom?;
                (given < needed).then_some((
                    settings.short_headroom == ShortHeadroom::Warn,
                    given,
                    class,
                ))
            };
            let (allowed, given, class) = pause.accounts().filter_map(of).min()?;
            let (name, cable_name) = (&self.plan.names[node], self.plan.cable_name(cable));
            let first = pause.accounts().next()?.1;
            let of_class = class.filter(|_| pause.accounts().any(|(_, other)| other != first));
            let of_class = of_class.map_or(String::new(), |class| format!(" in class {class}"));
            Some(Shortage {
                place: format!("{name} on cable {cable_name}{of_class}"),
                given,
                needed,
                class,
                allowed,
                by_override: self.settings(node, cable).1,
            })
        };
        self.plan.cables.iter().flat_map(ends).filter_map(short).collect()
    }

    /// What a user should know before the run: headroom that may be too little, marks that come after pauses, classes that
    /// are lossless without need.
    pub fn warnings(&self) -> Vec<String> {
        [self.short(), self.late_marks(), self.unused_classes()].into_iter().flatten().collect()
    }

    fn short(&self) -> Option<String> {
        let all = self.shortages();
        let first = all.first()?;
        let more = match all.len() - 1 {
            0 => String::new(),
            n => format!(" and at {n} more ingress ports"),
        };
        Some(format!(
            "pause: the headroom of {} at {}{more} is less than the {} that may arrive after a pause; packets may be lost",
            first.given.text(),
            first.place,
            first.needed.text(),
        ))
    }

    /// Marks that begin at a queue at which the only ingress port that feeds it has been paused already.
    fn late_marks(&self) -> Option<String> {
        let switch = &self.scenario.fabric.switch;
        let heeds = |law: FlowParams| law.needs().echo != Echo::None;
        let mut laws = self.scenario.all_transports().map(|transport| &transport.law);
        if !laws.any(|law| self.scenario.laws.flow(law).is_ok_and(heeds)) {
            return None;
        }
        let rules: Vec<_> = self.lanes().flat_map(|lane| self.rules(lane)).collect();
        for need in self.needs() {
            let pool = switch.shared_buffer().map(|buffer| buffer.size)?.saturating_sub(need.kept);
            for cable in &self.plan.cables {
                let node = need.node;
                let here = cable.a as usize == node || cable.b as usize == node;
                if !here || !self.pauses(node, *cable) {
                    continue;
                }
                let late = |(lane, rule): &(Option<u8>, EcnMarking)| {
                    let own = self.ingress(node, *cable, *lane);
                    let pauses_at = match own.xoff {
                        Threshold::Fixed(bytes) => bytes,
                        Threshold::Dynamic(alpha) => bounds::share(pool, alpha, 1),
                    };
                    let pauses_at = pauses_at.saturating_add(own.reserved);
                    let marks_at = self.bytes(rule.thresholds(cable.link.rate).0);
                    (marks_at >= pauses_at).then_some((
                        self.bytes(rule.kmin),
                        marks_at,
                        pauses_at,
                        own,
                    ))
                };
                let late = rules.iter().filter_map(late).max_by_key(|late| late.0);
                let Some((_, marks_at, pauses_at, own)) = late else { continue };
                let accounts = need.ports * self.lanes().count() as u64;
                let safe = match own.xoff {
                    Threshold::Fixed(bytes) => bounds::each(bytes, need.ports),
                    Threshold::Dynamic(alpha) => bounds::marks_first(pool, accounts, alpha),
                };
                return Some(format!(
                    "pause: marks begin at a queue of {}, but {} pauses cable {} when {} of its packets wait, so senders are paused before they are marked; below {} marks come first under any load",
                    marks_at.text(),
                    self.plan.names[node],
                    self.plan.cable_name(*cable),
                    pauses_at.text(),
                    safe.text(),
                ));
            }
        }
        None
    }

    /// By which packets on an account are marked.
    fn rules(&self, lane: Option<u8>) -> impl Iterator<Item = (Option<u8>, EcnMarking)> + use<> {
        let switch = &self.scenario.fabric.switch;
        let own = switch.class_ecn().into_iter().enumerate();
        let own = own.filter(move |(class, _)| lane.is_none_or(|lane| usize::from(lane) == *class));
        let all = switch.ecn.of_port().into_iter().chain(own.filter_map(|(_, rule)| rule));
        all.map(move |rule| (lane, rule))
    }

    fn bytes(&self, length: QueueLength) -> Bytes {
        match length {
            QueueLength::Bytes(bytes) => bytes,
            QueueLength::Packets(n) => Bytes::new(u64::from(n) * self.packet()),
        }
    }

    fn unused_classes(&self) -> Option<String> {
        let classes = self.classes()?;
        let used = |class: u8| classes & 1 << class != 0;
        let entries = self.scenario.traffic.iter().filter_map(|entry| entry.class);
        let transports = self.scenario.all_transports().flat_map(|t| [t.class, t.ack_class]);
        if entries.chain(transports).any(used) {
            return None;
        }
        let first = classes.trailing_zeros();
        Some(format!(
            "pause: no traffic is in a class that pauses; write transport.class = {first} for data that must not be dropped"
        ))
    }
}
