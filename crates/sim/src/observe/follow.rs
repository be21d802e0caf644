//! Flows that are followed: nodes that log what the packets of some flows do, and what their senders and receivers wait for.
//!
//! A followed node is a node with a log around it, so other runs pay nothing. The log looks after each event; it hooks into nothing.
//! Events that no followed packet has part in go straight to the node. Who stands ahead of a followed packet is read off the link when
//! that packet leaves at once, since the link holds all that is still to be sent; where the packet stays, what the node sends is noted
//! until it has left. Where a link leads to another thread, or may lose packets, all that the node sends is noted.
//! A port that knows departures beforehand may be followed too: what a fault takes back never arrives, and the walk backward
//! ([`forebay_record::why`]) begins at arrivals.
//! Invariant: following changes no result, and the log depends neither on threads nor on windows.

use super::watch::{Watch, WatchedOut};
use crate::host::{Common, SenderLook};
use crate::world::InnerNode;
use forebay_engine::{Emitter, InFlight, LinkId, Node, NodeId};
use forebay_net::{Fabric, LinkLeftovers, Port, PortFault};
use forebay_record::why::{
    HostStages, NodeArrival, NodeDeparture, NodeLog, OvertakenBy, PacketId, PauseFrame,
    ReceiverChange, Role, SenderEvent, SwitchArrival, Waits,
};
use forebay_scenario::model::Scenario;
use forebay_scenario::plan::Plan;
use forebay_transport::Wait;
use forebay_units::{BitsPerSec, Bytes, Time};
use forebay_wire::{Ecn, Flags, FlowId, Kind, Packet};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::marker::PhantomData;
use std::sync::Arc;

/// A node whose followed flows are logged.
#[derive(Clone, Debug)]
pub(crate) struct FollowedNode<N> {
    pub node: N,
    follow: Follow,
}

/// The flows that a simulation follows, one bit each.
#[derive(Debug)]
pub(super) struct Set(Vec<u64>);

impl Set {
    fn of(flows: &[u32], count: usize) -> Self {
        let mut bits = vec![0; count.div_ceil(64)];
        flows.iter().filter(|flow| (**flow as usize) < count).for_each(|flow| {
            bits[*flow as usize / 64] |= 1 << (flow % 64);
        });
        Self(bits)
    }

    #[inline]
    pub fn has(&self, flow: FlowId) -> bool {
        self.0.get(flow.0 as usize / 64).is_some_and(|word| word >> (flow.0 % 64) & 1 == 1)
    }
}

/// What follows flows at one node.
#[derive(Clone, Debug)]
pub(crate) struct Follow {
    flows: Arc<Set>,
    ports: Vec<FollowedPort>,
    by_link: Vec<(u32, usize)>, // of an egress link its port, ascending
    overhead: u64,
    is_host: bool,
    details: bool,        // the queues that packets find are logged
    climbs: bool,         // at a host: what arrives may wait for its stack
    faulty: bool,         // some link of its own may lose packets
    fifo: bool,           // at a switch: what a port takes goes to its link at once
    always: Option<bool>, // whether all that it sends is noted, once that is known
    notes: bool,          // what it sends
    busy: bool,           // every event may matter
    now: Time,
    since: Time,                       // from when on a followed packet waits, if so
    waited: bool,                      // a followed packet, before this event
    entering: Option<(u32, PacketId)>, // at a switch: the packet that arrives
    inside: BTreeMap<(u32, PacketId), VecDeque<Time>>, // at a switch: since when, of each of several alike
    sending: bool, // at a host: some followed flow has begun and is not sent
    senders: Vec<(u32, Option<SenderLook>)>,
    receivers: Vec<(u32, Option<u64>)>,
    log: NodeLog,
}

/// A port of a node.
#[derive(Clone, Debug)]
struct FollowedPort {
    egress: LinkId,
    ingress: LinkId,
    rate: BitsPerSec,
    recent: VecDeque<(Time, u32)>, // ends of transmissions that the log may need, and whose
    logged: Time,                  // ends until then are in the log
}

