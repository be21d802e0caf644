//! The module of Linux, step by step.

use super::*;

fn state(rig: &Rig<Nv>) -> &Mainline {
    match &rig.law.form {
        Form::Mainline(nv) => nv,
        Form::Slides(_) => panic!("these tests are of mainline"),
    }
}

fn state_mut(rig: &mut Rig<Nv>) -> &mut Mainline {
    match &mut rig.law.form {
        Form::Mainline(nv) => nv,
        Form::Slides(_) => panic!("these tests are of mainline"),
    }
}

/// Base RTT 100 us, RTT 200 us, 100 packets in flight: rate = 100 * 1448 * 80000 / 200 = 57 920 000;
/// target = 57 920 000 * 100 / (80000 * 1448) = 50 packets; with the pad 60; excess 40; 40 * 38 / 128 = 11.
const BASE: &[(&str, &str)] = &[("base_rtt", "100us")];

#[test]
fn a_queue_of_forty_beyond_the_pad_costs_eleven_after_sixty_samples() {
    let mut rig = nv(BASE, 100);
    under_way(&mut rig);
    assert_eq!(samples_until_change(&mut rig, 200, 100), Some(60));
    assert_eq!((rig.cwnd, rig.ssthresh), (89.0, 60.0));
    assert!(!state(&rig).allowed);
    assert_eq!((state(&rig).calls, state(&rig).rtts, state(&rig).max_rate), (0, 0, 0));
}

#[test]
fn thirty_samples_end_the_first_slow_start() {
    let mut rig: Rig<Nv> = Rig::new(&params(BASE), 100);
    under_way(&mut rig);
    (0..29).for_each(|_| sample(&mut rig, 200, 100));
    assert_eq!((rig.cwnd, rig.ssthresh), (129.0, f64::INFINITY));
    sample(&mut rig, 200, 100);
    assert_eq!((rig.cwnd, rig.ssthresh), (109.0, 60.0), "129 - 69 * 38 / 128");
}

#[test]
fn every_gate_can_be_set() {
    for (gate, value, samples) in
        [("dec_eval_min_calls", "7", 7), ("rtt_min_cnt", "80", 80), ("dec_eval_min_calls", "0", 2)]
    {
        let mut rig = nv(&[("base_rtt", "100us"), (gate, value)], 100);
        under_way(&mut rig);
        assert_eq!(samples_until_change(&mut rig, 200, 100), Some(samples), "{gate}");
    }
}

#[test]
fn the_pad_the_share_and_the_threshold_can_be_set() {
    for (name, value, cwnd, ssthresh) in [
        ("pad", "0", 86.0, 50.0),             // 50 * 38 / 128 = 14
        ("pad", "30", 95.0, 80.0),            // 20 * 38 / 128 = 5
        ("cong_dec_mult", "128", 60.0, 60.0), // all of it
        ("cong_dec_mult", "0", 98.0, 60.0),   // none, but at least two
        ("ssthresh_factor", "4", 89.0, 30.0),
        ("min_cwnd", "95", 95.0, 60.0),
    ] {
        let mut rig = nv(&[("base_rtt", "100us"), (name, value)], 100);
        under_way(&mut rig);
        samples_until_change(&mut rig, 200, 100);
        assert_eq!((rig.cwnd, rig.ssthresh), (cwnd, ssthresh), "{name} = {value}");
    }
}

#[test]
fn a_small_excess_goes_at_once_and_a_decrease_is_at_least_two() {
    // Target 50, with the pad 60.
    for (cwnd, after) in [(61, 60.0), (62, 60.0), (63, 61.0), (70, 68.0)] {
        let mut rig = nv(BASE, cwnd);
        under_way(&mut rig);
        samples_until_change(&mut rig, 200, 100);
        assert_eq!(rig.cwnd, after, "{cwnd}");
    }
}

#[test]
fn between_pad_buffer_and_pad_nothing_happens_and_the_counters_run_on() {
    for (cwnd, decided) in [(60, false), (59, false), (58, true)] {
        let mut rig = nv(BASE, cwnd);
        under_way(&mut rig);
        (0..50).for_each(|_| sample(&mut rig, 200, 100));
        assert_eq!(rig.cwnd, cwnd as f64);
        assert_eq!(state(&rig).calls == 50, !decided, "{cwnd}");
    }
}

