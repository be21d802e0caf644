//! HierCC: sets one rate for all flows of a rack to one host, from the credits of the aggregate.
//!
//! The aggregate waits in a queue of its own at the senders' switch and leaves by credits of the receiver's. Once per window the law
//! gives each flow its share of them, less what brings the queue to `q0`:
//!
//!   R = (R_credit - beta (Q - q0) / RTT_hop) / N, between `r_min` and the rate of the hosts' links
//!   R = the rate of the hosts' links, if the queue is empty (or, with `empty = "below-q0"`, under q0)
//!
//! Keeping q0 in the queue lets credits come faster than packets; without it an aggregate could rest below what it might have.
//! The paper has N = R_arrive / R of the window before (`n_estimate = "ratio"`), which needs no table of flows: its equation (1).
//! `"count"` takes the flows that the switch counts for the weights of credits anyway.
//!
//! Above `v_high` all hosts stop; below `v_low` they go on. While stopped the law rests. They go on at the rate before the stop
//! (`resume = "previous"`), or each with its share of what left the queue since (`"share"`).
//!
//! What follows from it: one update would correct the queue in full, so every delay makes it ring. With marks every 10 us the
//! ratio form swings between empty and 70 to 130 KB and loses 5 to 15 % of the link, since hosts that changed their rate at
//! different times are not R_arrive / R many; with flows counted it settles at q0 from four flows on. And a burst of four or
//! more line-rate flows stops in its first window, when the rate before is the link's: with `"previous"` each resume is the same
//! burst again, for ever.
//!
//! Source: Zhang et al., HierCC (APNet 2021), section 3.3; the rate law derives from RCP.
//! Needs: bytes credited and arrived, the queue, the number of flows; acts on the rate sent to flows that request it, on stops and resumes. State:
//! under 192 bytes per aggregate. Floats, by `+ - * /` alone.
//! Deviation: the paper prints its first branch for Q < 0, which no queue meets; read as empty. A window in which nothing arrived
//! changes nothing while something waits. An aggregate that stood empty for a window starts anew with its next packet.
//! Deviation: for `"share"` the rate of credits is that of what left since the window of the stop began: the same while packets wait, but
//! for credits that were there in advance, which a new aggregate lives on until the first ones come.
//! Assumption: `r_min`, `after_resume`.

#[cfg(test)]
mod tests;

use super::{GroupAct, GroupEvent, GroupLaw, GroupSeen, GroupStart, GroupTotals};
use crate::Acts;
use crate::params::{choice, decimal, or_word, params};
use forebay_units::{BitsPerSec, Bytes, Span, Time};

params! {
    /// What a scenario may set on HierCC.
    pub struct HierCcParams {
        /// How many flows share the queue: what arrived over the rate before, or those that the switch counts.
        n_estimate: Estimate = Estimate::Count => "APNet 2021, equation (1): ratio; section 3.2 counts flows",
        /// Which queue takes the rate of the hosts' links.
        empty: Empty = Empty::Line => "APNet 2021, equation (1), where Q < 0 is printed",
        /// Share of the queue's excess over q0 that leaves in one round trip of the first hop.
        beta: Share = Share::new(0.2) => "APNet 2021, section 5",
        /// Time between two rates; auto: the round trip of the first hop over beta.
        window: Window = Window(None) => "APNet 2021, section 3.3",
        /// The queue that the rate settles at.
        q0: Bytes = Bytes::new(20_000) => "APNet 2021, section 5",
        /// Above this queue all hosts stop.
        v_high: Bytes = Bytes::new(70_000) => "APNet 2021, section 5",
        /// Below this queue they go on; more than v_high counts as v_high.
        v_low: Bytes = Bytes::new(50_000) => "APNet 2021, section 5",
        /// The rate at which they go on: that before the stop, or a share of what leaves.
        resume: Resume = Resume::Share => "APNet 2021, section 3.3: previous",
        /// Whether the first window after that changes the rate; it sees hosts that were still stopped.
        after_resume: AfterResume = AfterResume::Hold => "not in the paper",
        /// No flow gets less: a packet of 1048 B in 10 us, since a flow gets its rate with its packets only.
        r_min: BitsPerSec = BitsPerSec::new(840_000_000) => "not in the paper",
    }
}