/// Makes followed nodes.
pub(crate) struct Follower {
    flows: Arc<Set>,
    common: Arc<Common>,
    overhead: u64,
    details: bool,
    faulty: BTreeSet<u32>, // nodes at the ends of links that have faults or lose packets at random
}

impl Follower {
    /// For these flows of a simulation; with `details`, the queues that their packets find are logged too.
    pub fn new(
        (flows, details): (&[u32], bool),
        common: &Arc<Common>,
        scenario: &Scenario,
        plan: &Plan,
    ) -> Self {
        let flows = Arc::new(Set::of(flows, common.flows.len()));
        let overhead = scenario.fabric.wire.overhead.get();
        let of_faults = scenario.faults.iter().filter_map(|fault| plan.link(&fault.link));
        let lossy = plan.cables.iter().filter(|cable| cable.loss > 0.0);
        let cables = of_faults.map(|(cable, _)| cable).chain(lossy.copied());
        let faulty = cables.flat_map(|cable| [cable.a, cable.b]).collect();
        Self { flows, common: Arc::clone(common), overhead, details, faulty }
    }

    /// What follows flows at a node; nothing, if it is a host of other flows.
    pub fn follow(&self, id: NodeId, node: &mut impl InnerNode, fabric: &Fabric) -> Option<Follow> {
        let ports = fabric.ports_of(id).iter().enumerate().map(|(p, direction)| FollowedPort {
            egress: direction.link,
            ingress: fabric.in_link(id, p),
            rate: fabric.cable(direction.cable).rate,
            recent: VecDeque::new(),
            logged: Time::ZERO,
        });
        let ports: Vec<FollowedPort> = ports.collect();
        let mut by_link: Vec<(u32, usize)> =
            ports.iter().map(|port| port.egress.0).zip(0..).collect();
        by_link.sort_unstable();
        let mine = |host: fn(&forebay_scenario::workload::FlowSpec) -> u32| {
            let all = (0u32..).zip(self.common.flows.iter());
            let here =
                all.filter(move |(flow, spec)| host(spec) == id.0 && self.flows.has(FlowId(*flow)));
            here.map(|(flow, _)| flow)
        };
        let is_host = fabric.is_host(id);
        let senders: Vec<_> =
            mine(|spec| spec.src).filter(|_| is_host).map(|flow| (flow, None)).collect();
        let receivers: Vec<_> =
            mine(|spec| spec.dst).filter(|_| is_host).map(|flow| (flow, None)).collect();
        if is_host && senders.is_empty() && receivers.is_empty() {
            return None;
        }
        let faulty = self.faulty.contains(&id.0);
        let fifo = !faulty && node.ports().iter().all(Port::is_fifo);
        let HostStages { ring, memory } = match node.host() {
            Some(host) => host.stages(true),
            None => HostStages::default(),
        };
        if let Some(host) = node.host_mut() {
            host.note_landings();
        }
        Some(Follow {
            flows: Arc::clone(&self.flows),
            ports,
            by_link,
            overhead: self.overhead,
            is_host,
            details: self.details,
            climbs: ring || memory || fabric.home(id) != id,
            faulty,
            fifo,
            always: None,
            notes: false,
            busy: true, // until the first event
            now: Time::ZERO,
            since: Time::ZERO,
            waited: false,
            entering: None,
            inside: BTreeMap::new(),
            sending: false,
            senders,
            receivers,
            log: NodeLog::default(),
        })
    }
}

impl Follow {
    fn id(packet: &Packet) -> PacketId {
        let kind = match packet.kind {
            Kind::Trimmed | Kind::Returned => Kind::Data.number(),
            kind => kind.number(),
        };
        let seq = if packet.kind == Kind::Ack { packet.acknowledged() } else { packet.seq };
        PacketId { kind: kind as u8, seq, stamp: packet.stamp, word: packet.word }
    }

