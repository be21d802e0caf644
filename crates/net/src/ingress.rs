//! Ingress accounting of a switch: the bytes of each ingress port, and when it pauses the sender at the other end.
//!
//! Source: the memory model of the public HPCC simulator (switch-mmu.cc), which is that of shared-buffer switches: every
//! packet is charged to its ingress port, first to what is reserved for it, then to its share of the pool, then to the headroom
//! that is kept for what is still to come after a pause. Thresholds: Choudhury and Hahne, IEEE/ACM ToN 1998. A packet
//! is released as its transmission begins.
//!
//! An account is of an ingress port and a class: one for all classes with link pause (IEEE 802.3x), one for each class for
//! priority flow control (IEEE 802.1Qbb). Each class has settings of its own. There, classes that are not lossless have accounts that never pause, without a reserve and
//! without headroom; their packets have a place if the ingress port's share and the queue of the class that they join are both within
//! the dynamic threshold of what drops.
//!
//! The packet that takes its account beyond the threshold pauses the sender. Where it does not fit the headroom, it stays in the pool:
//! headroom is for what comes after it. If the pool is full, the packet is dropped and pauses the sender all the same.
//!
//! Deviations: a packet is charged to the pool only if the pool has that much left, whatever the threshold; an account that has
//! nothing beyond its reserve is not paused, unless a packet of it has just been dropped. An account that holds nothing resumes when the pool
//! has room for that packet. A packet larger than the pool causes no pause, since nothing could end the pause.
//!
//! While nothing is paused, releases may be counted late and in any order: all that is then kept of an account is how much it
//! holds, so the sums are upper bounds, and an arrival that neither pauses nor overflows on the bounds does neither in truth,
//! since both tests only get harder as sums grow. One that does is tested again on exact sums. While something is paused the sums
//! have to be exact at every departure, since any of them may end the pause.

use crate::port::{CLASSES, MOST_IN_TRANSMISSION};
use forebay_settings::{IngressAccount, Threshold};
use forebay_units::Bytes;
use forebay_wire::Packet;

/// The accounts of a switch.
#[derive(Clone, PartialEq, Debug)]
pub struct IngressPool {
    /// What is left of the buffer for all to share when reserves and headroom are set aside.
    pub shared: Bytes,
    /// Accounts of each ingress port, by class. Where a pause stops all classes the first is that of all; those of classes that are
    /// dropped mean nothing.
    pub ports: Vec<[IngressAccount; CLASSES]>,
    /// Classes that are not dropped, one bit each: each class has an account of its own. `None`: a pause stops all classes.
    pub lossless: Option<u8>,
    /// Factor of the dynamic threshold of classes that are dropped.
    pub alpha: f64,
}

/// What an ingress port counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IngressCounters {
    /// Largest use of its headroom in bytes, of any of its classes.
    pub headroom_peak: u64,
    /// Packets refused although the ingress port pauses: 0 if its headroom is large enough.
    pub lossless_drops: u64,
}

/// Where a packet is charged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Reserve and pool.
    Held,
    Headroom,
    /// Nowhere.
    Refused,
}

/// What is looked at for each packet. Two share a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Account {
    held: u64, // in reserve and pool; what is beyond `reserved` is its share of the pool
    reserved: u64,
    xoff: u64, // its threshold: bytes, or if `dynamic` 65,536ths of the free pool
    dynamic: bool,
    by_queue: bool, // the queue that a packet joins counts as well
    pauses: bool,
    paused: bool,
}

const _: () = assert!(size_of::<Account>() == 32);

/// What is looked at only while something is paused, or about to be.
#[derive(Clone, Copy, Debug)]
struct Margin {
    headroom: u64, // used; 0 unless paused
    room: u64,     // size of the headroom
    resume_offset: u64,
    starved: u64, // paused while it holds nothing: the packet that had no place, else 0
    counters: IngressCounters,
}

/// All accounts of a switch.
#[derive(Clone, Debug)]
pub(crate) struct Ingresses {
    accounts: Vec<Account>, // by ingress port, then class
    margins: Vec<Margin>,   // likewise
    classes: u8,
    shared: u64,         // size of the pool
    used: u64,           // of it
    fits_below: u64,     // while less of the pool is used, no account can be at its threshold
    paused: u32,         // accounts that are
    resumed: Vec<u16>,   // ingress ports of which an account has just ceased to be
    starved: Vec<usize>, // accounts whose margins say so
}

