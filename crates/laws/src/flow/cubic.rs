//! CUBIC: grows the window as a cubic function of the time since the last loss, flat near the window of that loss.
//!
//! After a cut to `beta` of the window, growth is fast, slows down towards the window of the loss,
//! `last_max`, which it reaches after K = cbrt((last_max - cwnd) / C) seconds, and speeds up beyond. Since it is
//! time and not ACKs that counts, flows of unlike RTT get alike windows. Where a flow of Reno's
//! kind would be larger it follows that one; on paths of microseconds that is always: there CUBIC adds half a
//! segment per round trip and keeps 0.7.
//!
//! `linux` is the kernel's: integers in units of 1/1024 s, worked out at most once per tick, at most one
//! segment for two delivered, and HyStart, which ends slow start when the ACKs of a round trip last half as long as
//! the least RTT and some more, or when the RTT rises by an eighth, but at least 4 ms. `rfc9438` is
//! the standard's, in real numbers, with plain slow start. They differ besides in: growth of the Reno-like flow once it
//! has caught up (stays at 8/15, becomes 1), look-ahead (least RTT, smoothed RTT), what a loss keeps its share of (the
//! window, the flight), and a timeout (Linux forgets its least RTT too). Linux follows the Reno-like flow when the
//! window changed or 1/32 s passed, so that on short paths a window rests after a loss and then jumps: at 1 ms and
//! a loss in 10,000 its mean is 105 segments, of 122 by the standard. On paths of 1 to 2 ms HyStart takes the trains
//! of two round trips for one and ends slow start at some 30 segments.
//!
//! Source: Ha, Rhee, Xu (2008); RFC 9438; Linux `tcp_cubic.c` 2.3 (5.17 to 6.x).
//! Needs: nothing, or the classic echo with `ecn`. State: 72 bytes with the flow and up to 168 apart. `linux`
//! is integers with 64-bit divisions only; `rfc9438` uses floats.
//! Deviation: K is the exact root, rounded down, where Linux's table is up to 1 % below it. Counts bytes and
//! grows in whole segments. The pacing rate that HyStart allows for is the kernel's formula, whatever the
//! host does; set `paced` where it paces.

mod linux;
mod rfc9438;

use super::{Echo, FlowAct, FlowLaw, FlowSeen, Needs};
use crate::kernel_clock::Hz;
use crate::linux_window::LinuxWindow;
use crate::params::{Of1024, Packets, choice, params, whole};
use crate::{Acts, Start};
use alloc::boxed::Box;
use forebay_units::{Span, Time};
use linux::Linux;
use rfc9438::Rfc9438;

params! {
    /// What a scenario may set on CUBIC.
    pub struct CubicParams {
        /// Which arithmetic.
        form: Form = Form::Linux => "Linux tcp_cubic.c",
        /// Share of the window that a loss keeps.
        beta: Of1024 = Of1024::new(717) => "Linux tcp_cubic.c; RFC 9438 section 4.6: 0.7",
        /// C of the cubic function, in units of 10/1024 packets per cubic second.
        bic_scale: Scale = Scale::new(41) => "Linux tcp_cubic.c: 410/1024; RFC 9438 section 5: 0.4",
        /// Whether a loss below `last_max` remembers a lower one, which makes room for newcomers.
        fast_convergence: bool = true => "Linux tcp_cubic.c; RFC 9438 section 4.7",
        /// Whether the window is at least that of a flow of Reno's kind.
        tcp_friendliness: bool = true => "Linux tcp_cubic.c; RFC 9438 section 4.3",
        /// Linux: threshold that slow start begins with, without HyStart; 0 leaves it infinite.
        initial_ssthresh: Packets = Packets::new(0) => "Linux tcp_cubic.c",
        /// Linux: whether slow start ends before a loss.
        hystart: bool = true => "Linux tcp_cubic.c",
        /// Linux: which signs HyStart looks for.
        hystart_detect: Detect = Detect::Both => "Linux tcp_cubic.c: 3",
        /// Linux: HyStart looks at windows from this on.
        hystart_low_window: Packets = Packets::new(16) => "Linux tcp_cubic.c",
        /// Linux: ACKs no further apart than this belong to one train.
        hystart_ack_delta: Span = Span::from_ms(2) => "Linux tcp_cubic.c, hystart_ack_delta_us",
        /// Linux: whether the host paces, so that a train of ACKs lasts twice as long.
        paced: bool = false => "Linux without fq: SK_PACING_NONE",
        /// Linux: clock of the kernel, in whose ticks the function's time is counted.
        hz: Hz = Hz::Thousand => "Linux CONFIG_HZ",
        /// Whether packets are sent ECN-capable, so that a mark cuts as a loss does and no packet is lost.
        ecn: bool = false => "Linux tcp_ecn = 2: ECN only where the peer asks",
    }
}

choice! {
    /// Which arithmetic.
    pub enum Form {
        /// The kernel's.
        Linux = "linux",
        /// The standard's.
        Rfc9438 = "rfc9438",
    }
}

choice! {
    /// Which signs HyStart looks for.
    pub enum Detect {
        /// Either of the two.
        Both = "both",
        /// ACKs of a round trip that last too long.
        Train = "train",
        /// RTTs that rise.
        Delay = "delay",
    }
}

whole! {
    /// C in units of 10/1024.
    pub struct Scale: "whole number" from 1 to 1024;
}

/// A flow under CUBIC.
#[derive(Clone, Debug)]
pub struct Cubic {
    window: LinuxWindow,
    form: State,
}

#[derive(Clone, Debug)]
enum State {
    Linux(Box<Linux>),
    Rfc9438(Box<Rfc9438>),
}

impl FlowLaw for Cubic {
    const NAME: &'static str = "cubic";
    const NEEDS: Needs = Needs::NONE;
    type Params = CubicParams;

    fn start(params: &CubicParams, at: Start, acts: &mut Acts<FlowAct>) -> Self {
        let mut window = LinuxWindow::new(&at, acts);
        let form = match params.form {
            Form::Linux => State::Linux(Box::new(Linux::new(*params, &mut window, acts))),
            Form::Rfc9438 => State::Rfc9438(Box::new(Rfc9438::new(*params))),
        };
        Self { window, form }
    }

    fn needs(&self) -> Needs {
        let ecn = match &self.form {
            State::Linux(cubic) => cubic.params.ecn,
            State::Rfc9438(cubic) => cubic.params.ecn,
        };
        Needs { echo: Echo::classic_if(ecn), ..Self::NEEDS }
    }

    fn step(&mut self, now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        match &mut self.form {
            State::Linux(cubic) => cubic.step(&mut self.window, now, seen, acts),
            State::Rfc9438(cubic) => cubic.step(&mut self.window, now, seen, acts),
        }
    }
}

#[cfg(test)]
mod tests;
