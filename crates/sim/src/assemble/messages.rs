//! What receiver-driven transports take from fabric and flows: the window of a round trip, and the classes of messages by their sizes.

use super::base_rtt;
use crate::host::Profile;
use forebay_laws::Laws;
use forebay_net::Fabric;
use forebay_scenario::cdf::Cdf;
use forebay_scenario::model::{Scenario, Traffic, TrafficKind, Transport};
use forebay_scenario::workload::FlowSpec;
use forebay_transport::Config;
use forebay_transport::granted::GrantedConfig;
use forebay_units::Bytes;
use std::sync::Arc;

/// Fills in windows that the scenario leaves out, and cutoffs of classes. They are of the fabric as it was laid out, whatever fails later.
pub(crate) fn fill(
    profiles: &mut [Profile],
    scenario: &Scenario,
    fabric: &Fabric,
    flows: &[FlowSpec],
) {
    for (profile, entry) in profiles.iter_mut().zip(&scenario.traffic) {
        let transport = scenario.transport_of(entry);
        let Some(keys) =
            transport.receiver_driven().filter(|_| has_window(&scenario.laws, transport))
        else {
            continue;
        };
        let window = keys.window.is_none().then(|| round_trip(profile, scenario, fabric));
        let cfg = match &mut profile.transport {
            Config::Granted(cfg) => Arc::make_mut(cfg),
            Config::Credited(cfg) => {
                let cfg = Arc::make_mut(cfg);
                cfg.unscheduled = window.unwrap_or(cfg.unscheduled);
                continue;
            }
            _ => continue,
        };
        cfg.window = window.unwrap_or(cfg.window);
        cfg.tail = cfg.law.facts().tail_boost.bytes(cfg.window);
        if keys.priorities > 1 {
            let its = |entry: &Traffic| std::ptr::eq(scenario.transport_of(entry), transport);
            let its_flow = |flow: &&FlowSpec| its(&scenario.traffic[usize::from(flow.traffic)]);
            let sizes = flows.iter().filter(its_flow).map(|flow| flow.size.get());
            let known = sizes.filter(|size| (1..u64::MAX).contains(size));
            let rpcs = scenario.traffic.iter().filter(|entry| its(entry)).flat_map(rpc_sizes);
            let collectives = scenario.traffic.iter().filter(|entry| its(entry));
            levels(cfg, known.chain(rpcs).chain(collectives.flat_map(messages)).collect());
        }
    }
}

/// Sizes of an entry's requests and responses: a fixed number of quantiles of each, since the number of RPCs is unknown.
fn rpc_sizes(entry: &Traffic) -> Vec<u64> {
    const QUANTILES: u32 = 1_000;
    let TrafficKind::Rpc(rpc) = &entry.kind else { return Vec::new() };
    let middle = |n: u32| (f64::from(n) + 0.5) / f64::from(QUANTILES);
    let of =
        |sizes: &Cdf| (0..QUANTILES).map(|n| sizes.sample(middle(n)).get()).collect::<Vec<_>>();
    [Some(&rpc.request), rpc.response.as_ref()].into_iter().flatten().flat_map(of).collect()
}

/// Sizes of the messages of an entry of collectives: the largest one of each group counts for all of them. A message that is split over connections
/// is one on each.
fn messages(entry: &Traffic) -> Vec<u64> {
    let TrafficKind::Collective(collective) = &entry.kind else { return Vec::new() };
    collective.largest_writes().map(Bytes::get).collect()
}

/// Whether something of a transport's messages leaves unasked.
fn has_window(laws: &Laws, transport: &Transport) -> bool {
    let protects = transport.receiver_driven().is_some_and(|keys| keys.selective_drop);
    protects || transport.grant_needs(laws).is_some()
}

/// Payload that the fastest link of a host carries in the longest round trip, in whole packets.
fn round_trip(profile: &Profile, scenario: &Scenario, fabric: &Fabric) -> Bytes {
    let trip = base_rtt::longest(std::slice::from_ref(profile), scenario, fabric);
    let cfg = &profile.transport;
    let packet = cfg.mss() + cfg.header() + scenario.fabric.wire.overhead;
    cfg.mss() * trip.as_ps().div_ceil(fastest_host(fabric, packet))
}

/// Says so if a window that the scenario names is less than a round trip carries.
pub(crate) fn short_window(
    profiles: &[Profile],
    scenario: &Scenario,
    fabric: &Fabric,
) -> Option<String> {
    profiles.iter().zip(&scenario.traffic).find_map(|(profile, entry)| {
        let transport = scenario.transport_of(entry);
        let keys = transport.receiver_driven().filter(|_| has_window(&scenario.laws, transport))?;
        let window = keys.window?.payload(transport.mss);
        let usual = round_trip(profile, scenario, fabric);
        let one_packet = Bytes::new(transport.mss.get() - 1);
        (window.saturating_add(one_packet) < usual).then(|| {
            format!(
                "a window of {window} is less than a round trip carries, {usual}, so senders wait behind it even on an empty fabric; leave window out, or write more"
            )
        })
    })
}