impl Account {
    fn new(settings: &IngressAccount, by_queue: bool) -> Self {
        let (xoff, dynamic) = match settings.xoff {
            Threshold::Dynamic(alpha) => (((alpha * 65_536.0) as u64).clamp(1, 1 << 32), true),
            Threshold::Fixed(bytes) => (bytes.get(), false),
        };
        Self {
            held: 0,
            reserved: settings.reserved.get(),
            xoff,
            dynamic,
            by_queue,
            pauses: settings.headroom.is_some(),
            paused: false,
        }
    }

    fn share(&self) -> u64 {
        self.held.saturating_sub(self.reserved)
    }

    /// By how much its share grows with `size` more bytes, and to what.
    fn grown(&self, size: u64) -> (u64, u64) {
        let share = (self.held + size).saturating_sub(self.reserved);
        (share - self.share(), share)
    }

    /// Threshold of the account when this much of the pool is free.
    #[inline]
    fn xoff(&self, free: u64) -> u64 {
        if !self.dynamic {
            return self.xoff;
        }
        u64::try_from((u128::from(self.xoff) * u128::from(free)) >> 16).unwrap_or(u64::MAX)
    }

    /// While less than this is used of a pool of `shared`, the account is below its threshold. Its share is part of what is used; of the
    /// queue that a packet joins all is but for the packet in transmission and what all accounts have `reserved`.
    fn fits_below(&self, shared: u64, reserved: u64) -> u64 {
        let more = if self.by_queue { MOST_IN_TRANSMISSION.saturating_add(reserved) } else { 0 };
        if !self.dynamic {
            return self.xoff.saturating_sub(more).min(shared);
        }
        // The most u with u + more < xoff (shared - u) / 65,536.
        let (xoff, one) = (u128::from(self.xoff), 65_536);
        let most = (xoff * u128::from(shared)).saturating_sub(one * (1 + u128::from(more)));
        (most / (xoff + one)) as u64
    }
}

impl Margin {
    fn new(settings: &IngressAccount) -> Self {
        Self {
            headroom: 0,
            room: settings.headroom.map_or(0, Bytes::get),
            resume_offset: settings.resume_offset.get(),
            starved: 0,
            counters: IngressCounters::default(),
        }
    }
}

impl Ingresses {
    pub fn new(pool: &IngressPool) -> Self {
        let classes = if pool.lossless.is_some() { CLASSES as u8 } else { 1 };
        let lossless = |class: u8| pool.lossless.is_none_or(|classes| classes & 1 << class != 0);
        let lossy = IngressAccount::lossy(pool.alpha);
        let of_port = |port: &[IngressAccount; CLASSES]| {
            let account = |class| {
                let drops = !lossless(class);
                let settings = if drops { &lossy } else { &port[usize::from(class)] };
                (Account::new(settings, drops), Margin::new(settings))
            };
            (0..classes).map(account).collect::<Vec<_>>()
        };
        let (accounts, margins): (Vec<Account>, _) = pool.ports.iter().flat_map(of_port).unzip();
        let shared = pool.shared.get();
        let reserved = accounts.iter().map(|account| account.reserved).sum();
        let fits_below = accounts.iter().map(|account| account.fits_below(shared, reserved)).min();
        Self {
            accounts,
            margins,
            classes,
            shared,
            used: 0,
            fits_below: fits_below.unwrap_or(0),
            paused: 0,
            resumed: Vec::new(),
            starved: Vec::new(),
        }
    }

    /// The account of a packet of this class that came in by this port.
    #[inline]
    pub fn account(&self, ingress_port: u16, class: u8) -> usize {
        usize::from(ingress_port) * usize::from(self.classes)
            + usize::from(class.min(self.classes - 1))
    }

    /// Whether sums have to be exact.
    #[inline]
    pub fn any_paused(&self) -> bool {
        self.paused > 0
    }

    /// Whether the queue that a packet joins is part of whether it has a place.
    #[inline]
    pub fn counts_queue(&self, account: usize) -> bool {
        self.accounts[account].by_queue
    }

    /// Whether so little of the pool is used that another `size` bytes have a place wherever they are charged, and cause no pause.
    #[inline]
    pub fn fits_anywhere(&self, size: u64) -> bool {
        self.used + size < self.fits_below
    }

    /// Whether a packet has a place and causes no pause, judged by sums that may be too large. `queue` is what it joins,
    /// itself included, or zero if that does not count.
    pub fn passes(&self, account: usize, size: u64, queue: u64) -> bool {
        let a = &self.accounts[account];
        let (growth, share) = a.grown(size);
        let used = self.used + growth;
        share == 0 || (used <= self.shared && share.max(queue) < a.xoff(self.shared - used))
    }

