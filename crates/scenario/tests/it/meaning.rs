//! What a file means: defaults, other names for a key, patterns, faults that end, sweeps.

use forebay_scenario::model::*;
use forebay_scenario::plan::{Plan, matches};
use forebay_scenario::{LoadedScenario, around, text, text_with};
use forebay_units::{BitsPerSec, Bytes, Span, Time};

/// As little as a scenario can say.
const LEAST: &str = r#"
version = 1
stop = { time = "1ms" }
[fabric]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
host_link = { rate = "100Gbps", delay = "1us" }
[transport]
kind = "tcp"
law = "dctcp"
[[traffic]]
kind = "permutation"
size = "1MB"
"#;

fn least(sets: &[(&str, &str)]) -> LoadedScenario {
    text_with("scenarios/least.toml", LEAST, sets).unwrap_or_else(|e| panic!("{e}"))
}

/// Wireshark shows a RoCEv2 packet whose payload is cut as malformed.
#[test]
fn captures_keep_headers_of_tcp_and_whole_frames_of_queue_pairs() {
    let snap = |more: &str| {
        let file = format!("{LEAST}{more}\n[[output.capture]]\nwhere = 'leaf[0]'\n");
        text("least.toml", &file).unwrap().scenario.output.captures[0].snap.get()
    };
    let rdma = "[fabric.switch]\nclasses = 2\n[transports.verbs]\nkind = 'rdma'\nlaw = 'dcqcn'\nmss = '1001B'\nclass = 1";
    assert_eq!(snap(""), 96);
    assert_eq!(snap(rdma), 14 + 20 + 8 + 12 + 1004 + 4);
}

#[test]
fn defaults_are_those_of_the_schema() {
    let s = least(&[]).scenario;
    assert_eq!((s.name.as_str(), &s.seeds[..]), ("least", &[1][..]));
    assert_eq!(
        s.stop,
        Stop { time: Time::from_ps(1_000_000_000), flows: true, grain: Span::from_us(1) }
    );
    assert_eq!(s.fabric.fabric_link, s.fabric.host_link);
    assert_eq!((s.fabric.routing, s.fabric.wire.dead_port), (Routing::Ecmp, DeadPort::Drop));
    assert_eq!((s.fabric.reroute_after, s.fabric.wire.overhead), (None, Bytes::ZERO));
    let size = Bytes::new(32_000_000);
    let (policy, alpha) = (Policy::DynamicThreshold, Some(1.0));
    assert_eq!(
        s.fabric.switch,
        Switch {
            latency: Span::ZERO,
            buffer: Buffer::Shared(SharedBuffer {
                size,
                policy,
                alpha,
                threshold: PoolThreshold::Port
            }),
            port_limit: None,
            limits: vec![],
            return_to_sender: false,
            ecn: s.fabric.switch.ecn.clone(),
            weights: vec![],
            credits: None,
            wrr: None,
            int_multi: None,
            classes: 1,
            ports: PortRules { release: Release::Fluid },
            hierarchical: None,
            pause: Pause::Off,
        }
    );
    let ecn = s.fabric.switch.ecn.of_port().unwrap();
    let k = QueueLength::Bytes(Bytes::new(30_000));
    assert_eq!((ecn.kmin, ecn.kmax, ecn.pmax), (k, k, 1.0));
    assert_eq!(ecn.for_rate, Some(BitsPerSec::from_gbps(10)));
    assert_eq!((ecn.at, ecn.not_ect), (MarkAt::Enqueue, NotEct::Pass));
    assert_eq!(
        s.transport,
        Transport {
            law: "dctcp".into(),
            params: vec![],
            mss: Bytes::new(1448),
            header: Bytes::new(52),
            ack_size: Bytes::new(64),
            mtu: None,
            class: 0,
            ack_class: 0,
            routing: None,
            kind: TransportKind::Tcp(TcpSettings {
                kernel: None,
                initial_window: QueueLength::Packets(10),
                rto_min: Span::from_ms(200),
                delayed_ack: false,
                delayed_ack_timeout: Span::from_ms(40),
                adaptive_delayed_ack: false,
                timer_tick: Span::ZERO,
                quick_acks: 16,
                receive_window: None,
                receive_window_max: None,
                slow_start_after_idle: true,
                gentle_growth: true,
                sack: true,
                rack: true,
                tail_loss_probe: true,
                prr: true,
                frto: true,
            }),
        }
    );
    assert_eq!(
        s.host,
        Host {
            profile: None,
            memory: None,
            settings: HostSettings {
                nic: NicOrder::RoundRobin,
                gro: false,
                sack_compression: false,
                rx_usecs: Span::ZERO,
                rx_jitter: Span::ZERO,
                rx_frames: None,
                tx_jitter: Span::ZERO,
                tso: false,
                tx_queues: TxQueues::PerFlow,
                gso_max: Bytes::new(65_536),
                psh: false,
                pacing: Pacing::Off,
            },
            machines: Vec::new(),
            overrides: vec![],
        }
    );
    assert_eq!(
        s.output,
        Output {
            steps: false,
            queues: None,
            memory: None,
            flows: None,
            law_log: None,
            why: None,
            format: TableFormat::Csv,
            warmup: Time::ZERO,
            captures: vec![]
        }
    );
}

