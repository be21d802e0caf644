//! Claims of the deck that come without a table. One star around one router in most of them: hosts 1 to n send to host 0.

use super::settings::{Law, Settings, Stack};
use super::star::{PORT, bulk, rpcs, star};
use crate::bench::{BenchRun, Times, run, run_looking};
use crate::jobs::Job;
use crate::measured::MeasuredRows;
use forebay_record::{Quantity, Series};
use std::ops::RangeInclusive;

/// Most a flow can carry of a link: payload over packet.
const PAYLOAD: f64 = 1448.0 / 1500.0;

/// All of them, the longest first.
pub(super) fn jobs(settings: &Settings, quick: bool) -> Vec<Job> {
    let s = *settings;
    let mut jobs: Vec<Job> = Vec::new();
    for rtt in [100_000, 10_000, 1_000, 100, 50] {
        jobs.push(Box::new(move |all| range(rtt, &s, quick, all)));
    }
    // A sixth of all quick runs, for a row whose verdict seeds decide.
    if !quick {
        jobs.push(Box::new(move |all| thousand_hosts(&s, all)));
    }
    jobs.push(Box::new(move |all| mixed(&s, quick, all)));
    jobs.push(Box::new(move |all| loss_free(&s, quick, all)));
    jobs.push(Box::new(move |all| reverse(&s, quick, all)));
    jobs.push(Box::new(move |all| offload(&s, quick, all)));
    jobs.push(Box::new(move |all| slope(&s, all)));
    jobs.push(Box::new(move |all| bursts(&s, quick, all)));
    jobs.push(Box::new(move |all| short(&s, quick, all)));
    jobs.push(Box::new(move |all| short_alone(&s, quick, all)));
    for each in [4, 1] {
        jobs.push(Box::new(move |all| unfair(each, &s, quick, all)));
    }
    jobs
}

/// What the sampled flows of a host get together in the measured part, in Gb/s.
fn rate(seen: &BenchRun, from: &str) -> f64 {
    let label = format!(" {from}->");
    let own = |s: &&Series| s.quantity == Quantity::FlowRate && s.name.contains(&label);
    seen.record.series.iter().filter(own).map(|series| seen.mean_of(series)).sum()
}

/// An NV flow beside a BIC flow, as near to the receiver as it and much nearer.
fn mixed(settings: &Settings, quick: bool, all: &mut MeasuredRows) {
    let share = |far: bool, warm: f64, end: f64| {
        let distance = if far {
            "[[fabric.override]]\nwhere = \"host[2]-tor\"\ndelay = \"9900us\"\n"
        } else {
            ""
        };
        let text = format!(
            "{}{distance}{}{}{}[output]\nflows = {{ every = \"1ms\" }}\n",
            star(3, 100, &format!("{}KB", settings.buffer_kb)),
            Stack::new(Law::Nv, settings).text(),
            bulk(1..=1, ""),
            bulk(2..=2, &Law::Bic.keys(settings, "")),
        );
        let seen = run("tcp-nv-mixed", &text, warm, end);
        let (nv, bic) = (rate(&seen, "host[1]"), rate(&seen, "host[2]"));
        nv / (nv + bic)
    };
    let end = if quick { 0.6 } else { 5.0 };
    all.insert("mix-nv-share", share(false, 0.3, end));
    all.insert("mix-nv-near-bic-far", share(true, 0.3, end));
}

/// How many flows run without a loss once they have started.
fn loss_free(settings: &Settings, quick: bool, all: &mut MeasuredRows) {
    let end = if quick { 0.3 } else { 1.2 };
    let lossless = |flows: u32, buffer: &str| {
        let text = format!(
            "{}{}{}",
            star(flows + 1, 100, buffer),
            Stack::new(Law::Nv, settings).text(),
            bulk(1..=flows, "")
        );
        run("tcp-nv-flows", &text, 0.2, end).dropped_and_sent(PORT).0 == 0.0
    };
    let most = |buffer: &str, mut too_many: u32| {
        let mut fits = 1;
        while too_many - fits > 4 {
            let middle = u32::midpoint(fits, too_many);
            if lossless(middle, buffer) { fits = middle } else { too_many = middle }
        }
        f64::from(fits)
    };
    let (large, small) = (most("1200KB", 512), most("600KB", 256));
    all.insert("flows-1200KB", large);
    all.insert("flows-buffer", large / small);
}

