//! NDP (SIGCOMM 2017): outcasts, incasts and a permutation, as its authors' simulator and notes have them.
//!
//! The readings stand at the top of `validation/ndp/rows.toml`.

use crate::bench::{BenchRun, Times, mean, run, run_looking};
use crate::jobs::Cores;
use crate::measured::MeasuredRows;
use forebay_record::FlowRow;
use forebay_sim::Inspection;
use std::fmt::Write;
use std::sync::Mutex;

/// Payload and size of a full packet, bytes.
const PAYLOAD: f64 = 8_936.0;
const PACKET: f64 = 9_000.0;

/// Bits per second of every link.
const LINE: f64 = 10e9;

/// Racks and their hosts.
const RACKS: u32 = 8;
const RACK: u32 = 16;

/// Flows into one host.
const INCASTS: [u32; 3] = [12, 48, 100];

/// Payload of a flow of an incast, and of the permutation.
const SHORT: f64 = 450e3;
const LONG: f64 = 16e6;

/// Hosts of the outcast: A, B, C, D, E and F.
const FLOWS: [(&str, u32, u32); 5] =
    [("a-b", 0, 1), ("a-c", 0, 2), ("a-d", 0, 3), ("a-e", 0, 4), ("f-e", 5, 4)];

/// Enters rows. Returns packets of data that were lost.
type Run = Box<dyn FnOnce(&mut MeasuredRows) -> f64 + Send>;

/// Runs all rows: some seconds of CPU, so that a quick run is no shorter.
pub(crate) fn measure(cores: &Cores<'_>) -> MeasuredRows {
    let mut runs: Vec<Run> = vec![Box::new(permutation), Box::new(outcast)];
    runs.extend(INCASTS.map(|flows| -> Run { Box::new(move |measured| incast(flows, measured)) }));
    let all = Mutex::new((MeasuredRows::new(), 0.0));
    let calls = runs.into_iter().map(|run| {
        let all = &all;
        move || {
            let mut own = MeasuredRows::new();
            let lost = run(&mut own);
            let mut all = all.lock().expect("entering does not panic");
            all.0.extend(own);
            all.1 += lost;
        }
    });
    cores.call(calls.collect());
    let (mut measured, lost) = all.into_inner().expect("every worker has ended");
    measured.insert("low-drops", lost);
    measured
}

fn text(fabric: &str, traffic: &str) -> String {
    format!(
        "[fabric]\n{fabric}host_link = {{ rate = \"10Gbps\", delay = \"1us\" }}\nrouting = \"source\"\n\
         [fabric.switch]\nbuffer = \"none\"\nclasses = 2\nturns = {{ high = 10, low = 1 }}\n\
         limits = [{{ class = 0, size = \"8 packets\", over = {{ trim_to = \"64B\", class = 1 }} }}, {{ class = 1, size = \"72000B\" }}]\n\
         [transport]\nkind = \"receiver-driven\"\nlaw = \"ndp\"\nmss = \"8936B\"\nheader = \"64B\"\nack_class = 1\nwindow = \"23 packets\"\n{traffic}"
    )
}

fn racks(traffic: &str) -> String {
    let fabric = format!(
        "kind = \"leaf-spine\"\nleaves = {RACKS}\nspines = {RACK}\nhosts_per_leaf = {RACK}\nfabric_link = {{ rate = \"10Gbps\", delay = \"1us\" }}\n"
    );
    text(&fabric, traffic)
}

/// Name of a host of the racks.
fn host(nth: u32) -> String {
    format!("leaf[{}].host[{}]", nth / RACK, nth % RACK)
}

/// Seconds of each flow, ascending.
fn took(seen: &BenchRun) -> Vec<f64> {
    let end = seen.record.end;
    let took = |flow: &FlowRow| flow.fct().unwrap_or_else(|| end.since(flow.start)).as_secs_f64();
    let mut all: Vec<f64> = seen.record.flows.iter().map(took).collect();
    all.sort_by(f64::total_cmp);
    all
}

/// Flows of as many hosts into the first, all at once.
fn incast(flows: u32, measured: &mut MeasuredRows) -> f64 {
    let mut list = String::from("[[traffic]]\nkind = \"list\"\nflows = [\n");
    for from in 1..=flows {
        let _ = writeln!(
            list,
            "  {{ from = \"{}\", to = \"{}\", size = \"{SHORT}B\", at = \"0s\" }},",
            host(from),
            host(0)
        );
    }
    let alone = f64::from(flows) * SHORT * 8.0 / LINE;
    let times = Times::by_flows(0.0, 10.0 * alone);
    let seen = run_looking("ndp", &racks(&format!("{list}]\n")), 1, times, [], |_| {});
    let took = took(&seen);
    let (first, last) = (took[0], took[took.len() - 1]);
    measured.insert(format!("incast-last-{flows}"), last / alone);
    measured.insert(format!("incast-first-{flows}"), 100.0 * (1.0 - first / last));
    seen.lost()
}

/// A flow from and to each host.
fn permutation(measured: &mut MeasuredRows) -> f64 {
    let traffic = format!("[[traffic]]\nkind = \"permutation\"\nsize = \"{LONG}B\"\n");
    let alone = LONG * 8.0 / LINE * PACKET / PAYLOAD;
    let times = Times::by_flows(0.0, 10.0 * alone);
    let seen = run_looking("ndp", &racks(&traffic), 1, times, [], |_| {});
    let shares: Vec<f64> = took(&seen).iter().map(|took| alone / took).collect();
    measured.insert("permutation", mean(&shares));
    seen.lost()
}

/// One host sends to four others, and a second host to the last of these.
fn outcast(measured: &mut MeasuredRows) -> f64 {
    let long = |(_, from, to): (&str, u32, u32)| {
        format!("[[traffic]]\nkind = \"long\"\nfrom = \"host[{from}]\"\nto = \"host[{to}]\"\n")
    };
    let traffic: String = FLOWS.into_iter().map(long).collect();
    let seen = run("ndp", &text("kind = \"star\"\nhosts = 6\n", &traffic), 5e-3, 20e-3);
    let acked = |seen: &Inspection, flow: u32| {
        let sender = seen.senders.iter().find(|sender| sender.flow == flow);
        sender.expect("flows are endless").acked as f64
    };
    // Flows have their numbers by their starts, entries of the traffic theirs by the text.
    for (entry, (id, ..)) in (0..).zip(FLOWS) {
        let row = seen.record.flows.iter().find(|row| row.traffic == entry);
        let flow = row.expect("a flow for each entry").flow;
        let bytes = acked(&seen.after, flow) - acked(&seen.before, flow);
        measured.insert(format!("outcast-{id}"), bytes * 8e-9 / seen.seconds());
    }
    seen.lost()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_fabrics_are_scenarios() {
        let long = |from: &str, to: &str| {
            format!("[[traffic]]\nkind = \"long\"\nfrom = \"{from}\"\nto = \"{to}\"\n")
        };
        let star = text("kind = \"star\"\nhosts = 6\n", &long("host[0]", "host[5]"));
        let racks = racks(&long(&host(0), &host(RACKS * RACK - 1)));
        for text in [star, racks] {
            let text = format!("version = 1\nstop = {{ time = \"1ms\" }}\n{text}");
            forebay_scenario::text("x", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        }
    }
}
