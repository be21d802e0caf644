//! The path to memory: its books balance whatever happens to it, and its steady states are the closed forms.

use forebay_host::memory::buffers::{Refresh, Reuse};
use forebay_host::memory::settings::{
    Actuator, AntagonistSettings, CacheModel, DdioSettings, IommuSettings, LINE, Poll,
    QueueSettings, Rnr, SmtOrder, Trace,
};
use forebay_host::memory::{
    Handling, Limit, MemoryPath, MemorySettings, PacketInMemory, ReadBytes, STEP, Totals,
};
use forebay_units::random::{Purpose, Stream};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use forebay_wire::{FlowId, Kind, Packet};
use proptest::prelude::*;
use std::collections::VecDeque;

/// What the Ethernet header adds to a packet, and what completion and descriptor add to its lines.
const ETHERNET: u64 = 14;
const EXTRA_LINES: u64 = 2;

/// Flows of the experiments, each with a core of its own.
const FLOWS: u32 = 4;

/// A path, driven by hand, that checks its books at every step.
struct Bench {
    path: MemoryPath,
    settings: MemorySettings,
    now: Time,
    /// Sizes of packets that were taken and are not in memory yet.
    inside: Vec<u16>,
    offered: u64,
    dropped: u64,
    delivered: u64,
    lines: u64,
    to_read: u64,
    read: u64,
    calls: u64,
    /// By core, when what it has not read came.
    waiting: Vec<VecDeque<Time>>,
    /// By core, when it was last done.
    done: Vec<Time>,
    spent: Spent,
}

/// Sums over packets, in ns, but for the last.
#[derive(Clone, Copy, Default)]
struct Spent {
    /// From the cable to memory.
    to_memory: f64,
    /// From memory until they were read.
    unread: f64,
    /// Of which their core worked on them.
    worked: f64,
    /// Bytes unread, summed over time.
    stood: f64,
}

fn ns(from: Time, to: Time) -> f64 {
    to.since(from).as_ps() as f64 * 1e-3
}

impl Bench {
    fn new(settings: &MemorySettings) -> Self {
        let (path, settings) = (MemoryPath::new(settings), settings.clone());
        let cores = settings.readers.cores as usize;
        Self {
            waiting: vec![VecDeque::new(); cores],
            done: vec![Time::ZERO; cores],
            spent: Spent::default(),
            path,
            settings,
            now: Time::ZERO,
            inside: Vec::new(),
            offered: 0,
            dropped: 0,
            delivered: 0,
            lines: 0,
            to_read: 0,
            read: 0,
            calls: 0,
        }
    }

    /// Goes on to `until`, calling the path when it is due.
    fn run(&mut self, until: Time) {
        loop {
            let before = std::mem::replace(&mut self.now, self.path.due().min(until));
            self.spent.stood += (self.to_read - self.read) as f64 * ns(before, self.now);
            self.calls += 1;
            self.path.advance(self.now);
            self.take();
            self.check();
            if self.now == until {
                return;
            }
        }
    }

    /// Takes what has arrived and what was read.
    fn take(&mut self) {
        while let Some(PacketInMemory { packet, arrived, .. }) = self.path.take_packet() {
            self.spent.to_memory += ns(arrived, self.now);
            let core = packet.flow.0 as usize % self.waiting.len();
            self.waiting[core].push_back(self.now);
            assert_eq!(packet.seq, self.delivered, "in order, none left out");
            assert_eq!(packet.size, self.inside.remove(0));
            self.delivered += 1;
            self.path.replenish(1);
            let read = ReadBytes { flow: packet.flow.0, bytes: u64::from(packet.size), upto: 0 };
            self.to_read += read.bytes;
            self.path.deliver(self.now, read.flow, read, Handling::of(1));
        }
        while let Some(read) = self.path.take_read() {
            self.read += read.bytes;
            let core = read.flow as usize % self.waiting.len();
            let came = self.waiting[core].pop_front().expect("only what was delivered is read");
            self.spent.unread += ns(came, self.now);
            self.spent.worked += ns(came.max(self.done[core]), self.now);
            self.done[core] = self.now;
        }
    }

    /// With what those have waited that are not read yet.
    fn spent_so_far(&self) -> Spent {
        let waited: f64 = self.waiting.iter().flatten().map(|came| ns(*came, self.now)).sum();
        Spent { unread: self.spent.unread + waited, ..self.spent }
    }

    /// Goes on for as long as what is in slots may take to leave: lines go in order, within a slot latency if reads, who go
    /// first, do not become more meanwhile.
    fn clear_slots(&mut self) {
        for _ in 0..4 {
            let latency = Span::from_ps((self.path.now().slot_latency * 1e3) as u64);
            self.run(self.now + latency + STEP);
        }
    }

    fn check(&mut self) {
        let (now, totals) = (self.path.now(), self.path.totals());
        let due = self.path.due();
        assert!(due > self.now, "due at {due:?}, now {:?}", self.now);
        assert!(now.inside <= f64::from(self.settings.iio.slots), "{} slots", now.inside);
        assert!((totals.entered - totals.left - now.inside).abs() < 1e-6);
        assert!(totals.entered <= self.lines as f64);
        assert!(now.buffered <= self.settings.nic.buffer.get());
        assert_eq!(now.unread, self.to_read - self.read);
        assert_eq!([totals.arrived, totals.dropped], [self.offered, self.dropped]);
        assert!(now.wait >= 0.0 && now.wait.is_finite());
        let posted: f64 = totals.antagonist_written.iter().sum();
        assert!((-1e-9..=posted + 1e-6).contains(&now.posted), "{} of {posted}", now.posted);
    }

    /// A packet comes; whether the NIC has room is known beforehand.
    fn offer(&mut self, flow: u32, size: u16) {
        let frame = u64::from(size) + ETHERNET;
        let fits = self.path.now().buffered + frame <= self.settings.nic.buffer.get();
        let packet = Packet {
            flow: FlowId(flow),
            size,
            seq: self.delivered + self.inside.len() as u64,
            ..Packet::default()
        };
        self.offered += 1;
        assert_eq!(self.path.offer(self.now, &packet), fits);
        if fits {
            self.inside.push(size);
            self.lines += frame.div_ceil(LINE) + EXTRA_LINES;
        } else {
            self.dropped += 1;
        }
    }
}