    /// Flow and message, which is 0 where the flow is no stream of messages.
    fn key(packet: &Packet) -> (u32, u32) {
        (packet.flow.0, packet.message().map_or(0, |message| message.number))
    }

    fn role(packet: &Packet) -> Role {
        match packet.kind {
            Kind::Data | Kind::Trimmed | Kind::Want => Role::Data,
            Kind::Ack => Role::Ack,
            Kind::Nack | Kind::Returned => Role::Nack,
            Kind::Grant if packet.flags.has(Flags::RESEND) => Role::Request,
            Kind::Grant => Role::Credit,
            _ => Role::Other,
        }
    }

    /// Logs a packet that comes, and says whether it is one of a followed flow.
    fn came(&mut self, now: Time, port: u32, packet: &Packet) -> bool {
        if packet.kind == Kind::Pause {
            self.fifo = false;
            if let Some(port) = self.ports.get(port as usize) {
                let classes = packet.seq as u8;
                self.log.paused.push(PauseFrame { at: now, link: port.egress.0, classes });
            }
        } else if packet.kind.is_end_to_end() && self.flows.has(packet.flow) {
            let Some(port) = self.ports.get(port as usize) else { return false };
            self.log.packets.entry(Self::key(packet)).arrived.push(NodeArrival {
                link: port.ingress.0,
                at: now,
                id: Self::id(packet),
                role: Self::role(packet),
                ce: packet.ecn == Ecn::Ce,
            });
            return true;
        }
        false
    }

    /// Whether a followed packet waits for packets ahead, as far as is known.
    fn waits(&self) -> bool {
        self.sending || !self.inside.is_empty()
    }

    /// Whether the arrival of a packet matters to no followed flow.
    #[inline]
    fn ignores(&self, packet: &Packet) -> bool {
        !self.busy && packet.kind != Kind::Pause && !self.flows.has(packet.flow)
    }

    /// Before an event.
    fn begins(&mut self, now: Time, out: &dyn Emitter<Packet>) {
        self.now = now;
        if self.always.is_none() {
            let local = |port: &FollowedPort| out.flying(port.egress, Time::MAX, &mut |_, _| {});
            let always = self.faulty || !self.ports.iter().all(local);
            (self.always, self.notes) = (Some(always), always);
        }
    }

    /// After an event: whether to note what is sent from now on.
    fn ends(&mut self, out: &dyn Emitter<Packet>) {
        let (waits, always) = (self.waits(), self.always == Some(true));
        if waits && !self.waited {
            self.since = self.now;
        }
        self.waited = waits;
        if waits && !self.notes {
            for port in &mut self.ports {
                let recent = &mut port.recent;
                out.flying(port.egress, self.now, &mut |end, packet| {
                    recent.extend(packet.kind.is_end_to_end().then_some((end, packet.flow.0)));
                });
            }
        } else if !waits && self.notes && !always {
            self.ports.iter_mut().for_each(|port| port.recent.clear());
        }
        self.notes = waits || always;
        // At a receiving host, what waits in its NIC may leave as another flow's packet comes, and credit for one flow as one of another does.
        self.busy = self.notes || !self.receivers.is_empty() || !self.senders.is_empty();
    }

    /// Notes a packet that leaves, and logs packets that can no longer be ahead of another, if a followed packet waited for them.
    fn passes(&mut self, port: usize, end: Time, flow: u32) {
        let waits = self.waits();
        let Self { ports, log, now, since, .. } = self;
        let port = &mut ports[port];
        while let Some((end, flow)) = port.recent.front().copied().filter(|(end, _)| end <= now) {
            port.recent.pop_front();
            if waits && end > *since && end > port.logged {
                port.logged = end;
                log.ahead.entry(port.egress.0).push(OvertakenBy { end, flow });
            }
        }
        port.recent.push_back((end, flow));
    }

