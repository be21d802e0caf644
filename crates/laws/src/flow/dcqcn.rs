//! DCQCN: controls the rate of a sender by congestion notification packets (CNPs).
//!
//! Two rates: the current one, and the target that it climbs back to. A CNP makes the current rate the target and takes alpha/2
//! of it; alpha is the smoothed presence of CNPs, moved by `g` up with each and down with each `alpha_timer` without. Then a
//! timer and a counter of bytes sent each count stages. While both are below `recovery_steps`, a stage halves the
//! distance to the target; with one beyond, the target also rises by `r_ai`; with both beyond, by `r_hai` for each stage.
//! Once the rate of the link is reached, the flow is as new: nothing runs, and alpha is one again (`release`).
//!
//! `timers = "paper"` is that. `"vendor"` is the sender of the public HPCC simulator, which its paper calls the default set of
//! NICs: no counter of bytes; cuts fall on a clock of their own (`cut_interval`), if a CNP came since; alpha is one with the first CNP
//! and then moves once per `alpha_timer`, up if a further CNP came since, else down; a cut sets the target only if the timer has raised the rate since
//! the last one, so that cuts in a row climb back to where they began; and the n-th expiry after a cut recovers (n up to
//! `recovery_steps`), then adds `r_ai` once, then `r_hai` each time. The rates of increase are per 25 Gb/s of the host's link.
//!
//! `timers = "auto"`, the default, is the paper's form where the sender's link has less than 100 Gb/s, and the vendor's from there on.
//! The paper's timers are for 40 Gb/s. At 100 Gb/s a flow needs milliseconds to climb back.
//!
//! At rest, N flows hold marks at about the cube root of R_AI N^2 / (tau' C^2) (1/B + N/(T C))^2, and the queue where the switch
//! marks that often. That is a fluid model's; in packets marks are a third more, since stages follow CNPs and do not fall
//! between them at random. With long feedback some ten flows swing where two or many do not.
//!
//! Source: Zhu et al., SIGCOMM 2015, section 3; fixed point: Zhu et al., CoNEXT 2016; vendor: rdma-hw.cc and run.py of the public HPCC
//! simulator.
//! Needs: CNPs, at most one per `cut_interval`; bytes sent. No window, unless `window` says so. State: 96 bytes, parameters
//! shared. Floats, by `+ - * /` alone.
//! Deviation: alpha is brought up to date where it is needed instead of by its timer, which is the same. The rate is
//! the link's where it is so in whole bit/s. A loss changes nothing: the fabric has none.

use super::{CaState, Echo, FlowAct, FlowEvent, FlowLaw, FlowSeen, Needs, Window};
use crate::params::{Gain, choice, or_word, params, whole};
use crate::{Acts, Start};
use alloc::sync::Arc;
use forebay_units::{BitsPerSec, Bytes, Span, Time};

params! {
    /// What a scenario may set on DCQCN.
    pub struct DcqcnParams {
        /// Which sender, and its values where auto is written below; auto: paper below 100 Gb/s of the sender's link, vendor from there on.
        timers: Timers = Timers::Auto => "SIGCOMM 2015; HPCC simulator run.py",
        /// Weight of a CNP, or of its absence, in alpha.
        g: Gain = Gain::from_shift(8) => "SIGCOMM 2015; the public HPCC simulator",
        /// Time without a CNP after which alpha falls; auto: 55us, vendor 1us.
        alpha_timer: Timer = Timer(None) => "SIGCOMM 2015; HPCC simulator run.py",
        /// Vendor: least time between two cuts; auto: 4us. In the paper's form the receiver keeps CNPs 50us apart.
        cut_interval: Timer = Timer(None) => "HPCC simulator run.py",
        /// Time from stage to stage; auto: 55us, vendor 300us.
        increase_timer: Timer = Timer(None) => "SIGCOMM 2015; HPCC simulator run.py",
        /// Paper: bytes from stage to stage; auto: 10MB.
        byte_counter: Counter = Counter(None) => "SIGCOMM 2015",
        /// F: stages that only recover; auto: 5, vendor 1.
        recovery_steps: Steps = Steps(None) => "SIGCOMM 2015; HPCC simulator run.py",
        /// Additive increase; auto: 40Mbps, vendor 5Mbps per 25Gbps of the host's link.
        r_ai: Rate = Rate(None) => "SIGCOMM 2015; HPCC simulator run.py",
        /// Hyper increase; auto: 400Mbps, vendor 50Mbps per 25Gbps of the host's link.
        r_hai: Rate = Rate(None) => "ten times r_ai, as in QCN; HPCC simulator run.py",
        /// Least rate; auto: 40Mbps, vendor 100Mbps.
        r_min: Rate = Rate(None) => "SIGCOMM 2015: 10 to 40 Mb/s; HPCC simulator rdma-hw.cc",
        /// Paper: whether a flow that is back at its link's rate forgets alpha and target.
        release: bool = true => "SIGCOMM 2015",
        /// Bound on what is in flight: none, what the link's rate fills in base_rtt, or what the current rate does.
        window: Cap = Cap::None => "SIGCOMM 2015: none; SIGCOMM 2019 (HPCC): DCQCN+win",
        /// Round-trip time of the empty path, for window; auto: as the scenario knows it, or else 13us.
        base_rtt: BaseRtt = BaseRtt(None) => "SIGCOMM 2019 (HPCC)",
    }
}

