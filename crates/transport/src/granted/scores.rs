//! Scores of paths: those whose packets are cut off more often than those of others have fewer turns.
//!
//! Source: Handley et al. (NDP), SIGCOMM 2017; numbers: Broadcom/csg-htsim. Deviations: a path that is left out has a turn now and then, since nothing else would tell that it
//! is as good as others again, and counts are halved now and then for the same reason; a path from which no packet arrives whole is bad too.

/// What became of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    /// The packet arrived.
    Arrived,
    /// A switch trimmed the packet.
    Cut,
    /// A switch returned the header.
    Returned,
}

/// Scores of all paths of a message.
#[derive(Clone, Debug)]
pub(super) struct Scores {
    paths: Vec<Score>,
    all: PacketFates,
}

#[derive(Clone, Copy, Debug, Default)]
struct Score {
    seen: PacketFates,
    avoid: u8, // rounds left out between two turns
    skip: u8,  // of those, still to come
}

/// Packets by their fate.
#[derive(Clone, Copy, Debug, Default)]
struct PacketFates {
    arrived: u64,
    cut: u64,
}

impl Scores {
    /// Of paths that are all good.
    pub fn new(count: u16) -> Self {
        Self { paths: vec![Score::default(); count.into()], all: PacketFates::default() }
    }

    /// Whether the path whose turn it is takes a packet.
    pub fn takes(&mut self, path: u16) -> bool {
        let score = &mut self.paths[usize::from(path)];
        let takes = score.skip == 0;
        score.skip = if takes { score.avoid } else { score.skip - 1 };
        takes
    }

    /// A packet was sent by a path.
    #[cold]
    pub fn note(&mut self, path: u16, fate: Fate) {
        let Some(score) = self.paths.get_mut(usize::from(path)) else { return };
        let (arrived, cut) = match fate {
            Fate::Arrived => (1, 0),
            Fate::Cut => (0, 1),
            Fate::Returned => (0, RETURNED),
        };
        for seen in [&mut score.seen, &mut self.all] {
            (seen.arrived, seen.cut) = (seen.arrived + arrived, seen.cut + cut);
        }
        let bad = score.seen.is_bad(self.all);
        score.avoid =
            if bad { score.avoid.saturating_add(1) } else { score.avoid.saturating_sub(1) };
        score.avoid = score.avoid.min(MOST_AVOIDED);
        if score.seen.packets() >= HALVED {
            let PacketFates { arrived, cut } = score.seen;
            self.all = PacketFates {
                arrived: self.all.arrived - arrived / 2,
                cut: self.all.cut - cut / 2,
            };
            score.seen = PacketFates { arrived: arrived - arrived / 2, cut: cut - cut / 2 };
        }
    }
}

impl PacketFates {
    fn packets(self) -> u64 {
        self.arrived + self.cut
    }

    /// Whether more packets are cut off than is usual here, and than anywhere.
    fn is_bad(self, all: Self) -> bool {
        let ratio = |seen: Self| seen.cut as f64 / seen.arrived.max(1) as f64;
        self.packets() > LEAST && ratio(self) > BAD && ratio(self) > UNUSUAL * ratio(all)
    }
}

/// Packets by which a path is known. Source: Broadcom/csg-htsim, as the next three.
const LEAST: u64 = 100;
/// Packets cut off for each that arrives, on a bad path.
const BAD: f64 = 0.3;
/// How much worse than all together that is.
const UNUSUAL: f64 = 1.25;
/// Packets that a returned header counts for.
const RETURNED: u64 = 3;
/// Assumption: rounds that a path is left out at most.
const MOST_AVOIDED: u8 = 31;
/// Assumption: packets at which the counts of a path are halved.
const HALVED: u64 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two paths one cuts off half its packets. It is known after 101 packets, has one turn in 32 in the end, and all turns once its packets arrive again.
    #[test]
    fn a_bad_path_is_left_out_until_its_packets_arrive() {
        let mut scores = Scores::new(2);
        let mut turns = |rounds: u32, cuts: bool| {
            let mut taken = [0; 2];
            for round in 0..rounds {
                for path in [0, 1] {
                    if scores.takes(path) {
                        taken[usize::from(path)] += 1;
                        let cut = path == 1 && cuts && round % 2 == 0;
                        scores.note(path, if cut { Fate::Cut } else { Fate::Arrived });
                    }
                }
            }
            taken
        };
        assert_eq!(turns(100, true), [100, 100], "nothing is known");
        let [_, after] = turns(2_000, true);
        assert!(after < 200, "{after}");
        let [good, bad] = turns(3_200, true);
        assert_eq!(good, 3_200);
        assert!((90..=110).contains(&bad), "{bad} of 3,200");
        turns(20_000, false);
        assert_eq!(turns(100, false), [100, 100], "it is as good as the other");
    }

    /// Where all paths are equally bad none is left out: it is the fabric that is slow.
    #[test]
    fn paths_that_are_all_bad_are_all_taken() {
        let mut scores = Scores::new(3);
        for round in 0..1_000 {
            for path in 0..3 {
                assert!(scores.takes(path), "path {path}");
                scores.note(path, if round % 2 == 0 { Fate::Cut } else { Fate::Returned });
            }
        }
    }
}
