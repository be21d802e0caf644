//! What follows from the two loops: windows of credits, shares by flows, the queue that the rate law settles at, and its peaks.

use super::lab::{Lab, longest_voq, sent_of_queues};
use super::setup::{
    BUNDLES, DOWN, LINE, PACED, PACKET, Scheme, Setup, V_HIGH, Wiring, advance, bursts, dealt, long,
};
use crate::bench::run;
use crate::measured::MeasuredRows;
use forebay_record::jain;

/// C0 with which one rack alone can fill the port.
const AMPLE: &str = "40KB";

/// Seconds of a run, and of the part before what counts.
const SPAN: (f64, f64) = (1e-3, 3e-3);

/// Sends from the first hosts of a rack.
fn from(rack: &str, hosts: u32) -> impl Iterator<Item = String> + '_ {
    (0..hosts).map(move |i| format!("{rack}.host[{i}]"))
}

/// Two line-rate hosts of one rack: what credits alone let through.
pub(super) fn single(bundle: &'static str, measured: &mut MeasuredRows) {
    let cases = [
        ("10-8", "10KB", "pod[1].edge[0]"),
        ("10-4", "10KB", "pod[0].edge[1]"),
        ("25-8", "25KB", "pod[1].edge[0]"),
    ];
    for (case, c0, rack) in cases {
        let traffic = long(from(rack, 2));
        let setup =
            Setup { c0: Some(c0), ..Setup::new(Scheme::HierCc(bundle), Wiring::Four, traffic) };
        let seen = run("hiercc", &setup.text(), SPAN.0, SPAN.1);
        let rate = seen.sent_bytes("pod[0].edge[0]->pod[0].edge[0].host[0]") * 8.0 / seen.seconds();
        measured.insert(format!("law-single-{case}-{bundle}"), rate / 1e9);
    }
}

/// Racks with 3 flows and with 1.
pub(super) fn fair(bundle: &'static str, measured: &mut MeasuredRows) {
    let traffic = long(from("pod[1].edge[0]", 3).chain(from("pod[1].edge[1]", 1)));
    let setup =
        Setup { c0: Some(AMPLE), ..Setup::new(Scheme::HierCc(bundle), Wiring::Four, traffic) };
    let seen = run("hiercc", &setup.text(), SPAN.0, SPAN.1);
    let credited = |state: &forebay_sim::Inspection| -> Vec<f64> {
        let racks = state.racks.iter().flat_map(|rack| &rack.queues);
        racks.map(|voq| voq.credited as f64).collect()
    };
    let (before, after) = (credited(&seen.before), credited(&seen.after));
    measured.insert(
        format!("law-fair-split-{bundle}"),
        (after[0] - before[0]) / (after[1] - before[1]),
    );
    let pairs = seen.before.senders.iter().zip(&seen.after.senders);
    let rates: Vec<f64> = pairs.map(|(a, b)| (b.acked - a.acked) as f64).collect();
    measured.insert(format!("law-fair-jain-{bundle}"), jain(&rates).unwrap_or(0.0));
    let rate = seen.sent_bytes("pod[0].edge[0]->pod[0].edge[0].host[0]") * 8.0 / seen.seconds();
    measured.insert(format!("law-fair-flow-{bundle}"), rate / 4e9);
}

