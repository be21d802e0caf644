//! One path of the file as a scenario of ours, and a run of it.
//!
//! What Linux has and how it stands here:
//! - tbf over a FIFO: a cable of that rate with 38 B of Ethernet around each packet, and a limit in packets, which as in
//!   the kernel counts the packet in transmission.
//! - RED with minimum and maximum at n packets and weight 1: a step, for a packet that finds more than n.
//! - netem's delay on the way back: half of it in each direction. A window cannot tell the difference.
//! - netem's loss before the queue: loss after it, in the direction of data.
//! - veth: cables of 100 Gb/s.
//! - Linux 6.1 at 100 Hz: `kernel` with its tick, without the GRO and interrupt coalescing of a fast NIC.
//! - Paths with a BPF object: the kernel of the machine that recorded, at 250 Hz. It has no netem, so that the queue is all of the RTT.
//! - Offloads: TCP has built super-packets for every device since Linux 4.17 and cuts them in software where the device
//!   does not, so `kernel` turns `host.tso` on throughout. `offload` in the file only says where the kernel cut them: at the sender, or
//!   not before the bottleneck.
//! - Repeats of the kernel differ by microseconds. Here they differ in seed, and in the start of the second flow.

use super::Repeat;
use crate::laid_out;
use forebay_laws::Laws;
use forebay_scenario::Loader;
use forebay_scenario::model::Scenario;
use forebay_scenario::objects::{BPF, law_of_object};
use forebay_sim::{Inspection, Options, PortState, Simulation, Watch};
use forebay_units::{Span, Time};
use serde::Deserialize;
use std::fmt::Write;

/// An entry of the file, defaults filled in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Path {
    pub id: String,
    flows: Vec<String>,
    rate_mbps: u64,
    rtt_ms: u64,
    buffer_packets: u32,
    mark_packets: Option<u32>,
    loss: Option<f64>,
    #[serde(rename = "offload")]
    _offload: bool,
    object: Option<String>,
    seconds: u64,
    from_s: u64,
    stagger_s: f64,
    pub repeats: u64,
}

/// A full packet on the wire.
const WIRE: u64 = 1_538;

/// Payload of a full packet.
const MSS: f64 = 1_448.0;

/// Objects that paths may name.
const OBJECTS: [(&str, &[u8]); 1] = [("halve.bpf.o", forebay_bpf::HALVE)];

/// Between two samples, as the kernel is sampled.
const SAMPLE: Span = Span::from_ms(50);

/// The recorded receivers take 16 MiB, half of it for headers and bookkeeping (`tcp_adv_win_scale` 1): their windows open
/// from 64 KiB to 8 MiB by two segments of 1460 B each, and Linux acknowledges at once for so long, and 16 more.
const QUICK_ACKS: u64 = (8 * 1024 * 1024 - 65_535) / (2 * 1_460) + 16;

/// By which the second flow starts later in each repeat: no multiple of a packet's time or a round trip.
const SHIFT_S: f64 = 0.007_3;

