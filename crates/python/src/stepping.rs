//! A simulation that Python advances step by step, looks at and changes.
//!
//! The simulation lives on a thread of its own, which does one thing after another as it is told; so it borrows its scenario there, and
//! Python holds no more than the two ends of a channel. Looking changes nothing. Acting gives a flow another rate or window than its law's.

use crate::errors;
use crate::law::{FlowOverride, Steering, steered};
use crate::results::Results;
use crate::scenario::Scenario;
use forebay_laws::flow::Window;
use forebay_record::law_logs::LawLogFiles;
use forebay_scenario::model::Scenario as Model;
use forebay_sim::{Options, Outputs, Simulation as Sim, Watch};
use forebay_study::about::about;
use forebay_units::random::{Purpose, Stream};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What the thread is told.
enum Order {
    Advance(Time),
    Look(String),
    Finish,
}

/// What it answers.
enum Answer {
    /// Where it is, and whether it has ended.
    At(Time, bool),
    /// What was looked at, or why that cannot be.
    Seen(Result<Value, String>),
    Over(Box<forebay_sim::Outcome>),
    Refused(String),
}

/// A simulation under way.
#[pyclass(frozen, module = "forebay._core")]
pub struct Simulation {
    scenario: Scenario,
    seed: u64,
    watch: Arc<Watch>,
    steering: Steering,
    ends: Mutex<Option<(Sender<Order>, Receiver<Answer>)>>,
}

#[pymethods]
impl Simulation {
    /// Lays a scenario out at time zero.
    #[new]
    fn new(
        py: Python<'_>,
        scenario: &Bound<'_, Scenario>,
        seed: u64,
        threads: usize,
    ) -> PyResult<Self> {
        let scenario = scenario.get().clone();
        let output = &scenario.loaded.scenario.output;
        if !output.captures.is_empty() || output.law_log.is_some() {
            let text = "output.capture and output.law_log write files, which a simulation in steps does not; leave them out";
            return Err(PyValueError::new_err(text));
        }
        let watch = Arc::new(Watch::default());
        let (order, orders) = channel();
        let (answer, answers) = channel();
        let mut model = scenario.loaded.scenario.clone();
        model.seeds = vec![seed];
        let of_thread = watch.clone();
        let options = Options { threads: threads.max(1), ..Options::default() };
        let steering = Steering::default();
        model.laws = steered(&model.laws, &steering);
        std::thread::spawn(move || live(&model, seed, options, &of_thread, &orders, &answer));
        let ends = Mutex::new(Some((order, answers)));
        let simulation = Self { scenario, seed, watch, steering, ends };
        match simulation.answer(py, None)? {
            Answer::Refused(why) => Err(errors::refused(&simulation.scenario.place, why)),
            _ => Ok(simulation),
        }
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.seed
    }

    /// Advances by a span, or to the end; gives the time in ps and whether the run has ended.
    #[pyo3(signature = (now_ps, span))]
    fn step(&self, py: Python<'_>, now_ps: u64, span: Option<&str>) -> PyResult<(u64, bool)> {
        let until = match span {
            None => Time::MAX,
            Some(text) => {
                let span: Span = text
                    .parse()
                    .map_err(|error| PyValueError::new_err(format!("step {text:?}: {error}")))?;
                Time::from_ps(now_ps).saturating_add(span)
            }
        };
        match self.answer(py, Some(Order::Advance(until)))? {
            Answer::At(now, over) => Ok((now.as_ps(), over)),
            _ => Err(gone()),
        }
    }

    /// How something stands now, as JSON.
    fn observe(&self, py: Python<'_>, what: &str) -> PyResult<String> {
        match self.answer(py, Some(Order::Look(what.into())))? {
            Answer::Seen(seen) => {
                seen.map(|value| value.to_string()).map_err(PyValueError::new_err)
            }
            _ => Err(gone()),
        }
    }

