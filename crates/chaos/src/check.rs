//! What holds for every scenario, whatever it says.

use forebay_laws::log::{ReplayError, replay};
use forebay_record::capture::{
    CapturedPort, Frame, MessageFrame, PauseFrame, PortTotals, RoceFrame, Sink,
};
use forebay_record::law_logs::LawLogsInMemory;
use forebay_record::why::{Part, Path, calls, explain, explain_calls, path, rows};
use forebay_record::{CollectiveRow, FlowRow, ProgramRow, ProgramWait, RpcRow, RunRecord};
use forebay_scenario::model::{LawLog, Scenario, TrafficKind};
use forebay_scenario::plan::Plan;
use forebay_scenario::workload::{Hosts, Table, flows};
use forebay_sim::{Options, Outcome, Outputs, Simulation, Watch, simulate, simulate_into};
use forebay_units::Time;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What came of one scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckOutcome {
    /// All that is checked holds; packets pushed onto links in one run.
    Right(u64),
    /// The checker, or assembly, does not take it: the sentence.
    Refused(String),
    /// The scenario was left out, since it would take too long.
    Long,
    /// Something does not hold.
    Wrong(Fault),
}

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What, in a word: the same for failures of one kind.
    pub kind: &'static str,
    /// With names and numbers.
    pub text: String,
}

/// Scenarios with more packet-hops are left out.
const MOST_HOPS: u64 = 150_000;

/// Runs the scenario of this text in all ways.
pub fn check(text: &str) -> CheckOutcome {
    match catch_unwind(AssertUnwindSafe(|| checked(text))) {
        Ok(Ok(found)) => found,
        Ok(Err(fault)) => CheckOutcome::Wrong(fault),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
            let text = said.unwrap_or("no message").to_string();
            CheckOutcome::Wrong(Fault { kind: "panic", text })
        }
    }
}

fn checked(text: &str) -> Result<CheckOutcome, Fault> {
    let scenario = match forebay_scenario::text("chaos.toml", text) {
        Ok(loaded) => loaded.scenario,
        Err(error) => return Ok(CheckOutcome::Refused(error.to_string())),
    };
    let Outcome { record: first, warnings, .. } = match run_if_short(&scenario) {
        Ok(Some(outcome)) => outcome,
        Ok(None) => return Ok(CheckOutcome::Long),
        Err(refused) => return Ok(CheckOutcome::Refused(refused)),
    };
    conserved(&first, &scenario)?;
    collectives(&scenario, &first, &warnings)?;
    for threads in [2, 3] {
        let other = run(&scenario, Options { threads, ..Options::default() })?;
        same("threads", &format!("{threads} threads"), &first, &other)?;
    }
    let again =
        forebay_scenario::text("resolved.toml", &forebay_scenario::resolved(&scenario)).map_err(
            |e| Fault { kind: "resolved", text: format!("the resolved file is refused: {e}") },
        )?;
    same("resolved", "the resolved file", &first, &run(&again.scenario, Options::default())?)?;
    logged(&scenario, &first)?;
    explained(&scenario, &first)?;
    if !scenario.output.captures.is_empty() {
        captured(&scenario, &first)?;
    }
    longer(text, &scenario, &first)?;
    let among = Scenario { seeds: vec![7, 1, 9], ..scenario.clone() };
    same("seeds", "one seed among three", &first, &run(&among, Options::default())?)?;
    Ok(CheckOutcome::Right(first.totals.packet_hops))
}

/// None if it has more packet-hops than are looked at.
fn run_if_short(scenario: &Scenario) -> Result<Option<Outcome>, String> {
    let mut simulation =
        Simulation::new(scenario, 1, Options::default()).map_err(|e| e.to_string())?;
    let watch = Watch::default();
    let stop = scenario.stop.time.since(Time::ZERO);
    for part in 1..=64 {
        if simulation.advance(Time::ZERO + stop / 64 * part, &watch) {
            break;
        }
        if simulation.packet_hops() > MOST_HOPS {
            return Ok(None);
        }
    }
    simulation.advance(Time::MAX, &watch);
    Ok(Some(simulation.finish()))
}

fn run(scenario: &Scenario, options: Options) -> Result<RunRecord, Fault> {
    let outcome = simulate(scenario, 1, options, &Watch::default());
    outcome
        .map(|outcome| outcome.record)
        .map_err(|e| Fault { kind: "refused", text: e.to_string() })
}