choice! {
    /// Which sender.
    pub enum Timers {
        /// By the rate of the sender's link.
        Auto = "auto",
        /// Sender of the paper.
        Paper = "paper",
        /// Sender of the public HPCC simulator.
        Vendor = "vendor",
    }
}

choice! {
    /// Bound on what is in flight.
    pub enum Cap {
        /// None.
        None = "none",
        /// The link's rate times `base_rtt`.
        Fixed = "fixed",
        /// The current rate times `base_rtt`.
        Variable = "variable",
    }
}

or_word! {
    /// A period, or as the form says.
    pub struct Timer: "auto" or Span, "a time from 100ns to 1s, such as \"55us\"" if |t| (Span::from_ns(100)..=Span::from_secs(1)).contains(t);
}

or_word! {
    /// Bytes from stage to stage, or as the form says.
    pub struct Counter: "auto" or Bytes, "a size of 1KB or more, such as \"10MB\"" if |b| b.get() >= 1000;
}

or_word! {
    /// A rate, or as the form says.
    pub struct Rate: "auto" or BitsPerSec, "a rate of 1Kbps or more, such as \"40Mbps\"" if |r| r.get() >= 1000;
}

or_word! {
    /// A number of stages, or as the form says.
    pub struct Steps: "auto" or SmallCount, "a whole number from 1 to 255" if |_| true;
}

or_word! {
    /// A round-trip time, where it is known.
    pub struct BaseRtt: "auto" or Span, "a time of 1us or more, such as \"13us\"" if |t| t.as_us() > 0;
}

whole! {
    /// A small count.
    pub struct SmallCount: "whole number" from 1 to 255;
}

/// A flow under DCQCN.
#[derive(Clone, Debug)]
pub struct Dcqcn {
    current: f64, // bit/s; invariant: from `r_min` to `line`
    target: f64,
    alpha: f64,
    line: f64,
    alpha_due: Time, // when alpha moves next; alpha holds until then. `Time::MAX`: nothing runs
    cut_due: Time,   // vendor: the next cut, or while no CNP waits, any earlier point of its clock
    increase_due: Time,
    bytes: u64, // sent since the last stage of bytes
    base_rtt: Span,
    params: Arc<DcqcnParams>,
    time_stage: u32,
    mss: u32,
    byte_stage: u16,
    vendor: bool,      // the vendor's form, not the paper's
    cut_waits: bool,   // vendor: a CNP since the last cut
    alpha_rises: bool, // vendor: a CNP since alpha moved
}

impl FlowLaw for Dcqcn {
    const NAME: &'static str = "dcqcn";
    const NEEDS: Needs = Needs { echo: Echo::Cnp, sent: true, ..Needs::NONE };
    type Params = Arc<DcqcnParams>;

    fn start(params: &Arc<DcqcnParams>, at: Start, acts: &mut Acts<FlowAct>) -> Self {
        let line = (at.line_rate.get() as f64).max(1.0);
        let dcqcn = Self {
            current: line,
            target: line,
            alpha: 1.0,
            line,
            alpha_due: Time::MAX,
            cut_due: Time::MAX,
            increase_due: Time::MAX,
            bytes: 0,
            base_rtt: params.base_rtt.0.or(at.base_rtt).unwrap_or(BASE_RTT),
            params: Arc::clone(params),
            time_stage: 0,
            mss: u32::try_from(at.mss.get()).unwrap_or(u32::MAX),
            byte_stage: 0,
            vendor: match params.timers {
                Timers::Auto => at.line_rate >= VENDOR_FROM,
                Timers::Paper => false,
                Timers::Vendor => true,
            },
            cut_waits: false,
            alpha_rises: false,
        };
        dcqcn.tell_rate(acts);
        if params.window != Cap::Variable {
            acts.push(FlowAct::Window(dcqcn.window()));
        }
        dcqcn
    }

