//! Classes that take turns by packets, below strict classes: so many of one, then so many of the next lower, as long as both have something.
//!
//! Source: Handley et al. (NDP), SIGCOMM 2017, section 3.1: ten headers for one data packet, so that headers neither starve data nor wait for it.

use super::class::{CLASSES, bits};

/// State of the turns among classes that take turns.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    members: u8, // bit per class
    packets: [u8; CLASSES],
    turn: usize,
    left: u8, // packets of the turn
}

impl Turns {
    /// Classes with so many packets to a turn; with 0, strict. `None` if all are.
    pub fn new(packets: [u8; CLASSES]) -> Option<Self> {
        let members = bits(u8::MAX).filter(|class| packets[*class] > 0);
        let members = members.fold(0u8, |mask, class| mask | 1 << class);
        let turn = members.checked_ilog2()? as usize;
        Some(Self { members, packets, turn, left: packets[turn] })
    }

    /// Which of the `waiting` classes goes next: a strict one, the highest, or one that takes turns.
    ///
    /// # Panics
    /// If none waits.
    pub fn choose(&mut self, waiting: u8) -> usize {
        let strict = waiting & !self.members;
        if strict != 0 || waiting == 0 {
            return strict.ilog2() as usize;
        }
        if waiting & 1 << self.turn == 0 || self.left == 0 {
            let below = waiting & ((1 << self.turn) - 1);
            let next = if below == 0 { waiting } else { below };
            self.begin(next.ilog2() as usize);
        }
        self.turn
    }

    /// A packet of a class has left; these classes wait still.
    pub fn sent(&mut self, class: usize, waiting: u8) {
        if self.members & 1 << class == 0 {
            return;
        }
        if class != self.turn {
            self.begin(class); // it left at once, without having been chosen
        }
        self.left = self.left.saturating_sub(1);
        if waiting & self.members == 0 {
            self.begin(self.members.ilog2() as usize);
        }
    }

    fn begin(&mut self, class: usize) {
        (self.turn, self.left) = (class, self.packets[class]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(turns: &mut Turns, waiting: u8, packets: usize) -> Vec<usize> {
        let mut next = || {
            let class = turns.choose(waiting);
            turns.sent(class, waiting);
            class
        };
        (0..packets).map(|_| next()).collect()
    }

    #[test]
    fn ten_headers_go_for_one_data_packet() {
        let mut turns = Turns::new([1, 10, 0, 0, 0, 0, 0, 0]).unwrap();
        let all = order(&mut turns, 0b11, 44);
        assert_eq!(all[..11], [[1; 10].as_slice(), &[0]].concat());
        assert_eq!(all.iter().filter(|class| **class == 0).count(), 4);
        // 84 B and 1,538 B on the wire: ten headers take 840 of 2,378 bytes.
        let headers: u64 = all.iter().map(|class| 84 * *class as u64).sum();
        assert_eq!(headers * 100 / (headers + 4 * 1_538), 35, "per cent of the wire");
    }

    #[test]
    fn who_is_alone_goes_and_who_comes_back_begins_anew() {
        let mut turns = Turns::new([1, 3, 0, 0, 0, 0, 0, 0]).unwrap();
        assert_eq!(order(&mut turns, 0b11, 2), [1, 1]);
        assert_eq!(order(&mut turns, 0b01, 3), [0, 0, 0]);
        assert_eq!(order(&mut turns, 0b11, 5), [1, 1, 1, 0, 1]);
        assert_eq!(order(&mut turns, 0b10, 9), [1; 9]);
        assert_eq!(order(&mut turns, 0b11, 3), [1, 1, 0], "what is left of its turn");
        assert_eq!(order(&mut turns, 0b111, 2), [2, 2], "strict classes go first");
        turns.sent(1, 0);
        assert_eq!(order(&mut turns, 0b11, 4), [1, 1, 1, 0], "all had left");
        assert!(Turns::new([0; CLASSES]).is_none());
    }
}
