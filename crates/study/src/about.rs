//! What a run directory says about a scenario: titles, traffic in words, the settings of the report.

use crate::hash::content_name;
use forebay_laws::params::LawInfo;
use forebay_record::columnar::Format;
use forebay_record::{FaultSpan, RunStart};
use forebay_scenario::model::{
    BaseRtt, Change, ClassLimit, Clock, CreditClass, Fabric, HashSeed, InflightCap, MarkAt,
    NextHops, PoolThreshold, QueueLength, RdmaSettings, Recovery, Release, Routing, Scenario,
    Switch, TableFormat, Traffic, TransportKind,
};
use forebay_scenario::{Expect, resolved_with};
use forebay_units::{Bytes, Time, human};

/// Version of the program, as results carry it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The facts that every file of a run directory shares.
pub fn about(scenario: &Scenario, expect: &[Expect]) -> RunStart {
    about_under(scenario, expect, &[])
}

/// The facts of a run whose flows are under these laws in Python.
pub fn about_under(scenario: &Scenario, expect: &[Expect], in_python: &[InPython]) -> RunStart {
    let mut about = RunStart {
        scenario: scenario.name.clone(),
        version: VERSION.into(),
        laws: laws(scenario),
        seeds: scenario.seeds.clone(),
        warmup: scenario.output.warmup,
        traffic: scenario.traffic.iter().map(|entry| source(scenario, entry)).collect(),
        resolved_toml: head(scenario, in_python) + &resolved_with(scenario, expect),
        settings: settings(scenario),
        faults: faults(scenario),
        comparison: comparison(scenario),
        columnar: match scenario.output.format {
            TableFormat::Csv => None,
            TableFormat::Parquet => Some(Format::Parquet),
            TableFormat::Arrow => Some(Format::Arrow),
        },
        release: match scenario.fabric.switch.ports.release {
            Release::Fluid => "byte by byte as a packet is sent (fluid)".into(),
            Release::Start => "at the start of its transmission (start)".into(),
        },
        ..RunStart::default()
    };
    put_in_python(&mut about, in_python);
    about
}

/// Laws in use, the scenario's own first. It counts as used unless all traffic names another transport.
pub fn laws(scenario: &Scenario) -> Vec<String> {
    let own = scenario.traffic.iter().any(|entry| entry.transport.is_none());
    let mut laws: Vec<String> = own.then(|| scenario.transport.law.clone()).into_iter().collect();
    for law in scenario.traffic.iter().map(|entry| scenario.law_of(entry)) {
        if !laws.contains(law) {
            laws.push(law.clone());
        }
    }
    laws
}

/// A law in Python, which flows have in place of a registered one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InPython {
    /// The registered one.
    pub like: String,
    /// Name of the law in Python.
    pub name: String,
    /// Hash of its source, where runs are told apart by that.
    pub source: Option<String>,
}

impl InPython {
    /// Lines that a resolved scenario begins with.
    fn head(&self) -> String {
        let Self { like, name, source } = self;
        let hash = |hash| format!("# Hash of its source: {hash}.\n");
        let hash = source.as_ref().map_or(String::new(), hash);
        format!(
            "# Flows under {like} ran under {name}, a law in Python, which this file does not have.\n{hash}"
        )
    }
}

/// Lines before the resolved text of a scenario some of whose flows are under one of these laws; none without such flows.
pub fn head(scenario: &Scenario, in_python: &[InPython]) -> String {
    let there = laws(scenario);
    let in_python = in_python.iter().filter(|law| there.contains(&law.like)).map(InPython::head);
    in_python.chain(outside(scenario)).collect()
}

/// Lines about the laws from outside that a scenario names. The hash tells versions of a law apart.
fn outside(scenario: &Scenario) -> Vec<String> {
    let mut laws = scenario.laws.outside().map(|(_, law)| law).peekable();
    if laws.peek().is_none() {
        return Vec::new();
    }
    let text = resolved_with(scenario, &[]);
    let named = laws.filter(|law| text.contains(&format!("law = {:?}", law.name())));
    let line = |law: &LawInfo| {
        if let Some((name, hash)) = objects(scenario).find(|(name, _)| *name == law.name()) {
            return format!("# Law {name:?} is an object file. {hash}.\n");
        }
        let (name, hash) = (law.name(), content_name(&[law.text()]));
        format!(
            "# Law {name:?} comes from another program than forebay. Hash of its text: {hash}.\n"
        )
    };
    named.map(line).collect()
}

/// Whether flows of a run were under a law in Python, which its directory does not have.
pub fn is_under_python(about: &RunStart) -> bool {
    about.laws.iter().any(|law| law.contains(IN_PLACE))
}

/// What stands between the name of a law in Python and that of the registered one.
const IN_PLACE: &str = " (Python, in place of ";

