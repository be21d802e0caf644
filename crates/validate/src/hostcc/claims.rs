//! Claims of the text that stand in no figure: sections 2.2, 3, 4.1 and 6.

use super::control::resting;
use super::lab::Lab;
use super::outcome::{Outcome, Point};
use super::ratio;
use super::setup::{Control, HostCc, Setup, Variant};
use super::signals::TARGET;
use crate::measured::MeasuredRows;
use crate::order::Samples;

/// The round trip, us.
const RTT: f64 = 44.0;

/// Microseconds at work and at rest of a MApp that changes within it.
const BURSTS: (u32, u32) = (20, 20);

/// All of them but RDMA, Swift and the sender.
pub(super) fn measure(lab: &Lab, all: &mut MeasuredRows) {
    let free = lab.base(false, 0);
    for (flows, name) in [(1, "text-one-flow"), (2, "text-two-flows"), (3, "text-three-flows")] {
        let few = lab.see(&Setup { flows, ..lab.setup(false, 0) });
        all.insert(name, ratio(few.goodput, free.goodput));
    }
    beside_rpcs(lab, all);
    let share = |of: &Outcome| ratio(of.mapp, of.netapp);
    all.insert("text-share-by-load", ratio(share(lab.base(false, 3)), share(lab.base(false, 2))));
    onset(lab, all);
    within_a_round_trip(lab, all);
    smoothing(lab, all);
    other_hosts(lab, all);
    walks(lab, all);
    actuators(lab, all);
    bounds(lab, all);
}

/// What small RPCs beside it leave of NetApp-T and MApp.
fn beside_rpcs(lab: &Lab, all: &mut MeasuredRows) {
    let alone = lab.base(false, 3);
    let beside = lab.see(&Setup { rpc: Some(128), ..lab.setup(false, 3) });
    all.insert("text-beside-rpc-goodput", ratio(beside.goodput, alone.goodput));
    all.insert("text-beside-rpc-mapp", ratio(beside.mapp, alone.mapp));
}

/// What follows each onset of a MApp that comes and goes.
fn onset(lab: &Lab, all: &mut MeasuredRows) {
    let setup = resting(lab.setup(false, 3)).with_hostcc();
    let (work, rest) = setup.rests;
    let trace = &lab.see(&Setup { traced: true, ..setup }).trace;
    let (period, work) = (f64::from(work + rest), f64::from(work));
    let late = trace.iter().filter(|p| (1000.0..work).contains(&(p.us % period)));
    let (sum, n) = late.fold((0.0, 0.0), |(sum, n), p| (sum + p.bandwidth, n + 1.0));
    all.insert("text-onset-goodput", sum / n / 1.05);
    let back = Samples::new(recoveries(trace, period, work));
    let said = format!("{} onsets, at most {:.1}", back.len(), back.percentile(10_000).value / RTT);
    all.insert_saying("text-onset-rtts", back.percentile(5000).value / RTT, said);
}

/// Microseconds from each onset until B_S is near its target again, having been below; none where it never was.
fn recoveries(trace: &[Point], period: f64, work: f64) -> Vec<f64> {
    let number = |p: &Point| (p.us / period) as u64;
    let near = |p: &Point| p.bandwidth > 0.9 * TARGET;
    let of_one = |points: &[Point]| {
        let begun = points.first().filter(|p| p.us % period < RTT).is_some();
        let below = points.iter().position(|p| !near(p)).filter(|_| begun)?;
        let back = points[below..].iter().find(|p| near(p));
        Some(back.map_or(work, |p| p.us % period).min(work))
    };
    trace.chunk_by(|a, b| number(a) == number(b)).filter_map(of_one).collect()
}

/// A MApp that changes faster than anything can come back from the sender.
fn within_a_round_trip(lab: &Lab, all: &mut MeasuredRows) {
    let setup = Setup { rests: BURSTS, ..lab.setup(false, 3) };
    let (with, without) = (lab.see(&setup.clone().with_hostcc()), lab.see(&setup));
    all.insert_saying("text-subrtt-goodput", with.goodput, with.levels_said());
    all.insert_ratio("text-subrtt-drops", with.drops, without.drops);
    all.insert("text-subrtt-memory", ratio(with.memory(), without.memory()));
}

/// I_S smoothed over more readings, and over none.
fn smoothing(lab: &Lab, all: &mut MeasuredRows) {
    let over = |smoothed| Control::HostCc(HostCc { smoothed, ..HostCc::of(false) });
    let [usual, slow] = [8, 256].map(|smoothed| {
        lab.see(&Setup { control: over(smoothed), ..resting(lab.setup(false, 3)) })
    });
    all.insert_ratio("text-ewma-slow-drops", slow.drops, usual.drops);
    let [usual, fast] = [8, 1].map(|smoothed| {
        lab.see(&Setup { control: over(smoothed), rests: BURSTS, ..lab.setup(false, 3) })
    });
    all.insert("text-ewma-fast-mapp", ratio(fast.mapp, usual.mapp));
}

