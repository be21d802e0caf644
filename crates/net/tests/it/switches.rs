//! The switch as a whole: the shared buffer against an obvious one, and a digest that sees a single bit.

use crate::common::{Bench, FORMS, bytes, packet, plain, ps};
use forebay_net::{PortSettings, SharedBuffer};
use forebay_units::random::{Purpose, Stream};
use forebay_units::{Bytes, Span};
use forebay_wire::{Ecn, Packet};
use proptest::prelude::*;

/// The obvious shared buffer: every queue exact at every arrival.
struct Naive {
    size: u64,
    alpha_65536: u64,
    busy: Vec<u64>, // ps at which each port has sent everything
}

impl Naive {
    fn queue(&self, now: u64, port: usize) -> u64 {
        self.busy[port].saturating_sub(now) / 800
    }

    fn offer(&mut self, now: u64, port: usize, size: u64) -> bool {
        let used: u64 = (0..self.busy.len()).map(|p| self.queue(now, p)).sum();
        let free = self.size.saturating_sub(used);
        let threshold = u128::from(self.alpha_65536) * u128::from(free);
        let fits = size <= free && u128::from(self.queue(now, port) + size) << 16 <= threshold;
        if fits {
            self.busy[port] = self.busy[port].max(now) + size * 800;
        }
        fits
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Lazy counting with a re-test admits exactly what exact counting admits.
    #[test]
    fn the_shared_buffer_is_exact(seed in any::<u64>().no_shrink()) {
        let mut rng = Stream::new(seed, 0, Purpose::Test);
        let ports = 2 + rng.below(9) as usize;
        let size = 15_000 + rng.below(60_000);
        let alpha = [0.125, 0.5, 1.0, 4.0][rng.below(4) as usize];
        let form = FORMS[rng.below(3) as usize];
        let shared = SharedBuffer::new(Bytes::new(size), Some(alpha));
        let mut bench = Bench::new(ports as u32, PortSettings { form, ..plain() }, Some(shared));
        let mut naive = Naive { size, alpha_65536: (alpha * 65_536.0) as u64, busy: vec![0; ports] };
        let mut now = 0;
        let (mut drops, mut busiest) = (0, 0);
        for seq in 0..4_000u64 {
            now += rng.below(2 * 1_000 * 800 / (ports as u64 + 2));
            if rng.below(300) == 0 {
                now += 30_000_000; // a pause, in which all queues run dry without a look
            }
            let hot = rng.below(3) > 0;
            let port = if hot { rng.below(2) as usize } else { rng.below(ports as u64) as usize };
            let bytes = 64 + rng.below(1_437);
            let before = bench.switch.ports()[port].counters().dropped_packets;
            bench.arrive(ps(now), port, packet(0, seq, bytes as u16, Ecn::NotEct));
            let admitted = bench.switch.ports()[port].counters().dropped_packets == before;
            prop_assert_eq!(admitted, naive.offer(now, port, bytes), "packet {} at {} ps", seq, now);
            drops += u32::from(!admitted);
            let held: u64 = (0..ports).map(|p| naive.queue(now, p)).sum();
            prop_assert!(held <= bench.switch.shared().unwrap().used().get(), "the count is an upper bound");
            busiest = busiest.max(held);
        }
        prop_assume!(drops > 0 && busiest > size / 20, "a buffer that does not fill proves nothing");
    }
}

/// n ports at twice their rate each hold alpha/(1 + alpha n) of the buffer, within one packet, all the time.
#[test]
fn overloaded_ports_share_as_the_closed_form_says() {
    for form in FORMS {
        for (alpha, n) in [
            (0.125, 1),
            (0.125, 8),
            (0.5, 1),
            (0.5, 2),
            (0.5, 8),
            (1.0, 1),
            (1.0, 2),
            (1.0, 8),
            (8.0, 1),
            (8.0, 2),
            (8.0, 8),
        ] {
            let size = 2_000_000u64;
            let shared = SharedBuffer::new(Bytes::new(size), Some(alpha));
            let mut bench = Bench::new(n, PortSettings { form, ..plain() }, Some(shared));
            let due = alpha * size as f64 / (1.0 + alpha * f64::from(n));
            for round in 0..12_000u64 {
                for port in 0..n {
                    let now = ps(round * 400_000 + u64::from(port) * 400_000 / u64::from(n));
                    bench.arrive(now, port as usize, packet(0, round, 1_000, Ecn::NotEct));
                    bench.wires.arrive_before(now);
                    if round > 8_000 {
                        let queue = bench.switch.ports()[port as usize].queue(now) as f64;
                        // One packet of its own, and what the others may each be off by.
                        let slack = 1_000.0 * (1.0 + alpha);
                        assert!(
                            (queue - due).abs() <= slack,
                            "alpha {alpha}, n {n}: {queue}, due {due}"
                        );
                    }
                }
            }
        }
    }
}

/// Two classes of a port at twice its rate each, alpha = 1. A threshold of the port lets them have half of the buffer. One of each class: the
/// lower class, of which nothing goes, meets it with 0.4 of the buffer, when the higher has 0.2, and keeps that; the higher then has half of the rest.
#[test]
fn a_threshold_is_of_the_port_or_of_each_class() {
    let size = 2_000_000;
    for form in FORMS {
        for (by_class, share) in [(false, 0.5), (true, 0.4 + 0.3)] {
            let shared = SharedBuffer::new(Bytes::new(size), Some(1.0));
            let shared = if by_class { shared.by_class() } else { shared };
            let settings = PortSettings { form, classes: 2, ..plain() };
            let mut bench = Bench::new(2, settings, Some(shared));
            for round in 0..12_000u64 {
                let now = ps(round * 400_000);
                for class in 0..2 {
                    let one = packet(0, round, 1_000, Ecn::NotEct);
                    bench.arrive(now, 1, Packet { class, ..one });
                }
                bench.wires.arrive_before(now);
                let queue = bench.switch.ports()[1].queue(now) as f64;
                let off = (queue - share * size as f64).abs();
                assert!(round < 8_000 || off <= 3_000.0, "{form:?}, by class {by_class}: {queue}");
            }
        }
    }
}

#[test]
fn one_flipped_ecn_bit_changes_the_digest() {
    let digest = |flipped: Option<u64>| {
        let limit = Some(bytes(3_000));
        let mut bench = Bench::new(2, PortSettings { limit, ..plain() }, None);
        for seq in 0..50 {
            let ecn = if flipped == Some(seq) { Ecn::Ce } else { Ecn::Ect };
            bench.arrive(ps(seq * 600_000), 1, packet(0, seq, 1_500, ecn));
        }
        (bench.switch.digest().value(), bench.switch.ports()[1].counters().dropped_packets)
    };
    let (same, dropped) = digest(None);
    assert!(dropped > 10);
    assert_eq!(digest(None).0, same);
    let changed = (0..50).filter(|seq| digest(Some(*seq)).0 != same).count() as u64;
    assert_eq!(changed, dropped, "of every packet that is dropped here, the bit counts");
}

#[test]
fn a_switch_hears_of_time_only_through_its_events() {
    // Two ports, the same packets; one is also polled for departures all the time.
    for form in FORMS {
        let settings = PortSettings { form, loss: 0.2, ..plain() };
        let run = |ask: bool| {
            let mut bench = Bench::new(3, settings, None);
            let mut rng = Stream::new(2, 0, Purpose::Test);
            let mut now = ps(0);
            for seq in 0..3_000 {
                now += Span::from_ps(rng.below(2_000_000));
                if ask {
                    bench.switch.depart(now, &mut bench.wires);
                }
                let port = 1 + rng.below(2) as usize;
                bench.arrive(now, port, packet(port as u32, seq, 1_000, Ecn::Ect));
            }
            bench.run_to(now + Span::from_ms(1));
            bench.wires.arrived.sort_by_key(|(link, at, _)| (*link, *at));
            (bench.switch.digest().value(), bench.wires.arrived)
        };
        assert_eq!(run(false), run(true));
    }
}
