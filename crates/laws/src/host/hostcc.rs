//! hostCC: protects network traffic in a host by throttling its other cores, and marks packets to slow senders down.
//!
//! Two averages say how the host is. I_S, lines in the IIO buffer, weight 1/8, follows memory within 5 us; B_S, the
//! bandwidth the NIC uses on PCIe, weight 1/256, needs 150 us. After each reading of B_S (equality holds the level):
//!
//!   I_S < I_T, B_S > B_T   one level down: the network has its share and nothing is short
//!   I_S > I_T, B_S > B_T   hold; marks slow the network down
//!   I_S > I_T, B_S < B_T   one level up; marks too, since the buffer still fills with what exceeds B_T
//!   I_S < I_T, B_S < B_T   hold; without marks the network grows
//!
//! Marks follow I_S alone. The next level waits until the last is in force (22 us on the published testbed), so the
//! strongest of four is reached in 90 us; on the way down each level also waits for `lower_hold`.
//!
//! `module` computes as the authors' kernel module does, faults included:
//! - Times are cut to whole nanoseconds and then to units of 2 ns and 32 ns, so at 0.6 to 0.7 us per sample B_S reads
//!   1.3 to 2.2 Gb/s high: a target of 84 holds about 82.5. I_S compares as whole lines: above 70 means from 71 on.
//! - Samples of 10 lines or less and of 150 Gb/s or more are ignored. So I_S stays where it was when traffic stops, and
//!   above I_T the level then climbs to the top with no traffic at all; above 150 Gb/s the law is blind.
//! - Counters that wrap are not unwrapped: one huge sample, hundreds of samples to forget it.
//!
//! What the paper's law does not do, and options here do:
//! - It never lowers the level of a network that stays below B_T without congestion, idle or content: an antagonist
//!   once stopped stays stopped. With `lease`, a level that nothing justifies for so long goes down by one; congestion
//!   does, and bandwidth at the target, but no reading in which nothing came in. If the level was needed after all,
//!   congestion brings it back in one write, so a content network pays for the probe once per lease.
//! - It holds its last decision when readings fail or a counter stops. With `stale_after`, both averages are then
//!   unknown: level 0 at once, no marks, and a fresh start with the next readings.
//!
//! Not here: the delay from the IIO to memory for transports that control delay (section 6). It is 0.3 to 1 us, and what such
//! a transport has to answer waits before the IIO.
//!
//! Source: Agarwal, Krishnamurthy, Agarwal, Host Congestion Control (SIGCOMM 2023), sections 3 and 4; the authors' module
//! (Terabit-Ethernet/hostCC, 2023).
//! Needs: readings of occupancy and insertions of one side; acts on levels and marks. State: under 512 bytes per host.
//! Integers only, 64-bit divisions only.
//! Deviation from the paper: levels come down `lower_hold` apart, as in the module, since with the text's 0 the lagging
//! averages take one level too many. Marks go on ECN-capable packets only, unless `mark_all`; the module marks all.
//! Averages begin with their first sample, in `module` with zero. Samples that no hardware can make (65536 lines,
//! 16 Tb/s) come from a counter that was reset, and are ignored. After a failed write none is tried for 1 ms.
//! Deviation of `module`: its first sample divides the counter by the time since boot; here it only starts the difference.

mod module;
mod paper;
mod signals;
#[cfg(test)]
mod tests;

use super::{
    Echo, HostAct, HostEvent, HostLaw, HostSeen, HostStart, LawReadings, Reading, Side, Signal,
    Timeout,
};
use crate::Acts;
use crate::host_levels::Levels;
use crate::params::{Gain, ParamType, choice, or_word, params, whole};
use core::cmp::Ordering;
use core::fmt;
use forebay_units::{BitsPerSec, Span, Time};
pub(super) use paper::scaled;
use signals::Signals;