#[test]
fn growth_returns_after_twenty_samples_that_saw_no_queue() {
    let mut rig = nv(BASE, 50);
    under_way(&mut rig);
    rig.enter(CaState::Recovery);
    rig.leave(CaState::Recovery);
    assert_eq!(rig.cwnd, 39.0, "50 * 819 / 1024 = 39.99");
    rig.totals.cwnd_limited = true;
    for n in 1..=20 {
        assert!(!state(&rig).allowed, "{n}");
        sample(&mut rig, 100, 40);
    }
    assert!(state(&rig).allowed);
}

#[test]
fn ten_round_trips_of_too_few_samples_stop_growth_without_a_decrease() {
    let mut rig = nv(BASE, 100);
    under_way(&mut rig);
    (0..10).for_each(|_| sample(&mut rig, 200, 100));
    assert!(state(&rig).allowed);
    sample(&mut rig, 200, 100);
    assert!(!state(&rig).allowed);
    assert_eq!(rig.cwnd, 100.0);
}

#[test]
fn a_round_trip_takes_a_whole_window() {
    let mut rig = nv(BASE, 100);
    under_way(&mut rig);
    let mut rtts = Vec::new();
    for _ in 0..202 {
        rig.totals.nxt = rig.totals.una + 101 * MSS;
        rig.sample.rtt = Some(Span::from_us(100));
        rig.sample.delivered_at_send = rig.totals.delivered - 49 * MSS;
        rig.ack(MSS, false);
        rtts.push(state(&rig).rtts);
    }
    // The window of 100 has a target of 50 and a pad of 10: congested, not yet decided at the second one.
    assert_eq!((rtts[0], rtts[99], rtts[100], rtts[101]), (1, 1, 1, 0));
    assert!(rig.cwnd < 100.0);
}

#[test]
fn the_smoothed_rtt_weighs_the_newest_by_its_factor() {
    for (factor, smoothed, least) in [("128", 150, 100), ("64", 175, 150), ("256", 100, 100)] {
        let mut rig = nv(&[("rtt_factor", factor)], 50);
        under_way(&mut rig);
        sample(&mut rig, 200, 50);
        assert_eq!(state(&rig).min_rtt, 200);
        sample(&mut rig, 100, 50);
        assert_eq!(state(&rig).last_rtt, smoothed, "{factor}");
        sample(&mut rig, 50, 50);
        assert!(state(&rig).min_rtt <= least, "{factor}");
    }
    let mut rig = nv(&[("rtt_factor", "0")], 50);
    under_way(&mut rig);
    sample(&mut rig, 200, 50);
    sample(&mut rig, 100, 50);
    assert_eq!((state(&rig).last_rtt, state(&rig).min_rtt), (0, 100));
}

#[test]
fn the_least_rtt_follows_every_lower_sample() {
    let mut rig = nv(&[], 50);
    under_way(&mut rig);
    for (rtt, least) in [(400, 400), (200, 300), (100, 200), (300, 200), (100, 175)] {
        sample(&mut rig, rtt, 50);
        assert_eq!(state(&rig).min_rtt, least);
    }
}

/// Linux `tcp_nv.c`: the first sample after an episode makes the reference twice itself, then itself.
#[test]
fn an_episode_forgets_the_least_rtt_unless_told_to_keep_it() {
    for (pairs, least) in [
        (&[][..], 300),
        (&[("keep_min_rtt", "true")], 100),
        (&[("base_rtt", "100us")], 100), // hides it
    ] {
        let mut rig = nv(pairs, 50);
        under_way(&mut rig);
        (0..10).for_each(|_| sample(&mut rig, 100, 50));
        assert_eq!(state(&rig).min_rtt, 100);
        rig.enter(CaState::Recovery);
        rig.leave(CaState::Recovery);
        sample(&mut rig, 300, 50);
        assert_eq!(state(&rig).min_rtt, least, "{pairs:?}");
        // The true one returns with the next sample that shows it.
        (0..20).for_each(|_| sample(&mut rig, 100, 50));
        assert_eq!(state(&rig).min_rtt, 100);
    }
}

