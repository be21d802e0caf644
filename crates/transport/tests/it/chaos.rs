//! Over any network every byte arrives once and in order, and the books balance.

use crate::common::{Fate, MSS, Pipe, config};
use forebay_laws::flow::FlowParams;
use forebay_settings::{Pacing, QueueLength};
use forebay_units::random::{Purpose, Stream};
use forebay_units::{Bytes, Span, Time};
use forebay_wire::Packet;
use proptest::prelude::*;

/// How bad each direction is, in percent.
#[derive(Clone, Copy, Debug)]
struct Weather {
    drop: u64,
    late: u64,
    twice: u64,
    mark: u64,
    late_by_us: u64,
}

fn weather() -> impl Strategy<Value = Weather> {
    (0..30u64, 0..30u64, 0..15u64, 0..50u64, 1..400u64).prop_map(
        |(drop, late, twice, mark, late_by_us)| Weather { drop, late, twice, mark, late_by_us },
    )
}

fn fate(weather: Weather, seed: u64, direction: u64) -> impl FnMut(&Packet, u64) -> Fate {
    let mut stream = Stream::new(seed, direction, Purpose::Test);
    move |_, _| {
        let by = Span::from_ns(stream.below(weather.late_by_us * 1_000) + 1);
        let mut dice = stream.below(100);
        for (chance, fate) in [
            (weather.drop, Fate::Drop),
            (weather.late, Fate::Late(by)),
            (weather.twice, Fate::Twice(by)),
            (weather.mark, Fate::Mark),
        ] {
            if dice < chance {
                return fate;
            }
            dice -= chance;
        }
        Fate::Pass
    }
}

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    law: &'static str,
    options: u32,
    window: u64,
    receive: Option<u64>,
    size: u64,
    writes: Vec<u64>,
    data: Weather,
    acks: Weather,
}

fn case() -> impl Strategy<Value = Case> {
    (
        any::<u64>(),
        prop_oneof![Just("reno"), Just("dctcp")],
        any::<u32>(),
        1..80u64,
        proptest::option::of(1_000..200_000u64),
        1..400 * MSS,
        proptest::collection::vec(1..6_000u64, 0..5),
        weather(),
        weather(),
    )
        .prop_map(|(seed, law, options, window, receive, size, writes, data, acks)| Case {
            seed,
            law,
            options,
            window,
            receive,
            size,
            writes,
            data,
            acks,
        })
}

