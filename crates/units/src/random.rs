//! Counter-based random streams.
//!
//! A stream is keyed by `(seed, component, purpose)`, so a new consumer disturbs no other and the same
//! key gives the same words on every machine and thread count. The n-th word is a function of key and n
//! alone (SplitMix64 over a Weyl sequence), so a draw may also be made by index.

use crate::math::mix;

/// A stream of random words.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    key: u64,
    drawn: u64,
}

/// What a stream is for. Part of its key; add a line for a new consumer, never reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Gaps between arrivals.
    Arrivals = 1,
    /// Flow sizes.
    Sizes = 2,
    /// Sources and destinations.
    Pairs = 3,
    /// Jitter of generated starts.
    Jitter = 4,
    /// ECMP hash of a switch.
    Ecmp = 5,
    /// Spraying choice per packet.
    Spray = 6,
    /// RED marking draw per packet.
    Red = 7,
    /// Random loss on a link.
    Loss = 8,
    /// `Start::seed` of a law.
    Law = 9,
    /// Random scenarios in tests.
    Test = 10,
    /// Request and response sizes of a connection.
    RpcSizes = 11,
    /// Think times of a client.
    Think = 12,
    /// Service times of a server.
    Service = 13,
    /// Jitter of a host's receive interrupts.
    Interrupt = 14,
    /// `HostStart::seed` of a host law.
    HostLaw = 15,
    /// `GroupStart::seed` of the group laws of a switch.
    GroupLaw = 16,
    /// Gaps between packets that a NIC sends.
    Transmit = 17,
}

impl Stream {
    /// The stream of one component for one purpose.
    pub const fn new(seed: u64, component: u64, purpose: Purpose) -> Self {
        let key =
            mix(mix(seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_add(component)
                ^ ((purpose as u64) << 56));
        Self { key, drawn: 0 }
    }

    /// The key, for draws by index.
    pub const fn key(&self) -> u64 {
        self.key
    }

    /// Word number `index` of the stream with this key.
    #[inline]
    pub const fn at(key: u64, index: u64) -> u64 {
        mix(key.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// The next word.
    #[inline]
    pub const fn word(&mut self) -> u64 {
        self.drawn += 1;
        Self::at(self.key, self.drawn)
    }

    /// Uniform below `n`. Bias below 2^-64 * n.
    ///
    /// # Panics
    /// If `n` is zero.
    #[inline]
    pub const fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "nothing lies below zero");
        ((self.word() as u128 * n as u128) >> 64) as u64
    }

    /// Uniform in (0, 1], 53 bits.
    pub fn unit(&mut self) -> f64 {
        ((self.word() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Exponential with mean 1, by `-ln` of a uniform through [`crate::math::ln`].
    pub fn exponential(&mut self) -> f64 {
        -crate::math::ln(self.unit())
    }
}
