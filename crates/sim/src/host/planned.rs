//! What a host does at instants known beforehand: flows that start, samples that are taken.

use super::{Host, SenderWaits};
use crate::flow_samples::FlowSamples;
use forebay_engine::Out;
use forebay_units::Time;
use forebay_wire::Packet;

impl Host {
    /// Samples of its flows, if any were asked for.
    pub fn flow_samples(&self) -> Option<&FlowSamples> {
        self.flow_samples.as_ref()
    }

    /// Looks from now on at what its senders wait for.
    pub fn with_sender_waits(&mut self, waits: Option<Box<SenderWaits>>) {
        self.sender_waits = waits;
        self.plan_next();
        self.settle_next();
    }

    /// What its senders waited for, if somebody asked.
    pub fn sender_waits(&self) -> Option<&SenderWaits> {
        self.sender_waits.as_deref()
    }

    /// Takes down when something of this is due next.
    ///
    /// Starts and samples move in [`Host::timer`] only.
    pub(super) fn plan_next(&mut self) {
        let start = self.starts.last().map_or(Time::MAX, |f| self.common.flows[*f as usize].start);
        let sample = self.samples.map_or(Time::MAX, |s| s.1);
        let flows = self.flow_samples.as_ref().map_or(Time::MAX, FlowSamples::next);
        let memory = self.memory.as_ref().map_or(Time::MAX, |memory| memory.next_sample());
        let waits = self.sender_waits.as_ref().map_or(Time::MAX, |waits| waits.next());
        self.next_planned = start.min(sample).min(flows).min(memory).min(waits);
    }

    /// Starts what is to start by `now`, and takes the sample that is due.
    #[cold]
    pub(super) fn planned(&mut self, now: Time, out: &mut impl Out<Packet>) {
        while let Some(flow) =
            self.starts.last().copied().filter(|f| self.common.flows[*f as usize].start <= now)
        {
            self.starts.pop();
            self.begin(now, flow, out);
        }
        if let Some((every, next)) = &mut self.samples
            && *next <= now
        {
            *next = now + *every;
            self.sampled.push(self.delivered_bytes);
            if self.port.pauses(now).received > 0 {
                self.port.paused_so_far(now, &mut self.sampled_paused);
            }
        }
        if self.flow_samples.as_ref().is_some_and(|s| s.next() <= now) {
            let mut samples = self.flow_samples.take();
            if let Some(samples) = &mut samples {
                let live = self.unfinished().map(|(sent, tcp)| (sent.flow, tcp));
                samples.take(now, live);
            }
            self.flow_samples = samples;
        }
        if self.sender_waits.as_ref().is_some_and(|waits| waits.next() <= now) {
            let mut waits = self.sender_waits.take();
            if let Some(waits) = &mut waits {
                waits.look(now, self.waits());
            }
            self.sender_waits = waits;
        }
        if let Some(memory) = &mut self.memory {
            memory.sample(now, self.delivered_bytes);
        }
        self.plan_next();
    }
}