    /// Gives a flow a rate, a window, both, or its law's again.
    fn act(&self, what: &str, rate: Option<&str>, window: Option<&str>) -> PyResult<()> {
        let flow = what.strip_prefix("flow[").and_then(|rest| rest.strip_suffix(']'));
        let flow: u32 = flow.and_then(|flow| flow.parse().ok()).ok_or_else(|| {
            PyValueError::new_err(format!("act({what:?}): write a flow, flow[3]"))
        })?;
        let wrong = |key: &str, text: &str, why: String| {
            PyValueError::new_err(format!("act({what:?}, {key}={text:?}): {why}"))
        };
        let rate = rate.map(|text| match text.parse::<BitsPerSec>() {
            Ok(rate) if rate.get() > 0 => Ok(rate),
            Ok(_) => Err(wrong("rate", text, "a rate is above zero".into())),
            Err(why) => Err(wrong("rate", text, why.to_string())),
        });
        let window = window.map(|text| match text.parse::<Bytes>() {
            Ok(bytes) if bytes > Bytes::ZERO => Ok(Window::from_bytes(bytes)),
            Ok(_) => Err(wrong("window", text, "a window is above zero".into())),
            Err(why) => Err(wrong("window", text, why.to_string())),
        });
        let given = FlowOverride { rate: rate.transpose()?, window: window.transpose()? };
        let key = Stream::new(self.seed, u64::from(flow), Purpose::Law).key();
        let mut steering = self.steering.lock().unwrap_or_else(PoisonError::into_inner);
        match given {
            FlowOverride { rate: None, window: None } => _ = steering.remove(&key),
            given => _ = steering.insert(key, given),
        }
        Ok(())
    }

    /// Ends the simulation here, and gives its results.
    fn finish(&self, py: Python<'_>) -> PyResult<Results> {
        let Answer::Over(outcome) = self.answer(py, Some(Order::Finish))? else {
            return Err(gone());
        };
        let loaded = &self.scenario.loaded;
        let mut model = loaded.scenario.clone();
        model.seeds = vec![self.seed];
        let about = about(&model, &loaded.expect);
        let stall = outcome.stall.map(|why| format!("seed {} stalled: {why}", self.seed));
        let warnings = outcome.warnings.into_iter().chain(stall).collect();
        let results = Results::new(about, vec![outcome.record], Vec::new(), warnings, 0.0);
        Ok(results.in_folder_of(&self.scenario.place))
    }
}

fn gone() -> PyErr {
    PyRuntimeError::new_err("the simulation has been finished; make another one")
}