    /// A packet leaves a switch; the answer is when it had come. Of packets alike, as repeated ACKs are, the first one leaves first.
    fn leaves(&mut self, key: &(u32, PacketId)) -> Option<Time> {
        let alike = self.inside.get_mut(key)?;
        let came = alike.pop_front();
        if alike.is_empty() {
            self.inside.remove(key);
        }
        came
    }

    fn left(&mut self, port: usize, end: Time, packet: &Packet, out: &dyn Emitter<Packet>) {
        let key = (packet.flow.0, Self::id(packet));
        let came = match self.entering.take_if(|entering| *entering == key) {
            Some(_) => Some(self.now),
            None => self.leaves(&key).or(self.sending.then_some(self.since)),
        };
        let port = &mut self.ports[port];
        let link = port.egress;
        if let Some(came) = came {
            let waited = came.max(port.logged);
            let ahead = self.log.ahead.entry(link.0);
            let mut log = |end, flow| {
                ahead.push(OvertakenBy { end, flow });
                port.logged = end;
            };
            if self.notes {
                let own = port.recent.len() - 1;
                let new = port.recent.partition_point(|one| one.0 <= waited).min(own);
                port.recent.range(new..own).for_each(|&(end, flow)| log(end, flow));
            } else {
                out.flying(link, waited, &mut |end, packet| {
                    if packet.kind.is_end_to_end() {
                        log(end, packet.flow.0);
                    }
                });
            }
        }
        self.log.packets.entry(Self::key(packet)).left.entry(link.0).push(NodeDeparture {
            link: link.0,
            end,
            tx: port.rate.time_for(Bytes::new(packet.on_wire(self.overhead))),
            id: key.1,
            role: Self::role(packet),
            class: packet.class,
            resent: packet.flags.has(Flags::RETRANSMIT),
            ce: packet.ecn == Ecn::Ce,
            payload: matches!(packet.kind, Kind::Data | Kind::Trimmed | Kind::Returned),
            trimmed: matches!(packet.kind, Kind::Trimmed | Kind::Returned),
            size: packet.size,
        });
    }

    /// Logs what a packet found that has just come to a switch, whose queues were `before` it.
    fn finds(&mut self, (flow, id): (u32, PacketId), before: &[(u64, u64)], node: &impl InnerNode) {
        let all = || self.ports.iter().zip(before);
        let queues = all().map(|(port, (queue, _))| (port.egress.0, *queue)).collect();
        let refused =
            |((_, (_, refused)), port): &((&FollowedPort, &(u64, u64)), &forebay_net::Port)| {
                port.counters().refused() > *refused
            };
        let dropped = all().zip(node.ports()).find(refused).map(|((port, _), _)| port.egress.0);
        self.log.found.push(SwitchArrival { flow, id, at: self.now, queues, dropped });
    }

    /// Logs what an event has changed at the followed flows of a host.
    fn look(&mut self, now: Time, node: &mut impl InnerNode) {
        if self.senders.is_empty() && self.receivers.is_empty() {
            return;
        }
        if self.climbs
            && let Some(host) = node.host_mut()
        {
            let landings = host.take_landings().into_iter();
            let flows = &self.flows;
            self.log.landings.extend(landings.filter(|one| flows.has(FlowId(one.flow))));
        }
        let Some(host) = node.host() else { return };
        let log = &mut self.log;
        for (flow, last) in &mut self.senders {
            let look = host.look_at_sender(*flow);
            if look == *last {
                continue;
            }
            // A stream may begin with its first write; a flow begins before anything is done about it.
            let fresh = look.filter(|look| look.is_stream).map(|look| SenderLook {
                waits: Wait::Application,
                resent: 0,
                timeouts: 0,
                probes: 0,
                ..look
            });
            if let (Some(before), Some(after)) = (last.or(fresh), look) {
                log.senders.push(SenderEvent {
                    flow: *flow,
                    at: now,
                    before: waits(before.waits),
                    after: waits(after.waits),
                    sent: after.sent,
                    written: after.written,
                    message: after.message,
                    resent: after.resent,
                    timeout: after.timeouts > before.timeouts,
                    probe: after.probes > before.probes,
                });
            }
            *last = look;
        }
        self.sending = self.senders.iter().any(|(_, look)| look.is_some());
        self.senders.retain(|(flow, last)| last.is_some() || !host.is_sent(*flow));
        for (flow, last) in &mut self.receivers {
            let upto = host.look_at_receiver(*flow);
            let all = upto.is_none() && host.is_received(*flow);
            if upto != *last || all {
                let upto = upto.unwrap_or(u64::MAX);
                log.receivers.push(ReceiverChange { flow: *flow, at: now, upto });
            }
            *last = upto;
        }
        self.receivers.retain(|(flow, last)| last.is_some() || !host.is_received(*flow));
    }
}

