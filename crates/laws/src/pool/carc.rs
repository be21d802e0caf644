//! CARC: limits unread data to a connection's share of the receiver's cache, and a little more while the receiver idles.
//!
//! A connection may have C lines unread at its receiver, the lines of the cache over the connections that share it. With requests blocked
//! while the fastest of a window took no longer than an empty path and its own service, the receiver waits for requests: the limit then
//! moves towards C and what the receiver consumes in a round trip. Three windows in which it consumes less and takes longer
//! within C credits mean that others use the cache: the limit moves below C. Else it goes back to C. It moves by a part of the way
//! per window, and stays between C/2 and 2 C.
//!
//! Source: CARC (APNet 2025), formulas 1 and 2. The paper prints no rule for the second term.
//! Needs: bytes and latency of each request; the round-trip time of the empty path, or the least latency seen stands for it, the
//! service of one request included. State: 128 bytes. Integers only.
//! Deviation: the rule for the second term, its fractions, its thresholds and its bounds are assumptions, and all of them parameters. Windows are of a
//! round trip, and last on while credits are out and none comes back, as with returns in batches.

use super::{PoolAct, PoolEvent, PoolLaw, PoolSeen, PoolStart, PoolTotals};
use crate::Acts;
use crate::params::{Gain, params, whole};
use alloc::sync::Arc;
use forebay_units::{Span, Time};

params! {
    /// What a scenario may set on CARC. C is the connection's share of the cache.
    pub struct CarcParams {
        /// A latency up to this many percent of the empty path's is one without a queue.
        idle_percent: Percent = Percent::new(125) => "Assumption",
        /// Part of the way to where delta is to be that it goes in a window.
        delta_gain: PartOfWay = PartOfWay::new(25) => "Assumption",
        /// Weight of the latest window in the mean rate at which the receiver consumes.
        rate_gain: Gain = Gain::from_shift(3) => "Assumption",
        /// A window is slow if its rate is more than this many percent below the mean, while latencies rise within C credits.
        slow_percent: Fall = Fall::new(10) => "Assumption",
        /// Slow windows in a row from which the law concludes that others use the cache.
        slow_windows: Windows = Windows::new(3) => "Assumption",
        /// Part of C by which the goal of delta falls each time that it concludes so.
        slow_step: Gain = Gain::from_shift(3) => "Assumption",
        /// Part of C by which the goal rises again in each window that is not slow.
        recovery_step: Gain = Gain::from_shift(5) => "Assumption",
        /// Most that delta takes from C.
        most_below: CacheShareBelow = CacheShareBelow::new(50) => "Assumption",
        /// Most that delta adds to C.
        most_above: CacheShareAbove = CacheShareAbove::new(100) => "Assumption",
    }
}

whole! {
    /// Of a round-trip time.
    pub struct Percent: "whole number of percent" from 100 to 1000;
}

whole! {
    /// Of the way.
    pub struct PartOfWay: "whole number of percent" from 1 to 100;
}

whole! {
    /// Of a rate.
    pub struct Fall: "whole number of percent" from 0 to 99;
}

whole! {
    /// A number of windows.
    pub struct Windows: "whole number" from 1 to 255;
}

whole! {
    /// Of C, of which something is left.
    pub struct CacheShareBelow: "whole number of percent of C" from 0 to 99;
}

whole! {
    /// Of C.
    pub struct CacheShareAbove: "whole number of percent of C" from 0 to 1000;
}

/// A connection under CARC.
#[derive(Clone, Debug)]
pub struct Carc {
    params: Arc<CarcParams>,
    lines: u64,    // of the cache
    line: u32,     // bytes
    slow: u8,      // slow windows in a row
    share: u64,    // C
    delta: i64,    // within its bounds, as the next
    pressure: i64, // where others use the cache, what delta moves to; else 0
    rtt: Span,     // of the empty path; `Span::MAX`: not known yet
    due: Time,
    at: Time,        // of the last event
    busy: Span,      // time with credits out, from the last rate on
    counted: Span,   // the part of it up to the last completion
    completed: u64,  // bytes, at the last rate
    rate: u64,       // bytes per second that the receiver consumes while credits are out
    fastest: Span,   // least latency of this window; `Span::MAX`: no request completed
    fast_bytes: u64, // of the request that had it
    usual: Span,     // least latency of the last window that was not slow
}

/// Where nothing is known of the path.
const FIRST_RTT: Span = Span::from_us(10);

/// Picoseconds in a second.
const SECOND: u128 = 1_000_000_000_000;

impl PoolLaw for Carc {
    const NAME: &'static str = "carc";
    type Params = Arc<CarcParams>;

    fn start(params: &Arc<CarcParams>, now: Time, at: PoolStart, acts: &mut Acts<PoolAct>) -> Self {
        let line = u32::try_from(at.line.get()).unwrap_or(u32::MAX).max(1);
        let mut carc = Self {
            params: Arc::clone(params),
            lines: at.llc.get() / u64::from(line),
            line,
            slow: 0,
            share: 0,
            delta: 0,
            pressure: 0,
            rtt: at.base_rtt.unwrap_or(Span::MAX),
            due: now,
            at: now,
            busy: Span::ZERO,
            counted: Span::ZERO,
            completed: 0,
            rate: 0,
            fastest: Span::MAX,
            fast_bytes: 0,
            usual: Span::MAX,
        };
        carc.connections(at.connections);
        carc.due = now.saturating_add(carc.period());
        acts.push(PoolAct::Limit(carc.limit()));
        acts.push(PoolAct::WakeAt(carc.due));
        carc
    }

