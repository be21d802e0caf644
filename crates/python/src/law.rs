//! Laws of flows that Python brings along: a class written there, or another rate and window for one flow.
//!
//! A law in Python is called with the interpreter lock for each event that its class has a method for. What it raises ends the run and is
//! raised there. Its flows may be on several threads, one event at a time.

use forebay_laws::flow::{
    CaState, Flow, FlowAct, FlowEvent, FlowFacts, FlowParams, FlowSeen, IntHop, LAWS, Totals,
    Window,
};
use forebay_laws::outside::{OutsideLaw, OutsideState};
use forebay_laws::params::{LawInfo, NamedLaw};
use forebay_laws::{Acts, Laws, Start};
use forebay_study::about::InPython;
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What a class of laws inherits: window, rate and timer, which it sets.
#[pyclass(subclass, module = "forebay._core")]
#[derive(Default)]
pub struct FlowLaw {
    window: Option<Window>,
    ssthresh: Option<Bytes>,
    rate: Option<BitsPerSec>,
    gap: Option<Span>,
    wake_at: Option<Time>,
}

#[pymethods]
impl FlowLaw {
    #[new]
    #[pyo3(signature = (*_args, **_named))]
    fn new(_args: &Bound<'_, PyAny>, _named: Option<&Bound<'_, PyAny>>) -> Self {
        Self::default()
    }

    fn set_window(&mut self, bytes: f64) -> PyResult<()> {
        self.window = Some(if bytes == f64::INFINITY {
            Window::UNBOUNDED
        } else {
            Window::from_raw(whole("window", bytes * 256.0)?)
        });
        Ok(())
    }

    fn set_ssthresh(&mut self, bytes: f64) -> PyResult<()> {
        let none = bytes == f64::INFINITY;
        self.ssthresh = Some(if none { Bytes::MAX } else { Bytes::new(whole("ssthresh", bytes)?) });
        Ok(())
    }

    fn set_rate(&mut self, bits_per_s: f64) -> PyResult<()> {
        self.rate = Some(rate(bits_per_s)?);
        Ok(())
    }

    fn set_gap(&mut self, ps: f64) -> PyResult<()> {
        self.gap = Some(Span::from_ps(whole("gap", ps)?));
        Ok(())
    }

    fn wake_at(&mut self, ps: f64) -> PyResult<()> {
        self.wake_at = Some(Time::from_ps(whole("wake_at", ps)?));
        Ok(())
    }
}

fn whole(what: &str, value: f64) -> PyResult<u64> {
    match value {
        v if (0.0..1.8e19).contains(&v) => Ok(v as u64),
        v => Err(PyValueError::new_err(format!("{what}: {v} is not a number from 0 up"))),
    }
}

fn rate(bits_per_s: f64) -> PyResult<BitsPerSec> {
    match whole("rate", bits_per_s)? {
        0 => Err(PyValueError::new_err("rate: it is above zero, in bits per second")),
        rate => Ok(BitsPerSec::new(rate)),
    }
}

impl FlowLaw {
    /// Hands over what was set since the last event.
    fn take(&mut self, acts: &mut Acts<FlowAct>) {
        let all = [
            self.ssthresh.take().map(FlowAct::Ssthresh),
            self.window.take().map(FlowAct::Window),
            self.rate.take().map(FlowAct::Rate).or(self.gap.take().map(FlowAct::Gap)),
            self.wake_at.take().map(FlowAct::WakeAt),
        ];
        all.into_iter().flatten().for_each(|act| acts.push(act));
    }
}

/// What a flow knows when it starts.
#[pyclass(frozen, get_all, module = "forebay._core")]
pub struct FlowStart {
    mss: u64,
    initial_window: u64,
    line_rate: u64,
    base_rtt_ps: Option<u64>,
    seed: u64,
}

/// One event, with the totals at its time.
#[pyclass(frozen, module = "forebay._core")]
pub struct Event {
    now: Time,
    totals: Totals,
    of: EventOf,
}

#[derive(Default)]
struct EventOf {
    kind: &'static str,
    state: CaState,
    acked: u64,
    ece: bool,
    sample: forebay_laws::flow::AckSample,
    delay: Option<forebay_laws::flow::DelaySplit>,
    hops: Vec<IntHop>,
    idle: Span,
    rto: Span,
}

fn word(state: CaState) -> &'static str {
    match state {
        CaState::Open => "open",
        CaState::Disorder => "disorder",
        CaState::Cwr => "cwr",
        CaState::Recovery => "recovery",
        CaState::Loss => "loss",
    }
}

macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident: $kind:ty = |$of:ident| $value:expr;)*) => {
        #[pymethods]
        impl Event {$(
            $(#[$doc])*
            #[getter]
            fn $name(&self) -> $kind {
                let $of = self;
                $value
            }
        )*}
    };
}

getters! {
    kind: &'static str = |e| e.of.kind;
    now_ps: u64 = |e| e.now.as_ps();
    una: u64 = |e| e.totals.una;
    nxt: u64 = |e| e.totals.nxt;
    sent: u64 = |e| e.totals.sent;
    delivered: u64 = |e| e.totals.delivered;
    delivered_ce: u64 = |e| e.totals.delivered_ce;
    inflight: u64 = |e| e.totals.inflight.get();
    srtt_ps: Option<u64> = |e| (e.totals.srtt > Span::ZERO).then(|| e.totals.srtt.as_ps());
    min_rtt_ps: Option<u64> = |e| (e.totals.min_rtt < Span::MAX).then(|| e.totals.min_rtt.as_ps());
    state: &'static str = |e| word(e.totals.state);
    cwnd_limited: bool = |e| e.totals.cwnd_limited;
    only_full_grows: bool = |e| e.totals.only_full_grows;
    most_out: u32 = |e| e.totals.most_out;
    entered: &'static str = |e| word(e.of.state);
    acked: u64 = |e| e.of.acked;
    ece: bool = |e| e.of.ece;
    rtt_ps: Option<u64> = |e| e.of.sample.rtt.map(Span::as_ps);
    inflight_at_send: u64 = |e| e.of.sample.inflight_at_send.get();
    delivered_at_send: u64 = |e| e.of.sample.delivered_at_send;
    cwnd_at_send: u64 = |e| e.of.sample.cwnd_at_send.get();
    interval_ps: u64 = |e| e.of.sample.interval.as_ps();
    app_limited: bool = |e| e.of.sample.app_limited;
    /// Forward, backward, remote host, local host, in ps.
    delay_ps: Option<(u64, u64, u64, u64)> = |e| e.of.delay.map(|d| {
        (d.forward.as_ps(), d.backward.as_ps(), d.remote_host.as_ps(), d.local_host.as_ps())
    });
    /// Time passed in ps, bytes sent, queues before and now, rate in bit/s.
    hops: Vec<(u64, u64, u64, u64, u64)> = |e| e.of.hops.iter().map(|h| {
        (h.passed.as_ps(), h.sent.get(), h.queue[0].get(), h.queue[1].get(), h.rate.get())
    }).collect();
    idle_ps: u64 = |e| e.of.idle.as_ps();
    rto_ps: u64 = |e| e.of.rto.as_ps();
}

/// Methods that a class may have, each a bit.
const METHODS: [&str; 7] =
    ["on_ack", "on_enter", "on_leave", "on_undo", "on_tx_start", "on_sent", "on_timer"];

/// What the laws of a run share.
#[derive(Default)]
pub(crate) struct PythonErrors {
    failed: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl PythonErrors {
    pub fn is(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    pub fn take(&self) -> Option<PyErr> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, error: PyErr) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.failed.store(true, Ordering::Relaxed);
    }
}

/// A law in Python: what is said of it, and what makes one.
#[derive(FromPyObject)]
pub(crate) struct PythonLaw {
    name: String,
    like: String,
    source: Option<String>,
    make: Py<PyAny>,
}

impl PythonLaw {
    pub fn facts(&self) -> InPython {
        let (like, name) = (self.like.clone(), self.name.clone());
        InPython { like, name, source: self.source.clone() }
    }
}

/// The laws of a scenario, with those in Python standing in for laws that they name.
pub(crate) fn with_python(
    py: Python<'_>,
    laws: &Laws,
    of: &[PythonLaw],
    raised: &Arc<PythonErrors>,
) -> Laws {
    of.iter().fold(laws.clone(), |laws, law| {
        // A name that no law has is said where the scenario is read.
        let Ok(like) = laws.flow(&law.like) else { return laws };
        let name = format!("{} (Python, in place of {})", law.name, law.like);
        let info = LawInfo::of_program(name, String::new()).with_params(like.info().params());
        let make = Arc::new(law.make.clone_ref(py));
        let made = LawFactory { stands_for: StandIn { info, like }, make, raised: raised.clone() };
        laws.with_stand_in::<Flow>(&law.like, Arc::new(made))
    })
}