/// Says of a run that its flows were under those of these laws that stand for one of its own.
fn put_in_python(about: &mut RunStart, in_python: &[InPython]) {
    let mut again = Vec::new();
    for law in in_python {
        let Some(own) = about.laws.iter_mut().find(|own| **own == law.like) else { continue };
        let InPython { like, name, .. } = law;
        *own = format!("{name}{IN_PLACE}{like})");
        again.push(format!("\"{like}\": {name}"));
    }
    if !again.is_empty() {
        let again = again.join(", ");
        about.rerun = Some(format!("fb.load(\"resolved.toml\").run(laws={{{again}}})"));
    }
}

/// One line for an entry of traffic: what, and over which transport where that has a name.
pub fn source(scenario: &Scenario, entry: &Traffic) -> String {
    let what = entry.kind.title();
    match &entry.transport {
        None => what,
        Some(name) => {
            let kind = scenario.transport_of(entry).kind();
            format!("{name}: {what}, {kind}/{}", scenario.law_of(entry))
        }
    }
}

/// Shape of the fabric in words: `leaf-spine, 8 leaves x 16 hosts, 4 spines`.
pub fn shape(fabric: &Fabric) -> String {
    fabric.topology.title()
}

fn length(length: QueueLength) -> String {
    match length {
        QueueLength::Bytes(bytes) => bytes.to_string(),
        QueueLength::Packets(packets) => format!("{packets} packets"),
    }
}

fn settings(scenario: &Scenario) -> Vec<(String, String)> {
    let (fabric, switch, transport) =
        (&scenario.fabric, &scenario.fabric.switch, &scenario.transport);
    let link = |l: forebay_scenario::model::Link| format!("{}, {}", l.rate, l.delay);
    let buffer = match switch.shared_buffer() {
        None => "none".into(),
        Some(pool) => match pool.alpha {
            Some(alpha) => {
                let of = match pool.threshold {
                    PoolThreshold::Port => "",
                    PoolThreshold::Queue => " for each class",
                };
                format!("{}, dynamic threshold{of}, alpha {alpha}", pool.size)
            }
            None => format!("{}, shared", pool.size),
        },
    };
    let ecn = switch.ecn.of_port().map_or("off".into(), |ecn| {
        let at = match ecn.at {
            MarkAt::Enqueue => "enqueue",
            MarkAt::Dequeue => "dequeue",
        };
        let for_rate = ecn
            .for_rate
            .map_or(String::new(), |rate| format!(" for each {rate} of a port, at least that"));
        if ecn.kmin == ecn.kmax {
            format!("step at {}{for_rate}, at {at}", length(ecn.kmin))
        } else {
            let (kmin, kmax) = (length(ecn.kmin), length(ecn.kmax));
            format!("{kmin} to {kmax}{for_rate}, pmax {}, at {at}", ecn.pmax)
        }
    });
    let stop = if scenario.stop.flows {
        format!("{}, or all flows done", time(scenario.stop.time))
    } else {
        time(scenario.stop.time)
    };
    let mut all = vec![
        ("fabric", shape(fabric)),
        ("host links", link(fabric.host_link)),
        ("fabric links", link(fabric.fabric_link)),
        ("routing", fabric.routing.name().into()),
        ("buffer", buffer),
        ("port limit", switch.port_limit.map_or("none".into(), length)),
        ("limits of classes", limits(switch)),
        ("credits", credits(switch)),
        ("ecn", ecn),
        ("transport", format!("{}/{}", transport.kind(), transport.law)),
        ("mss", transport.mss.to_string()),
        ("header", transport.header.to_string()),
    ];
    match &transport.kind {
        TransportKind::Tcp(tcp) => all.extend([
            ("initial window", tcp.initial_window.payload(transport.mss).to_string()),
            ("rto_min", tcp.rto_min.to_string()),
        ]),
        TransportKind::Rdma(rdma) => all.extend(queue_pairs(rdma)),
        // Each packet has a credit: there is no window, and senders repeat what they request.
        TransportKind::ReceiverDriven(keys)
            if transport.credit_law(&scenario.laws).is_some() && !keys.selective_drop => {}
        TransportKind::ReceiverDriven(keys) => all.extend([
            ("window", keys.window.map_or("a round trip".into(), length)),
            ("resend after", keys.resend_after.to_string()),
            (
                "max retries",
                if keys.max_retries == 0 {
                    "for ever".into()
                } else {
                    keys.max_retries.to_string()
                },
            ),
        ]),
    }
    all.extend(transport.routing.map(|own| ("routing of these flows", own.name().into())));
    all.push(("stop", stop));
    all.extend(transport.params.iter().map(|(key, value)| (key.as_str(), value.clone())));
    let own = all.into_iter().map(|(key, value)| (key.into(), value));
    let named = scenario.transports.iter().map(|(name, one)| {
        let own = one.routing.map_or(String::new(), |own| format!(", routing {}", own.name()));
        let what = format!("{}/{}, class {}, mss {}{own}", one.kind(), one.law, one.class, one.mss);
        (format!("transports.{name}"), what)
    });
    let objects = objects(scenario).map(|(law, hash)| (object_of(law), hash));
    own.chain(named).chain(objects).collect()
}

