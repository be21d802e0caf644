//! One pool of bytes for all ports of a switch, with a dynamic threshold.
//!
//! Source: Choudhury and Hahne, IEEE/ACM ToN 1998: a queue may grow to `alpha` times the free pool.
//!
//! The occupancy counts each port as it was when last touched, so it is an upper bound. That is enough: an admission
//! that passes on the bound passes on the truth, since the test only gets harder as occupancy grows and the own
//! queue is exact; one that fails on the bound is checked again after all ports have been settled.

use forebay_settings::PoolThreshold;
use forebay_units::Bytes;

/// The pool.
#[derive(Clone, Copy, Debug)]
pub struct SharedBuffer {
    size: u64,
    alpha: u64,     // in 1/65536; `u64::MAX`: no threshold but the size
    by_class: bool, // the threshold is of the queue of a class, rather than of all queues of a port
    used: u64,      // upper bound; the sum of what the ports have counted
    peak: u64,
}

impl From<&forebay_settings::SharedBuffer> for SharedBuffer {
    fn from(settings: &forebay_settings::SharedBuffer) -> Self {
        let pool = Self::new(settings.size, settings.alpha);
        if settings.threshold == PoolThreshold::Queue { pool.by_class() } else { pool }
    }
}

impl SharedBuffer {
    /// An empty pool. `alpha` is rounded to 1/65536; `None` lets one queue take all.
    pub fn new(size: Bytes, alpha: Option<f64>) -> Self {
        let alpha = alpha.map_or(u64::MAX, |alpha| ((alpha * 65_536.0) as u64).clamp(1, 1 << 32));
        Self { size: size.get(), alpha, by_class: false, used: 0, peak: 0 }
    }

    /// The pool with a threshold for the queue of each class, rather than for all queues of a port together.
    pub fn by_class(self) -> Self {
        Self { by_class: true, ..self }
    }

    /// Whether the threshold is of the queue of a class.
    #[inline]
    pub fn is_by_class(&self) -> bool {
        self.by_class
    }

    /// Replaces what a port counted by what it holds.
    #[inline]
    pub fn recount(&mut self, counted: &mut u64, holds: u64) {
        self.used = self.used - *counted + holds;
        *counted = holds;
    }

    /// Whether a queue of `queue` bytes may take `size` more, on what is counted.
    #[inline]
    pub fn fits(&self, queue: u64, size: u64) -> bool {
        let free = self.size.saturating_sub(self.used);
        size <= free
            && (self.alpha == u64::MAX
                || u128::from(queue + size) << 16 <= u128::from(self.alpha) * u128::from(free))
    }

    /// Bytes counted.
    pub fn used(&self) -> Bytes {
        Bytes::new(self.used)
    }

    /// Size of the pool.
    pub fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }

    /// Largest `used` seen when a packet was admitted; an upper bound, like it.
    pub fn peak(&self) -> Bytes {
        Bytes::new(self.peak)
    }

    /// Counts an admitted packet.
    #[inline]
    pub fn admit(&mut self, counted: &mut u64, size: u64) {
        self.used += size;
        *counted += size;
        self.peak = self.peak.max(self.used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills n queues round robin until none may grow; returns the share of each and the free share.
    fn saturate(alpha: f64, n: usize) -> (f64, f64) {
        let size = 1_000_000;
        let mut pool = SharedBuffer::new(Bytes::new(size), Some(alpha));
        let mut queues = vec![0u64; n];
        loop {
            let mut grew = false;
            for q in &mut queues {
                if pool.fits(*q, 100) {
                    pool.admit(q, 100);
                    grew = true;
                }
            }
            if !grew {
                return (
                    queues[0] as f64 / size as f64,
                    1.0 - pool.used().get() as f64 / size as f64,
                );
            }
        }
    }

    #[test]
    fn saturated_queues_share_as_the_closed_form_says() {
        // Each alpha/(1 + alpha n), free 1/(1 + alpha n): Choudhury and Hahne, IEEE/ACM ToN 1998.
        for (alpha, n) in
            [(0.125, 1), (0.125, 8), (0.5, 2), (0.5, 8), (1.0, 1), (1.0, 8), (8.0, 1), (8.0, 8)]
        {
            let (each, free) = saturate(alpha, n);
            let expected = alpha / (1.0 + alpha * n as f64);
            assert!(
                (each - expected).abs() < 2e-3,
                "alpha {alpha} n {n}: {each} against {expected}"
            );
            assert!((free - expected / alpha).abs() < 2e-3, "alpha {alpha} n {n}: free {free}");
        }
    }
}
