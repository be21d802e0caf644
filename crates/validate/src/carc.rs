//! CARC (APNet 2025): cores that are slower than their link, and what credits of the cache change.
//!
//! The readings stand at the top of `validation/carc/rows.toml`.

use crate::bench::{mean, run};
use crate::credits;
use crate::hostcc;
use crate::jobs::{Cores, Job};
use crate::measured::Measured;
use crate::order::{Percentile, Samples, beyond};
use crate::row::Row;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// A reading of the receive queues, of the cores and of memory.
#[derive(Clone, Copy)]
struct Bundle {
    /// What ids of its rows end in.
    name: &'static str,
    /// The queue, as a table of the scenario.
    queue: &'static str,
    /// Threads of a core.
    threads: u32,
    /// What memory carries, Gb/s.
    memory: u32,
}

const LITERAL: &str = "{ depth = 65536, buffer = \"1500B\", rnr = \"nak\" }";
const FITS: &str = "{ depth = 8192, buffer = \"1500B\", rnr = \"nak\" }";
const LIFO: &str = "{ depth = 65536, buffer = \"1500B\", reuse = \"lifo\", rnr = \"nak\" }";

/// What eight channels of a socket carry, and four, Gb/s.
const EIGHT: u32 = 1_013;
const FOUR: u32 = 506;

const BUNDLES: [Bundle; 9] = [
    Bundle { name: "literal", queue: LITERAL, threads: 2, memory: EIGHT },
    Bundle { name: "fits", queue: FITS, threads: 2, memory: EIGHT },
    Bundle { name: "lifo", queue: LIFO, threads: 2, memory: EIGHT },
    Bundle { name: "literal16", queue: LITERAL, threads: 1, memory: EIGHT },
    Bundle { name: "fits16", queue: FITS, threads: 1, memory: EIGHT },
    Bundle { name: "lifo16", queue: LIFO, threads: 1, memory: EIGHT },
    Bundle { name: "literal16four", queue: LITERAL, threads: 1, memory: FOUR },
    Bundle { name: "fits16four", queue: FITS, threads: 1, memory: FOUR },
    Bundle { name: "lifo16four", queue: LIFO, threads: 1, memory: FOUR },
];

/// The part in which hostCC's host is run under both models of the cache.
const TENSION: &str = "tension";

/// Parts with the 99th percentiles of table 1, one for each of [`BUNDLES`]. They need runs of a second and more, so that they run only by name.
pub(crate) const TAILS: [&str; BUNDLES.len()] = [
    "tails",
    "tails-fits",
    "tails-lifo",
    "tails-literal16",
    "tails-fits16",
    "tails-lifo16",
    "tails-literal16four",
    "tails-fits16four",
    "tails-lifo16four",
];

/// What can be run by itself: each reading, hostCC's host, the scripts of the library, and the 99th percentiles of each reading.
pub(crate) fn parts() -> Vec<&'static str> {
    BUNDLES.iter().map(|bundle| bundle.name).chain([TENSION, credits::PART]).chain(TAILS).collect()
}

/// The part that a row belongs to: its reading, the last word of its id, or the 99th percentiles of that reading.
pub(crate) fn part_of(row: &Row) -> &str {
    if row.id.starts_with(TENSION) {
        return TENSION;
    }
    if row.id.starts_with(credits::PART) {
        return credits::PART;
    }
    let reading = row.id.rsplit('-').next().unwrap_or_default();
    match BUNDLES.iter().position(|bundle| bundle.name == reading) {
        Some(at) if row.id.contains("-p99-") => TAILS[at],
        _ => reading,
    }
}

/// Numbers of long cores beside eight short ones.
const LONG: [u32; 4] = [2, 4, 6, 8];

/// Of these, what a quick run has: in its span no median has enough requests, so that only throughputs are judged, and those at the ends.
const LONG_IF_QUICK: [u32; 2] = [2, 8];

/// When the measured part of a run begins and ends, s.
type Times = (f64, f64);

