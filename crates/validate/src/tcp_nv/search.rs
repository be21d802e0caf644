//! Rows that no formula says: a search for the most flows, a flow for each RPC, and what of a series is near other events.

use super::{SUITE, row};
use crate::experiments::{Lists, results};
use crate::folder::Folder;
use crate::jobs::Cores;
use crate::measured::MeasuredRows;
use crate::seeds::seed;
use forebay_record::{Quantity, RunRecord};
use forebay_units::{Span, Time};
use std::iter;

/// Ten round trips of the router's slides.
const NEAR: Span = Span::from_us(1_000);

/// Names of hosts from host 1 on, as a scenario has a list of them.
pub(super) fn hosts(count: u32) -> String {
    let names: Vec<String> = (1..=count).map(|host| format!("\"host[{host}]\"")).collect();
    format!("[{}]", names.join(", "))
}

/// How many flows run without a loss once they have started, by halves; and in a buffer half as large.
pub(super) fn most_flows(reading: &str, quick: bool, all: &mut MeasuredRows) {
    let row = [row(&format!("rtt-100us{reading}"))];
    let end = if quick { "300ms" } else { "1200ms" };
    let dropped = |flows: u32, buffer: &str| {
        let further = [
            ("fabric.hosts", (flows + 1).to_string()),
            ("fabric.switch.port_limit", format!("\"{buffer}\"")),
            ("traffic[0].from", hosts(flows)),
            ("output.warmup", "\"200ms\"".into()),
            ("stop.time", format!("\"{end}\"")),
        ];
        let further = further.map(|(key, value)| (key.to_string(), value));
        let alone = Cores::with_seeds_above(seed(0), &|_, _| {});
        let (_, results) =
            results(Folder::of(SUITE), &row, &Lists::under(further.to_vec()), &alone, quick);
        results?.number(&format!("dropped(range-100us[nv{reading}])"))
    };
    let most = |buffer: &str, mut too_many: u32| {
        let mut fits = 1;
        while too_many - fits > 4 {
            let middle = u32::midpoint(fits, too_many);
            if dropped(middle, buffer)? == 0.0 { fits = middle } else { too_many = middle }
        }
        Some(f64::from(fits))
    };
    if let (Some(large), Some(small)) = (most("1200KB", 512), most("600KB", 256)) {
        all.insert(format!("flows-1200KB{reading}"), large);
        all.insert(format!("flows-buffer{reading}"), large / small);
    }
}

/// RPCs of ten packets, each a flow of its own. A host's next flow starts when its last is delivered.
pub(super) fn short_alone(reading: &str, quick: bool, all: &mut MeasuredRows) {
    let rounds = if quick { 100 } else { 500 };
    let flow = |round: u32, host: u32| {
        let start = match round {
            0 => String::new(),
            _ => format!(", after = \"{host}-{round}\""),
        };
        let fires = format!("{host}-{}", round + 1);
        format!(
            "{{ from = \"host[{host}]\", to = \"host[0]\", size = \"14480B\"{start}, fires = \"{fires}\" }}"
        )
    };
    let flows: Vec<String> =
        (0..rounds).flat_map(|round| (1..=64).map(move |host| flow(round, host))).collect();
    let further = [
        ("stop", "{ time = \"10s\", flows = \"all\" }".into()),
        ("output.warmup", "\"0us\"".into()),
        ("traffic", format!("[{{ kind = \"list\", flows = [{}] }}]", flows.join(", "))),
    ];
    let further = further.map(|(key, value)| (key.to_string(), value));
    let row = [row(&format!("short-rpc{reading}"))];
    let alone = Cores::with_seeds_above(seed(0), &|_, _| {});
    let (_, results) =
        results(Folder::of(SUITE), &row, &Lists::under(further.to_vec()), &alone, quick);
    let dropped = |law: &str| results.as_ref()?.number(&format!("dropped(short[{law}])"));
    let (Some(bic), Some(nv)) = (dropped("bic"), dropped(&format!("nv{reading}"))) else { return };
    let remark = format!("{bic} and {nv} packets dropped in {} flows", flows.len());
    all.insert_of(format!("short-rpc-new{reading}"), nv / bic, ("drops", [nv, bic]), remark);
}

/// Of the largest 1 % of samples of what a flow has in flight, the share that lie near the start of an RPC.
pub(super) fn peaks_at_starts(run: &RunRecord) -> f64 {
    let series = run.series.iter().find(|series| series.quantity == Quantity::InFlight);
    let series = series.expect("the first flow is sampled");
    let flow: u32 = series.name.split(' ').nth(1).and_then(|n| n.parse().ok()).expect("its number");
    let connection = run.connections.iter().position(|one| one.requests == flow);
    let connection = connection.expect("its connection") as u32;
    let own = run.rpcs.iter().filter(|rpc| rpc.connection == connection);
    let starts: Vec<Time> = own.map(|rpc| rpc.issued).collect();
    let mut points: Vec<(Time, f64)> =
        iter::zip(series.at.clone(), series.values.clone()).collect();
    points.sort_by(|a, b| b.1.total_cmp(&a.1));
    let top = &points[..(points.len() / 100).max(1)];
    let near = |at: &Time| starts.iter().any(|start| at >= start && at.since(*start) <= NEAR);
    top.iter().filter(|(at, _)| near(at)).count() as f64 / top.len() as f64
}
