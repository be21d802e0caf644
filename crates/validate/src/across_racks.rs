//! Poisson arrivals between hosts of different racks, drawn for a suite: traffic of kind `poisson` also goes within racks.

use forebay_scenario::model::{List, ListedFlow, Scenario, TrafficKind};
use forebay_scenario::plan::Plan;
use forebay_units::random::{Purpose, Stream};
use forebay_units::{Bytes, Time};
use serde::Deserialize;

/// Which hosts send and receive.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AcrossRacks {
    /// Hosts of a rack. All of them send.
    hosts: u64,
    /// How many of them receive, the first ones. The load is that of their links.
    receivers: u64,
}

impl AcrossRacks {
    /// The scenario with a list of flows in place of its first entry of kind `poisson`, whose sizes, load and end it has.
    pub fn drawn(self, scenario: &Scenario, seed: u64) -> Scenario {
        let mut scenario = scenario.clone();
        let plan = Plan::of(&scenario.fabric);
        let entry = &mut scenario.traffic[0];
        let TrafficKind::Poisson(poisson) = &entry.kind else {
            panic!("traffic[0] is no poisson; draw nothing across racks");
        };
        let all = plan.hosts as u64;
        let racks = all / self.hosts;
        let line = scenario.fabric.host_link.rate.get() as f64;
        let rate =
            poisson.load * (racks * self.receivers) as f64 * line / (8.0 * poisson.sizes.mean());
        let stream = |purpose| Stream::new(seed, 0, purpose);
        let mut gaps = stream(Purpose::Arrivals);
        let mut draws = stream(Purpose::Sizes);
        let mut pairs = stream(Purpose::Pairs);
        let until = entry.until.as_secs_f64();
        let mut flows = Vec::new();
        let mut at = 0.0;
        loop {
            at += gaps.exponential() / rate;
            if at >= until {
                break;
            }
            let from = pairs.below(all);
            let away = pairs.below((racks - 1) * self.receivers);
            let rack = (from / self.hosts + 1 + away / self.receivers) % racks;
            let to = rack * self.hosts + away % self.receivers;
            let name = |host: u64| plan.names[host as usize].clone();
            let size = Bytes::new(poisson.sizes.sample(draws.unit()).get());
            let start = Time::from_ps((at * 1e12) as u64);
            flows.push(ListedFlow::new(name(from), name(to), size, start));
        }
        let control_delay = forebay_units::Span::from_us(1);
        entry.kind = TrafficKind::List(List { flows, file: None, control_delay });
        entry.until = Time::MAX;
        scenario
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_go_to_receivers_of_other_racks_and_offer_the_load_of_their_links() {
        let text = "version = 1\nstop = { time = \"30ms\" }\n[fabric]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 8\n\
                    host_link = { rate = \"25Gbps\", delay = \"1us\" }\n[transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\n\
                    [[traffic]]\nkind = \"poisson\"\nsizes = \"64KB\"\nload = 0.5\nuntil = \"20ms\"\n";
        let scenario = forebay_scenario::text("x", text).expect("it reads").scenario;
        for receivers in [1, 8] {
            let drawn = AcrossRacks { hosts: 8, receivers }.drawn(&scenario, 1);
            let TrafficKind::List(list) = &drawn.traffic[0].kind else { panic!("it is a list") };
            let place = |name: &str| {
                let at = Plan::of(&scenario.fabric).names.iter().position(|n| n == name);
                (at.expect("a host") / 8, at.expect("a host") % 8)
            };
            for flow in &list.flows {
                let (from, to) = (place(&flow.from), place(&flow.to));
                assert!(from.0 != to.0 && to.1 < receivers as usize, "{from:?} {to:?}");
            }
            let offered = list.flows.len() as f64 * 64e3 * 8.0 / 20e-3;
            let load = offered / ((4 * receivers) as f64 * 25e9);
            assert!((load - 0.5).abs() < 0.05, "{load}");
        }
    }
}