fn check_books(pipe: &Pipe) {
    let t = pipe.sender.totals();
    assert!(t.una <= t.delivered && t.delivered <= t.nxt);
    assert!(t.inflight.get() <= t.nxt - t.una);
    assert!(t.delivered_ce <= t.delivered);
    assert!(t.una <= pipe.receiver.delivered().get());
    assert!(pipe.sender.cwnd() >= Bytes::new(1));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(160) })]

    #[test]
    fn every_byte_arrives_once_in_order(case in case()) {
        let mut law = FlowParams::new(case.law).unwrap();
        let mut cfg = config(case.law);
        let on = |bit: u32| case.options >> bit & 1 == 1;
        (cfg.sack, cfg.tail_loss_probe, cfg.prr) = (on(0) || on(1), on(2), on(3));
        (cfg.frto, cfg.timestamps, cfg.delayed_ack, cfg.slow_start_after_idle) = (on(4), on(5), on(6), on(7));
        if case.law == "dctcp" && on(8) {
            law.set("prr_on_ce", "true").unwrap();
        } else if case.law == "reno" && on(8) {
            law.set("ecn", "true").unwrap();
        }
        cfg.host.tso = on(11);
        cfg.host.gso_max = Bytes::new(if on(12) { 65_536 } else { 3_000 });
        cfg.host.pacing = if on(13) { Pacing::Internal } else { Pacing::Off };
        (cfg.host.sack_compression, cfg.gentle_growth) = (on(14), on(15));
        cfg.adaptive_delayed_ack = on(17);
        cfg.timer_tick = if on(18) { Span::from_ms(1 + 9 * u64::from(on(19))) } else { Span::ZERO };
        cfg.needs = law.needs();
        cfg.needs.stamps = on(16);
        cfg.initial_window = QueueLength::Bytes(Bytes::new(case.window * MSS));
        cfg.receive_window = case.receive.map(Bytes::new);
        cfg.rto_min = if on(9) { Span::from_ms(200) } else { Span::from_us(500) };
        let open = !case.writes.is_empty();
        let mut pipe = Pipe::with_spec(cfg, &law, Bytes::new(case.size), open, Span::from_us(100))
            .nic(if on(10) { 100 } else { 1 })
            .data(fate(case.data, case.seed, 0))
            .ack(fate(case.acks, case.seed, 1));
        let mut size = case.size;
        for (k, write) in case.writes.iter().enumerate() {
            pipe.run_until(Time::ZERO + Span::from_us(300) * (k as u64 + 1));
            size += write;
            pipe.sender.app_write(Bytes::new(*write), k + 1 == case.writes.len());
        }
        let mut steps = 0u64;
        while !pipe.sender.finished() {
            prop_assert!(pipe.step(), "stuck: {:?}", pipe.sender);
            check_books(&pipe);
            steps += 1;
            prop_assert!(steps < 2_000_000, "no end: {:?}", pipe.sender);
            if steps.is_multiple_of(17) && pipe.sender.deadline() > pipe.now {
                let before = format!("{:?}", pipe.sender);
                pipe.sender.on_deadline(&pipe.cfg, pipe.now);
                prop_assert_eq!(before, format!("{:?}", pipe.sender));
            }
        }
        prop_assert!(pipe.receiver.complete());
        prop_assert_eq!(pipe.receiver.delivered().get(), size);
        let t = pipe.sender.totals();
        prop_assert_eq!((t.una, t.delivered, t.inflight.get()), (size, size, 0));
        prop_assert!(!pipe.sender.ready(&pipe.cfg));
        // Packets still under way do no harm.
        let until = pipe.now + Span::from_secs(1);
        pipe.run_until(until);
        prop_assert_eq!(pipe.sender.deadline(), Time::MAX);
        prop_assert_eq!(pipe.receiver.delivered().get(), size);
    }

    /// ACKs of any content: nothing panics, and what was never sent is never acknowledged.
    #[test]
    fn any_ack_is_survived(
        acks in proptest::collection::vec(
            (0..60u64, 0..4u8, any::<[u8; 6]>(), 0..32u8, any::<u32>()), 1..200),
        sack in any::<bool>(),
    ) {
        let mut cfg = config("dctcp");
        cfg.sack = sack;
        let mut pipe = Pipe::new(cfg, "dctcp", Bytes::new(60 * MSS), Span::from_us(100));
        pipe.ack_fate = Box::new(|_, _| Fate::Drop);
        for (seq, sacks, blocks, flags, stamp) in acks {
            pipe.pump();
            pipe.now += Span::from_us(u64::from(stamp % 997));
            let mut ack = Packet {
                kind: forebay_wire::Kind::Ack,
                seq: seq * MSS,
                sacks,
                flags: forebay_wire::Flags(flags.into()),
                stamp,
                ..Packet::default()
            }
            .with_window(100 << 10);
            for (block, ends) in ack.ext.iter_mut().zip(blocks.chunks(2)) {
                let start = u32::from(ends[0] % 40) * MSS as u32;
                let len = u32::from(ends[1] % 20) * MSS as u32;
                *block = forebay_wire::SackBlock { start, end: start + len };
            }
            // A receiver SACKs nothing at the ACK itself.
            ack.ext.iter_mut().for_each(|b| b.start = b.start.max(MSS as u32));
            pipe.sender.on_ack(&pipe.cfg, pipe.now, &ack);
            if pipe.sender.deadline() <= pipe.now {
                pipe.sender.on_deadline(&pipe.cfg, pipe.now);
            }
            let t = pipe.sender.totals();
            prop_assert!(t.una <= t.nxt && t.inflight.get() <= t.nxt - t.una);
        }
    }
}
