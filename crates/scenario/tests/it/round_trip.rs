//! A resolved scenario reads back to the same scenario.

use forebay_host::memory::buffers::{Refresh, Reuse};
use forebay_host::memory::settings::{
    Actuator, AntagonistSettings, Copying, DdioSettings, IommuSettings, NicSettings, SmtOrder,
    ThrottleSettings, Trace,
};
use forebay_host::memory::settings::{CacheModel, Poll, QueueSettings, Rnr};
use forebay_scenario::cdf::Cdf;
use forebay_scenario::model::*;
use forebay_scenario::{resolved, text};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use proptest::option::of;
use proptest::prelude::*;

const LAWS: &[&str] = &["reno", "dctcp"];

fn span() -> impl Strategy<Value = Span> {
    prop_oneof![
        (1..1_000_000_000u64).prop_map(Span::from_ps),
        (1..5_000u64).prop_map(Span::from_ns)
    ]
}

/// Within the runs made here.
fn time() -> impl Strategy<Value = Time> {
    span().prop_map(|s| Time::ZERO + s)
}

fn bytes() -> impl Strategy<Value = Bytes> {
    prop_oneof![
        (70_000..1u64 << 40).prop_map(Bytes::new),
        (70..1u64 << 20).prop_map(|k| Bytes::new(k * 1024))
    ]
}

fn rate() -> impl Strategy<Value = BitsPerSec> {
    prop_oneof![
        (1..1_000u64).prop_map(BitsPerSec::from_gbps),
        (1_000_000..1u64 << 40).prop_map(BitsPerSec::new)
    ]
}

fn link() -> impl Strategy<Value = Link> {
    (rate(), span()).prop_map(|(rate, delay)| Link { rate, delay })
}

fn length() -> impl Strategy<Value = QueueLength> {
    prop_oneof![bytes().prop_map(QueueLength::Bytes), (1..9_999u32).prop_map(QueueLength::Packets)]
}

fn share() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), 0.0..1.0]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~]{0,20}", "\\PC{0,8}", Just("a \"b\" \\ \n\t c".to_string())]
}

fn topology() -> impl Strategy<Value = Topology> {
    prop_oneof![
        (1..20u64, 1..20u64).prop_map(|(left, right)| Topology::Dumbbell(Dumbbell {
            left,
            right,
            bottleneck: None
        })),
        (2..40u64).prop_map(|hosts| Topology::Star(Star { hosts })),
        (1..9u64, 1..5u64, 2..9u64).prop_map(|(leaves, spines, hosts_per_leaf)| {
            Topology::LeafSpine(LeafSpine { leaves, spines, hosts_per_leaf, spine_link: None })
        }),
        (2..4u64, 2..5u64)
            .prop_map(|(tiers, half)| Topology::FatTree(FatTree { tiers, k: 2 * half })),
        (2..4u64, 1..4u64, 1..4u64, 1..3u64, 2..4u64).prop_map(
            |(pods, edges, aggs, group, hosts)| {
                Topology::Clos(Clos {
                    pods,
                    edges_per_pod: edges,
                    aggs_per_pod: aggs,
                    cores: aggs * group,
                    hosts_per_edge: hosts,
                })
            }
        ),
        (2..6usize, of(rate()), of(span())).prop_map(|(n, rate, delay)| Topology::Graph(Graph {
            hosts: (0..n).map(|i| format!("h{i}")).collect(),
            switches: vec!["one".into(), "zwei".into()],
            cables: (0..n)
                .map(|i| Cable {
                    a: format!("h{i}"),
                    b: ["one", "zwei"][i % 2].into(),
                    rate,
                    delay
                })
                .chain([Cable { a: "zwei".into(), b: "one".into(), rate: None, delay: None }])
                .collect(),
        })),
    ]
}