/// Every table that is written is the same.
fn same(kind: &'static str, what: &str, a: &RunRecord, b: &RunRecord) -> Result<(), Fault> {
    let differ = |table: &str, a: &dyn Debug, b: &dyn Debug| {
        let (a, b) = (format!("{a:?}"), format!("{b:?}"));
        let at = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
        let part =
            |text: &str| text.chars().skip(at.saturating_sub(60)).take(160).collect::<String>();
        let text = format!("{what}: {table} differ: {} and {}", part(&a), part(&b));
        if a == b { Ok(()) } else { Err(Fault { kind, text }) }
    };
    differ("digests", &a.digest, &b.digest)?;
    differ("ends", &a.end, &b.end)?;
    differ("flows", &a.flows, &b.flows)?;
    differ("RPCs", &a.rpcs, &b.rpcs)?;
    differ("connections", &a.connections, &b.connections)?;
    differ("collectives", &a.collectives, &b.collectives)?;
    differ("programs", &a.programs, &b.programs)?;
    differ("ports", &a.ports, &b.ports)?;
    differ("series", &a.series, &b.series)?;
    differ("memory", &a.memory, &b.memory)?;
    differ("totals", &a.totals, &b.totals)
}

/// Sums over the tables of a run: what came to a switch and was not lost is there, went on or was dropped. A link that goes down
/// also loses what waits for it, and what is offered to it while it is down: of such packets it is not known how many had been sent.
/// The switches of racks with credits send messages of their own, which no table counts, so only the others are held to it.
fn conserved(record: &RunRecord, scenario: &Scenario) -> Result<(), Fault> {
    let loses =
        |place: &forebay_scenario::model::Override| place.loss.is_some_and(|loss| loss > 0.0);
    let faultless = scenario.faults.is_empty() && !scenario.fabric.overrides.iter().any(loses);
    let fault = |text: String| Err(Fault { kind: "conservation", text });
    let hops: u64 = record.ports.iter().map(|port| port.tx_packets).sum();
    if hops != record.totals.packet_hops {
        return fault(format!(
            "{hops} packets sent by ports, {} packet-hops",
            record.totals.packet_hops
        ));
    }
    let mut came: BTreeMap<&str, u64> = BTreeMap::new();
    let mut went: BTreeMap<&str, u64> = BTreeMap::new();
    for port in &record.ports {
        if faultless && port.lost_packets > 0 {
            return fault(format!("{}->{} lost packets without a fault", port.node, port.peer));
        }
        *came.entry(&port.peer).or_default() += port.tx_packets;
        *went.entry(&port.node).or_default() +=
            port.tx_packets + port.dropped_packets + port.dropped_credits;
    }
    let switches = |node: &str| record.ports.iter().filter(|p| p.node == node).count() > 1;
    let credits = scenario.fabric.switch.hierarchical.is_some();
    let sends_own =
        |node: &str| credits && record.ports.iter().any(|p| p.node == node && !switches(&p.peer));
    for (node, went) in went.iter().filter(|(node, _)| switches(node) && !sends_own(node)) {
        let came = came.get(node).copied().unwrap_or(0);
        if *went > came {
            return fault(format!("{node} sent and dropped {went} packets of {came} that came"));
        }
    }
    // A run that ends before its stated time has nothing left to do; streams of connections stay open.
    let early = record.end < scenario.stop.time && !record.stalled && record.connections.is_empty();
    for flow in record.flows.iter().filter(|_| early) {
        if flow.delivered.is_none() && flow.gave_up.is_none() {
            return fault(format!(
                "flow {} is unread, and the run ends at {}",
                flow.flow, record.end
            ));
        }
    }
    for flow in &record.flows {
        if flow.delivered.is_some_and(|at| at < flow.start) {
            return fault(format!("flow {} is delivered before it starts", flow.flow));
        }
    }
    Ok(())
}

/// A collective that has ended has delivered the bytes of its schedule. Of one that has not, a warning says who waits for whom.
fn collectives(scenario: &Scenario, record: &RunRecord, warnings: &[String]) -> Result<(), Fault> {
    let fault = |text: String| Err(Fault { kind: "collectives", text });
    for (traffic, entry) in (0u16..).zip(&scenario.traffic) {
        let TrafficKind::Collective(collective) = &entry.kind else { continue };
        let rows = || record.collectives.iter().filter(move |row| row.traffic == traffic);
        if let Some(row) = rows().find(|row| row.end.is_some() != (row.done == row.ranks)) {
            return fault(format!("it ends when its ranks do: {row:?}"));
        }
        if rows().any(|row| row.end.is_none()) {
            let says = |text: &&String| {
                text.starts_with(&format!("traffic[{traffic}]: "))
                    && text.contains("had not ended when the run did")
            };
            let Some(said) = warnings.iter().find(says) else {
                return fault(format!(
                    "traffic[{traffic}] is left, and no warning says so: {warnings:?}"
                ));
            };
            let data = |row: &ProgramRow| {
                row.traffic == traffic && matches!(row.waits_for, Some(ProgramWait::Data(_)))
            };
            if record.programs.iter().any(data) && !said.contains(" waits for ") {
                return fault(format!("nobody is said to wait for anybody: {said}"));
            }
        }
        let all = collective.ranks.len() as u64 * u64::from(collective.repeat);
        if rows().filter(|row| row.end.is_some()).count() as u64 == all {
            let mine = record.connections.iter().filter(|row| row.traffic == traffic);
            let bytes: u64 = mine.map(|row| row.request_bytes.get()).sum();
            let wanted = collective.sent_by_all();
            if bytes as f64 != wanted {
                return fault(format!("traffic[{traffic}] has ended with {bytes} of {wanted} B"));
            }
        }
    }
    Ok(())
}

