//! Traffic of kind `incast`: many senders answer one receiver at once.
//!
//! Rounds begin by the clock (`every`), or each when the last has been delivered.

use super::layout::{latest, takes};
use super::op::{Op, Signal, Step, WaitList};
use super::{Error, Kind, Layout, MOST_FLOWS, Surroundings, control_delay, mean_of, one, too_many};
use crate::judge::Judge;
use crate::plan::Plan;
use forebay_units::random::{Purpose, Stream};
use forebay_units::{Bytes, Span, Time, human};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Rounds of answers to one receiver.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Incast {
    /// How many senders, chosen at random: 1 to all other hosts.
    #[schemars(range(min = 1))]
    pub fan_in: u32,
    /// Bytes of each answer.
    pub size: Bytes,
    /// The receiver. Default: a random host for each round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// How many rounds. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub rounds: u32,
    /// Time between the starts of rounds. Default: each begins when the last has been delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Span>,
    /// Without `every`: time from the last delivery of a round to the start of the next. Default: 1us (our choice).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_delay: Option<Span>,
}

impl Kind for Incast {
    fn check(&mut self, judge: &mut Judge<'_>, path: &str, around: &Surroundings<'_>) {
        let at = |key: &str| format!("{path}.{key}");
        if let Some(name) = &self.to {
            judge.host(&at("to"), name, around);
        }
        judge.flow_size(&at("size"), self.size);
        judge.incast(path, self.fan_in, self.rounds, around.plan);
        if let (Some(_), Some(_)) = (self.every, self.control_delay) {
            let text = "belongs to rounds that wait for each other; leave out it or every";
            judge.say(&at("control_delay"), text);
        }
        match self.every {
            Some(every) => judge.span(&at("every"), every),
            None => {
                let delay = *self.control_delay.get_or_insert(control_delay());
                judge.span(&at("control_delay"), delay);
            }
        }
    }

    fn title(&self) -> String {
        let rounds = human::counted(self.rounds as usize, "round");
        format!("incast of {} x {}, {rounds}", self.fan_in, self.size)
    }

    fn forecast(&self, layout: &Layout<'_>) -> u128 {
        let fit = self.every.map_or(u128::MAX, |every| {
            u128::from(layout.end.since(layout.start).as_ps())
                .div_ceil(u128::from(every.as_ps().max(1)))
        });
        u128::from(self.rounds).min(fit) * u128::from(self.fan_in)
    }

    fn mean_size(&self) -> Option<f64> {
        mean_of(self.size)
    }

    fn largest(&self) -> Option<Bytes> {
        Some(self.size)
    }

    fn last_start(&self, start: Time, _end: Time) -> Time {
        match self.every {
            Some(every) => start.saturating_add(every.saturating_mul(self.rounds.into())),
            None => start,
        }
    }

    fn lay_out(&self, layout: &mut Layout<'_>) -> Result<(), Error> {
        let to = self.to.as_deref().map(|name| layout.host(name)).transpose()?;
        match self.every {
            Some(every) => self.by_the_clock(layout, to, every),
            None => self.closed(layout, to),
        }
        Ok(())
    }
}

impl Incast {
    fn by_the_clock(&self, layout: &mut Layout<'_>, to: Option<u32>, every: Span) {
        let mut draws = layout.stream(Purpose::Pairs);
        let rounds = self.rounds;
        for round in 0..rounds {
            let begin = layout.start.saturating_add(every.saturating_mul(round.into()));
            if begin >= layout.end {
                return layout.warn(format!(
                    "{round} of {rounds} rounds fit the run; the others are left out"
                ));
            }
            let (receiver, senders) = self.cast(layout, to, &mut draws);
            for src in senders {
                layout.push_jittered(src, receiver, self.size, begin);
            }
        }
    }

    /// The receiver of a round takes all answers, and notifies the senders of the next.
    fn closed(&self, layout: &mut Layout<'_>, to: Option<u32>) {
        let delay = self.control_delay.unwrap_or_else(control_delay);
        let before = latest(layout.end, delay);
        let (size, traffic) = (self.size, layout.entry());
        let mut draws = layout.stream(Purpose::Pairs);
        let mut steps: BTreeMap<u32, Vec<Step>> = BTreeMap::new();
        let mut last_receiver = None;
        for round in 0..self.rounds {
            let (receiver, senders) = self.cast(layout, to, &mut draws);
            let mut answers = Vec::with_capacity(senders.len());
            for src in senders {
                let jitter = layout.jitter(src);
                let start = match last_receiver {
                    None => layout.start.saturating_add(jitter),
                    Some(_) => Time::MAX,
                };
                let on = layout.push(layout.flow(src, receiver, size, start));
                answers.push((src, jitter, on));
            }
            if let Some(last) = last_receiver {
                let go = |(nth, (src, ..)): (u32, &(u32, Span, u32))| {
                    let signal = Signal { to: *src, traffic, tag: round, delay, before };
                    Step { op: Op::Signal(signal), after: WaitList::op(nth) }
                };
                steps.entry(last).or_default().extend((1..).zip(&answers).map(go));
                for (src, jitter, on) in &answers {
                    let own = steps.entry(*src).or_default();
                    own.push(Step { op: Op::Compute(*jitter), after: WaitList::signal(round, 1) });
                    let op = Op::Send { on: *on, bytes: size };
                    own.push(Step { op, after: WaitList::op(1) });
                }
            }
            steps.entry(receiver).or_default().extend(takes(answers.iter().map(|of| of.2)));
            last_receiver = Some(receiver);
        }
        // Steps are in the order of rounds, and each round waits for the one before: one step read ahead is enough.
        steps.into_iter().for_each(|(host, steps)| layout.steps(host, 1, steps));
    }

    /// Receiver and senders of a round, senders in rising order.
    fn cast(&self, layout: &Layout<'_>, to: Option<u32>, draws: &mut Stream) -> (u32, Vec<u32>) {
        let n = layout.hosts.names.len() as u32;
        let receiver = to.unwrap_or_else(|| draws.below(n.into()) as u32);
        let mut senders = sample(n - 1, self.fan_in.min(n - 1), draws);
        for sender in &mut senders {
            *sender += u32::from(*sender >= receiver);
        }
        (receiver, senders)
    }
}

/// `k` different numbers below `n`, rising. Floyd's method: k draws whatever n is.
fn sample(n: u32, k: u32, draws: &mut Stream) -> Vec<u32> {
    let mut chosen = std::collections::BTreeSet::new();
    for last in n - k..n {
        let candidate = draws.below(u64::from(last) + 1) as u32;
        if !chosen.insert(candidate) {
            chosen.insert(last);
        }
    }
    chosen.into_iter().collect()
}

impl Judge<'_> {
    fn incast(&mut self, path: &str, fan_in: u32, rounds: u32, plan: &Plan) {
        let others = plan.hosts as i64 - 1;
        if i64::from(fan_in) > others {
            let text = format!("is more than the {others} other hosts; write at most {others}");
            self.wrong(&format!("{path}.fan_in"), text);
        }
        let flows = u128::from(rounds) * u128::from(fan_in);
        if flows > MOST_FLOWS {
            self.say(&format!("{path}.rounds"), too_many(flows));
        }
    }
}
