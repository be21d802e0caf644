//! Virtual output queue: what the hosts of one rack send to one host, waiting for credits of that host's switch.
//!
//! A queue may send `in advance` bytes that no credit has come for. Beyond that each byte takes a byte of credit, so at
//! every instant: sent - credited <= in advance. Credits carry how much has been credited in all, so a lost one costs nothing once
//! the next is there; if none comes, the switch asks again ([`crate::Tor`]).
//!
//! Each packet that leaves tells the other side how much has been asked for so far: what was sent, or what arrived
//! ([`Asks`]), and how many flows share the queue.
//!
//! Source: HierCC (APNet 2021), section 3.2. Sizes are those of packets, without wire overhead.

use forebay_units::{Bytes, Span, Time};
use forebay_wire::{FlowId, Packet};
use std::collections::{BTreeMap, VecDeque};

/// What a queue asks credits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asks {
    /// For what it has sent: credits replace those that were used, and the bytes under way never exceed what may go in advance. A window.
    Sent,
    /// For what has arrived in it: credits follow demand.
    Demand,
}

/// What a queue is made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VoqSettings {
    /// Bytes that may go before the first credit. Less than a packet would let nothing go.
    pub advance: Bytes,
    /// What it asks credits for.
    pub asks: Asks,
    /// A flow counts until so long after its last packet arrived, and while it has one waiting.
    pub seen_for: Span,
}

/// What a packet tells the switch of its destination about the queue that it left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Told {
    /// Bytes that credits are asked for, since the beginning.
    pub asked: u64,
    /// Flows that share the queue, at least one.
    pub flows: u32,
}

/// The queue left the bounds that somebody watches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Crossed {
    /// It rose above the upper one.
    Above,
    /// It fell below the lower one, having been above the upper.
    Below,
}

/// What an arrival did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Whether the queue left its bounds.
    pub crossed: Option<Crossed>,
    /// The first packet of that in-port since the queue was empty.
    pub new_feeder: bool,
}

/// A virtual output queue.
#[derive(Clone, Debug)]
pub struct Voq {
    settings: VoqSettings,
    waiting: VecDeque<Packet>,
    queue: u64,    // bytes that wait
    arrived: u64,  // bytes
    sent: u64,     // bytes; invariant: at most advance + credited
    credited: u64, // bytes
    flows: Flows,
    feeders: Ports,
    low: u64,
    high: u64,
    above: bool, // above was told, below not yet
}

impl Voq {
    /// An empty queue. Nobody watches it.
    pub fn new(settings: VoqSettings) -> Self {
        Self {
            settings,
            waiting: VecDeque::new(),
            queue: 0,
            arrived: 0,
            sent: 0,
            credited: 0,
            flows: Flows::default(),
            feeders: Ports::default(),
            low: 0,
            high: u64::MAX,
            above: false,
        }
    }

    /// From now on tells when the queue rises above `high`, and then when it falls below `low`.
    pub fn watch(&mut self, low: Bytes, high: Bytes) {
        (self.low, self.high) = (low.get(), high.get());
    }

    /// A packet of a host arrives by `in_port`.
    pub fn arrive(&mut self, now: Time, in_port: u16, packet: &Packet) -> Arrival {
        if self.waiting.is_empty() {
            self.feeders.clear();
        }
        self.waiting.push_back(*packet);
        self.queue += u64::from(packet.size);
        self.arrived += u64::from(packet.size);
        self.flows.arrive(now, packet.flow, self.settings.seen_for);
        let crossed = (!self.above && self.queue > self.high).then_some(Crossed::Above);
        self.above |= crossed.is_some();
        Arrival { crossed, new_feeder: self.feeders.insert(in_port) }
    }

    /// A credit arrives: `credited` bytes in all. One that a later one has overtaken changes nothing; whether it did.
    pub fn credit(&mut self, credited: u64) -> bool {
        let new = credited > self.credited;
        self.credited = self.credited.max(credited);
        new
    }