/// Time that a packet takes on the fastest link of a host, in ps.
fn fastest_host(fabric: &Fabric, packet: Bytes) -> u64 {
    let rates = (0..fabric.hosts()).map(|host| {
        let direction = fabric.ports_of(forebay_engine::NodeId(host))[0];
        fabric.cable(direction.cable).rate
    });
    rates.max().map_or(1, |rate| rate.time_for(packet).as_ps().max(1))
}

/// Divides classes between granted data and what leaves unasked by their bytes, and the latter's among messages by size so that each
/// has the same bytes. Tails that ride in these classes count as well.
///
/// Source: Homa, SIGCOMM 2018, section 3.4; tails: PlatformLab/HomaSimulation.
fn levels(cfg: &mut GrantedConfig, mut sizes: Vec<u64>) {
    let keys = &cfg.settings;
    sizes.sort_unstable();
    let unasked = |size: u64| u128::from(size.min((cfg.window + cfg.tail).get()));
    let all: u128 = sizes.iter().map(|size| u128::from(*size)).sum();
    let sum: u128 = sizes.iter().map(|size| unasked(*size)).sum();
    let by_bytes = || ((2 * u128::from(keys.priorities) * sum + all) / (2 * all).max(1)) as u8;
    let unscheduled =
        keys.unscheduled_priorities.unwrap_or_else(by_bytes).clamp(1, keys.priorities - 1);
    let mut cutoffs = keys.cutoffs.clone();
    let mut so_far = 0;
    for size in &sizes {
        so_far += unasked(*size);
        let full = |n: usize| so_far * u128::from(unscheduled) >= sum * (n as u128 + 1);
        while keys.cutoffs.is_empty()
            && cutoffs.len() + 1 < usize::from(unscheduled)
            && full(cutoffs.len())
        {
            cutoffs.push(Bytes::new(*size));
        }
    }
    cfg.priorities = keys.priorities - unscheduled;
    cfg.cutoffs = Some(cutoffs);
}

#[cfg(feature = "reference")]
#[doc(hidden)]
pub mod tests {
    use super::*;
    use forebay_laws::grant::GrantParams;
    use forebay_scenario::model::ReceiverDrivenSettings;

    fn divided(keys: &ReceiverDrivenSettings, sizes: &[u64]) -> (u8, Vec<u64>) {
        let mut cfg = GrantedConfig {
            settings: keys.clone(),
            law: GrantParams::new("homa").unwrap(),
            mss: Bytes::new(1_000),
            header: Bytes::new(64),
            ack_size: Bytes::new(64),
            overhead: Bytes::ZERO,
            window: Bytes::new(10_000),
            data_class: 0,
            ack_class: 7,
            priorities: 1,
            cutoffs: None,
            tail: Bytes::ZERO,
            scores_paths: false,
            path_numbers: 0,
        };
        levels(&mut cfg, sizes.to_vec());
        (cfg.priorities, cfg.cutoffs.unwrap().iter().map(|size| size.get()).collect())
    }

    /// Of 40,000 B, 20,000 leave unasked: ten messages of 1,000 B, and the beginning of one of 30,000. So half of the classes are for them, with
    /// 5,000 B each: two for the short messages, which all have one size, and two for the long one.
    pub fn classes_share_the_bytes_that_leave_unasked() {
        let keys = |priorities, unscheduled_priorities| ReceiverDrivenSettings {
            priorities,
            unscheduled_priorities,
            ..ReceiverDrivenSettings::default()
        };
        let sizes = [[1_000; 10].as_slice(), &[30_000]].concat();
        assert_eq!(divided(&keys(8, None), &sizes), (4, vec![1_000, 1_000, 30_000]));
        // Short messages alone: one class is left for grants, though none will come.
        assert_eq!(divided(&keys(4, None), &[500; 90]), (1, vec![500, 500]));
        assert_eq!(divided(&keys(2, None), &sizes), (1, vec![]));
        let mixed = [1_000, 2_000, 3_000, 4_000];
        assert_eq!(divided(&keys(8, Some(2)), &mixed), (6, vec![3_000]));
        let given = ReceiverDrivenSettings { cutoffs: vec![Bytes::new(7)], ..keys(8, Some(2)) };
        assert_eq!(divided(&given, &sizes), (6, vec![7]));
        assert_eq!(divided(&keys(8, None), &[]), (7, vec![]), "no message, no class");
    }
}
