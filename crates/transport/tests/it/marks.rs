//! ECN: classic and exact echo, and the reduction they cause.

use crate::common::{Fate, MSS, Pipe, at_us, config};
use forebay_laws::flow::{CaState, Echo, FlowParams, Needs};
use forebay_settings::QueueLength;
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{Ecn, Flags, FlowId, HostAddr, Kind, Packet};

const RTT: Span = Span::from_us(100);

fn data(cfg: &forebay_transport::TcpConfig, k: u64, ecn: Ecn, flags: Flags) -> Packet {
    Packet {
        seq: k * MSS,
        size: (MSS + cfg.header.get()) as u16,
        kind: Kind::Data,
        ecn,
        flags,
        ..Packet::default()
    }
}

#[test]
fn only_new_data_is_ecn_capable() {
    let mut pipe =
        Pipe::new(config("dctcp"), "dctcp", Bytes::new(300 * MSS), RTT).drop_data(&[20, 22]);
    pipe.finish();
    assert!(pipe.sent.iter().all(|s| (s.ecn == Ecn::Ect) != s.retransmission));
    assert!(pipe.acks.iter().all(|(_, ack)| ack.ecn == Ecn::NotEct));
    let mut pipe = Pipe::new(config("reno"), "reno", Bytes::new(300 * MSS), RTT);
    pipe.finish();
    assert!(pipe.sent.iter().all(|s| s.ecn == Ecn::NotEct));
}

#[test]
fn alternating_marks_are_counted_to_within_a_packet() {
    for period in [1, 2, 3, 5] {
        let mut cfg = config("dctcp");
        cfg.delayed_ack = true;
        cfg.receive_window = Some(Bytes::new(40 * 1024));
        let marked = move |n: u64| (n / period) % 2 == 1;
        let mut pipe = Pipe::new(cfg, "dctcp", Bytes::new(4_001 * MSS), RTT)
            .nic(100)
            .data(move |_, n| if marked(n) { Fate::Mark } else { Fate::Pass });
        pipe.finish();
        let truth = (0..4_001).filter(|n| marked(*n)).count() as u64 * MSS;
        let seen = pipe.sender.totals().delivered_ce;
        assert!(seen.abs_diff(truth) <= MSS, "period {period}: {seen} of {truth}");
        assert!(period <= 2 || pipe.acks.len() < 4_001, "ACKs are delayed in between");
    }
}

#[test]
fn exact_echo_flushes_the_pending_ack_in_the_old_state() {
    let mut cfg = config("dctcp");
    (cfg.delayed_ack, cfg.quick_acks) = (true, 0);
    let mut receiver =
        forebay_transport::TcpReceiver::new(&cfg, FlowId(0), HostAddr { tor: 0, port: 0 });
    let mut take = |k, ecn| {
        let packet = data(&cfg, k, ecn, Flags::NONE);
        receiver
            .on_data(&cfg, Time::ZERO, &packet)
            .map(|ack| ack.map(|ack| (ack.seq / MSS, ack.flags.has(Flags::ECE))))
    };
    assert_eq!(take(0, Ecn::Ect), [None, None]);
    assert_eq!(take(1, Ecn::Ce), [Some((1, false)), Some((2, true))]);
    assert_eq!(take(2, Ecn::Ce), [None, None]);
    assert_eq!(take(3, Ecn::Ce), [None, Some((4, true))]);
    assert_eq!(take(4, Ecn::Ect), [None, Some((5, false))], "nothing was pending");
    assert_eq!(take(5, Ecn::Ect), [None, None]);
    assert_eq!(take(6, Ecn::Ce), [Some((6, false)), Some((7, true))]);
}

#[test]
fn classic_echo_lasts_until_the_sender_has_reduced() {
    let mut cfg = config("reno");
    cfg.needs = Needs { echo: Echo::Classic, ..Needs::NONE };
    let mut receiver =
        forebay_transport::TcpReceiver::new(&cfg, FlowId(0), HostAddr { tor: 0, port: 0 });
    let mut take = |k, ecn, flags| {
        let acks = receiver.on_data(&cfg, Time::ZERO, &data(&cfg, k, ecn, flags));
        acks[1].unwrap().flags.has(Flags::ECE)
    };
    assert!(!take(0, Ecn::Ect, Flags::NONE));
    assert!(take(1, Ecn::Ce, Flags::NONE));
    assert!(take(2, Ecn::Ect, Flags::NONE));
    assert!(!take(3, Ecn::Ect, Flags::CWR));
    assert!(!take(4, Ecn::Ect, Flags::NONE));
    assert!(take(5, Ecn::Ce, Flags::CWR));
}

