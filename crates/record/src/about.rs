//! Scenario, seed and options of a run: the facts that every file of a run directory shares.
//!
//! Invariant: nothing volatile (wall time, host, paths) is in here; those live in [`Volatile`], so
//! that the same scenario and seeds give the same bytes on every machine.

use crate::human::sig3;
use forebay_units::{Bytes, Time};
use serde::{Deserialize, Serialize};

/// A format of such files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow's IPC file format, also called Feather.
    Arrow,
}

impl Format {
    /// Every one.
    pub const ALL: [Self; 2] = [Self::Parquet, Self::Arrow];

    /// What names of its files end with.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
        }
    }
}

/// Kinds of transport.
const TRANSPORTS: [&str; 3] = ["tcp", "rdma", "receiver-driven"];

/// A run as it was started. The caller fills it in before the first simulation starts.
#[derive(Clone, Debug, PartialEq)]
pub struct RunStart {
    /// Title of the scenario.
    pub scenario: String,
    /// Version of the program.
    pub version: String,
    /// Laws in use, the scenario's own first.
    pub laws: Vec<String>,
    /// One simulation each, in the order in which they are recorded.
    pub seeds: Vec<u64>,
    /// Flows that arrived before this are left out of FCT and slowdown.
    pub warmup: Time,
    /// One line for each `[[traffic]]` entry, `incast of 64 x 500KB`; may be shorter than the list.
    pub traffic: Vec<String>,
    /// Upper bounds of the size classes, ascending; a last class takes what is larger.
    pub size_classes: Vec<Bytes>,
    /// The full scenario with all defaults filled in.
    pub resolved_toml: String,
    /// Settings a reader of the report wants to see, key and value.
    pub settings: Vec<(String, String)>,
    /// What has to be equal in another simulator before rows may be compared one by one: what it is, and how it is here.
    pub comparison: Vec<(String, String)>,
    /// When a packet stops counting towards its queue and the shared buffer.
    pub release: String,
    /// Faults of cables, in the order in which they begin.
    pub faults: Vec<FaultSpan>,
    /// Of a run that was read back: columns that its tables lack, a sentence for each; an older version wrote them.
    pub lacks: Vec<String>,
    /// Command that makes the same bytes again; `None`: `forebay run resolved.toml`.
    pub rerun: Option<String>,
    /// Files with typed columns that are written beside the CSV files when the run is over.
    pub columnar: Option<Format>,
}

impl Default for RunStart {
    fn default() -> Self {
        Self {
            scenario: String::new(),
            version: env!("CARGO_PKG_VERSION").into(),
            laws: Vec::new(),
            seeds: Vec::new(),
            warmup: Time::ZERO,
            traffic: Vec::new(),
            size_classes: [10_000, 100_000, 1_000_000, 10_000_000].map(Bytes::new).to_vec(),
            resolved_toml: String::new(),
            settings: Vec::new(),
            comparison: Vec::new(),
            release: "byte by byte as a packet is sent (fluid)".into(),
            faults: Vec::new(),
            lacks: Vec::new(),
            rerun: None,
            columnar: None,
        }
    }
}

impl RunStart {
    /// The command that makes the same bytes again, from inside the run directory.
    pub fn rerun(&self) -> &str {
        self.rerun.as_deref().unwrap_or("forebay run resolved.toml --out again")
    }

    /// Kind of the transport of a traffic entry, `rdma`. `None`: neither the line of the entry nor the settings say it.
    pub fn transport_of(&self, traffic: u16) -> Option<&'static str> {
        // The line of an entry with a transport of its own ends with `kind/law`, as the setting of all others has it.
        let kind = |text: &str| {
            let (kind, _) = text.split_once('/')?;
            TRANSPORTS.into_iter().find(|known| *known == kind)
        };
        let own = self.traffic.get(usize::from(traffic)).and_then(|line| line.rsplit_once(", "));
        let of_all = || self.settings.iter().find(|(key, _)| key == "transport");
        own.and_then(|(_, end)| kind(end)).or_else(|| kind(&of_all()?.1))
    }

    /// Name of a traffic entry, for people.
    pub fn traffic_name(&self, traffic: u16) -> String {
        match self.traffic.get(usize::from(traffic)) {
            Some(name) => format!("traffic[{traffic}] {name}"),
            None => format!("traffic[{traffic}]"),
        }
    }
}

/// How long a cable was not as it was laid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultSpan {
    /// Which, and what befell it: `leaf[2]-spine[1] down`.
    pub what: String,
    /// When that began.
    pub from: Time,
    /// When it ended; `None`: not before the run did.
    pub to: Option<Time>,
}

/// What may differ between two runs that computed the same; kept in `volatile.json` alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Volatile {
    /// Wall-clock time of the whole run, in seconds.
    pub wall_s: f64,
    /// User CPU time where it is known, in seconds.
    pub cpu_s: Option<f64>,
    /// Packet-hops of all seeds over `wall_s`; filled in when the run is written.
    pub packet_hops_per_s: Option<f64>,
    /// Name of the machine.
    pub host: String,
    /// Threads used.
    pub threads: u32,
    /// When the run began, UTC, `2026-01-31T12:00:00Z`.
    pub started_utc: String,
    /// Command as it was typed.
    pub command: String,
}

impl Volatile {
    /// One line for a terminal: how long it took and how fast that was.
    pub fn render(&self) -> String {
        let threads =
            if self.threads == 1 { "1 thread".into() } else { format!("{} threads", self.threads) };
        let speed = match self.packet_hops_per_s {
            Some(rate) => format!(", {} million packet-hops/s", sig3(rate / 1e6)),
            None => String::new(),
        };
        format!("took      {} s on {threads}{speed}", sig3(self.wall_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_the_transport_that_its_line_names_or_that_of_the_scenario() {
        let lines = [
            "list of 2 flows",
            "verbs: incast of 8 x 1MB, 1 round, rdma/dcqcn",
            "poisson a/b, c/d",
        ];
        let about = RunStart {
            traffic: lines.map(String::from).to_vec(),
            settings: vec![("transport".into(), "tcp/dctcp".into())],
            ..RunStart::default()
        };
        assert_eq!(
            [0, 1, 2, 3].map(|entry| about.transport_of(entry)),
            ["tcp", "rdma", "tcp", "tcp"].map(Some)
        );
        assert_eq!(RunStart::default().transport_of(0), None);
    }
}
