//! `.topo` files of csg-htsim: fat trees of two or three tiers.
//!
//! Source: Broadcom/csg-htsim, `sim/datacenter/fat_tree_topology.cpp` (`load`, `set_custom_params`, `init_network`): how many switches
//! there are and what is joined to what follows from them.

use super::draft::{Cable, Draft, node_name};
use super::htsim_command::Links;
use super::words::without_mark;
use super::{Fate, Source};
use crate::Error;
use crate::quantity::Measure;
use crate::tree::shorten;
use forebay_units::{BitsPerSec, Span};

/// A tier: ToR, aggregation or core.
#[derive(Clone, Copy, Debug)]
struct Tier {
    /// Gb/s of the links below.
    speed: u64,
    radix_up: u64,
    radix_down: u64,
    /// Delay of the links below, in ns.
    latency: u64,
    switch_latency: u64,
    oversubscribed: u64,
    bundle: u64,
    line: usize,
}

impl Tier {
    const NONE: Self = Self {
        speed: 0,
        radix_up: 0,
        radix_down: 0,
        latency: 0,
        switch_latency: 0,
        oversubscribed: 1,
        bundle: 1,
        line: 0,
    };
}

/// Keys of a tier; letters may be small or large.
const TIER: [&str; 7] = [
    "Downlink_speed_Gbps",
    "Radix_Up",
    "Radix_Down",
    "Downlink_Latency_ns",
    "Switch_Latency_ns",
    "Oversubscribed",
    "Bundle",
];

/// A fat tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Topo {
    pub nodes: u64,
    tiers: usize,
    pod: u64,
    tier: [Tier; 3],
}

/// What a number of nodes gives: three tiers of k-port switches, with equal links.
pub(super) fn by_nodes(nodes: u64, links: Links, place: &str) -> Result<Topo, Error> {
    let fits = |k: &u64| k * k * k / 4 >= nodes;
    let k = (1..=200).find(fits).filter(|k| k * k * k / 4 == nodes && k % 2 == 0);
    let Some(k) = k else {
        let text = format!(
            "{nodes} nodes do not make a fat tree, which has 16, 54, 128 or another k * k * k / 4 hosts; name a .topo file too"
        );
        return Err(Error::one(place, text));
    };
    let Links { speed, latency, switch_latency } = links;
    let radix = Tier { radix_up: k / 2, radix_down: k / 2, ..Tier::NONE };
    let tier = Tier { speed, latency, switch_latency, ..radix };
    let core = Tier { radix_up: 0, radix_down: k, ..tier };
    Ok(Topo { nodes, tiers: 3, pod: k * k / 4, tier: [tier, tier, core] })
}

impl Topo {
    pub fn parse(source: Source<'_>) -> Result<Self, Error> {
        let mut topo = Self { nodes: 0, tiers: 0, pod: 0, tier: [Tier::NONE; 3] };
        let mut current = None;
        let lines = (1..).zip(without_mark(source.text).lines());
        let mut last = 1;
        for (line, text) in lines {
            last = line;
            let words: Vec<&str> = text.split_whitespace().collect();
            let Some(key) = words.first().filter(|key| !key.starts_with('#')) else { continue };
            let wrong = |what: String| Error::one(format!("{}:{line}", source.name), what);
            let Some(value) = words.get(1) else {
                return Err(wrong(format!("{0:?} has no value; write one after it", shorten(key))));
            };
            let number: u64 = value.parse().ok().filter(|n| *n <= 1 << 30).ok_or_else(|| {
                wrong(format!(
                    "{key}: {:?} is not a whole number up to 2^30; write for instance {key} 2",
                    shorten(value)
                ))
            })?;
            let key = key.to_ascii_lowercase();
            match (key.as_str(), current) {
                ("nodes", _) => topo.nodes = number,
                ("tiers", _) if number == 2 || number == 3 => topo.tiers = number as usize,
                ("tiers", _) => {
                    return Err(wrong(format!("{number} tiers are not possible; write 2 or 3")));
                }
                ("podsize", _) => topo.pod = number,
                ("tier", _) if number < 3 => {
                    current = Some(number as usize);
                    topo.tier[number as usize].line = line;
                }
                ("tier", _) => {
                    return Err(wrong(format!("tier {number} does not exist; write 0, 1 or 2")));
                }
                (_, None) => {
                    return Err(wrong(format!(
                        "{key} comes before the first tier; write Tier 0 above it"
                    )));
                }
                (key, Some(tier)) => {
                    let tier = &mut topo.tier[tier];
                    match key {
                        "downlink_speed_gbps" => tier.speed = number,
                        "radix_up" => tier.radix_up = number,
                        "radix_down" => tier.radix_down = number,
                        "downlink_latency_ns" => tier.latency = number,
                        "switch_latency_ns" => tier.switch_latency = number,
                        "oversubscribed" => tier.oversubscribed = number,
                        "bundle" => tier.bundle = number,
                        _ => {
                            let (key, known) = (shorten(key), TIER.join(", "));
                            let text =
                                format!("{key:?} is not a key of a tier; the keys are {known}");
                            return Err(wrong(text));
                        }
                    }
                }
            }
        }
        topo.check(source.name, last)?;
        Ok(topo)
    }

