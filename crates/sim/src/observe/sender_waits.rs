//! What the senders of a host wait for, of flows to hosts whose path to memory is modelled: looked at again and again, which
//! changes nothing.

use crate::host::{Host, Observer};
use forebay_transport::Wait;
use forebay_units::{Span, Time};

/// How often. Assumption: 17 us, no multiple of the usual periods of antagonists, laws and round trips.
const EVERY: Span = Span::from_us(17);

/// How often each wait was seen, in the order of [`Wait::ALL`].
pub(crate) type Seen = [u64; Wait::ALL.len()];

/// What was seen, by host that the data goes to.
#[derive(Clone, Debug)]
pub(crate) struct SenderWaits {
    next: Time,
    toward: Vec<(u32, Seen)>, // sorted
}

impl SenderWaits {
    /// Samples, from `warmup` on, flows to the hosts `toward`; `None` if there are none.
    pub(crate) fn new(warmup: Time, mut toward: Vec<u32>) -> Option<Self> {
        toward.sort_unstable();
        toward.dedup();
        let toward: Vec<_> = toward.into_iter().map(|host| (host, Seen::default())).collect();
        (!toward.is_empty()).then_some(Self { next: warmup, toward })
    }

    /// By host that the data goes to.
    pub(crate) fn seen(&self) -> &[(u32, Seen)] {
        &self.toward
    }
}

impl Observer for SenderWaits {
    fn next(&self) -> Time {
        self.next
    }

    /// Counts what each flow in progress waits for.
    fn observe(&mut self, now: Time, host: &Host) {
        self.next = now + EVERY;
        for (to, wait) in host.waits() {
            if let Ok(i) = self.toward.binary_search_by_key(&to, |one| one.0) {
                self.toward[i].1[wait as usize] += 1;
            }
        }
    }

    fn copy(&self) -> Box<dyn Observer> {
        Box::new(self.clone())
    }
}