    /// The next packet that may leave, and what it tells; it has left then. Leaves what a whole packet takes, and keeps the rest.
    pub fn next(&mut self, now: Time) -> Option<(Packet, Told, Option<Crossed>)> {
        let size = u64::from(self.waiting.front()?.size);
        if self.credit_left() < size {
            return None;
        }
        let packet = self.waiting.pop_front()?;
        self.queue -= size;
        self.sent += size;
        let told = self.told(now);
        self.flows.leave(now, packet.flow, self.settings.seen_for);
        let crossed = (self.above && self.queue < self.low).then_some(Crossed::Below);
        self.above &= crossed.is_none();
        Some((packet, told, crossed))
    }

    /// What a packet that leaves tells.
    pub fn told(&mut self, now: Time) -> Told {
        let flows = self.flows.count(now, self.settings.seen_for).max(1);
        Told { asked: self.asked(), flows }
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Bytes that credits are asked for, since the beginning.
    pub fn asked(&self) -> u64 {
        match self.settings.asks {
            Asks::Sent => self.sent,
            Asks::Demand => self.arrived,
        }
    }

    /// Bytes that may still go.
    pub fn credit_left(&self) -> u64 {
        self.settings.advance.get() + self.credited - self.sent
    }

    /// Bytes that wait.
    pub fn queue(&self) -> Bytes {
        Bytes::new(self.queue)
    }

    /// Bytes that have arrived since the beginning.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Bytes that have left.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Bytes that credits have come for.
    pub fn credited(&self) -> u64 {
        self.credited
    }

    /// Flows with a packet waiting, or seen lately.
    pub fn flows(&mut self, now: Time) -> u32 {
        self.flows.count(now, self.settings.seen_for)
    }

    /// In-ports that packets have come by since the queue was last empty, in order.
    pub fn feeders(&self) -> impl Iterator<Item = u16> + '_ {
        self.feeders.iter()
    }
}

/// Exact count of the flows of one queue.
#[derive(Clone, Debug, Default)]
struct Flows {
    known: BTreeMap<FlowId, Known>,
    order: VecDeque<(Time, FlowId)>, // arrivals that may still be somebody's last
}

#[derive(Clone, Copy, Debug)]
struct Known {
    last: Time,
    waiting: u32,
}

impl Flows {
    fn arrive(&mut self, now: Time, flow: FlowId, seen_for: Span) {
        self.expire(now, seen_for);
        let known = self.known.entry(flow).or_insert(Known { last: now, waiting: 0 });
        known.last = now;
        known.waiting += 1;
        self.order.push_back((now, flow));
    }

    fn leave(&mut self, now: Time, flow: FlowId, seen_for: Span) {
        if let Some(known) = self.known.get_mut(&flow) {
            known.waiting -= 1;
            if known.waiting == 0 && now.since(known.last) > seen_for {
                self.known.remove(&flow);
            }
        }
    }

    fn count(&mut self, now: Time, seen_for: Span) -> u32 {
        self.expire(now, seen_for);
        self.known.len() as u32
    }

    /// Forgets flows whose last packet is too long ago, but for those that have one waiting.
    fn expire(&mut self, now: Time, seen_for: Span) {
        while let Some((at, flow)) = self.order.front().copied() {
            if now.since(at) <= seen_for {
                break;
            }
            self.order.pop_front();
            if self.known.get(&flow).is_some_and(|known| known.last == at && known.waiting == 0) {
                self.known.remove(&flow);
            }
        }
    }
}

/// A set of ports.
#[derive(Clone, Debug, Default)]
struct Ports(Vec<u64>);