/// The law that another stands in for: its packets, and so its needs and parameters, stay.
#[derive(Clone, Debug)]
struct StandIn {
    info: LawInfo,
    like: FlowParams,
}

impl StandIn {
    fn facts(&self) -> FlowFacts {
        self.like.facts()
    }

    fn set(&mut self, name: &str, text: &str) -> Option<bool> {
        let known = self.like.info().params().iter().any(|param| param.name == name);
        known.then(|| self.like.set(name, text).is_ok())
    }

    fn write(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let params = self.like.info().params().iter().map(|param| param.name);
        let value = params.zip(self.like.texts()).find(|(param, _)| *param == name);
        value.map_or(Ok(()), |(_, value)| f.write_str(&value))
    }
}

/// Makes a law for each flow.
#[derive(Clone)]
struct LawFactory {
    stands_for: StandIn,
    make: Arc<Py<PyAny>>,
    raised: Arc<PythonErrors>,
}

impl fmt::Debug for LawFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a law in Python")
    }
}

impl OutsideLaw<Flow> for LawFactory {
    fn info(&self) -> &LawInfo {
        &self.stands_for.info
    }

    fn facts(&self) -> FlowFacts {
        self.stands_for.facts()
    }

    fn set(&mut self, name: &str, text: &str) -> Option<bool> {
        self.stands_for.set(name, text)
    }

    fn write(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stands_for.write(name, f)
    }

    fn start(&self, _: Time, at: Start, acts: &mut Acts<FlowAct>) -> Box<dyn OutsideState<Flow>> {
        let made = Python::attach(|py| {
            let law = self.make.bind(py).call0()?;
            let law = law.cast_into::<FlowLaw>().map_err(|_| {
                PyTypeError::new_err("a law is a class that inherits from forebay.FlowLaw")
            })?;
            let flow = FlowStart {
                mss: at.mss.get(),
                initial_window: at.initial_window.get(),
                line_rate: at.line_rate.get(),
                base_rtt_ps: at.base_rtt.map(Span::as_ps),
                seed: at.seed,
            };
            law.borrow_mut().set_window(at.initial_window.get() as f64)?;
            law.call_method1("start", (Bound::new(py, flow)?,))?;
            let methods: u8 = law.getattr("_methods")?.extract()?;
            law.borrow_mut().take(acts);
            Ok((law.unbind(), methods))
        });
        let (law, methods) = match made {
            Ok((law, methods)) => (Some(law), methods),
            Err(error) => {
                self.raised.put(error);
                acts.push(FlowAct::window(at.initial_window));
                (None, 0)
            }
        };
        Box::new(FlowInPython { law: law.map(Arc::new), methods, raised: self.raised.clone() })
    }
}

/// A flow whose law is an object in Python.
#[derive(Clone)]
struct FlowInPython {
    law: Option<Arc<Py<FlowLaw>>>,
    methods: u8,
    raised: Arc<PythonErrors>,
}

impl fmt::Debug for FlowInPython {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a flow of a law in Python")
    }
}

impl OutsideState<Flow> for FlowInPython {
    fn step(&mut self, now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        let Some((method, of)) = taken(seen.event) else { return };
        let Some(law) = self.law.as_ref().filter(|_| self.methods >> method & 1 == 1) else {
            return;
        };
        if self.raised.is() {
            return;
        }
        let done = Python::attach(|py| {
            let law = law.bind(py);
            let event = Bound::new(py, Event { now, totals: *seen.totals, of })?;
            law.call_method1(METHODS[method], (event,))?;
            law.borrow_mut().take(acts);
            Ok(())
        });
        if let Err(error) = done {
            self.raised.put(error);
        }
    }
}

/// Index of the method that takes an event, and what the event says.
fn taken(event: FlowEvent<'_>) -> Option<(usize, EventOf)> {
    let of = |kind| EventOf { kind, ..EventOf::default() };
    Some(match event {
        FlowEvent::Ack { acked, ece, sample, delay, hops } => {
            let (delay, hops) = (delay.copied(), hops.to_vec());
            (0, EventOf { acked: acked.get(), ece, sample: *sample, delay, hops, ..of("ack") })
        }
        FlowEvent::Enter(state) => (1, EventOf { state, ..of("enter") }),
        FlowEvent::Cnp => (1, EventOf { state: CaState::Cwr, ..of("cnp") }),
        FlowEvent::Nack => (1, EventOf { state: CaState::Recovery, ..of("nack") }),
        FlowEvent::Leave(state) => (2, EventOf { state, ..of("leave") }),
        FlowEvent::Undo => (3, of("undo")),
        FlowEvent::TxStart { idle, rto } => (4, EventOf { idle, rto, ..of("tx_start") }),
        FlowEvent::Sent { bytes } => (5, EventOf { acked: bytes.get(), ..of("sent") }),
        FlowEvent::Wake => (6, of("wake")),
        // Messages of switches have no method.
        _ => return None,
    })
}