const WHOLE: Times = (20e-3, 120e-3);
const QUICK: Times = (4e-3, 18e-3);

/// Times of a run with so many long cores that a thousand requests end in, as ten have to lie beyond a 99th percentile.
fn enough_for_p99(long: u32) -> Times {
    let seconds = match long {
        2 => 2.1,
        4 => 1.3,
        6 => 1.15,
        _ => 0.85,
    };
    (WHOLE.0, WHOLE.0 + seconds)
}

/// Work for 1,000 bytes, fitted to `table1-hostcc-p50-8-2-literal`.
const PER_KILOBYTE: &str = "219ns";

/// Speed of a thread beside one that works, of what it has alone, fitted to `table1-hostcc-p50-8-8-literal`.
const SMT_SHARE: f64 = 0.4;

/// Bytes of a long request.
const REQUEST: f64 = 7.9e6;

/// What bounds requests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Scheme {
    Erpc,
    HostCc,
    Carc,
}

/// What is run: in which bundle, under which scheme.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Load {
    /// So many cores with long requests; eight with short ones if the flag is set.
    Long(u32, bool),
    /// Echoes, each of which takes its core so many nanoseconds beside reading it.
    Echo(u32),
}

/// What one run showed.
#[derive(Clone, Debug, Default)]
struct Outcome {
    /// Microseconds of long requests.
    long: Vec<f64>,
    /// Gb/s of long requests, all cores together; short requests, or echoes, a second.
    long_gbps: f64,
    short_rate: f64,
    /// Reads that missed: of those of long requests, where there are some, else of all.
    misses: f64,
}