impl Ports {
    fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Whether it was not there.
    fn insert(&mut self, port: u16) -> bool {
        let (word, bit) = (usize::from(port) / 64, 1 << (port % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }

    fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        let bits = (0u16..).step_by(64).zip(&self.0);
        bits.flat_map(|(first, word)| {
            (0..64).filter(move |i| word >> i & 1 == 1).map(move |i| first + i)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: VoqSettings =
        VoqSettings { advance: Bytes::new(10_000), asks: Asks::Sent, seen_for: Span::from_us(20) };

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn packet(flow: u32, size: u16) -> Packet {
        Packet { flow: FlowId(flow), size, ..Packet::default() }
    }

    fn fill(voq: &mut Voq, packets: u32) {
        for _ in 0..packets {
            voq.arrive(us(0), 0, &packet(0, 1_048));
        }
    }

    fn leave(voq: &mut Voq) -> usize {
        std::iter::from_fn(|| voq.next(us(0))).count()
    }

    /// 10 KB in advance are nine packets of 1048 B; the 568 B that are left over make the tenth with one credit of 1 KB.
    #[test]
    fn packets_leave_whole_and_the_rest_of_a_credit_stays() {
        let mut voq = Voq::new(SETTINGS);
        fill(&mut voq, 20);
        assert_eq!((leave(&mut voq), voq.credit_left()), (9, 568));
        voq.credit(1_000);
        assert_eq!((leave(&mut voq), voq.credit_left()), (1, 520));
        voq.credit(1_000);
        assert_eq!(leave(&mut voq), 0, "the same credit again");
        voq.credit(4_000);
        assert_eq!((leave(&mut voq), voq.credit_left()), (3, 376), "two credits were lost");
        voq.credit(2_000);
        assert_eq!(voq.credited(), 4_000, "an old credit");
    }

    #[test]
    fn a_packet_tells_what_left_or_what_came() {
        for (asks, asked) in [(Asks::Sent, [1_048, 2_096]), (Asks::Demand, [5_240, 5_240])] {
            let mut voq = Voq::new(VoqSettings { asks, ..SETTINGS });
            fill(&mut voq, 5);
            let told = [(); 2].map(|()| voq.next(us(0)).map(|(_, told, _)| told.asked));
            assert_eq!(told, asked.map(Some));
        }
    }

    /// A flow counts while a packet of it waits, and for 20 us after its last arrival.
    #[test]
    fn flows_count_while_they_wait_or_were_seen_lately() {
        let mut voq = Voq::new(SETTINGS);
        voq.arrive(us(0), 0, &packet(1, 9_000));
        voq.arrive(us(5), 1, &packet(2, 9_000));
        voq.arrive(us(10), 2, &packet(1, 500));
        assert_eq!(voq.flows(us(10)), 2);
        let (first, told, _) = voq.next(us(12)).expect("in advance");
        assert_eq!((first.flow, told.flows), (FlowId(1), 2));
        assert_eq!(voq.flows(us(100)), 2, "both wait");
        voq.credit(9_000);
        let (second, told, _) = voq.next(us(100)).expect("credited");
        assert_eq!((second.flow, told.flows), (FlowId(2), 2));
        assert_eq!(voq.flows(us(100)), 1, "one waits, the other was seen long ago");
        voq.next(us(101)).expect("there is credit left");
        assert_eq!(voq.flows(us(101)), 0);
        voq.arrive(us(200), 0, &packet(3, 100));
        voq.next(us(200)).expect("there is credit left");
        assert_eq!((voq.flows(us(220)), voq.flows(us(221))), (1, 0));
    }

    #[test]
    fn bounds_are_told_once_each_way() {
        let mut voq = Voq::new(SETTINGS);
        voq.watch(Bytes::new(2_000), Bytes::new(4_000));
        let arrive = |voq: &mut Voq| voq.arrive(us(0), 0, &packet(0, 1_000)).crossed;
        let told: Vec<_> = (0..6).map(|_| arrive(&mut voq)).collect();
        assert_eq!(told, [None, None, None, None, Some(Crossed::Above), None]);
        let next = |voq: &mut Voq| voq.next(us(0)).and_then(|(_, _, crossed)| crossed);
        let told: Vec<_> = (0..6).map(|_| next(&mut voq)).collect();
        assert_eq!(told, [None, None, None, None, Some(Crossed::Below), None]);
        assert_eq!(arrive(&mut voq), None);
    }

    #[test]
    fn feeders_are_those_since_it_was_empty() {
        let mut voq = Voq::new(SETTINGS);
        let new = [3, 70, 3].map(|port| voq.arrive(us(0), port, &packet(0, 1_000)).new_feeder);
        assert_eq!(new, [true, true, false]);
        assert!(voq.feeders().eq([3, 70]));
        assert_eq!(leave(&mut voq), 3);
        assert!(voq.feeders().eq([3, 70]), "until the next packet");
        assert!(voq.arrive(us(1), 5, &packet(0, 1_000)).new_feeder);
        assert!(voq.feeders().eq([5]));
    }
}
