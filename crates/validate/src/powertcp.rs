//! PowerTCP (NSDI 2022), figure 4: an incast under five schemes.
//!
//! The readings stand at the top of `validation/powertcp/rows.toml`.

use crate::bench::{BenchRun, mean, run};
use crate::jobs::Cores;
use crate::measured::MeasuredRows;
use crate::plot::{Line, Panel, plot};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Scheme {
    PowerTcp,
    Theta,
    Timely,
    Hpcc,
    Homa,
}

/// In the order of the figure.
const SCHEMES: [Scheme; 5] =
    [Scheme::PowerTcp, Scheme::Theta, Scheme::Timely, Scheme::Hpcc, Scheme::Homa];

/// The two incasts: senders, and whether all other servers answer a request with them.
const INCASTS: [(&str, bool); 2] = [("10", false), ("255", true)];

/// When the incast begins, and how long it is looked at; s.
const ONSET: f64 = 5e-3;
const SPAN: f64 = 4e-3;

/// Samples of queue and goodput, s, and how many of them a throughput is the mean of.
const EVERY: f64 = 10e-6;
const MEAN_OF: usize = 10;

/// Payload that the receiver's link carries, Gb/s, and bytes of a base RTT.
const CARRIES: f64 = 25.0 * 1_000.0 / 1_048.0;
const PIPE: f64 = 91_000.0;

/// The receiver and its port.
const RECEIVER: &str = "pod[0].edge[0].host[16]";
const PORT: &str = "pod[0].edge[0]->pod[0].edge[0].host[16]";

/// What one run showed.
struct Outcome {
    /// Longest queue, and mean from 2 to 4 ms after the onset; bytes.
    longest: f64,
    afterwards: f64,
    /// Least throughput over what the link carries.
    least: f64,
    /// Time after the onset, ms, with queue, KB, and with throughput.
    queue: Vec<(f64, f64)>,
    throughput: Vec<(f64, f64)>,
}

/// Runs all rows; nothing here is long enough for a quick run to shorten.
pub(crate) fn measure(cores: &Cores<'_>, draw: bool) -> (MeasuredRows, Vec<(String, String)>) {
    let found: Mutex<BTreeMap<(&str, Scheme), Outcome>> = Mutex::default();
    let mut calls = Vec::new();
    for (name, answers) in INCASTS {
        for scheme in SCHEMES {
            let found = &found;
            calls.push(move || {
                let seen = run("powertcp", &text(scheme, answers), ONSET, ONSET + SPAN);
                let outcome = Outcome::new(&seen);
                found.lock().expect("entering does not panic").insert((name, scheme), outcome);
            });
        }
    }
    cores.call(calls);
    let found = found.into_inner().expect("every worker has ended");
    let mut measured = MeasuredRows::new();
    for (name, _) in INCASTS {
        enter(name, &|scheme| &found[&(name, scheme)], &mut measured);
    }
    let pictures = match draw {
        true => INCASTS.map(|(name, _)| picture(name, &|scheme| &found[&(name, scheme)])).to_vec(),
        false => Vec::new(),
    };
    (measured, pictures)
}

/// The rows of one incast.
fn enter<'a>(name: &str, of: &dyn Fn(Scheme) -> &'a Outcome, measured: &mut MeasuredRows) {
    use Scheme::{Homa, Hpcc, PowerTcp, Theta, Timely};
    let power = of(PowerTcp);
    let id = |what: &str| format!("fig4-{name}-{what}");
    let kb = |scheme| format!("{} {:.0} KB", title(scheme), of(scheme).longest / 1e3);
    let longest = SCHEMES.map(kb).join(", ");
    if name == "10" {
        measured.insert_saying(id("hpcc-queue"), of(Hpcc).longest / power.longest, longest);
        for scheme in [Timely, Homa] {
            let id = id(&format!("{}-queue", word(scheme)));
            measured.insert_ratio(id, of(scheme).afterwards, power.afterwards);
        }
        measured.insert(id("homa-throughput"), of(Homa).least);
    } else {
        let more = (of(Homa).longest - power.longest) / 1e3;
        measured.insert_saying(id("homa-queue"), more, longest);
    }
    for scheme in [Hpcc, Timely] {
        let remark = format!("{:.3} over {:.3}", of(scheme).least, power.least);
        let id = id(&format!("{}-loses", word(scheme)));
        measured.insert_saying(id, of(scheme).least / power.least, remark);
    }
    for scheme in [PowerTcp, Theta] {
        let word = word(scheme);
        measured.insert(id(&format!("{word}-throughput")), of(scheme).least);
        measured.insert(id(&format!("{word}-rest")), of(scheme).afterwards / PIPE);
    }
}