/// Four NV flows whose ACKs share ports with BIC flows.
fn reverse(settings: &Settings, quick: bool, all: &mut MeasuredRows) {
    let end = if quick { 0.3 } else { 2.0 };
    let goodput = |congested: bool, switch: &str, keys: &str, params: &str| {
        let mut against = String::new();
        for i in 1..=4 {
            against += &format!(
                "[[traffic]]\nkind = \"long\"\nfrom = \"host[{}]\"\nto = \"host[{i}]\"\n{}",
                i + 4,
                Law::Bic.keys(settings, "")
            );
        }
        let text = format!(
            "{}{switch}{}{}{}[output]\nflows = {{ every = \"1ms\", where = [\"host[1]\", \"host[2]\", \"host[3]\", \"host[4]\"] }}\n",
            star(9, 100, &format!("{}KB", settings.buffer_kb)),
            Stack { keys, params, ..Stack::new(Law::Nv, settings) }.text(),
            bulk(1..=4, ""),
            if congested { &against } else { "" },
        );
        let seen = run("tcp-nv-reverse", &text, 0.2, end);
        (1..=4).map(|i| rate(&seen, &format!("host[{i}]"))).sum::<f64>()
    };
    let free = goodput(false, "", "", "");
    let congested = goodput(true, "", "", "");
    let first = goodput(true, "classes = 2\n", "ack_class = 1\n", "");
    let bounded = goodput(true, "", "", ", min_cwnd = 40");
    all.insert("reverse-nv", congested / free);
    let stamped = goodput(true, "", "", ", reverse_delay = \"removed\"");
    all.insert("reverse-nv-ack-priority", first / free);
    all.insert("reverse-nv-stamps", stamped / free);
    all.insert("reverse-nv-floor", bounded / congested);
}

/// A flow that may have 20 segments in flight, and one that may have 40, where the path holds 86.
fn slope(settings: &Settings, all: &mut MeasuredRows) {
    let [one, two] = [20, 40].map(|segments| {
        let window = format!("receive_window = \"{}B\"\n", segments * 1448);
        let text = format!(
            "{}{}{}[output]\nflows = {{ every = \"1ms\" }}\n",
            star(2, 100, &format!("{}KB", settings.buffer_kb)),
            Stack { keys: &window, ..Stack::new(Law::Nv, settings) }.text(),
            bulk(1..=1, ""),
        );
        rate(&run("tcp-nv-slope", &text, 0.1, 0.2), "host[1]")
    });
    all.insert_saying("slope-double", two / one, format!("{two:.3} over {one:.3} Gb/s"));
}

/// One NV flow with the offloads of a real host.
fn offload(settings: &Settings, quick: bool, all: &mut MeasuredRows) {
    let end = if quick { 0.35 } else { 2.0 };
    let run_with = |host: &str, settings: &Settings| {
        let text = format!(
            "{}{}{}[output]\nflows = {{ every = \"1ms\" }}\n",
            star(2, 100, &format!("{}KB", settings.buffer_kb)),
            Stack { host, ..Stack::new(Law::Nv, settings) }.text(),
            bulk(1..=1, ""),
        );
        run("tcp-nv-offload", &text, 0.2, end)
    };
    let goodput = |host: &str, settings: &Settings| rate(&run_with(host, settings), "host[1]");
    let host = "profile = \"linux\"\nrx_usecs = \"100us\"\n";
    let plain = goodput("", settings);
    let offloaded = run_with(host, settings);
    all.insert("offload-one-flow", rate(&offloaded, "host[1]") / plain);
    let acks = offloaded.dropped_and_sent("host[0]->tor").1 / offloaded.seconds();
    let rtt = offloaded.mean_of_flows(Quantity::RoundTrip, |us| us * 1e-6);
    let remark = format!("{acks:.0} ACKs a second, a round trip of {:.0} us", rtt * 1e6);
    all.insert_saying("offload-acks-per-rtt", acks * rtt, remark);
    all.insert(
        "offload-one-flow-inflated",
        goodput(host, &Settings { pad: 300, ..*settings }) / plain,
    );
}

/// Large RPCs with and without pacing where the round trip is long, and without where it is short.
fn bursts(settings: &Settings, quick: bool, all: &mut MeasuredRows) {
    let end = if quick { 0.5 } else { 4.0 };
    let drops = |rtt: u32, host: &str| {
        let text = format!(
            "{}{}{}",
            star(9, rtt, &format!("{}KB", settings.buffer_kb)),
            Stack { host, ..Stack::new(Law::Nv, settings) }.text(),
            rpcs(1..=8, "1MB", ""),
        );
        let seen = run("tcp-nv-bursts", &text, 0.3, end);
        seen.dropped_and_sent(PORT).0 / seen.seconds()
    };
    // Of 10 ms a quick run is too short: no window overflows the buffer.
    let distant = [("pacing-5ms", 5_000), ("pacing-10ms", 10_000)];
    for (id, rtt) in distant.into_iter().take(if quick { 1 } else { 2 }) {
        all.insert_ratio(id, drops(rtt, "pacing = \"internal\"\n"), drops(rtt, ""));
    }
    all.insert("pacing-500us", drops(500, ""));
    all.insert("pacing-100us", drops(100, ""));
}

/// RPCs of ten packets, which are over before NV knows anything.
fn short(settings: &Settings, quick: bool, all: &mut MeasuredRows) {
    let end = if quick { 0.35 } else { 2.0 };
    let [bic, nv] = Law::BOTH.map(|law| {
        let text = format!(
            "{}{}{}",
            star(65, 100, &format!("{}KB", settings.buffer_kb)),
            Stack::new(law, settings).text(),
            rpcs(1..=64, "14480B", ""),
        );
        run("tcp-nv-short", &text, 0.2, end).dropped_and_sent(PORT).0
    });
    all.insert_ratio("short-rpc", nv, bic);
}