/// Laws that are logged, of a flow and of hosts, act as before, and their logs replay.
fn logged(scenario: &Scenario, first: &RunRecord) -> Result<(), Fault> {
    let mut scenario = scenario.clone();
    let mut hosts = Plan::of(&scenario.fabric).names;
    let grants = |entry| scenario.transport_of(entry).receiver_driven().is_some();
    let some_grant = scenario.traffic.iter().any(grants);
    hosts.retain(|name| some_grant || scenario.host.memory_at(name).is_some());
    let connections = vec![0];
    scenario.output.law_log = Some(LawLog { flows: vec![0], hosts, connections });
    let logs = LawLogsInMemory::default();
    let outputs = Outputs { law_logs: Some(&logs), ..Outputs::default() };
    let outcome = simulate_into(&scenario, 1, Options::default(), &Watch::default(), outputs)
        .map_err(|e| Fault { kind: "refused", text: e.to_string() })?;
    same("law log", "with a law log", first, &outcome.record)?;
    for (whose, log) in logs.finish() {
        let wrong = |e: ReplayError| Fault { kind: "law log", text: format!("{whose}: {e}") };
        replay(&log).map_err(wrong)?;
    }
    Ok(())
}

/// Flows that are followed change nothing, and their times have the same parts, behind the same flows, on any number of threads.
fn explained(scenario: &Scenario, first: &RunRecord) -> Result<(), Fault> {
    let all: Vec<u32> = first.flows.iter().map(|flow| flow.flow).collect();
    let parts = |threads| {
        let options = Options { threads, ..Options::default() };
        let outputs = Outputs { follow: Some(&all), steps: true, ..Outputs::default() };
        let outcome = simulate_into(scenario, 1, options, &Watch::default(), outputs)
            .map_err(|e| Fault { kind: "refused", text: e.to_string() })?;
        let log = outcome.followed.unwrap_or_default();
        let calls = explain_calls(&log, &calls(&outcome.record));
        let ended = outcome.record.collectives.iter().filter(|row| row.end.is_some());
        let paths = ended.map(|row| (*row, path(&log, &outcome.record, row)));
        let paths: Vec<(CollectiveRow, Option<Path>)> = paths.collect();
        Ok((outcome.record, rows(&explain(&log), &log), calls, paths))
    };
    let (record, of_flows, of_calls, of_collectives) = parts(1)?;
    same("why", "with flows followed", first, &record)?;
    for (row, path) in &of_collectives {
        tiled(row, path.as_ref())?;
    }
    for threads in [2, 3] {
        let (_, flows, calls, collectives) = parts(threads)?;
        if collectives != of_collectives {
            let text = format!("on {threads} threads there are other critical paths");
            return Err(Fault { kind: "why", text });
        }
        if let Some((a, b)) = of_flows.iter().zip(&flows).find(|(a, b)| a != b) {
            let text = format!("parts on 1 and {threads} threads: {a:?} and {b:?}");
            return Err(Fault { kind: "why", text });
        }
        if flows.len() != of_flows.len() || calls != of_calls {
            let text = format!("on {threads} threads there are other parts");
            return Err(Fault { kind: "why", text });
        }
    }
    Ok(())
}

/// The pieces of a critical path lie from the begin of its collective to its end, each where the one before ends.
fn tiled(row: &CollectiveRow, path: Option<&Path>) -> Result<(), Fault> {
    let fault = |text: String| Err(Fault { kind: "why", text });
    let Some(path) = path else { return fault(format!("no critical path of {row:?}")) };
    let mut at = row.start;
    for one in &path.pieces {
        if one.piece.from != at || one.piece.to < at || one.piece.part == Part::Unexplained {
            return fault(format!("after {at} of {row:?} there is {one:?}"));
        }
        at = one.piece.to;
    }
    match Some(at) == row.end {
        true => Ok(()),
        false => fault(format!("a critical path ends at {at}: {row:?}")),
    }
}

