//! Figures 10, 11, 13, 14, 16 and 17: hostCC beside DCTCP alone.

use super::dctcp::sized;
use super::lab::Lab;
use super::outcome::Outcome;
use super::ratio;
use super::setup::{Control, HostCc, Setup, Variant};
use crate::measured::MeasuredRows;

/// The second reading of MApp, which the paper does not have: it works for 2 ms and rests for 1 ms, in turn.
pub(super) fn resting(setup: Setup) -> Setup {
    Setup { rests: (2000, 1000), ..setup }
}

/// Runs beside a MApp that rests, with hostCC and without.
fn with_rests(lab: &Lab, ddio: bool, cores: u32) -> (&Outcome, &Outcome) {
    let setup = resting(lab.setup(ddio, cores));
    (lab.see(&setup.clone().with_hostcc()), lab.see(&setup))
}

/// What Figures 10 and 14 have in common: DDIO off and on.
fn degrees(figure: &str, ddio: bool, lab: &Lab, all: &mut MeasuredRows) {
    for cores in [0, 1] {
        let value = ratio(lab.hostcc(ddio, cores).goodput, lab.base(ddio, cores).goodput);
        let lines = lab.base(ddio, cores).occupancy;
        let said = format!("without hostCC {lines:.1} lines are in slots in the mean");
        all.insert_saying(format!("{figure}-{cores}x-same"), value, said);
    }
    for cores in [2, 3] {
        let (with, without) = (lab.hostcc(ddio, cores), lab.base(ddio, cores));
        all.insert_saying(format!("{figure}-{cores}x-goodput"), with.goodput, with.levels_said());
        all.insert_ratio(format!("{figure}-{cores}x-drops"), with.drops, without.drops);
    }
}

/// Figure 10: 0x to 3x, DDIO off.
pub(super) fn figure_10(lab: &Lab, all: &mut MeasuredRows) {
    degrees("fig10", false, lab, all);
    for cores in [2, 3] {
        let (with, without) = (lab.hostcc(false, cores), lab.base(false, cores));
        let share = |of: &Outcome| of.mapp / of.memory();
        let sent_again = [with.retransmits, without.retransmits];
        all.insert_of(
            format!("fig10-{cores}x-retransmits"),
            ratio(sent_again[0], sent_again[1]),
            ("retransmission", sent_again),
            with.levels_said(),
        );
        for (what, value) in [
            ("mapp", ratio(with.mapp, without.mapp)),
            ("mapp-share", ratio(share(with), share(without))),
            ("memory", ratio(with.memory(), without.memory())),
            ("memory-less", ratio(with.memory(), without.memory())),
        ] {
            all.insert_saying(format!("fig10-{cores}x-{what}"), value, with.levels_said());
        }
    }
    for cores in if lab.quick { 3..4 } else { 2..4 } {
        let (with, without) = with_rests(lab, false, cores);
        for (what, of) in [
            ("drops", [with.drops, without.drops]),
            ("retransmits", [with.retransmits, without.retransmits]),
        ] {
            let id = format!("fig10-{cores}x-{what}-resting");
            all.insert_saying(id, ratio(of[0], of[1]), per_cent(of));
        }
    }
}

/// Two drop rates, with hostCC and without.
fn per_cent([with, without]: [f64; 2]) -> String {
    format!("{with:.4} of {without:.4} %")
}