/// Hosts of one rack send together to one of another rack of the pod.
pub(super) fn hop(bundle: &'static str, measured: &mut MeasuredRows) {
    let mut drops = 0.0;
    for flows in [2, 4, 8, 16] {
        let lab = Lab::new(&hop_setup(bundle, flows).text(), SPAN.1 / 4.0, SPAN.1);
        if bundle != "literal" {
            measured.insert(
                format!("law-hop-queue-{flows}-{bundle}"),
                lab.mean(0.0, |sample| sample.voq / 1e3),
            );
            let sent = sent_of_queues(&lab.seen.after) - sent_of_queues(&lab.seen.before);
            let rate = sent * 8.0 / lab.seen.seconds();
            measured.insert(format!("law-hop-rate-{flows}-{bundle}"), rate / 1e9);
        } else if flows == 16 {
            let voqs = || lab.samples.iter().map(|sample| sample.voq / 1e3);
            measured.insert("law-hop-cycle-low-literal", voqs().fold(f64::MAX, f64::min));
            measured.insert("law-hop-cycle-high-literal", voqs().fold(0.0, f64::max));
        }
        if flows > 2 {
            let longest = longest_voq(&lab.seen);
            measured.insert(format!("law-peak-{flows}-{bundle}"), longest / 1e3);
            measured.insert(
                format!("law-peak-bound-{flows}-{bundle}"),
                longest / voq_bound(flows.into()),
            );
            drops += lab.seen.lost();
        }
    }
    measured.insert(format!("law-peak-drops-{bundle}"), drops);
}

/// So many hosts of a rack, one long flow each.
pub(super) fn hop_setup(bundle: &'static str, flows: u32) -> Setup {
    let traffic = long(from("pod[0].edge[1]", flows));
    Setup { c0: Some(AMPLE), ..Setup::new(Scheme::HierCc(bundle), Wiring::Four, traffic) }
}

/// What a queue by destination can hold at most: the threshold of stops, and what line-rate hosts send in a round trip of the
/// first hop and while STOP is sent, and two packets of each; bytes.
pub(super) fn voq_bound(hosts: f64) -> f64 {
    V_HIGH + hosts * (LINE * 2e-6 / 8.0 + 84.0 + 2.0 * PACKET)
}

/// New aggregates of 16 racks, one host each: the bound of the receiver's queue.
pub(super) fn new_aggregates(bundle: &'static str, measured: &mut MeasuredRows) {
    let output = "[output]\nqueues = { every = \"1us\", where = \"pod[0].edge[0]\" }\n";
    let rest = long((0..16).map(dealt)) + output;
    let setup = Setup::new(Scheme::HierCc(bundle), Wiring::Twenty, rest);
    let seen = run("hiercc", &setup.text(), 1e-3, 2e-3);
    let bound = 16.0 * advance(bundle);
    measured.insert(format!("text-bound-reached-{bundle}"), seen.longest_queue(DOWN) / bound);
    let queue = seen.series(&format!("{DOWN} queue")).expect("it is sampled");
    measured.insert(format!("text-only-when-new-{bundle}"), seen.mean_of(queue) / bound);
    let rate = seen.sent_bytes(DOWN) * 8.0 / seen.seconds();
    measured.insert(format!("text-utilisation-{bundle}"), rate / 1e9);
}

/// A flow of 10 KB alone, with and without queues by destination.
pub(super) fn first_round_trip(measured: &mut MeasuredRows) {
    let fct = |scheme| {
        let traffic = bursts(&["pod[1].edge[0].host[0]".into()], "10KB", &["0us"]);
        let seen = run("hiercc", &Setup::new(scheme, Wiring::Four, traffic).text(), 0.0, 1e-3);
        seen.record.flows[0].fct().map_or(f64::NAN, |fct| fct.as_secs_f64())
    };
    let without = fct(Scheme::Dcqcn);
    for bundle in BUNDLES.into_iter().chain([PACED]) {
        let ratio = fct(Scheme::HierCc(bundle)) / without;
        measured.insert(format!("text-first-rtt-{bundle}"), ratio);
    }
}

/// From the first byte of a packet of one byte of payload to its ACK, on an empty fabric.
pub(super) fn round_trip(measured: &mut MeasuredRows) {
    for (delay, end) in [("1us", ""), ("500ns", "-half")] {
        let traffic = bursts(&[dealt(0)], "1B", &["0us"]);
        let setup = Setup { delay, ..Setup::new(Scheme::Dcqcn, Wiring::Twenty, traffic) };
        let seen = run("hiercc", &setup.text(), 0.0, 1e-3);
        if let Some(rtt) = seen.record.flows[0].fct_acked() {
            measured.insert(format!("text-rtt{end}"), rtt.as_secs_f64() * 1e6);
        }
    }
}