/// A run a third longer has every flow, every RPC and every collective that the shorter one completed, at the same time. Flows are known by their entry and
/// place in it: a flow of a later round may begin in the longer run only.
fn longer(text: &str, scenario: &Scenario, first: &RunRecord) -> Result<(), Fault> {
    let fault = |text: String| Err(Fault { kind: "longer", text });
    let stop = scenario.stop.time.since(Time::ZERO);
    let stop = format!("{}ps", (stop + stop / 3).as_ps());
    // What does not say when it ends, ends with the run.
    let long =
        match forebay_scenario::text_with("chaos.toml", text, &[("stop.time", stop.as_str())]) {
            Ok(loaded) => loaded.scenario,
            Err(error) => return fault(format!("a run a third longer is refused: {error}")),
        };
    let record = run(&long, Options::default())?;
    let [table, long_table] = [scenario, &long].map(|of| flows(of, &Hosts::of(of), 1));
    let (Ok(table), Ok(long_table)) = (table, long_table) else {
        return fault("the flows of a run that has been are refused".into());
    };
    let of: BTreeMap<u64, &FlowRow> =
        record.flows.iter().map(|flow| (long_table.number(flow.flow), flow)).collect();
    for a in &first.flows {
        let Some(b) = of.get(&table.number(a.flow)) else {
            return fault(format!("flow {} is not in a run a third longer", a.flow));
        };
        let ends = |row: &FlowRow| (row.start, row.delivered, row.acked, row.retransmits);
        if a.delivered.is_some() && a.acked.is_some() && ends(a) != ends(b) {
            return fault(format!("flow {} of a run a third longer: {a:?} and {b:?}", a.flow));
        }
    }
    for a in first.collectives.iter().filter(|row| row.end.is_some()) {
        if !record.collectives.contains(a) {
            return fault(format!("a run a third longer does not have the collective {a:?}"));
        }
    }
    // Those of a connection complete in the order of their issue.
    let rpcs = |record: &RunRecord, table: &Table| {
        let mut of: BTreeMap<(u16, u32), Vec<RpcRow>> = BTreeMap::new();
        for rpc in record.rpcs.iter().filter(|rpc| rpc.latency().is_some()) {
            let connection = &table.connections[rpc.connection as usize];
            let key = (connection.traffic, connection.number);
            of.entry(key).or_default().push(RpcRow { connection: 0, ..*rpc });
        }
        of
    };
    let (short, long) = (rpcs(first, &table), rpcs(&record, &long_table));
    for (key, short) in &short {
        let long = long.get(key).map_or(&[][..], Vec::as_slice);
        if let Some((a, b)) = short.iter().zip(long).find(|(a, b)| a != b) {
            return fault(format!("an RPC of {key:?} in a run a third longer: {a:?} and {b:?}"));
        }
        if long.len() < short.len() {
            return fault(format!("{key:?} completes fewer RPCs in a run a third longer"));
        }
    }
    Ok(())
}

/// Captures change nothing, and have the same frames on any number of threads.
fn captured(scenario: &Scenario, first: &RunRecord) -> Result<(), Fault> {
    let frames = |threads| {
        let mut sum = Sum::default();
        let options = Options { threads, ..Options::default() };
        let outputs = Outputs { captures: Some(&mut sum), ..Outputs::default() };
        simulate_into(scenario, 1, options, &Watch::default(), outputs)
            .map(|outcome| (outcome.record, sum.ports))
            .map_err(|e| Fault { kind: "refused", text: e.to_string() })
    };
    let (record, alone) = frames(1)?;
    same("captures", "with captures", first, &record)?;
    if frames(2)?.1 != alone {
        let text = "captures of 1 and 2 threads have other frames".into();
        return Err(Fault { kind: "captures", text });
    }
    Ok(())
}

/// A number per port for all its frames in their order.
#[derive(Default)]
struct Sum {
    ports: Vec<u64>,
}

impl Sum {
    fn add(&mut self, port: usize, frame: &dyn Debug) {
        for byte in format!("{frame:?}").bytes() {
            // FNV-1a.
            self.ports[port] = (self.ports[port] ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

impl Sink for Sum {
    fn begin(&mut self, ports: Vec<CapturedPort>, _hosts: &[(u32, String)]) {
        self.ports = vec![0xcbf2_9ce4_8422_2325; ports.len()];
    }

    fn frame(&mut self, port: usize, frame: &Frame) {
        self.add(port, frame);
    }

    fn roce(&mut self, port: usize, frame: &RoceFrame) {
        self.add(port, frame);
    }

    fn message(&mut self, port: usize, frame: &MessageFrame) {
        self.add(port, frame);
    }

    fn pause(&mut self, port: usize, frame: &PauseFrame) {
        self.add(port, frame);
    }

    fn settle(&mut self) -> bool {
        true
    }

    fn end(&mut self, port: usize, totals: PortTotals) {
        self.add(port, &totals);
    }
}