/// Figure 14: the same with DDIO on.
pub(super) fn figure_14(lab: &Lab, all: &mut MeasuredRows) {
    degrees("fig14", true, lab, all);
    all.insert_ratio("fig14-3x-drop-factor", lab.hostcc(true, 3).drops, lab.base(true, 3).drops);
    for cores in [1, 2, 3] {
        let [on, off] = [true, false].map(|ddio| lab.hostcc(ddio, cores));
        all.insert(format!("fig14-{cores}x-mapp"), ratio(on.mapp, off.mapp));
        let share = |of: &Outcome| ratio(of.mapp, of.memory());
        all.insert(format!("fig14-{cores}x-share"), ratio(share(on), share(off)));
    }
    if lab.quick {
        return;
    }
    for (cores, what) in [(2, "drops"), (3, "drop-factor")] {
        let (with, without) = with_rests(lab, true, cores);
        let of = [with.drops, without.drops];
        all.insert_saying(
            format!("fig14-{cores}x-{what}-resting"),
            ratio(of[0], of[1]),
            per_cent(of),
        );
    }
    let of = [true, false].map(|ddio| with_rests(lab, ddio, 3).0.drops);
    all.insert_ratio("fig14-3x-higher-resting", of[0], of[1]);
}

/// Figure 11: packet sizes and numbers of flows at 3x.
pub(super) fn figure_11(lab: &Lab, all: &mut MeasuredRows) {
    for (name, mtu, flows) in
        [("mtu-1500", 1500, 4), ("mtu-9000", 9000, 4), ("flows-8", 4000, 8), ("flows-16", 4000, 16)]
    {
        let setup = sized(lab, false, mtu, flows);
        let (without, with) = (lab.see(&setup), lab.see(&setup.clone().with_hostcc()));
        all.insert(format!("fig11-{name}-goodput"), with.goodput);
        all.insert_ratio(format!("fig11-{name}-drops"), with.drops, without.drops);
    }
}

/// Numbers of flows of Figure 13.
pub(super) const INCAST: [u32; 4] = [4, 6, 8, 10];

/// A setup of Figure 13.
pub(super) fn incast(lab: &Lab, cores: u32, flows: u32) -> Setup {
    Setup { flows, senders: 2, ..lab.setup(false, cores) }
}

/// Figure 13: two senders share the receiver's port, without and with MApp.
pub(super) fn figure_13(lab: &Lab, all: &mut MeasuredRows) {
    for flows in INCAST {
        let [(free, free_with), (busy, busy_with)] = [0, 3].map(|cores| {
            let setup = incast(lab, cores, flows);
            (lab.see(&setup), lab.see(&setup.clone().with_hostcc()))
        });
        // What the paper compares there is how both take the drops of the switch.
        all.insert_of(
            format!("fig13a-{flows}-same"),
            ratio(free_with.goodput, free.goodput),
            ("loss in the switch", [free_with.retransmits, free.retransmits]),
            String::new(),
        );
        all.insert(format!("fig13b-{flows}-dctcp"), busy.goodput);
        all.insert(format!("fig13b-{flows}-goodput"), busy_with.goodput);
        let id = format!("fig13b-{flows}-drops");
        all.insert_ratio(id, busy_with.retransmits, busy.retransmits);
    }
    let retransmits = |flows| lab.see(&incast(lab, 0, flows)).retransmits;
    all.insert("fig13a-rise", retransmits(10) - retransmits(4));
    unmarked(lab, all);
}

/// Figure 13a where the switch drops: the reading -noecn.
fn unmarked(lab: &Lab, all: &mut MeasuredRows) {
    let setup = |flows| Setup { variant: Variant::Unmarked, ..incast(lab, 0, flows) };
    let free = |flows| lab.see(&setup(flows));
    for flows in if lab.quick { &[4, 10][..] } else { &INCAST } {
        let (free, with) = (free(*flows), lab.see(&setup(*flows).with_hostcc()));
        all.insert(format!("fig13a-{flows}-same-noecn"), ratio(with.goodput, free.goodput));
        let again = [with.retransmits, free.retransmits];
        let id = format!("fig13a-{flows}-drops-noecn");
        all.insert_of(id, ratio(again[0], again[1]), ("", again), per_cent(again));
    }
    all.insert("fig13a-rise-noecn", free(10).retransmits - free(4).retransmits);
}

/// Targets of Figure 16, Gb/s.
pub(super) const TARGETS: [u32; 9] = [20, 30, 40, 50, 60, 70, 80, 90, 100];