#[test]
fn a_kernel_sets_transport_laws_and_hosts_and_a_key_beside_it_wins() {
    let traffic = r#"[
        { kind = "permutation", size = "9KB" },
        { kind = "permutation", size = "9KB", law = "cubic" },
        { kind = "permutation", size = "9KB", law = "bic", params = { hz = 1000 } },
        { kind = "permutation", size = "9KB", law = "reno" },
    ]"#;
    let of = |keys: &str, more: &[(&str, &str)]| {
        let transport = format!("{{ kind = \"tcp\", law = \"dctcp\"{keys} }}");
        let sets = [&[("transport", &*transport), ("traffic", traffic)], more].concat();
        least(&sets).scenario
    };
    let params = |s: &Scenario, i: usize| {
        let all = s.traffic[i].params.iter().map(|(key, text)| format!("{key}={text}"));
        all.collect::<Vec<_>>().join(" ")
    };
    let s = of(", kernel = \"linux-6.1\"", &[]);
    let tcp = *s.transport.tcp().unwrap();
    assert!(tcp.delayed_ack && tcp.adaptive_delayed_ack);
    assert_eq!((tcp.timer_tick, tcp.quick_acks), (Span::from_ms(4), 1_070));
    let dctcp = [("alpha", "linux"), ("cut", "packets"), ("prr_on_ce", "true")];
    assert_eq!(s.transport.params, dctcp.map(|(key, text)| (key.into(), text.into())));
    assert_eq!([0, 1, 2, 3].map(|i| params(&s, i)), ["", "hz=250", "hz=1000", ""]);
    let host = s.host.settings;
    assert!(host.tso && host.gro && host.psh && host.sack_compression);

    let s = of(
        ", kernel = \"linux-6.1\", timer_tick = \"10ms\", delayed_ack = false, params = { cut = \"bytes\" }, quick_acks = 3",
        &[("host.profile", "\"ideal\"")],
    );
    let tcp = *s.transport.tcp().unwrap();
    assert!(!tcp.delayed_ack && tcp.adaptive_delayed_ack);
    assert_eq!((tcp.timer_tick, tcp.quick_acks), (Span::from_ms(10), 3));
    assert!(s.transport.params.contains(&("cut".into(), "bytes".into())));
    assert_eq!(params(&s, 1), "hz=100");
    assert!(!s.host.settings.tso);

    let s = of(", kernel = \"linux-6.1\"", &[("host.gro", "false"), ("host.rx_usecs", "\"0us\"")]);
    assert!(s.host.settings.tso && !s.host.settings.gro);
    // The resolved file has every key and needs no kernel.
    let file = forebay_scenario::resolved(&s);
    assert!(!file.contains("kernel") && file.contains("timer_tick = \"4ms\""), "{file}");
    assert_eq!(of("", &[]).host.settings, HostSettings::IDEAL);
}

