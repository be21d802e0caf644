//! Columns of the 10 Gb/s table under any settings.

use super::settings::{Law, Settings};
use super::{SUITE, row};
use crate::experiments::{Lists, results};
use crate::folder::Folder;
use crate::jobs::Cores;
use crate::row::Row;
use forebay_record::{RunRecord, jain};

/// What a column of the table says, in the order of [`QUANTITIES`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Column(pub [f64; 8]);

/// Row ids end with these.
pub(super) const QUANTITIES: [&str; 8] =
    ["goodput", "fairness", "latency", "p90", "p95", "p99", "queue", "drops"];

/// Definitions in `rows.toml` of these.
const DEFINED: [&str; 8] = [
    "goodput",
    "fairness",
    "latency",
    "latency_p90",
    "latency_p95",
    "latency_p99",
    "queue",
    "drops",
];

/// Payload of an RPC.
const RPC: u64 = 1_000_000;

impl Column {
    /// The mean of several columns, number by number.
    pub fn mean(columns: &[Self]) -> Self {
        let mean =
            |i| columns.iter().map(|one: &Self| one.0[i]).sum::<f64>() / columns.len() as f64;
        Self(std::array::from_fn(mean))
    }

    pub fn queue(&self) -> f64 {
        self.0[6]
    }

    pub fn p99(&self) -> f64 {
        self.0[5]
    }

    pub fn drops(&self) -> f64 {
        self.0[7]
    }
}

/// A law and a number of flows: 2, 8, 32 or 128.
pub(super) fn column(law: Law, flows: u32, settings: &Settings, quick: bool) -> Column {
    let case = match law {
        Law::Bic => "bic-pad6-100us",
        Law::Nv => "nv-pad6-100us",
    };
    let experiment = format!("table-{flows}");
    let of = |(what, defined): (&str, &str)| Row {
        id: what.into(),
        formula: Some(format!("{defined}({experiment}[{case}])")),
        ..row(&format!("table-{}-128-{what}-pad6", law.id()))
    };
    let rows: Vec<Row> = QUANTITIES.into_iter().zip(DEFINED).map(of).collect();
    let (warm, end) = if quick { (0.2, 0.7) } else { (0.5, 3.5) };
    let rounds = rounds(flows, end);
    let mut further = settings.sets(law);
    if settings.fresh {
        further.push(("traffic[0]".into(), fresh(flows, rounds)));
    }
    let alone = Cores::new(&|_, _| {});
    let (measured, results) =
        results(Folder::of(SUITE), &rows, &Lists::under(further), &alone, quick);
    let mut column = Column(QUANTITIES.map(|what| measured.number(what).unwrap_or(f64::NAN)));
    let runs = results.as_ref().and_then(|results| results.records(&experiment, &[case]));
    if let Some([run]) = runs.filter(|_| settings.fresh) {
        let goodputs = goodputs(run, flows, rounds, (warm, end));
        (column.0[0], column.0[1]) = (goodputs.iter().sum(), jain(&goodputs).unwrap_or(0.0));
    }
    column
}

/// `[[traffic]]` of so many RPCs of each host to host 0, each over a connection of its own: a host's next one starts as its last is answered.
/// No handshakes: a lost one would cost three seconds in that kernel, and no percentile of the deck has any.
fn fresh(flows: u32, rounds: u32) -> String {
    let mut all = Vec::new();
    for round in 1..=rounds {
        for host in 1..=flows {
            let after = match round {
                1 => String::new(),
                _ => format!(", after = \"answer {host}-{}\"", round - 1),
            };
            all.push(format!(
                "{{ from = \"host[{host}]\", to = \"host[0]\", size = \"{RPC}B\"{after}, fires = \"{host}-{round}\" }}, \
                 {{ from = \"host[0]\", to = \"host[{host}]\", size = \"64B\", after = \"{host}-{round}\", fires = \"answer {host}-{round}\" }}"
            ));
        }
    }
    format!("{{ kind = \"list\", flows = [{}] }}", all.join(", "))
}

/// Rounds that keep each of `hosts` busy for `seconds`, with up to twice its share of the port.
fn rounds(hosts: u32, seconds: f64) -> u32 {
    (2.0 * seconds * 10e9 / 8.0 / RPC as f64 / f64::from(hosts)).ceil() as u32 + 20
}

/// Payload per second of each host by the [`fresh`] RPCs that were delivered in the measured part, in Gb/s.
///
/// # Panics
/// If a host has no RPC left.
fn goodputs(run: &RunRecord, flows: u32, rounds: u32, (warm, end): (f64, f64)) -> Vec<f64> {
    let of_host = |host| {
        let own = || run.flows.iter().filter(move |flow| flow.traffic == 0 && flow.src == host);
        let over = own().filter(|flow| flow.delivered.is_some()).count();
        assert!(over < rounds as usize, "none is left");
        let late = own().filter(|flow| flow.delivered.is_some_and(|at| at.as_secs_f64() >= warm));
        late.map(|flow| flow.size.get() as f64).sum::<f64>() * 8e-9 / (end - warm)
    };
    (1..=flows).map(of_host).collect()
}
