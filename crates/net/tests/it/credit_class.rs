//! A metered class for credits: against a port that looks at every picosecond, and known rates.

use crate::common::{Bench, FORMS, packet, plain, ps};
use forebay_net::{Form, PortFault, PortSettings};
use forebay_settings::{CreditClass, Fraction};
use forebay_units::random::{Purpose, Stream};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use forebay_wire::{Ecn, Packet};
use std::collections::VecDeque;

/// ExpressPass: a credit of 84 B releases 1,538 B of data.
const EXPRESSPASS: Fraction = Fraction { of: 84, whole: 1_622 };

fn metered(rate: u64, share: Fraction, burst: u64, limit: u64) -> PortSettings {
    let credits =
        CreditClass { class: 1, share, burst: Bytes::new(burst), limit: Bytes::new(limit) };
    let rate = BitsPerSec::new(rate);
    PortSettings { rate, flight: Span::ZERO, classes: 2, credits: Some(credits), ..plain() }
}

fn credit(seq: u64, size: u16) -> Packet {
    Packet { class: 1, ..packet(1, seq, size, Ecn::NotEct) }
}

/// A port of a picosecond per byte that looks at each picosecond what it can do.
struct Obvious {
    share: Fraction,
    burst: u64,
    limit: u64,
    tokens: u64, // in parts of a byte, as many as the denominator of the share
    queues: [VecDeque<(u64, u16)>; 2], // data and credits: number and size
    free: u64,
    sent: Vec<(u64, u64)>, // end of transmission, and number
    dropped: u64,
}

impl Obvious {
    fn send(&mut self, now: u64) {
        let price = |size: u16| u64::from(size) * u64::from(self.share.whole);
        if self.free > now {
            return;
        }
        let class = match (self.queues[1].front(), self.queues[0].front()) {
            (Some(credit), _) if price(credit.1) <= self.tokens => 1,
            (_, Some(_)) => 0,
            _ => return,
        };
        let (number, size) = self.queues[class].pop_front().unwrap();
        self.tokens -= if class == 1 { price(size) } else { 0 };
        self.free = now + u64::from(size);
        self.sent.push((self.free, number));
    }

    fn arrive(&mut self, now: u64, class: usize, number: u64, size: u16) {
        let waiting: u64 = self.queues[1].iter().map(|credit| u64::from(credit.1)).sum();
        if class == 1 && waiting + u64::from(size) > self.limit {
            self.dropped += 1;
        } else {
            self.queues[class].push_back((number, size));
        }
        self.send(now);
    }

    fn pass(&mut self, now: u64) {
        let full = self.burst * u64::from(self.share.whole);
        self.tokens = full.min(self.tokens + u64::from(self.share.of));
        self.send(now);
    }
}

#[test]
fn each_departure_is_where_a_port_has_it_that_looks_at_every_picosecond() {
    let of = |rng: &mut Stream, from: &[u64]| from[rng.below(from.len() as u64) as usize];
    for seed in 0..40 {
        let mut rng = Stream::new(seed, 0, Purpose::Test);
        let share = [EXPRESSPASS, Fraction { of: 1, whole: 7 }, Fraction { of: 2, whole: 3 }];
        let share = share[rng.below(3) as usize];
        let (burst, limit) = (of(&mut rng, &[92, 168, 700]), of(&mut rng, &[92, 168, 672]));
        let settings = metered(8_000_000_000_000, share, burst, limit);
        let gap = of(&mut rng, &[40, 200, 800]);
        let mut arrivals = Vec::new();
        let mut at = 1;
        for number in 0..300 {
            at += if rng.below(5) == 0 { 0 } else { rng.below(2 * gap) };
            let is_credit = rng.below(3) > 0;
            let size = if is_credit { 76 + rng.below(17) } else { 84 + rng.below(1_455) };
            arrivals.push((at, usize::from(is_credit), number, size as u16));
        }
        let mut obvious = Obvious {
            share,
            burst,
            limit,
            tokens: burst * u64::from(share.whole),
            queues: Default::default(),
            free: 0,
            sent: Vec::new(),
            dropped: 0,
        };
        let mut coming = arrivals.iter().peekable();
        let end = at + 1_000_000;
        let mut now = 0;
        while now < end && (coming.peek().is_some() || obvious.sent.len() < 300) {
            now += 1;
            obvious.pass(now);
            while let Some((_, class, number, size)) = coming.next_if(|one| one.0 == now) {
                obvious.arrive(now, *class, *number, *size);
            }
        }
        for form in FORMS {
            let mut bench = Bench::new(2, PortSettings { form, ..settings }, None);
            for (at, class, number, size) in &arrivals {
                let one = Packet { class: *class as u8, ..packet(1, *number, *size, Ecn::NotEct) };
                bench.run_to(ps(*at));
                bench.arrive(ps(*at), 1, one);
            }
            bench.run_to(ps(2 * end));
            let sent: Vec<_> =
                bench.wires.arrived.iter().map(|(_, at, one)| (at.as_ps(), one.seq)).collect();
            let first = sent.iter().zip(&obvious.sent).position(|(one, other)| one != other);
            assert_eq!(first, None, "seed {seed}, {form:?}");
            assert_eq!(sent.len(), obvious.sent.len(), "seed {seed}, {form:?}");
            let counters = bench.switch.counters(1);
            let dropped = (counters.dropped_packets, counters.dropped_credits);
            assert_eq!(dropped, (0, obvious.dropped), "seed {seed}, {form:?}");
        }
    }
}

