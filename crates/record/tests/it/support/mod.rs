//! A made-up run that looks like one: a leaf-spine fabric, short and long flows, an incast.
//!
//! Not a simulation: numbers are drawn, not derived, so tests and the sample report need no engine.
#![allow(dead_code, reason = "each user of this file needs a part of it")]

use forebay_record::why::{Part, Subject, WhyRow};
use forebay_record::{
    CacheSample, ClassArrivalRow, ClassPauseRow, ConnectionRow, CreditPool, CreditRow,
    CreditsSample, DeadlockRow, FaultSpan, FlowRow, LinksRow, MemoryRow, MemorySample,
    MemorySeries, NodeCounters, PortRow, Quantity, RpcRow, RunRecord, RunStart, Series,
    UnfinishedRow, WaitsFor,
};
use forebay_units::math::{ln, mix};
use forebay_units::{BitsPerSec, Bytes, Span, Time};

const LEAVES: u64 = 8;
const SPINES: u64 = 4;
const HOSTS_PER_LEAF: u64 = 16;

/// Settings of the made-up run.
pub fn about(seeds: &[u64]) -> RunStart {
    RunStart {
        scenario: "websearch at 60 % with a 64:1 incast".into(),
        version: "0.1.0".into(),
        laws: vec!["dctcp".into()],
        seeds: seeds.to_vec(),
        warmup: Time::from_ps(1_000_000_000),
        traffic: vec!["poisson, websearch, load 0.6".into(), "incast of 64 x 50KB".into()],
        resolved_toml: "name = \"websearch at 60 % with a 64:1 incast\"\n".into(),
        settings: [
            ("fabric", "leaf-spine, 8 leaves, 4 spines, 16 hosts per leaf"),
            ("fabric.host_link", "100Gbps, 600ns"),
            ("fabric.spine_link", "400Gbps, 600ns"),
            ("fabric.routing", "ecmp"),
            ("fabric.switch.buffer", "16MiB, dynamic threshold, alpha 0.5"),
            ("fabric.switch.ecn", "step at 100KiB"),
            ("transport.law", "dctcp, g = 1/16"),
            ("transport.rto_min", "1ms"),
            ("stop.time", "20ms"),
        ]
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .to_vec(),
        faults: vec![FaultSpan {
            what: "leaf[0]-spine[1] down".into(),
            from: Time::from_ps(4_000_000_000),
            to: Some(Time::from_ps(6_500_000_000)),
        }],
        ..RunStart::default()
    }
}

