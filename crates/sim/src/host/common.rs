//! Read-only data that all hosts share.

use super::ResumeRequests;
use crate::law_log::LawTaps;
use forebay_laws::flow::FlowParams;
use forebay_net::PathCounts;
use forebay_scenario::cdf::Cdf;
use forebay_scenario::model::Rpc;
use forebay_scenario::workload::{Connection, FlowSpec};
use forebay_transport::Config;
use forebay_units::{Span, Time};
use forebay_wire::{FlowId, HostAddr, Rates};
use std::sync::Arc;

/// A transport with its law, as one traffic entry uses it.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    pub transport: Config,
    pub law: Option<FlowParams>, // of senders, where they have one
    pub base_rtt: BaseRtt,
}

/// What a transport takes for the round-trip time of an empty path.
#[derive(Clone, Debug)]
pub(crate) enum BaseRtt {
    Unknown,
    /// One time for all flows.
    Common(Span),
    /// By flow.
    Each(Arc<[Span]>),
}

impl BaseRtt {
    pub(crate) fn of(&self, flow: u32) -> Option<Span> {
        match self {
            BaseRtt::Unknown => None,
            BaseRtt::Common(span) => Some(*span),
            BaseRtt::Each(spans) => Some(spans[flow as usize]),
        }
    }
}

/// One for all of a simulation, or one for all with equal settings.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    pub flows: Arc<Vec<FlowSpec>>,
    pub numbers: Option<Arc<[u64]>>, // by flow: what random draws about it go by; none where that is its index
    pub profiles: Vec<Profile>,      // by traffic entry
    pub addrs: Vec<HostAddr>,        // by host
    pub seed: u64,
    pub first_stream: u32, // first flow that is a connection which stays open, or a stream of one
    pub connections: Arc<Vec<Connection>>,
    pub rpcs: Arc<[Option<Rpc>]>, // by traffic entry
    pub warmup: Time,
    pub telemetry: Option<Rates>, // of the ports that stamp INT records, if a law wants them
    pub resume_requests: Option<ResumeRequests>, // where switches pause flows
    pub law_taps: Option<LawTaps>, // logs of laws
    pub path_counts: PathCounts,  // where senders number the paths of packets
    pub handshakes: Arc<[Span]>, // by flow: round-trip time of its handshake, zero if it has none; empty if no flow has
}

impl Common {
    /// What an entry of kind `rpc` requests.
    pub fn rpc(&self, traffic: u16) -> &Rpc {
        self.rpcs[usize::from(traffic)].as_ref().expect("a connection belongs to such an entry")
    }

    /// Sizes of the messages of a connection's stream; none of a flow that is no such stream.
    pub fn sizes_of(&self, flow: FlowId) -> Option<&Cdf> {
        let past_first = flow.0.checked_sub(self.connections.first()?.requests)?;
        let of = self.connections.get(past_first as usize / 2)?;
        let rpc = self.rpc(of.traffic);
        if flow.0 == of.requests { Some(&rpc.request) } else { rpc.response.as_ref() }
    }

    /// Number of a flow for random draws: see [`forebay_scenario::workload::Table::number`].
    pub fn number(&self, flow: u32) -> u64 {
        self.numbers.as_ref().map_or(flow.into(), |numbers| numbers[flow as usize])
    }

    /// The stream the other way on the same connection: the two stand side by side, requests first.
    pub fn opposite(&self, stream: u32) -> u32 {
        let first = self.connections.first().map_or(0, |c| c.requests);
        first + ((stream - first) ^ 1)
    }
}
