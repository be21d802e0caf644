//! Hosts of a collective, in the order of ranks.

use crate::error::Error;
use crate::kinds::MOST_RANKS;
use std::fmt;

/// Hosts that are ranks 0, 1, ... of a collective. Each is there once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group<T> {
    hosts: Vec<T>,
    ranks: Vec<u32>, // by the order of hosts
}

impl<T: Ord + fmt::Display> Group<T> {
    /// A group of some of `fabric` hosts.
    ///
    /// # Errors
    /// If it has no host, a host twice, or more than there are.
    pub fn new(hosts: Vec<T>, fabric: usize) -> Result<Self, Error> {
        if hosts.is_empty() || hosts.len() > MOST_RANKS as usize {
            return Err(Error::Ranks(hosts.len() as u64));
        }
        let mut ranks: Vec<u32> = (0..hosts.len() as u32).collect();
        ranks.sort_by_key(|rank| (&hosts[*rank as usize], *rank));
        let mut pairs = ranks.windows(2).map(|pair| [pair[0] as usize, pair[1] as usize]);
        if let Some(ranks) = pairs.find(|[a, b]| hosts[*a] == hosts[*b]) {
            return Err(Error::Twice { name: hosts[ranks[0]].to_string(), ranks });
        }
        if hosts.len() > fabric {
            return Err(Error::Hosts { ranks: hosts.len(), hosts: fabric });
        }
        Ok(Self { hosts, ranks })
    }

    /// Hosts, rank by rank.
    pub fn hosts(&self) -> &[T] {
        &self.hosts
    }

    /// Rank of a host.
    ///
    /// # Errors
    /// If it has none in this group.
    pub fn rank(&self, host: &T) -> Result<u32, Error> {
        let found = self.ranks.binary_search_by(|rank| self.hosts[*rank as usize].cmp(host));
        found.map(|at| self.ranks[at]).map_err(|_| {
            let end = |host: Option<&T>| host.map(T::to_string).unwrap_or_default();
            Error::Outside {
                name: host.to_string(),
                ends: [end(self.hosts.first()), end(self.hosts.last())],
                ranks: self.hosts.len(),
            }
        })
    }
}
