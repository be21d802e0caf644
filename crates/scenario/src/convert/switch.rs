//! What switches do beyond forwarding: buffers and marks.

use super::Judge;
use crate::model::{
    EcnMarking, MarkAt, NotEct, QueueLength, Release, SharedBuffer, Switch, Topology, Transport,
};
use crate::quantity::Length;
use crate::raw;
use forebay_units::{BitsPerSec, Bytes, Span};

/// DCTCP's step, for each 10 Gb/s: the convention of the public HPCC simulator. Also the least, since the DCTCP
/// paper (SIGCOMM 2010) takes as much, 20 packets, at 1 Gb/s.
const ECN_K_PER_10G: u64 = 30_000;
/// Buffer of a switch in the evaluation of HPCC (SIGCOMM 2019).
const BUFFER: Bytes = Bytes::new(32_000_000);
/// Choudhury and Hahne's threshold with its usual factor for lossy traffic.
const ALPHA: f64 = 1.0;

/// Marks of each class.
type ClassEcn = [Option<EcnMarking>; 8];

impl Judge<'_> {
    /// All of `[fabric.switch]`.
    pub(super) fn switch(
        &mut self,
        switch: Option<&raw::Switch>,
        topology: Option<&Topology>,
        transport: &Transport,
    ) -> Switch {
        let default = raw::Switch::default();
        let s = switch.unwrap_or(&default);
        let latency = s.latency.map_or(Span::ZERO, |l| l.0);
        self.delay("fabric.switch.latency", latency);
        let packet = transport.mss.saturating_add(transport.header);
        let mut port_limit = s.port_limit.map(|l| l.0);
        self.holds_a_packet("fabric.switch.port_limit", port_limit, packet);
        let pool = match &s.buffer {
            Some(raw::Buffer::Pool(pool)) => Some(pool),
            _ => None,
        };
        let shared_buffer = match &s.buffer {
            None if port_limit.is_some() => None,
            None => Some(SharedBuffer { size: BUFFER, alpha: Some(ALPHA) }),
            Some(raw::Buffer::Word(_)) => None,
            Some(raw::Buffer::Pool(pool)) => self.pool(pool, packet),
        };
        if let Some(pool) = pool
            && pool.policy == Some(raw::Policy::Static)
        {
            if port_limit.is_some() {
                self.wrong(
                    "fabric.switch.port_limit",
                    "and the policy \"static\" both limit a port; write one of them",
                );
            }
            let share = Bytes::new(pool.size.0.get() / topology.map_or(1, Topology::most_ports));
            port_limit = Some(QueueLength::Bytes(share));
            self.holds_a_packet("fabric.switch.buffer.size", port_limit, packet);
        }
        let classes = s.classes.unwrap_or(1) as u8;
        let (ecn, class_ecn) = self.ecn(s.ecn.as_ref(), classes);
        let weights = self.weights(s.weights.as_deref(), classes);
        Switch {
            latency,
            shared_buffer,
            port_limit,
            ecn,
            class_ecn,
            classes,
            weights,
            release: s.release.unwrap_or(Release::Fluid),
            pause: self.pause_settings("fabric.switch.pause", s.pause.as_ref()),
        }
    }

    fn holds_a_packet(&mut self, path: &str, limit: Option<QueueLength>, packet: Bytes) {
        let short = match limit {
            Some(QueueLength::Bytes(bytes)) => bytes < packet,
            Some(QueueLength::Packets(n)) => n == 0,
            None => false,
        };
        if let Some(limit) = limit
            && short
        {
            let text = format!(
                "\"{}\" holds no packet of {packet}, so nothing would pass; write more",
                limit
            );
            self.say(path, text);
        }
    }

    fn pool(&mut self, pool: &raw::Pool, packet: Bytes) -> Option<SharedBuffer> {
        self.holds_a_packet(
            "fabric.switch.buffer.size",
            Some(QueueLength::Bytes(pool.size.0)),
            packet,
        );
        let policy = pool.policy.unwrap_or(raw::Policy::DynamicThreshold);
        let path = "fabric.switch.buffer.alpha";
        match pool.alpha {
            Some(_) if policy != raw::Policy::DynamicThreshold => {
                self.wrong(path, "means nothing here; it belongs to policy \"dynamic-threshold\"");
            }
            Some(alpha) if alpha <= 0.0 || alpha > 1e6 => {
                self.wrong(path, "is out of range; write a number above 0, for instance 1");
            }
            _ => {}
        }
        match policy {
            raw::Policy::DynamicThreshold => {
                Some(SharedBuffer { size: pool.size.0, alpha: Some(pool.alpha.unwrap_or(ALPHA)) })
            }
            raw::Policy::Shared => Some(SharedBuffer { size: pool.size.0, alpha: None }),
            raw::Policy::Static => None,
        }
    }

    /// Marks by the queue of a port, and by those of classes.
    fn ecn(&mut self, ecn: Option<&raw::Ecn>, classes: u8) -> (Option<EcnMarking>, ClassEcn) {
        let path = "fabric.switch.ecn";
        let mut by_class = [None; 8];
        let of_port = match ecn {
            Some(raw::Ecn::Word(raw::NoEcn::Off)) => None,
            Some(raw::Ecn::Marking(marking)) => Some(self.marking(path, Some(marking))),
            Some(raw::Ecn::ByClass(list)) => {
                for (i, one) in list.iter().enumerate() {
                    let path = format!("{path}[{i}]");
                    let marking = self.marking(&path, Some(&one.marking));
                    self.mark_classes(&format!("{path}.classes"), one, marking, &mut by_class);
                    let highest = one.classes.iter().max().copied().unwrap_or(0) as u8;
                    self.class_exists(&format!("{path}.classes"), highest, classes);
                }
                None
            }
            None => Some(self.marking(path, None)),
        };
        (of_port, by_class)
    }

    /// Weights by class; 0 where none is given.
    fn weights(&mut self, list: Option<&[raw::ClassWeight]>, classes: u8) -> [u8; 8] {
        let path = "fabric.switch.weights";
        let mut weights = [0; 8];
        for (i, one) in list.into_iter().flatten().enumerate() {
            let class = &format!("{path}[{i}].class");
            self.class_exists(class, (one.class & 7) as u8, classes);
            let place = &mut weights[(one.class & 7) as usize];
            if *place > 0 {
                self.say(class, format!("{} has a weight already; write it once", one.class));
            }
            *place = one.weight as u8;
        }
        if list.is_some_and(|list| list.len() < 2) {
            let text = "is of fewer than two classes, which share with nobody; write two or more, or leave it out";
            self.say(path, text);
        }
        weights
    }

    fn mark_classes(
        &mut self,
        path: &str,
        one: &raw::ClassMarking,
        marking: EcnMarking,
        by_class: &mut ClassEcn,
    ) {
        if one.classes.is_empty() {
            self.say(path, "marks nothing; write the classes to mark, for instance [3]");
        }
        for class in &one.classes {
            let place = &mut by_class[(class & 7) as usize];
            if place.is_some() {
                self.say(path, format!("marks class {class} a second time; write it once"));
            }
            *place = Some(marking);
        }
    }

    fn marking(&mut self, path: &str, m: Option<&raw::Marking>) -> EcnMarking {
        let step = |k| (k, k);
        let default_k = || QueueLength::Bytes(Bytes::new(ECN_K_PER_10G));
        let length = |l: Option<Length>| l.map(|l| l.0);
        let (k, min, max) =
            m.map_or((None, None, None), |m| (length(m.k), length(m.kmin), length(m.kmax)));
        let (kmin, kmax) = match (k, min, max) {
            (None, None, None) => step(default_k()),
            (Some(k), None, None) => step(k),
            (None, Some(kmin), Some(kmax)) => (kmin, kmax),
            (Some(_), _, _) => {
                self.wrong(
                    &format!("{path}.k"),
                    "is a step, kmin and kmax are a ramp; write one or the other",
                );
                step(default_k())
            }
            _ => {
                self.say(path, "has half a ramp; write kmin and kmax, or k alone for a step");
                step(default_k())
            }
        };
        let ordered = match (kmin, kmax) {
            (QueueLength::Bytes(a), QueueLength::Bytes(b)) => a <= b,
            (QueueLength::Packets(a), QueueLength::Packets(b)) => a <= b,
            _ => {
                self.wrong(
                    &format!("{path}.kmax"),
                    "and kmin are not both bytes or both packets; write both in one of them",
                );
                true
            }
        };
        if !ordered {
            self.say(
                &format!("{path}.kmax"),
                format!("\"{}\" is less than kmin, \"{}\"; a ramp goes up", kmax, kmin),
            );
        }
        let given = m.and_then(|m| m.for_rate.as_ref()).map(|rate| rate.0);
        let for_rate = match (k, min, max) {
            (None, None, None) => given.or(Some(BitsPerSec::from_gbps(10))),
            _ => given,
        };
        if for_rate.is_some_and(|rate| rate.get() == 0) {
            self.wrong(&format!("{path}.for_rate"), "is no rate; write for instance \"10Gbps\"");
        }
        let pmax = m.and_then(|m| m.pmax).unwrap_or(1.0);
        self.share(&format!("{path}.pmax"), pmax);
        EcnMarking {
            kmin,
            kmax,
            pmax,
            for_rate,
            at: m.and_then(|m| m.at).unwrap_or(MarkAt::Enqueue),
            not_ect: m.and_then(|m| m.not_ect).unwrap_or(NotEct::Pass),
        }
    }
}