    /// Charges a packet that [passes](Self::passes).
    #[inline]
    pub fn hold(&mut self, account: usize, size: u64) {
        let a = &mut self.accounts[account];
        self.used += a.grown(size).0;
        a.held += size;
    }

    /// The place of a packet, on exact sums; `queue` as before.
    pub fn place(&self, account: usize, size: u64, queue: u64) -> Place {
        let a = &self.accounts[account];
        let (growth, share) = a.grown(size);
        let free = self.shared - self.used;
        if share == 0 || (growth <= free && share.max(queue) <= a.xoff(free)) {
            Place::Held
        } else if a.pauses && self.margins[account].headroom + size <= self.margins[account].room {
            Place::Headroom
        } else if a.pauses && !a.paused && growth <= free {
            Place::Held // it crosses the threshold, and pauses
        } else {
            Place::Refused
        }
    }

    /// Charges a packet to its place. True if its sender has to be paused, which is noted.
    pub fn charge(&mut self, account: usize, size: u64, place: Place) -> bool {
        let (a, margin) = (&mut self.accounts[account], &mut self.margins[account]);
        match place {
            Place::Held => {
                self.used += a.grown(size).0;
                a.held += size;
            }
            Place::Headroom => {
                margin.headroom += size;
                margin.counters.headroom_peak = margin.counters.headroom_peak.max(margin.headroom);
            }
            Place::Refused => unreachable!("a packet without a place is dropped"),
        }
        let share = a.share();
        let full = margin.headroom > 0 || (share > 0 && share >= a.xoff(self.shared - self.used));
        let begins = a.pauses && !a.paused && full;
        a.paused |= begins;
        self.paused += u32::from(begins);
        begins
    }

    /// Releases a packet of `size` on the wire: from headroom first, then from the pool, then from the reserve. If its sender may go
    /// on, that is noted: see [`Ingresses::next_resumed`].
    pub fn release(&mut self, packet: &Packet, size: u64) {
        let account = self.account(packet.ingress, packet.class);
        let (a, margin) = (&mut self.accounts[account], &mut self.margins[account]);
        let from_headroom = size.min(margin.headroom);
        margin.headroom -= from_headroom;
        let before = a.share();
        a.held -= size - from_headroom;
        self.used -= before - a.share();
        if a.paused && margin.headroom == 0 {
            let share = a.share();
            let least = share.saturating_add(margin.resume_offset);
            if share == 0 || least <= a.xoff(self.shared - self.used) {
                self.resume(account);
            }
        }
        if !self.starved.is_empty() {
            self.feed();
        }
    }

    fn resume(&mut self, account: usize) {
        self.accounts[account].paused = false;
        self.margins[account].starved = 0;
        self.paused -= 1;
        self.resumed.push((account / usize::from(self.classes)) as u16);
    }

    /// Resumes accounts that hold nothing, as soon as the pool has room for their packets.
    #[cold]
    fn feed(&mut self) {
        for account in std::mem::take(&mut self.starved) {
            match self.margins[account].starved {
                0 => {} // resumed by a departure of its own
                size if self.accounts[account].grown(size).0 <= self.shared - self.used => {
                    self.resume(account)
                }
                _ => self.starved.push(account),
            }
        }
    }

    /// Releases a packet while nothing is paused, so no sender resumes because of it.
    #[inline]
    pub fn release_quietly(&mut self, packet: &Packet, size: u64) {
        debug_assert_eq!(self.paused, 0);
        let account = self.account(packet.ingress, packet.class);
        let a = &mut self.accounts[account];
        let before = a.share();
        a.held -= size;
        self.used -= before - a.share();
    }

    /// Counts a packet of `size` that has no place. True if its sender has to be paused, which is noted.
    pub fn refuse(&mut self, account: usize, size: u64) -> bool {
        let (a, margin) = (&mut self.accounts[account], &mut self.margins[account]);
        if !a.pauses {
            return false;
        }
        margin.counters.lossless_drops += 1;
        if a.paused {
            return false;
        }
        if a.held == 0 {
            if a.grown(size).0 > self.shared {
                return false;
            }
            margin.starved = size;
            self.starved.push(account);
        }
        a.paused = true;
        self.paused += 1;
        true
    }

    /// An ingress port of which an account has ceased to be paused; each is named once.
    pub fn next_resumed(&mut self) -> Option<u16> {
        self.resumed.pop()
    }

    /// Classes that the sender at the other end of an ingress port has to stop, one bit each.
    pub fn paused_classes(&self, ingress_port: u16) -> u8 {
        let first = usize::from(ingress_port) * usize::from(self.classes);
        let classes = &self.accounts[first..first + usize::from(self.classes)];
        match classes {
            [all] => 0u8.wrapping_sub(u8::from(all.paused)),
            classes => (0..).zip(classes).fold(0, |bits, (c, a)| bits | u8::from(a.paused) << c),
        }
    }

