//! Three bits per outstanding segment, in ring order, so that questions about a window of a thousand
//! segments read sixteen words.
//!
//! Invariant: a segment has at most one of the three marks.

use crate::scoreboard::Scoreboard;

/// What is known of a segment beyond "sent once and outstanding", which is no mark at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mark {
    /// The receiver holds it.
    Sacked = 0,
    /// Left the network unseen; waits for retransmission.
    Lost = 1,
    /// Retransmitted and believed in the network.
    Resent = 2,
}

/// The bits. Empty until the first mark is set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    words: Vec<[u64; 3]>,
    counts: [u32; 3],
}

impl Marks {
    /// How many segments have `mark`.
    #[inline]
    pub(crate) fn count(&self, mark: Mark) -> u32 {
        self.counts[mark as usize]
    }

    /// Whether no segment has any mark.
    #[inline]
    pub(crate) fn is_clear(&self) -> bool {
        self.counts == [0; 3]
    }

    /// The mark of the segment at `place`.
    pub(crate) fn get(&self, place: usize) -> Option<Mark> {
        let word = self.words.get(place / 64)?;
        let bit = 1 << (place % 64);
        [Mark::Sacked, Mark::Lost, Mark::Resent]
            .into_iter()
            .find(|mark| word[*mark as usize] & bit != 0)
    }

    /// Replaces the mark of the segment at `place`. Returns the old one.
    pub(crate) fn set(&mut self, place: usize, mark: Option<Mark>) -> Option<Mark> {
        let old = self.get(place);
        if old == mark {
            return old;
        }
        if self.words.len() <= place / 64 {
            self.words.resize(place / 64 + 1, [0; 3]);
        }
        let word = &mut self.words[place / 64];
        let bit = 1 << (place % 64);
        if let Some(old) = old {
            word[old as usize] &= !bit;
            self.counts[old as usize] -= 1;
        }
        if let Some(mark) = mark {
            word[mark as usize] |= bit;
            self.counts[mark as usize] += 1;
        }
        old
    }

    /// The first segment in `from..to` with `mark`.
    pub(crate) fn find(
        &self,
        board: &Scoreboard,
        from: usize,
        to: usize,
        mark: Mark,
    ) -> Option<usize> {
        self.scan(board, from, to, |word| word[mark as usize])
    }

    /// The first segment in `from..to` that is not SACKed.
    pub(crate) fn find_unsacked(
        &self,
        board: &Scoreboard,
        from: usize,
        to: usize,
    ) -> Option<usize> {
        self.scan(board, from, to, |word| !word[0])
    }

    /// The first segment in `from..to` without a mark.
    pub(crate) fn find_plain(&self, board: &Scoreboard, from: usize, to: usize) -> Option<usize> {
        self.scan(board, from, to, |word| !(word[0] | word[1] | word[2]))
    }

    #[inline]
    fn scan(
        &self,
        board: &Scoreboard,
        from: usize,
        to: usize,
        want: impl Fn(&[u64; 3]) -> u64,
    ) -> Option<usize> {
        let mut i = from;
        while i < to {
            let place = board.place(i);
            let bits = want(self.words.get(place / 64).unwrap_or(&[0; 3])) >> (place % 64);
            let room = (64 - place % 64).min(board.capacity() - place).min(to - i);
            let skip = bits.trailing_zeros() as usize;
            if skip < room {
                return Some(i + skip);
            }
            i += room;
        }
        None
    }

    /// The ring grows: the marks of `board`'s segments move to places 0, 1, 2 ...
    #[cold]
    pub(crate) fn regrow(&mut self, board: &Scoreboard) {
        if self.is_clear() {
            return;
        }
        let old = core::mem::take(self);
        for i in 0..board.len() {
            self.set(i, old.get(board.place(i)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoreboard::Segment;

    fn board(skip: usize, len: usize) -> Scoreboard {
        let mut board = Scoreboard::new(skip + len);
        for i in 0..skip + len {
            board.push(Segment { end: i as u32 + 1, ..Segment::default() });
        }
        for _ in 0..skip {
            board.pop();
        }
        board
    }

    #[test]
    fn search_agrees_with_a_plain_walk_at_every_rotation() {
        for (size, skip) in [(8, 0), (8, 5), (100, 0), (128, 77), (300, 211)] {
            let mut board = board(skip, size);
            for i in 0..skip.min(board.capacity() - board.len()) {
                board.push(Segment { end: i as u32, ..Segment::default() });
            }
            let mut marks = Marks::default();
            for i in 0..board.len() {
                let mark = match i * 7 % 11 {
                    0..5 => Some(Mark::Sacked),
                    5 => Some(Mark::Lost),
                    6 => Some(Mark::Resent),
                    _ => None,
                };
                marks.set(board.place(i), mark);
            }
            for from in 0..board.len() {
                let to = (from + 97).min(board.len());
                let slow = |f: &dyn Fn(Option<Mark>) -> bool| {
                    (from..to).find(|i| f(marks.get(board.place(*i))))
                };
                let lost = marks.find(&board, from, to, Mark::Lost);
                assert_eq!(lost, slow(&|m| m == Some(Mark::Lost)));
                let unsacked = marks.find_unsacked(&board, from, to);
                assert_eq!(unsacked, slow(&|m| m != Some(Mark::Sacked)));
                assert_eq!(marks.find_plain(&board, from, to), slow(&|m| m.is_none()));
            }
        }
    }

    #[test]
    fn growth_keeps_marks_with_their_segments() {
        let mut board = board(3, 13);
        let mut marks = Marks::default();
        marks.set(board.place(2), Some(Mark::Lost));
        marks.set(board.place(12), Some(Mark::Sacked));
        while board.len() < board.capacity() {
            board.push(Segment::default());
        }
        marks.regrow(&board);
        assert!(board.push(Segment::default()));
        assert_eq!(marks.get(board.place(2)), Some(Mark::Lost));
        assert_eq!(marks.get(board.place(12)), Some(Mark::Sacked));
        assert_eq!(marks.count(Mark::Sacked) + marks.count(Mark::Lost), 2);
    }
}