/// What happens to a path.
#[derive(Clone, Debug)]
enum Happens {
    Packets(u16, u32),
    Level(u8),
    Nothing,
}

fn happens() -> impl Strategy<Value = (u64, Happens)> {
    let what = prop_oneof![
        6 => (64..9000u16, 1..40u32).prop_map(|(size, count)| Happens::Packets(size, count)),
        2 => (0..=5u8).prop_map(Happens::Level),
        1 => Just(Happens::Nothing),
    ];
    (0..20_000u64, what)
}

fn antagonist() -> impl Strategy<Value = AntagonistSettings> {
    let rests = prop::option::of((1..60u64, 1..60u64));
    let steps = prop::collection::btree_map(0..60u32, 0..40u32, 1..5);
    let trace = prop::option::weighted(0.2, steps).prop_map(|steps| {
        let each = |(us, rate)| (f64::from(us), f64::from(rate));
        steps.map(|steps| Trace::Steps(steps.into_iter().map(each).collect()))
    });
    (1..7u32, 1_000..25_000u32, 0..=2_000u32, any::<bool>(), rests, 0..30u64, trace).prop_map(
        |(cores, lines_in_flight_milli, writes_permille, local, rests, start, trace)| {
            AntagonistSettings {
                cores,
                lines_in_flight_milli,
                writes_permille,
                cached_permille: 0,
                local,
                rests: rests.map(|(on, off)| (Span::from_us(on), Span::from_us(off))),
                start: Span::from_us(start),
                trace,
            }
        },
    )
}

fn host() -> impl Strategy<Value = MemorySettings> {
    let actuator = prop_oneof![Just(Actuator::Sockets), Just(Actuator::Delay), Just(Actuator::Cap)];
    let controller = (4..80u64, prop::option::of(4..60u32));
    (
        prop::collection::vec(antagonist(), 0..3),
        (1..200u32, 10_000..400_000u64, 1..64u32),
        (any::<bool>(), 1..9u32, 1..20u32),
        controller,
        (actuator, 1..4u8, 1..3u8),
        prop_oneof![Just((0, 0)), (0..3000u64, 0..4096u32)],
    )
        .prop_map(|(antagonists, nic, cores, controller, throttle, walks)| {
            let mut host = MemorySettings { antagonists, ..MemorySettings::default() };
            (host.iio.slots, host.nic.descriptors) = (nic.0, nic.2);
            host.nic.buffer = Bytes::new(nic.1);
            host.ddio = cores.0.then(DdioSettings::default);
            (host.readers.cores, host.readers.lines_in_flight) = (cores.1, cores.2);
            host.controller.bytes_per_sec = controller.0 * 1_000_000_000;
            host.controller.posted_limit = controller.1;
            host.throttle.actuator = throttle.0;
            (host.throttle.slowing, host.throttle.pausing) = (throttle.1, throttle.2);
            (host.iommu.walk, host.iommu.entries) = (Span::from_ns(walks.0), walks.1);
            host
        })
}

/// Runs a script; with `split`, calls the path at random instants between, 50 ns apart on average.
fn play(host: &MemorySettings, script: &[(u64, Happens)], split: bool) -> Bench {
    let mut bench = Bench::new(host);
    let mut between = Stream::new(1, 0, Purpose::Test);
    for (after, what) in script {
        let until = bench.now + Span::from_ns(*after);
        while split && bench.now < until {
            bench.run((bench.now + Span::from_ps(between.below(100_000) + 1)).min(until));
        }
        bench.run(until);
        match what {
            Happens::Packets(size, count) => {
                for _ in 0..*count {
                    bench.offer(bench.offered as u32 % FLOWS, *size);
                }
            }
            Happens::Level(level) => {
                bench.path.set_level(bench.now, (*level).min(host.throttle.max_level()));
            }
            Happens::Nothing => {}
        }
    }
    bench
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    /// Every packet that the NIC took reaches memory in order and is read once, every slot comes free, whatever antagonists
    /// and levels do; and the controller serves no more than it can.
    #[test]
    fn nothing_is_lost_and_nothing_stands_still(
        host in host(), script in prop::collection::vec(happens(), 1..40)
    ) {
        let mut bench = play(&host, &script, false);
        let end = bench.now + Span::from_ms(200);
        while (bench.delivered + bench.dropped < bench.offered || bench.read < bench.to_read) && bench.now < end {
            bench.run(bench.now + Span::from_us(200));
        }
        prop_assert_eq!(bench.delivered, bench.offered - bench.dropped);
        prop_assert_eq!(bench.read, bench.to_read);
        bench.clear_slots();
        let (now, totals) = (bench.path.now(), bench.path.totals());
        prop_assert_eq!((now.inside, now.buffered, now.unread), (0.0, 0, 0));
        prop_assert_eq!((totals.entered, totals.left), (bench.lines as f64, bench.lines as f64));
    }

    #[test]
    fn the_same_calls_give_the_same_bits(
        host in host(), script in prop::collection::vec(happens(), 1..20)
    ) {
        let totals = || play(&host, &script, false).path.totals();
        prop_assert_eq!(totals(), totals());
    }
}

/// Ten cores that write on 4 GB/s keep a slot for tens of microseconds, and lines leave all the same.
#[test]
fn slots_clear_however_long_memory_holds_them() {
    let cores = |cores, lines_in_flight_milli, writes_permille, local, start| AntagonistSettings {
        cores,
        lines_in_flight_milli,
        writes_permille,
        cached_permille: 0,
        local,
        rests: None,
        start: Span::from_us(start),
        trace: None,
    };
    let mut host = MemorySettings {
        antagonists: vec![cores(4, 17_502, 898, true, 19), cores(6, 19_809, 1_877, false, 10)],
        ..MemorySettings::default()
    };
    host.iio.slots = 46;
    host.controller.bytes_per_sec = 4_000_000_000;
    host.readers.cores = 1;
    let packets = [(0, 64, 1), (2379, 819, 1), (999, 64, 1), (60_000, 243, 9)];
    let script: Vec<_> = packets
        .iter()
        .map(|&(after, size, count)| (after, Happens::Packets(size, count)))
        .collect();
    let mut bench = play(&host, &script, false);
    bench.run(bench.now + Span::from_us(1));
    assert!(bench.path.now().inside > 0.0);
    assert!(bench.path.now().slot_latency > 10e3, "{} ns", bench.path.now().slot_latency);
    bench.clear_slots();
    assert_eq!(bench.path.now().inside, 0.0);
    assert_eq!(bench.path.totals().left, bench.lines as f64);
}

