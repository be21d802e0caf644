//! The rack tests: two hosts send to a third at 1 Gb/s, without and with link flow control.

use super::settings::{Law, Settings, Stack};
use crate::bench::run;
use crate::measured::MeasuredRows;
use forebay_record::Quantity;

/// Settings that the deck leaves open here; rows of this file are `assumed`.
const BUFFER: &str = "256KB";
const SOCKET: &str = "1MiB";
/// One packet time at 1 Gb/s.
pub(super) const JITTER: &str = "12us";
/// Chance in the gaps of a sender, whose packets would else come as fast as a full queue drains: at eight flows each one host had 2 Mb/s and
/// the other 948.
const GAPS: &str = "tx_jitter = \"1us\"\n";
/// NV measures its slope once. With every 5 s, as its law does by default, a flow takes what stands in the queue for part of the path, and adds its pad again.
const NV: &str = ", slope_refresh = \"60s\"";
/// Keys of a host with the offloads of a real one; the sorting has the same.
pub(super) const HOST: &str = "profile = \"linux\"\nrx_usecs = \"20us\"\n";

struct Cell {
    window: f64,
    rtt: f64,
    rate: f64,
    loss: f64,
    /// Longest queue of a sender's NIC, bytes.
    waiting: f64,
    events: Events,
}

/// What the processor of a sender works on, per second.
struct Events {
    packets: f64,
    acks: f64,
    again: f64,
}

/// Microseconds of a sender's processor for a packet of data, an ACK that comes or a retransmission: what gives the deck's busy share with one NV
/// flow per host and no flow control.
const COST: f64 = 0.572;

impl Events {
    /// Share of a processor, per cent.
    fn busy(&self) -> f64 {
        1e-4 * COST * (self.packets + self.acks + self.again)
    }

    fn said(&self) -> String {
        let Self { packets, acks, again } = self;
        format!("{packets:.0} packets, {acks:.0} ACKs, {again:.0} retransmissions per second")
    }
}

/// Rows of one number of flows per host.
pub(super) fn measure(
    per_host: u32,
    pause: bool,
    settings: &Settings,
    quick: bool,
    all: &mut MeasuredRows,
) {
    let test = if pause { "pause" } else { "rack" };
    let cells = Law::BOTH.map(|law| cell(law, per_host, pause, settings, quick));
    for (law, cell) in Law::BOTH.iter().zip(&cells) {
        let id = |what: &str| format!("{test}-{per_host}-{}-{what}", law.id());
        all.insert(id("cwnd"), cell.window);
        all.insert(id("rtt"), cell.rtt);
        all.insert(id("rate"), cell.rate);
        all.insert_saying(id("busy"), cell.events.busy(), cell.events.said());
        if !pause {
            all.insert(id("loss"), cell.loss);
        }
    }
    let [bic, nv] = &cells;
    all.insert(format!("{test}-{per_host}-order-cwnd"), nv.window / bic.window);
    all.insert(format!("{test}-{per_host}-order-rtt"), nv.rtt / bic.rtt);
    all.insert(format!("{test}-{per_host}-order-rate"), nv.rate / bic.rate);
    all.insert(format!("{test}-{per_host}-order-busy"), nv.events.busy() / bic.events.busy());
    if !pause {
        all.insert_ratio(format!("{test}-{per_host}-order-loss"), nv.loss, bic.loss);
    } else if per_host == 8 {
        // A full packet takes 12.3 us at 1 Gb/s with its preamble, gap and check sum.
        let [of_bic, of_nv] = [bic.waiting / 1e3, nv.waiting / 1e3];
        let remark = format!("{of_nv:.0} KB under NV, {of_bic:.0} KB under BIC");
        let happened = ("queue at a sender's port", [of_nv, of_bic]);
        all.insert_of("pause-8-host-queue", of_nv / of_bic, happened, remark);
        all.insert("pause-bic-little", bic.window * 16.0 * 12.3e-3 / bic.rtt);
    }
}

fn cell(law: Law, per_host: u32, pause: bool, settings: &Settings, quick: bool) -> Cell {
    let (warm, end) = if quick { (1.0, 2.0) } else { (2.0, 12.0) };
    let flows: String = (0..per_host)
        .map(|_| "[[traffic]]\nkind = \"long\"\nfrom = [\"host[1]\", \"host[2]\"]\nto = \"host[0]\"\n")
        .collect();
    let buffer = if pause { "pause = \"on\"\n" } else { "" };
    let socket = format!("receive_window = \"{SOCKET}\"\n");
    let pool = if pause {
        String::new()
    } else {
        format!("buffer = \"none\"\nport_limit = \"{BUFFER}\"\n")
    };
    let host = format!("{HOST}{GAPS}");
    let params = if law == Law::Nv { NV } else { "" };
    let stack =
        Stack { host: &host, jitter: JITTER, keys: &socket, params, ..Stack::new(law, settings) };
    let text = format!(
        "[fabric]\nkind = \"star\"\nhosts = 3\nwire_overhead = \"24B\"\nhost_link = {{ rate = \"1Gbps\", delay = \"1us\" }}\n\
         [fabric.switch]\n{pool}ecn = \"off\"\nrelease = \"start\"\n{buffer}\
         [[fabric.override]]\nwhere = \"host[1]-tor\"\nrate = \"999.9Mbps\"\n\
         [[fabric.override]]\nwhere = \"host[2]-tor\"\nrate = \"999.95Mbps\"\n{}{flows}\
         [output]\nflows = {{ every = \"1ms\", most = 16 }}\n",
        stack.text(),
    );
    let seen = run("tcp-nv-rack", &text, warm, end);
    let (dropped, sent) = seen.dropped_and_sent("tor->host[0]");
    // Of both senders, a half each.
    let per_second = |count: f64| count / (2.0 * seen.seconds());
    let over = |ports: [&str; 2]| ports.iter().map(|port| seen.dropped_and_sent(port).1).sum();
    let events = Events {
        packets: per_second(over(["host[1]->tor", "host[2]->tor"])),
        acks: per_second(over(["tor->host[1]", "tor->host[2]"])),
        again: per_second(seen.retransmits()),
    };
    Cell {
        events,
        window: seen.mean_of_flows(Quantity::Window, |bytes| bytes / 1448.0),
        rtt: seen.mean_of_flows(Quantity::RoundTrip, |us| (us / 1e3).max(1.0)),
        rate: seen.mean_of_flows(Quantity::FlowRate, |gbps| gbps * 1e3) * f64::from(2 * per_host),
        waiting: seen.longest_queue("host[1]->tor"),
        loss: 100.0 * dropped / (dropped + sent),
    }
}