impl Outcome {
    fn new(seen: &BenchRun) -> Self {
        let series = |name: &str| {
            let series = seen.series(name).unwrap_or_else(|| panic!("{name} was not sampled"));
            seen.measured(series).map(|(at, value)| ((at - ONSET) * 1e3, value)).collect()
        };
        let queue: Vec<(f64, f64)> = series(&format!("{PORT} queue"));
        let goodput: Vec<(f64, f64)> = series("goodput of all hosts");
        let late: Vec<f64> =
            queue.iter().filter(|(at, _)| *at >= 2.0).map(|(_, bytes)| *bytes).collect();
        let throughput = throughput(&goodput);
        Self {
            longest: seen.longest_queue(PORT),
            afterwards: mean(&late),
            least: least(&throughput),
            queue: queue.into_iter().map(|(at, bytes)| (at, bytes / 1e3)).collect(),
            throughput,
        }
    }
}

/// Means of 100 us over what the link carries, of samples of ms and Gb/s, each at its end.
fn throughput(goodput: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let one = |of: &[(f64, f64)]| {
        let rates: Vec<f64> = of.iter().map(|(_, gbps)| gbps / CARRIES).collect();
        (of[MEAN_OF - 1].0, mean(&rates))
    };
    goodput.windows(MEAN_OF).map(one).collect()
}

/// The least of those that begin 50 us after the onset or later.
fn least(throughput: &[(f64, f64)]) -> f64 {
    let first = 0.05 + EVERY * 1e3 * MEAN_OF as f64;
    let begun = throughput.iter().filter(|(at, _)| *at > first - EVERY * 1e3 / 2.0);
    begun.map(|(_, rate)| *rate).fold(f64::INFINITY, f64::min)
}

/// Queue and throughput of all schemes over time.
fn picture<'a>(name: &str, of: &dyn Fn(Scheme) -> &'a Outcome) -> (String, String) {
    let lines = |points: fn(&Outcome) -> &Vec<(f64, f64)>| {
        let line =
            |scheme| Line { name: title(scheme), points: points(of(scheme)).clone(), steps: false };
        SCHEMES.into_iter().map(line).collect()
    };
    let most = SCHEMES.map(|scheme| of(scheme).longest / 1e3).into_iter().fold(0.0, f64::max);
    let panel = |label, top, lines| Panel { label, range: (0.0, top), lines, rules: Vec::new() };
    let panels = [
        panel("Queue of the receiver's port, KB", most * 1.05, lines(|one| &one.queue)),
        panel(
            "Throughput over the rate of the link, mean of 100 us",
            1.05,
            lines(|one| &one.throughput),
        ),
    ];
    let title = format!("PowerTCP, figure 4: {name}:1 incast into one long flow");
    let svg = plot(&title, "ms since the incast began", (0.0, SPAN * 1e3), &panels);
    (format!("powertcp-fig4-{name}.svg"), svg)
}

/// As ids of rows have it.
fn word(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::PowerTcp => "powertcp",
        Scheme::Theta => "theta",
        Scheme::Timely => "timely",
        Scheme::Hpcc => "hpcc",
        Scheme::Homa => "homa",
    }
}

/// As pictures have it.
fn title(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::PowerTcp => "PowerTCP",
        Scheme::Theta => "theta-PowerTCP",
        Scheme::Timely => "TIMELY",
        Scheme::Hpcc => "HPCC",
        Scheme::Homa => "Homa",
    }
}

