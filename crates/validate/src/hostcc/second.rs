//! The second set: another host of the same laboratory, with nothing fitted again.
//!
//! Packets of 9,000 bytes, no prefetching, antagonists beside the NIC, DDIO off.

use super::lab::Lab;
use super::outcome::Outcome;
use super::ratio;
use super::setup::{Antagonist, Setup};
use super::signals::share;
use crate::measured::MeasuredRows;

/// All its rows.
pub(super) fn measure(lab: &Lab, all: &mut MeasuredRows) {
    let run = |antagonist, cores| -> &Outcome {
        let antagonist = if cores == 0 { Antagonist::LocalReadWrite } else { antagonist };
        lab.see(&Setup { antagonist, mtu: 9000, traced: true, ..lab.setup(false, cores) })
    };
    let free = run(Antagonist::LocalReadWrite, 0);
    let mixed = |cores| run(Antagonist::LocalReadWrite, cores);
    let reading = |cores| run(Antagonist::LocalRead, cores);
    for cores in 1..=4 {
        all.insert(format!("set2-rw-{cores}-drops"), mixed(cores).drops);
        all.insert(format!("set2-ro-{cores}-drops"), reading(cores).drops);
    }
    all.insert("set2-rw-4-goodput", ratio(free.goodput, mixed(4).goodput));
    let waiting = |cores| share(&mixed(cores).trace, |p| p.wait_ns > 1.0);
    all.insert("set2-rw-3-full", waiting(3));
    all.insert("set2-rw-4-full", waiting(4));
    all.insert("set2-rw-write-latency", ratio(mixed(4).slot_ns, mixed(3).slot_ns));
    all.insert("set2-rw-read-latency", ratio(mixed(4).read_ns, mixed(3).read_ns));
    all.insert("set2-ro-goodput", ratio(reading(4).goodput, free.goodput));
    all.insert("set2-ro-occupancy", ratio(reading(3).occupancy, free.occupancy));
}