/// The testbed with `cores` of an antagonist.
fn testbed(cores: u32) -> MemorySettings {
    let antagonists = vec![AntagonistSettings { cores, ..AntagonistSettings::default() }];
    MemorySettings { antagonists, ..MemorySettings::default() }
}

/// What happens in the second of two half milliseconds under a load of `gigabits` in packets of 4,000 B.
struct Steady {
    ns: f64,
    before: Totals,
    after: Totals,
    /// What packets spent, per ns.
    spent: Spent,
    /// Means over random instants.
    posted: f64,
    slot_rate: f64, // 1 / latency of a slot
    buffered: f64,
}

impl Steady {
    fn of(settings: &MemorySettings, level: u8, gigabits: u64) -> Self {
        let mut bench = Bench::new(settings);
        bench.path.set_level(Time::ZERO, level);
        let (half, end) = (Time::ZERO + Span::from_us(500), Time::ZERO + Span::from_us(1000));
        let apart = Span::from_ps(65 * LINE * 8 * 1000 / gigabits);
        let mut instants = Stream::new(1, 0, Purpose::Test);
        let (mut next, mut look) = (Time::ZERO + apart, half);
        let (mut before, mut posted, mut slot_rate, mut looks) = (None, 0.0, 0.0, 0.0);
        let mut buffered = 0.0;
        while bench.now < end {
            bench.run(next.min(look).min(end));
            if bench.now == half {
                before = Some((bench.path.totals(), bench.spent_so_far()));
            }
            if bench.now == look {
                let now = bench.path.now();
                (posted, slot_rate) = (posted + now.posted, slot_rate + 1.0 / now.slot_latency);
                buffered += now.buffered as f64;
                (look, looks) = (look + Span::from_ps(instants.below(100_000)), looks + 1.0);
            }
            if bench.now == next {
                bench.offer(bench.offered as u32 % FLOWS, 4000);
                next += apart;
            }
        }
        let ns = end.since(half).as_ps() as f64 * 1e-3;
        let ((before, then), after) = (before.expect("half way"), bench.path.totals());
        let spent = bench.spent_so_far();
        let rate = |of: fn(&Spent) -> f64| (of(&spent) - of(&then)) / ns;
        let spent = Spent {
            to_memory: rate(|s| s.to_memory),
            unread: rate(|s| s.unread),
            stood: rate(|s| s.stood),
            worked: rate(|s| s.worked),
        };
        let [posted, slot_rate, buffered] = [posted, slot_rate, buffered].map(|sum| sum / looks);
        Self { ns, before, after, spent, posted, slot_rate, buffered }
    }

    /// Per ns, of a total.
    fn rate(&self, total: impl Fn(&Totals) -> f64) -> f64 {
        (total(&self.after) - total(&self.before)) / self.ns
    }

    /// How long the last line of a packet is in slots, in ns: with DDIO as one that evicts.
    fn landing(&self, settings: &MemorySettings) -> f64 {
        let (slot, miss) = (1.0 / self.slot_rate, self.rate(|t| t.dma) / self.rate(|t| t.left));
        let hit = settings.ddio.map_or(0.0, |ddio| ddio.hit.as_ps() as f64 * 1e-3);
        hit + (slot - hit) / miss
    }

    fn drain(&self) -> f64 {
        self.rate(|t| t.left) * (LINE * 8) as f64
    }

    fn antagonist(&self) -> f64 {
        self.rate(|t| t.antagonist_read.iter().chain(&t.antagonist_written).sum()) * LINE as f64
    }
}

fn close(a: f64, b: f64, percent: f64) -> bool {
    (a / b - 1.0).abs() * 100.0 < percent
}

/// Slots: lines = rate x latency. The line of posted writes: lines = rate x wait. Each number is kept apart from the others;
/// latency and wait are means over time, not over lines, which packets make 1 % of a difference.
#[test]
fn littles_law_holds_at_slots_and_in_the_line_of_writes() {
    for ddio in [None, Some(DdioSettings::default())] {
        for (cores, level, gigabits) in
            [(0, 0, 103), (1, 0, 80), (2, 0, 103), (3, 0, 40), (3, 0, 103), (3, 3, 103)]
        {
            let settings = MemorySettings { ddio, ..testbed(cores) };
            let steady = Steady::of(&settings, level, gigabits);
            let lines = steady.rate(|t| t.occupancy);
            let product = steady.rate(|t| t.left) / steady.slot_rate;
            assert!(close(lines, product, 1.5), "{cores} cores, {gigabits}: {lines} {product}");
            let written = steady.rate(|t| t.antagonist_written.iter().sum());
            let (queue, product) = (steady.posted, written * steady.rate(|t| t.wait));
            // Below saturation the line comes and goes with the packets that are copied.
            let near = if queue < 5.0 { 0.2 / queue * 100.0 } else { 1.5 };
            let none = queue < 1e-6 && product == 0.0; // lines of slots are counted in millionths
            assert!(none || close(queue, product, near), "{cores} cores: {queue} {product}");
        }
    }
}