/// A uniform draw in (0, 1), by index.
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Self(mix(seed ^ 0x5eed))
    }

    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        ((mix(self.0) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    pub fn below(&mut self, n: u64) -> u64 {
        (self.next() * n as f64) as u64
    }

    fn exponential(&mut self) -> f64 {
        -ln(self.next())
    }
}

/// The run with paths to memory at two hosts, the second under a control of five levels.
/// The same run with classes that were paused: two of one cable, and the ingress port that did it.
pub fn with_class_pauses(mut run: RunRecord) -> RunRecord {
    let (node, peer) = (run.ports[0].node.clone(), run.ports[0].peer.clone());
    let row = |class: u8, paused_us: u64| ClassPauseRow {
        node: node.clone(),
        peer: peer.clone(),
        class,
        pause_frames_received: 12 + run.seed,
        paused: Span::from_us(paused_us),
        watchdog_fired: u64::from(class == 3),
        watchdog_drops: 7 * u64::from(class == 3),
        ..ClassPauseRow::default()
    };
    let cause = ClassPauseRow {
        node: peer.clone(),
        peer: node.clone(),
        class: 3,
        pause_frames_sent: 12 + run.seed,
        headroom_peak: Bytes::new(23_456),
        lossless_drops: 2,
        ..ClassPauseRow::default()
    };
    let deadlock = |gone| DeadlockRow {
        closed: Time::ZERO + Span::from_us(12_345),
        gone,
        ports: vec![format!("{node}->{peer} class 3"), format!("{peer}->{node} class 3")],
    };
    run.deadlocks = vec![deadlock(Some(Time::ZERO + Span::from_ms(30))), deadlock(None)];
    run.class_pauses = vec![row(3, 150), row(5, 70), cause];
    run
}

pub fn with_memory(mut run: RunRecord) -> RunRecord {
    let mut draw = Draw::new(run.seed ^ 0x3e3);
    let span = run.end.since(Time::from_ps(1_000_000_000));
    for (host, antagonists, levels) in [(5, 1, 1), (6, 2, 5)] {
        let ns = span.as_ps() as f64 * 1e-3;
        let dropped = draw.below(4_000);
        run.memory.push(MemoryRow {
            host: run.hosts[host].clone(),
            span,
            arrived: 400_000 + draw.below(100_000),
            dropped,
            read_bytes: Bytes::new(150_000_000 + draw.below(1_000_000)),
            marked: draw.below(90_000),
            level_writes: if levels > 1 { 40 } else { 0 },
            entered: ns * 0.15 * (0.9 + 0.1 * draw.next()),
            occupancy: 93.0 * draw.next(),
            dma: ns * 0.14,
            copied: ns * 0.13,
            sent: 98_765.5,
            other_nics: if levels > 1 { 54_321.25 } else { 0.0 },
            antagonists: (0..antagonists).map(|_| ns * 0.2 * draw.next()).collect(),
            cache_states: if levels > 1 { vec![0.25, 0.5, 0.25, 0.0] } else { Vec::new() },
            cache_reads: if levels > 1 { 4000 } else { 0 },
            cache_misses: if levels > 1 { vec![3000.0, 400.0, 0.0] } else { Vec::new() },
            cache_reads_of: if levels > 1 { vec![3200.0, 0.0, 800.0] } else { Vec::new() },
            cache_misses_of: if levels > 1 { vec![3000.0, 0.0, 400.0] } else { Vec::new() },
            cache_bounds: if levels > 1 { vec![4.5e6, 24.75e6, 67e6] } else { Vec::new() },
            cache_writes: if levels > 1 { 5000 } else { 0 },
            cache_in_place: if levels > 1 { 1000 } else { 0 },
            rnr_waited: if levels > 1 { 70 } else { 0 },
            rnr_refused: if levels > 1 { 7 } else { 0 },
            wait_ns: 700.0 * draw.next(),
            backlog: draw.next(),
            full: draw.next(),
            reading: 4.0 * draw.next(),
            levels: (0..levels).map(|_| 1.0 / levels as f64).collect(),
            limits: [0.25, 0.0, 0.125, 0.0, 0.625, 0.0],
            sender_waits: [0.0, 0.5, 0.25, 0.0, 0.25, 0.0],
            most_buffered: Bytes::new(300_000 + draw.below(84_000)),
            dropped_in_all: dropped + 17,
            marked_in_all: 100_000,
            nic_buffer: Bytes::new(384_000),
            pcie_limit_gbps: 110.0,
            iio_slots: 93,
            memory_limit_gigabytes: 34.8,
            targets: (levels > 1).then_some([70.0, 84.0]),
        });
    }
    run
}

/// The run with paths to memory, sampled at intervals of `every`: an antagonist that comes and goes, and a control that answers it.
pub fn with_memory_series(mut run: RunRecord, every: Span) -> RunRecord {
    run = with_memory(run);
    let mut draw = Draw::new(run.seed ^ 0x5e1);
    let n = run.end.as_ps() / every.as_ps();
    let mut series = MemorySeries {
        host: run.hosts[6].clone(),
        every,
        antagonists: 2,
        ..MemorySeries::default()
    };
    for i in 1..=n {
        let busy = i * 5 / n % 2 == 1;
        let level = if busy { (i * 40 / n % 5) as u8 } else { 0 };
        let noise = draw.next() as f32;
        series.samples.push(MemorySample {
            at: Time::ZERO + every * i,
            occupancy: if busy { 70.0 + 20.0 * noise } else { 55.0 + 10.0 * noise },
            pcie_gbps: if busy { 60.0 } else { 97.0 } + 6.0 * noise,
            buffered: (if busy { 300_000.0 } else { 9_000.0 } * noise) as u32,
            dropped: u32::from(busy && level < 2 && noise > 0.9),
            goodput_gbps: if noise > 0.8 { 450.0 } else { 0.0 },
            network: 20.0 + noise,
            marked: u32::from(busy && noise > 0.7),
            level,
            seen: Some([60.0 + 10.0 * noise, 90.0]),
            other_nics: busy.then_some(4.0 + noise),
            cache: Some(CacheSample {
                unread: if busy { 30_000_000 } else { 3_000_000 },
                reads: 20,
                misses: if busy { [12, 5, 0] } else { [0; 3] },
                waited: u32::from(busy),
                refused: 0,
            }),
            credits: Some(CreditsSample {
                outstanding: if busy { 80_000 } else { 20_000 },
                limit: if busy { 90_000 } else { 110_000 },
                delta: if busy { -8_304 } else { 11_696 },
                blocked: u64::from(busy) * 7,
                longest: Span::from_us(u64::from(busy) * 40),
            }),
        });
        series.by_antagonist.extend([if busy { 12.0 - f32::from(level) } else { 0.0 }, 1.5]);
    }
    run.memory_series.push(series);
    run
}

/// One made-up simulation with about `flows` flows.
pub fn run(seed: u64, flows: u64) -> RunRecord {
    let mut draw = Draw::new(seed);
    let hosts: Vec<String> = (0..LEAVES)
        .flat_map(|l| (0..HOSTS_PER_LEAF).map(move |h| format!("leaf[{l}].host[{h}]")))
        .collect();
    let end = Time::from_ps(20_000_000_000);
    let rows: Vec<FlowRow> = (0..flows).map(|i| flow(i, flows, end, &mut draw)).collect();
    let delivered: u64 = rows.iter().filter(|f| f.delivered.is_some()).map(|f| f.size.get()).sum();
    let ports = ports(&mut draw);
    let open = rows.iter().filter(|flow| flow.delivered.is_none());
    let unfinished = open.map(|flow| UnfinishedRow {
        flow: flow.flow,
        waits_for: [WaitsFor::CongestionWindow, WaitsFor::Acks][flow.flow as usize % 2],
        received: Bytes::new(flow.size.get() / 3),
    });
    RunRecord {
        seed,
        hosts,
        unfinished: unfinished.collect(),
        totals: NodeCounters {
            packet_hops: ports.iter().map(|p| p.tx_packets).sum(),
            delivered_bytes: delivered,
            delivered_segments: delivered / 1460 + flows,
        },
        flows: rows,
        not_started: 17,
        ports,
        series: series(end, &mut draw),
        end,
        interrupted: false,
        stalled: false,
        digest: mix(seed),
        ..RunRecord::default()
    }
}

/// The run with its links over time: in eight intervals each link is as busy as over the whole run, but in the third, in which one of
/// them drops, marks, trims, drops credits and is paused.
pub fn with_links(mut run: RunRecord) -> RunRecord {
    let row = |(at, port): (usize, &PortRow)| {
        let third = |value: f32| match at {
            5 => (0..8).map(|i| if i == 2 { value } else { 0.0 }).collect(),
            _ => Vec::new(),
        };
        let busy = (at % 10) as f32 / 10.0;
        LinksRow {
            node: port.node.clone(),
            peer: port.peer.clone(),
            links: 1,
            every: Span::from_us(2_500),
            busy: (0..8).map(|i| if i == 2 { 1.0 } else { busy }).collect(),
            queue: third(123_456.0),
            dropped: third(7.0),
            marked: third(70.0),
            trimmed: third(9.0),
            refused_credits: third(11.0),
            paused: third(0.125),
        }
    };
    run.links = run.ports.iter().enumerate().map(row).collect();
    run
}

/// A made-up simulation of which every seventh flow is explained: sending, the window, and queueing behind the flow before it.
pub fn with_why(mut run: RunRecord) -> RunRecord {
    let mut rows = Vec::new();
    for flow in run.flows.iter().filter(|flow| flow.fct().is_some() && flow.flow % 7 == 1) {
        let fct = flow.fct().unwrap().as_ps();
        let port = run.ports.iter().find(|port| port.peer == run.hosts[flow.dst as usize]);
        let port = port.map_or("a->b".into(), |port| format!("{}->{}", port.node, port.peer));
        let row = |part, port: &str, behind, ps| WhyRow {
            of: Subject::Flow(flow.flow),
            part,
            port: port.into(),
            behind,
            span: Span::from_ps(ps),
        };
        rows.push(row(Part::Serialization, "", None, fct / 4));
        rows.push(row(Part::Window, "", None, fct / 4));
        rows.push(row(Part::Queue, &port, Some(flow.flow - 1), fct - 2 * (fct / 4)));
    }
    run.why = rows;
    run
}

/// A made-up simulation in which receivers of every third flow sent credits.
pub fn with_credits(mut run: RunRecord) -> RunRecord {
    let row = |flow: &FlowRow| CreditRow {
        flow: flow.flow,
        sent: 40 + u64::from(flow.flow),
        used: 40,
        backward: u64::from(flow.flow),
    };
    run.credits = run.flows.iter().step_by(3).map(row).collect();
    let arrivals = |class: u8, unscheduled: u64, scheduled: u64| ClassArrivalRow {
        host: 1,
        class,
        unscheduled: Bytes::new(unscheduled),
        scheduled: Bytes::new(scheduled),
    };
    run.class_arrivals = vec![arrivals(1, 0, 750_000), arrivals(6, 250_000, 0)];
    run
}

/// A made-up simulation with so many RPCs on each of eight connections, the last of them cut by the end.
pub fn with_rpcs(mut run: RunRecord, rpcs: u64) -> RunRecord {
    let mut draw = Draw::new(run.seed ^ 0x59c);
    for c in 0..8_u32 {
        let start = Time::from_ps(u64::from(c) * 1_000);
        let mut at = start;
        for i in 0..rpcs {
            let ideal = Span::from_us(20);
            let latency = Span::from_ps((20e6 * (1.0 + 2.0 * draw.exponential())) as u64);
            let cut = i + 1 == rpcs;
            run.rpcs.push(RpcRow {
                connection: c,
                request: Bytes::new(1_000 + draw.below(50_000)),
                response: Bytes::new(if c % 2 == 0 { 64 } else { 0 }),
                issued: at,
                completed: if cut { Time::MAX } else { at + latency },
                ideal,
            });
            at += latency;
        }
        run.connections.push(ConnectionRow {
            traffic: 2 + (c / 4) as u16,
            client: c,
            server: 100,
            requests: 1_000_000 + 2 * c,
            responses: Some(1_000_001 + 2 * c),
            start,
            done: (c == 3).then_some(at),
            request_bytes: Bytes::new(1_000_000 + draw.below(900_000)),
            response_bytes: Bytes::new(64 * rpcs),
            credits: (c >= 4).then_some(CreditPool {
                limit: 98_304,
                most: 90_000 + u64::from(c),
                requests: rpcs,
                blocked: rpcs / 3,
                waited: Span::from_ns(1_500 * (rpcs / 3)),
            }),
        });
    }
    run
}

fn flow(i: u64, flows: u64, end: Time, draw: &mut Draw) -> FlowRow {
    let incast = i % 20 == 19;
    let size = if incast {
        50_000
    } else {
        // Half of the flows below 20 KB, a tail to 30 MB.
        let u = draw.next();
        let decades = if u < 0.55 { 2.7 + 1.7 * draw.next() } else { 4.4 + 3.1 * u * draw.next() };
        (decades * core::f64::consts::LN_10).exp() as u64
    };
    let start = end.as_ps() / (flows + 20) * i + draw.below(1_000_000);
    let ideal = 3_000_000 + size * 82;
    let queueing = 200_000.0 + 1_500_000.0 * draw.exponential() * (1.0 + 2.0 * draw.next());
    let share = 1.0 + 0.35 * draw.exponential() + if incast { 6.0 * draw.next() } else { 0.0 };
    let timeouts = u32::from(draw.next() < if incast { 0.01 } else { 0.001 });
    let late = (ideal as f64 * share + queueing) as u64 + u64::from(timeouts) * 1_000_000_000;
    let done = Time::from_ps(start + late);
    let dst = if incast { 5 } else { draw.below(LEAVES * HOSTS_PER_LEAF) };
    let ends = |at: Time| (at <= end).then_some(at);
    FlowRow {
        flow: i as u32,
        traffic: u16::from(incast),
        src: ((dst + 1 + draw.below(LEAVES * HOSTS_PER_LEAF - 1)) % (LEAVES * HOSTS_PER_LEAF))
            as u32,
        dst: dst as u32,
        size: Bytes::new(size),
        start: Time::from_ps(start),
        delivered: ends(done),
        acked: ends(done + Span::from_ns(2_400)),
        gave_up: None,
        ideal: Span::from_ps(ideal),
        retransmits: timeouts * 3,
        timeouts,
    }
}

fn port(node: String, peer: String, gbps: u64, load: f64, draw: &mut Draw) -> PortRow {
    let used = (load * (0.7 + 0.6 * draw.next())).min(0.99);
    let tx_bytes = (gbps as f64 * 1e9 / 8.0 * 0.02 * used) as u64;
    let tx_packets = tx_bytes / 1100;
    let from_switch = !node.contains("host");
    let hot = peer == "leaf[0].host[5]";
    let mark = if from_switch { 0.05 * used * used } else { 0.0 } + if hot { 0.6 } else { 0.0 };
    PortRow {
        node,
        peer,
        rate: BitsPerSec::from_gbps(gbps),
        tx_packets,
        tx_bytes: Bytes::new(tx_bytes),
        dropped_packets: if hot { 5_230 + draw.below(900) } else { 0 },
        dropped_bytes: Bytes::new(if hot { 5_230 * 1_500 } else { 0 }),
        lost_packets: 0,
        marked_packets: (tx_packets as f64 * mark) as u64,
        max_queue: Bytes::new(if hot {
            3_900_000
        } else if from_switch {
            30_000 + draw.below(400_000)
        } else {
            1_500
        }),
        ..PortRow::default()
    }
}

fn ports(draw: &mut Draw) -> Vec<PortRow> {
    let mut ports = Vec::new();
    for l in 0..LEAVES {
        for h in 0..HOSTS_PER_LEAF {
            let (host, leaf) = (format!("leaf[{l}].host[{h}]"), format!("leaf[{l}]"));
            let load = if l == 0 && h == 5 { 0.97 } else { 0.6 };
            ports.push(port(host.clone(), leaf.clone(), 100, 0.6, draw));
            ports.push(port(leaf, host, 100, load, draw));
        }
        for s in 0..SPINES {
            let (leaf, spine) = (format!("leaf[{l}]"), format!("spine[{s}]"));
            ports.push(port(leaf.clone(), spine.clone(), 400, 0.52, draw));
            ports.push(port(spine, leaf, 400, 0.52, draw));
        }
    }
    ports
}

fn series(end: Time, draw: &mut Draw) -> Vec<Series> {
    let step = 10_000_000;
    let at: Vec<Time> = (0..end.as_ps() / step).map(|i| Time::from_ps(i * step)).collect();
    let mut all = Vec::new();
    for port in 0..12_u64 {
        let hot = port == 3;
        let mut queue = 0.0_f64;
        let values = (0..at.len())
            .map(|i| {
                let burst = if hot && i % 400 < 60 { 90_000.0 } else { 0.0 };
                queue = (queue * 0.9 + 9_000.0 * draw.exponential() * 0.9 + burst).min(3_900_000.0);
                (queue - 20_000.0).max(0.0).floor()
            })
            .collect();
        all.push(Series {
            name: format!("leaf[0]->leaf[0].host[{port}] queue"),
            quantity: Quantity::Queue,
            unit: "bytes",
            at: at.clone(),
            values,
        });
    }
    for leaf in 0..3 {
        let mut rate = 800.0_f64;
        let values = (0..at.len())
            .map(|_| {
                rate =
                    (rate + 60.0 * (draw.next() - 0.5) + (900.0 - rate) * 0.02).clamp(0.0, 1600.0);
                rate
            })
            .collect();
        all.push(Series {
            name: format!("leaf[{leaf}] delivered"),
            quantity: Quantity::Goodput,
            unit: "gbps",
            at: at.clone(),
            values,
        });
    }
    all
}
