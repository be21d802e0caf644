//! Programs: operations that wait for each other, connections that outlive a message, and their known times.

use crate::common::{run, scenario};
use forebay_record::{ProgramWait, RunRecord};
use forebay_scenario::model::Scenario;
use forebay_scenario::program::{Error, Layout, Op, Ops, Signal, Source, Step, WaitList};
use forebay_sim::{Options, Outputs, Watch, simulate_into};
use forebay_units::{Bytes, Span, Time};
use std::sync::Arc;

/// Hosts around one switch, 100 Gb/s and 1 us: a full packet of 1,044 B takes 83.52 ns, and an ACK 5.12 ns.
fn star(hosts: u32, transport: &str) -> Scenario {
    star_with(hosts, transport, "")
}

/// Star with more tables in its file.
fn star_with(hosts: u32, transport: &str, tables: &str) -> Scenario {
    // The buffer does not have the headroom of a thousand ports.
    let pause = if hosts < 100 { "on" } else { "off" };
    scenario(&format!(
        "version = 1\nname = \"t\"\nseeds = [1]\nstop = {{ time = \"1s\" }}\n\
         [fabric]\nkind = \"star\"\nhosts = {hosts}\nhost_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
         [fabric.switch]\npause = \"{pause}\"\necn = {{ k = \"400KB\" }}\n\
         [transport]\n{transport}\n\
         [[traffic]]\nkind = \"permutation\"\nsize = \"1KB\"\n{tables}"
    ))
}

const RDMA: &str = "kind = \"rdma\"\nlaw = \"dcqcn\"\nmss = \"1000B\"\nheader = \"44B\"";

/// One-way time of a full packet over two links.
const FIRST: u64 = 2 * (1_000_000 + 83_520);

/// Time of `packets` full packets, one behind the other.
fn lone(packets: u64) -> u64 {
    FIRST + (packets - 1) * 83_520
}

/// A program for each host, and connections.
struct Given {
    connections: Vec<(u32, u32)>,
    programs: Vec<(u32, u32, Vec<Step>)>,
    links: Vec<(u32, u32, Span)>,
    flows: Vec<(u32, u32, u64)>,
}

impl Source for Given {
    fn lay_out(&self, layout: &mut Layout<'_>) -> Result<(), Error> {
        self.connections.iter().for_each(|(src, dst)| _ = layout.connection(*src, *dst));
        for (host, ahead, steps) in &self.programs {
            let steps = steps.clone();
            layout.program(*host, *ahead, Box::new(List { steps, next: 0 }));
        }
        self.links.iter().for_each(|(from, to, delay)| layout.control_link(*from, *to, *delay));
        for (src, dst, bytes) in &self.flows {
            let flow = layout.flow(*src, *dst, Bytes::new(*bytes), layout.start);
            layout.push(flow);
        }
        Ok(())
    }
}

#[derive(Clone, Debug)]
struct List {
    steps: Vec<Step>,
    next: usize,
}

impl Ops for List {
    fn next(&mut self) -> Option<Step> {
        self.next += 1;
        self.steps.get(self.next - 1).copied()
    }

    fn copy(&self) -> Box<dyn Ops> {
        Box::new(self.clone())
    }
}

fn send(on: u32, bytes: u64, after: WaitList) -> Step {
    Step { op: Op::Send { on, bytes: Bytes::new(bytes) }, after }
}

fn recv(on: u32, bytes: u64, after: WaitList) -> Step {
    Step { op: Op::Recv { on, bytes: Bytes::new(bytes) }, after }
}

/// Runs programs on one thread and on four.
fn ran(scenario: &Scenario, source: impl Source + 'static) -> RunRecord {
    let source: Arc<dyn Source> = Arc::new(source);
    let run = |threads: usize| {
        let outputs = Outputs { sources: vec![(0, Arc::clone(&source))], ..Outputs::default() };
        let options = Options { threads, ..Options::default() };
        let outcome = simulate_into(scenario, 1, options, &Watch::default(), outputs);
        outcome.unwrap_or_else(|e| panic!("{e}")).record
    };
    let record = run(1);
    assert_eq!(run(4).digest, record.digest, "four threads");
    record
}