/// Reno with classic ECN and a window of 20 that has left slow start.
fn classic() -> Pipe {
    let mut law = FlowParams::new("reno").unwrap();
    law.set("ecn", "true").unwrap();
    let mut cfg = config("reno");
    cfg.needs = law.needs();
    cfg.initial_window = QueueLength::Bytes(Bytes::new(20 * MSS));
    Pipe::with_spec(cfg, &law, Bytes::new(3_000 * MSS), false, RTT).nic(100)
}

#[test]
fn one_reduction_per_window_walked_by_prr() {
    let mut pipe =
        classic().data(|_, n| if n < 40 && n % 3 == 0 { Fate::Mark } else { Fate::Pass });
    pipe.run_until(at_us(110));
    assert_eq!(pipe.sender.totals().state, CaState::Cwr);
    assert_eq!(pipe.sender.ssthresh(), Bytes::new(10 * MSS));
    let second: Vec<_> = pipe.sent[20..].to_vec();
    assert!((9..=11).contains(&second.len()), "half of the window leaves: {}", second.len());
    assert_eq!(second.iter().filter(|s| s.flags.has(Flags::CWR)).count(), 1);
    assert!(second[0].flags.has(Flags::CWR) || second[1].flags.has(Flags::CWR));
    // The second window's marks cut once more, when its first ACK above that window is in.
    pipe.run_until(at_us(190));
    assert_eq!(pipe.sender.ssthresh(), Bytes::new(10 * MSS));
    pipe.run_until(at_us(290));
    assert_eq!(pipe.sender.ssthresh(), Bytes::new(5 * MSS));
    pipe.finish();
    assert_eq!(pipe.sender.retransmits(), 0);
}

#[test]
fn a_law_with_its_own_cwr_has_its_window_at_once() {
    let mut cfg = config("dctcp");
    cfg.initial_window = QueueLength::Bytes(Bytes::new(20 * MSS));
    let mut pipe = Pipe::new(cfg, "dctcp", Bytes::new(3_000 * MSS), RTT)
        .nic(100)
        .data(|_, n| if n == 0 { Fate::Mark } else { Fate::Pass });
    pipe.run_until(at_us(101));
    assert_eq!(pipe.sender.totals().state, CaState::Cwr);
    assert!(pipe.sender.cwnd() < Bytes::new(20 * MSS));
    assert_eq!(pipe.sender.cwnd(), pipe.sender.ssthresh());
    pipe.run_until(at_us(230));
    assert_eq!(pipe.sender.totals().state, CaState::Open);
}

#[test]
fn loss_in_a_marked_window_halves_once_more_only_under_dctcp() {
    for (law, halvings) in [("reno", 1), ("dctcp", 2)] {
        let mut params = FlowParams::new(law).unwrap();
        if law == "reno" {
            params.set("ecn", "true").unwrap();
        }
        let mut cfg = config(law);
        cfg.needs = params.needs();
        cfg.initial_window = QueueLength::Bytes(Bytes::new(64 * MSS));
        let mut pipe = Pipe::with_spec(cfg, &params, Bytes::new(3_000 * MSS), false, RTT)
            .nic(100)
            .data(|_, n| match n {
                0 => Fate::Mark, // alpha is 1: DCTCP halves too
                30 => Fate::Drop,
                _ => Fate::Pass,
            });
        pipe.run_until(at_us(150));
        assert_eq!(pipe.sender.totals().state, CaState::Recovery, "{law}");
        let expected = (64 * MSS) >> halvings;
        assert_eq!(pipe.sender.ssthresh().get() / MSS, expected / MSS, "{law}");
        pipe.finish();
        assert_eq!(pipe.sender.timeouts(), 0);
    }
}

#[test]
fn a_queue_held_by_dctcp_stays_near_its_threshold() {
    let mut cfg = config("dctcp");
    cfg.delayed_ack = true;
    let mut pipe =
        Pipe::new(cfg, "dctcp", Bytes::new(40_000 * MSS), Span::from_us(80)).nic(40).link(10);
    pipe.mark_at = Bytes::new(30_000);
    let end = pipe.finish();
    let ideal = 40_000.0 * 1500.0 * 0.8e-9;
    let share = ideal / end.as_secs_f64();
    assert!(share > 0.97, "goodput {share}");
    assert_eq!(pipe.sender.retransmits(), 0);
    assert!(pipe.sender.cwnd() < Bytes::new(200_000));
}
