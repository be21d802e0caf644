//! Loss recovery: RACK, PRR, undo, F-RTO, NewReno.

use crate::common::{Fate, MSS, Pipe, at_us, config, us};
use forebay_laws::flow::CaState;
use forebay_settings::QueueLength;
use forebay_transport::TcpConfig;
use forebay_units::{Bytes, Span};

const RTT: Span = Span::from_us(100);

/// Per-packet ACKs, an initial window of `window` segments.
fn with_window(window: u64) -> TcpConfig {
    let mut cfg = config("reno");
    cfg.initial_window = QueueLength::Bytes(Bytes::new(window * MSS));
    cfg
}

/// A pipe of 100 segments: 1,500 B at 100 Gb/s leave each 120 ns, and 100 of them fill the window.
/// The round-trip time is long against the burst, so that everything of one window is one burst.
fn hundred(drops: &[u64]) -> Pipe {
    Pipe::new(with_window(100), "reno", Bytes::MAX, Span::from_us(100)).nic(100).drop_data(drops)
}

#[test]
fn prr_sends_half_a_window_over_the_recovery_round_trip() {
    let mut pipe = hundred(&[0]);
    // The window left in the first 12 us; ACKs return from 100 us on, the last of them at 112 us.
    pipe.run_until(at_us(113));
    let recovery: Vec<_> = pipe.sent[100..].to_vec();
    assert_eq!(recovery.iter().filter(|s| s.retransmission).count(), 1);
    let sent = recovery.len();
    assert_eq!(sent, 50, "transmissions over the recovery round trip, the repair among them");
    assert!(pipe.sends_per_ack.iter().all(|n| *n <= 1), "at most one packet per ACK");
    // One per two ACKs once it runs.
    let pairs = pipe.sends_per_ack[10..90].chunks(2);
    assert!(pairs.into_iter().all(|pair| pair.iter().sum::<u32>() == 1));
    assert_eq!(pipe.sender.totals().state, CaState::Recovery);
    pipe.run_until(at_us(205));
    assert_eq!(pipe.sender.totals().state, CaState::Open);
    assert_eq!(pipe.sender.cwnd().get(), 50 * MSS, "window at the end");
    assert!(pipe.sends_per_ack.iter().all(|n| *n <= 1));
    assert_eq!(pipe.sender.timeouts(), 0);
}

#[test]
fn a_hole_is_filled_at_the_third_sack_without_a_wait() {
    let mut pipe = hundred(&[40]);
    pipe.run_until(at_us(113));
    let lost = pipe.sends_of(40 * MSS);
    assert_eq!(lost.len(), 2);
    // ACKs of segments 41, 42, 43 carry the first three SACKs.
    let third = pipe.acks.iter().filter(|(_, ack)| ack.sacks > 0).nth(2).unwrap().0;
    assert_eq!(lost[1].at, third);
}

/// Without RACK, distance alone counts: three segments above, whenever they left.
#[test]
fn without_rack_the_third_segment_above_a_hole_condemns_it() {
    let mut cfg = with_window(100);
    cfg.rack = false;
    let mut pipe = Pipe::new(cfg, "reno", Bytes::MAX, RTT).nic(100).drop_data(&[40, 41]);
    pipe.run_until(at_us(113));
    let sacks: Vec<_> = pipe.acks.iter().filter(|(_, ack)| ack.sacks > 0).map(|a| a.0).collect();
    // Segment 42 is two above segment 40 and one above 41, and so on.
    assert_eq!(pipe.sends_of(40 * MSS)[1].at, sacks[1], "42 and 43 are known: 43 is three above");
    assert!(pipe.sends_of(41 * MSS)[1].at >= sacks[2]);
    assert_eq!(pipe.sender.timeouts(), 0);
}

/// Linux 2.6.24 to 4.3, `tcp_mark_lost_retrans`: what left after a retransmission arrives before it. At the end of a flow
/// nothing does.
#[test]
fn without_rack_a_lost_retransmission_is_known_by_the_data_that_overtakes_it() {
    for (rack, segments, timeouts) in [(true, 200, 0), (false, 200, 0), (false, 20, 1)] {
        let mut cfg = with_window(20);
        (cfg.rack, cfg.tail_loss_probe) = (rack, false);
        let mut lost = 0;
        let mut pipe = Pipe::new(cfg, "reno", Bytes::new(segments * MSS), RTT).data(move |p, _| {
            let hit = p.seq == 10 * MSS && lost < 2;
            lost += u32::from(hit);
            if hit { Fate::Drop } else { Fate::Pass }
        });
        pipe.finish();
        assert_eq!(pipe.sender.timeouts(), timeouts, "rack = {rack}, {segments} segments");
        let sends = pipe.sends_of(10 * MSS);
        assert_eq!(sends.len(), 3);
        let waited = sends[2].at.since(sends[1].at);
        assert_eq!(waited < RTT * 2, timeouts == 0, "{waited:?}");
    }
}