choice! {
    /// How many flows share the queue.
    pub enum Estimate {
        /// What arrived over the rate before.
        Ratio = "ratio",
        /// The number that the switch counts.
        Count = "count",
    }
}

choice! {
    /// Which queue takes the rate of the hosts' links.
    pub enum Empty {
        /// An empty one.
        Line = "line",
        /// Any under q0.
        BelowQ0 = "below-q0",
    }
}

choice! {
    /// The rate at which hosts go on after a stop.
    pub enum Resume {
        /// The rate before the stop.
        Previous = "previous",
        /// The rate out of the queue since the window of the stop began, over the flows that filled it.
        Share = "share",
    }
}

choice! {
    /// What the first window after a resume does.
    pub enum AfterResume {
        /// No change.
        Hold = "hold",
        /// An update, as in any other window.
        Update = "update",
    }
}

decimal! {
    /// A share of something.
    pub struct Share: "share" from 0.001 to 0.999;
}

or_word! {
    /// A window, where the scenario sets it.
    pub struct Window: "auto" or Span, "a time from 100ns to 1s, such as \"10us\"" if |t| (LEAST..=MOST).contains(t);
}

const LEAST: Span = Span::from_ns(100);
const MOST: Span = Span::from_secs(1);

/// An aggregate under HierCC.
#[derive(Clone, Debug)]
pub struct HierCc {
    params: HierCcParams,
    line: f64, // bit/s
    hop: f64,  // s
    window: Span,
    rate: f64, // bit/s; invariant: from `r_min` to `line`, and a whole number
    state: State,
    from: Time,    // begin of the window
    credited: u64, // totals at that time
    arrived: u64,
    sent: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// Nothing arrived for a window, and nothing waits.
    Asleep,
    /// A window ends at this time.
    Awake(Time),
    /// A window ends at this time and changes no rate.
    Holding(Time),
    /// Hosts are stopped; so many flows had filled the queue.
    Stopped(f64),
}

impl GroupLaw for HierCc {
    const NAME: &'static str = "hiercc";
    type Params = HierCcParams;

    fn start(params: &HierCcParams, now: Time, at: GroupStart, acts: &mut Acts<GroupAct>) -> Self {
        let line = at.line_rate.max(BitsPerSec::new(1));
        let hop = at.hop_rtt.max(Span::from_ps(1));
        let own = (hop.as_ps() as f64 / params.beta.get()) as u64;
        acts.push(GroupAct::Rate(line));
        acts.push(GroupAct::Watch { low: params.v_low.min(params.v_high), high: params.v_high });
        Self {
            params: *params,
            line: line.get() as f64,
            hop: hop.as_secs_f64(),
            window: params.window.0.unwrap_or(Span::from_ps(own).clamp(LEAST, MOST)),
            rate: line.get() as f64,
            state: State::Asleep,
            from: now,
            credited: 0,
            arrived: 0,
            sent: 0,
        }
    }

    fn step(&mut self, now: Time, seen: GroupSeen<'_>, acts: &mut Acts<GroupAct>) {
        use GroupEvent as E;
        let totals = seen.totals;
        match (seen.event, self.state) {
            (E::Traffic, State::Asleep) => {
                (self.from, self.credited) = (now, totals.credited);
                self.wait(now, State::Awake, acts);
            }
            (E::Wake, State::Awake(due) | State::Holding(due)) if now < due => {
                acts.push(GroupAct::WakeAt(due));
            }
            (E::Wake, State::Awake(_) | State::Holding(_)) => self.end(now, totals, acts),
            (E::Above, State::Stopped(_)) => {}
            (E::Above, _) => {
                self.state = State::Stopped(self.flows(now, totals));
                acts.push(GroupAct::Pause);
            }
            (E::Below, State::Stopped(flows)) => self.resume(now, flows, totals, acts),
            _ => {}
        }
    }
}

