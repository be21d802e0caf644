//! Which in-ports pause, and what each keeps of the buffer.

use crate::model::{Fabric, LinkPause, Scenario, Xoff};
use crate::plan::{Plan, PlannedCable, covers_port};
use crate::quantity::Measure;
use forebay_units::{Bytes, Span};

/// A MAC control frame (IEEE 802.3 Annex 31B).
const FRAME: u64 = 64;
/// Factor of the dynamic threshold at the rate of a host: the public HPCC simulator's.
const ALPHA: f64 = 0.125;

/// The account of one in-port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ingress {
    /// Bytes of its own.
    pub reserved: Bytes,
    /// Bytes kept for what arrives after a pause; `None`: it does not pause, and drops what has no room.
    pub headroom: Option<Bytes>,
    /// Threshold of its share; never `Dynamic(None)`.
    pub xoff: Xoff,
    /// It resumes so far below that.
    pub resume_offset: Bytes,
}

/// What the in-ports of one switch keep for themselves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Need {
    pub node: usize,
    pub ports: u64,
    pub headroom: Bytes,
    pub kept: Bytes,   // headroom and reserves
    pub dynamic: bool, // some threshold follows the free pool
}

/// Pause in one scenario.
#[derive(Clone, Copy, Debug)]
pub struct Pausing<'a> {
    scenario: &'a Scenario,
    plan: &'a Plan,
}

impl<'a> Pausing<'a> {
    /// `None`: nothing pauses anywhere.
    pub fn of(scenario: &'a Scenario, plan: &'a Plan) -> Option<Self> {
        let f = &scenario.fabric;
        let any =
            f.switch.pause.is_some() || f.overrides.iter().any(|o| o.pause.flatten().is_some());
        any.then_some(Self { scenario, plan })
    }

    /// The settings of the in-port of switch `node` from `cable`.
    fn settings(&self, node: usize, cable: PlannedCable) -> Option<LinkPause> {
        let Fabric { overrides, switch, .. } = &self.scenario.fabric;
        let name = &self.plan.names[node];
        let own = overrides.iter().rev().filter(|o| o.pause.is_some());
        let mut own = own.filter(|o| covers_port(&o.place, self.plan, cable, name));
        own.next().map_or(switch.pause, |o| o.pause.flatten())
    }

    fn is_switch(&self, node: usize) -> bool {
        node >= self.plan.hosts
    }

    /// Whether the switch at this end of a cable pauses the node at the other end.
    pub fn pauses(&self, node: usize, cable: PlannedCable) -> bool {
        self.is_switch(node) && self.settings(node, cable).is_some()
    }

    /// The largest packet on the wire, overhead included.
    fn packet(&self) -> u64 {
        let t = &self.scenario.transport;
        let size = t.mss.saturating_add(t.header).max(t.ack_size);
        size.get() + self.scenario.fabric.wire_overhead.get()
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
        let flying = cable.link.rate.bytes_in(away).get() + 1; // a part of a byte is one
        let frame = FRAME + self.scenario.fabric.wire_overhead.get();
        Bytes::new(flying + frame + 3 * self.packet())
    }

    /// The account of the in-port of switch `node` from `cable`.
    pub fn ingress(&self, node: usize, cable: PlannedCable) -> Ingress {
        let hosts = self.scenario.fabric.host_link.rate.get().max(1);
        let faster = (cable.link.rate.get() / hosts).max(1).ilog2();
        let by_rate = ALPHA * f64::from(1u32 << faster.min(16));
        let threshold = |xoff| match xoff {
            Xoff::Dynamic(alpha) => Xoff::Dynamic(Some(alpha.unwrap_or(by_rate))),
            fixed => fixed,
        };
        match self.settings(node, cable) {
            Some(p) => Ingress {
                reserved: p.reserved,
                headroom: Some(p.headroom.unwrap_or_else(|| self.headroom(cable))),
                xoff: threshold(p.xoff),
                resume_offset: p.resume_offset,
            },
            None => Ingress {
                reserved: Bytes::ZERO,
                headroom: None,
                xoff: Xoff::Dynamic(Some(self.lossy_alpha())),
                resume_offset: Bytes::ZERO,
            },
        }
    }

    /// The factor of in-ports that drop: that of the buffer.
    fn lossy_alpha(&self) -> f64 {
        let pool = self.scenario.fabric.switch.shared_buffer;
        pool.and_then(|pool| pool.alpha).unwrap_or(f64::from(1u32 << 16))
    }

    /// What each switch that pauses keeps for its in-ports, in canonical order.
    pub(crate) fn needs(&self) -> Vec<Need> {
        let mut all = vec![Need::default(); self.plan.names.len()];
        for cable in &self.plan.cables {
            for node in [cable.a as usize, cable.b as usize] {
                if !self.pauses(node, *cable) {
                    continue;
                }
                let ingress = self.ingress(node, *cable);
                let headroom = ingress.headroom.unwrap_or(Bytes::ZERO);
                let need = &mut all[node];
                need.node = node;
                need.ports += 1;
                need.headroom = need.headroom.saturating_add(headroom);
                need.kept = need.kept.saturating_add(headroom).saturating_add(ingress.reserved);
                need.dynamic |= matches!(ingress.xoff, Xoff::Dynamic(_));
            }
        }
        all.retain(|need| need.ports > 0);
        all
    }

    /// A sentence if some headroom is less than what may arrive.
    pub fn warning(&self) -> Option<String> {
        let ends = |c: &PlannedCable| [(c.a as usize, *c), (c.b as usize, *c)];
        let mut short = self.plan.cables.iter().flat_map(ends).filter_map(|(node, cable)| {
            let given = self.pauses(node, cable).then(|| self.ingress(node, cable).headroom)??;
            let needed = self.headroom(cable);
            (given < needed).then_some((node, cable, given, needed))
        });
        let (node, cable, given, needed) = short.next()?;
        let more = match short.count() {
            0 => String::new(),
            n => format!(" and at {n} more in-ports"),
        };
        Some(format!(
            "pause: the headroom of {} at {} on cable {}{more} is less than the {} that may arrive after a pause; packets may be lost",
            given.text(),
            self.plan.names[node],
            self.plan.cable_name(cable),
            needed.text(),
        ))
    }
}