/// MApp on the sender's host, queue pairs, a shorter way to the host, and Swift.
fn other_hosts(lab: &Lab, all: &mut MeasuredRows) {
    let run = |variant, cores, setup: fn(Setup) -> Setup| {
        lab.see(&setup(Setup { variant, ..lab.setup(false, cores) }))
    };
    let lost =
        |variant| 1.0 - ratio(run(variant, 3, |s| s).goodput, run(variant, 0, |s| s).goodput);
    let [sender, receiver] = [Variant::Sender, Variant::Usual].map(lost);
    let said = format!("{sender:.4} of {receiver:.4}");
    all.insert_saying("text-sender-less", ratio(sender, receiver), said);
    all.insert("text-sender-target", run(Variant::Sender, 3, Setup::with_hostcc).goodput);
    all.insert("text-rdma-loss", 1.0 - lost(Variant::Rdma));
    let near = run(Variant::Near, 3, |s| s);
    all.insert("text-cxl", ratio(near.goodput, lab.base(false, 3).goodput));
    let throttled = HostCc { echo: false, ..HostCc::of(false) };
    let swift = Setup { variant: Variant::Swift, ..lab.setup(false, 3) };
    let with = lab.see(&Setup { control: Control::HostCc(throttled), ..swift.clone() });
    all.insert("text-swift-goodput", with.goodput);
    all.insert_ratio("text-swift-drops", with.drops, lab.see(&swift).drops);
}

/// Levels that are in force sooner, beside a MApp that changes within a round trip, and more of them, beside one that never rests: memory bandwidth used
/// over that with MBA as it is (sections 5.1 and 6).
fn actuators(lab: &Lab, all: &mut MeasuredRows) {
    for (id, keys, rests) in [
        ("text-actuator-faster", "throttle = { write = \"1us\" }\n", BURSTS),
        ("text-actuator-finer", "throttle = { actuator = \"delay\", slowing = 10 }\n", (0, 0)),
    ] {
        let run = |keys| {
            let setup = Setup { rests, changed: (keys, ""), ..lab.setup(false, 3) };
            lab.see(&setup.with_hostcc())
        };
        let (usual, with) = (run(""), run(keys));
        let said = format!(
            "goodput {:.1} for {:.1} Gb/s, MApp {:.2} for {:.2} GB/s; {}",
            with.goodput,
            usual.goodput,
            with.mapp,
            usual.mapp,
            with.levels_said()
        );
        all.insert_saying(id, ratio(with.memory(), usual.memory()), said);
    }
}

/// Bytes of a line, and IIO slots.
const LINE: f64 = 64.0;
const SLOTS: f64 = 93.0;

/// Sections 3.1 and 4.2: a full IIO carries its bytes in the latency of a slot, and a core its line-fill buffers in the latency of a read.
fn bounds(lab: &Lab, all: &mut MeasuredRows) {
    let full = lab.base(false, 3);
    let said = format!("{:.1} lines for {:.0} ns", full.occupancy, full.slot_ns);
    all.insert_saying(
        "text-pcie-by-latency",
        full.pcie / (SLOTS * LINE * 8.0 / full.slot_ns),
        said,
    );
    let one = lab.base(false, 1);
    let setup = lab.setup(false, 1);
    let reads = one.mapp / setup.traffic_per_read();
    let bound = setup.lines_in_flight() * LINE / one.read_ns;
    all.insert("text-core-by-latency", reads / bound);
}

/// Page walks of an IOMMU, which hold slots as congested memory does.
fn walks(lab: &Lab, all: &mut MeasuredRows) {
    let with =
        |cores| Setup { changed: ("iommu_walk = \"600ns\"\n", ""), ..lab.setup(false, cores) };
    all.insert("text-iommu-loss", ratio(lab.see(&with(0)).goodput, lab.base(false, 0).goodput));
    let (held, free) = (lab.see(&with(1).with_hostcc()), lab.see(&with(1)));
    let said = format!("MApp {:.1} of {:.1} GB/s", held.mapp, free.mapp);
    all.insert_saying("text-iommu-throttle", ratio(held.goodput, free.goodput), said);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recovery_is_counted_from_its_onset() {
        let points = |of: &[(f64, f64)]| -> Vec<Point> {
            let point = |&(us, bandwidth): &(f64, f64)| Point { us, bandwidth, ..Point::default() };
            of.iter().map(point).collect()
        };
        let trace = points(&[(3000.0, 90.0), (3040.0, 60.0), (3100.0, 80.0), (3200.0, 60.0)]);
        assert_eq!(recoveries(&trace, 3000.0, 2000.0), [100.0]);
        // It never falls, it never comes back, its onset was not seen.
        assert!(recoveries(&trace[..1], 3000.0, 2000.0).is_empty());
        assert_eq!(recoveries(&trace[..2], 3000.0, 2000.0), [2000.0]);
        assert!(recoveries(&trace[2..], 3000.0, 2000.0).is_empty());
    }
}