impl Simulation {
    fn ends(&self) -> MutexGuard<'_, Option<(Sender<Order>, Receiver<Answer>)>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives an order and waits for the answer; Ctrl-C ends the simulation where it is.
    fn answer(&self, py: Python<'_>, order: Option<Order>) -> PyResult<Answer> {
        py.detach(|| {
            let ends = self.ends();
            let (orders, _) = ends.as_ref().ok_or(())?;
            order.map_or(Ok(()), |order| orders.send(order).map_err(|_| ()))
        })
        .map_err(|()| gone())?;
        let mut raised = None;
        loop {
            let answer = py.detach(|| match self.ends().as_ref() {
                Some((_, answers)) => answers.recv_timeout(Duration::from_millis(50)),
                None => Err(RecvTimeoutError::Disconnected),
            });
            match answer {
                Ok(answer) => return raised.map_or(Ok(answer), Err),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = py.check_signals() {
                        self.watch.stop.store(true, Ordering::Relaxed);
                        raised.get_or_insert(error);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
            }
        }
    }
}

/// The life of a simulation.
fn live(
    scenario: &Model,
    seed: u64,
    options: Options,
    watch: &Watch,
    orders: &Receiver<Order>,
    answers: &Sender<Answer>,
) {
    let logs = LawLogFiles::new(Path::new(""), seed);
    let outputs = Outputs { law_logs: Some(&logs), ..Outputs::default() };
    let mut simulation = match Sim::watched(scenario, seed, options, outputs, watch) {
        Ok(simulation) => simulation,
        Err(why) => {
            let _ = answers.send(Answer::Refused(why.to_string()));
            return;
        }
    };
    let mut over = false;
    let mut sent = answers.send(Answer::At(simulation.now(), over));
    while let (Ok(()), Ok(order)) = (sent, orders.recv()) {
        sent = answers.send(match order {
            Order::Advance(until) => {
                over = simulation.advance(until, watch);
                Answer::At(simulation.now(), over)
            }
            Order::Look(what) => Answer::Seen(look(&mut simulation, scenario, &what)),
            Order::Finish => {
                let mut outcome = simulation.finish();
                outcome.record.interrupted |= !over;
                let _ = answers.send(Answer::Over(Box::new(outcome)));
                return;
            }
        });
    }
}

/// How something stands: a port `leaf[0]->spine[1]`, a flow `flow[3]`, a host or a switch by its name; everything in short for nothing.
fn look(simulation: &mut Sim<'_>, scenario: &Model, what: &str) -> Result<Value, String> {
    let names = simulation.names().to_vec();
    let seen = simulation.inspect();
    let node = |name: &str| names.iter().position(|other| other == name);
    let unknown = |name: &str| {
        format!(
            "observe({what:?}): there is no {name:?}; write a port leaf[0]->spine[1], a flow flow[3], a host or a switch, by the names in the tables"
        )
    };
    if let Some((from, to)) = what.split_once("->") {
        let (from, to) =
            (node(from).ok_or_else(|| unknown(from))?, node(to).ok_or_else(|| unknown(to))?);
        let port = seen.ports.iter().find(|p| (p.node as usize, p.peer as usize) == (from, to));
        let port = port.ok_or_else(|| format!("observe({what:?}): no cable leads there"))?;
        return Ok(json!({
            "at_ps": seen.at.as_ps(),
            "up": port.alive,
            "rate_gbps": port.rate.get() as f64 / 1e9,
            "queue_bytes": port.queue,
            "waiting_packets": port.waiting_packets,
            "on_the_wire_packets": port.flying.len(),
            "tx_packets": port.counters.tx_packets,
            "tx_bytes": port.counters.tx_bytes,
            "paused_classes": (0..8_u8).filter(|class| port.stopped >> class & 1 == 1).collect::<Vec<_>>(),
        }));
    }
    if let Some(flow) = what.strip_prefix("flow[").and_then(|rest| rest.strip_suffix(']')) {
        let flow: u32 = flow.parse().map_err(|_| unknown(what))?;
        return Ok(match seen.senders.iter().find(|sender| sender.flow == flow) {
            None => json!({ "at_ps": seen.at.as_ps(), "active": false }),
            Some(sender) => json!({
                "at_ps": seen.at.as_ps(),
                "active": true,
                "src": names[sender.host as usize],
                "cwnd_bytes": sender.cwnd,
                "srtt_us": sender.srtt.as_ps() as f64 / 1e6,
                "acked_bytes": sender.acked,
                "retransmits": sender.retransmits,
            }),
        });
    }
    if !what.is_empty() {
        let at = node(what).ok_or_else(|| unknown(what))?;
        let mut facts = Map::new();
        facts.insert("at_ps".into(), json!(seen.at.as_ps()));
        if let Some(host) = seen.hosts.get(at) {
            let flows: Vec<u32> =
                seen.senders.iter().filter(|s| s.host as usize == at).map(|s| s.flow).collect();
            facts.insert("delivered_bytes".into(), json!(host.delivered_bytes));
            facts.insert("arrived_packets".into(), json!(host.arrived));
            facts.insert("sending_flows".into(), json!(flows));
            if let Some(memory) = seen.memories.iter().find(|m| m.host as usize == at) {
                facts.insert("nic_buffered_bytes".into(), json!(memory.buffered));
                facts.insert("write_wait_ns".into(), json!(memory.wait_ns));
                facts.insert("level".into(), json!(memory.level));
            }
        } else if let Some(switch) = seen.switches.get(at - seen.hosts.len()) {
            facts.insert("routed_packets".into(), json!(switch.routed));
            facts.insert("buffer_used_bytes".into(), json!(switch.shared_used));
            facts.insert("buffer_bytes".into(), json!(switch.shared_size));
        }
        return Ok(Value::Object(facts));
    }
    let delivered: u64 = seen.hosts.iter().map(|host| host.delivered_bytes).sum();
    let active: Vec<u32> = seen.senders.iter().map(|sender| sender.flow).collect();
    Ok(json!({
        "at_ps": seen.at.as_ps(),
        "stop_ps": scenario.stop.time.as_ps(),
        "active_flows": active,
        "delivered_bytes": delivered,
        "queued_bytes": seen.ports.iter().map(|port| port.queue).sum::<u64>(),
        "most_queued_bytes": seen.ports.iter().map(|port| port.queue).max(),
        "packet_hops": simulation.packet_hops(),
    }))
}