#[test]
fn a_base_rtt_bounds_the_reference_from_both_sides() {
    for (rtt, least) in [(50, 80), (79, 80), (90, 90), (100, 100), (500, 100)] {
        let mut rig = nv(BASE, 50);
        under_way(&mut rig);
        sample(&mut rig, rtt, 50);
        assert_eq!(state(&rig).min_rtt, least, "{rtt}: 80 = 100 * 205 / 256");
    }
}

/// Linux `tcp_nv.c`: 10 packets were in flight at send, an ACK of 4 of them came; 14 were delivered meanwhile.
#[test]
fn in_flight_is_what_was_delivered_or_what_was_outstanding() {
    for (meaning, packets) in [("delivered", 14), ("outstanding", 10)] {
        let mut rig = nv(&[("in_flight", meaning)], 50);
        under_way(&mut rig);
        rig.totals.nxt += 20 * MSS;
        rig.sample.rtt = Some(Span::from_us(100));
        rig.sample.inflight_at_send = Bytes::new(10 * MSS);
        rig.sample.delivered_at_send = rig.totals.delivered - 10 * MSS;
        rig.ack(4 * MSS, false);
        assert_eq!(state(&rig).max_rate, packets * MSS * 80_000 / 100, "{meaning}");
    }
}

/// Linux `tcp_nv.c`: a kernel keeps rates in 32 bits, up to 429.5 Gb/s. Here 5.3 and 5.5 MB in 100 us, and 1.6 Tb/s.
#[test]
fn a_rate_beyond_the_kernels_32_bits_is_a_rate() {
    for bytes in [5_300_000, 5_500_000, 20_000_000] {
        let mut rig = nv(&[], 50);
        under_way(&mut rig);
        rig.sample.rtt = Some(Span::from_us(100));
        rig.sample.delivered_at_send = rig.totals.delivered + MSS - bytes;
        rig.ack(MSS, false);
        assert_eq!(state(&rig).max_rate, bytes * 800);
    }
}

/// Linux `tcp_nv.c`: 60 samples are 9 round trips of 7 ACKs, or 30 of 2.
#[test]
fn few_acks_make_decisions_rare() {
    for (cwnd, k, expected) in [(14, 2, 9), (80, 44, 30)] {
        let mut rig = nv(&[("base_rtt", "10us"), ("pad", "0")], cwnd);
        under_way(&mut rig);
        rig.totals.nxt = rig.totals.una;
        let mut rounds = 0;
        while rig.cwnd == cwnd as f64 && rounds < 100 {
            rounds += 1;
            rig.totals.nxt = rig.totals.una + cwnd * MSS;
            while rig.totals.una < rig.totals.nxt {
                rig.sample.rtt = Some(Span::from_us(200));
                let acked = (k * MSS).min(rig.totals.nxt - rig.totals.una);
                rig.sample.delivered_at_send = rig.totals.delivered + acked - cwnd * MSS;
                rig.ack(acked, false);
            }
        }
        assert!((expected..=expected + 2).contains(&rounds), "{rounds} of {expected}");
    }
}

#[test]
fn one_sample_per_round_trip_raises_the_floor_up_to_81() {
    let mut rig = nv(&[("pad", "0"), ("base_rtt", "1us")], 100);
    under_way(&mut rig);
    state_mut(&mut rig).allowed = false;
    sample_of(&mut rig, 100, 10, 2);
    assert_eq!((state(&rig).floor, state(&rig).allowed), (4, false), "2 of the 3 it takes");
    state_mut(&mut rig).calls = 0;
    for floor in (6..=80).step_by(2).chain([81]) {
        // Past the end of the round trip, which is a floor's worth later than usual.
        rig.totals.una = rig.totals.nxt + 100 * MSS;
        rig.totals.delivered = rig.totals.una;
        sample_of(&mut rig, 100, 10, 90);
        assert_eq!((state(&rig).floor, state(&rig).allowed, state(&rig).calls), (floor, true, 0));
    }
    rig.totals.una = rig.totals.nxt + 100 * MSS;
    sample_of(&mut rig, 100, 10, 90);
    assert_eq!((state(&rig).floor, state(&rig).calls), (81, 1), "no further: it is judged");
}

