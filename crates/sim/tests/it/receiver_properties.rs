//! What holds of receiver-driven transports in any fabric, seen packet by packet on the cables: credits cover data, nothing vanishes, pulls
//! keep their pace. Every check is also made to fail.

use crate::common::random::Draw;
use crate::common::{run, scenario};
use forebay_record::RunRecord;
use forebay_scenario::model::Scenario;
use forebay_sim::{Options, Simulation, Watch};
use forebay_units::random::{Purpose, Stream};
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{Flags, Kind, Packet};
use std::collections::BTreeMap;

/// One packet on one cable.
#[derive(Clone, Copy, Debug)]
struct Seen {
    left: Time, // its transmission began
    arrives: Time,
    node: u32,
    peer: u32,
    packet: Packet,
}

/// Everything that crossed a cable, in the order of departures.
struct Tap {
    hosts: u32,
    seen: Vec<Seen>,
    record: RunRecord,
}

/// Looks at cables so often that no packet crosses one unseen.
fn tap(scenario: &Scenario, delay: Span, overhead: u64) -> Tap {
    let mut simulation = Simulation::new(scenario, 1, Options::default()).unwrap();
    let (watch, mut at) = (Watch::default(), Time::ZERO);
    let mut last: BTreeMap<(u32, u32), Time> = BTreeMap::new();
    let mut seen = Vec::new();
    let hosts = loop {
        at += delay / 2;
        let over = simulation.advance(at, &watch);
        let state = simulation.inspect();
        for port in &state.ports {
            let newest = last.entry((port.node, port.peer)).or_default();
            for (arrives, packet) in port.flying.iter().filter(|(at, _)| *at > *newest) {
                let tx = port.rate.time_for(Bytes::new(u64::from(packet.size) + overhead));
                // The gap of 12 B behind a frame does not delay it.
                let gap = port.rate.time_for(Bytes::new(if overhead >= 20 { 12 } else { 0 }));
                let left = Time::ZERO + (arrives.since(Time::ZERO) + gap - tx - delay);
                let (arrives, packet) = (*arrives, *packet);
                seen.push(Seen { left, arrives, node: port.node, peer: port.peer, packet });
            }
            *newest = port.flying.last().map_or(*newest, |(at, _)| *at);
        }
        if over {
            break state.hosts.len() as u32;
        }
    };
    seen.sort_by_key(|one| (one.left, one.node, one.peer));
    let record = simulation.finish().record;
    let crossed = record.totals.packet_hops - sum(&record, |p| p.lost_packets);
    assert_eq!(seen.len() as u64, crossed, "the tap saw each packet once");
    Tap { hosts, seen, record }
}

impl Tap {
    /// What hosts sent.
    fn sent(&self) -> impl Iterator<Item = &Seen> {
        self.seen.iter().filter(|one| one.node < self.hosts)
    }

    /// What came to hosts.
    fn received(&self) -> impl Iterator<Item = &Seen> {
        self.seen.iter().filter(|one| one.peer < self.hosts)
    }

    /// Departures from hosts and arrivals there, in order; of one instant, arrivals come first.
    fn at_hosts(&self) -> Vec<(Time, bool, &Seen)> {
        let sent = self.sent().map(|one| (one.left, true, one));
        let received = self.received().map(|one| (one.arrives, false, one));
        let mut all: Vec<_> = sent.chain(received).collect();
        all.sort_by_key(|(at, left, one)| (*at, *left, one.node));
        all
    }
}

fn sum(record: &RunRecord, of: fn(&forebay_record::PortRow) -> u64) -> u64 {
    record.ports.iter().map(of).sum()
}

const DELAY: Span = Span::from_ns(500);
const MSS: u64 = 4_000;