/// When the last operation of each host was over.
fn ends(record: &RunRecord) -> Vec<u64> {
    assert!(!record.stalled);
    record.programs.iter().map(|row| row.ended.expect("it had the time").as_ps()).collect()
}

#[test]
fn a_chain_of_sends_over_a_star_takes_the_time_of_each() {
    const K: u64 = 1_000;
    let source = Given {
        connections: vec![(0, 1), (1, 2), (2, 3)],
        programs: vec![
            (0, 1, vec![send(0, 1_000 * K, WaitList::NOTHING)]),
            (
                1,
                1,
                vec![recv(0, 1_000 * K, WaitList::NOTHING), send(1, 1_000 * K, WaitList::op(1))],
            ),
            (
                2,
                1,
                vec![recv(1, 1_000 * K, WaitList::NOTHING), send(2, 1_000 * K, WaitList::op(1))],
            ),
            (3, 1, vec![recv(2, 1_000 * K, WaitList::NOTHING)]),
        ],
        links: Vec::new(),
        flows: Vec::new(),
    };
    let record = ran(&star(4, RDMA), source);
    // The ACK of the last packet, 64 B, goes ahead of the data that the packet lets begin.
    let begins = |nth: u64| nth * (lone(K) + 5_120);
    let starts: Vec<u64> = record.flows.iter().map(|row| row.start.as_ps()).collect();
    assert_eq!(starts, [0, lone(K), begins(1) + lone(K)]);
    assert_eq!(record.totals.delivered_bytes, 3 * 1_000 * K);
    assert_eq!(ends(&record)[3], begins(2) + lone(K));
}

#[test]
fn computing_adds_its_time_to_the_picosecond() {
    const SPAN: u64 = 7_654_321;
    let source = Given {
        connections: vec![(0, 1), (1, 2)],
        programs: vec![
            (0, 1, vec![send(0, 50_000, WaitList::NOTHING)]),
            (
                1,
                1,
                vec![
                    recv(0, 50_000, WaitList::NOTHING),
                    Step { op: Op::Compute(Span::from_ps(SPAN)), after: WaitList::op(1) },
                    send(1, 50_000, WaitList::op(1)),
                ],
            ),
            (2, 1, vec![recv(1, 50_000, WaitList::NOTHING)]),
        ],
        links: Vec::new(),
        flows: Vec::new(),
    };
    let record = ran(&star(3, RDMA), source);
    assert_eq!(record.flows[1].start.as_ps(), lone(50) + SPAN);
}

#[test]
fn an_operation_waits_for_a_time_for_its_own_send_and_for_signals() {
    let signal = |to: u32, tag: u32, delay: u64| {
        let delay = Span::from_ps(delay);
        Op::Signal(Signal { to, traffic: 0, tag, delay, before: Time::MAX })
    };
    let source = Given {
        connections: vec![(0, 1), (2, 1), (1, 0)],
        programs: vec![
            (
                0,
                8,
                vec![
                    Step { op: Op::At(Time::from_ps(3_000_000)), after: WaitList::NOTHING },
                    send(0, 1_000, WaitList::op(1)),
                    Step { op: signal(1, 7, 2_000_000), after: WaitList::op(1) },
                ],
            ),
            (2, 8, vec![Step { op: signal(1, 7, 9_000_000), after: WaitList::NOTHING }]),
            (1, 8, vec![send(2, 1_000, WaitList::signal(7, 2))]),
        ],
        links: vec![(0, 1, Span::from_us(2)), (2, 1, Span::from_us(9))],
        flows: Vec::new(),
    };
    let record = ran(&star(3, RDMA), source);
    let start = |src: u32| record.flows.iter().find(|row| row.src == src).unwrap().start.as_ps();
    assert_eq!(start(0), 3_000_000);
    // The acknowledgement of the last byte is back after one packet one way and an ACK the other.
    let acked = 3_000_000 + FIRST + 2 * (1_000_000 + 5_120);
    assert_eq!(start(1), (acked + 2_000_000).max(9_000_000));
}

