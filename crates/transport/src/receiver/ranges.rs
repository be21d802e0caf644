//! Byte ranges received out of order, and which of them changed last.

/// Disjoint, non-adjacent ranges in ascending order.
///
/// Allocates only when a flow sees more gaps at once than ever before.
#[derive(Clone, Debug)]
pub(crate) struct Ranges {
    sorted: Vec<(u64, u64)>,
    recent: [u32; 4], // low bits of a byte in each range touched lately, newest first
    used: u8,
}

impl Ranges {
    pub(crate) const fn new() -> Self {
        Self { sorted: Vec::new(), recent: [0; 4], used: 0 }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// Adds `[start, end)`. If all of it was here, returns it: a duplicate.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> Option<(u64, u64)> {
        // The first range that ends at or after `start` may touch the new one.
        let first = self.sorted.partition_point(|r| r.1 < start);
        let last = first + self.sorted[first..].partition_point(|r| r.0 <= end);
        if first < last && self.sorted[first].0 <= start && end <= self.sorted[first].1 {
            self.touch(start);
            return Some((start, end));
        }
        if first == last {
            self.sorted.insert(first, (start, end));
        } else {
            let merged = (start.min(self.sorted[first].0), end.max(self.sorted[last - 1].1));
            self.sorted[first] = merged;
            self.sorted.drain(first + 1..last);
        }
        self.touch(start);
        None
    }

    /// Everything below `end` has arrived in order: forgets it, and returns how far that reaches now.
    pub(crate) fn take_through(&mut self, end: u64) -> u64 {
        let gone = self.sorted.partition_point(|r| r.0 <= end);
        let reach = self.sorted[..gone].last().map_or(end, |r| r.1.max(end));
        self.sorted.drain(..gone);
        reach
    }

    /// The ranges touched lately, newest first, each once.
    pub(crate) fn recent(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let all = &self.recent[..usize::from(self.used)];
        all.iter().enumerate().filter_map(move |(i, byte)| {
            let range = self.holding(*byte)?;
            let seen = all[..i].iter().any(|b| self.holding(*b) == Some(range));
            (!seen).then_some(range)
        })
    }

    fn holding(&self, byte: u32) -> Option<(u64, u64)> {
        let base = self.sorted.first()?.0;
        let distance = byte.wrapping_sub(base as u32);
        if distance > u32::MAX / 2 {
            return None; // below the first range
        }
        let byte = base + u64::from(distance);
        let at = self.sorted.partition_point(|r| r.1 <= byte);
        self.sorted.get(at).copied().filter(|r| r.0 <= byte)
    }

    /// Puts the range that holds `byte` in front.
    fn touch(&mut self, byte: u64) {
        let range = self.holding(byte as u32);
        let mut next = [byte as u32, 0, 0, 0];
        let mut used = 1;
        for old in &self.recent[..usize::from(self.used)] {
            let holder = self.holding(*old);
            if used < next.len() && holder.is_some() && holder != range {
                next[used] = *old;
                used += 1;
            }
        }
        (self.recent, self.used) = (next, used as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_merge_and_the_newest_comes_first() {
        let mut ranges = Ranges::new();
        assert_eq!(ranges.insert(10, 20), None);
        assert_eq!(ranges.insert(30, 40), None);
        assert_eq!(ranges.insert(50, 60), None);
        assert_eq!(ranges.recent().collect::<Vec<_>>(), [(50, 60), (30, 40), (10, 20)]);
        assert_eq!(ranges.insert(20, 25), None);
        assert_eq!(ranges.recent().collect::<Vec<_>>(), [(10, 25), (50, 60), (30, 40)]);
        assert_eq!(ranges.insert(40, 50), None);
        assert_eq!(ranges.recent().collect::<Vec<_>>(), [(30, 60), (10, 25)]);
        assert_eq!(ranges.insert(33, 44), Some((33, 44)));
    }

    #[test]
    fn in_order_data_swallows_what_it_reaches() {
        let mut ranges = Ranges::new();
        ranges.insert(10, 20);
        ranges.insert(30, 40);
        assert_eq!(ranges.take_through(5), 5);
        assert_eq!(ranges.take_through(10), 20);
        assert_eq!(ranges.recent().collect::<Vec<_>>(), [(30, 40)]);
        assert_eq!(ranges.take_through(35), 40);
        assert!(ranges.is_empty());
    }

    #[test]
    fn recency_survives_the_wrap_of_its_low_bits() {
        let mut ranges = Ranges::new();
        let base = (1u64 << 32) - 15;
        ranges.insert(base + 10, base + 20);
        ranges.insert(base + 30, base + 40);
        assert_eq!(
            ranges.recent().collect::<Vec<_>>(),
            [(base + 30, base + 40), (base + 10, base + 20)]
        );
    }
}