type Outcomes = BTreeMap<(&'static str, Scheme, Load), Outcome>;

/// Runs all rows but the 99th percentiles, or those of a part; for a seventh of the time and without the loads between, if `quick`.
pub(crate) fn measure(cores: &Cores<'_>, part: Option<&str>, quick: bool) -> Measured {
    if let Some(at) = TAILS.iter().position(|name| part == Some(name)) {
        // Short runs have too few requests.
        return if quick { Measured::new() } else { tails(cores, BUNDLES[at]) };
    }
    let wanted = |name: &str| part.is_none_or(|part| part == name);
    let bundles: Vec<Bundle> = BUNDLES.into_iter().filter(|bundle| wanted(bundle.name)).collect();
    let found: Mutex<Outcomes> = Mutex::default();
    let see = |bundle: Bundle, scheme, load| {
        let times = if quick { QUICK } else { WHOLE };
        let outcome = outcome(&text(bundle, scheme, load), times);
        let mut found = found.lock().expect("entering does not panic");
        found.insert((bundle.name, scheme, load), outcome);
    };
    let longs: &[u32] = if quick { &LONG_IF_QUICK } else { &LONG };
    let mut calls: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
    let see = &see;
    for &bundle in &bundles {
        for scheme in [Scheme::HostCc, Scheme::Carc] {
            for &long in longs {
                calls.push(Box::new(move || see(bundle, scheme, Load::Long(long, true))));
            }
        }
        for long in [0, 1] {
            calls.push(Box::new(move || see(bundle, Scheme::HostCc, Load::Long(long, true))));
        }
        for (scheme, long) in
            [(Scheme::Erpc, 16), (Scheme::HostCc, 16), (Scheme::Erpc, 1), (Scheme::HostCc, 1)]
        {
            calls.push(Box::new(move || see(bundle, scheme, Load::Long(long, false))));
        }
        // What a message takes at 0 ticks says how many ticks are the most.
        calls.push(Box::new(move || {
            see(bundle, Scheme::HostCc, Load::Echo(0));
        }));
    }
    cores.call(calls);
    let ticks = |bundle: Bundle| {
        let fast = &found.lock().expect("it was not poisoned")
            [&(bundle.name, Scheme::HostCc, Load::Echo(0))];
        (SLOWER * THREADS / fast.short_rate * 1e9).round() as u32
    };
    let most: BTreeMap<_, _> = bundles.iter().map(|bundle| (bundle.name, ticks(*bundle))).collect();
    let mut calls: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
    for &bundle in &bundles {
        for scheme in [Scheme::HostCc, Scheme::Carc] {
            let load = Load::Echo(most[bundle.name]);
            calls.push(Box::new(move || see(bundle, scheme, load)));
        }
    }
    cores.call(calls);
    let found = found.into_inner().expect("every worker has ended");
    let mut measured = Measured::new();
    if wanted(TENSION) {
        tension(quick, &mut measured);
    }
    if wanted(credits::PART) {
        credits::measure(quick, &mut measured);
    }
    for Bundle { name, .. } in bundles {
        let of = |scheme, load| &found[&(name, scheme, load)];
        rows(name, longs, &of, Load::Echo(most[name]), &mut measured);
    }
    measured
}

/// hostCC's host at 3x with DDIO, under both models of the cache: what cores read, writes that evict, reads that miss. By share these are lines that
/// go to memory and come from it, of those of a frame.
fn tension(quick: bool, measured: &mut Measured) {
    let queue = "cache_model = \"buffers\"\nrq = { depth = 8192, buffer = \"2KiB\" }\n";
    for (model, keys) in [("share", ""), ("buffers", queue)] {
        let seen = hostcc::congested(keys, quick);
        let server = seen.record.memory.first().expect("the receiver has a path to memory");
        let frame = 4_000.0;
        let frames = server.read_bytes.get() as f64 / frame;
        measured.insert(format!("{TENSION}-goodput-{model}"), server.goodput_gbps());
        if model == "buffers" {
            let written = 1.0 - server.cache_in_place as f64 / server.cache_writes.max(1) as f64;
            measured.insert(format!("{TENSION}-writes-{model}"), 100.0 * written);
            measured.insert(format!("{TENSION}-reads-{model}"), 100.0 * server.miss_share());
        } else {
            let lines = frame / 64.0;
            measured
                .insert(format!("{TENSION}-writes-{model}"), 100.0 * server.dma / frames / lines);
            measured
                .insert(format!("{TENSION}-reads-{model}"), 100.0 * server.copied / frames / lines);
        }
    }
}

/// Consumers of the server: threads of eight cores, or cores.
const THREADS: f64 = 16.0;

/// Part of a message's time that the most ticks add: throughput falls to 55 %.
const SLOWER: f64 = 1.0 / 0.55 - 1.0;

fn rows<'a>(
    bundle: &str,
    longs: &[u32],
    of: &dyn Fn(Scheme, Load) -> &'a Outcome,
    slow: Load,
    measured: &mut Measured,
) {
    use Scheme::{Carc, Erpc, HostCc};
    let mut enter = |id: &str, value: f64| measured.insert(format!("{id}-{bundle}"), value);
    let per_core =
        |scheme, long: u32, short| of(scheme, Load::Long(long, short)).long_gbps / f64::from(long);
    for (id, scheme) in [("fig2-erpc", Erpc), ("fig2-hostcc", HostCc)] {
        enter(id, per_core(scheme, 1, false) / per_core(scheme, 16, false));
    }
    let fall = |from: f64, to: f64| 100.0 * (1.0 - to / from);
    let (fast, hostcc, carc) = (of(HostCc, Load::Echo(0)), of(HostCc, slow), of(Carc, slow));
    enter("fig5a-throughput", fall(fast.short_rate, hostcc.short_rate));
    enter("fig5a-misses", 100.0 * hostcc.misses);
    enter("fig5a-fast", 100.0 * fast.misses);
    let mixed = |scheme, long| of(scheme, Load::Long(long, true));
    enter("fig5b-short", fall(mixed(HostCc, 0).short_rate, mixed(HostCc, 8).short_rate));
    enter("fig5c-misses", 100.0 * mixed(HostCc, 8).misses);
    enter("fig5c-long", fall(per_core(HostCc, 1, true), per_core(HostCc, 8, true)));
    let gain = |long: &u32| mixed(Carc, *long).long_gbps / mixed(HostCc, *long).long_gbps;
    enter("fig8b-throughput", longs.iter().map(gain).fold(0.0, f64::max));
    enter("fig8b-left", 100.0 * mixed(Carc, 8).misses);
    enter("core-8-2", per_core(HostCc, 2, true));
    enter("core-8-8", per_core(HostCc, 8, true));
    let less = [
        ("fig8a", hostcc.misses, carc.misses),
        ("fig8b", mixed(HostCc, 8).misses, mixed(Carc, 8).misses),
    ];
    for (id, without, with) in less {
        let id = format!("{id}-misses-{bundle}");
        measured.insert_of(id, fall(without, with), ("misses", [without, with]), String::new());
    }
    let differ = (carc.short_rate - hostcc.short_rate).abs();
    measured.insert_of(
        format!("fig8a-throughput-{bundle}"),
        carc.short_rate / hostcc.short_rate,
        ("request held by credits", [differ, 0.0]),
        String::new(),
    );
    for &long in longs {
        let [without, with] = [HostCc, Carc].map(|scheme| &mixed(scheme, long).long);
        table_1(("p50", 5_000), long, bundle, [without, with], measured);
    }
}

