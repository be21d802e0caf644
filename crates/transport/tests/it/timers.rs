//! The timeout's floor, tail loss probes, idleness.

use crate::common::{Fate, MSS, Pipe, at_us, config, us};
use forebay_laws::flow::{CaState, FlowParams};
use forebay_units::{Bytes, Span};

const RTT: Span = Span::from_us(100);

/// An endless flow whose window the receiver bounds.
fn bounded() -> Pipe {
    let mut cfg = config("reno");
    cfg.receive_window = Some(Bytes::new(20 * 1024));
    Pipe::new(cfg, "reno", Bytes::MAX, RTT)
}

#[test]
fn timeout_at_100_us_is_200_1_ms() {
    let mut pipe = bounded();
    pipe.run_until(at_us(1_500));
    assert_eq!(pipe.sender.totals().srtt, RTT);
    assert_eq!(pipe.sender.rto(&pipe.cfg), Span::from_us(200_100));
}

/// Warms a flow up with `warm` segments, then writes `burst` more of which the tail is lost.
fn tail_loss(burst: u64, lose: u64) -> (Pipe, u64) {
    let cfg = config("reno");
    let law = FlowParams::new("reno").unwrap();
    let mut pipe = Pipe::with_spec(cfg, &law, Bytes::new(4 * MSS), true, RTT);
    pipe.run_until(at_us(1_000));
    assert_eq!(pipe.sender.totals().srtt, RTT);
    let sent = pipe.sent.len() as u64;
    pipe = pipe.data(move |_, n| {
        let lost = sent + burst - lose..sent + burst;
        if lost.contains(&n) { Fate::Drop } else { Fate::Pass }
    });
    pipe.sender.app_write(Bytes::new(burst * MSS), true);
    (pipe, sent)
}

#[test]
fn probe_leaves_at_2_2_ms_when_two_or_more_are_out() {
    let (mut pipe, sent) = tail_loss(2, 2);
    pipe.finish();
    let probe = pipe.sent[sent as usize + 2];
    assert!(probe.retransmission);
    assert_eq!(us(probe.at), 1_000.0 + 2_200.0);
    assert_eq!(probe.seq, 5 * MSS, "the last segment is sent again");
    assert_eq!(pipe.sender.probes(), 1);
    assert_eq!(pipe.sender.timeouts(), 0);
}

#[test]
fn a_lost_single_packet_message_takes_one_timeout() {
    let (mut pipe, sent) = tail_loss(1, 1);
    let end = pipe.finish();
    assert_eq!(us(pipe.sent[sent as usize + 1].at), 1_000.0 + 200_100.0);
    assert_eq!(us(end), 1_000.0 + 200_200.0);
}

#[test]
fn timers_expire_on_ticks() {
    // 250 Hz. The segments leave at 1 ms, within the first jiffy.
    let ticking = |burst, lose| {
        let (mut pipe, sent) = tail_loss(burst, lose);
        pipe.cfg.timer_tick = Span::from_ms(4);
        pipe.finish();
        us(pipe.sent[(sent + burst) as usize].at)
    };
    // Twice 100 us is a jiffy, the least wait two more: at the end of the fourth.
    assert_eq!(ticking(2, 2), 16_000.0, "a probe");
    // 200.1 ms are 51 jiffies.
    assert_eq!(ticking(1, 1), 208_000.0, "a timeout");
}

#[test]
fn a_timeout_is_a_number_of_ticks() {
    let mut pipe = bounded();
    pipe.cfg.timer_tick = Span::from_ms(10);
    pipe.run_until(at_us(1_500));
    assert_eq!(pipe.sender.rto(&pipe.cfg), Span::from_ms(210));
    pipe.cfg.timer_tick = Span::from_ms(1);
    assert_eq!(pipe.sender.rto(&pipe.cfg), Span::from_ms(201));
}

#[test]
fn the_last_of_two_waits_a_timeout_from_the_first_ones_ack() {
    let (mut pipe, sent) = tail_loss(2, 1);
    pipe.finish();
    assert_eq!(us(pipe.sent[sent as usize + 2].at), 1_100.0 + 200_100.0);
}

