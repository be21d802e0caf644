//! Timers in lists, each list of timers that take equally long: setting, clearing and taking one takes constant time.
//!
//! A timer has an index, and is in one list at most. Links are in one array, of a size given at the start.

use alloc::boxed::Box;
use alloc::vec;
use forebay_units::Time;

const NONE: u32 = u32::MAX;
const OFF: u32 = u32::MAX - 1;

#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32, // `OFF`: the timer is not set
    due: Time,
}

/// Bytes of a timer.
pub const LINK_STATE: usize = size_of::<Link>();

/// Timers of `K` lengths.
#[derive(Clone, Debug)]
pub struct Timers<const K: usize> {
    links: Box<[Link]>,
    ends: [[u32; 2]; K], // first and last of each list
}

impl<const K: usize> Timers<K> {
    pub fn new(count: u32) -> Self {
        let off = Link { before: NONE, after: OFF, due: Time::MAX };
        Self { links: vec![off; count as usize].into_boxed_slice(), ends: [[NONE; 2]; K] }
    }

    /// Whether a timer is set.
    #[inline]
    pub fn is_set(&self, at: u32) -> bool {
        self.links[at as usize].after != OFF
    }

    /// Sets a timer that is not set. `due` is no earlier than that of any other in its list.
    #[inline]
    pub fn set(&mut self, at: u32, list: usize, due: Time) {
        let last = self.ends[list][1];
        self.links[at as usize] = Link { before: last, after: NONE, due };
        self.ends[list][1] = at;
        match self.links.get_mut(last as usize) {
            Some(link) => link.after = at,
            None => self.ends[list][0] = at,
        }
    }

    /// Clears a timer of this list, if it is set.
    #[inline]
    pub fn clear(&mut self, at: u32, list: usize) {
        let Link { before, after, .. } = self.links[at as usize];
        if after == OFF {
            return;
        }
        self.links[at as usize].after = OFF;
        match self.links.get_mut(before as usize) {
            Some(link) => link.after = after,
            None => self.ends[list][0] = after,
        }
        match self.links.get_mut(after as usize) {
            Some(link) => link.before = before,
            None => self.ends[list][1] = before,
        }
    }

    /// When the first timer of all is due.
    pub fn due(&self) -> Time {
        let first = |ends: &[u32; 2]| self.links.get(ends[0] as usize).map(|link| link.due);
        self.ends.iter().filter_map(first).min().unwrap_or(Time::MAX)
    }

    /// Takes a timer that is due, and says of which list it was.
    #[inline]
    pub fn take(&mut self, now: Time) -> Option<(u32, usize)> {
        for list in 0..K {
            let at = self.ends[list][0];
            if self.links.get(at as usize).is_some_and(|link| link.due <= now) {
                self.clear(at, list);
                return Some((at, list));
            }
        }
        None
    }
}