/// Key of the setting that has the hash of a law's object.
fn object_of(law: &str) -> String {
    format!("object of {law}")
}

/// Laws from object files, and the hashes of the files.
fn objects(scenario: &Scenario) -> impl Iterator<Item = (&str, String)> {
    scenario
        .laws
        .outside()
        .filter_map(|(_, law)| Some((law.name(), format!("SHA-256 {}", law.object()?))))
}

/// A sentence about the first law of a recorded run whose object file is another one now, as the scenario was read again.
pub fn changed_object(about: &RunStart, scenario: &Scenario) -> Option<String> {
    let recorded = |law: &str| {
        let key = object_of(law);
        about.settings.iter().find(|(of, _)| *of == key).map(|(_, hash)| hash)
    };
    objects(scenario).find_map(|(law, hash)| {
        let then = recorded(law).filter(|then| **then != hash)?;
        Some(format!(
            "{law:?} is not the object of the run: {then} then, {hash} now; put the object of the run back"
        ))
    })
}

fn credits(switch: &Switch) -> String {
    let class = switch.credits.map(|of| {
        let CreditClass { class, share, burst, limit } = of;
        format!("class {class}, {share} of a link, burst {burst}, at most {limit}")
    });
    class.unwrap_or_else(|| "none".into())
}

fn limits(switch: &Switch) -> String {
    let one = |limit: &ClassLimit| format!("{} of class {}", length(limit.size), limit.class);
    let all: Vec<String> = switch.limits.iter().map(one).collect();
    if all.is_empty() { "none".into() } else { all.join(", ") }
}

