//! CARC (APNet 2025): cores that are slower than their link, and what credits of the cache change.
//!
//! The readings stand at the top of `validation/carc/rows.toml`.

mod cache;
mod idle;
mod pictures;
mod points;

use crate::bench::{mean, run_seed};
use crate::credits;
use crate::experiments::records;
use crate::folder::Folder;
use crate::jobs::Cores;
use crate::measured::MeasuredRows;
use crate::order::{Percentile, Samples, beyond};
use crate::row::Row;
pub(crate) use pictures::all as pictures;
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
    /// What cores do for 1,000 bytes, and lines that they read at once: keys of the path to memory.
    work: &'static str,
}

const LITERAL: &str = "{ depth = 65536, buffer = \"1500B\", rnr = \"nak\" }";
const FITS: &str = "{ depth = 8192, buffer = \"1500B\", rnr = \"nak\" }";
const LIFO: &str = "{ depth = 65536, buffer = \"1500B\", reuse = \"lifo\", rnr = \"nak\" }";

/// What eight channels of a socket carry, and four, Gb/s.
const EIGHT: u32 = 1_013;
const FOUR: u32 = 506;

/// Work of cores that read 13 lines at once, fitted to `table1-hostcc-p50-8-2-literal`, and of those that read six, fitted to `table1-hostcc-p50-8-2-lifo16six`.
const THIRTEEN_LINES: &str = "per_kilobyte = \"219ns\"";
const SIX_LINES: &str = "copy_lines = 6\nper_kilobyte = \"33ns\"";

const fn bundle(name: &'static str, queue: &'static str, threads: u32, memory: u32) -> Bundle {
    Bundle { name, queue, threads, memory, work: THIRTEEN_LINES }
}

/// The first is the one that the page names in its verdict.
const BUNDLES: [Bundle; 10] = [
    Bundle { work: SIX_LINES, ..bundle(NAMED, LIFO, 1, FOUR) },
    bundle("literal", LITERAL, 2, EIGHT),
    bundle("fits", FITS, 2, EIGHT),
    bundle("lifo", LIFO, 2, EIGHT),
    bundle("literal16", LITERAL, 1, EIGHT),
    bundle("fits16", FITS, 1, EIGHT),
    bundle("lifo16", LIFO, 1, EIGHT),
    bundle("literal16four", LITERAL, 1, FOUR),
    bundle("fits16four", FITS, 1, FOUR),
    bundle("lifo16four", LIFO, 1, FOUR),
];

/// The reading of the verdict.
const NAMED: &str = "lifo16six";

/// The part in which hostCC's host is run under both models of the cache.
const TENSION: &str = "tension";

/// Parts with the 99th percentiles of table 1, one for each of [`BUNDLES`]. They need runs of a second and more, so that they run only by name.
pub(crate) const TAILS: [&str; BUNDLES.len()] = [
    "tails-lifo16six",
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
    let others = [TENSION, cache::PART, idle::PART, credits::PART];
    BUNDLES.iter().map(|bundle| bundle.name).chain(others).chain(TAILS).collect()
}