#[test]
fn without_probes_the_tail_waits_for_the_timeout() {
    let (mut pipe, sent) = tail_loss(2, 2);
    pipe.cfg.tail_loss_probe = false;
    pipe.finish();
    assert_eq!(us(pipe.sent[sent as usize + 2].at), 1_000.0 + 200_100.0);
    assert_eq!(pipe.sender.timeouts(), 1);
}

#[test]
fn a_probe_prefers_new_data() {
    // A full window leaves, and all its ACKs are lost.
    let mut pipe = Pipe::new(config("reno"), "reno", Bytes::new(2_000 * MSS), RTT)
        .ack(|_, n| if (30..70).contains(&n) { Fate::Drop } else { Fate::Pass });
    pipe.run_until(at_us(5_000));
    let probe = pipe.sent.windows(2).find(|w| w[1].at.since(w[0].at) > Span::from_us(1_000));
    let [before, probe] = probe.expect("silence before the probe") else { panic!() };
    assert_eq!(probe.seq, before.seq + MSS);
    assert!(!probe.retransmission);
}

#[test]
fn a_probe_that_repaired_a_loss_costs_one_reduction() {
    let (pipe, sent) = tail_loss(8, 2);
    let mut pipe = pipe; // 7 and 8 of the burst are lost; the probe repairs 8 and shows 7
    pipe.run_until(at_us(5_000));
    assert_eq!(pipe.sender.acked(), Bytes::new(12 * MSS));
    assert_eq!(pipe.sent.len() as u64, sent + 10);
    // One lost segment alone: the probe repairs it, and only the next ACK shows it.
    let cfg = config("reno");
    let law = FlowParams::new("reno").unwrap();
    let mut pipe = Pipe::with_spec(cfg, &law, Bytes::new(4 * MSS), true, RTT);
    pipe.run_until(at_us(1_000));
    let mut pipe = pipe.drop_data(&[11]);
    pipe.sender.app_write(Bytes::new(8 * MSS), false);
    pipe.run_until(at_us(300_000)); // one segment out: the probe takes its time
    let before = pipe.sender.cwnd();
    assert_eq!(pipe.sender.acked(), Bytes::new(12 * MSS));
    pipe.sender.app_write(Bytes::new(MSS), true);
    pipe.finish();
    assert_eq!(pipe.sender.ssthresh(), Bytes::new(before.get() / MSS / 2 * MSS));
    assert_eq!(pipe.sender.cwnd(), pipe.sender.ssthresh());
    assert_eq!(pipe.sender.totals().state, CaState::Open);
}

#[test]
fn a_timeout_spares_what_left_within_the_last_round_trip() {
    let (mut cfg, law) = (config("reno"), FlowParams::new("reno").unwrap());
    cfg.tail_loss_probe = false;
    let mut pipe = Pipe::with_spec(cfg, &law, Bytes::new(4 * MSS), true, RTT).drop_data(&[4]);
    pipe.run_until(at_us(1_000));
    pipe.sender.app_write(Bytes::new(MSS), false);
    pipe.run_until(at_us(201_050));
    pipe.sender.app_write(Bytes::new(MSS), true);
    pipe.run_until(at_us(201_120));
    assert_eq!(pipe.sender.timeouts(), 1);
    assert_eq!(pipe.sender.cwnd(), Bytes::new(2 * MSS), "what is in flight, and one more");
    pipe.finish();
    assert_eq!(pipe.sender.retransmits(), 1);
}

#[test]
fn timeouts_back_off_and_a_new_ack_clears_them() {
    let mut pipe = Pipe::new(config("reno"), "reno", Bytes::new(MSS), RTT)
        .data(|_, n| if n < 4 { Fate::Drop } else { Fate::Pass });
    let end = pipe.finish();
    // A probe at 1 s (it replaces the timeout of 1 s), then 1, 2 and 4 s.
    let at: Vec<f64> = pipe.sent.iter().map(|s| us(s.at) / 1e6).collect();
    assert_eq!(at, [0.0, 1.0, 2.0, 4.0, 8.0]);
    assert_eq!(us(end), 8_000_100.0);
    assert!(pipe.sender.rto(&pipe.cfg) < Span::from_ms(201));
}