#[test]
fn a_segment_sent_much_later_condemns_at_once() {
    // Two segments more than a quarter of the round-trip time apart: one SACK is enough.
    let cfg = with_window(10);
    let law = forebay_laws::flow::FlowParams::new("reno").unwrap();
    let mut pipe = Pipe::with_spec(cfg, &law, Bytes::new(4 * MSS), true, RTT);
    pipe.run_until(at_us(1_000));
    let mut pipe = pipe.drop_data(&[4]);
    pipe.sender.app_write(Bytes::new(MSS), false);
    pipe.run_until(at_us(1_030));
    pipe.sender.app_write(Bytes::new(MSS), false);
    pipe.run_until(at_us(1_200));
    let sends = pipe.sends_of(4 * MSS);
    assert_eq!(us(sends[1].at), 1_130.0);
}

#[test]
fn third_from_last_is_repaired_after_the_reordering_wait() {
    let cfg = with_window(10);
    let law = forebay_laws::flow::FlowParams::new("reno").unwrap();
    let mut pipe = Pipe::with_spec(cfg, &law, Bytes::new(4 * MSS), true, RTT);
    pipe.run_until(at_us(1_000));
    let mut pipe = pipe.drop_data(&[7]);
    pipe.sender.app_write(Bytes::new(6 * MSS), true); // segments 4 to 9
    pipe.finish();
    let sends = pipe.sends_of(7 * MSS);
    let after = us(sends[1].at) - 1_000.0;
    // 1.25 round trips and the kernel's least timer.
    assert!((2_100.0..=2_130.0).contains(&after), "{after} us");
    assert_eq!(pipe.sender.timeouts() + pipe.sender.probes(), 0);
}

#[test]
fn many_holes_are_repaired_without_a_timeout() {
    let drops: Vec<u64> = (0..30).map(|i| 3 * i + 2).collect();
    let mut pipe =
        Pipe::new(with_window(100), "reno", Bytes::new(1000 * MSS), RTT).nic(100).drop_data(&drops);
    pipe.finish();
    assert_eq!(pipe.sender.retransmits(), 30);
    assert_eq!(pipe.sender.timeouts(), 0);
}

#[test]
fn a_lost_retransmission_is_sent_again_without_a_timeout() {
    let mut first = true;
    let mut pipe = Pipe::new(with_window(100), "reno", Bytes::new(2000 * MSS), RTT).nic(100).data(
        move |packet, n| {
            let again = packet.seq == 20 * MSS && n != 20;
            let drop = n == 20 || (again && core::mem::take(&mut first));
            if drop { Fate::Drop } else { Fate::Pass }
        },
    );
    pipe.finish();
    assert_eq!(pipe.sends_of(20 * MSS).len(), 3);
    assert_eq!(pipe.sender.timeouts(), 0);
}

#[test]
fn loss_of_a_whole_window_starts_over_in_slow_start() {
    let lost = |n: u64| (150..311).contains(&n); // a window of 160, and the probe
    let mut pipe = Pipe::new(with_window(10), "reno", Bytes::new(400 * MSS), RTT)
        .data(move |_, n| if lost(n) { Fate::Drop } else { Fate::Pass });
    pipe.finish();
    assert!(pipe.sender.timeouts() >= 1);
    assert!(pipe.receiver.complete());
    assert_eq!(pipe.sender.undos(), 0);
}

#[test]
fn a_delay_spike_makes_a_timeout_that_frto_takes_back() {
    for timestamps in [false, true] {
        let mut cfg = config("reno");
        cfg.timestamps = timestamps;
        cfg.tail_loss_probe = false;
        let mut pipe =
            Pipe::new(cfg, "reno", Bytes::new(500 * MSS), RTT)
                // One window of ACKs comes 300 ms late.
                .ack(|_, n| {
                    if (70..150).contains(&n) { Fate::Late(Span::from_ms(300)) } else { Fate::Pass }
                });
        pipe.run_until(at_us(200_000));
        let before = pipe.sender.cwnd();
        pipe.finish();
        assert_eq!(pipe.sender.timeouts(), 1);
        assert_eq!(pipe.sender.undos(), 1);
        assert!(pipe.sender.cwnd() >= before, "the window is back");
        assert_eq!(pipe.sender.ssthresh(), Bytes::MAX);
        assert!(pipe.sender.retransmits() <= 2);
    }
}

