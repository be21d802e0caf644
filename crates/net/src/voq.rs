//! Virtual output queue: what the hosts of one rack send to one host, waiting for credits of that host's switch.
//!
//! A queue may send `in advance` bytes that no credit has come for. Beyond that each byte takes a byte of credit, so at
//! every instant: sent - credited <= in advance. Credits carry how much has been credited in all, so a lost one costs nothing once
//! the next is there; if none comes, the switch requests credits again ([`crate::Tor`]).
//!
//! Each packet that leaves carries how many bytes of credit have been requested so far, the bytes sent or the bytes arrived
//! ([`forebay_settings::Requests`]), and how many flows share the queue.
//!
//! A switch that has fewer queues than there are hosts keeps several hosts in one. Credits stay those of each host's port, and bytes
//! sent, credited and requested, and flows, are counted per host; what may go in advance is of all together. So the
//! bounds of ports hold as they are. But the queue is one: its first packet waits for credits of its own port, and others wait behind
//! it, whatever their ports have to give.
//!
//! Source: HierCC (APNet 2021), section 3.2; it names shared queues without a mechanism. Sizes are those of packets, without wire overhead; bytes of
//! credit, sent and requested among them, leave out what [`VoqSettings::free`] says.

use forebay_settings::{CreditFor, Hierarchical, Requests};
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{FlowId, HostAddr, Packet};
use std::collections::{BTreeMap, VecDeque};

/// What a queue is made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VoqSettings {
    /// Bytes that may go before the first credit. Less than a packet would let nothing go.
    pub advance: Bytes,
    /// The bytes that it requests credits for.
    pub requests: Requests,
    /// A flow counts until so long after its last packet arrived, and while it has one waiting.
    pub seen_for: Span,
    /// Bytes of each packet that take no credit: none, or its header.
    pub free: u16,
}

impl VoqSettings {
    /// Queues of a fabric of these settings, whose packets have such a header.
    pub fn of(keys: &Hierarchical, header: Bytes) -> Self {
        Self {
            advance: keys.advance,
            requests: keys.requests,
            seen_for: keys.seen_for,
            free: match keys.credit_for {
                CreditFor::Packet => 0,
                CreditFor::Payload => header.get() as u16,
            },
        }
    }

    /// Bytes of credit that a packet of this size takes.
    pub fn taken(self, size: u16) -> u64 {
        size.saturating_sub(self.free).into()
    }
}

/// State of a queue that each packet which leaves it carries to the switch of its destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demand {
    /// Bytes of credit requested since the beginning.
    pub requested: u64,
    /// Flows that share the queue, at least one.
    pub flows: u32,
}

/// The queue left the bounds that are watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BoundCrossing {
    /// The queue rose above the upper bound.
    Above,
    /// The queue fell below the lower bound, having been above the upper one.
    Below,
}

/// Bytes of one host in a queue, since the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VoqTotals {
    /// The host.
    pub to: HostAddr,
    /// Arrived.
    pub arrived: u64,
    /// Left.
    pub sent: u64,
    /// Credits came for.
    pub credited: u64,
    /// Credits requested for.
    pub requested: u64,
}

/// What an arrival did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Whether the queue left its bounds.
    pub crossed: Option<BoundCrossing>,
    /// The first packet of that ingress port to that host since the queue was empty.
    pub new_feeder: bool,
}

/// A virtual output queue: for one host, or for several, whose packets then wait behind each other.
#[derive(Clone, Debug)]
pub struct Voq {
    settings: VoqSettings,
    waiting: VecDeque<Packet>,
    queue: u64,       // bytes that wait
    ahead: u64,       // sum of what parts are ahead; invariant: at most advance
    parts: Vec<Part>, // in order of hosts
    low: u64,
    high: u64,
    above: bool, // `Above` was reported, `Below` not yet
}

/// What a queue has for one host, since the beginning.
#[derive(Clone, Debug)]
struct Part {
    to: HostAddr,
    arrived: u64,  // bytes
    sent: u64,     // bytes
    credited: u64, // bytes
    flows: Flows,
    feeders: Ports,
}

impl Part {
    /// Bytes sent that no credit came for.
    fn ahead(&self) -> u64 {
        self.sent.saturating_sub(self.credited)
    }

    fn requested(&self, requests: Requests) -> u64 {
        match requests {
            Requests::Sent => self.sent,
            Requests::Demand => self.arrived,
        }
    }
}

