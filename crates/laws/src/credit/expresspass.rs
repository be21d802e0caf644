//! ExpressPass: sets the credit rate of a flow by the loss of its credits.
//!
//! At most once per round trip, before a credit leaves, the loss of credits since the last time is compared with a target. Up to
//! the target the rate moves by the part w of the way to the most there is, and w grows from the second such time in a row on;
//! above it the rate falls to what came back, and w halves.
//!
//! `form = "code"` is the authors' simulator: the target falls from `target` to nothing as the rate rises to the most, w grows
//! by `w_step`, and the rate falls to that of the data that came, times one and the target. `form = "paper"` is the published
//! algorithm: a target of a tenth, w moves half of the way to `w_max`, and the rate falls in proportion to the loss.
//!
//! Under `"code"` a flow of n packets, n below `short_flow`, starts at `alpha` n / `short_flow`: the switch `AIR` of ns2-xpass. Code of Aeolus over
//! ExpressPass has that switch in FlexPass (KAIST); that of Aeolus's own authors could not be read. A request after a stop starts rate and w
//! again, by the packets that are left. A sender that stopped its receiver early asks again two round trips after the stop.
//! Under `"paper"` every flow starts at `alpha`, a request after a stop changes nothing, and a sender waits two round trips from
//! its last credit on.
//!
//! Source: Cho, Jang, Han, SIGCOMM 2017, algorithm 1; the authors' ns-2 code (kaist-ina/ns2-xpass).
//! Needs: credits and data on the same links; ports that meter credits. State: 80 bytes, parameters shared. Floats, by `+ - * /` alone.

use super::{CreditAct, CreditEvent, CreditLaw, CreditSeen, CreditStart, CreditTotals};
use crate::params::{Packets, choice, decimal, or_word, params};
use crate::{Acts, Paths};
use alloc::sync::Arc;
use forebay_units::{BitsPerSec, Span, Time};

params! {
    /// What a scenario may set on ExpressPass.
    pub struct ExpressPassParams {
        /// Which rule.
        form: Form = Form::Code => "kaist-ina/ns2-xpass",
        /// First rate, as a share of the most.
        alpha: Share = Share::new(0.5) => "kaist-ina/ns2-xpass",
        /// A flow of fewer packets, n, starts at alpha n / short_flow; 0: no flow is short; auto: 40 under code, 0 under paper.
        short_flow: ShortFlow = ShortFlow(None) => "kaist-ina/ns2-xpass, recv_credit_request",
        /// First w.
        w_init: Share = Share::new(0.0625) => "kaist-ina/ns2-xpass, fat-tree script",
        /// Least w.
        w_min: Share = Share::new(0.01) => "SIGCOMM 2017",
        /// Largest w.
        w_max: Share = Share::new(0.5) => "SIGCOMM 2017",
        /// Code: by how much w grows.
        w_step: Share = Share::new(0.05) => "kaist-ina/ns2-xpass",
        /// Target loss, under code of a flow that is far from the most; auto: 0.125 under code, 0.1 under paper.
        target: Target = Target(None) => "kaist-ina/ns2-xpass; SIGCOMM 2017",
        /// Whether a sender stops its receiver as soon as credits under way cover what is left.
        early_stop: bool = false => "kaist-ina/ns2-xpass: a switch, which some versions lack",
    }
}

or_word! {
    /// Packets of a short flow, or as the form says.
    pub struct ShortFlow: "auto" or Packets, "a whole number of packets from 0 to 65535" if |_| true;
}

impl ShortFlow {
    fn under(self, form: Form) -> f64 {
        self.0.map_or(if form == Form::Code { 40.0 } else { 0.0 }, |packets| packets.get() as f64)
    }
}

choice! {
    /// Which rule.
    pub enum Form {
        /// Rule of the authors' simulator.
        Code = "code",
        /// Rule of the paper.
        Paper = "paper",
    }
}

decimal! {
    /// A share of something.
    pub struct Share: "share" from 0.001 to 1.0;
}

or_word! {
    /// A share of credits that are lost.
    pub struct Target: "auto" or Share, "a share from 0.001 to 1.0" if |_| true;
}

impl Target {
    fn under(self, form: Form) -> f64 {
        match (self.0, form) {
            (Some(share), _) => share.get(),
            (None, Form::Code) => 0.125,
            (None, Form::Paper) => 0.1,
        }
    }
}