#[test]
fn a_path_that_holds_everything_back_is_told_from_loss_by_two_new_segments() {
    // What leaves between 300 us and 300 ms waits until then, in order: the first ACK covers only what
    // was retransmitted, the second one data that was not.
    for frto in [true, false] {
        let mut cfg = config("reno");
        (cfg.timestamps, cfg.tail_loss_probe, cfg.frto) = (false, false, frto);
        let until = 300_000_000_000u64;
        let mut pipe = Pipe::new(cfg, "reno", Bytes::new(500 * MSS), RTT).data(move |p, n| {
            let sent_ns = u64::from(p.stamp);
            match n {
                70.. if sent_ns * 1_000 < until => {
                    Fate::Late(Span::from_ps(until - sent_ns * 1_000) + Span::from_ns(n))
                }
                _ => Fate::Pass,
            }
        });
        pipe.run_until(at_us(300_100) + Span::from_ns(200));
        assert_eq!(pipe.sender.timeouts(), 1);
        if frto {
            assert_eq!(pipe.sender.retransmits(), 1);
            assert_eq!(pipe.sender.undos(), 1);
            assert_eq!(pipe.sender.ssthresh(), Bytes::MAX);
        } else {
            assert!(pipe.sender.retransmits() > 1);
        }
        pipe.finish();
    }
}

#[test]
fn what_left_after_the_newest_delivered_segment_is_not_condemned() {
    // One SACK, then silence: only the hole below it is repaired when the reordering timer fires.
    let mut pipe = Pipe::new(with_window(10), "reno", Bytes::new(10 * MSS), RTT)
        .drop_data(&[0])
        .ack(|_, n| if n == 0 { Fate::Pass } else { Fate::Late(Span::from_ms(5)) });
    pipe.run_until(at_us(4_000));
    assert_eq!(pipe.sender.retransmits(), 1);
    assert_eq!(pipe.sent[10].seq, 0);
    pipe.finish();
    assert_eq!(pipe.sender.retransmits(), 1);
}

#[test]
fn without_frto_and_stamps_a_spurious_timeout_stands_until_dsacks_clear_it() {
    let mut cfg = config("reno");
    (cfg.timestamps, cfg.tail_loss_probe, cfg.frto) = (false, false, false);
    let mut pipe = Pipe::new(cfg, "reno", Bytes::new(500 * MSS), RTT).ack(|_, n| {
        if (70..150).contains(&n) { Fate::Late(Span::from_ms(300)) } else { Fate::Pass }
    });
    pipe.finish();
    assert_eq!(pipe.sender.timeouts(), 1);
    assert!(pipe.sender.retransmits() >= 1);
    assert_eq!(pipe.sender.undos(), 1);
}

/// One segment is so late that it is sent again; the copy shows up as a duplicate.
fn late_segment(timestamps: bool) -> Pipe {
    let mut cfg = with_window(100);
    cfg.timestamps = timestamps;
    // It arrives while the retransmission is under way.
    Pipe::new(cfg, "reno", Bytes::new(3000 * MSS), RTT)
        .nic(100)
        .data(|_, n| if n == 50 { Fate::Late(Span::from_us(80)) } else { Fate::Pass })
}

#[test]
fn a_late_segment_is_taken_back_by_its_dsack() {
    let mut pipe = late_segment(false);
    pipe.run_until(at_us(150));
    assert_eq!(pipe.sender.totals().state, CaState::Recovery);
    pipe.run_until(at_us(350));
    assert_eq!(pipe.sender.undos(), 1);
    assert_eq!(pipe.sender.retransmits(), 1);
    assert!(pipe.sender.cwnd() >= Bytes::new(100 * MSS));
    let dsacks = pipe.acks.iter().filter(|(_, a)| a.flags.has(forebay_wire::Flags::DSACK)).count();
    assert_eq!(dsacks, 1);
    pipe.finish();
}

#[test]
fn a_late_segment_is_taken_back_by_its_stamp() {
    let mut pipe = late_segment(true);
    // The late original arrives at 136 us, its ACK at 186 us; the copy's duplicate at 212 us or so.
    pipe.run_until(at_us(195));
    assert_eq!(pipe.sender.undos(), 1);
    pipe.finish();
    assert_eq!(pipe.sender.undos(), 1);
}