    fn check(&self, file: &str, last: usize) -> Result<(), Error> {
        let wrong = |line: usize, what: String| Err(Error::one(format!("{file}:{line}"), what));
        for (key, value) in
            [("Nodes", self.nodes), ("Tiers", self.tiers as u64), ("Podsize", self.pod)]
        {
            if value == 0 {
                return wrong(last, format!("the file ends without {key}; is it cut off?"));
            }
        }
        for (i, tier) in self.tier[..self.tiers].iter().enumerate() {
            let top = i + 1 == self.tiers;
            let needs = [
                ("Downlink_speed_Gbps", tier.speed),
                ("Downlink_Latency_ns", tier.latency),
                ("Radix_Down", tier.radix_down),
                ("Radix_Up", if top { 1 } else { tier.radix_up }),
                ("Oversubscribed", tier.oversubscribed),
                ("Bundle", tier.bundle),
            ];
            if let Some((key, _)) = needs.iter().find(|(_, value)| *value == 0) {
                let line = if tier.line == 0 { last } else { tier.line };
                return wrong(line, format!("tier {i} has no {key}; is the file cut off?"));
            }
        }
        if self.nodes > 1 << 20 {
            return wrong(
                1,
                format!("{} nodes are too many; at most {} are read", self.nodes, 1 << 20),
            );
        }
        Ok(())
    }