/// Values first, then tables. The kind of a traffic entry leads, and in a transport the keys of its kind follow those of all.
#[test]
fn keys_of_the_resolved_file_have_the_order_of_their_types() {
    let file = forebay_scenario::resolved(&least(&[]).scenario);
    let keys = |heading: &str| -> Vec<String> {
        let table = file.split_once(&format!("\n{heading}\n")).expect(heading).1;
        let lines = table.lines().take_while(|line| !line.is_empty());
        lines.map(|line| line.split(" = ").next().unwrap().to_string()).collect()
    };
    let transport = keys("[transport]");
    let order =
        ["law", "mss", "header", "ack_size", "class", "ack_class", "kind", "initial_window"];
    assert_eq!(transport[..order.len()], order);
    assert_eq!(transport.last().unwrap(), "frto");
    assert_eq!(keys("[[traffic]]")[0], "kind");
    let fabric = keys("[fabric]");
    let at = |key: &str| fabric.iter().position(|one| one == key).expect(key);
    assert!(at("kind") == 0 && at("clock") < at("host_link"), "{fabric:?}");
}

/// Linux `tcp_incr_quickack`: half the segments of the window, 2 to 16. Segments are 1448 B.
#[test]
fn a_small_window_has_fewer_quick_acks() {
    let quick = |keys: &str| {
        least(&[("transport", &format!("{{ kind = \"tcp\", law = \"dctcp\"{keys} }}"))])
            .scenario
            .transport
            .tcp()
            .map_or(0, |tcp| tcp.quick_acks)
    };
    assert_eq!(quick(""), 16);
    assert_eq!(quick(", receive_window = \"64KiB\""), 16);
    assert_eq!(quick(", receive_window = \"30KB\""), 10);
    assert_eq!(quick(", receive_window = \"2KB\""), 2);
    assert_eq!(quick(", receive_window = \"30KB\", quick_acks = 0"), 0);
}

#[test]
fn the_default_step_follows_each_port_but_not_below_the_dctcp_paper() {
    let ecn = least(&[]).scenario.fabric.switch.ecn.of_port().unwrap();
    let k = |gbps| ecn.thresholds(BitsPerSec::from_gbps(gbps)).0;
    assert_eq!(k(400), QueueLength::Bytes(Bytes::new(1_200_000)));
    assert_eq!(k(100), QueueLength::Bytes(Bytes::new(300_000)));
    assert_eq!(k(10), QueueLength::Bytes(Bytes::new(30_000)));
    assert_eq!(k(1), QueueLength::Bytes(Bytes::new(30_000)));
    let fixed = least(&[("fabric.switch", "{ ecn = { k = \"65 packets\" } }")])
        .scenario
        .fabric
        .switch
        .ecn
        .of_port()
        .unwrap();
    assert_eq!(fixed.thresholds(BitsPerSec::from_gbps(400)).0, QueueLength::Packets(65));
}

#[test]
fn buffers() {
    let switch = |buffer: &str| least(&[("fabric.switch", buffer)]).scenario.fabric.switch;
    assert_eq!(switch("{ buffer = \"none\" }").shared_buffer(), None);
    assert_eq!(switch("{ port_limit = \"250 packets\" }").shared_buffer(), None);
    let shared = switch("{ buffer = { size = \"1MB\", policy = \"shared\" } }").shared_buffer();
    let (size, policy) = (Bytes::new(1_000_000), Policy::Shared);
    assert_eq!(
        shared,
        Some(SharedBuffer { size, policy, alpha: None, threshold: PoolThreshold::Port })
    );
    let fixed = switch("{ buffer = { size = \"1MB\", policy = \"static\" } }");
    assert_eq!(fixed.shared_buffer(), None);
    assert_eq!(
        fixed.port_limit,
        Some(QueueLength::Bytes(Bytes::new(250_000))),
        "four ports at a leaf"
    );
}

#[test]
fn other_names_of_the_fabric_link() {
    let slow = "{ rate = \"10Gbps\", delay = \"2us\" }";
    let link = Link { rate: BitsPerSec::from_gbps(10), delay: Span::from_us(2) };
    assert_eq!(least(&[("fabric.spine_link", slow)]).scenario.fabric.fabric_link, link);
    assert_eq!(least(&[("fabric.fabric_link", slow)]).scenario.fabric.fabric_link, link);
    let twice =
        text_with("a.toml", LEAST, &[("fabric.spine_link", slow), ("fabric.fabric_link", slow)]);
    assert!(twice.unwrap_err().to_string().contains("say the same thing twice"));
}

