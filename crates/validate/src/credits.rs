//! The same scripts in the simulator and in the library of credits: each request is to be posted at the same time by both.
//!
//! The simulator runs a scenario with credits. When each request was made, and when its response came, is the script. The library plays it,
//! all connections in one sender. The log of the simulator's law has the latency of each request that came back, and so the time at which it
//! was posted. Both are to have the same times to the picosecond. Then the order is the same, across connections too; requests of two
//! connections in the same picosecond have none. Both also count requests, those that waited, how long, and the most credits outstanding.

use crate::laid_out;
use crate::measured::MeasuredRows;
use crate::seeds::seed;
use forebay_credits::{Account, Counts, Message, Post, Sender, Shares};
use forebay_laws::log::Log;
use forebay_laws::pool::{Pool, PoolEvent, PoolParams};
use forebay_record::law_logs::LawLogsInMemory;
use forebay_record::{CreditPool, RunRecord};
use forebay_scenario::model::Scenario;
use forebay_sim::{Options, Outputs, Watch, simulate_into};
use forebay_units::{Span, Time};
use std::collections::BTreeMap;

/// Scripts: name, number of connections, and the other keys of its traffic.
const SCRIPTS: [(&str, u32, &str); 3] = [
    ("small", 8, "outstanding = 64\nrequest = \"4000B\"\nresponse = \"64B\""),
    ("mixed", 8, "outstanding = 16\nrequest = \"1KB..100KB\"\nresponse = \"64B\""),
    ("large", 4, "outstanding = 8\nrequest = \"900000B\"\nresponse = \"64B\""),
];

/// Bytes of the server's cache that credits are for, and of a line of it.
const CACHE: u32 = 1 << 20;
const LINE: u32 = 64;

/// The part of the suite that this is.
pub(crate) const PART: &str = "credits";

/// What laws take for the round trip of the empty path.
const BASE_RTT: Span = Span::from_us(10);

/// Connections of each script that the library serves in another way than the simulator.
pub(crate) fn measure(quick: bool, measured: &mut MeasuredRows) {
    let end = if quick { 2e-3 } else { 10e-3 };
    for (name, connections, keys) in SCRIPTS {
        let numbers = (0..connections).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
        let text = format!(
            "[fabric]\nkind = \"star\"\nhosts = 2\nhost_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
             [fabric.switch]\npause = \"on\"\n[transport]\nkind = \"rdma\"\nlaw = \"dcqcn\"\nbase_rtt = \"10us\"\n\
             [host.memory]\nddio = true\ncache_model = \"buffers\"\nread_placed = true\nper_kilobyte = \"200ns\"\n\
             rq = {{ depth = 4096, buffer = \"4KiB\", rnr = \"wait\" }}\n\
             [[traffic]]\nkind = \"rpc\"\nfrom = \"host[1]\"\nto = \"host[0]\"\nconnections = {connections}\n{keys}\npool = {{ law = \"carc\", cache = \"1MiB\" }}\n\
             [output]\nlaw_log = {{ connections = [{numbers}] }}\n"
        );
        let (record, logs) = run_logged("credits", &text, end);
        let (differ, waited) = compare(&record, &logs, Time::from_ps((end * 1e12) as u64));
        let remark = format!("{waited} requests waited for credits");
        measured.insert_saying(format!("credits-{name}"), f64::from(differ), remark);
    }
}

/// Connections that differ, all of them if the counts do; and requests that waited.
fn compare(record: &RunRecord, logs: &BTreeMap<String, Vec<u8>>, end: Time) -> (u32, u64) {
    let simulated: Vec<&CreditPool> =
        record.connections.iter().filter_map(|one| one.credits.as_ref()).collect();
    let sums = Counts {
        requests: simulated.iter().map(|of| of.requests).sum(),
        blocked: simulated.iter().map(|of| of.blocked).sum(),
        waited: simulated.iter().fold(Span::ZERO, |sum, of| sum + of.waited),
        most_outstanding: simulated.iter().map(|of| of.most).max().unwrap_or(0),
    };
    let all = simulated.len() as u32;
    let differ = match play(record, end) {
        Some(played) if played.counts == sums => {
            let same = |number: usize| {
                let log = logs.get(&format!("pool-{number}")).map(Vec::as_slice);
                log.and_then(posts).is_some_and(|times| played.posts[number].starts_with(&times))
                    && played.limits[number] == simulated[number].limit
            };
            (0..simulated.len()).filter(|number| !same(*number)).count() as u32
        }
        _ => all,
    };
    (differ, sums.blocked)
}