fn queue_pairs(rdma: &RdmaSettings) -> [(&'static str, String); 4] {
    let recovery = match rdma.recovery {
        Recovery::GoBackN => "go-back-N",
        Recovery::GoBackZero => "go-back-0",
        Recovery::Selective => "selective repeat",
    };
    let cap = match rdma.max_inflight {
        InflightCap::None => "none".into(),
        InflightCap::Bdp => "bandwidth-delay product".into(),
        InflightCap::Fixed(bytes) => bytes.to_string(),
    };
    let base_rtt = match rdma.base_rtt {
        BaseRtt::Longest => "of the longest path".into(),
        BaseRtt::Path => "of each path".into(),
        BaseRtt::Fixed(span) => span.to_string(),
    };
    [
        ("recovery", recovery.into()),
        ("max in flight", cap),
        ("timeout", rdma.timeout.to_string()),
        ("base RTT", base_rtt),
    ]
}

/// How long each cable was not as it was laid: from a fault to the next of its kind at the same cable. Losses of numbered packets
/// add up: none ends another.
fn faults(scenario: &Scenario) -> Vec<FaultSpan> {
    let mut open: Vec<(&str, std::mem::Discriminant<Change>, usize)> = Vec::new();
    let mut spans: Vec<FaultSpan> = Vec::new();
    let laid = [scenario.fabric.host_link.rate, scenario.fabric.fabric_link.rate];
    let mut faults: Vec<_> = scenario.faults.iter().collect();
    faults.sort_by_key(|fault| fault.at);
    for fault in faults {
        let Some(change) = fault.change() else { continue };
        // Down and up are of one kind.
        let kind = std::mem::discriminant(match &change {
            Change::Up => &Change::Down,
            other => other,
        });
        let replaces = !matches!(change, Change::Drop { .. });
        let ended =
            open.iter().position(|(link, of, _)| replaces && *link == fault.link && *of == kind);
        if let Some(ended) = ended {
            spans[open.remove(ended).2].to = Some(fault.at);
        }
        let what = match change {
            Change::Down => "down".into(),
            Change::Loss(share) if share > 0.0 => format!("loses {share} of its packets"),
            Change::Rate(rate) if !laid.contains(&rate) => format!("at {rate}"),
            Change::Drop { flow, packets } => {
                let flow = flow.map_or(String::new(), |flow| format!(" of flow {flow}"));
                format!("loses {}{flow} by number", human::counted(packets.len(), "packet"))
            }
            Change::Up | Change::Loss(_) | Change::Rate(_) => continue,
        };
        open.push((&fault.link, kind, spans.len()));
        let what = format!("{} {what}", fault.link);
        spans.push(FaultSpan { what, from: fault.at, to: None });
    }
    spans
}

/// What must be alike in another simulator before rows can be compared one by one.
fn comparison(scenario: &Scenario) -> Vec<(String, String)> {
    let (fabric, transport) = (&scenario.fabric, &scenario.transport);
    let telemetry = transport.rdma().map_or(Bytes::ZERO, |rdma| rdma.telemetry);
    let marks = match fabric.switch.ecn.of_port() {
        None => "none by the queue of a port".into(),
        Some(ecn) => match ecn.at {
            MarkAt::Enqueue => "as a packet joins, by the queue that it finds",
            MarkAt::Dequeue => "as a packet leaves, by the queue that it leaves behind",
        }
        .to_string(),
    };
    let of = transport.routing.unwrap_or(fabric.routing);
    let routing = match of {
        Routing::Ecmp => match fabric.hash_seed {
            None | Some(HashSeed::PerSwitch) => {
                "hash of flow number and direction, another one at each switch"
            }
            Some(HashSeed::PerTier) => {
                "hash of flow number and direction, another one in each tier"
            }
            Some(HashSeed::Same) => "hash of flow number and direction, the same at all switches",
        },
        Routing::EcmpSymmetric => match fabric.hash_seed {
            Some(HashSeed::Same) => {
                "hash of the flow number, the same for both directions and at all switches"
            }
            _ => "hash of the flow number, the same for both directions, another one in each tier",
        },
        Routing::Spray => "each packet at random",
        Routing::Adaptive => {
            "each packet by the port with the shortest queue, of several at random"
        }
        Routing::Source => {
            "each packet takes the path number that its sender gave it; senders use all paths in turn, permuted again \
             each round; answers at random"
        }
        Routing::EcmpMurmur3 => {
            "murmur3-32 of source address, destination address, sport | dport << 16, with the number of the switch as its \
             seed, modulo the number of next hops, which stand in the order of a breadth-first search from the destination"
        }
    };
    let order = match (of, fabric.next_hops) {
        (Routing::EcmpMurmur3, Some(NextHops::Descending)) => ", neighbours by descending number",
        (Routing::EcmpMurmur3, _) => ", neighbours by ascending number",
        _ => "",
    };
    let explicit = match fabric.paths.all().len() {
        0 => String::new(),
        n => format!("; paths of their own for {}", human::counted(n, "flow")),
    };
    let clock = match fabric.wire.clock {
        Clock::Exact => "picoseconds; remainders are carried from packet to packet",
        Clock::TruncateNs => {
            "each transmission takes whole nanoseconds, rounded down; delays and starts are as written"
        }
    };
    let pairs = [
        ("payload of a full packet", transport.mss.to_string()),
        ("header of a data packet", transport.header.to_string()),
        ("ACK", transport.ack_size.to_string()),
        ("telemetry on data and ACK, where the law needs it", telemetry.to_string()),
        ("wire overhead of each packet", fabric.wire.overhead.to_string()),
        ("class of data", transport.class.to_string()),
        ("class of ACKs", transport.ack_class.to_string()),
        ("marks", marks),
        ("routing", format!("{routing}{order}{explicit}")),
        ("ports of flows", "source ports count from 10000 for each host and entry of traffic, in the order of flows.csv; destination port 100 plus the number of the entry, 100 in lists; a list may say others".into()),
        ("addresses", "host n is 11.(n/256).(n%256).1, n the number at the end of its name, or its place among the hosts".into()),
        ("clock", clock.into()),
        ("load", "payload; headers come on top".into()),
    ];
    pairs.into_iter().map(|(key, value)| (key.into(), value)).collect()
}

fn time(time: Time) -> String {
    time.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_fault_ends_the_one_it_replaces_and_losses_by_number_add_up() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/link-failure.toml");
        let mut scenario = forebay_scenario::load(&path).expect("shipped").scenario;
        let us = |n: u64| Time::from_ps(n * 1_000_000);
        let drop = |packets: &[u64]| Change::Drop { flow: None, packets: packets.to_vec() };
        let fault = |at, change| forebay_scenario::model::Fault::new(us(at), "a->b", change);
        scenario.faults = vec![
            fault(1, drop(&[3, 4])),
            fault(2, Change::Loss(0.5)),
            fault(3, drop(&[9])),
            fault(4, Change::Loss(0.0)),
        ];
        let spans: Vec<_> =
            faults(&scenario).into_iter().map(|span| (span.what, span.from, span.to)).collect();
        let said = |what: &str| format!("a->b loses {what}");
        assert_eq!(
            spans,
            [
                (said("2 packets by number"), us(1), None),
                (said("0.5 of its packets"), us(2), Some(us(4))),
                (said("1 packet by number"), us(3), None),
            ]
        );
    }
}