/// The NIC buffer, where frames queue in it: bytes = rate x wait; a packet waits until its lines enter slots, on average half
/// of a packet before the last, which is in slots until the packet lands. Cores that keep up: bytes unread = rate x time until they are read, and cores at work =
/// packets x time that one takes.
#[test]
fn littles_law_holds_in_the_nic_buffer_and_at_the_cores_that_copy() {
    const FRAME: f64 = 4014.0;
    let (mut queued, mut kept_up) = (0, 0);
    for ddio in [None, Some(DdioSettings::default())] {
        for (cores, level, gigabits) in [
            (0, 0, 103),
            (0, 0, 120),
            (1, 0, 103),
            (2, 0, 103),
            (3, 0, 40),
            (3, 0, 103),
            (3, 3, 103),
        ] {
            let what = format!("ddio {}, {cores} cores, {gigabits} Gb/s", ddio.is_some());
            let settings = MemorySettings { ddio, ..testbed(cores) };
            let steady = Steady::of(&settings, level, gigabits);
            let packets = steady.rate(|t| t.left) / 65.0;
            if steady.buffered > 3.0 * FRAME {
                queued += 1;
                let outside = steady.spent.to_memory - packets * steady.landing(&settings) - 0.5;
                let (bytes, product) = (steady.buffered, FRAME * outside);
                assert!(close(bytes, product, 0.5), "{what}: {bytes} B, not {product}");
            }
            if steady.rate(|t| t.reading) < f64::from(FLOWS) - 0.01 {
                kept_up += 1;
                let (bytes, product) = (steady.spent.stood, 4000.0 * steady.spent.unread);
                assert!(close(bytes, product, 0.5), "{what}: {bytes} B unread, not {product}");
                let (busy, work) = (steady.rate(|t| t.reading), steady.spent.worked);
                assert!(close(busy, work, 0.5), "{what}: {busy} cores at work, not {work}");
            }
        }
    }
    assert!(queued > 5 && kept_up > 5, "{queued} queued, {kept_up} kept up");
}

/// With a backlog the NIC drains at slots x 64 B / latency, or at PCIe's payload rate where that is less. The slots are those that are held:
/// the more of the link's rate that is, the more of the others wait for it.
#[test]
fn a_backlog_drains_at_slots_by_latency_or_at_the_link() {
    for (cores, slots) in [(0, 20), (0, 93), (1, 40), (2, 93), (3, 46), (3, 93), (5, 93)] {
        let mut settings = testbed(cores);
        settings.iio.slots = slots;
        let steady = Steady::of(&settings, 0, 120);
        let held = steady.rate(|t| t.occupancy);
        let link = settings.pcie.payload_rate().get() as f64 * 1e-9;
        let drain = steady.drain();
        let waiting = f64::from(slots) - held;
        assert!(waiting > -1e-9 && (waiting < 0.6 || drain > 0.6 * link), "{waiting} at {drain}");
        let all = f64::from(slots) * (LINE * 8) as f64 * steady.slot_rate;
        assert!(drain < all.min(link) * 1.005, "{cores} cores, {slots}: {drain}, {all}");
        let limit = held * (LINE * 8) as f64 * steady.slot_rate;
        assert!(close(drain, limit.min(link), 0.5), "{cores} cores, {slots}: {drain}, {limit}");
    }
}

/// A walk for each packet's page lengthens its lines' time in slots by the walk, and by none where the IOMMU caches all of them or packets share pages.
#[test]
fn walks_of_an_iommu_hold_slots() {
    let with = |walk, entries, page, ddio| {
        let iommu = IommuSettings { walk: Span::from_ns(walk), entries, page: Bytes::new(page) };
        Steady::of(&MemorySettings { iommu, ddio, ..testbed(0) }, 0, 120)
    };
    for ddio in [None, Some(DdioSettings::default())] {
        let slots = |of: &Steady| 93.0 * (LINE * 8) as f64 * of.slot_rate;
        let none = with(0, 0, 4096, ddio);
        let all = with(600, 0, 4096, ddio);
        let longer = 1.0 / all.slot_rate - 1.0 / none.slot_rate;
        assert!((longer - 600.0).abs() < 15.0, "{longer} ns, {ddio:?}");
        assert!(close(all.drain(), slots(&all), 1.0), "{} of {}", all.drain(), slots(&all));
        // Four cores have 4,096 buffers of a page each.
        let half = with(600, 2048, 4096, ddio);
        let longer = 1.0 / half.slot_rate - 1.0 / none.slot_rate;
        assert!((longer - 300.0).abs() < 15.0, "{longer} ns, {ddio:?}");
        assert_eq!(with(600, 4096, 4096, ddio).drain(), none.drain());
        // 512 of them share one of eight large pages.
        let large = with(600, 0, 2 << 20, ddio);
        assert!((1.0 / large.slot_rate - 1.0 / none.slot_rate) < 3.0);
        assert_eq!(with(600, 8, 2 << 20, ddio).drain(), none.drain());
    }
}

/// Paper, figure 8 and section 5.2: 65 and 45 lines at 103 Gb/s with DDIO off and on.
#[test]
fn an_idle_host_holds_65_or_45_lines_at_line_rate() {
    for (ddio, lines) in [(None, 65.0), (Some(DdioSettings::default()), 45.0)] {
        let steady = Steady::of(&MemorySettings { ddio, ..testbed(0) }, 0, 103);
        let found = steady.rate(|t| t.occupancy);
        assert!((found - lines).abs() < 0.5, "{found}, not {lines}");
        assert_eq!(steady.after.dropped, 0);
    }
}

/// Reads, writes of cores and writes of the NIC together: what the controller can, and no more.
#[test]
fn memory_serves_its_capacity_and_no_more() {
    let capacity = MemorySettings::default().controller.bytes_per_sec as f64 * 1e-9;
    for (cores, writes, speed) in
        [(0, 0, 0.5), (3, 0, 1.0), (3, 333, 1.0), (3, 1000, 1.0), (8, 1000, 1.0), (2, 2000, 1.0)]
    {
        let mut settings = testbed(cores);
        settings.antagonists[0].writes_permille = writes;
        settings.controller.bytes_per_sec = (capacity * speed * 1e9) as u64;
        let steady = Steady::of(&settings, 0, 103);
        let nic = steady.rate(|t| t.dma + t.copied) * LINE as f64;
        let served = nic + steady.antagonist();
        assert!(close(served, capacity * speed, 0.5), "{cores} cores, {writes}: {served} GB/s");
    }
}

#[test]
fn more_pressure_never_helps_the_nic_and_a_stronger_level_never_hurts() {
    let falls = |what: &str, drains: Vec<f64>| {
        for pair in drains.windows(2) {
            assert!(pair[1] <= pair[0] * 1.002, "{what}: {drains:?}");
        }
        assert!(drains[drains.len() - 1] < drains[0] * 0.9, "{what}: {drains:?}");
    };
    for ddio in [None, Some(DdioSettings::default())] {
        let drain = |settings: MemorySettings, level| {
            Steady::of(&MemorySettings { ddio, ..settings }, level, 120).drain()
        };
        falls("cores", (0..7).map(|cores| drain(testbed(cores), 0)).collect());
        falls("level", (0..=4).rev().map(|level| drain(testbed(3), level)).collect());
        let with_lines = |lines: u32| {
            let mut settings = testbed(3);
            settings.antagonists[0].lines_in_flight_milli = lines * 1000;
            settings
        };
        falls("lines", (2..30).step_by(4).map(|lines| drain(with_lines(lines), 0)).collect());
    }
}