/// Short RPCs, each a flow of its own. A host's next flow starts when its last is delivered.
fn short_alone(settings: &Settings, quick: bool, all: &mut MeasuredRows) {
    let rounds = if quick { 100 } else { 500 };
    let mut flows = String::from("[[traffic]]\nkind = \"list\"\nflows = [\n");
    for round in 0..rounds {
        for host in 1..=64 {
            let start = match round {
                0 => String::new(),
                _ => format!(", after = \"{host}-{round}\""),
            };
            flows += &format!(
                "{{ from = \"host[{host}]\", to = \"host[0]\", size = \"14480B\"{start}, fires = \"{host}-{}\" }},\n",
                round + 1
            );
        }
    }
    let [bic, nv] = Law::BOTH.map(|law| {
        let text = format!(
            "{}{}{flows}]\n",
            star(65, 100, &format!("{}KB", settings.buffer_kb)),
            Stack::new(law, settings).text(),
        );
        let times = Times::by_flows(0.0, 10.0);
        let seen = run_looking("tcp-nv-short", &text, 1, times, [], |_| {});
        seen.dropped_and_sent(PORT).0
    });
    let remark = format!("{bic} and {nv} packets dropped in {} flows", rounds * 64);
    all.insert_of("short-rpc-new", nv / bic, ("drops", [nv, bic]), remark);
}

/// So many flows beside as many whose round trips are ten times as long, a host each.
fn unfair(each: u32, settings: &Settings, quick: bool, all: &mut MeasuredRows) {
    let end = if quick { 0.8 } else { 5.0 };
    let (near, far) = (1..=each, each + 1..=2 * each);
    let distances: String = far
        .clone()
        .map(|i| format!("[[fabric.override]]\nwhere = \"host[{i}]-tor\"\ndelay = \"474375ns\"\n"))
        .collect();
    for law in Law::BOTH {
        let text = format!(
            "{}{distances}{}{}[output]\nflows = {{ every = \"1ms\" }}\n",
            star(2 * each + 1, 100, &format!("{}KB", settings.buffer_kb)),
            Stack::new(law, settings).text(),
            bulk(1..=2 * each, ""),
        );
        let seen = run("tcp-nv-unfair", &text, 0.3, end);
        let sum = |hosts: &RangeInclusive<u32>| -> f64 {
            hosts.clone().map(|i| rate(&seen, &format!("host[{i}]"))).sum()
        };
        let many = if each > 1 { "-many" } else { "" };
        all.insert(format!("unfair-rtt-{}{many}", law.id()), sum(&near) / sum(&far));
    }
}

/// Eight bulk flows at another round trip, with a buffer of one bandwidth-delay product or more.
fn range(rtt_us: u32, settings: &Settings, quick: bool, all: &mut MeasuredRows) {
    let buffer = (u64::from(rtt_us) * 1250).max(512_000);
    // A hundred round trips to settle, and as long again.
    let rounds = f64::from(rtt_us) * 1e-6 * if quick { 30.0 } else { 100.0 };
    let warm = rounds.max(if quick { 0.1 } else { 0.2 });
    let text = format!(
        "{}{}{}[output]\nflows = {{ every = \"1ms\" }}\n",
        star(9, rtt_us, &format!("{buffer}B")),
        Stack::new(Law::Nv, settings).text(),
        bulk(1..=8, ""),
    );
    let seen = run("tcp-nv-range", &text, warm, 2.0 * warm);
    let sum: f64 = (1..=8).map(|i| rate(&seen, &format!("host[{i}]"))).sum();
    let label =
        if rtt_us < 1_000 { format!("{rtt_us}us") } else { format!("{}ms", rtt_us / 1_000) };
    all.insert(format!("rtt-{label}"), sum / (10.0 * PAYLOAD));
}

/// A thousand hosts that send 100 KB to random others.
fn thousand_hosts(settings: &Settings, all: &mut MeasuredRows) {
    let end = 0.04;
    let [bic, nv] = Law::BOTH.map(|law| {
        let text = format!(
            "[fabric]\nkind = \"leaf-spine\"\nleaves = 25\nspines = 10\nhosts_per_leaf = 40\n\
             host_link = {{ rate = \"10Gbps\", delay = \"5us\" }}\nfabric_link = {{ rate = \"40Gbps\", delay = \"5us\" }}\n\
             [fabric.switch]\nbuffer = \"none\"\nport_limit = \"175KB\"\necn = \"off\"\nrelease = \"start\"\n{}\
             [[traffic]]\nkind = \"poisson\"\nsizes = \"100KB\"\nload = 0.8\nload_ref = \"host\"\n",
            Stack::new(law, settings).text()
        );
        run("tcp-nv-hosts", &text, end / 4.0, end).dropped()
    });
    all.insert("hosts-1000", nv / bic);
}
