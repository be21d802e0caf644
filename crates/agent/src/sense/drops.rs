//! The counters that a law of drops wants, among those of a machine or of a recording.
//!
//! Packets that the NIC dropped: `rx_missed_errors` and `rx_fifo_errors` of each NIC, `rx_discards_phy` of mlx5. Signs of slow cores: polls that ran out of
//! budget (softnet), `rx_out_of_buffer` of mlx5, which that driver counts as missed, too. Bytes that memory moved: reads and writes of the memory
//! controllers, of 64 bytes each; where none can be read, what resctrl counts for each L3 cache (MBM).

use forebay_laws::host::{Counter, Signal};
use forebay_linux::Clock;
use forebay_linux::counters::{Counters, Handed, Value};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

/// What a counter adds to, and how much for each that it rises by. `nics`: those that count; none: all.
fn part(name: &str, nics: &[String]) -> Option<(Counter, u64)> {
    let mut words = name.splitn(3, '.');
    let (kind, of, what) = (words.next()?, words.next()?, words.next());
    let counts = || nics.is_empty() || nics.iter().any(|nic| nic == of);
    Some(match (kind, what) {
        ("nic", Some("rx_missed_errors" | "rx_fifo_errors")) if counts() => (Counter::NicDrops, 1),
        ("driver", Some("rx_discards_phy")) if counts() => (Counter::NicDrops, 1),
        ("driver", Some("rx_out_of_buffer")) if counts() => (Counter::SlowCpu, 1),
        ("softnet", None) if of == "squeezed" => (Counter::SlowCpu, 1),
        (unit, Some("reads" | "writes"))
            if unit.starts_with("uncore_imc_") || unit.starts_with("amd_umc") =>
        {
            (Counter::MemoryBytes, 64)
        }
        ("mbm", Some("total_bytes")) => (Counter::MemoryBytes, 1),
        _ => return None,
    })
}

/// The signals that are sums, in the order of [`Sums::values`].
pub const WANTED: [Signal; 3] = [Signal::NicDrops, Signal::SlowCpu, Signal::MemoryBytes];

/// Sums of counters, each unwrapped at its width.
#[derive(Debug)]
pub struct Sums {
    parts: Vec<Part>,
    sums: [u64; 3],
}

#[derive(Debug)]
struct Part {
    nth: usize, // among all counters
    to: usize,
    factor: u64,
    mask: u64,
    last: Option<u64>,
}

impl Sums {
    /// Over counters with these names and widths.
    ///
    /// # Errors
    /// The first signal that none of them is part of.
    pub fn new<'a>(
        names: impl Iterator<Item = (&'a str, u32)>,
        nics: &[String],
    ) -> Result<Self, Signal> {
        let mut parts = Vec::new();
        let (mut controllers, mut caches) = (false, Vec::new());
        for (nth, (name, bits)) in names.enumerate() {
            let Some((counter, factor)) = part(name, nics) else { continue };
            let to = WANTED.iter().position(|of| of.counter().1 == counter);
            let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
            if name.starts_with("mbm.") {
                caches.push(parts.len());
            }
            controllers |= counter == Counter::MemoryBytes && !name.starts_with("mbm.");
            let to = to.expect("each of them is wanted");
            parts.push(Part { nth, to, factor, mask, last: None });
        }
        if controllers {
            for at in caches.into_iter().rev() {
                parts.remove(at);
            }
        }
        let has = |to| parts.iter().any(|part| part.to == to);
        match (0..WANTED.len()).find(|to| !has(*to)) {
            Some(missing) => Err(WANTED[missing]),
            None => Ok(Self { parts, sums: [0; 3] }),
        }
    }

    /// The sums so far.
    pub fn values(&self) -> [u64; 3] {
        self.sums
    }

    /// Adds what the `nth` counter rose by since its last value.
    pub fn add(&mut self, nth: usize, value: u64) {
        for part in self.parts.iter_mut().filter(|part| part.nth == nth) {
            let last = part.last.replace(value).unwrap_or(value);
            let rise = value.wrapping_sub(last) & part.mask;
            let sum = &mut self.sums[part.to];
            *sum = sum.wrapping_add(rise.wrapping_mul(part.factor));
        }
    }
}