/// The scenario of an incast.
fn text(scheme: Scheme, answers: bool) -> String {
    let (classes, pause, host, transport) = match scheme {
        Scheme::Homa => (
            8,
            "",
            "[host]\nnic = \"srpt\"\n",
            "kind = \"receiver-driven\"\nlaw = \"homa\"\npriorities = 8\nack_class = 7\nmss = \"1000B\"\nwindow = \"91KB\"\n\
             routing = \"spray\"\nparams = { overcommit = 1 }\n"
                .to_string(),
        ),
        _ => (
            2,
            "pause = { classes = [0] }\n",
            "",
            format!(
                "kind = \"rdma\"\ntelemetry = \"0B\"\nbase_rtt = \"29.1us\"\nack_class = 1\ncnp_class = 1\n{}",
                law(scheme)
            ),
        ),
    };
    format!(
        "[fabric]\nkind = \"clos\"\npods = 4\nedges_per_pod = 2\naggs_per_pod = 2\ncores = 2\nhosts_per_edge = 32\n\
         host_link = {{ rate = \"25Gbps\", delay = \"1us\" }}\nfabric_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
         override = [{{ where = \"pod[*].agg[*]-core[*]\", delay = \"5us\" }}]\nwire_overhead = \"0B\"\n\
         [fabric.switch]\nclasses = {classes}\nbuffer = {{ size = \"4MB\", alpha = 1.0 }}\necn = \"off\"\n{pause}{host}\
         [transport]\nheader = \"48B\"\n{transport}{}\
         [output]\nqueues = {{ every = \"10us\", where = \"pod[0].edge[0]\" }}\n",
        traffic(answers)
    )
}

/// Law and settings.
fn law(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::PowerTcp => {
            "law = \"powertcp\"\nparams = { form = \"int\", gamma = 0.9, flows = 10 }\n"
        }
        Scheme::Theta => {
            "law = \"powertcp\"\nparams = { form = \"delay\", gamma = 0.9, flows = 10 }\n"
        }
        Scheme::Timely => "law = \"timely\"\nparams = { form = \"plain\" }\n",
        Scheme::Hpcc => "law = \"hpcc\"\nparams = { eta = 0.95, max_stage = 5, w_ai = \"182B\" }\n",
        Scheme::Homa => unreachable!("its transport is another"),
    }
}

/// A long flow, ten more at the onset, and with `answers` 2,800 B of every other server.
fn traffic(answers: bool) -> String {
    let mut flows = String::new();
    let mut flow = |from: &str, size: &str, at: &str| {
        let _ = writeln!(
            flows,
            "  {{ from = \"{from}\", to = \"{RECEIVER}\", size = \"{size}\", at = \"{at}\" }},"
        );
    };
    flow("pod[0].edge[0].host[0]", "100MB", "0s");
    (1..=10).for_each(|host| flow(&format!("pod[0].edge[0].host[{host}]"), "100MB", "5ms"));
    for (edge, host) in (0..8).flat_map(|edge| (0..32).map(move |host| (edge, host))) {
        let from = format!("pod[{}].edge[{}].host[{host}]", edge / 2, edge % 2);
        if answers && from != RECEIVER {
            flow(&from, "2800B", "5ms");
        }
    }
    format!("[[traffic]]\nkind = \"list\"\nflows = [\n{flows}]\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half the rate for 200 us is a mean of half, for 50 us one of three quarters.
    #[test]
    fn a_dip_counts_by_its_share_of_a_tenth_of_a_millisecond() {
        let dip = |from: f64, to: f64| -> f64 {
            let sample = |i: u32| {
                let at = f64::from(i) * 0.01;
                let low = at > from + 0.001 && at < to + 0.001;
                (at, if low { CARRIES / 2.0 } else { CARRIES })
            };
            least(&throughput(&(1..=400).map(sample).collect::<Vec<_>>()))
        };
        assert!((dip(1.0, 1.0) - 1.0).abs() < 1e-12);
        assert!((dip(1.0, 1.2) - 0.5).abs() < 1e-12);
        assert!((dip(1.0, 1.05) - 0.75).abs() < 1e-12);
        // What ends 60 us after the onset is in one window of ten samples with its last one alone.
        assert!((dip(0.0, 0.06) - 0.95).abs() < 1e-12);
    }

    #[test]
    fn every_incast_is_a_scenario() {
        for (name, answers) in INCASTS {
            for scheme in SCHEMES {
                let text = text(scheme, answers);
                let text = format!("version = 1\nstop = {{ time = \"9ms\" }}\n{text}");
                let loaded = forebay_scenario::text("x", &text);
                loaded.unwrap_or_else(|error| panic!("{error}\n{text}"));
                let flows = text.matches("from = ").count();
                assert_eq!(flows, if name == "10" { 11 } else { 11 + 255 }, "{name}");
            }
        }
    }
}