/// A fabric of equal links, 6 to 16 hosts, and messages among them: an incast, a few more that cross it, and the names of hosts.
fn around(d: &mut Draw) -> (String, String) {
    let link = "{ rate = \"100Gbps\", delay = \"500ns\" }";
    let (fabric, hosts): (_, Vec<String>) = match d.0.below(3) {
        0 => {
            let n = d.between(6, 12);
            let star = format!("kind = \"star\"\nhosts = {n}\n");
            (star, (0..n).map(|i| format!("host[{i}]")).collect())
        }
        1 => {
            let (leaves, spines, per) = (d.between(2, 3), d.between(1, 3), d.between(3, 4));
            let shape = format!(
                "kind = \"leaf-spine\"\nleaves = {leaves}\nspines = {spines}\nhosts_per_leaf = {per}\n"
            );
            let names =
                (0..leaves).flat_map(|l| (0..per).map(move |h| format!("leaf[{l}].host[{h}]")));
            (shape, names.collect())
        }
        _ => {
            let names =
                (0..8).map(|i| format!("pod[{}].edge[{}].host[{}]", i / 4, i / 2 % 2, i % 2));
            ("kind = \"fat-tree\"\ntiers = 3\nk = 4\n".into(), names.collect())
        }
    };
    let mut flows = Vec::new();
    let mut flow = |from: &String, to: &String, packets: u64, at: u64| {
        let size = packets * MSS - 999;
        flows.push(format!(
            "{{ from = \"{from}\", to = \"{to}\", size = \"{size}B\", at = \"{at}ns\" }}"
        ));
    };
    for from in &hosts[1..] {
        flow(from, &hosts[0], d.between(1, 40), d.0.below(3_000));
    }
    for _ in 0..4 {
        let a = d.0.below(hosts.len() as u64) as usize;
        let b = (a + d.between(1, hosts.len() as u64 - 1) as usize) % hosts.len();
        // What the host of the incast sends itself would hold its pulls up.
        if a > 0 {
            flow(&hosts[a], &hosts[b], d.between(1, 40), d.0.below(50_000));
        }
    }
    let traffic = format!("[[traffic]]\nkind = \"list\"\nflows = [{}]\n", flows.join(", "));
    (format!("[fabric]\n{fabric}host_link = {link}\n"), traffic)
}

fn text(d: &mut Draw, switch: &str, transport: &str) -> String {
    let (fabric, traffic) = around(d);
    format!(
        "version = 1\nname = \"t\"\nseeds = [1]\nstop = {{ time = \"1500us\" }}\n\
         {fabric}{switch}[transport]\nkind = \"receiver-driven\"\nheader = \"64B\"\n{transport}{traffic}"
    )
}

fn draw(seed: u64) -> Draw {
    Draw(Stream::new(seed, 0, Purpose::Test))
}

const SPRAY: &str = "routing = \"spray\"\n[fabric.switch]\nbuffer = \"none\"\necn = \"off\"\n";

fn ndp(seed: u64, size: &str, headers: &str, more: &str) -> Scenario {
    let mut d = draw(seed);
    let (coin, returns, window) =
        (d.of(&["0.0", "0.5", "1.0"]), seed.is_multiple_of(2), d.between(2, 30));
    let switch = format!(
        "{SPRAY}classes = 2\nreturn_to_sender = {returns}\n\
         limits = [{{ class = 0, size = \"{size}\", over = {{ trim_to = \"64B\", class = 1, coin = {coin} }} }}, \
         {{ class = 1, size = \"{headers}\" }}]\n"
    );
    let transport =
        format!("law = \"ndp\"\nmss = \"4000B\"\nack_class = 1\nwindow = \"{window} packets\"\n");
    scenario(&(text(&mut d, &switch, &transport) + more))
}

fn homa(seed: u64, more: &str) -> Scenario {
    let mut d = draw(seed);
    let (levels, window) = (d.between(1, 8), d.between(2, 30));
    let transport = format!(
        "law = \"homa\"\nmss = \"4000B\"\nack_class = 7\npriorities = {levels}\nwindow = \"{window} packets\"\n"
    );
    scenario(&(text(&mut d, &format!("{SPRAY}classes = 8\n"), &transport) + more))
}