#[test]
fn an_operation_waits_for_the_later_of_two() {
    for late in [0, 1] {
        let at = |nth: u32| Op::At(Time::from_ps(if nth == late { 9_000_000 } else { 0 }));
        let source = Given {
            connections: vec![(0, 1), (2, 1), (1, 0)],
            programs: vec![
                (
                    0,
                    1,
                    vec![
                        Step { op: at(0), after: WaitList::NOTHING },
                        send(0, 1_000, WaitList::op(1)),
                    ],
                ),
                (
                    2,
                    1,
                    vec![
                        Step { op: at(1), after: WaitList::NOTHING },
                        send(1, 1_000, WaitList::op(1)),
                    ],
                ),
                (
                    1,
                    8,
                    vec![
                        recv(0, 1_000, WaitList::NOTHING),
                        recv(1, 1_000, WaitList::NOTHING),
                        send(2, 1_000, WaitList::ops([1, 2])),
                    ],
                ),
            ],
            links: Vec::new(),
            flows: Vec::new(),
        };
        let record = ran(&star(3, RDMA), source);
        let start = record.flows.iter().find(|row| row.src == 1).unwrap().start.as_ps();
        assert_eq!(start, 9_000_000 + FIRST);
        assert_eq!(record.waited, [(2, late)]);
    }
}

/// Cores read the data of TCP; RDMA places it, and a program without memory takes it from its transport.
#[test]
fn bytes_that_came_before_anybody_waited_for_them_are_received_at_once() {
    const LATE: u64 = 1_000_000_000;
    let tcp = "kind = \"tcp\"\nlaw = \"dctcp\"\nmss = \"1000B\"\nheader = \"44B\"";
    for (transport, tables) in [(tcp, "[host.memory]\n"), (tcp, ""), (RDMA, "[host.memory]\n")] {
        let source = Given {
            connections: vec![(0, 1), (1, 0)],
            programs: vec![
                (0, 1, vec![send(0, 50_000, WaitList::NOTHING)]),
                (
                    1,
                    1,
                    vec![
                        Step { op: Op::At(Time::from_ps(LATE)), after: WaitList::NOTHING },
                        recv(0, 30_000, WaitList::op(1)),
                        recv(0, 20_000, WaitList::op(1)),
                        send(1, 1_000, WaitList::op(1)),
                    ],
                ),
            ],
            links: Vec::new(),
            flows: Vec::new(),
        };
        let record = ran(&star_with(2, transport, tables), source);
        let answer = record.flows.iter().find(|row| row.src == 1);
        assert_eq!(answer.map(|row| row.start.as_ps()), Some(LATE), "{transport} {tables}");
    }
}

#[test]
fn a_signal_is_not_sent_from_its_last_time_on() {
    let until = |before: u64| {
        let signal = Signal {
            to: 1,
            traffic: 0,
            tag: 0,
            delay: Span::from_us(1),
            before: Time::from_ps(before),
        };
        let at = Op::At(Time::from_ps(5_000_000));
        let source = Given {
            connections: vec![(1, 0)],
            programs: vec![
                (
                    0,
                    1,
                    vec![
                        Step { op: at, after: WaitList::NOTHING },
                        Step { op: Op::Signal(signal), after: WaitList::op(1) },
                    ],
                ),
                (1, 1, vec![send(0, 1_000, WaitList::signal(0, 1))]),
            ],
            links: vec![(0, 1, Span::from_us(1))],
            flows: Vec::new(),
        };
        ran(&star(2, RDMA), source).flows.len()
    };
    assert_eq!((until(5_000_000), until(5_000_001)), (0, 1));
}

