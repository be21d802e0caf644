//! Maps: shared by the flows of one host, in the order of events.
//!
//! Source: `kernel/bpf/arraymap.c`, `hashtab.c` for the results of their operations.
//! Deviation: kinds per CPU are those of one CPU. The least recently used entry is exactly that.
//!
//! Invariant: order never depends on a hash. Memory grows with what is used, up to the size that the object declares.

use crate::errno::{E2BIG, EEXIST, EINVAL, ENOENT};
use std::collections::BTreeMap;

/// Most maps of an object.
pub(crate) const MAX_MAPS: usize = 64;
/// Most bytes of all maps of an object on one host.
pub(crate) const MAX_MAP_BYTES: u64 = 16 << 20;

/// What a key of a hash takes besides key and value, in bytes: its nodes in the trees below.
const HASH_NODE: u64 = 128;

/// What an object says about a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MapInfo {
    pub name: String,
    pub kind: MapKind,
    pub key: u32,
    pub value: u32,
    pub entries: u32,
}

impl MapInfo {
    /// Bytes of its entries on one host, if they all exist.
    pub(crate) fn most_bytes(&self) -> u64 {
        let entries = match self.kind {
            MapKind::SocketStorage => 1, // of each flow
            _ => u64::from(self.entries),
        };
        let node = match self.kind {
            MapKind::Hash | MapKind::LruHash => HASH_NODE,
            MapKind::Array | MapKind::SocketStorage => 0,
        };
        entries * (u64::from(self.value.next_multiple_of(8)) + u64::from(self.key) + node)
    }
}

/// Kinds of maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MapKind {
    Array,
    Hash,
    LruHash,
    /// A value for each flow.
    SocketStorage,
}

impl MapKind {
    /// Of `enum bpf_map_type`; or its name, as far as it is known.
    pub(crate) fn of(number: u32) -> Result<Self, &'static str> {
        Ok(match number {
            1 | 5 => Self::Hash,
            2 | 6 => Self::Array,
            9 | 10 => Self::LruHash,
            24 => Self::SocketStorage,
            3 => return Err("prog_array"),
            4 => return Err("perf_event_array"),
            11 => return Err("lpm_trie"),
            12 => return Err("array_of_maps"),
            13 => return Err("hash_of_maps"),
            22 => return Err("queue"),
            23 => return Err("stack"),
            26 => return Err("struct_ops"),
            27 => return Err("ringbuf"),
            33 => return Err("arena"),
            _ => return Err("of an unknown kind"),
        })
    }

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Hash => "hash",
            Self::LruHash => "lru_hash",
            Self::SocketStorage => "sk_storage",
        }
    }
}

/// A map on one host.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    info: MapInfo,
    values: Vec<u8>,
    places: BTreeMap<Vec<u8>, Place>,
    free: Vec<u32>,
    uses: BTreeMap<u64, Vec<u8>>, // of the kind that forgets: keys by their last use
    clock: u64,                   // uses so far
}

#[derive(Clone, Copy, Debug)]
struct Place {
    nth: u32,
    used: u64,
}

impl Map {
    pub(crate) fn new(info: MapInfo) -> Self {
        Self {
            info,
            values: Vec::new(),
            places: BTreeMap::new(),
            free: Vec::new(),
            uses: BTreeMap::new(),
            clock: 0,
        }
    }

    pub(crate) fn info(&self) -> &MapInfo {
        &self.info
    }

    pub(crate) fn values(&self) -> &[u8] {
        &self.values
    }

    pub(crate) fn values_mut(&mut self) -> Option<&mut [u8]> {
        Some(&mut self.values)
    }

    /// Bytes from one value to the next.
    fn stride(&self) -> usize {
        self.info.value.next_multiple_of(8) as usize
    }

    /// Where the value of a key begins.
    pub(crate) fn lookup(&mut self, key: &[u8]) -> Option<u64> {
        let nth = match self.info.kind {
            MapKind::Array => {
                let nth = u32::from_le_bytes(*key.first_chunk()?);
                (nth < self.info.entries).then_some(())?;
                self.reach(nth);
                nth
            }
            _ => {
                let place = self.places.get_mut(key)?;
                if let Some(key) = self.uses.remove(&place.used) {
                    self.clock += 1;
                    self.uses.insert(self.clock, key);
                    place.used = self.clock;
                }
                place.nth
            }
        };
        Some((nth as usize * self.stride()) as u64)
    }

    /// Sets the value of a key; 0, or the kernel's number of an error.
    pub(crate) fn update(&mut self, key: &[u8], value: &[u8], flags: u64) -> i64 {
        if flags > 2 {
            return EINVAL;
        }
        let known = match self.info.kind {
            MapKind::Array => true,
            _ => self.places.contains_key(key),
        };
        match (known, flags) {
            (true, 1) => return EEXIST,
            (false, 2) => return ENOENT,
            _ => {}
        }
        if !known && !self.make(key) {
            return E2BIG;
        }
        match self.lookup(key) {
            Some(at) => {
                let at = at as usize;
                self.values[at..at + value.len()].copy_from_slice(value);
                0
            }
            None => E2BIG,
        }
    }

    /// Removes a key; 0, or the kernel's number of an error.
    pub(crate) fn delete(&mut self, key: &[u8]) -> i64 {
        if self.info.kind == MapKind::Array {
            return EINVAL;
        }
        match self.places.remove(key) {
            Some(place) => {
                self.uses.remove(&place.used);
                self.free.push(place.nth);
                0
            }
            None => ENOENT,
        }
    }

    /// Makes room for a key. Whether there is.
    fn make(&mut self, key: &[u8]) -> bool {
        if self.places.len() >= self.info.entries as usize {
            if self.info.kind != MapKind::LruHash {
                return false;
            }
            let Some((_, oldest)) = self.uses.pop_first() else { return false };
            self.delete(&oldest);
        }
        let nth = self.free.pop().unwrap_or(self.places.len() as u32);
        self.reach(nth);
        if self.info.kind == MapKind::LruHash {
            self.clock += 1;
            self.uses.insert(self.clock, key.to_vec());
        }
        self.places.insert(key.to_vec(), Place { nth, used: self.clock });
        true
    }

    /// Lets the values reach up to this one.
    fn reach(&mut self, nth: u32) {
        let end = (nth as usize + 1) * self.stride();
        if self.values.len() < end {
            self.values.resize(end, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_of_a_hash_is_charged_for_its_nodes() {
        let of = |kind| MapInfo { name: "m".into(), kind, key: 4, value: 5, entries: 1000 };
        assert_eq!(of(MapKind::Array).most_bytes(), 12_000);
        assert_eq!(of(MapKind::Hash).most_bytes(), 140_000);
        assert_eq!(of(MapKind::LruHash).most_bytes(), 140_000);
        assert_eq!(of(MapKind::SocketStorage).most_bytes(), 12);
    }
}