impl Voq {
    /// An empty queue. Its bounds are not watched.
    pub fn new(settings: VoqSettings) -> Self {
        Self {
            settings,
            waiting: VecDeque::new(),
            queue: 0,
            ahead: 0,
            parts: Vec::new(),
            low: 0,
            high: u64::MAX,
            above: false,
        }
    }

    /// From now on reports that the queue rises above `high`, and then that it falls below `low`.
    pub fn watch(&mut self, low: Bytes, high: Bytes) {
        (self.low, self.high) = (low.get(), high.get());
    }

    fn part(&self, to: HostAddr) -> Option<&Part> {
        let at = self.parts.binary_search_by_key(&to, |part| part.to).ok()?;
        self.parts.get(at)
    }

    fn part_mut(&mut self, to: HostAddr) -> &mut Part {
        let at = self.parts.binary_search_by_key(&to, |part| part.to).unwrap_or_else(|at| {
            let (flows, feeders) = (Flows::default(), Ports::default());
            self.parts.insert(at, Part { to, arrived: 0, sent: 0, credited: 0, flows, feeders });
            at
        });
        &mut self.parts[at]
    }

    /// A packet of a host arrives by `ingress_port`.
    pub fn arrive(&mut self, now: Time, ingress_port: u16, packet: &Packet) -> Arrival {
        if self.waiting.is_empty() {
            self.parts.iter_mut().for_each(|part| part.feeders.clear());
        }
        self.waiting.push_back(*packet);
        self.queue += u64::from(packet.size);
        let (seen_for, taken) = (self.settings.seen_for, self.settings.taken(packet.size));
        let part = self.part_mut(packet.dst);
        part.arrived += taken;
        part.flows.arrive(now, packet.flow, seen_for);
        let new_feeder = part.feeders.insert(ingress_port);
        let crossed = (!self.above && self.queue > self.high).then_some(BoundCrossing::Above);
        self.above |= crossed.is_some();
        Arrival { crossed, new_feeder }
    }

    /// A credit of a host's port arrives: `credited` bytes in all. One that a later one has overtaken changes nothing. Whether it lets more
    /// go to the host that the first packet is for.
    pub fn credit(&mut self, to: HostAddr, credited: u64) -> bool {
        let part = self.part_mut(to);
        let (before, more) = (part.ahead(), credited > part.credited);
        part.credited = part.credited.max(credited);
        let after = part.ahead();
        self.ahead -= before - after;
        more && self.waits_for() == Some(to)
    }

    /// Takes the next packet that may leave, and the demand that it carries. Credit for less than a whole packet is kept.
    pub fn next(&mut self, now: Time) -> Option<(Packet, Demand, Option<BoundCrossing>)> {
        let first = self.waiting.front()?;
        let (to, taken) = (first.dst, self.settings.taken(first.size));
        if self.credit_left(to) < taken {
            return None;
        }
        let packet = self.waiting.pop_front()?;
        self.queue -= u64::from(packet.size);
        let seen_for = self.settings.seen_for;
        let part = self.part_mut(to);
        let before = part.ahead();
        part.sent += taken;
        self.ahead += self.part(to)?.ahead() - before;
        let demand = self.demand(now, to);
        self.part_mut(to).flows.leave(now, packet.flow, seen_for);
        let crossed = (self.above && self.queue < self.low).then_some(BoundCrossing::Below);
        self.above &= crossed.is_none();
        Some((packet, demand, crossed))
    }

    /// The demand that a packet to a host carries.
    pub fn demand(&mut self, now: Time, to: HostAddr) -> Demand {
        let VoqSettings { requests, seen_for, .. } = self.settings;
        let part = self.part_mut(to);
        Demand {
            requested: part.requested(requests),
            flows: part.flows.count(now, seen_for).max(1),
        }
    }

    /// The host that the first packet is for, which others wait behind; `None`: nothing waits.
    pub fn waits_for(&self) -> Option<HostAddr> {
        self.waiting.front().map(|packet| packet.dst)
    }

    /// Bytes that may still go to a host: credits of its port, and what is left of what may go in advance to all.
    pub fn credit_left(&self, to: HostAddr) -> u64 {
        let left = self.settings.advance.get() - self.ahead;
        self.part(to).map_or(left, |part| left + part.ahead() + part.credited - part.sent)
    }