/// RFC 6298 section 2.2, RFC 8985 section 7.2 and Linux: RTO = SRTT + max(rto_min, 4 RTTVAR) with RTTVAR = SRTT / 2; a probe leaves 2 SRTT + 2 ms after
/// the last of several segments.
#[test]
fn a_handshake_is_the_first_sample_of_all_timers() {
    let size = Bytes::new(3 * MSS);
    let of = |tlp, ms| {
        let rtt = Span::from_ms(ms);
        let cfg = config("reno").with(|of| of.tail_loss_probe = tlp);
        Pipe::new(cfg, "reno", size, rtt).warm("reno", size, rtt).drop_data(&[0, 1, 2])
    };
    for (ms, rto) in [(1, 201), (50, 250), (300, 900)] {
        let pipe = of(true, ms);
        assert_eq!(pipe.sender.rto(&pipe.cfg), Span::from_ms(rto));
        assert_eq!(pipe.sender.totals().min_rtt, Span::from_ms(ms));
        for (tlp, first) in [(true, 2 * ms + 2), (false, rto)] {
            let mut pipe = of(tlp, ms);
            pipe.finish();
            assert_eq!(us(pipe.sent[3].at), (first * 1_000) as f64, "{ms} ms, probe: {tlp}");
        }
    }
}

#[test]
fn a_turn_of_the_wire_clock_does_not_look_like_a_late_original() {
    // Retransmissions at 0.2, 0.6, 1.4, 3.0 s and so on: the one that arrives left more than half a
    // turn of the 32-bit nanosecond clock after the first.
    for lost in 2..9 {
        let (mut pipe, sent) = tail_loss(2, 2);
        pipe.cfg.tail_loss_probe = false;
        let lost = sent..sent + 2 + lost;
        let mut pipe =
            pipe.data(move |_, n| if lost.contains(&n) { Fate::Drop } else { Fate::Pass });
        pipe.finish();
        assert_eq!(pipe.sender.undos(), 0);
    }
}

#[test]
fn idleness_beyond_the_timeout_halves_the_window_once_per_timeout() {
    let law = FlowParams::new("reno").unwrap();
    let run = |idle_ms: u64, restart: bool| {
        let mut cfg = config("reno");
        cfg.slow_start_after_idle = restart;
        let mut pipe = Pipe::with_spec(cfg, &law, Bytes::new(630 * MSS), true, RTT);
        pipe.run_until(at_us(10_000));
        let before = pipe.sender.cwnd().get() / MSS;
        assert_eq!(pipe.sender.acked().get(), 630 * MSS);
        // The last segment left at 500 us or so.
        pipe.run_until(at_us(idle_ms * 1_000));
        let first = pipe.sent.len();
        pipe.sender.app_write(Bytes::new(1_000 * MSS), true);
        pipe.pump();
        (before, (pipe.sent.len() - first) as u64)
    };
    let (before, burst) = run(150, true);
    assert!(before > 300);
    assert_eq!(burst, before, "a pause below the timeout: the whole window leaves at once");
    assert_eq!(run(300, true).1, before / 2);
    assert_eq!(run(500, true).1, before / 4);
    assert_eq!(run(60_000, true).1, 10);
    assert_eq!(run(60_000, false).1, before);
}

#[test]
fn early_calls_change_nothing() {
    let mut pipe = bounded().drop_data(&[30]);
    for step in 0..200 {
        pipe.step();
        let before = format!("{:?}", pipe.sender);
        let early = pipe.now.min(pipe.sender.deadline() - Span::from_ps(1));
        pipe.sender.on_deadline(&pipe.cfg, early);
        assert_eq!(before, format!("{:?}", pipe.sender), "step {step}");
        let before = format!("{:?}", pipe.receiver);
        if pipe.receiver.deadline() > pipe.now {
            assert_eq!(pipe.receiver.on_deadline(&pipe.cfg, pipe.now), None);
            assert_eq!(before, format!("{:?}", pipe.receiver));
        }
    }
}