/// Enters a percentile of requests beside so many long cores under hostCC and under CARC, and the first over the second.
fn table_1(
    (name, per_10_000): (&str, u32),
    long: u32,
    bundle: &str,
    [without, with]: [&[f64]; 2],
    measured: &mut Measured,
) {
    let mut enter = |id: &str, value: f64, count: usize, remark: String| {
        let id = format!("table1-{id}-{name}-8-{long}-{bundle}");
        measured.insert_tail(id, value, beyond(count, per_10_000), remark);
    };
    let [hostcc, carc] = [("hostcc", without), ("carc", with)].map(|(scheme, requests)| {
        let Percentile { value, low, high } =
            Samples::new(requests.to_vec()).percentile(per_10_000);
        let count = requests.len();
        let remark = format!("{count} requests, 95 % between {low:.0} and {high:.0} us");
        enter(scheme, value, count, remark);
        value
    });
    let counts = [without.len(), with.len()];
    let remark = format!("{} and {} requests", counts[0], counts[1]);
    enter("gain", hostcc / carc, counts[0].min(counts[1]), remark);
}

/// The 99th percentiles of table 1.
fn tails(cores: &Cores<'_>, bundle: Bundle) -> Measured {
    let job = |long| -> Job {
        Box::new(move |measured| {
            let load = Load::Long(long, true);
            let requests = [Scheme::HostCc, Scheme::Carc]
                .map(|scheme| outcome(&text(bundle, scheme, load), enough_for_p99(long)).long);
            table_1(("p99", 9_900), long, bundle.name, [&requests[0], &requests[1]], measured);
        })
    };
    cores.run(LONG.map(job).into())
}