#[test]
fn the_reference_is_renewed_after_two_seconds_and_then_about_every_five() {
    let renewals = |seed| {
        let mut acts = Acts::default();
        let start = Start { seed, ..at(50) };
        let mut rig: Rig<Nv> = Rig::new(&params(&[]), 50);
        rig.law = Nv::start(&params(&[]), start, &mut acts);
        rig.totals.cwnd_limited = false;
        under_way(&mut rig);
        let mut times = Vec::new();
        for ms in 1..60_000u64 {
            rig.now = Time::ZERO + Span::from_ms(ms);
            sample(&mut rig, 100, 50);
            if state(&rig).min_rtt_new == u32::MAX {
                times.push(ms);
            }
        }
        times
    };
    let times = renewals(1);
    assert_eq!(times[0], 2_001, "two seconds after the first ACK");
    let gaps: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| (3_750..6_251).contains(gap)), "{gaps:?}");
    assert!(gaps.iter().min() != gaps.iter().max(), "{gaps:?}");
    assert_eq!(times, renewals(1));
    assert_ne!(times, renewals(2));
}

#[test]
fn a_renewal_takes_the_least_since_the_last_and_halves_the_floor() {
    let mut rig = nv(&[], 50);
    under_way(&mut rig);
    rig.now = Time::ZERO + Span::from_ms(1);
    (0..10).for_each(|_| sample(&mut rig, 100, 50));
    state_mut(&mut rig).min_rtt_new = 250;
    state_mut(&mut rig).floor = 60;
    rig.now = Time::ZERO + Span::from_secs(3);
    (0..2).for_each(|_| sample(&mut rig, 300, 50)); // smoothed 200, then 250
    assert_eq!((state(&rig).min_rtt, state(&rig).floor), (200, 30));
    state_mut(&mut rig).floor = 6;
    rig.now = Time::ZERO + Span::from_secs(20);
    sample(&mut rig, 300, 50);
    assert_eq!(state(&rig).floor, 4, "never below four");
}

#[test]
fn timeouts_slow_growth_down_to_a_256th_and_clean_decisions_bring_it_back() {
    let mut rig = nv(BASE, 100);
    under_way(&mut rig);
    for expected in [-1, -2, -3, -4, -5, -6, -7, -8, -8] {
        rig.enter(CaState::Loss);
        assert_eq!(state(&rig).growth, expected);
        rig.leave(CaState::Loss);
    }
    // Nine clean decisions of 20 samples each raise it by one.
    let clean = |rig: &mut Rig<Nv>, decisions: usize| {
        (0..20 * decisions).for_each(|_| sample(rig, 100, 200));
    };
    rig.totals.cwnd_limited = false;
    clean(&mut rig, 8);
    assert_eq!(state(&rig).growth, -8);
    clean(&mut rig, 1);
    assert_eq!(state(&rig).growth, -7);
    clean(&mut rig, 9 * 7);
    assert_eq!(state(&rig).growth, 0);
    clean(&mut rig, 30);
    assert_eq!(state(&rig).growth, 0, "never faster than Reno by default");
    state_mut(&mut rig).params = params(&[("base_rtt", "100us"), ("cwnd_growth_rate_pos", "3")]);
    clean(&mut rig, 4);
    assert_eq!(state(&rig).growth, 1);
    rig.enter(CaState::Loss);
    assert_eq!(state(&rig).growth, -1);
}

#[test]
fn growth_is_one_packet_in_so_many_round_trips() {
    for (growth, delivered, grown) in
        [(0, 100, 1.0), (-1, 199, 0.0), (-1, 200, 1.0), (-3, 800, 1.0), (1, 50, 1.0), (10, 4, 1.0)]
    {
        let mut rig = nv(BASE, 100);
        rig.totals.cwnd_limited = true;
        state_mut(&mut rig).growth = growth;
        rig.sample.rtt = None;
        (0..delivered).for_each(|_| rig.ack(MSS, false));
        assert_eq!(rig.cwnd - 100.0, grown, "{growth} {delivered}");
    }
}