#[test]
fn calling_more_often_changes_totals_by_less_than_half_a_percent() {
    for ddio in [None, Some(DdioSettings::default())] {
        for (cores, gigabits) in [(0, 100), (1, 100), (2, 60), (3, 40), (3, 100)] {
            let mut settings = MemorySettings { ddio, ..testbed(cores) };
            settings.antagonists[0].rests = Some((Span::from_us(35), Span::from_us(15)));
            let arrivals = 500_000 * gigabits / 33_280; // in half a millisecond, 65 lines each
            let script = vec![(500_000 / arrivals, Happens::Packets(4000, 1)); arrivals as usize];
            let [few, many] =
                [false, true].map(|split| play(&settings, &script, split).path.totals());
            let numbers = |t: &Totals| {
                let antagonist = t.antagonist_read[0];
                [t.entered, t.left, t.copied, antagonist, t.reading, t.occupancy]
            };
            for (a, b) in numbers(&few).into_iter().zip(numbers(&many)) {
                assert!(a == b || close(a, b, 0.5), "{cores} cores, {gigabits}: {few:?} {many:?}");
            }
            let drops = few.dropped.abs_diff(many.dropped);
            assert!(drops * 200 <= few.arrived, "{} and {}", few.dropped, many.dropped);
        }
    }
}

/// Nothing but antagonists that come and go: the path sleeps between, and their traffic is what it is without sleep.
#[test]
fn a_sleeping_path_accounts_its_antagonists_and_wakes() {
    let mut settings = testbed(3);
    settings.antagonists[0].rests = Some((Span::from_ms(3), Span::from_ms(1)));
    let mut bench = Bench::new(&settings);
    bench.run(Time::ZERO + Span::from_ms(40));
    let totals = bench.path.totals();
    let drawn = (totals.antagonist_read[0] + totals.antagonist_written[0]) * LINE as f64;
    let capacity = settings.controller.bytes_per_sec as f64 * 1e-9;
    assert!(close(drawn, capacity * 30e6, 0.5), "{drawn} B");
    assert!(close(totals.levels[0], 40e6, 1e-9));
    let steps = 40_000_000_000 / STEP.as_ps();
    assert!(bench.calls < steps / 10, "{} calls", bench.calls);

    let packet = bench.now;
    bench.offer(0, 4000);
    while bench.read == 0 {
        let due = bench.path.due();
        bench.run(due);
    }
    // Antagonists have just come back: protocol work and copying take a microsecond, memory less than two.
    assert!(bench.now.since(packet) < Span::from_us(4), "{:?}", bench.now.since(packet));
}

/// A copy that is so long that memory has settled with it ends, and nothing else comes: the path does not sleep with the demand of the copy.
#[test]
fn antagonists_have_all_of_memory_when_copying_has_ended() {
    let mut path = MemoryPath::new(&testbed(3));
    let run = |path: &mut MemoryPath, us: u64| {
        let (mut now, end) = (path.at(), Time::ZERO + Span::from_us(us));
        while now < end {
            now = path.due().min(end);
            path.advance(now);
            while path.take_read().is_some() {}
        }
        let (_, totals) = path.totals_at(end);
        totals.antagonist_read[0] + totals.antagonist_written[0]
    };
    run(&mut path, 100);
    path.deliver(path.at(), 0, ReadBytes { flow: 0, bytes: 1_000_000, upto: 0 }, Handling::of(250));
    let [copying, idle] = [150, 700].map(|us| {
        let before = run(&mut path, us);
        (run(&mut path, us + 50) - before) * LINE as f64 / 50e3
    });
    assert!(copying < 33.0 && close(idle, 34.8, 0.1), "{copying} and {idle} GB/s");
}

/// Writes begin when the first reads are back, six sevenths of a latency of 137 ns and more, and none is left out when their core stops.
#[test]
fn every_read_of_an_antagonist_is_followed_by_its_write() {
    let mut settings = testbed(3);
    settings.antagonists[0].writes_permille = 700;
    settings.antagonists[0].rests = Some((Span::from_us(5), Span::from_us(5)));
    let mut bench = Bench::new(&settings);
    for round in 0..20 {
        let start = Time::ZERO + Span::from_us(10) * round;
        let of = |bench: &Bench| {
            let totals = bench.path.totals();
            (totals.antagonist_read[0] * 0.7, totals.antagonist_written[0])
        };
        let before = of(&bench).1;
        bench.run(start + Span::from_ns(110));
        let (read, written) = of(&bench);
        assert!(written == before && read > before + 10.0, "{read} {written}");
        bench.run(start + Span::from_us(5));
        let (read, written) = of(&bench);
        assert!(close(read - written, 56.1 * 0.7, 10.0), "in flight: {}", read - written);
        bench.run(start + Span::from_us(10));
        let (read, written) = of(&bench);
        assert!(close(read, written, 1e-6), "{read} {written}");
    }
}

/// A link slower than a line in a step still moves.
#[test]
fn a_slow_link_moves_its_lines_one_after_the_other() {
    let mut settings = MemorySettings::default();
    settings.pcie.rate = BitsPerSec::new(1_000_000_000);
    let mut bench = Bench::new(&settings);
    bench.offer(0, 1500);
    bench.run(Time::ZERO + Span::from_us(30));
    assert_eq!((bench.delivered, bench.read), (1, 1500));
}

/// Reads that miss, writes in place, buffers written back, lines of the NIC to memory and lines copied from it, of 4,000 frames after 1,000, with `window` of them between the cable
/// and the end of their read, a ring of `depth` buffers, and a cache of 60 buffers with 10 in DDIO ways.
fn in_a_ring(depth: u32, window: u32) -> ([u64; 3], [f64; 2]) {
    let (from, to) = around_a_ring(depth, window, None, None, 0);
    let counts = |of: &Totals| {
        let counts = of.queue.unwrap().counts;
        [counts.misses(), counts.in_place, counts.written_back]
    };
    assert_eq!(to.queue.unwrap().extra, 0);
    let [before, after] = [counts(&from), counts(&to)];
    (std::array::from_fn(|i| after[i] - before[i]), [to.dma - from.dma, to.copied - from.copied])
}

