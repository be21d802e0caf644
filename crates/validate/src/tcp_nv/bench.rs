//! What the experiments share: a run that is cut at the end of its warm-up, and what is read off it.

use forebay_record::{Quantity, RunRecord, Series};
use forebay_sim::{Options, PortLook, Simulation, Watch};
use forebay_units::Time;

/// One run and its two halves.
pub(super) struct Seen {
    pub record: RunRecord,
    /// Ports at the end of the warm-up and at the end, of one direction each, by name.
    ports: Vec<(String, PortLook, PortLook)>,
    warm: f64,
    end: f64,
    warmup: Time,
}

/// Runs a scenario text; the first `warm` seconds are not measured.
pub(super) fn run(name: &str, text: &str, warm: f64, end: f64) -> Seen {
    let head = format!(
        "version = 1\nseeds = [1]\nstop = {{ time = \"{}us\" }}\n{text}\n",
        (end * 1e6).round() as u64
    );
    let scenario = match forebay_scenario::text(name, &head) {
        Ok(loaded) => loaded.scenario,
        Err(error) => panic!("{error}\n{head}"),
    };
    let mut simulation = Simulation::new(&scenario, 1, Options::default())
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let warmup = Time::from_ps((warm * 1e12).round() as u64);
    simulation.advance(warmup, &Watch::default());
    let before = simulation.look().ports;
    simulation.advance(Time::MAX, &Watch::default());
    let after = simulation.look().ports;
    let names = simulation.names().to_vec();
    let name =
        |port: &PortLook| format!("{}->{}", names[port.node as usize], names[port.peer as usize]);
    let ports = before.into_iter().zip(after).map(|(b, a)| (name(&b), b, a)).collect();
    Seen { record: simulation.finish().record, ports, warm, end, warmup }
}

impl Seen {
    /// Seconds of warm-up.
    pub fn warm(&self) -> f64 {
        self.warm
    }

    /// The series of this name.
    pub fn series(&self, name: &str) -> Option<&Series> {
        self.record.series.iter().find(|s| s.name == name)
    }

    /// Measured seconds.
    pub fn seconds(&self) -> f64 {
        self.end - self.warm
    }

    /// Packets dropped and sent at a port in the measured part.
    pub fn dropped_and_sent(&self, port: &str) -> (f64, f64) {
        let (_, before, after) =
            self.ports.iter().find(|one| one.0 == port).unwrap_or_else(|| panic!("no port {port}"));
        let dropped = after.counters.dropped_packets - before.counters.dropped_packets;
        let sent = after.counters.tx_packets - before.counters.tx_packets;
        (dropped as f64, sent as f64)
    }

    /// Packets dropped anywhere in the measured part.
    pub fn dropped(&self) -> f64 {
        let each = self.ports.iter().map(|(_, before, after)| {
            after.counters.dropped_packets - before.counters.dropped_packets
        });
        each.sum::<u64>() as f64
    }

    /// Mean of the sampled queue of a port in packets of 1500 bytes.
    pub fn mean_queue(&self, port: &str) -> f64 {
        let name = format!("{port} queue");
        let series = self.series(&name).unwrap_or_else(|| panic!("{name} was not sampled"));
        self.mean_of(series) / 1500.0
    }

    /// Mean of one series over the measured part.
    pub fn mean_of(&self, series: &Series) -> f64 {
        let late = series.at.iter().zip(&series.values).filter(|(at, _)| **at >= self.warmup);
        let (sum, n) = late.fold((0.0, 0.0), |(sum, n), (_, value)| (sum + value, n + 1.0));
        sum / n
    }

    /// Mean over all sampled flows and the measured part of `value`.
    pub fn mean_of_flows(&self, quantity: Quantity, value: impl Fn(f64) -> f64) -> f64 {
        let series = self.record.series.iter().filter(|s| s.quantity == quantity);
        let points = series.flat_map(|s| s.at.iter().zip(&s.values));
        let late = points.filter(|(at, _)| **at >= self.warmup);
        let (sum, n) = late.fold((0.0, 0.0), |(sum, n), (_, v)| (sum + value(*v), n + 1.0));
        sum / n
    }

    /// Payload per second of each connection of a traffic entry, both ways, in Gb/s.
    pub fn goodputs(&self, traffic: u16) -> Vec<f64> {
        let of = self.record.connections.iter().filter(|c| c.traffic == traffic);
        of.map(|c| (c.request_bytes.get() + c.response_bytes.get()) as f64 * 8e-9 / self.seconds())
            .collect()
    }

    /// Latencies in us, ascending, of the RPCs of a traffic entry that were issued after the warm-up.
    pub fn latencies(&self, traffic: u16) -> Vec<f64> {
        let record = &self.record;
        let of = record.rpcs.iter().filter(|rpc| {
            rpc.issued >= self.warmup
                && record.connections[rpc.connection as usize].traffic == traffic
        });
        let mut all: Vec<f64> =
            of.filter_map(|rpc| rpc.latency()).map(|l| l.as_ps() as f64 / 1e6).collect();
        all.sort_by(f64::total_cmp);
        all
    }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
