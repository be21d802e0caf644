//! Plain data that user space shares with programs in the kernel, and what those programs do with it, as functions.
//!
//! All of it is words of 64 bits, in memory that both sides map. `bpf/c/echo.h` has the same layout in C; the tests of the agent run the
//! program in a kernel and hold its packets and counters against [`outcome`].
//!
//! Invariant: nothing here knows of system calls, and no word means two things.

#![no_std]

/// Until when, how many and which packets are marked: words of the map `lease`.
pub mod lease {
    /// Nanoseconds of CLOCK_BOOTTIME from which on nothing is marked any more; 0: nothing is.
    pub const DEADLINE: usize = 0;
    /// Share of the packets that is marked, in units of 1/65536 ([`super::WHOLE`]).
    pub const SHARE: usize = 1;
    /// Number of the interface whose packets are meant; 0: of all.
    pub const INTERFACE: usize = 2;
    /// Words of the map.
    pub const WORDS: usize = 3;
}

/// A share of 1.
pub const WHOLE: u64 = 1 << 16;

/// Words of the map `counts` for each CPU: a counter for each [`Outcome`], and the share that is owed.
pub const COUNTS: usize = 8;

/// What became of a packet: the place of its counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Was ECT, is CE now.
    Marked,
    /// Was CE already.
    AlreadyCe,
    /// Is not ECN-capable: left alone, always.
    NotEct,
    /// Neither IPv4 nor IPv6, or cut short.
    NotIp,
    /// Was ECT and stays so, for only a share is marked.
    Spared,
    /// Came after the deadline: the lease had not been renewed.
    Expired,
    /// Should have been marked, and the kernel refused.
    Refused,
}

impl Outcome {
    /// All, by place.
    pub const ALL: [Self; 7] = [
        Self::Marked,
        Self::AlreadyCe,
        Self::NotEct,
        Self::NotIp,
        Self::Spared,
        Self::Expired,
        Self::Refused,
    ];

    /// As metrics name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Marked => "marked",
            Self::AlreadyCe => "already_ce",
            Self::NotEct => "not_ect",
            Self::NotIp => "not_ip",
            Self::Spared => "spared",
            Self::Expired => "expired",
            Self::Refused => "refused",
        }
    }
}

/// The ECN field of a packet. Source: RFC 3168, section 5.
pub mod ecn {
    /// Not ECN-capable.
    pub const NOT_ECT: u8 = 0;
    /// ECN-capable, ECT(1).
    pub const ECT_1: u8 = 1;
    /// ECN-capable, ECT(0).
    pub const ECT_0: u8 = 2;
    /// Congestion experienced.
    pub const CE: u8 = 3;
}

/// What becomes of an IP packet with this ECN field at `now`, and what is owed afterwards. `None`: marks are off, and nothing is
/// counted. Of packets that could be marked the share is exact: each adds it to what is owed, and is marked for a whole one.
pub fn outcome(
    lease: &[u64; lease::WORDS],
    now: u64,
    ecn: u8,
    owed: u64,
) -> (Option<Outcome>, u64) {
    let deadline = lease[lease::DEADLINE];
    if deadline == 0 {
        return (None, owed);
    }
    if now >= deadline {
        return (Some(Outcome::Expired), owed);
    }
    match ecn {
        ecn::NOT_ECT => (Some(Outcome::NotEct), owed),
        ecn::CE => (Some(Outcome::AlreadyCe), owed),
        _ => match owed + lease[lease::SHARE] {
            more if more >= WHOLE => (Some(Outcome::Marked), more - WHOLE),
            less => (Some(Outcome::Spared), less),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_ecn_capable_is_never_marked_and_nothing_after_the_deadline() {
        let lease = [100, WHOLE, 0];
        assert_eq!(outcome(&lease, 99, ecn::NOT_ECT, 0).0, Some(Outcome::NotEct));
        assert_eq!(outcome(&lease, 99, ecn::CE, 0).0, Some(Outcome::AlreadyCe));
        for ect in [ecn::ECT_0, ecn::ECT_1] {
            assert_eq!(outcome(&lease, 99, ect, 0), (Some(Outcome::Marked), 0));
            assert_eq!(outcome(&lease, 100, ect, 0).0, Some(Outcome::Expired));
            assert_eq!(outcome(&[0, WHOLE, 0], 99, ect, 0).0, None);
        }
    }

    #[test]
    fn a_share_is_exact() {
        for share in [0, 1, WHOLE / 3, WHOLE / 2, WHOLE - 1, WHOLE] {
            let (mut owed, mut marked) = (0, 0);
            for _ in 0..WHOLE {
                let (of, left) = outcome(&[100, share, 0], 0, ecn::ECT_0, owed);
                (owed, marked) = (left, marked + u64::from(of == Some(Outcome::Marked)));
            }
            assert_eq!((marked, owed), (share, 0));
        }
    }

    #[test]
    fn places_are_those_of_the_list() {
        for (place, of) in Outcome::ALL.into_iter().enumerate() {
            assert_eq!(of as usize, place, "{}", of.name());
        }
    }
}