#[test]
fn windows_and_packets() {
    let t = least(&[("transport.mtu", "1000B"), ("transport.header", "40B")]).scenario.transport;
    assert_eq!(
        (t.mss, t.tcp().unwrap().initial_window),
        (Bytes::new(960), QueueLength::Packets(10))
    );
    let t = least(&[("transport.initial_window", "64KB")]).scenario.transport;
    assert_eq!(t.tcp().unwrap().initial_window, QueueLength::Bytes(Bytes::new(64_000)));
    let t = least(&[("transport.params.g", "1/8")]).scenario.transport;
    assert_eq!(t.params, [("g".to_string(), "1/8".to_string())]);
}

#[test]
fn a_fault_with_an_end_is_two_faults() {
    let faults = r#"[
        { at = "100us", link = "spine[1]-leaf[0]", for = "50us" },
        { at = "200us", link = "leaf[0]-spine[1]", rate = "1Gbps", for = "50us" },
        { at = "300us", link = "leaf[0]-spine[1]", loss = 0.5, for = "50us" },
        { at = "400us", link = "spine[1] -> leaf[0]", loss = 0.5, for = "50us" },
        { at = "500us", link = "leaf[0]->spine[1]", drop = [3, 1], flow = 0 },
    ]"#;
    let sets = [
        ("fault", faults),
        ("fabric.override", "[{ where = \"leaf[*]-spine[*]\", rate = \"40Gbps\", loss = 0.1 }]"),
    ];
    let s = least(&sets).scenario;
    let expected = [
        (100, Change::Down),
        (150, Change::Up),
        (200, Change::Rate(BitsPerSec::from_gbps(1))),
        (250, Change::Rate(BitsPerSec::from_gbps(40))),
        (300, Change::Loss(0.5)),
        (350, Change::Loss(0.1)),
    ];
    let at = |us| Time::ZERO + Span::from_us(us);
    let of_cable = expected.map(|(us, change)| Fault::new(at(us), "leaf[0]-spine[1]", change));
    let numbers = Change::Drop { flow: Some(0), packets: vec![3, 1] };
    let of_direction = [
        Fault::new(at(400), "spine[1]->leaf[0]", Change::Loss(0.5)),
        Fault::new(at(450), "spine[1]->leaf[0]", Change::Loss(0.1)),
        Fault::new(at(500), "leaf[0]->spine[1]", numbers),
    ];
    let expected: Vec<Fault> = of_cable.into_iter().chain(of_direction).collect();
    assert_eq!(s.faults, expected);
}

#[test]
fn a_star_stands_for_an_index() {
    assert!(matches("leaf[*].host[3]", "leaf[12].host[3]"));
    assert!(matches("*", "7") && matches("h*", "h12"));
    assert!(!matches("leaf[*]", "leaf[1].host[0]"));
    assert!(!matches("leaf[*]", "leaf[]"));
    assert!(!matches("*", "a"));
}

#[test]
fn plans_have_the_cables_of_their_shape() {
    let plan = |shape: &str| {
        let base = LEAST
            .replace("kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2", shape);
        Plan::of(&text("a.toml", &base).unwrap_or_else(|e| panic!("{e}")).scenario.fabric)
    };
    for (shape, hosts, nodes, cables) in [
        ("kind = \"star\"\nhosts = 5", 5, 6, 5),
        ("kind = \"dumbbell\"\nleft = 2\nright = 3", 5, 7, 6),
        ("kind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 4", 12, 17, 18),
        ("kind = \"fat-tree\"\ntiers = 2\nk = 4", 8, 14, 16),
        ("kind = \"fat-tree\"\nk = 4", 16, 36, 48),
    ] {
        let plan = plan(shape);
        assert_eq!(
            (plan.hosts, plan.names.len(), plan.cables.len()),
            (hosts, nodes, cables),
            "{shape}"
        );
        for i in 0..plan.names.len() as u32 {
            let ports = plan.cables.iter().filter(|c| c.a == i || c.b == i).count();
            let expected = match shape {
                _ if (i as usize) < hosts => 1..=1,
                s if s.contains("fat-tree") => 4..=4,
                _ => 2..=6,
            };
            assert!(
                expected.contains(&ports),
                "{shape}: {} has {ports} ports",
                plan.names[i as usize]
            );
        }
        let mut names = plan.names.clone();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), nodes, "names are unique");
    }
}