impl HierCc {
    /// The end of a window.
    fn end(&mut self, now: Time, totals: &GroupTotals, acts: &mut Acts<GroupAct>) {
        let idle = totals.queue == Bytes::ZERO && totals.arrived == self.arrived;
        let rate = match self.state {
            State::Holding(_) if !idle => self.rate,
            _ => self.next(now, totals),
        };
        self.set(rate, acts);
        self.begin(now, totals);
        if idle {
            self.state = State::Asleep;
        } else {
            self.wait(now, State::Awake, acts);
        }
    }

    /// Equation (1), with N by either estimate.
    fn next(&self, now: Time, totals: &GroupTotals) -> f64 {
        let p = &self.params;
        let unfilled = match p.empty {
            Empty::Line => totals.queue == Bytes::ZERO,
            Empty::BelowQ0 => totals.queue < p.q0,
        };
        if unfilled {
            return self.line;
        }
        if totals.arrived == self.arrived {
            return self.rate;
        }
        let credit = self.per_second(now, totals.credited.saturating_sub(self.credited));
        let excess = totals.queue.get() as f64 - p.q0.get() as f64;
        let drain = p.beta.get() * 8.0 * excess / self.hop;
        (credit - drain) / self.flows(now, totals)
    }

    /// How many flows share the queue, by what this window has seen so far; above zero.
    fn flows(&self, now: Time, totals: &GroupTotals) -> f64 {
        match self.params.n_estimate {
            Estimate::Count => f64::from(totals.flows.max(1)),
            Estimate::Ratio => {
                let arrive = self.per_second(now, totals.arrived.saturating_sub(self.arrived));
                (arrive / self.rate).max(f64::MIN_POSITIVE)
            }
        }
    }

    fn resume(&mut self, now: Time, flows: f64, totals: &GroupTotals, acts: &mut Acts<GroupAct>) {
        self.rate = self.bounded(match self.params.resume {
            Resume::Previous => self.rate,
            Resume::Share => {
                self.per_second(now, totals.sent.saturating_sub(self.sent)) / flows.max(1.0)
            }
        });
        acts.push(GroupAct::Resume(BitsPerSec::new(self.rate as u64)));
        self.begin(now, totals);
        let hold = self.params.after_resume == AfterResume::Hold;
        self.wait(now, if hold { State::Holding } else { State::Awake }, acts);
    }

    /// A window begins.
    fn begin(&mut self, now: Time, totals: &GroupTotals) {
        (self.from, self.credited) = (now, totals.credited);
        (self.arrived, self.sent) = (totals.arrived, totals.sent);
    }

    fn wait(&mut self, now: Time, state: fn(Time) -> State, acts: &mut Acts<GroupAct>) {
        let due = now.saturating_add(self.window);
        self.state = state(due);
        acts.push(GroupAct::WakeAt(due));
    }

    fn set(&mut self, rate: f64, acts: &mut Acts<GroupAct>) {
        let rate = self.bounded(rate);
        if rate != self.rate {
            self.rate = rate;
            acts.push(GroupAct::Rate(BitsPerSec::new(rate as u64)));
        }
    }

    /// Within the bounds, and the nearest whole number of bits per second.
    fn bounded(&self, rate: f64) -> f64 {
        let least = self.params.r_min.get().max(1) as f64;
        (rate.max(least).min(self.line) + 0.5) as u64 as f64
    }

    /// Bits per second, of bytes since the window began; a window that has just begun counts as a picosecond.
    fn per_second(&self, now: Time, bytes: u64) -> f64 {
        let span = now.since(self.from).max(Span::from_ps(1));
        8.0 * bytes as f64 / span.as_secs_f64()
    }
}