/// Totals after 1,000 frames and after 5,000, which are copied to `copies` other buffers in turn, if to any, beside a core of which a share of reads goes to
/// the cache.
fn around_a_ring(
    depth: u32,
    window: u32,
    rnr: Option<Rnr>,
    copies: Option<u64>,
    cached_permille: u32,
) -> (Totals, Totals) {
    let queue = QueueSettings {
        depth,
        shared: true,
        buffer: Bytes::new(4096),
        reuse: Reuse::Fifo,
        refresh: Refresh::Write,
        assemble: copies.map(|buffers| Bytes::new(buffers * 4096)),
        rnr,
        poll: Poll::Arrival,
    };
    let cache = Bytes::new(60 * 4096);
    let ddio = DdioSettings {
        cache,
        cache_ways: 6,
        ways: 1,
        model: CacheModel::Buffers,
        queue: Some(queue),
        ..<_>::default()
    };
    let beside = AntagonistSettings { writes_permille: 0, cached_permille, ..<_>::default() };
    let antagonists = if cached_permille > 0 { vec![beside] } else { Vec::new() };
    let settings = MemorySettings { ddio: Some(ddio), antagonists, ..<_>::default() };
    let mut path = MemoryPath::new(&settings);
    let (mut sent, mut done, mut now) = (0, 0, Time::ZERO);
    let mut warm = None;
    while done < 5000 {
        while sent < done + window {
            let packet =
                Packet { kind: Kind::Data, size: 4000, seq: u64::from(sent), ..<_>::default() };
            assert!(path.offer(now, &packet));
            sent += 1;
        }
        now = path.due();
        path.advance(now);
        while let Some(landed) = path.take_packet() {
            path.replenish(1);
            path.claim(0, landed.packet.seq + 1);
            let fragments = copies.is_some();
            let handling = Handling { fragments, ..Handling::of(1) };
            path.deliver(now, 0, ReadBytes { flow: 0, bytes: 3948, upto: 0 }, handling);
        }
        while path.take_read().is_some() {
            done += 1;
        }
        // Buffers taken, less those given back, are those of unread frames.
        let under_way = sent - done;
        let taken = if rnr == Some(Rnr::Wait) { under_way.min(depth) } else { under_way };
        assert_eq!(path.totals().queue.unwrap().unread, u64::from(taken) * 4096);
        if done == 1000 && warm.is_none() {
            warm = Some(path.totals());
        }
    }
    (warm.unwrap(), path.totals())
}

/// Sixty frames under way and twenty buffers: the others wait in the NIC, in turn, and all are read; the stack posts no buffer of its own.
/// Of the first twenty, the ten that the ways cannot hold are missed; from then on all twenty are resident. Without a rule the stack posts forty.
#[test]
fn data_without_a_buffer_waits_in_the_nic() {
    let (_, totals) = around_a_ring(20, 60, Some(Rnr::Wait), None, 0);
    let queue = totals.queue.unwrap();
    assert_eq!((queue.extra, queue.refused, queue.counts.misses()), (0, 0, 10));
    assert!((4940..=5040).contains(&queue.waited), "{}", queue.waited);
    assert!(totals.most_buffered > 39 * 4000, "{}", totals.most_buffered);
    let pace = totals.limits[Limit::Descriptors as usize] / totals.limits.iter().sum::<f64>();
    assert!(pace > 0.5, "the queue sets the pace: {pace}");

    let (_, totals) = around_a_ring(20, 60, None, None, 0);
    let queue = totals.queue.unwrap();
    assert!((39..=41).contains(&queue.extra) && queue.waited == 0, "{}", queue.extra);
}

/// Twenty receive buffers and those that they are copied to take the same 60 places. Twenty of these find all resident; of a hundred each is gone when its
/// turn comes, so that every line copied comes from memory first, and takes the place of one that has to be written back.
#[test]
fn a_second_set_of_buffers_takes_cache_too() {
    let lines = |copies| {
        let (from, to) = around_a_ring(20, 5, None, copies, 0);
        (to.copied - from.copied) / 4000.0
    };
    let per_frame = 3948.0 / 64.0 * 1.046;
    assert_eq!([lines(None), lines(Some(20))], [0.0, 0.0]);
    let found = lines(Some(100));
    assert!((found / per_frame - 1.0).abs() < 0.01, "{found} of {per_frame}");
}

/// A ring of half the cache. While a neighbour brings fewer buffers into it than the NIC writes, each is still there when its turn comes; if it brings
/// more some are not, and if it brings many none is: each write evicts the oldest in the NIC's ways, which hold fewer frames than wait.
#[test]
fn a_neighbour_takes_what_the_ring_leaves_of_the_cache() {
    let cases = [
        (500, 0.8..1.0, 0, 4000..=4000),
        (620, 1.0..1.2, 0, 1..=3999),
        (1000, 1.5..3.0, 4000, 0..=0),
    ];
    for (cached_permille, share, missed, resident) in cases {
        let (from, to) = around_a_ring(30, 12, None, None, cached_permille);
        let read = to.antagonist_read[0] - from.antagonist_read[0];
        let brought = read * f64::from(cached_permille) * 1e-3 / 64.0 / 4000.0;
        let [before, after] = [&from, &to].map(|of| of.queue.unwrap().counts);
        let (misses, in_place) =
            (after.misses() - before.misses(), after.in_place - before.in_place);
        let seen = format!("{brought} for each frame: {misses} missed, {in_place} in place");
        assert!(share.contains(&brought) && resident.contains(&in_place), "{seen}");
        assert_eq!(misses, missed, "{seen}");
    }
}

