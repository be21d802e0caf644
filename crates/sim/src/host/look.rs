//! State of the senders and receivers of a host, for followed flows. Looking changes nothing.

use super::Host;
use super::flow_map::DONE;
use forebay_record::why::{HostStages, MemoryArrival};
use forebay_transport::Wait;
use forebay_wire::FlowId;

/// How a sender stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SenderLook {
    pub waits: Wait,
    pub sent: u64,
    pub written: u64,
    pub is_stream: bool, // of a connection
    pub acked: u64,
    pub message: u32, // of a stream of messages the one under way
    pub resent: u64,
    pub timeouts: u64,
    pub probes: u64,
}

impl Host {
    /// A sender that has started and has not ended.
    pub fn look_at_sender(&self, flow: u32) -> Option<SenderLook> {
        let slot = self.send.of.get(FlowId(flow)).filter(|slot| *slot != DONE)?;
        let sender = &self.send.slots[slot as usize].sender;
        let size = self.common.flows[flow as usize].size.get();
        let is_stream = size == 0;
        let sent = match is_stream {
            true => sender.totals().nxt,
            false => size.saturating_sub(sender.unsent()),
        };
        Some(SenderLook {
            waits: sender.waits_for(),
            sent,
            written: if is_stream { sent + sender.unsent() } else { size },
            is_stream,
            acked: sender.acked().get(),
            message: sender.message(),
            resent: sender.retransmits(),
            timeouts: sender.timeouts(),
            probes: sender.probes(),
        })
    }

    /// Bytes in order at a receiver to which something has come and that is not complete.
    pub fn look_at_receiver(&self, flow: u32) -> Option<u64> {
        let slot = self.receive.of.get(FlowId(flow)).filter(|slot| *slot != DONE)?;
        Some(self.receive.slots[slot as usize].receiver.delivered().get())
    }

    /// Whether a sender has ended.
    pub fn is_sent(&self, flow: u32) -> bool {
        self.send.of.get(FlowId(flow)) == Some(DONE)
    }

    /// Whether a receiver has all.
    pub fn is_received(&self, flow: u32) -> bool {
        self.receive.of.get(FlowId(flow)) == Some(DONE)
    }

    /// What packets cross between the cable and the stack; `copies`: whether their transport takes interrupts.
    pub fn stages(&self, copies: bool) -> HostStages {
        HostStages { ring: copies && self.ring.is_some(), memory: self.memory.is_some() }
    }

    /// Notes how packets come to memory, from now on; not where NICs share that.
    pub fn note_landings(&mut self) {
        if let Some(memory) = &mut self.memory {
            memory.note_landings();
        }
    }

    /// How packets came to memory since the last time.
    pub fn take_landings(&mut self) -> Vec<MemoryArrival> {
        self.memory.as_mut().map(|memory| memory.take_landings()).unwrap_or_default()
    }

    /// Whether data may stand in the NIC after it has left its sender.
    pub fn queues_in_nic(&self) -> bool {
        self.nic.pushes || self.nic.bursts.is_some()
    }
}