    /// What one class of an ingress port has counted; `None` if classes have no accounts of their own.
    pub fn class_counters(&self, ingress_port: usize, class: usize) -> Option<IngressCounters> {
        let classes = usize::from(self.classes);
        (classes == CLASSES).then(|| self.margins[ingress_port * classes + class].counters)
    }

    /// What an ingress port has counted, all classes together.
    pub fn counters(&self, ingress_port: usize) -> IngressCounters {
        let classes = usize::from(self.classes);
        let mut all = IngressCounters::default();
        for margin in &self.margins[ingress_port * classes..(ingress_port + 1) * classes] {
            all.headroom_peak = all.headroom_peak.max(margin.counters.headroom_peak);
            all.lossless_drops += margin.counters.lossless_drops;
        }
        all
    }

    /// Bytes charged to all accounts, headroom included: exact if all ports have been served, else an upper bound.
    pub fn held(&self) -> Bytes {
        let all = self.accounts.iter().zip(&self.margins);
        Bytes::new(all.map(|(account, margin)| account.held + margin.headroom).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_units::random::{Purpose, Stream};

    const CLASS: u8 = 3;

    /// In-ports with such a lossless class beside classes that are dropped.
    fn pool(shared: u64, xoff: Threshold, reserved: u64, alpha: f64) -> IngressPool {
        let port = IngressAccount {
            reserved: Bytes::new(reserved),
            headroom: Some(Bytes::new(50_000)),
            xoff,
            resume_offset: Bytes::ZERO,
        };
        IngressPool {
            shared: Bytes::new(shared),
            ports: vec![[port; CLASSES]; 4],
            lossless: Some(1 << CLASS),
            alpha,
        }
    }

    #[test]
    fn the_bound_is_where_one_account_with_all_that_is_used_comes_to_its_threshold() {
        // A pool of 9 MB: at 1 MB used, 1/8 of the rest is 1 MB; classes that are dropped have a factor of 8.
        let of = |xoff| Ingresses::new(&pool(9_000_000, xoff, 0, 8.0));
        let mut ingress = of(Threshold::Dynamic(0.125));
        let account = ingress.account(1, CLASS);
        assert!(ingress.fits_anywhere(999_998) && !ingress.fits_anywhere(1_000_000));
        assert!(ingress.passes(account, 999_998, 0) && !ingress.passes(account, 1_000_000, 0));
        ingress.hold(account, 999_000);
        assert!(ingress.fits_anywhere(998) && !ingress.fits_anywhere(1_000));
        assert!(of(Threshold::Fixed(Bytes::new(70_000))).fits_anywhere(69_999));
        assert!(!of(Threshold::Fixed(Bytes::new(70_000))).fits_anywhere(70_000));
    }

    #[test]
    fn what_is_within_the_bound_passes() {
        let mut draw = Stream::new(1, 0, Purpose::Sizes);
        let mut within = 0;
        for _ in 0..2_000 {
            let shared = 200_000 + draw.below(2_000_000);
            let xoff = match draw.below(3) {
                0 => Threshold::Fixed(Bytes::new(draw.below(1_000_000))),
                _ => Threshold::Dynamic(1.0 / (1 << draw.below(8)) as f64),
            };
            let alpha = 0.1 + draw.unit() * 8.0;
            let reserved = draw.below(3) * 20_000;
            let mut ingress = Ingresses::new(&pool(shared, xoff, reserved, alpha));
            let (mut lossy, mut lossless) = (0, 0);
            for _ in 0..draw.below(60) {
                let class = if draw.below(2) == 0 { 0 } else { CLASS };
                let (account, size) = (ingress.account(draw.below(4) as u16, class), 1_500);
                if ingress.passes(account, size, 0) {
                    ingress.hold(account, size);
                    *(if class == 0 { &mut lossy } else { &mut lossless }) += size;
                }
            }
            let size = 1 + draw.below(9_000);
            if !ingress.fits_anywhere(size) {
                continue;
            }
            within += 1;
            let queue = lossy + lossless + MOST_IN_TRANSMISSION + size;
            for ingress_port in 0..4 {
                assert!(ingress.passes(ingress.account(ingress_port, 0), size, queue));
                assert!(ingress.passes(ingress.account(ingress_port, CLASS), size, 0));
            }
        }
        assert!(within > 500, "{within} of 2,000");
    }
}