/// Credits that have arrived by `end` out of a port of 10 Gb/s which gets them at `times` the rate that it lets through, with bytes of credits and
/// of data; all of 84 B or of 76 to 92, beside a backlog of data or not.
fn credits_of_10g(times: f64, jitter: u64, with_data: bool, end: Time) -> (u64, u64, u64) {
    let settings = metered(10_000_000_000, EXPRESSPASS, 168, 672);
    let mut bench = Bench::new(2, PortSettings { form: Form::Queued, ..settings }, None);
    let mut rng = Stream::new(9, 9, Purpose::Test);
    let gap = (84.0 * 800.0 * 1_622.0 / 84.0 / times) as u64;
    let (mut now, mut data, mut seq) = (ps(0), ps(0), 0);
    while now < end {
        now += Span::from_ps(gap / 2 + rng.below(gap));
        while with_data && data < now {
            bench.run_to(data);
            bench.arrive(data, 1, packet(0, seq, 1_538, Ecn::NotEct));
            (data, seq) = (data + Span::from_ps(1_538 * 800), seq + 1);
        }
        bench.run_to(now);
        bench.arrive(now, 1, credit(seq, (84 - jitter + rng.below(2 * jitter + 1)) as u16));
        seq += 1;
    }
    bench.run_to(end);
    let (mut count, mut bytes) = (0, [0; 2]);
    for (_, _, one) in &bench.wires.arrived {
        bytes[usize::from(one.class)] += u64::from(one.size);
        count += u64::from(one.class == 1);
    }
    (count, bytes[1], bytes[0])
}

/// At 10 Gb/s 770,653 credits of 84 B leave in a second, whatever comes beyond that, and 94.82 % of the wire is left for data.
/// Source: 10 Gb/s x 84/1622 / (8 x 84 B).
#[test]
fn credits_take_their_share_whatever_comes() {
    let end = ps(20_000_000_000);
    let share = 25_000_000 * 84 / 1_622; // bytes of the link in that time
    for times in [1.05, 2.0, 10.0] {
        for (jitter, with_data) in [(0, false), (0, true), (8, false), (8, true)] {
            let (count, bytes, data) = credits_of_10g(times, jitter, with_data, end);
            assert!(bytes <= share + 168 && bytes + 3 * 92 >= share, "{bytes} B of {share}");
            let per_second = count as f64 / 0.02;
            assert!(jitter > 0 || (per_second / 770_653.0 - 1.0).abs() < 2e-4, "{per_second}");
            let left = data as f64 / 25e6;
            assert!(!with_data || (left - 0.9482).abs() < 0.0002, "{left} of the wire has data");
        }
    }
}

#[test]
fn a_credit_waits_for_its_tokens_and_not_for_data_and_data_never_waits_for_tokens() {
    let bench = || Bench::new(2, metered(10_000_000_000, EXPRESSPASS, 168, 672), None);
    let ends = |bench: &mut Bench| {
        bench.run_to(ps(1_000_000_000));
        let ends = bench.wires.arrived.iter().map(|(_, at, one)| (one.seq, at.as_ps()));
        ends.collect::<Vec<_>>()
    };
    let byte = 800;
    // Three credits at once: two from the burst, the third when 84 tokens have come.
    let mut one = bench();
    (0..3).for_each(|seq| one.arrive(ps(0), 1, credit(seq, 84)));
    let refilled = 800 * 1_622;
    assert_eq!(ends(&mut one), [(0, 84 * byte), (1, 168 * byte), (2, refilled + 84 * byte)]);
    // Data in between does not wait, and the third credit waits for the wire alone.
    let mut two = bench();
    (0..3).for_each(|seq| two.arrive(ps(0), 1, credit(seq, 84)));
    two.run_to(ps(1_000_000));
    two.arrive(ps(1_000_000), 1, packet(0, 3, 1_538, Ecn::NotEct));
    two.arrive(ps(1_000_000), 1, packet(0, 4, 1_538, Ecn::NotEct));
    let data = 1_000_000 + 1_538 * byte;
    let all = ends(&mut two);
    assert_eq!(all[2..], [(3, data), (2, data + 84 * byte), (4, data + 1_622 * byte)]);
}

/// Link down and up, and other rates: nothing is lost sight of, and no more credits pass than at the highest rate.
#[test]
fn faults_leave_the_share_in_force() {
    for form in FORMS {
        let settings = metered(10_000_000_000, EXPRESSPASS, 168, 672);
        let mut bench = Bench::new(2, PortSettings { form, ..settings }, None);
        let mut rng = Stream::new(3, 0, Purpose::Test);
        let mut now = ps(0);
        for seq in 0..4_000 {
            now += Span::from_ns(rng.below(600));
            if rng.below(300) == 0 {
                now += Span::from_ps(1);
                let rate = BitsPerSec::from_gbps([1, 7, 10][rng.below(3) as usize]);
                let change = [PortFault::Down, PortFault::Up, PortFault::Up, PortFault::Rate(rate)];
                bench.fault(now, 1, change[rng.below(4) as usize]);
            }
            bench.run_to(now);
            match rng.below(4) {
                0 => bench.arrive(now, 1, packet(0, seq, 1_538, Ecn::NotEct)),
                _ => bench.arrive(now, 1, credit(seq, 84)),
            }
        }
        bench.run_to(now + Span::from_secs(1));
        assert_eq!(bench.accounted(now), bench.offered);
        let credits = bench.wires.arrived.iter().filter(|(_, _, one)| one.class == 1).count();
        let most = now.since(Time::ZERO).as_ps() / (800 * 1_622) + 2 + 8;
        assert!(credits > 100 && credits as u64 <= most, "{credits} credits, of at most {most}");
    }
}