#[test]
fn a_graph_does_not_depend_on_the_order_of_its_lines() {
    let graph = |hosts: &str, cables: &str| {
        let file = LEAST.replace(
            "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2",
            &format!("kind = \"graph\"\nswitches = [\"s\"]\nhosts = {hosts}\ncables = {cables}"),
        );
        Plan::of(&text("a.toml", &file).unwrap_or_else(|e| panic!("{e}")).scenario.fabric)
    };
    assert_eq!(
        graph("[\"a\", \"b\"]", "[{ a = \"a\", b = \"s\" }, { a = \"b\", b = \"s\" }]"),
        graph("[\"b\", \"a\"]", "[{ a = \"s\", b = \"b\" }, { a = \"s\", b = \"a\" }]"),
    );
}

#[test]
fn a_sweep_is_every_combination() {
    let file = format!(
        "{LEAST}[sweep]\n\"transport.law\" = [\"reno\", \"dctcp\"]\n\"traffic[0].size\" = [\"1KB\", \"2KB\"]\n"
    );
    let points = text("a.toml", &file).unwrap().points();
    let show: Vec<String> = points
        .iter()
        .map(|p| p.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        show,
        [
            "traffic[0].size=\"1KB\" transport.law=\"reno\"",
            "traffic[0].size=\"1KB\" transport.law=\"dctcp\"",
            "traffic[0].size=\"2KB\" transport.law=\"reno\"",
            "traffic[0].size=\"2KB\" transport.law=\"dctcp\"",
        ]
    );
    let one = text_with("a.toml", &file, &points[2]).unwrap().scenario;
    assert_eq!(one.transport.law, "reno");
    assert_eq!(
        one.traffic[0].kind,
        TrafficKind::Permutation(Permutation { size: Bytes::new(2_000) })
    );
    assert_eq!(least(&[]).points(), [vec![]]);
}

/// A table that the user sets does not undo the swept keys in it; one key that the user sets changes a swept table.
#[test]
fn settings_of_the_user_and_of_a_point_apply_from_the_outer_to_the_inner() {
    let file = format!("{LEAST}[sweep]\n\"fabric.switch.ecn.kmin\" = [\"20KB\", \"40KB\"]\n");
    let table = ["fabric.switch.ecn", "{ kmin = \"10KB\", kmax = \"80KB\" }"];
    let set = |[key, value]: [&str; 2]| (key.to_string(), value.to_string());
    let sets = [set(["transport.rto_min", "2ms"]), set(table), set(["stop.time", "1ms"])];
    let points = text_with("a.toml", &file, &sets).unwrap().points();
    let kmin = |point: &[(String, String)]| {
        let loaded = text_with("a.toml", &file, &around(&sets, point)).unwrap();
        let text = forebay_scenario::resolved(&loaded.scenario);
        text.split_once("kmin = ").unwrap().1[..6].to_string()
    };
    assert_eq!([kmin(&points[0]), kmin(&points[1])], ["\"20KB\"", "\"40KB\""]);
    let keys = |sets: &[[&str; 2]], point: [&str; 2]| {
        let sets: Vec<_> = sets.iter().copied().map(set).collect();
        around(&sets, &[set(point)]).into_iter().map(|(key, _)| key).collect::<Vec<_>>()
    };
    // A key of a swept table, and a key whose name only begins like another one, come last.
    assert_eq!(keys(&[["a.b.c", "1"]], ["a.b", "{}"]), ["a.b", "a.b.c"]);
    assert_eq!(keys(&[["a.b", "1"]], ["a.bc", "1"]), ["a.bc", "a.b"]);
    assert_eq!(
        keys(&[["a[0].x", "1"], ["a", "[]"], ["z", "1"]], ["a[0].y", "1"]),
        ["a[0].x", "a", "a[0].y", "z"]
    );
}