params! {
    /// What a scenario may set on hostCC.
    pub struct HostCcParams {
        /// How the averages are computed and compared.
        variant: Variant = Variant::Paper => "hostCC section 4.1",
        /// Which way of the data is watched: at the receiver, into memory; at the sender, out of it.
        side: Side = Side::Receive => "hostCC section 5; module mode 0, send: mode 1",
        /// I_T: above this many lines in the IIO buffer the host is congested; auto: 70 to receive, 190 to send. With DDIO, 50.
        iio_threshold: Threshold = Threshold(None) => "hostCC sections 5, 5.2; module target_iio_rd_thresh",
        /// B_T: what the network is to get, with the overhead of PCIe; 84 Gb/s carry 80 Gb/s of goodput.
        target: BitsPerSec = BitsPerSec::from_gbps(84) => "hostCC section 5, figure 19; module target_pcie_thresh",
        /// Weight of the newest sample in I_S; auto: time constant 5 us, whatever the time between two readings.
        occupancy_weight: Weight = Weight::of(3) => "hostCC section 4.1",
        /// Weight of the newest sample in B_S; auto: time constant 166 us.
        bandwidth_weight: Weight = Weight::of(8) => "hostCC section 4.1",
        /// Whether host-local cores are throttled.
        local_response: bool = true => "hostCC section 3.2; false: figure 18, echo only",
        /// Whether packets are marked.
        network_response: bool = true => "hostCC section 3.3; false: figure 18, local response only",
        /// Whether marks also go on packets that are not ECN-capable, against RFC 3168.
        mark_all: bool = false => "RFC 3168 section 5; module: true",
        /// Time between one lowering in force and the next; 0us is the paper's text.
        lower_hold: Span = Span::from_us(150) => "the authors' module; not in the paper",
        /// A level above 0 that nothing justifies for so long goes down by one; none: only bandwidth above the target lowers it.
        lease: Timeout = Timeout(None) => "not in the paper nor in the module",
        /// Without a usable reading of both counters for so long, everything is lifted; none: the last decision stays.
        stale_after: Timeout = Timeout(None) => "not in the paper nor in the module",
    }
}

choice! {
    /// How the averages are computed and compared.
    pub enum Variant {
        /// As the paper says, without rounding that matters.
        Paper = "paper",
        /// As the authors' kernel module does.
        Module = "module",
    }
}

whole! {
    /// Lines in the IIO buffer.
    pub struct Lines: "whole number of lines" from 1 to 65535;
}

/// Lines in the IIO buffer, or as the side says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threshold(Option<Lines>);

impl Threshold {
    fn lines(self, side: Side) -> u64 {
        match (self.0, side) {
            (Some(lines), _) => lines.get(),
            (None, Side::Receive) => 70,
            (None, Side::Send) => 190,
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(lines) => lines.fmt(f),
            None => f.write_str("auto"),
        }
    }
}

impl ParamType for Threshold {
    const RANGE: &'static str = "\"auto\" or a whole number of lines from 1 to 65535";

    fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "auto" => Some(Self(None)),
            text => Lines::parse(text).map(|lines| Self(Some(lines))),
        }
    }
}

or_word! {
    /// Weight of the newest sample in an average.
    pub struct Weight: "auto" or Gain, "a power of one half from 1/1024 to 1, written as \"1/16\" or \"0.0625\"" if |_| true;
}

/// Time constants of the averages, which weights "auto" keep whatever the period: 1/8 and 1/256 at 0.65 us a sample. Source: hostCC section 4.1.
const OCCUPANCY_CONSTANT: Span = Span::from_us(5);
const BANDWIDTH_CONSTANT: Span = Span::from_us(166);

impl Weight {
    const fn of(shift: u8) -> Self {
        Self(Some(Gain::from_shift(shift)))
    }

    /// The power of one half; "auto" takes the one whose average over samples of a period comes nearest to the time constant, which is weight 1
    /// from that period on.
    fn shift(self, period: Span, constant: Span) -> u32 {
        let (period, constant) = (period.as_ps().max(1), constant.as_ps());
        // Nearest by ratio: the bounds are the powers of two times the square root of two.
        let nearest = |shift: &u8| constant * 1000 < (period << shift).saturating_mul(1414);
        let fits = |shift: &u8| period.leading_zeros() > u32::from(*shift);
        self.0.map_or_else(
            || {
                let mut shifts = 0..Gain::MAX_SHIFT;
                shifts
                    .find(|shift| !fits(shift) || nearest(shift))
                    .unwrap_or(Gain::MAX_SHIFT)
                    .into()
            },
            Gain::shift,
        )
    }
}

/// A host under hostCC.
#[derive(Clone, Debug)]
pub struct HostCc {
    params: HostCcParams,
    signals: Signals,
    levels: Levels,
    lower_from: Time,       // no regular lowering before
    echo: bool,             // marks are on
    occupancy_at: Time,     // last usable reading of each counter,
    inserts_at: Time,       // or the time since which it is unknown
    reported: (bool, bool), // whether that was a reading
}

impl HostLaw for HostCc {
    const NAME: &'static str = "hostcc";
    type Params = HostCcParams;

