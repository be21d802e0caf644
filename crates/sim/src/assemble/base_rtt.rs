//! What transports take for the round-trip time of an empty path.

use crate::host::{BaseRtt, Common, Profile};
use crate::world::ideal::{self, Hop};
use forebay_engine::NodeId;
use forebay_net::{Fabric, Paths, Routes};
use forebay_scenario::model::{self, Scenario};
use forebay_scenario::workload::FlowSpec;
use forebay_transport::Config;
use forebay_units::{Bytes, Span};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Pairs of racks looked at for the longest path; of more, those of the first racks with all others.
const MOST_PAIRS: usize = 1 << 16;

/// Fills in the base round-trip times of all profiles of queue pairs. They are of the fabric as it was laid out, whatever fails later.
pub(crate) fn fill(
    profiles: &mut [Profile],
    scenario: &Scenario,
    fabric: &Fabric,
    flows: &[FlowSpec],
) {
    let base = |entry| scenario.transport_of(entry).rdma().map(|rdma| rdma.base_rtt);
    let bases: Vec<_> = scenario.traffic.iter().map(base).collect();
    let measured = |base: &model::BaseRtt| !matches!(base, model::BaseRtt::Fixed(_));
    let routes = match bases.iter().flatten().any(measured) {
        true => Routes::all(fabric, Paths::Hash, 0, &|_| true),
        false => Vec::new(),
    };
    let mut trips = Trips {
        fabric,
        routes: &routes,
        overhead: scenario.fabric.wire.overhead.get(),
        paths: BTreeMap::new(),
    };
    for (profile, base) in profiles.iter_mut().zip(bases) {
        let cfg = &profile.transport;
        profile.base_rtt = match base {
            None => continue,
            Some(model::BaseRtt::Fixed(span)) => BaseRtt::Common(span),
            Some(model::BaseRtt::Path) => {
                BaseRtt::Each(flows.iter().map(|f| trips.between(cfg, f.src, f.dst)).collect())
            }
            Some(model::BaseRtt::Longest) => BaseRtt::Common(trips.longest(cfg)),
        };
    }
}

/// Round-trip time of each flow's handshake, on the empty fabric as it was laid out. Zero: the flow has none, or no path. Empty where no
/// transport has handshakes.
///
/// SYN and SYN-ACK are as long as an ACK and take the path of the flow's first packet and of its ACK.
/// Deviation: hosts do not delay them, neither by coalescing interrupts nor by jitter.
pub(crate) fn handshakes(
    common: &Common,
    scenario: &Scenario,
    fabric: &Fabric,
    routes: &[Routes],
) -> Arc<[Span]> {
    let shakes = |profile: &Profile| matches!(profile.transport, Config::Tcp(_));
    if !common.profiles.iter().any(shakes) {
        return Arc::default();
    }
    let overhead = scenario.fabric.wire.overhead.get();
    let measured = |(flow, spec): (u32, &FlowSpec)| {
        let profile = &common.profiles[usize::from(spec.traffic)];
        if !shakes(profile) {
            return Span::ZERO;
        }
        let size = profile.transport.ack_size() + Bytes::new(overhead);
        let there = one_way(fabric, routes, (spec.src, spec.dst), (flow, false), size);
        let back = one_way(fabric, routes, (spec.dst, spec.src), (flow, true), size);
        there.zip(back).map_or(Span::ZERO, |(there, back)| there + back)
    };
    (0u32..).zip(common.flows.iter()).map(measured).collect()
}

/// Time of a packet of `size` bytes on the path of a flow, or of its answers. `None`: there is no path.
fn one_way(
    fabric: &Fabric,
    routes: &[Routes],
    (src, dst): (u32, u32),
    (flow, reverse): (u32, bool),
    size: Bytes,
) -> Option<Span> {
    let to = fabric.addr(dst);
    let (mut at, mut time) = (NodeId(src), Span::ZERO);
    while at.0 != dst {
        let port = match fabric.is_host(at) {
            true => 0,
            false => {
                let routes = &routes[(at.0 - fabric.hosts()) as usize];
                routes.port(to.tor, to.port, flow, reverse, || 0, || None)?
            }
        };
        let direction = fabric.ports_of(at)[usize::from(port)];
        time += direction.flight + fabric.cable(direction.cable).rate.time_for(size);
        at = direction.peer;
    }
    Some(time)
}

/// The longest of any profile, on the fabric as it was laid out.
pub(crate) fn longest(profiles: &[Profile], scenario: &Scenario, fabric: &Fabric) -> Span {
    let routes = Routes::all(fabric, Paths::Hash, 0, &|_| true);
    let overhead = scenario.fabric.wire.overhead.get();
    let mut trips = Trips { fabric, routes: &routes, overhead, paths: BTreeMap::new() };
    let of_each = profiles.iter().map(|profile| trips.longest(&profile.transport));
    of_each.max().unwrap_or(Span::ZERO)
}

struct Trips<'a> {
    fabric: &'a Fabric,
    routes: &'a [Routes],
    overhead: u64,
    paths: BTreeMap<(u32, u32), Vec<Hop>>,
}

impl Trips<'_> {
    fn between(&mut self, cfg: &Config, src: u32, dst: u32) -> Span {
        let Self { fabric, routes, overhead, paths } = self;
        let mut path = |from: u32, to: u32| {
            let find = || ideal::path(fabric, routes, from, to).unwrap_or_default();
            paths.entry((from, to)).or_insert_with(find).clone()
        };
        ideal::round_trip(cfg, *overhead, &path(src, dst), &path(dst, src))
    }

    /// Between the slowest hosts of any two racks, and of one.
    fn longest(&mut self, cfg: &Config) -> Span {
        let mut of_rack: Vec<Vec<u32>> = vec![Vec::new(); self.fabric.tors().len()];
        for host in 0..self.fabric.hosts() {
            of_rack[usize::from(self.fabric.addr(host).tor)].push(host);
        }
        let cost = |host: &u32| {
            let direction = self.fabric.ports_of(NodeId(*host))[0];
            let rate = self.fabric.cable(direction.cable).rate;
            direction.flight + rate.time_for(cfg.mss() + cfg.header())
        };
        let mut slowest = Vec::with_capacity(of_rack.len());
        for rack in &mut of_rack {
            rack.sort_by_key(|host| (std::cmp::Reverse(cost(host)), *host));
            slowest.extend(rack.first().copied());
        }
        let inside: Vec<(u32, u32)> =
            of_rack.iter().filter_map(|rack| Some((*rack.first()?, *rack.get(1)?))).collect();
        let first = slowest.len().min(MOST_PAIRS / slowest.len().max(1) + 1);
        let across = slowest[..first].iter().flat_map(|a| slowest.iter().map(move |b| (*a, *b)));
        let across: Vec<(u32, u32)> = across.filter(|(a, b)| a != b).collect();
        let all = inside.into_iter().chain(across);
        all.map(|(a, b)| self.between(cfg, a, b)).max().unwrap_or(Span::ZERO)
    }
}