#[test]
fn a_label_is_of_the_sweep_and_no_part_of_the_scenario() {
    let value = "{ label = \"shallow\", kmin = \"20KB\", kmax = \"40KB\" }";
    let file = format!("{LEAST}[sweep]\n\"fabric.switch.ecn\" = [\"off\", {value}]\n");
    let points = text("a.toml", &file).unwrap().points();
    assert!(points[1][0].1.contains("\"label\" = \"shallow\""), "{points:?}");
    let labelled = text_with("a.toml", &file, &points[1]).unwrap().scenario;
    let bare = least(&[("fabric.switch.ecn", "{ kmin = \"20KB\", kmax = \"40KB\" }")]).scenario;
    assert_eq!(labelled.fabric, bare.fabric);
    // Nor is it a key of a table that only the sweep gives.
    let link = "{ rate = \"100Gbps\", delay = \"1us\" }";
    let file = LEAST.replace(&format!("host_link = {link}\n"), "");
    let sweep = link.replace("{ ", "{ label = \"fast\", ");
    let file = format!("{file}[sweep]\n\"fabric.host_link\" = [{sweep}]\n");
    assert_eq!(text("least.toml", &file).unwrap().scenario.fabric, least(&[]).scenario.fabric);
}

/// In racks that queue by destination, and among the parameters of a law.
#[test]
fn former_names_of_requests_are_understood_and_said() {
    let with = |[requests, timeout, interval]: [&str; 3]| {
        let racks =
            format!("[fabric.switch.hierarchical]\nlaw = \"hiercc\"\n{requests} = \"sent\"\n");
        let law =
            format!("kind = \"rdma\"\nlaw = \"explicit\"\nparams = {{ {interval} = \"5us\" }}\n");
        let file = LEAST
            .replace("kind = \"tcp\"\nlaw = \"dctcp\"\n", &law)
            .replace("[transport]", &format!("{racks}[transport]"));
        let set = (format!("fabric.switch.hierarchical.{timeout}"), "200us".to_owned());
        text_with("least.toml", &file, &[(&set.0, &set.1)]).unwrap_or_else(|e| panic!("{e}"))
    };
    let old = with(["asks", "ask_again", "ask_every"]);
    let new = with(["requests", "request_timeout", "request_interval"]);
    assert_eq!(old.scenario, new.scenario);
    assert_eq!(new.notes, Vec::<String>::new());
    let said: Vec<&str> = old.notes.iter().filter_map(|note| note.split(": ").nth(1)).collect();
    let now = |old: &str, new: &str| {
        format!("\"{old}\" is now called \"{new}\"; the next release knows the new name alone")
    };
    for (old, new) in
        [("asks", "requests"), ("ask_again", "request_timeout"), ("ask_every", "request_interval")]
    {
        assert!(said.contains(&now(old, new).as_str()), "{said:?}");
    }
}

/// In the transport, in transports with names, in settings and in sweeps.
#[test]
fn former_names_of_keys_of_transports_are_understood_and_said() {
    let with = |[priorities, retries, restart, low]: [&str; 4]| {
        let named = format!(
            "[transports.homa]\nkind = \"receiver-driven\"\nlaw = \"homa\"\nrouting = \"spray\"\n{priorities} = 1\n\
             [transports.irn]\nkind = \"rdma\"\nlaw = \"dcqcn\"\n{low} = \"90us\"\n[transport]\n{restart} = false\n"
        );
        let sweep = format!("[sweep]\n\"transport.{restart}\" = [true, false]\n");
        let file = LEAST.replace("[transport]\n", &named) + &sweep;
        let set = (format!("transports.homa.{retries}"), "3".to_owned());
        let loaded = text_with("least.toml", &file, &[(&set.0, &set.1)]);
        let loaded = loaded.unwrap_or_else(|e| panic!("{e}"));
        let point = text_with("least.toml", &file, &loaded.points()[1]);
        (loaded, point.unwrap_or_else(|e| panic!("{e}")).scenario)
    };
    let old = ["levels", "tries", "idle_restart", "timeout_few"];
    let new = ["priorities", "max_retries", "slow_start_after_idle", "rto_low"];
    let (former, present) = (with(old), with(new));
    assert_eq!((&former.0.scenario, &former.1), (&present.0.scenario, &present.1));
    assert!(!present.1.transport.tcp().unwrap().slow_start_after_idle);
    assert_eq!(present.0.notes, Vec::<String>::new());
    for (old, new) in old.iter().zip(new) {
        let said =
            format!("\"{old}\" is now called \"{new}\"; the next release knows the new name alone");
        assert!(former.0.notes.iter().any(|note| note.ends_with(&said)), "{:?}", former.0.notes);
    }
}

