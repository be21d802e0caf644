//! Flows that are followed: nodes that log what the packets of some flows do, and what their senders and receivers wait for.
//!
//! A followed node is a node with a log around it, so other runs pay nothing. The log looks after each event; it hooks into nothing.
//! A port that knows departures beforehand may be followed too: what a fault takes back never arrives, and the walk backward
//! ([`forebay_record::why`]) begins at arrivals.
//! Invariant: following changes no result, and the log depends neither on threads nor on windows.

use crate::build::Built;
use crate::host::{Common, Host};
use crate::node::AnyNode;
use crate::watch::{Watch, WatchedOut};
use forebay_engine::{Flying, LinkId, Node, NodeId, Out};
use forebay_net::{Fabric, PortFault, Recalled};
use forebay_record::FlowRow;
use forebay_record::why::{
    Ahead, Arrived, FollowedFlow, HostStages, Left, LinkOf, Log, NodeLog, PacketId, Paused,
    Received, Role, SenderEvent, Waits,
};
use forebay_scenario::model::Scenario;
use forebay_transport::{Frames, Wait};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use forebay_wire::{Flags, FlowId, Kind, Packet};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A node whose followed flows are logged.
#[derive(Clone, Debug)]
pub(crate) struct Followed {
    pub node: AnyNode,
    follow: Follow,
}

/// The flows that a simulation follows, one bit each.
#[derive(Debug)]
struct Set(Vec<u64>);

impl Set {
    fn of(flows: &[u32], count: usize) -> Self {
        let mut bits = vec![0; count.div_ceil(64)];
        flows.iter().filter(|flow| (**flow as usize) < count).for_each(|flow| {
            bits[*flow as usize / 64] |= 1 << (flow % 64);
        });
        Self(bits)
    }

    #[inline]
    fn has(&self, flow: FlowId) -> bool {
        self.0.get(flow.0 as usize / 64).is_some_and(|word| word >> (flow.0 % 64) & 1 == 1)
    }
}

/// What follows flows at one node.
#[derive(Clone, Debug)]
struct Follow {
    flows: Arc<Set>,
    ports: Vec<FollowedPort>,
    by_link: Vec<(u32, usize)>, // of an egress link its port, ascending
    overhead: u64,
    now: Time,
    since: Time,                             // from when on somebody waits, if so
    inside: BTreeMap<(u32, PacketId), Time>, // at a switch: since when
    sending: bool, // at a host: some followed flow has begun and is not sent
    senders: Vec<(u32, Option<Look>)>,
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

/// How a sender stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Look {
    pub waits: Wait,
    pub sent: u64,
    pub acked: u64,
    pub resent: u64,
    pub timeouts: u64,
    pub probes: u64,
}

/// Makes followed nodes.
pub(crate) struct Follower {
    flows: Arc<Set>,
    common: Arc<Common>,
    overhead: u64,
}

impl Follower {
    /// For these flows of a simulation.
    pub fn new(flows: &[u32], common: &Arc<Common>, scenario: &Scenario) -> Self {
        let flows = Arc::new(Set::of(flows, common.flows.len()));
        let overhead = scenario.fabric.wire_overhead.get();
        Self { flows, common: Arc::clone(common), overhead }
    }

    /// A node, followed.
    pub fn fit(&self, id: NodeId, node: AnyNode, fabric: &Fabric) -> AnyNode {
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
        let follow = Follow {
            flows: Arc::clone(&self.flows),
            ports,
            by_link,
            overhead: self.overhead,
            now: Time::ZERO,
            since: Time::ZERO,
            inside: BTreeMap::new(),
            sending: false,
            senders: mine(|spec| spec.src).filter(|_| is_host).map(|flow| (flow, None)).collect(),
            receivers: mine(|spec| spec.dst).filter(|_| is_host).map(|flow| (flow, None)).collect(),
            log: NodeLog::default(),
        };
        AnyNode::Followed(Box::new(Followed { node, follow }))
    }
}