    fn step(&mut self, now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        let before = bps(self.current);
        match seen.event {
            FlowEvent::Cnp if self.vendor => self.vendor_cnp(now),
            FlowEvent::Cnp => self.cnp(now),
            FlowEvent::Sent { bytes } if !self.vendor && self.runs() => self.sent(bytes),
            FlowEvent::Wake => self.wake(now),
            FlowEvent::Enter(CaState::Cwr | CaState::Recovery | CaState::Loss) => {
                acts.push(FlowAct::Ssthresh(Bytes::MAX));
                acts.push(FlowAct::Window(self.window()));
            }
            FlowEvent::Leave(_) | FlowEvent::Undo => {
                acts.push(FlowAct::Window(self.window()));
            }
            _ => {}
        }
        if bps(self.current) != before {
            self.tell_rate(acts);
        }
        let cut = if self.cut_waits { self.cut_due } else { Time::MAX };
        let due = cut.min(self.increase_due);
        if due != Time::MAX {
            acts.push(FlowAct::WakeAt(due));
        }
    }
}

/// Least rate of a sender's link at which `timers = "auto"` is the vendor's form.
///
/// Assumption: the paper's timers were chosen at 40 Gb/s; the vendor's are those of the HPCC paper's simulations at 100 Gb/s.
const VENDOR_FROM: BitsPerSec = BitsPerSec::from_gbps(100);

/// Source: SIGCOMM 2019 (HPCC), section 5.1.
const BASE_RTT: Span = Span::from_us(13);

impl Dcqcn {
    fn tell_rate(&self, acts: &mut Acts<FlowAct>) {
        acts.push(FlowAct::Rate(bps(self.current)));
        if self.params.window == Cap::Variable {
            acts.push(FlowAct::Window(self.window()));
        }
    }

    fn window(&self) -> Window {
        let rate = match self.params.window {
            Cap::None => return Window::UNBOUNDED,
            Cap::Fixed => self.line,
            Cap::Variable => self.current,
        };
        let raw = (rate / 8.0 * self.base_rtt.as_secs_f64() * 256.0) as u64;
        Window::from_raw(raw.max(u64::from(self.mss) * 256)) // a segment at least
    }

    /// Whether a CNP came since the rate was last the link's.
    fn runs(&self) -> bool {
        self.increase_due != Time::MAX || self.cut_due != Time::MAX
    }

    fn cnp(&mut self, now: Time) {
        self.settle_alpha(now);
        let g = self.gain();
        self.target = self.current;
        self.cut();
        self.alpha = (1.0 - g) * self.alpha + g;
        (self.time_stage, self.byte_stage, self.bytes) = (0, 0, 0);
        self.alpha_due = now.saturating_add(self.alpha_timer());
        self.increase_due = now.saturating_add(self.increase_timer());
    }

    fn vendor_cnp(&mut self, now: Time) {
        let interval = self.cut_interval();
        let first = !self.runs();
        if first {
            self.alpha = 1.0;
            self.alpha_due = now.saturating_add(self.alpha_timer());
            // A nanosecond after the alpha of that instant.
            self.cut_due = now.saturating_add(interval + Span::from_ns(1));
        } else {
            self.settle_alpha(now);
            if !self.cut_waits && self.cut_due <= now {
                let missed = now.since(self.cut_due) / interval + 1;
                self.cut_due = self.cut_due.saturating_add(interval.saturating_mul(missed));
            }
        }
        // The first CNP sets alpha to one, and does not raise it again when its timer expires.
        (self.cut_waits, self.alpha_rises) = (true, !first);
    }

    fn sent(&mut self, bytes: Bytes) {
        self.bytes = self.bytes.saturating_add(bytes.get());
        let counter = self.byte_counter().get();
        // More than a few at once only if a sender sends more than a counter in one go.
        for _ in 0..(self.bytes / counter).min(16) {
            self.byte_stage = self.byte_stage.saturating_add(1);
            self.increase();
        }
        self.bytes %= counter;
    }

    fn wake(&mut self, now: Time) {
        if self.cut_waits && self.cut_due <= now {
            self.vendor_cut(now);
        }
        if self.increase_due > now {
            return;
        }
        let next = now.saturating_add(self.increase_timer());
        self.increase_due = next;
        if self.vendor {
            self.vendor_increase();
        } else {
            self.time_stage = self.time_stage.saturating_add(1);
            self.increase();
        }
    }