/// The part that a row belongs to: its reading, the last word of its id, or the 99th percentiles of that reading.
pub(crate) fn part_of(row: &Row) -> &str {
    let others = [TENSION, cache::PART, idle::PART, credits::PART];
    if let Some(part) = others.into_iter().find(|part| row.id.starts_with(part)) {
        return part;
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

/// Times of a run with so many long cores, and with one of so many seeds, that a thousand requests end in all of them: ten have to lie beyond a 99th
/// percentile.
fn enough_for_p99(long: u32) -> Times {
    let seconds = match long {
        2 => 2.1,
        4 => 1.3,
        6 => 1.15,
        _ => 0.85,
    };
    (WHOLE.0, WHOLE.0 + seconds / SEEDS as f64)
}

/// Seeds of which percentiles are taken together.
const SEEDS: u64 = 5;

/// Keys of cores with two threads. Speed of a thread beside one that works, of what it has alone: fitted to the mean over three seeds of
/// `table1-hostcc-p50-8-8-literal`.
const TWO_THREADS: &str = "smt = 2\nsmt_order = \"spread\"\nsmt_share = 0.33\n";

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
    /// Eight cores with long requests and eight with short ones; cores copy nothing.
    Uncopied,
    /// The same, and cores copy; the NIC never pauses its switch.
    Unpaused,
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
    /// Reads of short requests that missed.
    short_misses: f64,
    /// The most that the NIC buffer held, KB.
    in_nic: f64,
    /// Packets that the host marked.
    marked: f64,
}

type Outcomes = BTreeMap<(&'static str, Scheme, Load), Outcome>;

/// One outcome of several with other seeds, in order of seed: all requests, and means of the rest.
fn together(outcomes: &[Outcome]) -> Outcome {
    let mut long: Vec<f64> = outcomes.iter().flat_map(|one| one.long.iter().copied()).collect();
    long.sort_by(f64::total_cmp);
    let of = |get: fn(&Outcome) -> f64| mean(&outcomes.iter().map(get).collect::<Vec<_>>());
    Outcome {
        long,
        long_gbps: of(|one| one.long_gbps),
        short_rate: of(|one| one.short_rate),
        misses: of(|one| one.misses),
        short_misses: of(|one| one.short_misses),
        in_nic: outcomes.iter().map(|one| one.in_nic).fold(0.0, f64::max),
        marked: of(|one| one.marked),
    }
}

/// Percentiles of each seed alone, in words.
fn by_seed(outcomes: &[Outcome], per_10_000: u32) -> String {
    let of = |one: &Outcome| {
        let value = Samples::new(one.long.clone()).percentile(per_10_000).value;
        format!("{value:.0}")
    };
    outcomes.iter().map(of).collect::<Vec<_>>().join(", ")
}

/// Runs all rows but the 99th percentiles, or those of a part; for a seventh of the time and without the loads between, if `quick`. With `draw` the
/// points of curves are run as well.
pub(crate) fn measure(
    cores: &Cores<'_>,
    part: Option<&str>,
    quick: bool,
    draw: bool,
) -> MeasuredRows {
    if let Some(at) = TAILS.iter().position(|name| part == Some(name)) {
        // Short runs have too few requests.
        return if quick { MeasuredRows::new() } else { tails(cores, BUNDLES[at]) };
    }
    let wanted = |name: &str| part.is_none_or(|part| part == name);
    let bundles: Vec<Bundle> = BUNDLES.into_iter().filter(|bundle| wanted(bundle.name)).collect();
    let found: Mutex<BTreeMap<_, Outcome>> = Mutex::default();
    let see_seed = |bundle: Bundle, scheme, load, seed| {
        let times = if quick { QUICK } else { WHOLE };
        let outcome = outcome(&text(bundle, scheme, load), seed, times);
        let mut found = found.lock().expect("entering does not panic");
        found.insert((bundle.name, scheme, load, seed), outcome);
    };
    let see = |bundle: Bundle, scheme, load| see_seed(bundle, scheme, load, 1);
    let seeds = |bundle: Bundle| if quick || bundle.name != NAMED { 1 } else { SEEDS };
    let longs: &[u32] = if quick { &LONG_IF_QUICK } else { &LONG };
    let mut calls: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
    let (see, see_seed) = (&see, &see_seed);
    for &bundle in &bundles {
        for scheme in [Scheme::HostCc, Scheme::Carc] {
            for (&long, seed) in
                longs.iter().flat_map(|long| (1..=seeds(bundle)).map(move |s| (long, s)))
            {
                let load = Load::Long(long, true);
                calls.push(Box::new(move || see_seed(bundle, scheme, load, seed)));
            }
        }
        if bundle.name == NAMED && draw {
            let between = LONG.iter().filter(|long| !longs.contains(long));
            for (&long, scheme) in
                between.flat_map(|long| [Scheme::HostCc, Scheme::Carc].map(|one| (long, one)))
            {
                calls.push(Box::new(move || see(bundle, scheme, Load::Long(long, true))));
            }
        }
        if bundle.name == NAMED {
            calls.push(Box::new(move || see(bundle, Scheme::Carc, Load::Uncopied)));
            calls.push(Box::new(move || see(bundle, Scheme::HostCc, Load::Unpaused)));
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
            [&(bundle.name, Scheme::HostCc, Load::Echo(0), 1)];
        (SLOWER * THREADS / fast.short_rate * 1e9).round() as u32
    };
    let most: BTreeMap<_, _> = bundles.iter().map(|bundle| (bundle.name, ticks(*bundle))).collect();
    let mut calls: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
    for &bundle in &bundles {
        let most = most[bundle.name];
        for scheme in [Scheme::HostCc, Scheme::Carc] {
            calls.push(Box::new(move || see(bundle, scheme, Load::Echo(most))));
        }
        // Curves of figures 5a and 8a.
        if bundle.name == NAMED && draw {
            for (scheme, ticks) in points::between(most) {
                calls.push(Box::new(move || see(bundle, scheme, Load::Echo(ticks))));
            }
        }
    }
    cores.call(calls);
    let mut by_seeds: BTreeMap<_, Vec<Outcome>> = BTreeMap::new();
    for ((bundle, scheme, load, _), outcome) in found.into_inner().expect("every worker has ended")
    {
        by_seeds.entry((bundle, scheme, load)).or_default().push(outcome);
    }
    let found: Outcomes = by_seeds.iter().map(|(run, all)| (*run, together(all))).collect();
    let mut measured = MeasuredRows::new();
    if wanted(TENSION) {
        tension(quick, &mut measured);
    }
    if wanted(credits::PART) {
        credits::measure(quick, &mut measured);
    }
    if wanted(cache::PART) {
        cache::measure(&mut measured);
    }
    if wanted(idle::PART) {
        idle::measure(quick, &mut measured);
    }
    for Bundle { name, .. } in bundles {
        let of = |scheme, load| &found[&(name, scheme, load)];
        rows(name, longs, &of, Load::Echo(most[name]), &mut measured);
        if name == NAMED {
            named_rows(name, &of, quick, &mut measured);
            if draw {
                points::enter(&of, most[name], &mut measured);
            }
        }
        // Short runs have too few requests.
        for &long in longs.iter().filter(|_| !quick) {
            let runs = [Scheme::HostCc, Scheme::Carc]
                .map(|scheme| &by_seeds[&(name, scheme, Load::Long(long, true))][..]);
            table_1(("p50", 5_000), long, name, runs, &mut measured);
        }
    }
    measured
}

/// hostCC's host at 3x with DDIO, under both models of the cache: what cores read, writes that evict, reads that miss. By share these are lines that
/// go to memory and come from it, of those of a frame.
fn tension(quick: bool, measured: &mut MeasuredRows) {
    let key = |name| format!("host.override[0].memory.{name}");
    let queue = [
        (key("cache_model"), "\"buffers\"".to_string()),
        (key("rq"), "{ depth = 8192, buffer = \"2KiB\" }".into()),
    ];
    for (model, keys) in [("share", &[][..]), ("buffers", &queue)] {
        let end = ("stop.time".to_string(), if quick { "\"80ms\"" } else { "\"330ms\"" }.into());
        let sets: Vec<(&str, String)> = std::iter::once(&end)
            .chain(keys)
            .map(|(key, value)| (key.as_str(), value.clone()))
            .collect();
        let runs = records(Folder::of("hostcc"), "dctcp-ddio", &sets);
        let (_, record) = runs.iter().find(|(case, _)| case == "3x").expect("it is a case");
        let server = record.memory.first().expect("the receiver has a path to memory");
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
    measured: &mut MeasuredRows,
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
}

/// Rows that stand under the reading of the verdict alone.
fn named_rows<'a>(
    bundle: &str,
    of: &dyn Fn(Scheme, Load) -> &'a Outcome,
    quick: bool,
    measured: &mut MeasuredRows,
) {
    use Scheme::{Carc, Erpc, HostCc};
    let mixed = of(HostCc, Load::Long(8, true));
    let [erpc, hostcc] = [Erpc, HostCc].map(|scheme| of(scheme, Load::Long(16, false)));
    measured.insert_of(
        format!("fig2-speedup-{bundle}"),
        hostcc.long_gbps / erpc.long_gbps,
        ("mark of hostCC", [hostcc.marked, 0.0]),
        String::new(),
    );
    measured.insert(format!("fig5b-misses-{bundle}"), 100.0 * mixed.short_misses);
    measured.insert(format!("note6-queue-{bundle}"), mixed.in_nic);
    let unpaused = of(HostCc, Load::Unpaused);
    measured.insert(format!("note6-pause-{bundle}"), mixed.short_rate / unpaused.short_rate);
    if !quick {
        let zero = 100.0 * of(Carc, Load::Uncopied).misses;
        measured.insert(format!("sec4-zero-{bundle}"), zero);
    }
}

/// Enters a percentile of requests beside so many long cores under hostCC and under CARC, of all seeds together, and the first over the second.
fn table_1(
    (name, per_10_000): (&str, u32),
    long: u32,
    bundle: &str,
    [without, with]: [&[Outcome]; 2],
    measured: &mut MeasuredRows,
) {
    let [seeds_without, seeds_with] = [without, with].map(|runs| by_seed(runs, per_10_000));
    let [without, with] = [without, with].map(|runs| together(runs).long);
    let mut enter = |id: &str, value: f64, count: usize, remark: String| {
        let id = format!("table1-{id}-{name}-8-{long}-{bundle}");
        measured.insert_tail(id, value, beyond(count, per_10_000), remark);
    };
    let both = [("hostcc", &without, seeds_without), ("carc", &with, seeds_with)];
    let [hostcc, carc] = both.map(|(scheme, requests, seeds)| {
        let Percentile { value, low, high } = Samples::new(requests.clone()).percentile(per_10_000);
        let count = requests.len();
        let remark =
            format!("{count} requests, 95 % between {low:.0} and {high:.0} us; by seed {seeds}");
        enter(scheme, value, count, remark);
        value
    });
    let counts = [without.len(), with.len()];
    let remark = format!("{} and {} requests", counts[0], counts[1]);
    enter("gain", hostcc / carc, counts[0].min(counts[1]), remark);
}

/// The 99th percentiles of table 1.
fn tails(cores: &Cores<'_>, bundle: Bundle) -> MeasuredRows {
    let found: Mutex<BTreeMap<_, Outcome>> = Mutex::default();
    let see = |scheme, long, seed| {
        let text = text(bundle, scheme, Load::Long(long, true));
        let outcome = outcome(&text, seed, enough_for_p99(long));
        let mut found = found.lock().expect("entering does not panic");
        found.insert((scheme, long, seed), outcome);
    };
    let see = &see;
    let mut calls: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
    for long in LONG {
        for scheme in [Scheme::HostCc, Scheme::Carc] {
            for seed in 1..=SEEDS {
                calls.push(Box::new(move || see(scheme, long, seed)));
            }
        }
    }
    cores.call(calls);
    let found = found.into_inner().expect("every worker has ended");
    let mut measured = MeasuredRows::new();
    for long in LONG {
        let runs = [Scheme::HostCc, Scheme::Carc].map(|scheme| {
            (1..=SEEDS).map(|seed| found[&(scheme, long, seed)].clone()).collect::<Vec<_>>()
        });
        table_1(("p99", 9_900), long, bundle.name, [&runs[0], &runs[1]], &mut measured);
    }
    measured
}

/// The server and its client; longs and shorts, or echoes.
fn text(bundle: Bundle, scheme: Scheme, load: Load) -> String {
    let Bundle { queue, threads, memory, work, .. } = bundle;
    let threads = if threads == 2 { TWO_THREADS } else { "" };
    let (pause, copies) = match load {
        Load::Unpaused => ("", ", assemble = \"8MB\" }"),
        Load::Uncopied => ("pause_above = \"256KB\"\n", " }"),
        _ => ("pause_above = \"256KB\"\n", ", assemble = \"8MB\" }"),
    };
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
    let mixed = |long, short: bool| {
        let short = if short { 8 } else { 0 };
        rpc(short, "outstanding = 8\nrequest = \"72B\"\nresponse = \"32B\"")
            + &rpc(long, "outstanding = 1\nrequest = \"7900000B\"\nresponse = \"32B\"")
    };
    let traffic = match load {
        Load::Echo(ticks) => rpc(
            16,
            &format!(
                "outstanding = 256\nrequest = \"256B\"\nresponse = \"256B\"\nservice = \"{ticks}ns\""
            ),
        ),
        Load::Long(long, short) => mixed(long, short),
        Load::Uncopied | Load::Unpaused => mixed(8, true),
    };
    format!(
        "[fabric]\nkind = \"star\"\nhosts = 2\nhost_link = {{ rate = \"200Gbps\", delay = \"500ns\" }}\n\
         [fabric.switch]\npause = \"on\"\n[transport]\nkind = \"rdma\"\nlaw = \"dcqcn\"\nparams = {{ timers = \"paper\" }}\nmtu = \"1500B\"\n\
         [[host.override]]\nwhere = \"host[0]\"\n[host.override.memory]\nread_placed = true\ncores = 16\n{threads}\
         {work}\nbandwidth = \"{memory}Gbps\"\npcie_rate = \"252.06Gbps\"\niio_slots = 186\n{pause}\
         ddio = true\ncache = \"12MiB\"\ncache_ways = 12\nddio_ways = 2\ncache_model = \"buffers\"\n\
         rq = {queue_with_copies}\n{control}{traffic}",
        queue_with_copies = queue.replace(" }", copies)
    )
}

fn outcome(text: &str, seed: u64, (warm, end): Times) -> Outcome {
    let seen = run_seed("carc", text, seed, warm, end);
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
    let missed =
        |entry: usize| server.cache_misses_of[entry] / server.cache_reads_of[entry].max(1.0);
    outcome.misses = long.map_or_else(|| server.miss_share(), missed);
    let short = (0..entries).find(|traffic| !is_long(*traffic)).map(usize::from);
    outcome.short_misses = short.map_or(0.0, missed);
    outcome.in_nic = server.most_buffered.get() as f64 * 1e-3;
    outcome.marked = server.marked as f64;
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_99th_percentile_says_on_how_many_requests_it_rests() {
        let requests: Vec<f64> = (1..=1_000).map(f64::from).collect();
        let mut measured = MeasuredRows::new();
        for (long, few) in LONG.into_iter().zip([1_000, 999, 1_000, 1_000]) {
            // Two seeds, whose requests count together.
            let (first, second) = requests.split_at(500);
            let seeds =
                [first, second].map(|of| Outcome { long: of.to_vec(), ..Outcome::default() });
            let others = [first, &second[..few - 500]];
            let others = others.map(|of| Outcome { long: of.to_vec(), ..Outcome::default() });
            table_1(("p99", 9_900), long, "literal", [&seeds, &others], &mut measured);
        }
        let rows = crate::rows_of("carc/tails");
        let found = |id: &str| measured.get(id).unwrap_or_else(|| panic!("{id} was not measured"));
        assert!(rows.iter().all(|row| !found(&row.id).remark.is_empty()));
        let remark = &found("table1-hostcc-p99-8-2-literal").remark;
        assert_eq!(remark, "1000 requests, 95 % between 983 and 997 us; by seed 495, 995");
        assert_eq!(measured.number("table1-hostcc-p99-8-2-literal"), Some(990.0));
        assert_eq!(measured.number("table1-gain-p99-8-2-literal"), Some(1.0));
        let few = ["table1-carc-p99-8-4-literal", "table1-gain-p99-8-4-literal"];
        assert_eq!(few.map(|id| measured.number(id)), [None, None], "nine lie beyond");
        assert_eq!(found(few[1]).remark, "1000 and 999 requests");
    }
}