/// Rate and window that a user gave a flow, instead of those of its law.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowOverride {
    pub rate: Option<BitsPerSec>,
    pub window: Option<Window>,
}

/// What was given to flows, by the seeds of their laws.
pub(crate) type Steering = Arc<Mutex<BTreeMap<u64, FlowOverride>>>;

/// The laws of a scenario, so that their flows may be given something. Without, each is as if alone.
pub(crate) fn steered(laws: &Laws, steering: &Steering) -> Laws {
    LAWS.iter().fold(laws.clone(), |laws, law| {
        let Ok(like) = laws.flow(law.name()) else { return laws };
        let stands_for = StandIn { info: law.clone(), like };
        let steered = SteeredLaw { stands_for, steering: steering.clone() };
        laws.with_stand_in::<Flow>(law.name(), Arc::new(steered))
    })
}

/// A law whose flows may be given something.
#[derive(Clone, Debug)]
struct SteeredLaw {
    stands_for: StandIn,
    steering: Steering,
}

impl OutsideLaw<Flow> for SteeredLaw {
    fn info(&self) -> &LawInfo {
        &self.stands_for.info
    }

    fn facts(&self) -> FlowFacts {
        self.stands_for.facts()
    }

    fn set(&mut self, name: &str, text: &str) -> Option<bool> {
        self.stands_for.set(name, text)
    }

    fn write(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stands_for.write(name, f)
    }

    fn start(&self, _: Time, at: Start, acts: &mut Acts<FlowAct>) -> Box<dyn OutsideState<Flow>> {
        let mut first = Acts::default();
        let like = self.stands_for.like.start(at, &mut first);
        first.iter().for_each(|act| acts.push(act));
        let mut flow = SteeredFlow {
            law: like,
            seed: at.seed,
            steering: self.steering.clone(),
            given: FlowOverride::default(),
            window: None,
            pace: FlowAct::Rate(at.line_rate),
        };
        first.iter().for_each(|act| flow.note(act));
        Box::new(flow)
    }
}

#[derive(Clone, Debug)]
struct SteeredFlow {
    law: Flow,
    seed: u64,
    steering: Steering,
    given: FlowOverride,    // at the last event
    window: Option<Window>, // the law's, as it set it last
    pace: FlowAct,          // likewise; without any that of the link
}

impl SteeredFlow {
    /// Remembers what the law would have.
    fn note(&mut self, act: FlowAct) {
        match act {
            FlowAct::Window(window) => self.window = Some(window),
            FlowAct::Rate(_) | FlowAct::Gap(_) | FlowAct::Hold => self.pace = act,
            _ => {}
        }
    }
}

impl OutsideState<Flow> for SteeredFlow {
    fn step(&mut self, now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        let steering = self.steering.lock().unwrap_or_else(PoisonError::into_inner);
        let given = steering.get(&self.seed).copied().unwrap_or_default();
        drop(steering);
        let mut own = Acts::default();
        self.law.step(now, seen, &mut own);
        let was = std::mem::replace(&mut self.given, given);
        let idle = |of: FlowOverride| of.rate.is_none() && of.window.is_none();
        for act in own.iter() {
            self.note(act);
            let left = match act {
                FlowAct::Window(_) => given.window.is_some() || was.window.is_some(),
                FlowAct::Rate(_) | FlowAct::Gap(_) | FlowAct::Hold => {
                    given.rate.is_some() || was.rate.is_some()
                }
                _ => false,
            };
            if !left {
                acts.push(act);
            }
        }
        if idle(given) && idle(was) {
            return;
        }
        // What was given, or what the law would have where that has been taken back.
        let window = given.window.or(self.window.filter(|_| was.window.is_some()));
        let pace = given.rate.map(FlowAct::Rate).or((was.rate.is_some()).then_some(self.pace));
        window.map(FlowAct::Window).into_iter().chain(pace).for_each(|act| acts.push(act));
    }
}