    /// Bytes that wait.
    pub fn queue(&self) -> Bytes {
        Bytes::new(self.queue)
    }

    /// Bytes that have left without a credit so far, now: at most what may go in advance.
    pub fn ahead(&self) -> Bytes {
        Bytes::new(self.ahead)
    }

    /// What became of packets to each host that there were any for, in order of hosts.
    pub fn totals(&self) -> impl Iterator<Item = VoqTotals> + '_ {
        self.parts.iter().map(|part| VoqTotals {
            to: part.to,
            arrived: part.arrived,
            sent: part.sent,
            credited: part.credited,
            requested: part.requested(self.settings.requests),
        })
    }

    /// Bytes that have arrived since the beginning.
    pub fn arrived(&self) -> u64 {
        self.parts.iter().map(|part| part.arrived).sum()
    }

    /// Bytes that have left.
    pub fn sent(&self) -> u64 {
        self.parts.iter().map(|part| part.sent).sum()
    }

    /// Bytes that credits have come for.
    pub fn credited(&self) -> u64 {
        self.parts.iter().map(|part| part.credited).sum()
    }

    /// Bytes of credit requested since the beginning.
    pub fn requested(&self) -> u64 {
        self.parts.iter().map(|part| part.requested(self.settings.requests)).sum()
    }

    /// Flows with a packet waiting, or seen lately.
    pub fn flows(&mut self, now: Time) -> u32 {
        let seen_for = self.settings.seen_for;
        self.parts.iter_mut().map(|part| part.flows.count(now, seen_for)).sum()
    }

    /// In-ports that packets have come by since the queue was last empty, and to which hosts, in order of hosts.
    pub fn feeders(&self) -> impl Iterator<Item = (u16, HostAddr)> + '_ {
        self.parts.iter().flat_map(|part| part.feeders.iter().map(|port| (port, part.to)))
    }
}

/// Exact count of the flows of one queue.
#[derive(Clone, Debug, Default)]
struct Flows {
    known: BTreeMap<FlowId, KnownVoq>,
    order: VecDeque<(Time, FlowId)>, // arrivals that may still be a flow's last
}

#[derive(Clone, Copy, Debug)]
struct KnownVoq {
    last: Time,
    waiting: u32,
}

impl Flows {
    fn arrive(&mut self, now: Time, flow: FlowId, seen_for: Span) {
        self.expire(now, seen_for);
        let known = self.known.entry(flow).or_insert(KnownVoq { last: now, waiting: 0 });
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

    const SETTINGS: VoqSettings = VoqSettings {
        advance: Bytes::new(10_000),
        requests: Requests::Sent,
        seen_for: Span::from_us(20),
        free: 0,
    };

    const HOST: HostAddr = HostAddr { tor: 0, port: 0 };

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
        assert_eq!((leave(&mut voq), voq.credit_left(HOST)), (9, 568));
        voq.credit(HOST, 1_000);
        assert_eq!((leave(&mut voq), voq.credit_left(HOST)), (1, 520));
        voq.credit(HOST, 1_000);
        assert_eq!(leave(&mut voq), 0, "the same credit again");
        voq.credit(HOST, 4_000);
        assert_eq!((leave(&mut voq), voq.credit_left(HOST)), (3, 376), "two credits were lost");
        voq.credit(HOST, 2_000);
        assert_eq!(voq.credited(), 4_000, "an old credit");
    }

    /// 10 KB of payload are ten packets of 1000 B with 48 B of header, and a credit of 1 KB lets one go.
    #[test]
    fn where_headers_take_no_credit_a_credit_lets_so_much_payload_go() {
        let mut voq = Voq::new(VoqSettings { free: 48, ..SETTINGS });
        fill(&mut voq, 20);
        assert_eq!((leave(&mut voq), voq.credit_left(HOST)), (10, 0));
        assert_eq!((voq.sent(), voq.arrived(), voq.queue().get()), (10_000, 20_000, 10_480));
        voq.credit(HOST, 1_000);
        assert_eq!((leave(&mut voq), voq.credit_left(HOST)), (1, 0));
    }