/// Frames of 1,538 B and credits of 84 B on the wire; queues of 100 packets of data.
fn expresspass(seed: u64, share: &str, more: &str) -> Scenario {
    let switch = format!(
        "routing = \"ecmp-symmetric\"\nwire_overhead = \"38B\"\n[fabric.switch]\nbuffer = \"none\"\necn = \"off\"\nclasses = 2\n\
         limits = [{{ class = 0, size = \"100 packets\" }}]\ncredits = {{ class = 1, share = \"{share}\" }}\n"
    );
    let transport = "law = \"expresspass\"\nmss = \"1436B\"\nack_size = \"46B\"\n";
    scenario(&(text(&mut draw(seed), &switch, transport) + more))
}

/// What is wrong with trims: data that left is there, cut off, dropped; headers are there, returned, or dropped and counted.
fn unaccounted(tap: &Tap) -> Option<String> {
    let sent = |kind: Kind| tap.sent().filter(|one| one.packet.kind == kind).count() as u64;
    let came = |kind: Kind| tap.received().filter(|one| one.packet.kind == kind).count() as u64;
    let record = &tap.record;
    let (trimmed, headers) =
        (sum(record, |p| p.trimmed_packets), sum(record, |p| p.dropped_headers));
    let answers = sum(record, |p| p.dropped_packets)
        - headers
        - [Kind::Ack, Kind::Nack, Kind::Grant]
            .map(|kind| sent(kind) - came(kind))
            .iter()
            .sum::<u64>();
    let data = (sent(Kind::Data), came(Kind::Data) + trimmed + answers);
    let cut = (trimmed, came(Kind::Trimmed) + came(Kind::Returned) + headers);
    (data.0 != data.1 || cut.0 != cut.1).then(|| format!("data {data:?}, headers {cut:?}"))
}

#[test]
fn data_sent_is_received_trimmed_returned_or_dropped() {
    let (mut trims, mut returns, mut drops, mut lost) = (0, 0, 0, 0);
    for seed in 0..6 {
        let headers = ["2 packets", "4 packets", "64KB"][seed as usize / 2];
        let all = tap(&ndp(seed, "3 packets", headers, ""), DELAY, 0);
        assert_eq!(unaccounted(&all), None, "seed {seed}");
        let dropped = sum(&all.record, |p| p.dropped_headers);
        let ended = all.record.flows.iter().all(|flow| flow.acked.is_some());
        assert!(
            ended || dropped > 0,
            "seed {seed}: only a dropped header takes a millisecond to repair"
        );
        trims += sum(&all.record, |p| p.trimmed_packets);
        returns += sum(&all.record, |p| p.returned_packets);
        drops += dropped;
        // A cable that loses packets is in no account, and must show.
        let fault = "[[fabric.override]]\nwhere = \"host[0]-tor\"\nloss = 0.2\n";
        if all.record.hosts[1] == "host[1]" {
            lost += u32::from(
                unaccounted(&tap(&ndp(seed, "3 packets", headers, fault), DELAY, 0)).is_some(),
            );
        }
    }
    assert!(
        trims > 100 && returns > 10 && drops > 10 && lost > 0,
        "{trims} {returns} {drops} {lost}"
    );
}

/// By flow: payload credited and payload that has come or was cut off, the most by which the first leads; likewise what the sender spent beyond its credit.
fn leads(tap: &Tap, window: u64) -> (i64, i64) {
    #[derive(Default)]
    struct Account {
        credited: u64, // by its receiver
        come: u64,
        credit: u64, // at its sender
        spent: u64,
    }
    let mut flows: BTreeMap<u32, Account> = BTreeMap::new();
    let (mut ahead, mut beyond) = (0, i64::MIN);
    let size = |flow: u32| tap.record.flows[flow as usize].size.get();
    for (_, left, one) in tap.at_hosts() {
        let packet = &one.packet;
        let unasked = window.min(size(packet.flow.0));
        let account = flows.entry(packet.flow.0).or_insert_with(|| Account {
            credited: unasked,
            credit: unasked,
            ..Account::default()
        });
        let payload = MSS.min(size(packet.flow.0).saturating_sub(packet.seq));
        let credits = matches!(packet.kind, Kind::Ack | Kind::Nack | Kind::Grant)
            && !packet.flags.has(Flags::RESEND);
        match (packet.kind, left) {
            (Kind::Data, true) => {
                beyond = beyond.max(account.spent as i64 - account.credit as i64);
                account.spent += payload;
            }
            (Kind::Data | Kind::Trimmed, false) => account.come += payload,
            (_, true) if credits => {
                account.credited = account.credited.max(packet.seq);
                ahead = ahead.max(account.credited as i64 - account.come as i64);
            }
            (_, false) if credits => account.credit = account.credit.max(packet.seq),
            _ => {}
        }
    }
    (ahead, beyond)
}