    fn needs(params: &HostCcParams) -> &'static [Signal] {
        params.side.signals()
    }

    fn start(params: &HostCcParams, now: Time, at: HostStart, _acts: &mut Acts<HostAct>) -> Self {
        let counters = match params.side {
            Side::Receive => at.write,
            Side::Send => at.read,
        };
        Self {
            params: *params,
            signals: Signals::new(params, counters, at.period),
            levels: Levels::new(at.max_level, params.local_response, params.lease.0, now),
            lower_from: Time::ZERO,
            echo: false,
            occupancy_at: now,
            inserts_at: now,
            reported: (false, false),
        }
    }

    fn side(&self) -> Side {
        self.params.side
    }

    fn watched(&self) -> Option<LawReadings> {
        Some(self.signals.watched())
    }

    fn step(&mut self, now: Time, seen: HostSeen, acts: &mut Acts<HostAct>) {
        use HostEvent as E;
        match (seen.event, self.params.side) {
            (E::LevelWritten(level), _) => self.written(now, level, acts),
            (E::LevelFailed, _) => self.levels.failed(now),
            (E::Wake, _) => self.wake(now, acts),
            _ if self.levels.disabled() => {}
            (E::WriteOccupancy(reading), Side::Receive)
            | (E::ReadOccupancy(reading), Side::Send) => {
                self.occupancy(now, reading, acts);
            }
            (E::WriteInserts(reading), Side::Receive) | (E::ReadInserts(reading), Side::Send) => {
                self.inserts(now, reading, acts);
            }
            (E::Target(rate), _) => self.signals.retarget(rate),
            (E::Disable, _) => self.disable(acts),
            _ => {}
        }
        let stale = self.stale_from().filter(|_| self.levels.held() || self.echo);
        self.levels.arm(now, stale, acts);
    }
}

impl HostCc {
    /// E1: I_S, and with it the marks.
    fn occupancy(&mut self, now: Time, reading: Reading, acts: &mut Acts<HostAct>) {
        self.expire(now, acts);
        if self.signals.occupancy(reading) {
            (self.occupancy_at, self.reported.0) = (now, true);
        }
        let over = self.signals.congested() == Some(Ordering::Greater) && !self.blind();
        self.mark(over && self.params.network_response, acts);
    }

    /// E2: B_S, and with it the level.
    fn inserts(&mut self, now: Time, reading: Reading, acts: &mut Acts<HostAct>) {
        self.expire(now, acts);
        let moved = self.signals.inserts(reading);
        if moved {
            (self.inserts_at, self.reported.1) = (now, true);
        }
        if self.blind() {
            self.levels.lapse(now, acts);
        } else {
            self.decide(now, moved, acts);
        }
    }

    /// The four regimes. Equality holds the level, and so does a signal that is not known.
    ///
    /// Under a lease, a reading in which nothing `moved` justifies no level: an idle network wants nothing.
    fn decide(&mut self, now: Time, moved: bool, acts: &mut Acts<HostAct>) {
        use Ordering::{Greater, Less};
        let (Some(occupancy), Some(bandwidth)) = (self.signals.congested(), self.signals.met())
        else {
            return;
        };
        let wanted = moved || self.params.lease.0.is_none();
        if wanted && (occupancy == Greater || bandwidth != Less) {
            self.levels.justify(now);
        }
        match (occupancy, bandwidth) {
            (Less, Greater) if now >= self.lower_from => {
                self.levels.lower(now, acts);
            }
            (Greater, Less) if wanted => {
                self.levels.raise(now, acts);
            }
            _ => self.levels.lapse(now, acts),
        }
    }

    fn mark(&mut self, on: bool, acts: &mut Acts<HostAct>) {
        if on != self.echo {
            self.echo = on;
            acts.push(HostAct::Echo(match (on, self.params.mark_all) {
                (false, _) => Echo::Off,
                (true, false) => Echo::Capable,
                (true, true) => Echo::All,
            }));
        }
    }

    /// E3: a level is in force.
    fn written(&mut self, now: Time, level: u8, acts: &mut Acts<HostAct>) {
        if self.levels.written(now, level, acts) {
            self.lower_from = now.saturating_add(self.params.lower_hold);
        }
    }

    fn disable(&mut self, acts: &mut Acts<HostAct>) {
        self.levels.disable(acts);
        self.echo = false;
        acts.push(HostAct::Echo(Echo::Off));
    }

    /// Time has passed: readings may be stale, and a lease over.
    fn wake(&mut self, now: Time, acts: &mut Acts<HostAct>) {
        if self.levels.woken(now) {
            self.expire(now, acts);
            self.levels.go_on(now, acts);
        }
    }

    /// Lifts everything if either counter gave nothing usable for too long, and begins anew.
    fn expire(&mut self, now: Time, acts: &mut Acts<HostAct>) {
        if self.stale_from().is_none_or(|from| from > now) {
            return;
        }
        (self.occupancy_at, self.inserts_at, self.reported) = (now, now, (false, false));
        self.signals.forget();
        self.levels.lift(now, acts);
        self.mark(false, acts);
    }

    /// Whether stale signals matter and one of them has had no reading since they last did.
    fn blind(&self) -> bool {
        self.params.stale_after.0.is_some() && self.reported != (true, true)
    }

    fn stale_from(&self) -> Option<Time> {
        let after = self.params.stale_after.0.filter(|_| !self.levels.disabled())?;
        Some(self.occupancy_at.min(self.inserts_at).saturating_add(after))
    }
}