    #[inline(always)] // a driver knows which event it is, and most of this falls away
    fn step(&mut self, now: Time, seen: PoolSeen<'_>, acts: &mut Acts<PoolAct>) {
        match seen.event {
            PoolEvent::Connections(n) => self.connections(n),
            PoolEvent::Completed { bytes, latency } => {
                self.pass(now, true);
                self.counted = self.busy;
                self.rtt = self.rtt.min(latency);
                if latency < self.fastest {
                    (self.fastest, self.fast_bytes) = (latency, bytes.get());
                }
                return;
            }
            PoolEvent::Wake if now >= self.due => {
                self.pass(now, seen.totals.outstanding > 0);
                self.look(seen.totals);
                self.due = now.saturating_add(self.period());
                acts.push(PoolAct::WakeAt(self.due));
            }
            PoolEvent::Wake => return,
        }
        acts.push(PoolAct::Limit(self.limit()));
    }
}

impl Carc {
    fn connections(&mut self, n: u32) {
        // A share that is half of all numbers leaves room for the sum.
        self.share = (self.lines / u64::from(n.max(1))).clamp(1, u64::MAX / 4);
        self.bound();
    }

    fn bound(&mut self) {
        let least = -self.of_share(self.params.most_below.get());
        self.delta = self.delta.clamp(least, self.most());
        self.pressure = self.pressure.max(least);
    }

    /// Most that delta adds to the share.
    fn most(&self) -> i64 {
        self.of_share(self.params.most_above.get())
    }

    /// So many percent of the share, rounded down.
    fn of_share(&self, percent: u64) -> i64 {
        let part = u128::from(self.share) * u128::from(percent) / 100;
        part.min(i64::MAX as u128 / 2) as i64
    }

    fn limit(&self) -> u64 {
        self.share.saturating_add_signed(self.delta)
    }

    /// Counts time with credits out.
    #[inline]
    fn pass(&mut self, now: Time, out: bool) {
        if out {
            self.busy += now.since(self.at);
        }
        self.at = now;
    }

    /// Ends a window, unless it tells nothing: credits are out and none came back.
    fn look(&mut self, totals: &PoolTotals) {
        let mut goal = 0;
        if self.fastest != Span::MAX {
            self.judge(totals);
            goal = self.goal(totals);
        } else if totals.outstanding > 0 {
            return;
        }
        // Rounded away from zero, so that it arrives.
        let way = i128::from(goal - self.delta);
        let gain = i128::from(self.params.delta_gain.get());
        let step = (way * gain + 99 * way.signum()) / 100;
        self.delta += step as i64;
        self.bound();
        self.fastest = Span::MAX;
    }

    /// Takes the window's rate, and whether others use the cache: the rate falls while latencies rise.
    fn judge(&mut self, totals: &PoolTotals) {
        let slow = self.take_rate(totals);
        let share = self.share as i64;
        if !slow {
            self.slow = 0;
            self.usual = self.fastest;
            let step = (share >> self.params.recovery_step.shift()).max(1);
            self.pressure = (self.pressure + step).min(0);
            return;
        }
        self.slow += 1;
        if u64::from(self.slow) == self.params.slow_windows.get() {
            self.slow = 0;
            self.pressure -= share >> self.params.slow_step.shift();
            self.bound();
        }
    }

    /// Takes the rate of a window in which something completed into the mean. Whether the window was slow.
    fn take_rate(&mut self, totals: &PoolTotals) -> bool {
        let bytes = totals.completed.saturating_sub(self.completed);
        self.completed = totals.completed;
        if self.counted == Span::ZERO {
            return false;
        }
        let now = u128::from(bytes) * SECOND / u128::from(self.counted.as_ps());
        let now = u64::try_from(now).unwrap_or(u64::MAX);
        let fall = u128::from(self.rate) * u128::from(self.params.slow_percent.get()) / 100;
        let slow = now < self.rate - fall as u64
            && self.fastest > self.usual
            && totals.outstanding <= self.share;
        let gain = self.params.rate_gain.shift();
        self.rate =
            if self.rate == 0 { now } else { self.rate - (self.rate >> gain) + (now >> gain) };
        self.busy = self.busy.saturating_sub(self.counted);
        self.counted = Span::ZERO;
        slow
    }

    /// What delta moves to.
    fn goal(&self, totals: &PoolTotals) -> i64 {
        if self.pressure < 0 {
            return self.pressure;
        }
        let rate = u128::from(self.rate.max(1));
        let service = u128::from(self.fast_bytes) * SECOND / rate;
        let empty = u128::from(self.rtt.as_ps()) * u128::from(self.params.idle_percent.get()) / 100;
        if totals.blocked == 0 || u128::from(self.fastest.as_ps()) > empty + service {
            return 0;
        }
        let in_flight = rate * u128::from(self.rtt.as_ps()) / SECOND / u128::from(self.line);
        in_flight.min(self.most() as u128) as i64
    }

    /// From one look at the receiver to the next: a round trip, and 1 us at least.
    fn period(&self) -> Span {
        let known = if self.rtt == Span::MAX { FIRST_RTT } else { self.rtt };
        known.clamp(Span::from_us(1), Span::from_secs(1))
    }
}

#[cfg(test)]
mod tests;