/// A short message back over a connection of its own says by its start when a message was there.
#[test]
fn a_second_message_begins_with_the_window_that_the_first_one_left() {
    const K: u64 = 1_000;
    let reno =
        "kind = \"tcp\"\nlaw = \"reno\"\nmss = \"1000B\"\nheader = \"44B\"\nrto_min = \"1ms\"";
    let two = |connections: Vec<(u32, u32)>| {
        let (first, second) = (0, connections.len() as u32 - 2);
        let source = Given {
            programs: vec![
                (
                    0,
                    8,
                    vec![
                        send(first, 1_000 * K, WaitList::NOTHING),
                        Step { op: Op::Compute(Span::from_us(2)), after: WaitList::op(1) },
                        Step { op: Op::At(Time::from_ps(1_000_000_000)), after: WaitList::op(1) },
                        send(second, 1_000 * K, WaitList::op(1)),
                    ],
                ),
                (
                    1,
                    8,
                    vec![
                        recv(first, 1_000 * K, WaitList::NOTHING),
                        recv(second, 1_000 * K, WaitList::op(1)),
                        send(connections.len() as u32 - 1, 1_000, WaitList::op(1)),
                    ],
                ),
            ],
            connections,
            links: Vec::new(),
            flows: Vec::new(),
        };
        let record = ran(&star(2, reno), source);
        let answer = record.flows.iter().find(|row| row.src == 1).unwrap();
        answer.start.as_ps() - 1_000_000_000
    };
    let same = two(vec![(0, 1), (1, 0)]);
    let fresh = two(vec![(0, 1), (0, 1), (1, 0)]);
    // The first message has opened the window beyond the path, so that the second leaves at line rate.
    assert_eq!(same, lone(K));
    // A connection of its own waits for the ACKs of ten segments, then of twenty.
    assert!(fresh > lone(K) + 3_000_000, "{fresh}");
}

/// A star under Homa. Nothing that host 1 sends arrives: its sender gives up after 10, 20, 40, 80, 160 and 320 ms.
fn homa(traffic: &str) -> Scenario {
    scenario(&format!(
        "version = 1\nname = \"t\"\nseeds = [1]\nstop = {{ time = \"2s\" }}\n\
         [fabric]\nkind = \"star\"\nhosts = 4\nrouting = \"spray\"\n\
         host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
         [fabric.switch]\nbuffer = \"none\"\nclasses = 8\n\
         [transport]\nkind = \"receiver-driven\"\nlaw = \"homa\"\nack_class = 7\n\
         [[fabric.override]]\nwhere = \"host[1]\"\nloss = 1\n{traffic}"
    ))
}

const TRIES: Span = Span::from_ms(630);

/// A flow of a program of its own, which starts with the program, and one behind it.
struct Pair;

impl Source for Pair {
    fn lay_out(&self, layout: &mut Layout<'_>) -> Result<(), Error> {
        for (src, dst) in [(1, 0), (1, 2)] {
            let flow = layout.flow(src, dst, Bytes::new(1_000), Time::MAX);
            layout.push(flow);
        }
        let steps = vec![send(0, 1_000, WaitList::NOTHING), send(1, 1_000, WaitList::op(1))];
        layout.program(1, 2, Box::new(List { steps, next: 0 }));
        Ok(())
    }
}

#[test]
fn a_message_of_a_sender_that_gave_up_is_never_over() {
    let record = ran(&homa("[[traffic]]\nkind = \"permutation\"\nsize = \"1KB\"\n"), Pair);
    let at = Time::ZERO + TRIES;
    let flows: Vec<_> = record.flows.iter().map(|row| (row.flow, row.gave_up)).collect();
    assert_eq!((flows, record.not_started), (vec![(0, Some(at))], 1));
    let row = record.programs[0];
    assert_eq!((row.ended, row.waits_for), (None, Some(ProgramWait::GaveUp { flow: 0, at })));
}

#[test]
fn those_who_wait_for_a_sender_that_gave_up_are_named() {
    let listed = |first: &str| {
        let last = "{ from = \"host[0]\", to = \"host[2]\", size = \"1KB\", after = \"b\" }";
        let text = format!("[[traffic]]\nkind = \"list\"\nflows = [{first}\n{last}]\n");
        let outcome = run(&homa(&text), 1, Options::default());
        (outcome.record.not_started, outcome.warnings.join("\n"))
    };
    let dead = |start: &str| {
        format!(
            "{{ from = \"host[1]\", to = \"host[0]\", size = \"1KB\", {start}, fires = \"b\" }},"
        )
    };
    let (left, said) = listed(&dead("at = \"0s\""));
    assert_eq!(left, 1);
    let wanted = "1 of 1 programs did not end: host[0] waits for data from host[1], which gave up (flow 0, at 630.000 ms)";
    assert!(said.contains(wanted), "{said}");

    let first =
        "{ from = \"host[2]\", to = \"host[3]\", size = \"1KB\", at = \"0s\", fires = \"a\" },";
    let (left, said) = listed(&format!("{first}\n{}", dead("after = \"a\"")));
    assert_eq!(left, 1);
    let wanted =
        "2 of 3 programs did not end: host[1] gave up sending to host[0] (flow 1, at 630.003 ms)";
    assert!(said.contains(wanted), "{said}");
    assert!(
        said.contains("; host[0] waits for data from host[1], which gave up (flow 1"),
        "{said}"
    );
}