/// Names of the first two hosts, a cable in canonical form, and a pattern.
fn places(topology: &Topology) -> ([&'static str; 2], &'static str, &'static str) {
    match topology {
        Topology::Dumbbell(_) => (["left.host[0]", "right.host[0]"], "left-right", "left.host[*]"),
        Topology::Star(_) => (["host[0]", "host[1]"], "host[1]-tor", "host[*]-tor"),
        Topology::LeafSpine(_) | Topology::FatTree(FatTree { tiers: 2, .. }) => {
            (["leaf[0].host[0]", "leaf[0].host[1]"], "leaf[0]-spine[0]", "leaf[*]")
        }
        Topology::FatTree(_) | Topology::Clos(_) => (
            ["pod[0].edge[0].host[0]", "pod[1].edge[0].host[1]"],
            "pod[0].agg[0]-core[0]",
            "pod[*].agg[*]-core[*]",
        ),
        Topology::Graph(_) => (["h0", "h1"], "h0-one", "h*"),
    }
}

fn sizes() -> BoxedStrategy<Cdf> {
    prop_oneof![
        Just(forebay_scenario::cdf::by_name("websearch").unwrap()),
        Just(forebay_scenario::cdf::by_name("homa_w1_fb_keyvalue").unwrap()),
        (1..1_000_000u64).prop_map(|b| Cdf::fixed(Bytes::new(b))),
        (name(), 1.0..1e6f64, share(), any::<bool>()).prop_map(|(name, b, p, lin)| Cdf::new(
            &name,
            vec![(b, p), (b * 3.0, 1.0)],
            lin
        )
        .unwrap()),
    ]
    .boxed()
}

fn pause() -> impl Strategy<Value = Wait> {
    prop_oneof![span().prop_map(Wait::Fixed), span().prop_map(Wait::Exponential)]
}

fn rpc([a, b]: [&'static str; 2]) -> impl Strategy<Value = TrafficKind> {
    let numbers = (1..9u32, 1..9u32, of(1..999u64), any::<bool>());
    (sizes(), of(sizes()), pause(), pause(), numbers).prop_map(
        move |(request, response, think, service, (connections, outstanding, count, all))| {
            let one_way = response.is_none();
            TrafficKind::Rpc(Box::new(Rpc {
                from: vec![a.into(), b.into()],
                to: vec![b.into(), a.into()],
                pairs: if all { Pairs::All } else { Pairs::Matched },
                connections,
                outstanding,
                request,
                response,
                think,
                service: if one_way { Wait::Fixed(Span::ZERO) } else { service },
                count,
                pool: None,
            }))
        },
    )
}

fn kind(hosts: [&'static str; 2]) -> impl Strategy<Value = TrafficKind> {
    let [a, b] = hosts.map(String::from);
    let (c, d) = (a.clone(), b.clone());
    let (e, f) = (a.clone(), b.clone());
    prop_oneof![
        (sizes(), 1e-9..1e-6f64).prop_map(|(sizes, load)| TrafficKind::Poisson(Poisson {
            sizes,
            load,
            load_ref: LoadRef::Host
        })),
        (bytes(), of(Just(e)), of(span()), 1..9u32).prop_map(|(size, to, every, rounds)| {
            TrafficKind::Incast(Incast {
                fan_in: 1,
                size,
                to,
                every,
                rounds,
                control_delay: every.is_none().then_some(Span::from_us(1)),
            })
        }),
        rpc(hosts).boxed(),
        bytes().prop_map(|size| TrafficKind::Permutation(Permutation { size })),
        bytes().prop_map(|size| TrafficKind::AllToAll(AllToAll { size })),
        span().prop_map(move |stagger| TrafficKind::Long(LongFlows {
            from: vec![a.clone(), b.clone()],
            to: vec![b.clone(), a.clone()],
            stagger
        })),
        (bytes(), time()).prop_map(move |(size, at)| TrafficKind::List(List {
            flows: vec![
                ListedFlow {
                    sport: 7,
                    fires: vec!["one".into(), "other".into()],
                    ..ListedFlow::new(c.clone(), d.clone(), size, at)
                },
                ListedFlow {
                    dport: 9,
                    after: Some("one".into()),
                    ..ListedFlow::new(d.clone(), c.clone(), size, Time::MAX)
                },
            ],
            file: None,
            control_delay: Span::from_ns(500),
        })),
    ]
    .prop_filter("a flow needs two hosts", move |_| f != hosts[0])
}

prop_compose! {
    fn switch()(
        latency in span(),
        pool in of((bytes(), of(0.01..16.0f64))),
        port_limit in of(length()),
        ecn in of((0..999_999u64, 1..999_999u64, share(), any::<(bool, bool)>())),
        start in any::<bool>(),
        class_ecn in prop::array::uniform4(any::<bool>()),
        weighs: bool,
        credited: bool,
        pause in of((of(0.01..16.0f64), 0..9_000u64, 0..700u64, of(0..1_000u64))),
        by_class in of((1..16u8, of((1..u64::MAX, any::<bool>())), 0..16u8)),
    ) -> Switch {
        let marking = ecn.map(|(kmin, ramp, pmax, (deq, drop))| EcnMarking {
            k: None,
            kmin: QueueLength::Bytes(Bytes::new(kmin)),
            kmax: QueueLength::Bytes(Bytes::new(kmin + ramp)),
            pmax,
            for_rate: deq.then_some(BitsPerSec::from_gbps(kmin + 1)),
            at: if deq { MarkAt::Dequeue } else { MarkAt::Enqueue },
            not_ect: if drop { NotEct::Drop } else { NotEct::Pass },
            ect: if drop && !deq { Ect::Pass } else { Ect::Mark },
        });
        let shared = pool.map(|(size, alpha)| SharedBuffer {
            size,
            policy: if alpha.is_some() { Policy::DynamicThreshold } else { Policy::Shared },
            alpha,
            threshold: match alpha {
                Some(_) if weighs && pause.is_none() => PoolThreshold::Queue,
                _ => PoolThreshold::Port,
            },
        });
        let accounts = by_class.map_or(1, |(classes, _, _)| u64::from(classes.count_ones()));
        let marked: Vec<u8> = (0..4).filter(|class| class_ecn[usize::from(*class)]).collect();
        let pauses = pause.is_some();
        let paused = |(alpha, offset, reserved, headroom): (Option<f64>, u64, u64, Option<u64>)| {
            let settings = PauseSettings {
                xoff: shared.map_or(Xoff::Fixed(Bytes::new(offset)), |_| Xoff::Dynamic),
                alpha: alpha.filter(|_| shared.is_some()),
                resume_offset: Bytes::new(offset),
                reserved: Bytes::new(reserved / accounts),
                // No formula where it might need more than the pool has.
                headroom: match headroom.or(shared.map(|_| 0)) {
                    Some(bytes) => Headroom::Fixed(Bytes::new(bytes / accounts)),
                    None if offset % 2 == 0 => Headroom::ThreeDelays,
                    None => Headroom::Auto,
                },
                short_headroom: ShortHeadroom::Warn,
                watchdog: None,
            };
            let Some((classes, watchdog, apart)) = by_class else {
                return Pause::Alike(AlikePause { classes: None, settings });
            };
            let watchdog = watchdog.map(|(after, drops)| Watchdog {
                after: Span::from_ps(1 + after % Span::from_secs(9).as_ps()),
                action: if drops { WatchdogAction::Drop } else { WatchdogAction::Ignore },
            });
            let watched = PauseSettings { watchdog, ..settings };
            let other = PauseSettings {
                xoff: Xoff::Fixed(Bytes::new(offset + 1)),
                alpha: None,
                ..settings
            };
            let those = |mask: u8| (0..8).filter(move |class| mask & 1 << class != 0).collect();
            if apart & classes == 0 {
                let classes = Some(those(classes));
                return Pause::Alike(AlikePause { classes, settings: watched });
            }
            let groups = [(classes & !apart, watched), (classes & apart, other)];
            let entry = |(mask, settings)| ClassPause { classes: those(mask), settings };
            Pause::ByClass(groups.into_iter().filter(|group| group.0 != 0).map(entry).collect())
        };
        Switch {
            latency,
            buffer: shared.map_or(Buffer::None, Buffer::Shared),
            port_limit: port_limit.filter(|_| !pauses),
            return_to_sender: false,
            limits: port_limit.filter(|_| !pauses).iter().map(|size| ClassLimit { class: 2, size: *size, over: OverLimit::Drop }).collect(),
            pause: pause.map_or(Pause::Off, paused),
            ecn: match marking {
                None => Ecn::Off,
                Some(marking) if marked.is_empty() => Ecn::Port(marking),
                Some(marking) => Ecn::ByClass(vec![ClassMarking { classes: marked, marking }]),
            },
            hierarchical: None,
            wrr: None,
            int_multi: start.then_some(4),
            weights: match weighs {
                true => [(0, 3), (2, 100), (3, 1)].map(|(class, weight)| ClassWeight { class, weight }).to_vec(),
                false => vec![],
            },
            credits: credited.then(|| CreditClass {
                class: 4,
                share: Fraction { of: 1, whole: 20 },
                burst: Bytes::new(168),
                limit: Bytes::new(700),
            }),
            classes: if credited { 5 } else { 4 },
            ports: PortRules { release: if start { Release::Start } else { Release::Fluid } },
        }
    }
}

prop_compose! {
    fn hierarchical()(
        sent in any::<bool>(),
        params in prop::sample::subsequence(vec![("beta", "0.5"), ("n_estimate", "ratio"), ("q0", "1KB")], 0..3),
        queue_for in prop_oneof![Just(QueueFor::Host), Just(QueueFor::Rack), Just(QueueFor::Pod)],
        pod_advance in 20_000..90_000u64,
        advance in 20_000..90_000u64,
        credit in 1..20_000u64,
        (seen_for, request_timeout) in (1..90_000u64, 1..90_000u64),
        (payload, credit_pace) in (any::<bool>(), prop::sample::select(&[0.01, 0.98, 1.0])),
        hop_rtt in of(1..90_000u64),
        round_trip in of(1..90_000u64),
    ) -> Hierarchical {
        Hierarchical {
            law: "hiercc".into(),
            params: params.iter().map(|(key, text)| (key.to_string(), text.to_string())).collect(),
            requests: if sent { Requests::Sent } else { Requests::Demand },
            queue_for,
            pod_advance: (queue_for == QueueFor::Pod).then_some(Bytes::new(pod_advance)),
            advance: Bytes::new(advance),
            credit: Bytes::new(credit),
            credit_for: if payload { CreditFor::Payload } else { CreditFor::Packet },
            credit_pace,
            seen_for: Span::from_ns(seen_for),
            request_timeout: Span::from_ns(request_timeout),
            hop_rtt: hop_rtt.map(Span::from_ns),
            round_trip: round_trip.map(Span::from_ns),
        }
    }
}

/// Each of them as a number, a word and a flag.
const PARAMS: &[(&str, &str)] =
    &[("g", "0.0625"), ("g", "1"), ("alpha", "linux"), ("prr_on_ce", "true")];

prop_compose! {
    fn tcp()(
        law in prop::sample::select(LAWS),
        mss in 1..9_000u64,
        window in 9_000..1_000_000u64,
        rto_min in span(),
        flags in any::<(bool, bool)>(),
        receive_window in of((70_000..1u64 << 28).prop_map(Bytes::new)),
        params in prop::collection::vec(Just(()), 0..4),
    ) -> Transport {
        Transport {
            law: law.into(),
            params: PARAMS.iter().skip(params.len()).take(params.len()).filter(|_| law == "dctcp")
                .map(|(k, v)| (k.to_string(), v.to_string())).collect::<std::collections::BTreeMap<_, _>>().into_iter().collect(),
            mss: Bytes::new(mss),
            header: Bytes::new(52),
            ack_size: Bytes::new(64),
            mtu: None,
            class: 1,
            ack_class: 3,
            routing: flags.1.then_some(Routing::Spray),
            kind: TransportKind::Tcp(TcpSettings {
                kernel: None,
                initial_window: if flags.0 {
                    QueueLength::Bytes(Bytes::new(window))
                } else {
                    QueueLength::Packets(10)
                },
                rto_min,
                delayed_ack: flags.0,
                delayed_ack_timeout: Span::from_ms(if flags.0 { 40 } else { 25 }),
                adaptive_delayed_ack: flags.1,
                timer_tick: Span::from_ms(if flags.1 { 4 } else { 0 }),
                quick_acks: if flags.0 { 16 } else { 2_867 },
                receive_window,
                receive_window_max: receive_window.filter(|_| flags.0).map(|w| w * 3),
                slow_start_after_idle: flags.1,
                gentle_growth: flags.0,
                sack: !flags.0,
                rack: flags.1,
                tail_loss_probe: !flags.1,
                prr: flags.0,
                frto: flags.1,
            }),
        }
    }
}

fn rdma() -> impl Strategy<Value = RdmaSettings> {
    let cap = prop_oneof![
        Just(InflightCap::None),
        Just(InflightCap::Bdp),
        bytes().prop_map(InflightCap::Fixed)
    ];
    let base_rtt =
        prop_oneof![Just(BaseRtt::Longest), Just(BaseRtt::Path), span().prop_map(BaseRtt::Fixed)];
    let window = of((9_000..1_000_000u64).prop_map(|n| QueueLength::Bytes(Bytes::new(n))));
    let spans = (span(), span(), span(), span());
    (any::<bool>(), 1..99u32, cap, base_rtt, window, spans, 0..99u32).prop_map(
        |(selective, ack_every, max_inflight, base_rtt, initial_window, spans, few)| RdmaSettings {
            recovery: match (selective, few % 2) {
                (true, _) => Recovery::Selective,
                (false, 0) => Recovery::GoBackZero,
                _ => Recovery::GoBackN,
            },
            ack_every,
            max_inflight,
            nack_interval: spans.0,
            rnr_timer: spans.3,
            timeout: spans.1,
            rto_low: spans.2,
            rto_low_packets: few,
            cnp_interval: spans.3,
            cnp_class: 2,
            base_rtt,
            telemetry: Bytes::new(u64::from(few)),
            initial_window,
        },
    )
}

fn queue_pairs() -> impl Strategy<Value = Transport> {
    let law = prop::sample::select(vec!["dcqcn", "hpcc", "swift"]);
    (tcp(), rdma(), law).prop_map(|(tcp, rdma, law)| Transport {
        law: law.into(),
        params: Vec::new(),
        kind: TransportKind::Rdma(rdma),
        ..tcp
    })
}

fn transport() -> impl Strategy<Value = Transport> {
    prop_oneof![3 => tcp(), 1 => queue_pairs()]
}

fn nic() -> impl Strategy<Value = NicOrder> {
    prop_oneof![
        Just(NicOrder::RoundRobin),
        Just(NicOrder::Fq),
        Just(NicOrder::Fifo),
        Just(NicOrder::Srpt),
        Just(NicOrder::Push)
    ]
}

prop_compose! {
    fn settings()(
        nic in nic(),
        [gro, sack_compression] in any::<[bool; 2]>(),
        wait in (1..1_000_000u64).prop_map(Span::from_ns),
        rx_frames in of(1..1_000u32),
        moderated in any::<bool>(),
        tso in any::<bool>(),
        one in any::<bool>(),
        gso_max in (9_000..=512u64 << 10).prop_map(Bytes::new),
        pacing in prop_oneof![Just(Pacing::Off), Just(Pacing::Internal), Just(Pacing::Fq)],
    ) -> HostSettings {
        let rx_usecs = if moderated { wait } else { Span::ZERO };
        let rx_frames = rx_frames.filter(|_| moderated);
        let nic = if pacing == Pacing::Fq { NicOrder::RoundRobin } else { nic };
        let rx_jitter = rx_usecs / 3;
        let tx_jitter = if one { wait / 7 } else { Span::ZERO };
        let gro = gro && moderated;
        let psh = gro || tso;
        let tx_queues = if one && tso { TxQueues::One } else { TxQueues::PerFlow };
        HostSettings { nic, gro, sack_compression, rx_usecs, rx_jitter, rx_frames, tx_jitter, tso, tx_queues, gso_max, psh, pacing }
    }
}

prop_compose! {
    fn antagonist()(
        cores in 0..9u32,
        lines_in_flight_milli in 1..99_000u32,
        writes_permille in 0..2_000u32,
        local in any::<bool>(),
        start in span(),
        rests in of((200_000..1u64 << 40, 200_000..1u64 << 40)),
        cached_permille in 0..=1000u32,
        steps in of(prop::collection::btree_map(0..1_000_000u32, 0..9_000u32, 1..5)),
    ) -> AntagonistSettings {
        let each = |(us, rate)| (f64::from(us) / 8.0, f64::from(rate) / 8.0);
        let trace = steps.map(|steps| Trace::Steps(steps.into_iter().map(each).collect()));
        let rests = rests.filter(|_| trace.is_none());
        let rests = rests.map(|(on, off)| (Span::from_ps(on), Span::from_ps(off)));
        AntagonistSettings { cores, lines_in_flight_milli, writes_permille, cached_permille, local, rests, start, trace }
    }
}

prop_compose! {
    /// Stages of other sizes, with or without DDIO, pinned to a level or under a control.
    fn memory()(
        buffer in 70_000..1u64 << 40,
        [slots, lines_in_flight, descriptors] in [1..1_000u32, 1..64u32, 1..9_000u32],
        ns in [1..900_000u64, 1..900_000u64, 1..900_000u64],
        ddio in any::<bool>(),
        ways in 1..=11u32,
        permille in [1..1_000u32, 0..3_000u32],
        posted_limit in of(1..1_000u32),
        copying in prop_oneof![Just(Copying::Evenly), Just(Copying::InBunches)],
        actuator in prop_oneof![Just(Actuator::Sockets), Just(Actuator::Delay), Just(Actuator::Cap)],
        (slowing, pausing) in (1..9u8, 1..5u8),
        antagonists in prop::collection::vec(antagonist(), 0..3),
        level in 0..2u8,
        controlled in of(any::<bool>()),
        read in (100..100_000u64).prop_map(Span::from_ns),
    ) -> Memory {
        let [iio, local, delay] = ns.map(Span::from_ns);
        let mut memory = Memory { socket_buffer: Bytes::new(buffer), ..Memory::default() };
        let settings = &mut memory.settings;
        settings.nic = NicSettings { buffer: Bytes::new(buffer), refuse_below: Bytes::new(buffer / 9), descriptors };
        (settings.iio.slots, settings.iio.latency) = (slots, iio);
        if ways > 5 {
            settings.iommu = IommuSettings { walk: local, entries: slots, page: Bytes::new(2 << 20) };
        }
        let queue = (ways > 1).then(|| QueueSettings {
            depth: descriptors.max(1024),
            shared: ways % 2 == 0,
            buffer: Bytes::new(2048),
            reuse: Reuse::Lifo,
            refresh: Refresh::Both,
            assemble: (ways > 4).then_some(Bytes::new(buffer)),
            rnr: [Some(Rnr::Wait), Some(Rnr::Nak), None][ways as usize % 3],
            poll: [Poll::Arrival, Poll::RoundRobin][ways as usize % 2],
        });
        let model = if queue.is_some() { CacheModel::Buffers } else { CacheModel::Share };
        settings.ddio = ddio.then(|| DdioSettings { ways, hit: local, cache_latency: local, model, queue, ..DdioSettings::default() });
        settings.controller.local_read = local;
        settings.controller.read_share_permille = permille[0];
        settings.controller.posted_limit = posted_limit;
        settings.readers.lines_in_flight = lines_in_flight;
        settings.readers.reads_permille = permille[1];
        settings.readers.copying = copying;
        if ways % 3 == 1 {
            settings.readers.smt = 2;
            settings.readers.smt_order = [SmtOrder::Entry, SmtOrder::Mixed, SmtOrder::Alike, SmtOrder::Spread][ways as usize % 4];
        }
        settings.throttle = ThrottleSettings { actuator, slowing, pausing, delay, ..settings.throttle };
        let by_buffer = settings.ddio.is_some_and(|ddio| ddio.queue.is_some());
        let cached_permille = |of: u32| if by_buffer { of } else { 0 };
        settings.antagonists = antagonists
            .into_iter()
            .map(|of| AntagonistSettings { cached_permille: cached_permille(of.cached_permille), ..of })
            .collect();
        let params = vec![("target".to_string(), "60Gbps".to_string())];
        memory.control =
            controlled.map(|enabled| HostControl { law: "hostcc".into(), enabled, params, read });
        memory.level = (controlled != Some(true)).then_some(level);
        memory
    }
}

prop_compose! {
    /// An override that changes anything always says whether packets wait, lest it contradict the rest; one of memory stands
    /// alone, since it can add a control or an antagonist and take none away.
    fn hosts()(
        settings in settings(),
        everywhere in of(memory()),
        machine in any::<bool>(),
        overrides in prop::collection::vec((settings(), of(any::<bool>()), any::<[bool; 2]>(), of(memory())), 0..3),
    ) -> Host {
        let alone = everywhere.is_none();
        let overrides = overrides.into_iter().map(|(s, delayed_ack, [nic, gro], memory)| HostOverride {
            memory: memory.filter(|_| alone),
            place: String::new(),
            profile: None,
            change: HostChange {
                nic: Some(s.nic),
                gro: (gro || !s.gro).then_some(s.gro),
                sack_compression: gro.then_some(s.sack_compression),
                rx_usecs: Some(s.rx_usecs),
                rx_jitter: Some(s.rx_jitter),
                rx_frames: s.rx_frames,
                tx_jitter: nic.then_some(s.tx_jitter),
                tso: nic.then_some(s.tso),
                tx_queues: nic.then_some(s.tx_queues),
                gso_max: gro.then_some(s.gso_max),
                psh: nic.then_some(s.psh),
                pacing: Some(s.pacing),
            },
            delayed_ack,
        });
        let machines = if machine && !alone { vec![Machine { nics: Vec::new() }] } else { Vec::new() };
        Host { profile: None, settings, memory: everywhere, overrides: overrides.collect(), machines }
    }
}

/// Overrides are about a host that there is, and machines of hosts that there are.
fn at_hosts(mut hosts: Host, names: [&str; 2]) -> Host {
    hosts.overrides.iter_mut().for_each(|o| o.place = names[0].into());
    hosts.machines.iter_mut().for_each(|one| one.nics = names.map(String::from).to_vec());
    hosts
}

prop_compose! {
    fn scenario()(topology in topology())(
        name in name(),
        seeds in prop::collection::btree_set(0..=i64::MAX as u64, 1..5),
        links in (link(), link()),
        words in (0..3usize, any::<bool>(), 0..3usize, any::<bool>()),
        reroute_after in of(span()),
        switch in switch().boxed(),
        hierarchical in of(hierarchical()).boxed(),
        overrides in prop::collection::vec((any::<bool>(), of(rate()), of(span()), of(length()), share()), 0..3),
        transport in transport().boxed(),
        other in of((name(), transport())).boxed(),
        hosts in hosts().boxed(),
        traffic in prop::collection::vec((time(), of(span()), of(prop::sample::select(LAWS)), kind(places(&topology).0).boxed()), 1..4),
        faults in prop::collection::vec((time(), prop_oneof![
            Just(Change::Down), Just(Change::Up), rate().prop_map(Change::Rate), share().prop_map(Change::Loss)
        ]), 0..3),
        queues in of(span()),
        memory_every in of((100_000..1u64 << 40).prop_map(Span::from_ps)),
        capture in of((0..3usize, 66u64..65_537, time(), of(time()), of(1u64..1 << 40))),
        warmup in time(),
        topology in Just(topology),
    ) -> Scenario {
        let (names, cable, pattern) = places(&topology);
        let (hosts, host) = (at_hosts(hosts, names), names[0]);
        let modelled = hosts.memory_at(host).is_some();
        let streams = traffic.iter().any(|entry| {
            entry.3.keeps_connections()
        });
        let with_end = |mut transport: Transport| {
            if let TransportKind::Rdma(rdma) = &mut transport.kind
                && streams && rdma.recovery == Recovery::GoBackZero
            {
                rdma.recovery = Recovery::GoBackN;
            }
            transport
        };
        let (transport, other) = (with_end(transport), other.map(|(name, one)| (name, with_end(one))));
        let telemetry = transport.law == "hpcc" || other.iter().any(|o| o.1.law == "hpcc");
        let several_pods = topology.clos().is_some_and(|clos| clos.pods > 1);
        let hierarchical = hierarchical
            .filter(|_| switch.pause == Pause::Off && !telemetry)
            .filter(|h| h.queue_for != QueueFor::Pod || several_pods);
        let capture = capture.filter(|_| hierarchical.is_none());
        let shaper = links.1.rate; // of some cable
        let shaper = Shaper { place: cable.replacen('-', "->", 1), bucket: TokenBucket { rate: shaper, burst: Bytes::new(70_000) }, limit: None };
        let shapers: Vec<_> = [shaper].into_iter().filter(|_| words.3 && hierarchical.is_none()).collect();
        let credits = switch.credits.filter(|_| switch.pause == Pause::Off && hierarchical.is_none() && shapers.is_empty());
        Scenario {
            laws: forebay_laws::Laws::built_in(),
            name,
            seeds: seeds.into_iter().collect(),
            stop: Stop { time: Time::ZERO + Span::from_ms(40), flows: words.1, grain: Span::from_ns(7) },
            fabric: Fabric {
                topology,
                host_link: links.0,
                fabric_link: links.1,
                routing: [Routing::Ecmp, Routing::EcmpSymmetric, if words.3 { Routing::Spray } else { Routing::EcmpMurmur3 }][words.0],
                next_hops: (words.0 == 2 && !words.3).then_some(if words.1 { NextHops::Descending } else { NextHops::Ascending }),
                hash_seed: [None, Some(HashSeed::Same), Some(HashSeed::PerTier)][words.2],
                reroute_after,
                paths: Paths::default(),
                wire: WireSettings {
                    dead_port: if words.3 { DeadPort::Hold } else { DeadPort::Drop },
                    clock: if words.1 { Clock::TruncateNs } else { Clock::Exact },
                    overhead: Bytes::new(24),
                },
                switch: Switch { hierarchical, credits, ..switch.clone() },
                overrides: overrides.into_iter().map(|(whole, rate, delay, port_limit, loss)| Override {
                    place: if whole { pattern } else { cable }.into(), rate, delay, loss: Some(loss),
                    port_limit: port_limit.filter(|_| switch.pause == Pause::Off),
                    pause: [None, Some(Pause::Off), Some(switch.pause.clone())][words.0].clone(),
                }).collect(),
                shapers,
            },
            host: hosts,
            transport,
            transports: other.clone().into_iter().collect(),
            traffic: traffic.into_iter().map(|(start, lasts, law, kind)| Traffic {
                start,
                until: lasts.map_or(Time::MAX, |s| start + s),
                transport: other.iter().filter(|_| lasts.is_some()).map(|o| o.0.clone()).next(),
                law: law.map(String::from),
                class: lasts.map(|s| (s.as_ps() % 4) as u8),
                params: if law == Some("dctcp") { vec![("g".into(), "0.125".into())] } else { vec![] },
                kind,
            }).collect(),
            faults: faults.into_iter().map(|(at, change)| Fault::new(at, cable, change)).collect(),
            output: Output {
                steps: queues.is_some(),
                queues: queues.map(|every| QueueSamples { every, nodes: vec![host.into(), pattern.split('-').next().unwrap().into()] }),
                flows: queues.map(|every| FlowSamples { every, hosts: vec![host.into()], most: 3 }),
                memory: memory_every.filter(|_| modelled).map(|every| MemorySamples { every, hosts: vec![host.into()] }),
                law_log: queues.map(|every| LawLog { flows: vec![every.as_ps() as u32, 1], ..LawLog::default() }).filter(|log| log.flows[0] != 1),
                why: queues.map(|every| WhyOutput { flows: match every.as_ps() % 4 {
                    0 => WhyFlows::All,
                    1 => WhyFlows::Percent(every.as_ps() as f64 % 99.0 + 0.25),
                    2 => WhyFlows::Count(every.as_ps() as u32 % 1000 + 1),
                    _ => WhyFlows::Numbers(vec![every.as_ps() as u32, 1]),
                } }).filter(|why| why.flows != WhyFlows::Numbers(vec![1, 1])),
                format: if queues.is_some() { TableFormat::Parquet } else { TableFormat::Csv },
                warmup,
                captures: capture.into_iter().map(|(direction, snap, from, lasts, packets)| Capture {
                    place: host.into(),
                    direction: [Direction::In, Direction::Out, Direction::Both][direction],
                    snap: Bytes::new(snap),
                    from,
                    until: lasts.map_or(Time::MAX, |t| from + t.since(Time::ZERO) + Span::from_ps(1)),
                    packets,
                }).collect(),
            },
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_resolved_scenario_reads_back_equal(scenario in scenario()) {
        let file = resolved(&scenario);
        let back = text("resolved.toml", &file).map_err(|e| TestCaseError::fail(format!("{e}\n{file}")))?;
        prop_assert_eq!(&back.scenario, &scenario, "{}", file);
        prop_assert_eq!(resolved(&back.scenario), file);
    }
}
