//! TCP-NV: bounds the queue of each flow by comparing its rate with the rate of an empty path.
//!
//! While no queue forms, twice the data in flight gives twice the rate. NV keeps the best rate since its
//! last decision and the best rate per byte in flight it knows; their quotient is the window that the
//! path needs without a queue. A window above that by more than `pad` segments shrinks by a share of the
//! excess; one that fits may grow. All flows of a queue must run it: a law that waits for loss fills
//! the queue, and NV gives way.
//!
//! `mainline` is the module of Linux (since 4.8). It grows like Reno, or slower after timeouts; its
//! reference is the least smoothed RTT; it decides once per round trip, but not before 60 samples for a
//! decrease, 20 for growth, 30 to end the first slow start, and 2 round trips after the last. In balance a
//! flow holds `pad - pad_buffer` to `pad` segments in the queue, whatever the rate, and so does each of N
//! that start together and know `base_rtt`. What follows from the module's text:
//! - Between these bounds it decides nothing and keeps its best rate. Without noise a flow at rest there
//!   never sees that others joined: it stays as large as it was alone, and the queue exceeds the pads.
//! - Without `base_rtt`, a renewal while the queue stands makes the queue part of the reference: it grows.
//! - The first RTT after a loss or mark overwrites the reference (`keep_min_rtt` refrains). An episode also
//!   forbids growth, slow start included, until 20 samples found room.
//! - RTTs lose up to a microsecond to the clock, so the queue gains what a flow sends in one.
//! - One sample per round trip, as aggregation leaves, raises a floor of 4 to 81 segments until there are more.
//!
//! `2010` rebuilds the slides on BIC. Of the newest packet acknowledged, the sender knows the time it
//! left and the bytes then in flight: rate = in flight / RTT, slope = rate / in flight. Consequences:
//! - The slope is 1 / RTT, whatever was in flight. The largest is the inverse of the least RTT, and the law is
//!   that of Vegas with the best instead of the latest rate.
//! - One short RTT, of a lone small packet or an idle moment, sets the reference until `slope_refresh` is over.
//! - If the queue never empties around a refresh, the reference contains it, and each flow adds its pad again.
//! - The best of noisy rates is too high: one fast sample in a period hides the queue of the others.
//! - BIC without a loss behind it adds 5 % or 16 segments per round trip, so that a decision one round trip
//!   later finds the queue that much longer than `pad`.
//! - Congestion of the ACKs' path counts as queue. `min_cwnd` bounds what that can take; `reverse_delay = "removed"` takes
//!   out what the way back adds to its least. The clocks of the two hosts need not agree for that.
//!
//! Source: Brakmo, TCP-NV slides (2010); Linux `tcp_nv.c` (4.8 to 6.x), `tcp_input.c` for `in_flight`.
//! Needs: nothing; the classic echo with `ecn`, stamps where the reverse delay is removed. State: 80 bytes with the flow and up to 272 apart. Integers
//! only, 64-bit divisions only.
//! Deviation: rates have 64 bits; the kernel's 32, in units of 100 bit/s, wrap at 429 Gb/s per flow, which is
//! less than a link of today. RTTs are whole microseconds, rounded down, at least 1; a kernel subtracts two
//! stamps, each rounded down. Counts bytes where Linux counts packets. A `pad` below `pad_buffer` forbids
//! growth, where the kernel's difference wraps.
//! Deviation: the slides print "if pred_cwnd + pad > cwnd, reduce"; their text and the kernel's module say
//! the reverse, as this does. What they leave open, and this assumes: `pad`, refresh, gates and share (below);
//! a decrease sets ssthresh to the window it aims at, as mainline does, since growth would else resume in slow
//! start; decisions only outside episodes; a refresh starts rate and samples anew.

mod mainline;
mod slopes;

use super::bic::{BicParams, DelackComp};
use super::{Echo, FlowAct, FlowLaw, FlowSeen, Needs};
use crate::linux_window::LinuxWindow;
use crate::params::{Of1024, Packets, ParamType, SomePackets, choice, params, whole};
use crate::{Acts, Start};
use alloc::boxed::Box;
use core::fmt;
use forebay_units::{Span, Time};
use mainline::Mainline;
use slopes::Slopes;

