//! In-band telemetry of the last ACK, hop by hop, so that a law sees what each hop did since.
//!
//! Invariant: never allocates after it was made. Hops beyond the eighth are not looked at.

use crate::flow::IntHop;
use alloc::boxed::Box;

/// Hops that are kept: more than a folded Clos network of three tiers has both ways.
const MOST: usize = 8;

/// See the module. 256 bytes apart.
#[derive(Clone, Debug)]
pub(crate) struct LastHops {
    hops: Box<[IntHop; MOST]>,
    len: u8, // 0: no ACK yet
}

/// What one hop did between two ACKs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HopChange {
    /// In s; above zero.
    pub dt: f64,
    /// Bytes that it sent.
    pub sent: f64,
    /// Bytes in its queue, at the last ACK and at this.
    pub queue: [f64; 2],
    /// Its rate in bytes per s; above zero.
    pub rate: f64,
}

impl LastHops {
    pub(crate) fn new() -> Self {
        Self { hops: Box::new([IntHop::default(); MOST]), len: 0 }
    }

    /// Whether the last ACK crossed as many hops. If not, the path is another one, and nothing can be compared.
    pub(crate) fn comparable(&self, hops: &[IntHop]) -> bool {
        self.len > 0 && usize::from(self.len) == hops.len().min(MOST)
    }

    /// The hops through which time has passed since the last ACK.
    pub(crate) fn changes(&self, hops: &[IntHop]) -> impl Iterator<Item = HopChange> {
        self.hops.iter().zip(hops).filter(|(last, hop)| hop.at > last.at && hop.rate.get() > 0).map(
            |(last, hop)| HopChange {
                dt: float(hop.at.since(last.at).as_ps()) / 1e12,
                sent: float(hop.tx_bytes.saturating_sub(last.tx_bytes)),
                queue: [float(last.queue.get()), float(hop.queue.get())],
                rate: float(hop.rate.get()) / 8.0,
            },
        )
    }

    /// Keeps them for the next ACK.
    pub(crate) fn keep(&mut self, hops: &[IntHop]) {
        let len = hops.len().min(MOST);
        self.hops[..len].copy_from_slice(&hops[..len]);
        self.len = len as u8;
    }
}

/// A number below 2^63, which processors convert in one step.
fn float(number: u64) -> f64 {
    debug_assert!(number < 1 << 63);
    number as i64 as f64
}