#[test]
fn reordering_once_seen_delays_marking() {
    // Segment 50 arrives a little late: three SACKs come first, but it was never retransmitted yet.
    // Later holes then wait for a quarter of the round-trip time.
    let run = |late: Span| {
        let mut pipe = Pipe::new(with_window(100), "reno", Bytes::new(400 * MSS), RTT)
            .nic(100)
            .data(move |_, n| match n {
                50 => Fate::Late(Span::from_ns(250)), // overtaken by two
                160 => Fate::Late(late),
                _ => Fate::Pass,
            });
        pipe.finish();
        pipe.sender.retransmits()
    };
    assert_eq!(run(Span::from_us(20)), 0, "reordering within a quarter of the round trip");
    assert_eq!(run(Span::from_us(5_000)), 1);
}

#[test]
fn reordering_shows_in_sacks_too() {
    // They arrive 11, 13, 12, 10: the third SACK would condemn 10, had 12 not just shown reordering.
    let mut pipe = Pipe::new(with_window(100), "reno", Bytes::new(400 * MSS), RTT).nic(100).data(
        |_, n| match n {
            10 => Fate::Late(Span::from_ns(396)),
            12 => Fate::Late(Span::from_ns(132)),
            _ => Fate::Pass,
        },
    );
    pipe.finish();
    assert_eq!(pipe.sender.retransmits(), 0);
}

#[test]
fn newreno_repairs_one_hole_per_round_trip() {
    let mut cfg = with_window(20);
    cfg.sack = false;
    let mut pipe =
        Pipe::new(cfg, "reno", Bytes::new(200 * MSS), RTT).nic(100).drop_data(&[5, 8, 11]);
    let mut slowest = Span::ZERO;
    while pipe.now < at_us(1_000) {
        pipe.step();
        slowest = slowest.max(pipe.sender.totals().srtt);
    }
    assert!(pipe.acks.iter().all(|(_, ack)| ack.sacks == 0));
    let repairs: Vec<f64> =
        pipe.sent.iter().filter(|s| s.retransmission).map(|s| us(s.at)).collect();
    assert_eq!(repairs.len(), 3, "{repairs:?}");
    for pair in repairs.windows(2) {
        assert!((99.0..103.0).contains(&(pair[1] - pair[0])), "{repairs:?}");
    }
    // What arrived behind the hole gives no sample when the hole is filled.
    assert!(slowest < Span::from_us(104), "{slowest}");
    pipe.finish();
    assert_eq!(pipe.sender.timeouts(), 0);
    assert_eq!(pipe.sender.retransmits(), 3);
}

#[test]
fn newreno_does_not_start_again_on_stale_duplicates() {
    let mut cfg = with_window(20);
    cfg.sack = false;
    let mut pipe = Pipe::new(cfg, "reno", Bytes::new(300 * MSS), RTT)
        .nic(100)
        .drop_data(&[5, 8])
        .ack(|_, n| if n < 60 { Fate::Twice(Span::from_us(3)) } else { Fate::Pass });
    pipe.finish();
    assert!(pipe.receiver.complete());
}

#[test]
fn recovery_works_across_the_wrap_of_32_bits() {
    let start = (1u64 << 32) / MSS - 30; // segment that far below the wrap
    let mut cfg = config("reno");
    cfg.receive_window = Some(Bytes::new(200 * MSS));
    let n_drop = start + 25;
    let mut pipe =
        Pipe::new(cfg, "reno", Bytes::new((start + 100) * MSS), RTT).nic(100).data(move |p, n| {
            if n == n_drop || n == n_drop + 12 {
                let _ = p;
                Fate::Drop
            } else {
                Fate::Pass
            }
        });
    pipe.sent.reserve(3_100_000);
    pipe.finish();
    assert_eq!(pipe.sender.retransmits(), 2);
    assert_eq!(pipe.sender.timeouts(), 0);
    assert!(pipe.receiver.complete());
}

#[test]
fn spraying_costs_a_few_needless_retransmissions_at_most() {
    // Every packet is up to 15 us late by its own dice: with one per 120 ns, order is lost altogether.
    let mut cfg = with_window(100);
    cfg.receive_window = Some(Bytes::new(100 * MSS));
    let mut dice = forebay_units::random::Stream::new(1, 0, forebay_units::random::Purpose::Spray);
    let mut pipe = Pipe::new(cfg, "reno", Bytes::new(20_000 * MSS), RTT)
        .nic(100)
        .data(move |_, _| Fate::Late(Span::from_ns(dice.below(15_000) + 1)));
    pipe.finish();
    let extra = pipe.sender.retransmits();
    assert!(extra < 100, "{extra} of 20,000 sent again");
    assert_eq!(pipe.sender.timeouts(), 0);
    assert!(pipe.sender.cwnd() >= Bytes::new(100 * MSS), "what reordering took was given back");
}
