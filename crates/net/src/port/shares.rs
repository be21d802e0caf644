//! Classes that share a port by weight: deficit round robin below strict classes, as the bandwidth groups of IEEE 802.1Qaz.
//!
//! A class has its turn until it has sent its quantum; what it sends beyond that, at most a packet, is a debt that its next turn begins with (Adiseshu,
//! Parulkar and Varghese, SIGCOMM 1996: surplus round robin). So the scheduler never looks at the size of a packet before it goes. A class that has nothing to send keeps its
//! debts and no claims. When no class has, all is forgotten.
//! Over any time in which two classes always have something, what they send differs from their weights by less than a quantum and a packet of each.

use super::class::{CLASSES, bits};

/// Bytes of the wire for each unit of weight and turn, in a group whose smallest weight is 1: about a packet, since a turn shorter than that would
/// only be skipped. Assumption: switches differ.
const QUANTUM: i64 = 2_048;

/// State of the turns among classes that share.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    members: u8, // bit per class
    quantum: [i64; CLASSES],
    left: [i64; CLASSES], // of the turn; below zero a debt
    turn: usize,
}

impl Shares {
    /// Classes of these weights; of weight 0, strict. `None` if all are.
    pub fn new(weights: [u8; CLASSES]) -> Option<Self> {
        let members = bits(u8::MAX).filter(|class| weights[*class] > 0);
        let members = members.fold(0, |mask, class| mask | 1 << class);
        let least = weights.iter().copied().filter(|weight| *weight > 0).min()?;
        let quantum = weights.map(|weight| QUANTUM * i64::from(weight) / i64::from(least));
        Some(Self { members, quantum, left: [0; CLASSES], turn: 0 })
    }

    /// Which of the `waiting` classes goes next: a strict one, the highest, or one that shares.
    ///
    /// # Panics
    /// If none waits.
    pub fn choose(&mut self, waiting: u8) -> usize {
        let strict = waiting & !self.members;
        if strict != 0 || waiting == 0 {
            return strict.ilog2() as usize;
        }
        while waiting & 1 << self.turn == 0 || self.left[self.turn] <= 0 {
            let after = waiting & (u8::MAX << self.turn) << 1;
            let next = if after == 0 { waiting } else { after };
            self.turn = next.trailing_zeros() as usize;
            self.left[self.turn] += self.quantum[self.turn];
        }
        self.turn
    }

    /// A packet of a class has left, of so many bytes on the wire; these classes wait still.
    pub fn sent(&mut self, class: usize, wire: u64, waiting: u8) {
        if self.members & 1 << class == 0 {
            return;
        }
        self.turn = class; // it may have left at once, without having been chosen
        self.left[class] -= wire as i64;
        if waiting & self.members == 0 {
            self.left = [0; CLASSES];
        } else if waiting & 1 << class == 0 {
            self.left[class] = self.left[class].min(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_units::random::{Purpose, Stream};

    /// Bytes that each class sends of `packets` of these sizes, all classes of `waiting` having more.
    fn sent(weights: [u8; CLASSES], waiting: u8, packets: usize) -> [u64; CLASSES] {
        let mut shares = Shares::new(weights).unwrap();
        let mut rng = Stream::new(7, 0, Purpose::Test);
        let mut all = [0; CLASSES];
        for _ in 0..packets {
            let class = shares.choose(waiting);
            let size = 84 + rng.below(9_000);
            shares.sent(class, size, waiting);
            all[class] += size;
        }
        all
    }

    #[test]
    fn bytes_follow_weights_whatever_packets_are() {
        let all = sent([3, 1, 0, 6, 0, 0, 0, 0], 0b1011, 20_000);
        let per_weight = [all[0] / 3, all[1], all[3] / 6];
        let (least, most) = (per_weight.iter().min().unwrap(), per_weight.iter().max().unwrap());
        assert!(most - least < 2 * (QUANTUM as u64 + 9_084), "{per_weight:?}");
        let alone = sent([3, 1, 0, 6, 0, 0, 0, 0], 0b0010, 100);
        assert_eq!(alone.iter().filter(|bytes| **bytes > 0).count(), 1);
    }

    #[test]
    fn strict_classes_go_first_and_the_highest_of_them() {
        let mut shares = Shares::new([3, 1, 0, 0, 0, 1, 0, 0]).unwrap();
        assert_eq!(shares.choose(0b0010_1111), 3);
        assert_eq!(shares.choose(0b0010_0111), 2);
        assert_ne!(shares.choose(0b0010_0011), 2);
        assert!(Shares::new([0; CLASSES]).is_none());
    }

    #[test]
    fn who_was_away_has_no_claims_and_who_owes_owes() {
        let mut shares = Shares::new([1, 1, 0, 0, 0, 0, 0, 0]).unwrap();
        // Class 1 sends 9,000 B in a turn of 2,048 and stops; it comes back after 3,000 B of class 0.
        assert_eq!(shares.choose(0b11), 1, "the first turn");
        shares.sent(1, 9_000, 0b01);
        for _ in 0..3 {
            assert_eq!(shares.choose(0b01), 0);
            shares.sent(0, 1_000, 0b11);
        }
        let mut of_other = 3_000;
        while shares.choose(0b11) == 0 {
            shares.sent(0, 1_000, 0b11);
            of_other += 1_000;
        }
        assert!((7_000..11_000).contains(&of_other), "{of_other} B before it has paid");
        // When nothing waits, all is forgotten.
        shares.sent(0, 60_000, 0);
        assert_eq!(shares.left, [0; CLASSES]);
    }
}