    #[test]
    fn a_packet_requests_credit_for_bytes_sent_or_arrived() {
        for (requests, requested) in
            [(Requests::Sent, [1_048, 2_096]), (Requests::Demand, [5_240, 5_240])]
        {
            let mut voq = Voq::new(VoqSettings { requests, ..SETTINGS });
            fill(&mut voq, 5);
            let demand = [(); 2].map(|()| voq.next(us(0)).map(|(_, demand, _)| demand.requested));
            assert_eq!(demand, requested.map(Some));
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
        let (first, demand, _) = voq.next(us(12)).expect("in advance");
        assert_eq!((first.flow, demand.flows), (FlowId(1), 2));
        assert_eq!(voq.flows(us(100)), 2, "both wait");
        voq.credit(HOST, 9_000);
        let (second, demand, _) = voq.next(us(100)).expect("credited");
        assert_eq!((second.flow, demand.flows), (FlowId(2), 2));
        assert_eq!(voq.flows(us(100)), 1, "one waits, the other was seen long ago");
        voq.next(us(101)).expect("there is credit left");
        assert_eq!(voq.flows(us(101)), 0);
        voq.arrive(us(200), 0, &packet(3, 100));
        voq.next(us(200)).expect("there is credit left");
        assert_eq!((voq.flows(us(220)), voq.flows(us(221))), (1, 0));
    }

    #[test]
    fn each_bound_is_reported_once() {
        let mut voq = Voq::new(SETTINGS);
        voq.watch(Bytes::new(2_000), Bytes::new(4_000));
        let arrive = |voq: &mut Voq| voq.arrive(us(0), 0, &packet(0, 1_000)).crossed;
        let crossed: Vec<_> = (0..6).map(|_| arrive(&mut voq)).collect();
        assert_eq!(crossed, [None, None, None, None, Some(BoundCrossing::Above), None]);
        let next = |voq: &mut Voq| voq.next(us(0)).and_then(|(_, _, crossed)| crossed);
        let crossed: Vec<_> = (0..6).map(|_| next(&mut voq)).collect();
        assert_eq!(crossed, [None, None, None, None, Some(BoundCrossing::Below), None]);
        assert_eq!(arrive(&mut voq), None);
    }

    #[test]
    fn feeders_are_those_since_it_was_empty() {
        let mut voq = Voq::new(SETTINGS);
        let new = [3, 70, 3].map(|port| voq.arrive(us(0), port, &packet(0, 1_000)).new_feeder);
        assert_eq!(new, [true, true, false]);
        assert!(voq.feeders().eq([(3, HOST), (70, HOST)]));
        assert_eq!(leave(&mut voq), 3);
        assert!(voq.feeders().eq([(3, HOST), (70, HOST)]), "until the next packet");
        assert!(voq.arrive(us(1), 5, &packet(0, 1_000)).new_feeder);
        assert!(voq.feeders().eq([(5, HOST)]));
    }

    /// Two hosts in one queue: what may go in advance is of both, credits are of each. A packet whose port has given nothing holds up what
    /// has credits behind it.
    #[test]
    fn hosts_that_share_a_queue_wait_behind_each_other() {
        let mut voq = Voq::new(SETTINGS);
        let hosts = [1, 2].map(|port| HostAddr { tor: 3, port });
        for nth in 0..24 {
            let packet = Packet { dst: hosts[nth / 4 % 2], ..packet(nth as u32 % 2, 1_000) };
            voq.arrive(us(0), 5, &packet);
        }
        assert!(voq.feeders().eq([(5, hosts[0]), (5, hosts[1])]));
        assert_eq!((leave(&mut voq), voq.ahead().get()), (10, 10_000), "six and four in advance");
        assert_eq!(voq.waits_for(), Some(hosts[0]));
        assert!(!voq.credit(hosts[1], 3_000), "the first packet is for the other");
        assert_eq!((leave(&mut voq), voq.ahead().get()), (3, 10_000), "three more in advance");
        assert!(!voq.credit(hosts[0], 0));
        assert_eq!(voq.waits_for(), Some(hosts[1]), "its credits are spent");
        assert!(voq.credit(hosts[1], 4_000));
        assert_eq!((leave(&mut voq), voq.ahead().get()), (1, 10_000));
        voq.credit(hosts[0], 20_000);
        assert_eq!((leave(&mut voq), voq.ahead().get()), (10, 8_000), "four by credits");
        let totals: Vec<_> = voq.totals().map(|t| (t.to, t.arrived, t.sent, t.credited)).collect();
        assert_eq!(totals, [(hosts[0], 12_000, 12_000, 20_000), (hosts[1], 12_000, 12_000, 4_000)]);
    }
}