#[test]
fn a_loss_or_a_mark_keeps_four_fifths_and_an_undo_gives_it_back() {
    for state in [CaState::Recovery, CaState::Cwr] {
        let mut rig = nv(BASE, 100);
        rig.enter(state);
        assert_eq!(rig.ssthresh, 79.0);
        rig.event(FlowEvent::Undo);
        assert_eq!(rig.cwnd, 100.0);
    }
    assert_eq!(nv(&[], 10).law.needs().echo, Echo::None);
    assert_eq!(nv(&[("ecn", "true")], 10).law.needs().echo, Echo::Classic);
}

#[test]
fn what_comes_in_an_episode_or_from_a_retransmission_is_no_sample() {
    let mut rig = nv(BASE, 100);
    under_way(&mut rig);
    rig.totals.state = CaState::Recovery;
    sample(&mut rig, 200, 100);
    rig.totals.state = CaState::Open;
    rig.totals.nxt += 10 * MSS;
    rig.sample.rtt = None;
    rig.ack(MSS, false);
    assert_eq!(state(&rig).calls, 0);
    // Reordering: SACKed data in Disorder does count.
    rig.totals.state = CaState::Disorder;
    rig.sample.rtt = Some(Span::from_us(100));
    rig.totals.delivered += MSS;
    rig.ack_event(0, false);
    assert_eq!(state(&rig).calls, 1);
}

#[test]
fn time_is_whole_microseconds_and_at_least_one() {
    let mut rig = nv(&[], 50);
    under_way(&mut rig);
    for (ps, us) in [(1_999_999, 1), (2_000_000, 2), (1, 1)] {
        assert_eq!(micros(Span::from_ps(ps)), us);
    }
    rig.sample.rtt = Some(Span::from_ps(10_999_999));
    rig.totals.nxt += MSS;
    rig.ack(MSS, false);
    assert_eq!(state(&rig).last_rtt, 10);
}

/// Byte numbers are 64 bits and start at zero; where a kernel's wrap, nothing happens here.
#[test]
fn sequence_numbers_beyond_32_bits_change_nothing() {
    let run = |jump: u64| {
        let mut rig = nv(BASE, 100);
        rig.totals.una += 1 << 31;
        rig.totals.nxt += 1 << 31;
        rig.totals.delivered += 1 << 31;
        let totals = rig.totals;
        state_mut(&mut rig).begin(&totals);
        sample(&mut rig, 200, 100);
        rig.totals.una += jump;
        rig.totals.nxt += jump;
        rig.totals.delivered += jump;
        let after = samples_until_change(&mut rig, 200, 100);
        (after, rig.cwnd)
    };
    assert_eq!(run((1 << 31) - 30 * MSS), run(0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// A decision never takes more than the excess: the window stays at or above target and pad.
    #[test]
    fn a_decrease_stops_at_the_window_it_aims_at(
        cwnd in 2u64..500,
        share in 0u32..=128,
        pad in 0u32..30,
        samples in prop::collection::vec((100u64..1_000, 1u64..500), 70..200),
    ) {
        let pad = std::format!("{pad}");
        let share = std::format!("{share}");
        let mut rig = nv(&[("pad", &pad), ("cong_dec_mult", &share), ("min_cwnd", "1")], cwnd);
        under_way(&mut rig);
        for (rtt, packets) in samples {
            let before = rig.cwnd;
            sample(&mut rig, rtt, packets);
            if rig.cwnd < before {
                prop_assert!(rig.cwnd >= rig.ssthresh.max(1.0), "{} {}", rig.cwnd, rig.ssthresh);
            }
        }
    }

    /// ACKs that got lost delay decisions, but a sample counts all that its flight delivered.
    #[test]
    fn lost_acks_do_not_lower_the_rate(k in 1u64..=44) {
        let mut rig = nv(&[], 100);
        under_way(&mut rig);
        sample_of(&mut rig, 100, 100, k);
        prop_assert_eq!(state(&rig).max_rate, 100 * MSS * 80_000 / 100);
    }
}
