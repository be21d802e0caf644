//! From the settings of a fabric whose racks queue by destination to what one rack's switch is made from.

use super::base_rtt;
use crate::host::{PAUSED_FOR, Profile, ResumeRequests};
use crate::law::law;
use crate::options::SimError;
use forebay_engine::NodeId;
use forebay_laws::group::GroupStart;
use forebay_net::{CreditSettings, Fabric, Peer, TorSettings, VoqSettings};
use forebay_scenario::model::{Hierarchical, QueueFor, Scenario};
use forebay_units::Span;
use forebay_units::random::{Purpose, Stream};

/// On the wire a credit, rate or request message takes a least frame with preamble and gap.
const WORD: u16 = 84;

/// What racks that queue by destination share.
pub(crate) struct Racks<'a> {
    scenario: &'a Scenario,
    fabric: &'a Fabric,
    hierarchical: &'a Hierarchical,
    round_trip: Span,
    seed: u64,
}

impl<'a> Racks<'a> {
    /// `None`: the scenario has none.
    pub fn new(
        scenario: &'a Scenario,
        fabric: &'a Fabric,
        profiles: &[Profile],
        seed: u64,
    ) -> Option<Self> {
        let hierarchical = scenario.fabric.switch.hierarchical.as_ref()?;
        let longest = || base_rtt::longest(profiles, scenario, fabric);
        let round_trip = hierarchical.round_trip.unwrap_or_else(longest);
        Some(Self { scenario, fabric, hierarchical, round_trip, seed })
    }

    /// What the switch `node` queues by destination with; `None`: it has no hosts.
    pub fn rack(&self, node: NodeId) -> Result<Option<TorSettings>, SimError> {
        let Self { scenario, fabric, hierarchical: h, round_trip, seed } = *self;
        let ports = fabric.ports_of(node);
        let Some(first) = ports.iter().find(|d| d.peer.0 < fabric.hosts()) else { return Ok(None) };
        let own = fabric.addr(first.peer.0).tor;
        let credits = |d: &forebay_net::Direction| {
            let rate = fabric.cable(d.cable).rate;
            (d.peer.0 < fabric.hosts()).then(|| CreditSettings::of(h, rate, round_trip))
        };
        let there_and_back = || {
            let up: Span = fabric.ports_of(first.peer).iter().map(|d| d.flight).sum();
            first.flight + up
        };
        Ok(Some(TorSettings {
            rack: own,
            hosts: ports.iter().map(credits).collect(),
            voq: VoqSettings::of(h, scenario.transport.header),
            peers: (0..fabric.tors().len() as u16).map(|rack| self.peer(own, rack)).collect(),
            law: law(&h.law, &h.params, |name| scenario.laws.group(name))?,
            at: GroupStart {
                line_rate: fabric.cable(first.cable).rate,
                hop_rtt: h.hop_rtt.unwrap_or_else(there_and_back),
                seed: Stream::new(seed, u64::from(node.0), Purpose::GroupLaw).key(),
            },
            request_timeout: h.request_timeout,
            message_size: message_size(scenario),
        }))
    }
}

impl Racks<'_> {
    /// How the hosts of `rack` are queued for in the rack `own`.
    fn peer(&self, own: u16, rack: u16) -> Peer {
        let h = self.hierarchical;
        let alone = Peer { shared: None, advance: h.advance };
        let of_pod = self.scenario.fabric.topology.clos().map_or(1, |clos| clos.edges as u16);
        match h.queue_for {
            QueueFor::Rack => Peer { shared: Some(rack), ..alone },
            QueueFor::Pod if rack / of_pod != own / of_pod => Peer {
                shared: Some(rack / of_pod * of_pod),
                advance: h.pod_advance.unwrap_or(h.advance),
            },
            QueueFor::Host | QueueFor::Pod => alone,
        }
    }
}

fn message_size(scenario: &Scenario) -> u16 {
    WORD - (scenario.fabric.wire.overhead.get() as u16).min(20)
}

/// How hosts of such racks request to resume.
pub(crate) fn resume_requests(scenario: &Scenario) -> Option<ResumeRequests> {
    let after = scenario.fabric.switch.hierarchical.as_ref()?.request_timeout * PAUSED_FOR;
    Some(ResumeRequests { after, size: message_size(scenario) })
}