/// Six deliveries of one flow and then two of another wait for one core: read as they came, or in turn until the second flow has no more.
#[test]
fn a_core_polls_its_flows_in_turn() {
    let order = |poll| {
        let queue = QueueSettings {
            depth: 20,
            shared: false,
            buffer: Bytes::new(4096),
            reuse: Reuse::Fifo,
            refresh: Refresh::Write,
            assemble: None,
            rnr: Some(Rnr::Wait),
            poll,
        };
        let ddio = DdioSettings {
            cache: Bytes::new(60 * 4096),
            cache_ways: 6,
            ways: 1,
            model: CacheModel::Buffers,
            queue: Some(queue),
            ..<_>::default()
        };
        let mut settings = MemorySettings { ddio: Some(ddio), ..<_>::default() };
        settings.readers.cores = 1;
        let mut path = MemoryPath::new(&settings);
        for (flow, bytes) in [(7, 1), (7, 2), (7, 3), (7, 4), (7, 5), (7, 6), (9, 1), (9, 2)] {
            path.deliver(Time::ZERO, 0, ReadBytes { flow, bytes, upto: bytes }, Handling::of(1));
        }
        let mut read = Vec::new();
        while read.len() < 8 {
            let due = path.due();
            path.advance(due);
            read.extend(std::iter::from_fn(|| path.take_read()).map(|one| (one.flow, one.bytes)));
        }
        read
    };
    let seven = |all: &[u64]| all.iter().map(|n| (7, *n)).collect::<Vec<_>>();
    let nine = [(9, 1), (9, 2)];
    assert_eq!(order(Poll::Arrival), [&seven(&[1, 2, 3, 4, 5, 6])[..], &nine].concat());
    let turns = [(7, 1), (9, 1), (7, 2), (9, 2)];
    assert_eq!(order(Poll::RoundRobin), [&turns[..], &seven(&[3, 4, 5, 6])].concat());
}

/// A microsecond of work on each of two threads takes a microsecond on two cores, and 1 / 0.6 us on one.
#[test]
fn two_threads_of_a_core_slow_each_other_down() {
    let takes = |smt, threads: u32| {
        let mut settings = MemorySettings::default();
        settings.readers.smt = smt;
        settings.readers.cores = 2;
        settings.readers.per_packet = Span::from_us(1);
        settings.readers.per_kilobyte = Span::ZERO;
        let mut path = MemoryPath::new(&settings);
        for core in 0..threads {
            path.deliver(
                Time::ZERO,
                core,
                ReadBytes { flow: core, bytes: 1, upto: 1 },
                Handling::of(1),
            );
        }
        let mut done = 0;
        while done < threads {
            let due = path.due();
            path.advance(due);
            done += std::iter::from_fn(|| path.take_read()).count() as u32;
        }
        path.at().as_ps() as f64 * 1e-6
    };
    for (smt, threads, us) in [(1, 2, 1.0), (2, 1, 1.0), (2, 2, 1.0 / 0.6)] {
        let found = takes(smt, threads);
        assert!((found - us).abs() < 0.01, "smt = {smt}, {threads} at work: {found} us");
    }
}

/// Eight flows of one entry and two, four or eight of the next, on eight cores of two threads: how many of the late ones are alone, share a core with one of
/// the first entry, and with one of their own; by hand.
#[test]
fn an_order_of_threads_says_which_flows_share_a_core() {
    let neighbours = |order: SmtOrder, late: u32| {
        let (early, threads) = (8, 16);
        let thread = |flow| order.thread(flow, early + late, threads);
        let mut at = [None; 16];
        for flow in 0..early + late {
            let before = at[thread(flow) as usize].replace(flow);
            assert_eq!(before, None, "{order:?}: a thread for each");
        }
        let mut found = [0; 3];
        for flow in early..early + late {
            let sibling = at[(thread(flow) as usize + 8) % 16];
            found[sibling.map_or(0, |other| if other < early { 1 } else { 2 })] += 1;
        }
        found
    };
    for (order, by_number) in [
        (SmtOrder::Entry, [[0, 2, 0], [0, 4, 0], [0, 8, 0]]),
        (SmtOrder::Mixed, [[0, 2, 0], [0, 4, 0], [0, 8, 0]]),
        (SmtOrder::Alike, [[0, 0, 2], [0, 0, 4], [0, 0, 8]]),
        (SmtOrder::Spread, [[2, 0, 0], [4, 0, 0], [0, 8, 0]]),
    ] {
        assert_eq!([2, 4, 8].map(|late| neighbours(order, late)), by_number, "{order:?}");
    }
    // Six: two are alone, and four share a core with one of the first entry.
    assert_eq!(neighbours(SmtOrder::Spread, 6), [2, 4, 0]);
    // Threads are dealt again where there are more flows.
    assert_eq!(SmtOrder::Spread.thread(0, 17, 16), SmtOrder::Spread.thread(16, 17, 16));
}

/// CARC, section 3.1, by hand: a ring that fits the cache misses nothing whatever waits; once what waits has passed the DDIO ways all of
/// it is resident, and no write evicts. A ring of twice the cache misses nothing while what waits fits the ways, and everything
/// with one more: then each write evicts (63 lines and two of the completion, of a frame of 4,014 B) and each line is read from
/// memory (64.5 of 3,948 B). The frame that is being read counts no more, and the next comes after its read began: twelve are
/// 11 that wait.
#[test]
fn a_ring_above_the_cache_misses_all_or_nothing() {
    for (window, resident) in [(3, 0), (10, 0), (12, 4000), (40, 4000)] {
        let evicted = 4000 - resident;
        let ([misses, in_place, written], [dma, copied]) = in_a_ring(60, window);
        assert_eq!([misses, in_place, written], [0, resident, evicted], "{window} frames");
        assert!(copied == 0.0 && (dma - evicted as f64 * 65.0).abs() < 800.0, "{dma}, {copied}");
    }
    let ([misses, ..], [_, copied]) = in_a_ring(120, 11);
    assert_eq!((misses, copied), (0, 0.0));
    let (counts, [dma, copied]) = in_a_ring(120, 12);
    assert_eq!(counts, [4000, 0, 4000]);
    assert!((dma / 4000.0 - 65.0).abs() < 0.2, "{dma}");
    assert!((copied / 4000.0 - 3948.0 / 64.0 * 1.046).abs() < 0.2, "{copied}");
}