/// The counters of a live machine.
#[derive(Debug)]
pub struct Machine {
    counters: Counters,
    sums: Sums,
    row: Vec<Value>,
}

impl Machine {
    /// Of all that were opened, those that are wanted.
    ///
    /// # Errors
    /// The first signal that none of them is part of.
    pub fn new(mut counters: Counters, nics: &[String]) -> Result<Self, Signal> {
        counters.keep(|name| part(name, nics).is_some());
        let sums = Sums::new(counters.each().map(|of| (of.name, of.bits)), nics)?;
        Ok(Self { counters, sums, row: Vec::new() })
    }

    /// Whether resctrl counts the bytes that memory moved.
    pub fn is_of_resctrl(&self) -> bool {
        self.counters.each().any(|of| of.name.starts_with("mbm."))
    }

    /// Counters of the machine, for [`Machine::of`] in another process.
    pub fn handed(&self) -> (Vec<Handed>, Vec<BorrowedFd<'_>>) {
        (self.counters.handed(), self.counters.descriptors())
    }

    /// Over counters that another process has opened, all of them wanted.
    pub fn of(handed: Vec<Handed>, descriptors: Vec<OwnedFd>) -> Option<Self> {
        Self::new(Counters::of(handed, descriptors)?, &[]).ok()
    }

    /// The sum of one, and when it was read: all of them are with the first. `None`: one of its parts could not be read.
    pub fn read(&mut self, clock: &Clock, of: Counter) -> Option<(Duration, u64)> {
        if of == WANTED[0].counter().1 {
            self.counters.read(clock, &mut self.row);
            for (nth, value) in self.row.iter().enumerate() {
                if let Some((_, value)) = value {
                    self.sums.add(nth, *value);
                }
            }
        }
        let to = WANTED.iter().position(|signal| signal.counter().1 == of)?;
        let parts = self.sums.parts.iter().filter(|part| part.to == to);
        let mut at = None;
        for part in parts {
            at = at.max(Some(self.row.get(part.nth).copied().flatten()?.0));
        }
        Some((at?, self.sums.sums[to]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_summed_by_what_they_mean_and_memory_controllers_go_before_caches() {
        let names = [
            ("nic.eth0.rx_missed_errors", 64),
            ("nic.eth1.rx_missed_errors", 64),
            ("driver.eth0.rx_discards_phy", 64),
            ("nic.eth0.rx_bytes", 64),
            ("softnet.squeezed", 32),
            ("driver.eth0.rx_out_of_buffer", 64),
            ("uncore_imc_0.cpu0.reads", 64),
            ("mbm.L3-0.total_bytes", 64),
        ];
        let of = |nics: &[String]| {
            let mut sums = Sums::new(names.into_iter(), nics).expect("all are there");
            (0..names.len()).for_each(|nth| sums.add(nth, u64::from(u32::MAX)));
            (0..names.len()).for_each(|nth| sums.add(nth, u64::from(u32::MAX) + 1 + nth as u64));
            sums.sums
        };
        assert_eq!(of(&[]), [1 + 2 + 3, 5 + 6, 7 * 64]);
        assert_eq!(of(&["eth0".into()]), [1 + 3, 5 + 6, 7 * 64]);
        let missing = |left: &str| {
            let names = names.into_iter().filter(|(name, _)| !name.contains(left));
            Sums::new(names, &[]).map(|sums| sums.parts.len())
        };
        assert_eq!(missing("imc"), Ok(6), "the cache counts in its place");
        assert_eq!(missing("rx_"), Err(Signal::NicDrops));
        assert_eq!(missing("s"), Err(Signal::NicDrops));
        let of = Sums::new([names[0], names[4]].into_iter(), &[]).map(|_| ());
        assert_eq!(of, Err(Signal::MemoryBytes));
    }
}
