//! Values of a few keys, among which the same one is wanted many times in a row.

/// A map in a row, which remembers where it was last.
#[derive(Clone, Debug)]
pub struct CursorMap<K, T> {
    keys: Vec<K>, // ascending
    of: Vec<T>,
    last: usize,
}

impl<K, T> Default for CursorMap<K, T> {
    fn default() -> Self {
        Self { keys: Vec::new(), of: Vec::new(), last: 0 }
    }
}

impl<K: Copy + Ord, T> CursorMap<K, T> {
    /// The value of a key.
    pub fn get(&self, key: K) -> Option<&T> {
        Some(&self.of[self.keys.binary_search(&key).ok()?])
    }

    /// Mutable value of a key.
    pub fn get_mut(&mut self, key: K) -> Option<&mut T> {
        if self.keys.get(self.last) != Some(&key) {
            self.last = self.keys.binary_search(&key).ok()?;
        }
        Some(&mut self.of[self.last])
    }

    /// The keys from `from` on, ascending, with their values to be changed.
    pub fn from_mut(&mut self, from: K) -> impl Iterator<Item = (K, &mut T)> {
        let at = self.keys.partition_point(|key| *key < from);
        self.keys[at..].iter().copied().zip(&mut self.of[at..])
    }

    /// All values.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.of.iter()
    }

    /// All values, mutable.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.of.iter_mut()
    }
}

impl<K: Copy + Ord, T: Default> CursorMap<K, T> {
    /// The value of a key, which is made if there is none.
    #[inline]
    pub fn entry(&mut self, key: K) -> &mut T {
        if self.keys.get(self.last) != Some(&key) {
            self.last = self.keys.binary_search(&key).unwrap_or_else(|at| {
                self.keys.insert(at, key);
                self.of.insert(at, T::default());
                at
            });
        }
        &mut self.of[self.last]
    }
}