#[test]
fn a_message_without_payload_ends_with_the_one_before_it() {
    let unused = "[[traffic]]\nkind = \"permutation\"\nsize = \"1KB\"\n";
    for scenario in [star(3, RDMA), homa(unused)] {
        let sizes = [5_000, 0, 1_000, 0];
        let sends = sizes.map(|bytes| send(0, bytes, WaitList::NOTHING)).to_vec();
        let recvs = sizes.map(|bytes| recv(0, bytes, WaitList::NOTHING)).to_vec();
        let source = Given {
            connections: vec![(0, 2)],
            programs: vec![(0, 1, sends), (2, 1, recvs)],
            links: Vec::new(),
            flows: Vec::new(),
        };
        let record = ran(&scenario, source);
        let ended = ends(&record);
        // The last acknowledgement comes after the last byte.
        assert!(ended[0] > ended[1] && ended[0] < ended[1] + 3_000_000, "{ended:?}");
        assert_eq!(record.totals.delivered_bytes, 6_000);
    }
}

#[test]
fn programs_that_wait_for_each_other_are_named() {
    let first = |recv_on: u32, send_on: u32| {
        vec![recv(recv_on, 1_000, WaitList::NOTHING), send(send_on, 1_000, WaitList::op(1))]
    };
    let source = Given {
        connections: vec![(0, 1), (1, 0), (2, 0)],
        programs: vec![
            (0, 1, first(1, 0)),
            (1, 1, first(0, 1)),
            (2, 1, vec![send(2, 1_000, WaitList::NOTHING)]),
        ],
        links: Vec::new(),
        flows: Vec::new(),
    };
    let sources: Vec<(usize, Arc<dyn Source>)> = vec![(0, Arc::new(source))];
    let outputs = Outputs { sources, ..Outputs::default() };
    let scenario = star(3, RDMA);
    let outcome =
        simulate_into(&scenario, 1, Options::default(), &Watch::default(), outputs).unwrap();
    assert!(outcome.record.stalled);
    let wanted = "2 of 3 programs did not end: host[0] waits for data from host[1] (flow 1); host[1] waits for data from host[0] (flow 0)";
    assert_eq!(outcome.stall.as_deref(), Some(wanted));
}

/// The two entries of the file are just small enough: 2 flows and 49,999,998. The program has three instead of the two.
#[test]
fn flows_of_a_program_count_for_the_most_that_a_run_may_have() {
    let many = "[[traffic]]\nkind = \"incast\"\nfan_in = 1\nsize = \"1KB\"\nevery = \"1ns\"\nrounds = 49999998\n";
    let source = Given {
        connections: vec![(0, 1), (1, 0), (0, 1)],
        programs: Vec::new(),
        links: Vec::new(),
        flows: Vec::new(),
    };
    let sources: Vec<(usize, Arc<dyn Source>)> = vec![(0, Arc::new(source))];
    let outputs = Outputs { sources, ..Outputs::default() };
    let scenario = star_with(2, RDMA, many);
    let outcome = simulate_into(&scenario, 1, Options::default(), &Watch::default(), outputs);
    let error = outcome.map(drop).unwrap_err().to_string();
    assert!(error.starts_with("traffic[1]: makes about 50,000,001 flows"), "{error}");
}

/// A ring all-reduce of one rank, step by step: what it sends next is what it took last.
#[derive(Clone, Debug)]
struct Ring {
    rank: u32,
    ranks: u32,
    bytes: u64,
    step: u32,
    sends: bool,
}

