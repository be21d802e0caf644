//! How far work is, and how long it will still take.
//!
//! How far a run is, follows from virtual time and from flows completed; the further of the two counts where finished flows end
//! the run. The pace of the last while, not of the whole, gives the time left.

use crate::estimate::Estimate;
pub use crate::pace::Pace;
use crate::seeds::View;
use forebay_scenario::model::{Scenario, Traffic};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

/// How far the work is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Title.
    pub name: String,
    /// What is counted besides time and flows: `seeds`, `points`.
    pub parts: &'static str,
    /// How many of them are done.
    pub parts_done: usize,
    /// How many there are.
    pub parts_all: usize,
    /// Virtual time simulated, in ps, over all seeds.
    pub simulated_ps: u128,
    /// Virtual time to be simulated in all.
    pub to_simulate_ps: u128,
    /// Flows completed.
    pub flows_done: u64,
    /// Flows to be completed in all, if that is known.
    pub flows_all: Option<u64>,
    /// Whether `flows_all` is what is to be expected rather than what will be.
    pub flows_expected: bool,
    /// Whether the work ends when all flows are done.
    pub flows_end_it: bool,
    /// Packets that crossed a link.
    pub packet_hops: u64,
    /// Share of the work that is done, where the counter knows it better than time and flows do.
    pub work: Option<f64>,
    /// Whether a signal has requested the end.
    pub stopping: bool,
}

impl State {
    /// Of a scenario that has not begun, as far as a forecast knows it.
    pub fn of(scenario: &Scenario, estimate: &Estimate) -> Self {
        let seeds = scenario.seeds.len();
        let flows = estimate.flows.round() as u64;
        let poisson = |t: &Traffic| t.kind.is_random();
        Self {
            name: scenario.name.clone(),
            parts: "seeds",
            parts_all: seeds,
            to_simulate_ps: u128::from(scenario.stop.time.as_ps()) * seeds as u128,
            flows_all: (flows > 0).then(|| flows.saturating_mul(seeds as u64)),
            flows_expected: scenario.traffic.iter().any(poisson),
            flows_end_it: scenario.stop.flows && estimate.endless == 0.0,
            ..Self::default()
        }
    }

    /// State of the work once simulations have begun.
    pub fn at(&self, view: &View<'_>) -> Self {
        let mut state = self.clone();
        let each_ps = (self.to_simulate_ps / self.parts_all.max(1) as u128) as u64;
        for (watch, ended) in view.watches.iter().zip(view.ended) {
            let now = if *ended { each_ps } else { watch.now_ps.load(Ordering::Relaxed) };
            state.simulated_ps += u128::from(now.min(each_ps));
            state.flows_done += watch.done.load(Ordering::Relaxed);
            state.packet_hops += watch.pushed.load(Ordering::Relaxed);
            state.parts_done += usize::from(*ended);
        }
        if let Some(all) = view.flows_to_do() {
            (state.flows_all, state.flows_expected) = (Some(all), false);
        }
        state
    }

    /// Share of the virtual time that has passed.
    pub fn time_fraction(&self) -> f64 {
        share(self.simulated_ps as f64, self.to_simulate_ps as f64)
    }

    /// Share of the flows that are done.
    pub fn flow_fraction(&self) -> Option<f64> {
        self.flows_all.filter(|all| *all > 0).map(|all| share(self.flows_done as f64, all as f64))
    }

    /// Share of the work that is done: of the parts, where they are all that is known.
    pub fn fraction(&self) -> f64 {
        if let Some(work) = self.work {
            return work.clamp(0.0, 1.0);
        }
        if self.to_simulate_ps == 0 {
            return share(self.parts_done as f64, self.parts_all as f64);
        }
        let flows = self.flow_fraction().filter(|_| self.flows_end_it && !self.flows_expected);
        self.time_fraction().max(flows.unwrap_or(0.0))
    }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 }
}

/// Progress as JSON, for programs.
pub fn facts(state: &State, pace: &Pace) -> Value {
    if state.to_simulate_ps == 0 {
        return json!({
            "fraction": rounded(state.fraction()),
            format!("{}_done", state.parts): state.parts_done,
            state.parts: state.parts_all,
            "eta_s": pace.seconds_left(state.fraction()).map(rounded),
        });
    }
    let micros = |ps: u128| rounded(ps as f64 / 1e6);
    json!({
        "fraction": rounded(state.fraction()),
        "time_fraction": rounded(state.time_fraction()),
        "simulated_us": micros(state.simulated_ps),
        "of_us": micros(state.to_simulate_ps),
        "flows_completed": state.flows_done,
        "flows": state.flows_all,
        "flows_is_forecast": state.flows_expected,
        format!("{}_done", state.parts): state.parts_done,
        state.parts: state.parts_all,
        "packet_hops": state.packet_hops,
        "packet_hops_per_s": pace.hops_per_s().map(f64::round),
        "eta_s": pace.seconds_left(state.fraction()).map(rounded),
    })
}

/// Six digits after the point, which are enough for a machine too.
pub fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