impl Follow {
    fn id(packet: &Packet) -> PacketId {
        let kind = match packet.kind {
            Kind::Trimmed | Kind::Returned => Kind::Data.number(),
            kind => kind.number(),
        };
        PacketId { kind: kind as u8, seq: packet.seq, stamp: packet.stamp, word: packet.word }
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
    #[inline]
    fn came(&mut self, now: Time, port: u32, packet: &Packet) -> bool {
        self.now = now;
        if packet.kind == Kind::Pause {
            if let Some(port) = self.ports.get(port as usize) {
                let classes = packet.seq as u8;
                self.log.paused.push(Paused { at: now, link: port.egress.0, classes });
            }
        } else if packet.kind.is_end_to_end() && self.flows.has(packet.flow) {
            let Some(port) = self.ports.get(port as usize) else { return false };
            self.log.arrived.push(Arrived {
                flow: packet.flow.0,
                link: port.ingress.0,
                at: now,
                id: Self::id(packet),
                role: Self::role(packet),
            });
            return true;
        }
        false
    }

    /// Whether somebody waits for packets ahead, as far as is known.
    fn waits(&self) -> bool {
        self.sending || !self.inside.is_empty()
    }

    /// A followed packet enters a switch, where it may wait.
    fn enters(&mut self, now: Time, packet: &Packet) {
        if !self.waits() {
            self.since = now;
        }
        self.inside.insert((packet.flow.0, Self::id(packet)), now);
    }

    /// Notes a packet that leaves, and logs what nobody can be ahead of any more, where somebody waited for it.
    fn passes(&mut self, port: usize, end: Time, flow: u32) {
        let waits = self.waits();
        let Self { ports, log, now, since, .. } = self;
        let port = &mut ports[port];
        while let Some((end, flow)) = port.recent.front().copied().filter(|(end, _)| end <= now) {
            port.recent.pop_front();
            if waits && end > *since && end > port.logged {
                port.logged = end;
                log.ahead.push(Ahead { flow, link: port.egress.0, end });
            }
        }
        port.recent.push_back((end, flow));
    }

    fn left(&mut self, port: usize, end: Time, packet: &Packet) {
        let (flow, id) = (packet.flow.0, Self::id(packet));
        let came = self.inside.remove(&(flow, id)).unwrap_or(self.since);
        let port = &mut self.ports[port];
        let link = port.egress;
        let tx = port.rate.time_for(Bytes::new(packet.on_wire(self.overhead)));
        let waited = came.max(port.logged);
        let (new, own) =
            (port.recent.partition_point(|one| one.0 <= waited), port.recent.len() - 1);
        for &(end, flow) in port.recent.range(new.min(own)..own) {
            self.log.ahead.push(Ahead { flow, link: link.0, end });
            port.logged = end;
        }
        self.log.left.push(Left {
            flow,
            link: link.0,
            end,
            tx,
            id,
            role: Self::role(packet),
            class: packet.class,
            resent: packet.flags.has(Flags::RETRANSMIT),
        });
    }

    /// Logs what an event has changed at the followed flows of a host.
    fn look(&mut self, now: Time, node: &AnyNode) {
        if self.senders.is_empty() && self.receivers.is_empty() {
            return;
        }
        let Some(host) = node.host() else { return };
        let log = &mut self.log;
        for (flow, last) in &mut self.senders {
            let look = host.look_at_sender(*flow);
            if look == *last {
                continue;
            }
            if let (Some(before), Some(after)) = (*last, look) {
                log.senders.push(SenderEvent {
                    flow: *flow,
                    at: now,
                    before: waits(before.waits),
                    after: waits(after.waits),
                    sent: after.sent,
                    resent: after.resent,
                    timeout: after.timeouts > before.timeouts,
                    probe: after.probes > before.probes,
                });
            }
            *last = look;
        }
        let sending = self.senders.iter().any(|(_, look)| look.is_some());
        if sending && !self.sending {
            self.since = now;
        }
        self.sending = sending;
        self.senders.retain(|(flow, last)| last.is_some() || !host.is_sent(*flow));
        for (flow, last) in &mut self.receivers {
            let upto = host.look_at_receiver(*flow);
            let all = upto.is_none() && host.is_received(*flow);
            if upto != *last || all {
                let upto = upto.unwrap_or(u64::MAX);
                log.receivers.push(Received { flow: *flow, at: now, upto });
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
    fn sent(&mut self, link: LinkId, at: Time, packet: &Packet) {
        if !packet.kind.is_end_to_end() {
            return;
        }
        let Ok(i) = self.by_link.binary_search_by_key(&link.0, |one| one.0) else { return };
        let port = self.by_link[i].1;
        self.passes(port, at, packet.flow.0);
        if self.flows.has(packet.flow) {
            self.left(port, at, packet);
        }
    }
}

impl Followed {
    pub fn arrive(&mut self, now: Time, port: u32, packet: &mut Packet, out: &mut dyn Out<Packet>) {
        let Self { node, follow } = self;
        let entered = follow.came(now, port, packet) && node.host().is_none();
        let dropped = if entered { Self::dropped(node) } else { 0 };
        let key = (packet.flow.0, Follow::id(packet));
        if entered {
            follow.enters(now, packet);
        }
        node.arrive(now, port, packet, &mut WatchedOut { out, watch: follow });
        if entered && Self::dropped(node) > dropped {
            follow.inside.remove(&key);
        }
        follow.look(now, node);
    }

    /// Packets that a switch has not let in.
    fn dropped(node: &AnyNode) -> u64 {
        node.ports().iter().map(|port| port.counters().refused()).sum()
    }

    pub fn timer(&mut self, now: Time, out: &mut dyn Out<Packet>) {
        let Self { node, follow } = self;
        follow.now = now;
        node.timer(now, &mut WatchedOut { out, watch: follow });
        follow.look(now, node);
    }

    pub fn depart(&mut self, now: Time, out: &mut dyn Out<Packet>) {
        let Self { node, follow } = self;
        follow.now = now;
        node.depart(now, &mut WatchedOut { out, watch: follow });
    }

    pub fn fault(
        &mut self,
        now: Time,
        port: usize,
        change: PortFault,
        flying: Vec<Flying<Packet>>,
    ) -> Recalled {
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

/// Gathers the log of a simulation from its nodes, about the flows of `rows` that are complete.
pub(crate) fn gather(built: &Built, nodes: &mut [AnyNode], rows: &[FlowRow]) -> Log {
    let of = |node: &mut AnyNode| match node {
        AnyNode::Followed(one) => {
            (Some(Arc::clone(&one.follow.flows)), std::mem::take(&mut one.follow.log))
        }
        _ => (None, NodeLog::default()),
    };
    let mut logs: Vec<_> = nodes.iter_mut().map(of).collect();
    let flows = logs.iter_mut().find_map(|(flows, _)| flows.take());
    let stages = |host: u32, copies: bool| {
        nodes[host as usize].host().map_or_else(HostStages::default, |host| host.stages(copies))
    };
    let row = |row: &FlowRow| {
        let done = row.delivered?;
        let followed = flows.as_ref()?.has(FlowId(row.flow)) && !row.is_endless();
        let cfg = &built.common.profiles[usize::from(row.traffic)].transport;
        followed.then(|| FollowedFlow {
            flow: row.flow,
            src: row.src,
            dst: row.dst,
            size: row.size.get(),
            start: row.start,
            done,
            ideal: row.ideal,
            on_credit: cfg.frames() == Frames::Message,
            queued_in_nic: nodes[row.src as usize].host().is_some_and(Host::queues_in_nic),
            host: [stages(row.src, cfg.copies()), stages(row.dst, cfg.copies())],
        })
    };
    Log {
        nodes: logs.into_iter().map(|(_, log)| log).collect(),
        links: links(&built.fabric),
        names: built.plan.names.clone(),
        flows: rows.iter().filter_map(row).collect(),
    }
}

/// All links of cables, from port to port; links of control lead from nowhere to nowhere.
fn links(fabric: &Fabric) -> Vec<LinkOf> {
    let nowhere = LinkOf { from: u32::MAX, to: u32::MAX, flight: Span::ZERO };
    let mut links = vec![nowhere; fabric.links().len()];
    for node in 0..fabric.nodes() {
        for direction in fabric.ports_of(NodeId(node)) {
            let (to, flight) = (direction.peer.0, direction.flight);
            links[direction.link.0 as usize] = LinkOf { from: node, to, flight };
        }
    }
    links
}