params! {
    /// What a scenario may set on NV.
    pub struct NvParams {
        /// Which NV.
        variant: Variant = Variant::Mainline => "Linux tcp_nv.c",
        /// Packets that a flow may hold in the queue; auto: 10 in mainline, 6 in 2010.
        pad: Pad = Pad(None) => "Linux nv_pad; 2010: at most 6, from 1.2 MB / 128 flows / 1500 B without a loss",
        /// Share of the excess that a decrease removes.
        cong_dec_mult: Of128 = Of128::new(38) => "Linux nv_cong_dec_mult, 30 %; 2010: assumed the same",
        /// No decrease goes below this window; the bound on what reverse congestion can take.
        min_cwnd: SomePackets = SomePackets::new(2) => "Linux nv_min_cwnd; 2010: assumed the same",
        /// Mainline: between this many packets below pad and pad, the window stays as it is.
        pad_buffer: Packets = Packets::new(2) => "Linux nv_pad_buffer",
        /// Mainline: the least RTT is forgotten this often, drawn from three to five quarters of it.
        reset_period: Span = Span::from_secs(5) => "Linux nv_reset_period",
        /// Mainline: ssthresh after a decrease, in eighths of the window without congestion.
        ssthresh_factor: Eighths = Eighths::new(8) => "Linux nv_ssthresh_factor",
        /// Mainline: weight of the newest RTT in the smoothed one; 0 turns smoothing off.
        rtt_factor: Of256 = Of256::new(128) => "Linux nv_rtt_factor",
        /// Mainline: share of the window that a loss or mark keeps.
        loss_dec_factor: Of1024 = Of1024::new(819) => "Linux nv_loss_dec_factor, 80 %",
        /// Mainline: growth slowed by timeouts doubles after more clean decisions than this; 0: never slowed.
        cwnd_growth_rate_neg: Count = Count::new(8) => "Linux nv_cwnd_growth_rate_neg",
        /// Mainline: growth doubles beyond Reno's after more clean decisions than this; 0: never.
        cwnd_growth_rate_pos: Count = Count::new(0) => "Linux nv_cwnd_growth_rate_pos",
        /// Mainline: RTT samples before a decrease.
        dec_eval_min_calls: Count = Count::new(60) => "Linux nv_dec_eval_min_calls",
        /// Mainline: RTT samples before growth is allowed again.
        inc_eval_min_calls: Count = Count::new(20) => "Linux nv_inc_eval_min_calls",
        /// Mainline: RTT samples before congestion ends the first slow start.
        ssthresh_eval_min_calls: Count = Count::new(30) => "Linux nv_ssthresh_eval_min_calls",
        /// Mainline: round trips without a decision after which a congested flow stops growing.
        stop_rtt_cnt: Count = Count::new(10) => "Linux nv_stop_rtt_cnt",
        /// Mainline: round trips between decisions that see congestion.
        rtt_min_cnt: Count = Count::new(2) => "Linux nv_rtt_min_cnt",
        /// Mainline: least of the floor that rises while there is one sample per round trip.
        floor_min: Floor = Floor::new(4) => "Linux NV_MIN_CWND",
        /// Mainline: that floor rises by this.
        floor_grow: Count = Count::new(2) => "Linux NV_MIN_CWND_GROW",
        /// Mainline: and stops one above this.
        tso_bound: Floor = Floor::new(80) => "Linux NV_TSO_CWND_BOUND",
        /// Mainline: round-trip time of the empty path, or none where it is not known.
        base_rtt: BaseRtt = BaseRtt(None) => "Linux BPF_SOCK_OPS_BASE_RTT, not set",
        /// Mainline: whether the first RTT after an episode leaves a lower known one alone.
        keep_min_rtt: bool = false => "Linux tcp_nv.c overwrites it",
        /// Mainline: what counts as in flight for a sample.
        in_flight: InFlight = InFlight::Delivered => "Linux 5.16",
        /// 2010: the largest slope is forgotten this often.
        slope_refresh: Span = Span::from_secs(5) => "assumed; slides: every so often",
        /// 2010: round trips between decisions.
        decision_rtts: SomeCount = SomeCount::new(1) => "assumed; slides: every so often",
        /// 2010: RTT samples between decisions.
        decision_samples: SomeCount = SomeCount::new(20) => "assumed; slides: every so often",
        /// 2010: what the way back adds to an RTT; removed needs a receiver that reports when data arrived.
        reverse_delay: ReverseDelay = ReverseDelay::Counted => "assumed; slides: measure it and adjust, a remedy",
        /// 2010: how BIC counts growth, as in bic.
        delack_comp: DelackComp = DelackComp::Legacy => "Linux 2.6.34",
        /// Whether packets are sent ECN-capable, so that a mark cuts as a loss does and no packet is lost.
        ecn: bool = false => "Linux tcp_ecn = 2: ECN only where the peer asks",
    }
}