/// Granted less received is a window and a packet at most, and comes close to it; what a sender has sent is below its credit whenever it sends.
#[test]
fn credit_is_a_window_ahead_and_covers_what_is_sent() {
    let (mut nearest, mut short) = (i64::MAX, 0);
    for seed in 0..12 {
        let scenario = match seed % 2 {
            0 => ndp(seed, "8 packets", "64KB", ""),
            _ => homa(seed, ""),
        };
        let window = scenario.transport.receiver_driven().unwrap().window.unwrap();
        let window = window.payload(Bytes::new(MSS)).get();
        let all = tap(&scenario, DELAY, 0);
        let (ahead, beyond) = leads(&all, window);
        assert!(ahead <= (window + MSS) as i64, "seed {seed}: {ahead} of {window}");
        assert!(beyond < 0, "seed {seed}: {beyond}");
        nearest = nearest.min(window as i64 - ahead);
        // A window of one packet less than the transport has would be exceeded.
        short += u32::from(leads(&all, window - MSS).1 >= 0);
    }
    assert!(nearest <= 0, "no window is used up: {nearest}");
    assert!(short >= 6, "{short} of 12 use their credit to the last byte");
}

/// Instants at which a host pulls: an answer with more credit than any before.
fn pulls(tap: &Tap, host: u32, window: u64) -> Vec<Time> {
    let mut credited: BTreeMap<u32, u64> = BTreeMap::new();
    let mut found = Vec::new();
    for one in tap.sent().filter(|one| one.node == host && one.packet.kind.is_answer()) {
        let flow = one.packet.flow.0;
        let unasked = window.min(tap.record.flows[flow as usize].size.get());
        let so_far = credited.entry(flow).or_insert(unasked);
        let packets = one.packet.seq.saturating_sub(*so_far).div_ceil(MSS);
        *so_far = one.packet.seq.max(*so_far);
        found.extend((0..packets).map(|_| one.left));
    }
    found
}

/// Most by which a pull comes earlier than so many intervals behind any before it.
fn earliness(pulls: &[Time], interval: Span) -> Span {
    let (mut due, mut most) = (Time::ZERO, Span::ZERO);
    for at in pulls {
        most = most.max(due.since(*at));
        due = due.max(*at) + interval;
    }
    most
}

/// In any span a host pulls span / g + 1 packets at most; a few ACKs may hold a pull up in the NIC. At a pace a fiftieth slower it would not hold.
#[test]
fn pulls_keep_their_pace() {
    let mut slower = 0;
    for seed in 20..24 {
        let scenario = ndp(seed, "8 packets", "64KB", "");
        let window = scenario.transport.receiver_driven().unwrap().window.unwrap();
        let all = tap(&scenario, DELAY, 0);
        let pulls = pulls(&all, 0, window.payload(Bytes::new(MSS)).get());
        let g = Span::from_ps(325_120 * 100 / 99);
        let acks = Span::from_ps(2 * 5_120);
        assert!(earliness(&pulls, g) <= acks, "seed {seed}: {}", earliness(&pulls, g));
        slower += u32::from(earliness(&pulls, g * 51 / 50) > acks);
    }
    assert!(slower > 0, "all hosts pulled far below their pace");
}