impl Path {
    /// The scenario of a repeat.
    fn text(&self, nth: u64) -> String {
        let flows = self.flows.len();
        // Each direction crosses two host cables of 1 us and the bottleneck's.
        let delay_us = (self.rtt_ms * 500).saturating_sub(2).max(1);
        let mut text = format!(
            "version = 1\nseeds = [{}]\nstop = {{ time = \"{}s\" }}\n\
             [fabric]\nkind = \"dumbbell\"\nleft = {flows}\nright = {flows}\nwire_overhead = \"38B\"\n\
             host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
             bottleneck = {{ rate = \"{}Mbps\", delay = \"{delay_us}us\" }}\n",
            nth + 1,
            self.seconds,
            self.rate_mbps,
        );
        let _ = writeln!(
            text,
            "[fabric.switch]\nbuffer = \"none\"\nport_limit = \"{} packets\"",
            self.buffer_packets
        );
        let _ = match self.mark_packets {
            Some(n) => writeln!(text, "ecn = {{ k = \"{} packets\" }}", n + 1),
            None => writeln!(text, "ecn = \"off\""),
        };
        let _ = writeln!(
            text,
            "[host]\ngro = false\nrx_usecs = \"0us\"\n\
             [transport]\nkind = \"tcp\"\nlaw = \"{}\"\nkernel = \"linux-6.1\"\ntimer_tick = \"{}\"\nquick_acks = {QUICK_ACKS}",
            self.law(&self.flows[0]),
            if self.object.is_some() { "4ms" } else { "10ms" },
        );
        if let Some(loss) = self.loss {
            let _ = writeln!(text, "[[fault]]\nat = \"0s\"\nlink = \"left->right\"\nloss = {loss}");
        }
        for (i, law) in self.flows.iter().enumerate() {
            let shift = if i == 0 { 0.0 } else { SHIFT_S * nth as f64 };
            let at_us = ((self.stagger_s + shift) * i as f64 * 1e6).round();
            let _ = writeln!(
                text,
                "[[traffic]]\nkind = \"long\"\nfrom = \"left.host[{i}]\"\nto = \"right.host[{i}]\"\n\
                 start = \"{at_us}us\"\nlaw = \"{}\"",
                self.law(law),
            );
        }
        text
    }

    /// Name of a flow's law in a scenario.
    fn law(&self, flow: &str) -> String {
        self.object.as_ref().map_or_else(|| flow.into(), |object| format!("{BPF}{object}"))
    }

    /// A repeat, as a scenario that was checked.
    fn scenario(&self, nth: u64) -> Scenario {
        let text = self.text(nth);
        let laws = match &self.object {
            None => Laws::built_in(),
            Some(object) => {
                let (_, bytes) = OBJECTS.iter().find(|(name, _)| name == object).expect("known");
                let law = law_of_object(&format!("{BPF}{object}"), bytes).expect("it loads");
                Laws::built_in().with_module(law).expect("the name is free")
            }
        };
        let scenario = match Loader::new(laws).text::<&str>(&self.id, &text, &[]) {
            Ok(loaded) => loaded.scenario,
            Err(error) => panic!("{error}\n{text}"),
        };
        laid_out::begins(&scenario);
        scenario
    }

    /// A run that has not begun.
    fn simulation<'a>(&self, of: &'a Scenario) -> Simulation<'a> {
        Simulation::new(of, of.seeds[0], Options::default())
            .unwrap_or_else(|error| panic!("{}: {error}", self.id))
    }

    /// Window in packets over the seconds of a repeat, as often as the kernel is sampled.
    pub fn windows(&self, nth: u64) -> Vec<(f64, f64)> {
        let scenario = self.scenario(nth);
        let mut simulation = self.simulation(&scenario);
        let (quiet, mut at, mut points) = (Watch::default(), Time::ZERO, Vec::new());
        while at < Time::ZERO + Span::from_secs(self.seconds) {
            simulation.advance(at, &quiet);
            let first = simulation.inspect().senders.first().map(|of| of.cwnd as f64 / MSS);
            points.extend(first.map(|cwnd| (at.as_secs_f64(), cwnd)));
            at += SAMPLE;
        }
        points
    }

    /// Runs one repeat.
    pub fn run(&self, nth: u64) -> Repeat {
        let scenario = self.scenario(nth);
        let mut simulation = self.simulation(&scenario);
        let quiet = Watch::default();
        let mut at = Time::ZERO + Span::from_secs(self.from_s);
        simulation.advance(at, &quiet);
        let first = simulation.inspect();
        let (mut rtt, mut queue, mut cwnd, mut samples) = (0.0, 0.0, 0.0, 0.0);
        let mut last = first.clone();
        while at < Time::ZERO + Span::from_secs(self.seconds) {
            rtt += mean_rtt_ms(&last);
            queue += self.bottleneck(&last).queue.div_ceil(WIRE) as f64;
            cwnd += last.senders[0].cwnd as f64 / MSS;
            samples += 1.0;
            at += SAMPLE;
            simulation.advance(at, &quiet);
            last = simulation.inspect();
        }
        let span = (self.seconds - self.from_s) as f64;
        let of_flows = first.senders.iter().zip(&last.senders);
        let before = first.senders.iter().map(|s| s.retransmits).sum::<u64>();
        let after = last.senders.iter().map(|s| s.retransmits).sum::<u64>();
        let marks = |state: &Inspection| self.bottleneck(state).counters.marked_packets;
        Repeat {
            goodput_mbps: of_flows
                .map(|(b, a)| (a.acked - b.acked) as f64 * 8.0 / span / 1e6)
                .collect(),
            rtt_ms: rtt / samples,
            queue: queue / samples,
            cwnd: cwnd / samples,
            retransmits: (after - before) as f64,
            start_retransmits: before as f64,
            marks: (marks(&last) - marks(&first)) as f64,
        }
    }

    /// The port from the left switch to the right one.
    fn bottleneck<'a>(&self, state: &'a Inspection) -> &'a PortState {
        let left = 2 * self.flows.len() as u32;
        state
            .ports
            .iter()
            .find(|p| (p.node, p.peer) == (left, left + 1))
            .expect("a dumbbell has one")
    }
}

fn mean_rtt_ms(state: &Inspection) -> f64 {
    let sum: f64 = state.senders.iter().map(|s| s.srtt.as_secs_f64() * 1e3).sum();
    sum / state.senders.len() as f64
}