    /// Takes alpha/2 of the rate.
    fn cut(&mut self) {
        self.current = (self.current * (1.0 - self.alpha / 2.0)).max(self.r_min());
    }

    fn vendor_cut(&mut self, now: Time) {
        self.settle_alpha(now);
        if self.time_stage != 0 {
            self.target = self.current;
        }
        self.cut();
        (self.time_stage, self.cut_waits) = (0, false);
        self.cut_due = self.cut_due.saturating_add(self.cut_interval());
        self.increase_due = now.saturating_add(self.increase_timer());
    }

    /// A stage of time or bytes is over.
    fn increase(&mut self) {
        let steps = u32::from(self.recovery_steps());
        let (time, bytes) = (self.time_stage, u32::from(self.byte_stage));
        if time.min(bytes) > steps {
            let stages = f64::from(time.min(bytes) - steps);
            self.raise_target(stages * self.r_hai());
        } else if time.max(bytes) >= steps {
            self.raise_target(self.r_ai());
        }
        self.approach();
        if self.params.release && bps(self.current) == bps(self.line) {
            (self.current, self.target, self.alpha) = (self.line, self.line, 1.0);
            (self.alpha_due, self.increase_due) = (Time::MAX, Time::MAX);
        }
    }

    fn vendor_increase(&mut self) {
        let steps = u32::from(self.recovery_steps());
        if self.time_stage == steps {
            self.raise_target(self.r_ai());
        } else if self.time_stage > steps {
            self.raise_target(self.r_hai());
        }
        self.approach();
        self.time_stage = self.time_stage.saturating_add(1);
    }

    fn raise_target(&mut self, by: f64) {
        self.target = (self.target + by).min(self.line);
    }

    fn approach(&mut self) {
        self.current = (self.target + self.current) / 2.0;
    }

    /// Alpha as its timer has left it by now.
    fn settle_alpha(&mut self, now: Time) {
        if self.alpha_due > now {
            return;
        }
        let timer = self.alpha_timer();
        let periods = now.since(self.alpha_due) / timer + 1;
        let g = self.gain();
        let mut idle = periods;
        if core::mem::take(&mut self.alpha_rises) {
            self.alpha = (1.0 - g) * self.alpha + g;
            idle -= 1;
        }
        self.alpha *= power(1.0 - g, idle);
        self.alpha_due = self.alpha_due.saturating_add(timer.saturating_mul(periods));
    }
}

impl Dcqcn {
    /// By form: the paper's or the vendor's, where nothing is set.
    fn by_form<T>(&self, set: Option<T>, paper: T, vendor: T) -> T {
        set.unwrap_or(if self.vendor { vendor } else { paper })
    }

    fn gain(&self) -> f64 {
        1.0 / f64::from(1u32 << self.params.g.shift())
    }

    fn alpha_timer(&self) -> Span {
        self.by_form(self.params.alpha_timer.0, Span::from_us(55), Span::from_us(1))
    }

    fn cut_interval(&self) -> Span {
        self.params.cut_interval.0.unwrap_or(Span::from_us(4))
    }

    fn increase_timer(&self) -> Span {
        self.by_form(self.params.increase_timer.0, Span::from_us(55), Span::from_us(300))
    }

    fn byte_counter(&self) -> Bytes {
        self.params.byte_counter.0.unwrap_or(Bytes::new(10_000_000))
    }

    fn recovery_steps(&self) -> u8 {
        self.by_form(self.params.recovery_steps.0, SmallCount::new(5), SmallCount::new(1)).get()
            as u8
    }

    fn r_ai(&self) -> f64 {
        self.rate(self.params.r_ai, 40e6, self.line / 25e9 * 5e6)
    }

    fn r_hai(&self) -> f64 {
        self.rate(self.params.r_hai, 400e6, self.line / 25e9 * 50e6)
    }

    fn r_min(&self) -> f64 {
        self.rate(self.params.r_min, 40e6, 100e6).min(self.line)
    }

    fn rate(&self, set: Rate, paper: f64, vendor: f64) -> f64 {
        self.by_form(set.0.map(|rate| rate.get() as f64), paper, vendor)
    }
}

/// `x` to the power of `n`, by squaring.
fn power(mut x: f64, mut n: u64) -> f64 {
    let mut result = 1.0;
    while n > 0 {
        if n & 1 == 1 {
            result *= x;
        }
        x *= x;
        n >>= 1;
    }
    result
}

/// In whole bit/s, to the nearest; at least one.
fn bps(rate: f64) -> BitsPerSec {
    BitsPerSec::new(((rate + 0.5) as u64).max(1))
}

#[cfg(test)]
mod tests;