/// The server and its client; longs and shorts, or echoes.
fn text(bundle: Bundle, scheme: Scheme, load: Load) -> String {
    let Bundle { queue, threads, memory, .. } = bundle;
    let control = match scheme {
        Scheme::HostCc => {
            "[host.override.memory.control]\nlaw = \"hostcc\"\nparams = { iio_threshold = \"140\", target = \"160Gbps\" }\n"
        }
        _ => "",
    };
    let pool = match scheme {
        Scheme::Carc => "pool = { law = \"carc\", fragment = \"1452B\" }\n",
        _ => "",
    };
    let rpc = |connections: u32, keys: &str| {
        if connections == 0 {
            return String::new();
        }
        format!(
            "[[traffic]]\nkind = \"rpc\"\nfrom = \"host[1]\"\nto = \"host[0]\"\nconnections = {connections}\n{keys}\n{pool}"
        )
    };
    let traffic = match load {
        Load::Echo(ticks) => rpc(
            16,
            &format!(
                "outstanding = 256\nrequest = \"256B\"\nresponse = \"256B\"\nservice = \"{ticks}ns\""
            ),
        ),
        Load::Long(long, short) => {
            let short = rpc(
                if short { 8 } else { 0 },
                "outstanding = 8\nrequest = \"72B\"\nresponse = \"32B\"",
            );
            short + &rpc(long, "outstanding = 1\nrequest = \"7900000B\"\nresponse = \"32B\"")
        }
    };
    format!(
        "[fabric]\nkind = \"star\"\nhosts = 2\nhost_link = {{ rate = \"200Gbps\", delay = \"500ns\" }}\n\
         [fabric.switch]\npause = \"on\"\n[transport]\nkind = \"rdma\"\nlaw = \"dcqcn\"\nparams = {{ timers = \"paper\" }}\nmtu = \"1500B\"\n\
         [[host.override]]\nwhere = \"host[0]\"\n[host.override.memory]\nread_placed = true\ncores = 16\nsmt = {threads}\n\
         smt_share = {SMT_SHARE}\nper_kilobyte = \"{PER_KILOBYTE}\"\nbandwidth = \"{memory}Gbps\"\npcie_rate = \"252.06Gbps\"\niio_slots = 186\npause_above = \"256KB\"\n\
         ddio = true\ncache = \"12MiB\"\ncache_ways = 12\nddio_ways = 2\ncache_model = \"buffers\"\n\
         rq = {queue_with_copies}\n{control}{traffic}",
        queue_with_copies = queue.replace(" }", ", assemble = \"8MB\" }")
    )
}

fn outcome(text: &str, (warm, end): Times) -> Outcome {
    let seen = run("carc", text, warm, end);
    let record = &seen.record;
    let is_long = |traffic: u16| {
        record.rpcs.iter().any(|rpc| {
            record.connections[rpc.connection as usize].traffic == traffic
                && rpc.request.get() as f64 == REQUEST
        })
    };
    let mut outcome = Outcome::default();
    let entries = record.connections.iter().map(|row| row.traffic).max().map_or(0, |most| most + 1);
    for traffic in 0..entries {
        if is_long(traffic) {
            outcome.long = seen.latencies(traffic);
            // One is under way on each connection, at all times.
            let connections = record.connections.iter().filter(|row| row.traffic == traffic);
            let each = REQUEST * 8e-9 / (mean(&outcome.long) * 1e-6);
            outcome.long_gbps = connections.count() as f64 * each;
        } else {
            outcome.short_rate = seen.latencies(traffic).len() as f64 / seen.seconds();
        }
    }
    let server = record.memory.first().expect("the server has a path to memory");
    let long = (0..entries).find(|traffic| is_long(*traffic)).map(usize::from);
    outcome.misses = match long {
        Some(long) => server.cache_misses_of[long] / server.cache_reads_of[long].max(1.0),
        None => server.miss_share(),
    };
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_99th_percentile_says_on_how_many_requests_it_rests() {
        let requests: Vec<f64> = (1..=1_000).map(f64::from).collect();
        let mut measured = Measured::new();
        for (long, few) in LONG.into_iter().zip([1_000, 999, 1_000, 1_000]) {
            let both = [requests.as_slice(), &requests[..few]];
            table_1(("p99", 9_900), long, "literal", both, &mut measured);
        }
        let rows = crate::rows_of("carc/tails");
        let found = |id: &str| measured.get(id).unwrap_or_else(|| panic!("{id} was not measured"));
        assert!(rows.iter().all(|row| !found(&row.id).remark.is_empty()));
        let remark = &found("table1-hostcc-p99-8-2-literal").remark;
        assert_eq!(remark, "1000 requests, 95 % between 983 and 997 us");
        assert_eq!(measured.number("table1-hostcc-p99-8-2-literal"), Some(990.0));
        assert_eq!(measured.number("table1-gain-p99-8-2-literal"), Some(1.0));
        let few = ["table1-carc-p99-8-4-literal", "table1-gain-p99-8-4-literal"];
        assert_eq!(few.map(|id| measured.number(id)), [None, None], "nine lie beyond");
        assert_eq!(found(few[1]).remark, "1000 and 999 requests");
    }
}
