//! Links, path choice and overrides.

use super::Judge;
use crate::model::{Clock, DeadPort, Fabric, Link, NextHops, Override, Routing, Transport};
use crate::plan::{Place, Plan};
use crate::raw;
use forebay_units::{BitsPerSec, Bytes, Span};

/// Longest cable: a light second and more.
const LONGEST: Span = Span::from_secs(10);

impl Judge<'_> {
    /// All of `[fabric]`. `fits`: the topology can be laid out.
    pub(super) fn fabric(&mut self, f: &raw::Fabric, fits: bool, transport: &Transport) -> Fabric {
        let host_link = self.link("fabric.host_link", f.host_link);
        let mut topology = f.shape.clone();
        let alias = topology.take_link();
        if let (Some((alias, _)), Some(_)) = (alias, f.fabric_link) {
            self.wrong(
                &format!("fabric.{alias}"),
                "and fabric_link say the same thing twice; write one of them",
            );
        }
        let fabric_link = match (alias, f.fabric_link) {
            (Some((key, link)), _) => self.link(&format!("fabric.{key}"), link),
            (None, Some(link)) => self.link("fabric.fabric_link", link),
            (None, None) => host_link,
        };
        let reroute_after = f.reroute_after.map(|r| r.0);
        if let Some(span) = reroute_after {
            self.short("fabric.reroute_after", span);
        }
        let wire_overhead = f.wire_overhead.map_or(Bytes::ZERO, |b| b.0);
        if wire_overhead.get() > 1_000 {
            self.wrong("fabric.wire_overhead", "per packet is too much; Ethernet adds \"24B\"");
        }
        let switch = self.switch(f.switch.as_ref(), fits.then_some(&topology), transport);
        let hierarchical = f.switch.as_ref().and_then(|s| s.hierarchical.as_ref());
        let hierarchical = self.hierarchical(hierarchical, transport);
        let overrides = f.overrides.iter().enumerate().map(|(i, o)| self.setting(i, o)).collect();
        Fabric {
            topology,
            host_link,
            fabric_link,
            routing: f.routing.unwrap_or(Routing::Ecmp),
            // Other routing has no such list, so that routing alone can be swept.
            next_hops: match (f.routing, f.next_hops) {
                (Some(Routing::EcmpMurmur3), Some(order)) => order,
                _ => NextHops::Ascending,
            },
            reroute_after,
            paths: Vec::new(), // they need the flows, which need the rest
            dead_port: f.dead_port.unwrap_or(DeadPort::Drop),
            clock: f.clock.unwrap_or(Clock::Exact),
            switch,
            hierarchical,
            wire_overhead,
            overrides,
        }
    }

    fn setting(&mut self, i: usize, o: &raw::Override) -> Override {
        let path = format!("fabric.override[{i}]");
        if let Some(rate) = o.rate {
            self.rate(&format!("{path}.rate"), rate.0);
        }
        if let Some(delay) = o.delay {
            self.delay(&format!("{path}.delay"), delay.0);
        }
        if let Some(loss) = o.loss {
            self.share(&format!("{path}.loss"), loss);
        }
        let nothing = o.rate.is_none() && o.delay.is_none() && o.port_limit.is_none();
        if nothing && o.loss.is_none() && o.pause.is_none() {
            self.say(
                &path,
                "changes nothing; write a rate, a delay, a port_limit, a loss or pause",
            );
        }
        Override {
            place: o.place.clone(),
            rate: o.rate.map(|r| r.0),
            delay: o.delay.map(|d| d.0),
            port_limit: o.port_limit.map(|l| l.0),
            loss: o.loss,
            pause: o.pause.as_ref().map(|p| self.pause_settings(&format!("{path}.pause"), Some(p))),
        }
    }

    /// Every override must be about something.
    pub(super) fn overrides(&mut self, fabric: &Fabric, plan: &Plan) {
        for (i, o) in fabric.overrides.iter().enumerate() {
            let place = Place::parse(&o.place);
            if !plan.cables.iter().any(|c| place.covers(plan, *c)) {
                let example = plan.cables.last().map(|c| plan.cable_name(*c)).unwrap_or_default();
                let text = format!(
                    "{:?} matches no node and no cable; write for instance {:?} or {example:?}",
                    o.place, plan.names[plan.hosts]
                );
                self.say(&format!("fabric.override[{i}].where"), text);
            }
        }
    }

    pub fn rate(&mut self, path: &str, rate: BitsPerSec) {
        if rate.get() == 0 {
            self.wrong(path, "never sends; write a rate above 0 (a [[fault]] takes a cable down)");
        } else if rate > BitsPerSec::from_gbps(1_000_000) {
            self.wrong(path, "is more than 1000Tbps; write for instance \"100Gbps\"");
        }
    }

    pub fn delay(&mut self, path: &str, delay: Span) {
        if delay > LONGEST {
            self.wrong(path, format!("is longer than any cable; write at most \"{LONGEST}\""));
        }
    }

    fn link(&mut self, path: &str, link: Link) -> Link {
        self.rate(&format!("{path}.rate"), link.rate);
        self.delay(&format!("{path}.delay"), link.delay);
        link
    }
}
