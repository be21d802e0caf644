//! Values that programs gave in a kernel, or that arithmetic gives.

use crate::common::Rig;
use forebay_laws::kernel::{AckSample, Event, Program, ca_state};
use forebay_units::Span;

#[test]
fn reno_grows_as_in_the_kernel() {
    let mut rig = Rig::new(forebay_bpf::RENO, &[], 10);
    rig.sk.set_snd_ssthresh(12);
    let steps = [(1, 11, 0), (3, 12, 2), (9, 12, 11), (1, 13, 0), (13, 14, 0), (40, 16, 12)];
    for (acked, cwnd, count) in steps {
        assert_eq!(rig.grow(acked), (cwnd, count), "acked {acked}");
    }
    rig.sk.set_snd_ssthresh(100);
    rig.sk.set_is_cwnd_limited(0);
    rig.sk.set_max_packets_out(8);
    assert_eq!(rig.grow(4).0, 16, "the window was not full");
    rig.sk.set_max_packets_out(9);
    assert_eq!(rig.grow(4).0, 20, "slow start reaches twice what was out");
    assert_eq!(rig.ssthresh(), 10);
    rig.sk.set_prior_cwnd(31);
    assert_eq!(rig.module.undo_cwnd(&mut rig.sk), Ok(31));
}

/// Alpha after a window in which so many packets were delivered and marked.
fn window(rig: &mut Rig, delivered: u32, marked: u32) -> u32 {
    let end = rig.private(1);
    rig.sk.set_snd_una(end);
    rig.sk.set_snd_nxt(end + 100);
    let (all, ce) = (rig.sk.delivered() + delivered, rig.sk.delivered_ce() + marked);
    rig.sk.set_delivered(all);
    rig.sk.set_delivered_ce(ce);
    rig.module.in_ack_event(&mut rig.sk, 0).expect("an ACK");
    rig.private(0)
}

#[test]
fn dctcp_moves_alpha_as_in_the_kernel() {
    let mut rig = Rig::new(forebay_bpf::DCTCP, &[], 100);
    rig.init();
    assert_eq!(rig.private(0), 1024);
    let windows = [(25, 976, 53), (0, 915, 56), (100, 922, 55), (1, 865, 58), (0, 811, 61)];
    for (marked, alpha, ssthresh) in windows {
        assert_eq!(window(&mut rig, 100, marked), alpha, "{marked} marked");
        assert_eq!(rig.ssthresh(), ssthresh, "alpha {alpha}");
    }
    rig.sk.set_snd_cwnd(3);
    assert_eq!(rig.ssthresh(), 2);
    rig.sk.set_snd_cwnd(101);
    rig.module.set_state(&mut rig.sk, ca_state::RECOVERY).expect("a state");
    assert_eq!(rig.sk.snd_ssthresh(), 50);
    rig.sk.set_snd_cwnd(50);
    assert_eq!(rig.module.undo_cwnd(&mut rig.sk), Ok(101));
    for nth in 1..=71 {
        let alpha = window(&mut rig, 100, 0);
        assert_eq!(alpha == 0, nth == 71, "clean window {nth}: {alpha}");
    }
}

#[test]
fn dctcp_halves_once_on_a_timeout_and_on_a_loss() {
    let mut rig = Rig::new(forebay_bpf::DCTCP, &[], 100);
    rig.init();
    rig.module.cwnd_event(&mut rig.sk, Event::Loss).expect("an event");
    assert_eq!(rig.sk.snd_ssthresh(), 50);
    // In Recovery already, so nothing is cut again.
    rig.sk.set_icsk_ca_state(ca_state::RECOVERY);
    rig.sk.set_snd_cwnd(60);
    rig.module.set_state(&mut rig.sk, ca_state::RECOVERY).expect("a state");
    assert_eq!(rig.sk.snd_ssthresh(), 50);
}

#[test]
fn cubic_grows_as_in_the_kernel() {
    let known = [
        (70, 70),
        (70, 23),
        (71, 14),
        (72, 11),
        (73, 12),
        (74, 10),
        (75, 9),
        (77, 9),
        (78, 9),
        (79, 9),
        (80, 9),
        (81, 8),
        (82, 9),
        (83, 9),
        (84, 9),
        (86, 9),
        (86, 12),
        (88, 10),
        (88, 12),
        (89, 11),
    ];
    for hz in ["1000", "250"] {
        let mut rig = Rig::new(forebay_bpf::CUBIC, &[("hz", hz)], 100);
        rig.init();
        rig.pass(Span::from_ms(10));
        let sample = AckSample { pkts_acked: 1, rtt_us: 10_000, in_flight: 0 };
        rig.module.pkts_acked(&mut rig.sk, &sample).expect("a sample");
        assert_eq!(rig.ssthresh(), 70);
        rig.sk.set_snd_ssthresh(70);
        rig.sk.set_snd_cwnd(70);
        for nth in 0..40 {
            rig.pass(Span::from_ms(100));
            rig.grow(10);
            let seen = (rig.sk.snd_cwnd(), rig.private(0));
            if let Some(known) = known.get(nth) {
                assert_eq!(seen, *known, "call {nth} at HZ {hz}");
            }
            if nth == 0 {
                assert_eq!(rig.private(6), 4316, "K");
            }
            if nth == 39 {
                assert_eq!(seen, (98, 49));
            }
        }
        assert_eq!(rig.ssthresh(), 68);
        assert_eq!(rig.private(1), 83, "the window that it goes back to");
    }
}

#[test]
fn halve_keeps_the_share_that_a_parameter_says() {
    for (keep, ssthresh) in [("512", 50), ("717", 70), ("1", 2)] {
        let mut rig = Rig::new(forebay_bpf::HALVE, &[("keep", keep)], 100);
        assert_eq!(rig.ssthresh(), ssthresh, "{keep}");
    }
    let object = forebay_bpf_law::Object::read(forebay_bpf::HALVE).expect("it loads");
    let law = object.law("bpf:halve.bpf.o").expect("a law");
    let names: Vec<_> = law.info().params().iter().map(|of| of.name).collect();
    assert_eq!(names, ["hz", "ops", "keep"]);
    assert!(law.ops().needs_ecn);
}