#[test]
fn a_former_name_of_a_key_is_understood_and_said() {
    let with = |key: &str| {
        let file = LEAST.replace(
            "[transport]",
            &format!("[host]\nmemory = {{ {key} = [{{ cores = 2 }}] }}\n[transport]"),
        );
        text_with(
            "scenarios/least.toml",
            &file,
            &[(&format!("host.memory.{key}[0].cores"), &"3".to_owned())],
        )
        .unwrap_or_else(|e| panic!("{e}"))
    };
    let (old, new) = (with("neighbour"), with("antagonist"));
    assert_eq!(old.scenario, new.scenario);
    assert_eq!(new.notes, Vec::<String>::new());
    assert_eq!(
        old.notes,
        [
            "scenarios/least.toml:11:12: \"neighbour\" is now called \"antagonist\"; the next release knows the new name alone"
        ]
    );
}

/// Memory controllers go before caches, rises are held against the time between rounds, and behind the end the cores rest.
#[test]
fn a_recorded_trace_is_read_as_steps() {
    use forebay_host::memory::settings::Trace;
    let recording = |events: &[(u64, &str, u64)]| {
        let mut text = "seq,now_ps,event,at_ps,raw,acts\n0,0,version,0,1,\n".to_string();
        for (nth, (ms, event, raw)) in events.iter().enumerate() {
            let now = ms * 1_000_000_000;
            text += &format!("{},{now},{event},{now},{raw},\n", nth + 1);
        }
        text
    };
    let of = |text: String| {
        let scenario = "version = 1\nstop = { time = \"1ms\" }\n[fabric]\nkind = \"star\"\nhosts = 2\n\
                        host_link = { rate = \"100Gbps\", delay = \"1us\" }\n\
                        [[host.memory.antagonist]]\ncores = 2\ntrace = \"trace/\"\n\
                        [transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\n\
                        [[traffic]]\nkind = \"long\"\nfrom = \"host[0]\"\nto = \"host[1]\"\n";
        let read = |file: &str| {
            assert_eq!(file, "trace/signals.csv");
            Ok(text.clone().into_bytes())
        };
        let loaded = forebay_scenario::text_from::<&str>("t.toml", scenario, &[], &read);
        let trace = |loaded: forebay_scenario::LoadedScenario| {
            loaded
                .scenario
                .host
                .memory
                .and_then(|memory| memory.settings.antagonists[0].trace.clone())
        };
        loaded.map(trace).map_err(|error| error.to_string())
    };
    let (reads, writes, cache) =
        ("uncore_imc_0.cpu0.reads", "uncore_imc_0.cpu0.writes", "mbm.L3-0.total_bytes");
    let units = |megabytes: u64| megabytes * 1_000_000 / 64;
    let rows = [
        (5, reads, units(640)),
        (5, writes, 7),
        (5, cache, 0),
        (6, reads, units(648)),
        (6, writes, 7 + units(8)),
        (6, cache, 99),
        (8, reads, units(648)),
        (8, writes, 7 + units(8)),
    ];
    let steps = vec![(0.0, 16.0), (1000.0, 0.0), (3000.0, 0.0)];
    assert_eq!(of(recording(&rows)), Ok(Some(Trace::Steps(steps))));
    let rows = [(1, cache, 0), (2, cache, 4_000_000), (3, cache, 8_000_000)];
    let steps = vec![(0.0, 4.0), (2000.0, 0.0)];
    assert_eq!(of(recording(&rows)), Ok(Some(Trace::Steps(steps))));
    for (text, said) in [
        ("seq\n".to_string(), "is not a recording"),
        (recording(&[(1, "softnet.dropped", 1)]), "has no memory bandwidth"),
        (recording(&[(1, cache, 1)]), "has one round only"),
        (recording(&rows).replace(",0,1,", ",0,2,"), "a recording of version 2"),
        (recording(&rows).replace("4000000,", "x,"), "makes no sense in line 4"),
    ] {
        let error = of(text).expect_err(said);
        assert!(error.contains("trace/signals.csv") && error.contains(said), "{error}");
    }
}
