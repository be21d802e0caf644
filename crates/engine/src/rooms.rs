//! Rooms beside items: words that few of them carry, which stay where they are while their items move.
//!
//! An item that has a room keeps its number; who drops such an item gives the room back. Numbers are of one shard: where an item
//! crosses to another, its words cross with it, and it gets a room there. So numbers differ with the count of threads, and no
//! result may depend on them.

use crate::prefetch::prefetch_at;

/// What fits into a room.
pub type Words = [u64; 4];

/// What an empty room holds while that is looked after, so that nobody uses one that was given back.
const NOBODYS: Words = [u64::MAX; 4];

/// Where an item keeps the number of its room, if it is of a kind that may have one; the number is 0 until it has.
pub type RoomOf<I> = fn(&mut I) -> Option<&mut u32>;

/// Aligned, so that none is on two cache lines.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Room(Words);

/// All rooms of one shard.
#[derive(Clone, Debug, Default)]
pub struct Rooms {
    rooms: Vec<Room>, // by number less one
    free: Vec<u32>,   // numbers
}

impl Rooms {
    /// The number of a room that nobody had, above 0; it holds zeros.
    ///
    /// # Panics
    /// If all numbers are in use.
    #[inline]
    pub fn take(&mut self) -> u32 {
        match self.free.pop() {
            Some(room) => {
                *self.get_mut(room) = Words::default();
                room
            }
            None => self.build(),
        }
    }

    #[cold]
    fn build(&mut self) -> u32 {
        self.rooms.push(Room::default());
        u32::try_from(self.rooms.len()).expect("fewer than 2^32 rooms fit in memory")
    }

    /// What a room holds.
    ///
    /// # Panics
    /// If there is none of this number.
    #[inline]
    pub fn get(&self, room: u32) -> &Words {
        &self.rooms[room.wrapping_sub(1) as usize].0
    }

    /// The same, to be changed.
    ///
    /// # Panics
    /// As [`Rooms::get`].
    #[inline]
    pub fn get_mut(&mut self, room: u32) -> &mut Words {
        &mut self.rooms[room.wrapping_sub(1) as usize].0
    }

    /// The room of an item that goes no further; of 0, nothing.
    #[inline]
    pub fn give_back(&mut self, room: u32) {
        if room != 0 {
            self.vacate(room);
        }
    }

    #[inline(never)]
    fn vacate(&mut self, room: u32) {
        if cfg!(debug_assertions) {
            assert_ne!(*self.get(room), NOBODYS, "a room is given back once");
            *self.get_mut(room) = NOBODYS;
        }
        self.free.push(room);
    }

    /// Asks for the cache line of a room; of a number that is none, for anything.
    #[inline(always)]
    pub fn ask(&self, room: u32) {
        prefetch_at(&self.rooms, room.wrapping_sub(1) as usize);
    }

    /// Rooms that somebody has.
    pub fn in_use(&self) -> usize {
        self.rooms.len() - self.free.len()
    }

    /// Takes the words out of an item's room, which is then nobody's. `room` is where the item keeps the number, if it can have one.
    pub(crate) fn unload(&mut self, room: Option<&mut u32>) -> Option<Words> {
        let room = std::mem::take(room.filter(|room| **room != 0)?);
        let words = *self.get(room);
        self.give_back(room);
        Some(words)
    }

    /// Gives an item a room with these words.
    pub(crate) fn load(&mut self, room: Option<&mut u32>, words: Option<&Words>) {
        if let (Some(room), Some(words)) = (room, words) {
            *room = self.take();
            *self.get_mut(*room) = *words;
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.rooms.capacity() * size_of::<Room>() + self.free.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_move_from_shard_to_shard_and_rooms_are_used_again() {
        let (mut here, mut there) = (Rooms::default(), Rooms::default());
        let words = [1, 2, 3, 4];
        let mut item = here.take();
        let other = here.take();
        assert_ne!((item, other), (0, 0));
        *here.get_mut(item) = words;
        let crossing = here.unload(Some(&mut item));
        assert_eq!((crossing, item, here.in_use()), (Some(words), 0, 1));
        assert_eq!(here.unload(Some(&mut item)), None, "it has none");
        there.load(Some(&mut item), crossing.as_ref());
        assert_eq!((*there.get(item), there.in_use()), (words, 1));
        let again = here.take();
        assert_eq!((*here.get(again), here.in_use()), ([0; 4], 2), "it is empty for the next one");
        here.give_back(0);
        assert_eq!(here.in_use(), 2);
    }
}
