//! Time to read a line that waits within the cache, and one that waits beyond it: pairs, so that both see the same neighbours.

use crate::fixed::{consume, produce};
use crate::misses::Misses;
use crate::{Args, Failure, unread};
use forebay_credits_ring::host::{Event, Host, Settings};
use forebay_credits_ring::{Size, pair};
use forebay_units::Time;
use serde_json::{Value, json};
use std::fmt;
use std::hint::black_box;
use std::time::Instant;

/// Unread data that fits every cache of the last level.
const FITS: u64 = 512 << 10;

/// Bytes of a message.
const MESSAGE: u64 = 4096;

/// Pairs of times.
pub struct Lines {
    /// Bytes that fit, and those that do not.
    pub unread: [u64; 2],
    /// Nanoseconds of a line, pair by pair.
    pub pairs: Vec<[f64; 2]>,
    /// Last-level misses of a line, if the machine counts them.
    pub misses: Option<[f64; 2]>,
}

impl Lines {
    /// Medians of both.
    pub fn medians(&self) -> [f64; 2] {
        [0, 1].map(|of| median(self.pairs.iter().map(|pair| pair[of])))
    }

    /// Median of the ratios of pairs.
    pub fn ratio(&self) -> f64 {
        median(self.pairs.iter().map(|[fits, beyond]| beyond / fits))
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let [fits, beyond] = self.medians();
        json!({
            "unread_bytes": self.unread,
            "pairs": self.pairs,
            "ns_per_line": [fits, beyond],
            "median_ratio": self.ratio(),
            "misses_per_line": self.misses,
        })
    }
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [fits, beyond] = self.medians();
        writeln!(f, "unread        ns per line")?;
        writeln!(f, "{:>7} KiB  {fits:>11.2}", self.unread[0] >> 10)?;
        writeln!(f, "{:>7} KiB  {beyond:>11.2}", self.unread[1] >> 10)?;
        writeln!(f, "median ratio of {} pairs: {:.1}", self.pairs.len(), self.ratio())?;
        match self.misses {
            Some([fits, beyond]) => {
                writeln!(f, "last-level misses per line: {fits:.3} and {beyond:.3}")
            }
            None => writeln!(f, "misses: no counters here"),
        }
    }
}

fn median(of: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = of.collect();
    all.sort_by(f64::total_cmp);
    let middle = all.len() / 2;
    match all.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => all[middle],
        _ => (all[middle - 1] + all[middle]) / 2.0,
    }
}

/// Measures pairs.
pub fn measure(args: &Args) -> Result<Lines, Failure> {
    let unread = [FITS, unread(args)?];
    let mut rings = [Ring::new(unread[0])?, Ring::new(unread[1])?];
    // The first pass takes the pages.
    for ring in &mut rings {
        ring.pass()?;
    }
    let counter = Misses::open();
    let mut pairs = Vec::new();
    let mut misses = [0.0; 2];
    for _ in 0..args.pairs {
        let mut ns = [0.0; 2];
        for (of, ring) in rings.iter_mut().enumerate() {
            let passes = if of == 0 { 16 } else { 1 };
            let before = counter.as_ref().and_then(Misses::read);
            ns[of] =
                (0..passes).map(|_| ring.pass()).sum::<Result<f64, Failure>>()? / f64::from(passes);
            if let (Some(before), Some(after)) = (before, counter.as_ref().and_then(Misses::read)) {
                let lines = f64::from(passes) * (ring.bytes / 64) as f64;
                misses[of] += (after - before) as f64 / lines / f64::from(args.pairs);
            }
        }
        pairs.push(ns);
    }
    Ok(Lines { unread, pairs, misses: counter.map(|_| misses) })
}

/// A ring that holds as much unread data as is to be measured.
struct Ring {
    bytes: u64,
    sender: Host,
    receiver: Host,
}

impl Ring {
    fn new(bytes: u64) -> Result<Self, Failure> {
        let messages = u32::try_from(bytes / MESSAGE)?;
        let settings =
            Settings { limit: None, law: forebay_credits::law()?, connections: 1, requests: 1 };
        let (here, there) = pair(Size::new(bytes, messages + 64));
        let (mut sender, mut receiver) = (Host::new(&settings), Host::new(&settings));
        sender.add(here).ok_or("one connection")?;
        receiver.add(there).ok_or("one connection")?;
        sender.without_credits(Time::ZERO, 0);
        receiver.without_credits(Time::ZERO, 0);
        Ok(Self { bytes, sender, receiver })
    }

    /// Fills the ring, then reads all of it. Nanoseconds of a line.
    fn pass(&mut self) -> Result<f64, Failure> {
        for token in 0..self.bytes / MESSAGE {
            if !self.sender.write(Time::ZERO, 0, token, MESSAGE, |of| produce(of, token))? {
                return Err("the ring has room".into());
            }
        }
        let mut sum = 0;
        let start = Instant::now();
        while let Some(Event::Message { .. }) = self.receiver.poll(Time::ZERO) {
            sum += consume(self.receiver.payload(0)) & 1;
            self.receiver.consumed(Time::ZERO, 0);
        }
        let spent = start.elapsed();
        black_box(sum);
        Ok(spent.as_nanos() as f64 / (self.bytes / 64) as f64)
    }
}