/// hostCC at 3x with one parameter changed.
fn tuned(lab: &Lab, hostcc: HostCc) -> &Outcome {
    lab.see(&Setup { control: Control::HostCc(hostcc), ..lab.setup(false, 3) })
}

/// A run of Figure 16.
pub(super) fn targeted(lab: &Lab, target: u32) -> &Outcome {
    tuned(lab, HostCc { target, ..HostCc::of(false) })
}

/// A run of Figure 16 with a MApp that rests.
pub(super) fn targeted_resting(lab: &Lab, target: u32) -> &Outcome {
    let control = Control::HostCc(HostCc { target, ..HostCc::of(false) });
    lab.see(&Setup { control, ..resting(lab.setup(false, 3)) })
}

/// Figure 16: B_T.
pub(super) fn figure_16(lab: &Lab, all: &mut MeasuredRows) {
    for target in TARGETS {
        let run = targeted(lab, target);
        all.insert(format!("fig16-{target}-goodput"), run.goodput);
        if target < 40 {
            all.insert(format!("fig16-{target}-drops"), run.drops);
        }
    }
    let most_of = |targets: &[u32], of: fn(&Lab, u32) -> &Outcome| {
        targets.iter().map(|t| of(lab, *t).drops).fold(f64::NAN, f64::max)
    };
    let most = |targets: &[u32]| most_of(targets, targeted);
    let shape = |of| most_of(&[40, 50, 60, 70, 80], of) - most_of(&[20, 100], of);
    all.insert_ratio("fig16-all-drops", most(&TARGETS), lab.base(false, 3).drops);
    all.insert("fig16-shape", shape(targeted));
    let steps = TARGETS.windows(2);
    let steps = steps.map(|two| ratio(targeted(lab, two[1]).mapp, targeted(lab, two[0]).mapp));
    all.insert("fig16-mapp-falls", steps.fold(f64::NAN, f64::max));
    all.insert("fig16-mapp", ratio(targeted(lab, 40).mapp, targeted(lab, 80).mapp));
    all.insert("fig16-shape-resting", shape(targeted_resting));
    all.insert("fig16-20-drops-resting", targeted_resting(lab, 20).drops);
    if !lab.quick {
        all.insert("fig16-30-drops-resting", targeted_resting(lab, 30).drops);
        let of = [most_of(&TARGETS, targeted_resting), with_rests(lab, false, 3).1.drops];
        all.insert_saying("fig16-all-drops-resting", ratio(of[0], of[1]), per_cent(of));
    }
}

/// Thresholds of Figure 17, lines.
pub(super) const THRESHOLDS: [u32; 6] = [60, 66, 70, 75, 80, 90];

/// A run of Figure 17.
pub(super) fn at_threshold(lab: &Lab, threshold: u32) -> &Outcome {
    tuned(lab, HostCc { threshold, ..HostCc::of(false) })
}

/// A run of Figure 17 with a MApp that rests.
pub(super) fn at_threshold_resting(lab: &Lab, threshold: u32) -> &Outcome {
    let control = Control::HostCc(HostCc { threshold, ..HostCc::of(false) });
    lab.see(&Setup { control, ..resting(lab.setup(false, 3)) })
}

/// Figure 17: I_T.
pub(super) fn figure_17(lab: &Lab, all: &mut MeasuredRows) {
    let [low, high] = [60, 90].map(|threshold| at_threshold(lab, threshold));
    all.insert("fig17-drops", high.drops - low.drops);
    all.insert("fig17-mapp", ratio(high.mapp, low.mapp));
    let steps = THRESHOLDS[1..].windows(2);
    let steps =
        steps.map(|two| ratio(at_threshold(lab, two[1]).mapp, at_threshold(lab, two[0]).mapp));
    all.insert("fig17-mapp-rises", steps.fold(f64::NAN, f64::min));
    if !lab.quick {
        let drops = |threshold| at_threshold_resting(lab, threshold).drops;
        all.insert("fig17-drops-resting", drops(90) - drops(60));
    }
}