/// When a connection posted the requests that came back, in order. None if the log is no whole one.
fn posts(log: &[u8]) -> Option<Vec<Time>> {
    let mut log = Log::<Pool>::open(log).ok()?;
    let mut times = Vec::new();
    while !log.is_empty() {
        let (posted, _) = log.next(|now, seen| match seen.event {
            PoolEvent::Completed { latency, .. } => Some(now - latency),
            _ => None,
        })?;
        times.extend(posted);
    }
    Some(times)
}

/// How the library served a script.
struct LibraryRun {
    counts: Counts,
    limits: Vec<u64>,      // by connection
    posts: Vec<Vec<Time>>, // by connection
}

/// Plays the script of a run; none if the library refuses something.
fn play(record: &RunRecord, end: Time) -> Option<LibraryRun> {
    let connections = record.connections.len() as u32;
    let mut script = Vec::new();
    for rpc in &record.rpcs {
        // What a response returns is there before the request that it brings about.
        script.push((rpc.issued, 1, rpc.connection, rpc.request.get()));
        if rpc.completed != Time::MAX {
            script.push((rpc.completed, 0, rpc.connection, 0));
        }
    }
    script.sort_by_key(|(at, kind, ..)| (*at, *kind));
    let law = PoolParams::new("carc").ok()?;
    let mut sender = Sender::new(&law, connections, 1 << 16).with_base_rtt(BASE_RTT);
    let shares = Shares { limit: CACHE / LINE, connections, line: LINE, epoch: 0 };
    for one in &record.connections {
        sender.connect(one.start, Some(&Message::Hello { connection: 0, shares })).ok()??;
    }
    let mut posts = vec![Vec::new(); connections as usize];
    let release = |sender: &mut Sender, now, posts: &mut Vec<Vec<Time>>| {
        while let Some(of) = sender.poll(now) {
            posts[of.connection as usize].push(now);
        }
    };
    let wake_before = |sender: &mut Sender, end, posts: &mut Vec<Vec<Time>>| loop {
        let due = |at| sender.account(at).map_or(Time::MAX, Account::due);
        match (0..connections).map(|at| (due(at), at)).min() {
            Some((due, at)) if due < end => {
                sender.wake(due, at);
                release(sender, due, posts);
            }
            _ => break,
        }
    };
    for (token, &(now, kind, at, bytes)) in script.iter().enumerate() {
        wake_before(&mut sender, now, &mut posts);
        if kind == 0 {
            sender.completed(now, at)?;
        } else {
            match sender.post(now, at, bytes, token as u64) {
                Post::Go => posts[at as usize].push(now),
                Post::Wait => {}
                Post::Full => return None,
            }
        }
        release(&mut sender, now, &mut posts);
    }
    wake_before(&mut sender, end + Span::from_ps(1), &mut posts);
    let limits = (0..connections).map(|at| sender.account(at).map_or(0, Account::limit)).collect();
    Some(LibraryRun { counts: *sender.counts(), limits, posts })
}

/// Runs a scenario text with seed 1 to its end. Also gives the logs of its laws, by whose they are.
fn run_logged(name: &str, text: &str, end: f64) -> (RunRecord, BTreeMap<String, Vec<u8>>) {
    let seed = seed(1);
    let scenario = scenario_of(name, text, seed, end);
    let logs = LawLogsInMemory::default();
    let outputs = Outputs { law_logs: Some(&logs), ..Outputs::default() };
    let outcome = simulate_into(&scenario, seed, Options::default(), &Watch::default(), outputs)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    (outcome.record, logs.finish())
}

/// The scenario of a text, which is about to be run.
fn scenario_of(name: &str, text: &str, seed: u64, end: f64) -> Scenario {
    let head = format!(
        "version = 1\nseeds = [{seed}]\nstop = {{ time = \"{}us\" }}\n{text}\n",
        (end * 1e6).round() as u64,
    );
    let scenario = match forebay_scenario::text(name, &head) {
        Ok(loaded) => loaded.scenario,
        Err(error) => panic!("{error}\n{head}"),
    };
    laid_out::begins(&scenario);
    scenario
}