choice! {
    /// Which NV.
    pub enum Variant {
        /// The module of Linux.
        Mainline = "mainline",
        /// The slides, on BIC.
        Slides = "2010",
    }
}

choice! {
    /// What counts as in flight for a sample.
    pub enum InFlight {
        /// Bytes delivered between a segment's departure and its ACK: Linux since 5.16.
        Delivered = "delivered",
        /// Bytes outstanding when the segment left, itself included: Linux before.
        Outstanding = "outstanding",
    }
}

choice! {
    /// What the way back of an ACK adds to an RTT.
    pub enum ReverseDelay {
        /// The delay of the way back counts, so congestion there looks like congestion of the data.
        Counted = "counted",
        /// Only its least since the last refresh counts.
        Removed = "removed",
    }
}

whole! {
    /// A count that Linux keeps in eight bits.
    pub struct Count: "whole number" from 0 to 255;
}

whole! {
    /// A count that Linux keeps in eight bits, at least one.
    pub struct SomeCount: "whole number" from 1 to 255;
}

whole! {
    /// A floor of the window, which Linux keeps in eight bits.
    pub struct Floor: "whole number of packets" from 1 to 254;
}

whole! {
    /// A share in units of 1/128.
    pub struct Of128: "whole number of 128ths" from 0 to 128;
}

whole! {
    /// A share in units of 1/256.
    pub struct Of256: "whole number of 256ths" from 0 to 256;
}

whole! {
    /// A factor in units of 1/8.
    pub struct Eighths: "whole number of eighths" from 1 to 1024;
}

/// Packets in the queue, or as the variant says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pad(Option<Packets>);

impl fmt::Display for Pad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(packets) => packets.fmt(f),
            None => f.write_str("auto"),
        }
    }
}

impl ParamType for Pad {
    const RANGE: &'static str = "\"auto\" or a whole number of packets from 0 to 65535";

    fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "auto" => Some(Self(None)),
            text => Packets::parse(text).map(|packets| Self(Some(packets))),
        }
    }
}

/// Round-trip time of the empty path, where it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BaseRtt(Option<Span>);

impl fmt::Display for BaseRtt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(rtt) => rtt.fmt(f),
            None => f.write_str("none"),
        }
    }
}

impl ParamType for BaseRtt {
    const RANGE: &'static str = "\"none\" or a time of a microsecond or more, such as \"100us\"";

    fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "none" => Some(Self(None)),
            text => Span::parse(text).filter(|rtt| rtt.as_us() > 0).map(|rtt| Self(Some(rtt))),
        }
    }
}

/// A flow under NV.
#[derive(Clone, Debug)]
pub struct Nv {
    window: LinuxWindow,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    Mainline(Box<Mainline>),
    Slides(Box<Slopes>),
}

impl FlowLaw for Nv {
    const NAME: &'static str = "nv";
    const NEEDS: Needs = Needs::NONE;
    type Params = NvParams;

    fn start(params: &NvParams, at: Start, acts: &mut Acts<FlowAct>) -> Self {
        let mut window = LinuxWindow::new(&at, acts);
        let form = match params.variant {
            Variant::Mainline => Form::Mainline(Box::new(Mainline::new(*params, at.seed))),
            Variant::Slides => {
                let bic = BicParams { delack_comp: params.delack_comp, ..BicParams::default() };
                Form::Slides(Box::new(Slopes::new(*params, bic, &mut window, acts)))
            }
        };
        Self { window, form }
    }

    fn needs(&self) -> Needs {
        let (ecn, stamps) = match &self.form {
            Form::Mainline(nv) => (nv.params.ecn, false),
            Form::Slides(nv) => (nv.params.ecn, nv.params.reverse_delay == ReverseDelay::Removed),
        };
        Needs { echo: Echo::classic_if(ecn), stamps, ..Self::NEEDS }
    }

    fn step(&mut self, now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        match &mut self.form {
            Form::Mainline(nv) => nv.step(&mut self.window, now, seen, acts),
            Form::Slides(nv) => nv.step(&mut self.window, now, seen, acts),
        }
    }
}

#[cfg(test)]
mod tests;