    /// Nodes and cables.
    pub fn draw(&self, draft: &mut Draft, file: &str) -> Result<(), Error> {
        let wrong = |line: usize, what: &str| Error::one(format!("{file}:{}", line.max(1)), what);
        let [tor, agg, core] = self.tier;
        let divide = |a: u64, b: u64, line: usize, what: &str| match b {
            b if b != 0 && a > 0 && a.is_multiple_of(b) => Ok(a / b),
            _ => Err(wrong(line, what)),
        };
        let pods = divide(
            self.nodes,
            self.pod,
            1,
            "Nodes is not a multiple of Podsize; change one of them",
        )?;
        let tors_of_pod = divide(
            self.pod,
            tor.radix_down,
            tor.line,
            "Podsize is not a multiple of Radix_Down of tier 0; change one of them",
        )?;
        let tor_uplinks = divide(
            self.nodes * tor.speed,
            agg.speed * tor.oversubscribed,
            tor.line,
            "tier 0 has a fraction of an uplink: nodes times its speed over Oversubscribed times the speed of tier 1; change one of them",
        )?;
        let aggs_of_pod = divide(
            tor_uplinks,
            pods * agg.radix_down,
            agg.line,
            "tier 1 has a fraction of a switch: uplinks of tier 0 over pods times Radix_Down of tier 1; change one of them",
        )?;
        if self.tiers == 2 && pods != 1 {
            return Err(wrong(
                1,
                "Podsize is not Nodes, as two tiers need; write the same number for both",
            ));
        }
        let (tors, aggs) = (tors_of_pod * pods, aggs_of_pod * pods);
        let cores = if self.tiers == 3 {
            let uplinks = divide(
                tor_uplinks * agg.speed,
                core.speed * agg.oversubscribed,
                agg.line,
                "tier 1 has a fraction of an uplink: uplinks of tier 0 times the speed of tier 1 over Oversubscribed times the speed of tier 2; change one of them",
            )?;
            divide(
                uplinks,
                core.radix_down,
                core.line,
                "tier 2 has a fraction of a switch: uplinks of tier 1 over Radix_Down of tier 2; change one of them",
            )?
        } else {
            0
        };
        let cables = tors * aggs_of_pod + aggs * agg.radix_up;
        if cables > 1 << 22 {
            return Err(wrong(1, "the fabric has more than 4194304 links; write a smaller one"));
        }
        let host = |n: u64| node_name("host", n as u32, self.nodes as u32);
        let switch = |kind: &str, n: u64, all: u64| node_name(kind, n as u32, all as u32);
        draft.hosts = (0..self.nodes).map(host).collect();
        draft.switches = (0..aggs).map(|n| switch("agg", n, aggs)).collect();
        draft.switches.extend((0..cores).map(|n| switch("core", n, cores)));
        draft.switches.extend((0..tors).map(|n| switch("tor", n, tors)));
        let mut cable = |a: String, b: String, tier: &Tier, bundle: u64| {
            let rate = BitsPerSec::from_gbps(tier.speed.saturating_mul(bundle));
            let delay = Span::from_ns(tier.latency);
            draft.cables.push(Cable { a, b, rate, delay, loss: 0.0 });
        };
        for n in 0..self.nodes {
            cable(host(n), switch("tor", n / tor.radix_down, tors), &tor, 1);
        }
        for t in 0..tors {
            let pod = t / tors_of_pod;
            for a in pod * aggs_of_pod..(pod + 1) * aggs_of_pod {
                cable(switch("tor", t, tors), switch("agg", a, aggs), &agg, agg.bundle);
            }
        }
        if self.tiers == 3 {
            for a in 0..aggs {
                for l in 0..agg.radix_up / core.bundle {
                    let c = a % aggs_of_pod + aggs_of_pod * l;
                    if c >= cores {
                        return Err(wrong(
                            agg.line,
                            "Radix_Up of tier 1 leads to more switches than tier 2 has; write a smaller one",
                        ));
                    }
                    cable(switch("agg", a, aggs), switch("core", c, cores), &core, core.bundle);
                }
            }
        }
        let text = format!(
            "{} hosts, {tors} ToR, {aggs} aggregation and {cores} core switches with their links",
            self.nodes
        );
        draft.note(format!("{file}:1"), Fate::Carried, text);
        self.explain(draft, file);
        Ok(())
    }

    fn explain(&self, draft: &mut Draft, file: &str) {
        let tiers = &self.tier[..self.tiers];
        let latency = tiers.iter().map(|t| t.switch_latency).max().unwrap_or(0);
        draft.switch.push(format!("latency = \"{}\"", Span::from_ns(latency).text()));
        for tier in tiers.iter().filter(|t| t.switch_latency != latency) {
            let text = format!(
                "Switch_Latency_ns {}: all switches have the largest, {latency} ns",
                tier.switch_latency
            );
            draft.note(format!("{file}:{}", tier.line), Fate::Changed, text);
        }
        for tier in tiers.iter().filter(|t| t.bundle > 1) {
            let text = format!(
                "Bundle {}: the links of a bundle are one link of their rates' sum",
                tier.bundle
            );
            draft.note(format!("{file}:{}", tier.line), Fate::Changed, text);
        }
    }

    /// The cable that a failure takes away: of an aggregation switch, by the number of its uplink. As `add_failed_link` counts, which
    /// is not as links are laid.
    pub fn failed(&self, draft: &Draft, switch: u64, link: u64) -> Option<usize> {
        let count =
            |kind: &str| draft.switches.iter().filter(|s| s.starts_with(kind)).count() as u64;
        let (aggs, cores) = (count("agg["), count("core["));
        let of_pod = aggs.checked_div(self.nodes.checked_div(self.pod)?)?;
        let core = switch.checked_rem(of_pod)? * of_pod + link;
        let ends = [
            node_name("agg", switch as u32, aggs as u32),
            node_name("core", u32::try_from(core).ok()?, cores as u32),
        ];
        draft.cables.iter().position(|c| [&c.a, &c.b] == [&ends[0], &ends[1]])
    }
}