/// A trace of 8 GB/s, nothing, 24 GB/s and more than there is: two cores draw what it says, or what they can; then they rest.
#[test]
fn a_trace_is_played() {
    let steps = vec![(0.0, 8.0), (500.0, 0.0), (1000.0, 24.0), (1500.0, 400.0), (2000.0, 0.0)];
    let of = AntagonistSettings {
        cores: 2,
        trace: Some(Trace::Steps(steps)),
        start: Span::from_us(100),
        ..AntagonistSettings::default()
    };
    let alone = AntagonistSettings { cores: 2, ..AntagonistSettings::default() };
    let rates = |of: AntagonistSettings| {
        let mut path = MemoryPath::new(&MemorySettings { antagonists: vec![of], ..<_>::default() });
        let drawn = |path: &mut MemoryPath, us: u64| {
            let until = Time::ZERO + Span::from_us(us);
            while path.due() < until {
                let due = path.due();
                path.advance(due);
            }
            path.advance(until);
            let totals = path.totals();
            (totals.antagonist_read[0] + totals.antagonist_written[0]) * LINE as f64
        };
        // The first 50 us of each step are left out.
        [0u64, 500, 1000, 1500, 2000].map(|from| {
            let before = drawn(&mut path, from + 150);
            (drawn(&mut path, from + 600) - before) / 450_000.0
        })
    };
    let (played, most) = (rates(of), rates(alone)[0]);
    for (rate, wanted) in played.iter().zip([8.0, 0.0, 24.0, most, 0.0]) {
        assert!((rate - wanted).abs() <= 0.02 * wanted, "{played:?}, {most} at most");
    }
    assert!(most > 28.0 && most < 30.0, "{most}: the published rate of two cores");
}

/// Settings within what the checker takes, of all that memory serves.
fn any_memory(d: &mut Stream) -> MemorySettings {
    let of = |d: &mut Stream, of: &[u64]| of[d.below(of.len() as u64) as usize];
    let mut settings = MemorySettings::default();
    let gigabits = of(d, &[5, 20, 50, 100, 278, 1_000]);
    settings.controller.bytes_per_sec = gigabits * 125_000_000;
    settings.controller.read_share_permille = of(d, &[1, 10, 170, 500, 1_000]) as u32;
    settings.controller.posted_limit = (d.below(3) == 0).then(|| of(d, &[1, 64, 4_096]) as u32);
    settings.controller.read_queueing = Span::from_ps(of(d, &[0, 21_500, 1_000_000]));
    settings.controller.local_read = Span::from_ns(of(d, &[1, 70, 2_000]));
    settings.ddio = (d.below(2) == 0).then(DdioSettings::default);
    settings.iio.slots = of(d, &[1, 30, 92, 1_000]) as u32;
    settings.readers.cores = of(d, &[1, 8]) as u32;
    settings.antagonists = (0..d.below(3))
        .map(|_| AntagonistSettings {
            cores: of(d, &[1, 3, 24, 100]) as u32,
            local: d.below(2) == 0,
            writes_permille: of(d, &[0, 1_000, 3_000]) as u32,
            rests: (d.below(3) == 0).then(|| {
                (Span::from_ns(of(d, &[300, 20_000])), Span::from_ns(of(d, &[300, 20_000])))
            }),
            ..AntagonistSettings::default()
        })
        .collect();
    settings
}

/// Lines of copies that are under way: they count as they leave.
fn copied_ahead(settings: &MemorySettings) -> f64 {
    f64::from(settings.readers.cores) * f64::from(settings.readers.lines_in_flight)
}

#[test]
fn memory_serves_no_more_than_its_bandwidth() {
    let (mut full, mut tight) = (0, 0);
    for seed in 0..300 {
        let mut d = Stream::new(seed, 40, Purpose::Test);
        let settings = any_memory(&mut d);
        let mut path = MemoryPath::new(&settings);
        let (mut now, mut next, mut offered) = (Time::ZERO, Time::ZERO, 0);
        let spacing = Span::from_ns([330, 1_000, 40_000][d.below(3) as usize]);
        let lines_per_ns = settings.controller.bytes_per_sec as f64 / LINE as f64 * 1e-9;
        let slack = copied_ahead(&settings) + lines_per_ns * ns(Time::ZERO, Time::ZERO + STEP);
        while now < Time::ZERO + Span::from_us(300) {
            now = path.due().min(next).min(now + Span::from_us(5));
            path.advance(now);
            let (_, _, moved) = path.machine_counters();
            let possible = lines_per_ns * ns(Time::ZERO, now);
            assert!(moved <= possible + slack, "seed {seed}: {moved} lines of {possible} at {now}");
            if now == next {
                path.offer(
                    now,
                    &Packet { size: 4_000, flow: FlowId(offered % 4), ..Packet::default() },
                );
                (next, offered) = (now + spacing, offered + 1);
            }
            while let Some(PacketInMemory { packet, .. }) = path.take_packet() {
                path.replenish(1);
                let read = ReadBytes { flow: packet.flow.0, bytes: 3_948, upto: 0 };
                path.deliver(now, packet.flow.0 % settings.readers.cores, read, Handling::of(1));
            }
            while path.take_read().is_some() {}
        }
        let (_, _, moved) = path.machine_counters();
        let possible = lines_per_ns * ns(Time::ZERO, now);
        full += u32::from(moved > 0.9 * possible);
        tight += u32::from(possible > 20.0 * slack);
    }
    assert!(full > 60 && tight > 60, "{full} of 300 fill memory, {tight} are held closely");
}

/// The refusal of a `read_share` of 0 names 0.001 as the least. Writes then pile up for a while, and count once memory has served them.
#[test]
fn writes_that_wait_count_once_memory_has_served_them() {
    let mut settings = MemorySettings::default();
    settings.controller.read_share_permille = 1;
    settings.antagonists = vec![AntagonistSettings { cores: 24, ..AntagonistSettings::default() }];
    for time in [Span::from_ms(1), Span::from_ms(5)] {
        let mut path = MemoryPath::new(&settings);
        let end = Time::ZERO + time;
        let mut now = Time::ZERO;
        while now < end {
            now = path.due().min(end);
            path.advance(now);
        }
        let rate = path.totals().served(0) * LINE as f64 / ns(Time::ZERO, end); // GB/s
        assert!(rate <= 34.8 * 1.01 && rate > 34.8 * 0.98, "{rate} GB/s in {time}");
    }
}
