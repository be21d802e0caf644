//! Which shard gets which process: equal work, few links across, and equal work in each half of a turn.

/// How much more than its share of the places a shard may have before places are split.
const MOST_UNEVEN: f64 = 1.05;

/// A process of a place.
struct RootedProcess {
    place: u32,
    keeper: usize, // the process that it stays with, most often itself
    process: usize,
}

/// What has been dealt to whom.
struct Assignment<'a> {
    weight: &'a [f64],
    share: f64, // of the work of places, for each shard
    load: Vec<f64>,
    shard: Vec<u16>,
}

/// The shard of each process, and how much more than its share the busiest one has.
///
/// Places go whole to shards in turn, filling each to its share. If that leaves one with much more than that, as with five
/// places and two shards, places are split where a share ends, and their parts are places of their own from then on. Processes without a
/// place mostly run when all others have, so they are dealt out evenly by themselves. `listeners`: of each process the only one it sends to.
pub(crate) fn spread(
    weight: &[f64],
    places: &mut [u32],
    listeners: &[Option<u32>],
    shards: usize,
) -> (Vec<u16>, f64) {
    let total: f64 = weight.iter().sum();
    if shards == 1 || total == 0.0 {
        return (vec![0; places.len()], 1.0);
    }
    let keeper = |p: usize| match listeners[p] {
        Some(to) if places[to as usize] == places[p] => to as usize,
        _ => p,
    };
    let mut rooted: Vec<RootedProcess> = (0..places.len())
        .filter(|p| places[*p] != u32::MAX)
        .map(|p| RootedProcess { place: places[p], keeper: keeper(p), process: p })
        .collect();
    rooted.sort_unstable_by_key(|r| (r.place, r.keeper, r.process));
    let rooted_total: f64 = rooted.iter().map(|r| weight[r.process]).sum();
    let mut deal = Assignment {
        weight,
        share: rooted_total / shards as f64,
        load: vec![0.0; shards],
        shard: vec![0; places.len()],
    };
    deal.whole(&rooted);
    if deal.busiest() > deal.share * MOST_UNEVEN {
        deal.load.fill(0.0);
        deal.parts(&rooted, places);
    }
    deal.homeless(places);
    let imbalance = deal.busiest() * shards as f64 / total;
    (deal.shard, imbalance)
}

impl Assignment<'_> {
    fn busiest(&self) -> f64 {
        self.load.iter().copied().fold(0.0, f64::max)
    }

    fn weigh(&self, group: &[RootedProcess]) -> f64 {
        group.iter().map(|r| self.weight[r.process]).sum()
    }

    fn give(&mut self, to: usize, group: &[RootedProcess]) {
        self.load[to] += self.weigh(group);
        group.iter().for_each(|r| self.shard[r.process] = to as u16);
    }

    /// Each place goes to the shard in whose share its middle lies.
    fn whole(&mut self, rooted: &[RootedProcess]) {
        let (mut current, mut passed) = (0, 0.0);
        for group in rooted.chunk_by(|a, b| a.place == b.place) {
            let weight = self.weigh(group);
            let ends = |shard: usize| self.share * (shard + 1) as f64;
            while current + 1 < self.load.len() && passed + weight / 2.0 > ends(current) {
                current += 1;
            }
            self.give(current, group);
            passed += weight;
        }
    }

    /// Deals places to shards, and splits a place that does not fit: each shard gets what it lacks, and of each kind of process as many go here
    /// as there, as far as that is possible.
    fn parts(&mut self, rooted: &[RootedProcess], places: &mut [u32]) {
        let full = self.share * (2.0 - MOST_UNEVEN);
        let mut next = rooted.last().map_or(0, |last| last.place) + 1;
        for group in rooted.chunk_by(|a, b| a.place == b.place) {
            let open = self.load.iter().position(|l| *l < full);
            let first = open.unwrap_or(self.load.len() - 1);
            let mut rest = self.weigh(group);
            if self.load[first] + rest <= self.share * MOST_UNEVEN {
                self.give(first, group);
                continue;
            }
            let lacks = |load: &f64| {
                let part = (self.share - load).clamp(0.0, rest);
                rest -= part;
                part
            };
            let mut quota: Vec<f64> = self.load[first..].iter().map(lacks).collect();
            let mut parts: Vec<_> = group.chunk_by(|a, b| a.keeper == b.keeper).collect();
            parts.sort_by(|a, b| self.weigh(b).total_cmp(&self.weigh(a)));
            for part in parts {
                let most = |a: &usize, b: &usize| quota[*a].total_cmp(&quota[*b]).then(b.cmp(a));
                let to = (0..quota.len()).max_by(most).unwrap_or(0);
                quota[to] -= self.weigh(part);
                self.give(first + to, part);
                part.iter().for_each(|r| places[r.process] = next + to as u32);
            }
            next += quota.len() as u32;
        }
    }

    /// Processes of no place, each to who has least of those.
    fn homeless(&mut self, places: &[u32]) {
        let mut extra = vec![0.0_f64; self.load.len()];
        for p in (0..places.len()).filter(|p| places[*p] == u32::MAX) {
            let least = |a: &usize, b: &usize| {
                extra[*a].total_cmp(&extra[*b]).then(self.load[*a].total_cmp(&self.load[*b]))
            };
            let to = (0..extra.len()).min_by(least).expect("there is at least one shard");
            self.shard[p] = to as u16;
            extra[to] += self.weight[p];
        }
        self.load.iter_mut().zip(extra).for_each(|(load, more)| *load += more);
    }
}