/// Tables and packets agree: what was sent left its NIC or was dropped there, and as many credits were used as packets of data left.
fn credits_are_counted(all: &Tap, seed: u64) {
    let left_hosts = all.sent().filter(|one| one.packet.kind == Kind::Grant).count() as u64;
    let mut data: BTreeMap<u32, u64> = BTreeMap::new();
    for one in all.sent().filter(|one| one.packet.kind == Kind::Data) {
        *data.entry(one.packet.flow.0).or_default() += 1;
    }
    let at_nics = all.record.ports.iter().filter(|port| all.record.hosts.contains(&port.node));
    let dropped: u64 = at_nics.map(|port| port.dropped_credits).sum();
    let sent: u64 = all.record.credits.iter().map(|row| row.sent).sum();
    assert!(sent > 0 && dropped > 0, "seed {seed}: {sent} sent, {dropped} dropped by NICs");
    assert_eq!(sent, left_hosts + dropped, "seed {seed}");
    for row in &all.record.credits {
        assert_eq!(row.used, data[&row.flow], "seed {seed}, flow {}", row.flow);
        assert!(row.used <= row.sent, "seed {seed}, flow {}", row.flow);
    }
}

#[test]
fn expresspass_loses_no_data_and_spends_no_more_than_its_credits() {
    let (mut lost_credits, mut lost_packets, mut unmetered) = (0, 0, 0);
    for seed in 40..46 {
        let all = tap(&expresspass(seed, "84/1622", ""), DELAY, 38);
        assert_eq!(sum(&all.record, |p| p.dropped_packets), 0, "seed {seed}");
        // What a cable loses, of any kind, makes no port drop data: it is requested again, and credited again.
        let lossy =
            format!("[[fabric.override]]\nwhere = \"{}\"\nloss = 0.05\n", all.record.hosts[0]);
        let hurt = run(&expresspass(seed, "84/1622", &lossy), 1, Options::default()).record;
        assert_eq!(sum(&hurt, |p| p.dropped_packets), 0, "seed {seed}, lossy");
        lost_packets += sum(&hurt, |p| p.lost_packets);
        assert!(all.record.flows.iter().all(|flow| flow.acked.is_some()), "seed {seed}");
        lost_credits += sum(&all.record, |p| p.dropped_credits);
        let mut credits: BTreeMap<u32, i64> = BTreeMap::new();
        for (_, left, one) in all.at_hosts() {
            let left_over = credits.entry(one.packet.flow.0).or_default();
            match (one.packet.kind, left) {
                (Kind::Grant, false) => *left_over += 1,
                (Kind::Data, true) => *left_over -= 1,
                _ => {}
            }
            assert!(*left_over >= 0, "seed {seed}: data without a credit");
        }
        credits_are_counted(&all, seed);
        metered(&all, seed);
        // With a third of each link for credits, data is three times what fits.
        let greedy = run(&expresspass(seed, "1/3", ""), 1, Options::default()).record;
        unmetered += sum(&greedy, |p| p.dropped_packets);
    }
    assert!(lost_credits > 1_000 && lost_packets > 100, "{lost_credits}, {lost_packets}");
    assert!(unmetered > 100, "{unmetered}");
}

/// Credits on each cable take 84/1622 of the time and two credits at most.
fn metered(tap: &Tap, seed: u64) {
    const BURST: i128 = 168 * 80 * 1_622;
    let mut debts: BTreeMap<(u32, u32), (Time, i128)> = BTreeMap::new();
    let mut most = 0;
    for one in tap.seen.iter().filter(|one| one.packet.kind == Kind::Grant) {
        let (before, debt) = debts.entry((one.node, one.peer)).or_default();
        let paid = i128::from(one.left.since(*before).as_ps()) * 84;
        let wire = i128::from(one.packet.size) + 38;
        (*before, *debt) = (one.left, (*debt - paid).max(0) + wire * 80 * 1_622);
        most = most.max(*debt);
    }
    assert!(most <= BURST, "seed {seed}: {most} of {BURST}");
    assert!(most > BURST / 2, "seed {seed}: some bucket is used up");
}