fn waits(wait: Wait) -> Waits {
    match wait {
        Wait::Application => Waits::Application,
        Wait::Congestion => Waits::Congestion,
        Wait::Receiver => Waits::Receiver,
        Wait::Pacing => Waits::Pacing,
        Wait::Nic | Wait::Pause => Waits::Nic,
    }
}

/// Lost packets are seen too, so that a repair finds the copy that was lost.
impl Watch for Follow {
    fn sent(&mut self, link: LinkId, at: Time, packet: &Packet, out: &dyn Emitter<Packet>) {
        let followed = self.flows.has(packet.flow);
        if !(self.notes || followed) || !packet.kind.is_end_to_end() {
            return;
        }
        let Ok(i) = self.by_link.binary_search_by_key(&link.0, |one| one.0) else { return };
        let port = self.by_link[i].1;
        if self.notes {
            self.passes(port, at, packet.flow.0);
        }
        if followed {
            self.left(port, at, packet, out);
        }
    }
}

/// A kind of node that may be followed, among the kinds that `N` has.
pub(crate) trait KindOf<N>: Node<Item = Packet> {
    /// A followed node as what it is.
    fn of(node: &N) -> &Self;

    /// A followed node as what it is, mutable.
    fn of_mut(node: &mut N) -> &mut Self;
}

impl<N: Node<Item = Packet>> KindOf<N> for N {
    fn of(node: &N) -> &Self {
        node
    }

    fn of_mut(node: &mut N) -> &mut Self {
        node
    }
}

/// A followed node of one kind, so that events that are not noted take the way of this kind.
pub(crate) struct FollowedKind<'a, N, K> {
    one: &'a mut FollowedNode<N>,
    kind: PhantomData<fn() -> K>,
}

impl<N: InnerNode, K: KindOf<N>> Node for FollowedKind<'_, N, K> {
    type Item = Packet;

    #[inline]
    fn next_timer(&self) -> Time {
        K::of(&self.one.node).next_timer()
    }

    #[inline]
    fn next_departure(&self) -> Time {
        K::of(&self.one.node).next_departure()
    }

    #[inline(always)]
    fn arrive<O: Emitter<Packet>>(
        &mut self,
        now: Time,
        port: u32,
        packet: &mut Packet,
        out: &mut O,
    ) {
        match self.one.follow.ignores(packet) {
            true => K::of_mut(&mut self.one.node).arrive(now, port, packet, out),
            false => self.one.arrive_noted(now, port, packet, out),
        }
    }

    #[inline]
    fn timer<O: Emitter<Packet>>(&mut self, now: Time, out: &mut O) {
        match self.one.follow.busy {
            true => self.one.timer_noted(now, out),
            false => K::of_mut(&mut self.one.node).timer(now, out),
        }
    }

    #[inline]
    fn depart<O: Emitter<Packet>>(&mut self, now: Time, out: &mut O) {
        match self.one.follow.busy {
            true => self.one.depart_noted(now, out),
            false => K::of_mut(&mut self.one.node).depart(now, out),
        }
    }
}