impl Ring {
    /// Bytes that are sent in a step by a rank: part k of n has one byte more where they do not divide.
    fn part(&self, rank: u32, step: u32) -> u64 {
        let n = i64::from(self.ranks);
        let (rank, step) = (i64::from(rank), i64::from(step));
        let part = match step < n - 1 {
            true => (rank - step - 1).rem_euclid(n),
            false => (rank - (step - (n - 1))).rem_euclid(n),
        };
        self.bytes / n as u64 + u64::from((part as u64) < self.bytes % n as u64)
    }
}

impl Ops for Ring {
    fn next(&mut self) -> Option<Step> {
        let (n, step) = (self.ranks, self.step);
        if step == 2 * (n - 1) {
            return None;
        }
        self.sends = !self.sends;
        let before = (self.rank + n - 1) % n;
        if self.sends {
            // It waits for the receipt before it.
            let after = if step == 0 { WaitList::NOTHING } else { WaitList::op(1) };
            return Some(send(self.rank, self.part(self.rank, step), after));
        }
        self.step += 1;
        Some(recv(before, self.part(before, step), WaitList::NOTHING))
    }

    fn copy(&self) -> Box<dyn Ops> {
        Box::new(self.clone())
    }
}

struct AllReduce {
    ranks: u32,
    bytes: u64,
}

impl Source for AllReduce {
    fn lay_out(&self, layout: &mut Layout<'_>) -> Result<(), Error> {
        let (ranks, bytes) = (self.ranks, self.bytes);
        (0..ranks).for_each(|rank| _ = layout.connection(rank, (rank + 1) % ranks));
        for rank in 0..ranks {
            layout.program(rank, 1, Box::new(Ring { rank, ranks, bytes, step: 0, sends: false }));
        }
        Ok(())
    }
}

#[test]
fn a_ring_all_reduce_is_a_lazy_program_over_one_connection_per_rank() {
    let (ranks, bytes) = (8u32, 8_000_000u64);
    let record = ran(&star(ranks, RDMA), AllReduce { ranks, bytes });
    assert_eq!(record.flows.len(), ranks as usize, "one connection for all steps");
    // All ranks together send 2 (n - 1) S.
    assert_eq!(record.totals.delivered_bytes, 2 * u64::from(ranks - 1) * bytes);
    // The first message of a step takes 88,640 k + 1,955,520 ps, and the ACKs of what a host receives take 5.12 of each 88.64 ns of its
    // link: so many steps take that, to a packet or two for each.
    let step = 88_640 * 1_000 + 1_955_520;
    let steps = 2 * u64::from(ranks - 1);
    let last = ends(&record).into_iter().max().unwrap();
    assert!(last.abs_diff(steps * step) <= steps * 2 * 88_640 + 10_000_000, "{last}");
    // No all-reduce is faster than 2 (n - 1) / n S / B.
    assert!(last as f64 >= 2.0 * 7.0 / 8.0 * bytes as f64 * 80.0);
}

#[test]
fn bytes_that_do_not_divide_all_arrive() {
    for (ranks, bytes) in [(3, 1_000_001), (5, 12), (7, 7_777_777)] {
        let record = ran(&star(ranks, RDMA), AllReduce { ranks, bytes });
        assert_eq!(record.totals.delivered_bytes, 2 * u64::from(ranks - 1) * bytes);
    }
}

/// Peak memory of a ring all-reduce of 1,024 ranks with 2 MB each, for `cargo test -- --ignored --nocapture`.
#[test]
#[ignore = "takes a minute; prints the memory of a large ring"]
fn a_large_ring_fits_into_memory() {
    let (ranks, bytes) = (1_024, 2_000_000);
    let scenario = star(ranks, RDMA);
    let sources: Vec<(usize, Arc<dyn Source>)> = vec![(0, Arc::new(AllReduce { ranks, bytes }))];
    let outputs = Outputs { sources, ..Outputs::default() };
    let outcome =
        simulate_into(&scenario, 1, Options::default(), &Watch::default(), outputs).unwrap();
    assert_eq!(outcome.record.totals.delivered_bytes, 2 * u64::from(ranks - 1) * bytes);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("no VmHWM"));
}