/// A flow's credits under ExpressPass.
#[derive(Clone, Debug)]
pub struct ExpressPass {
    rate: f64, // bit/s; invariant: above zero and at most `most`
    most: f64,
    size: f64, // bits of a credit
    w: f64,
    last: Time,    // of the last update, or of the start
    answered: u64, // totals then
    lost: u64,
    grew: bool, // the last update did not lower the rate
    params: Arc<ExpressPassParams>,
}

impl CreditLaw for ExpressPass {
    const NAME: &'static str = "expresspass";
    const PATHS: Paths = Paths::Symmetric;
    type Params = Arc<ExpressPassParams>;

    fn stops_early(params: &Arc<ExpressPassParams>) -> bool {
        params.early_stop
    }

    fn asks_after_stop(params: &Arc<ExpressPassParams>) -> bool {
        params.form == Form::Code
    }

    fn start(
        params: &Arc<ExpressPassParams>,
        now: Time,
        at: CreditStart,
        acts: &mut Acts<CreditAct>,
    ) -> Self {
        let most = (at.most.get() as f64).max(1.0);
        let law = Self {
            rate: params.first_rate(most, at.packets),
            most,
            size: at.size.get() as f64 * 8.0,
            w: params.w_init.get(),
            last: now,
            answered: 0,
            lost: 0,
            grew: false,
            params: Arc::clone(params),
        };
        acts.push(CreditAct::Rate(law.bps()));
        law
    }

    fn step(&mut self, now: Time, seen: CreditSeen<'_>, acts: &mut Acts<CreditAct>) {
        if let CreditEvent::Request { packets } = seen.event {
            return self.on_request(now, packets, acts);
        }
        let CreditTotals { answered, lost, rtt } = *seen.totals;
        let (answered, lost) =
            (answered.saturating_sub(self.answered), lost.saturating_sub(self.lost));
        let since = now.since(self.last);
        let due = seen.event == CreditEvent::Credit && rtt > Span::ZERO && since >= rtt;
        if !due || answered == 0 {
            return;
        }
        let before = self.bps();
        self.update(since.as_secs_f64(), answered as f64, lost.min(answered) as f64, rtt);
        (self.last, self.answered, self.lost) = (now, seen.totals.answered, seen.totals.lost);
        if self.bps() != before {
            acts.push(CreditAct::Rate(self.bps()));
        }
    }
}

impl ExpressPassParams {
    /// First rate of a flow with so many packets to send.
    fn first_rate(&self, most: f64, packets: u64) -> f64 {
        let short = self.short_flow.under(self.form).max(1.0);
        let part = (packets.max(1) as f64 / short).min(1.0);
        (most * self.alpha.get() * part).max(1.0)
    }
}

impl ExpressPass {
    /// What became of credits since the last update still counts, as in `XPassAgent::init`.
    fn on_request(&mut self, now: Time, packets: u64, acts: &mut Acts<CreditAct>) {
        if self.params.form == Form::Paper {
            return;
        }
        self.rate = self.params.first_rate(self.most, packets);
        (self.w, self.last) = (self.params.w_init.get(), now);
        acts.push(CreditAct::Rate(self.bps()));
    }

    /// `answered` credits in `since` seconds, of which `lost` are lost.
    fn update(&mut self, since: f64, answered: f64, lost: f64, rtt: Span) {
        let p = *self.params;
        let (loss, w_max) = (lost / answered, p.w_max.get());
        let target = match p.form {
            Form::Code => (1.0 - self.rate / self.most) * p.target.under(Form::Code),
            Form::Paper => p.target.under(Form::Paper),
        };
        let one_per_rtt = self.size / rtt.as_secs_f64();
        if loss > target {
            let came = match p.form {
                _ if loss >= 1.0 => one_per_rtt,
                Form::Code => self.size * (answered - lost) / since * (1.0 + target),
                Form::Paper => self.rate * (1.0 - loss) * (1.0 + target),
            };
            self.rate = self.rate.min(came);
            self.w = (self.w / 2.0).max(p.w_min.get());
            self.grew = false;
        } else {
            if self.grew {
                self.w = match p.form {
                    Form::Code => (self.w + p.w_step.get()).min(w_max),
                    Form::Paper => (self.w + w_max) / 2.0,
                };
            }
            self.grew = true;
            let goal = match p.form {
                Form::Code => self.most,
                Form::Paper => self.most * (1.0 + target),
            };
            self.rate = self.w * goal + (1.0 - self.w) * self.rate;
        }
        self.rate = self.rate.max(one_per_rtt).min(self.most).max(1.0);
    }

    fn bps(&self) -> BitsPerSec {
        BitsPerSec::new((self.rate as u64).max(1))
    }
}

#[cfg(test)]
mod tests;