impl<N: InnerNode> FollowedNode<N> {
    /// A node with what follows flows at it.
    pub fn new(node: N, follow: Follow) -> Self {
        Self { node, follow }
    }

    /// This node as what it is.
    pub fn known_as<K: KindOf<N>>(&mut self) -> FollowedKind<'_, N, K> {
        FollowedKind { one: self, kind: PhantomData }
    }

    /// The flows that are followed, and the log, which is empty from then on.
    pub(super) fn take_log(&mut self) -> (Arc<Set>, NodeLog) {
        (Arc::clone(&self.follow.flows), std::mem::take(&mut self.follow.log))
    }

    pub fn arrive<O: Emitter<Packet>>(
        &mut self,
        now: Time,
        port: u32,
        packet: &mut Packet,
        out: &mut O,
    ) {
        self.known_as::<N>().arrive(now, port, packet, out);
    }

    pub fn timer<O: Emitter<Packet>>(&mut self, now: Time, out: &mut O) {
        self.known_as::<N>().timer(now, out);
    }

    pub fn depart<O: Emitter<Packet>>(&mut self, now: Time, out: &mut O) {
        self.known_as::<N>().depart(now, out);
    }

    #[cold]
    #[inline(never)]
    fn arrive_noted(
        &mut self,
        now: Time,
        port: u32,
        packet: &mut Packet,
        out: &mut dyn Emitter<Packet>,
    ) {
        let Self { node, follow } = self;
        follow.begins(now, out);
        let entered = follow.came(now, port, packet) && !follow.is_host;
        let key = (packet.flow.0, Follow::id(packet));
        let found = (entered && follow.details).then(|| {
            if node.next_departure() <= now {
                node.depart(now, &mut WatchedOut { out, watch: follow });
            }
            Self::queues(node, now)
        });
        // What a port that takes or refuses at once did not send, it has refused.
        let stays = entered && !follow.fifo;
        let refused = if stays { Self::refused(node) } else { 0 };
        follow.entering = entered.then_some(key);
        node.arrive(now, port, packet, &mut WatchedOut { out, watch: follow });
        if let Some(before) = found {
            follow.finds(key, &before, node);
        }
        if follow.entering.take().is_some() && stays && Self::refused(node) == refused {
            follow.inside.entry(key).or_default().push_back(now);
        }
        follow.look(now, node);
        follow.ends(out);
    }

    /// Of each port its queue, and how many packets it has refused.
    fn queues(node: &N, now: Time) -> Vec<(u64, u64)> {
        node.ports().iter().map(|port| (port.queue(now), port.counters().refused())).collect()
    }

    /// Packets that a switch has not let in.
    fn refused(node: &N) -> u64 {
        node.ports().iter().map(|port| port.counters().refused()).sum()
    }

    fn timer_noted(&mut self, now: Time, out: &mut dyn Emitter<Packet>) {
        let Self { node, follow } = self;
        follow.begins(now, out);
        node.timer(now, &mut WatchedOut { out, watch: follow });
        follow.look(now, node);
        follow.ends(out);
    }

    fn depart_noted(&mut self, now: Time, out: &mut dyn Emitter<Packet>) {
        let Self { node, follow } = self;
        follow.begins(now, out);
        node.depart(now, &mut WatchedOut { out, watch: follow });
        follow.ends(out);
    }

    pub fn fault(
        &mut self,
        now: Time,
        port: usize,
        change: PortFault,
        flying: Vec<InFlight<Packet>>,
    ) -> LinkLeftovers {
        let recalled = self.node.fault(now, port, change, flying);
        for (port, of) in self.follow.ports.iter_mut().zip(self.node.ports()) {
            port.rate = of.settings().rate;
            // What was taken back leaves anew.
            port.recent.clear();
        }
        self.follow.inside.clear();
        recalled
    }
}
