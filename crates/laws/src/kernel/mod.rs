//! Congestion-control modules with the callbacks of Linux `tcp_congestion_ops`, for laws that were written for a kernel.
//!
//! A [`Module`] is one flow's congestion control. It sees the socket as the kernel's programs do ([`Sock`]: the kernel's names, packets, us,
//! jiffies), may write ten of its fields, and is called in the kernel's order. `forebay-transport` keeps the socket and calls. A [`Program`]
//! is the law by name: it makes one [`HostProgram`] for each host, which has what a server has once (maps, global variables), and that makes the
//! modules of the host's flows.
//!
//! Order of the calls of one ACK: `pkts_acked`, `in_ack_event`, then the state machine (`ssthresh`, `cwnd_event`, `set_state`, `undo_cwnd`),
//! then `cong_control`, or `cong_avoid` if there is none. A module without `cong_control` is called by `cong_avoid` in states other than `Cwr` and
//! `Recovery`, on ACKs that acknowledge data.
//!
//! Source: Linux `include/net/tcp.h`, `net/ipv4/tcp_input.c`, `tcp_output.c`, `tcp_rate.c`, `tcp_cong.c` (6.12).
//! Deviation: `sndbuf_expand` and `get_info` are never called: buffers of senders have no end here, and nobody asks.
//!
//! Invariant: no callback has a clock of its own. The time is [`Sock::tcp_clock_cache`].

mod law;
pub mod reno;
mod sock;

pub(crate) use law::ModuleLaw;
pub use sock::{
    BOOT, CA_PRIV_WORDS, FIELDS, FIRST_SEQ, FieldInfo, INFINITE_SSTHRESH, OwnSock, Sock, WORDS,
    clock_ns, coarse_ns, jiffies, ticks,
};

use crate::params::LawInfo;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

/// What a callback did that ends the run: one sentence that says where and what.
///
/// A box, so that the results of callbacks stay small.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault(Box<str>);

impl Fault {
    /// A fault with this sentence, without the flow and the time: the caller knows them.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into().into_boxed_str())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Fault {}

/// Congestion states as numbers of `icsk_ca_state` and of `set_state`. Source: `enum tcp_ca_state`.
pub mod ca_state {
    /// Nothing suspicious.
    pub const OPEN: u8 = 0;
    /// SACKs or duplicate ACKs, nothing marked lost.
    pub const DISORDER: u8 = 1;
    /// Reducing after a congestion mark.
    pub const CWR: u8 = 2;
    /// Repairing a loss.
    pub const RECOVERY: u8 = 3;
    /// After a retransmission timeout.
    pub const LOSS: u8 = 4;
}

/// Events of `cwnd_event`. Source: `enum tcp_ca_event`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Event {
    /// First data with nothing in flight; before `lsndtime` moves.
    TxStart = 0,
    /// Idleness shrinks the window. Not with `cong_control`.
    CwndRestart = 1,
    /// `Cwr` or `Recovery` is over.
    CompleteCwr = 2,
    /// A timeout.
    Loss = 3,
    /// The receiver saw a packet without a mark.
    EcnNoCe = 4,
    /// The receiver saw a marked packet.
    EcnIsCe = 5,
}

/// Flags of `in_ack_event`. Source: `enum tcp_ca_ack_event_flags`.
pub mod ack_flag {
    /// The ACK took the long way through the stack: anything but a plain advance.
    pub const SLOWPATH: u32 = 1;
    /// The ACK moved the receive window.
    pub const WIN_UPDATE: u32 = 2;
    /// The ACK echoes congestion (ECE).
    pub const ECE: u32 = 4;
}

/// Which callbacks a module has. Every module has `ssthresh` and `undo_cwnd`, and one of `cong_avoid` and `cong_control`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ops {
    /// Start of a flow.
    pub init: bool,
    /// End of a flow.
    pub release: bool,
    /// Growth. Not called if there is `cong_control`.
    pub cong_avoid: bool,
    /// Window and pacing rate altogether. The transport then runs no PRR, leaves episodes and idleness without a change of the window, and sets
    /// no pacing rate.
    pub cong_control: bool,
    /// Changes of state.
    pub set_state: bool,
    /// Events.
    pub cwnd_event: bool,
    /// Each ACK.
    pub in_ack_event: bool,
    /// Each ACK that came while data was outstanding.
    pub pkts_acked: bool,
    /// Least segments of a super-packet.
    pub min_tso_segs: bool,
    /// `TCP_CONG_NEEDS_ECN`: data leaves ECN-capable, and the receiver echoes each mark (as for DCTCP).
    pub needs_ecn: bool,
}

/// Measurements of `pkts_acked`. Source: `struct ack_sample`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AckSample {
    /// Segments that this ACK removed from the queue; those SACKed before count.
    pub pkts_acked: u32,
    /// Round-trip time in us, at least 1; -1: none.
    pub rtt_us: i32,
    /// Bytes: segments delivered since the newest of those segments had left, times `mss_cache`.
    pub in_flight: u32,
}

/// A delivery-rate sample for `cong_control`. Source: `struct rate_sample`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RateSample {
    /// Start of the interval: `delivered_mstamp` when the newest delivered segment had left, us; 0: none.
    pub prior_mstamp: u64,
    /// `delivered` at the start of the interval, packets.
    pub prior_delivered: u32,
    /// `delivered_ce` at the start of the interval, packets.
    pub prior_delivered_ce: u32,
    /// Packets delivered over the interval; -1: no sample.
    pub delivered: i32,
    /// Of those, packets with a mark.
    pub delivered_ce: i32,
    /// Length of the interval, us: the longer of the send phase and the ACK phase; -1: below the least round-trip time, or no sample.
    pub interval_us: i64,
    /// Send phase, us.
    pub snd_interval_us: u32,
    /// ACK phase, us.
    pub rcv_interval_us: u32,
    /// Round-trip time of this ACK, us; -1: none.
    pub rtt_us: i64,
    /// Packets newly marked lost by this ACK.
    pub losses: i32,
    /// Packets newly acknowledged or SACKed by this ACK.
    pub acked_sacked: u32,
    /// Packets in flight before the ACK.
    pub prior_in_flight: u32,
    /// Sequence number after the newest delivered segment.
    pub last_end_seq: u32,
    /// Whether the application limited sending when that segment left.
    pub is_app_limited: bool,
    /// Whether that segment had left more than once.
    pub is_retrans: bool,
    /// Whether the receiver is likely to have delayed the ACK.
    pub is_ack_delayed: bool,
}

/// One flow's congestion control, with the kernel's callbacks. Units are those of [`Sock`].
///
/// A callback that does not exist ([`Program::ops`]) is never called. A callback changes at most the fields that [`FieldInfo::writable`] names.
/// The state of one flow that is not in the socket's private area or in the host's program is the module's own.
///
/// # Errors
/// Each callback may end the run, by a sentence.
pub trait Module: fmt::Debug + Send + Sync {
    /// The flow starts: the window is the initial one, the private area is zero.
    fn init(&mut self, _sk: &mut Sock) -> Result<(), Fault> {
        Ok(())
    }

    /// The flow ends.
    fn release(&mut self, _sk: &mut Sock) -> Result<(), Fault> {
        Ok(())
    }

    /// The slow-start threshold of an episode that begins, in packets. `prior_cwnd` and the like are of this episode already;
    /// `icsk_ca_state` is still the state before.
    fn ssthresh(&mut self, sk: &mut Sock) -> Result<u32, Fault>;

    /// Growth: an ACK with sequence number `ack` newly delivered `acked` packets.
    fn cong_avoid(&mut self, _sk: &mut Sock, _ack: u32, _acked: u32) -> Result<(), Fault> {
        Ok(())
    }

    /// Window and pacing rate after an ACK, at its end. `flag` has the kernel's bits of the ACK.
    fn cong_control(
        &mut self,
        _sk: &mut Sock,
        _ack: u32,
        _flag: u32,
        _rs: &RateSample,
    ) -> Result<(), Fault> {
        Ok(())
    }

    /// The state becomes `new_state` ([`ca_state`]); `icsk_ca_state` is still the old one.
    fn set_state(&mut self, _sk: &mut Sock, _new_state: u8) -> Result<(), Fault> {
        Ok(())
    }

    /// Something happened to the window.
    fn cwnd_event(&mut self, _sk: &mut Sock, _event: Event) -> Result<(), Fault> {
        Ok(())
    }

    /// An ACK came; `flags` as in [`ack_flag`]. After `pkts_acked`, as in kernels since 6.15 and in their stable trees.
    fn in_ack_event(&mut self, _sk: &mut Sock, _flags: u32) -> Result<(), Fault> {
        Ok(())
    }

    /// The window after a reduction that was needless, in packets.
    fn undo_cwnd(&mut self, sk: &mut Sock) -> Result<u32, Fault>;

    /// An ACK came while data was outstanding.
    fn pkts_acked(&mut self, _sk: &mut Sock, _sample: &AckSample) -> Result<(), Fault> {
        Ok(())
    }

    /// Least segments of a super-packet; asked when its size is decided.
    fn min_tso_segs(&mut self, _sk: &mut Sock) -> Result<u32, Fault> {
        Ok(2)
    }

    /// A copy that shares what the host has once.
    fn copy(&self) -> Box<dyn Module>;
}

impl Clone for Box<dyn Module> {
    fn clone(&self) -> Self {
        self.copy()
    }
}

/// A law that consists of callbacks: what its name in a scenario means, with its parameters. [`Laws::with_module`](crate::Laws::with_module) adds
/// one.
pub trait Program: fmt::Debug + Send + Sync {
    /// Name, parameters and help page.
    fn info(&self) -> &LawInfo;

    /// Which callbacks exist.
    fn ops(&self) -> Ops;

    /// What the parameters leave open, as a sentence, so that no flow can start.
    fn lacks(&self) -> Option<String> {
        None
    }

    /// Ticks per second of the kernel's clock (`CONFIG_HZ`): the unit of `lsndtime`, `snd_cwnd_stamp` and `icsk_rto`.
    fn hz(&self) -> u32 {
        1000
    }

    /// Sets parameter `name`. `None`: no such name. `Some(false)`: not a value of this parameter, and nothing changed.
    fn set(&mut self, _name: &str, _text: &str) -> Option<bool> {
        None
    }

    /// Writes the value of parameter `name` as `set` reads it; nothing if there is no such name.
    fn write(&self, _name: &str, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }

    /// What one host has of it once: maps and global variables with their first values. Called once for each host that sends under it.
    fn on_host(&self) -> Arc<dyn HostProgram>;

    /// A copy.
    fn copy(&self) -> Box<dyn Program>;
}

/// A module of a flow, with what its program says of it.
#[derive(Clone, Debug)]
pub struct RunningModule {
    /// The module.
    pub module: Box<dyn Module>,
    /// Which callbacks exist.
    pub ops: Ops,
    /// Ticks per second of the kernel's clock.
    pub hz: u32,
}

/// A program, and what its host has of it once. Without a host each flow is on one of its own.
#[derive(Clone, Copy, Debug)]
pub struct PlacedProgram<'a> {
    pub(crate) program: &'a dyn Program,
    pub(crate) host: Option<&'a Arc<dyn HostProgram>>,
}

impl PlacedProgram<'_> {
    /// What the parameters leave open, as a sentence.
    pub fn lacks(&self) -> Option<String> {
        self.program.lacks()
    }

    /// What the modules of the host have printed.
    pub(crate) fn trace(&self) -> Option<ProgramTrace> {
        self.host.and_then(|host| host.trace())
    }

    /// The module of a new flow. `seed` is the key of its random draws.
    pub fn flow(&self, seed: u64) -> RunningModule {
        let module = match self.host {
            Some(host) => host.flow(seed),
            None => self.program.on_host().flow(seed),
        };
        RunningModule { module, ops: self.program.ops(), hz: self.program.hz() }
    }
}

/// A program on one host. Flows of a host run one after the other, in the order of events.
pub trait HostProgram: fmt::Debug + Send + Sync {
    /// The module of a new flow. `seed` is the key of its random draws.
    fn flow(&self, seed: u64) -> Box<dyn Module>;

    /// What its modules have printed, if they can.
    fn trace(&self) -> Option<ProgramTrace> {
        None
    }
}

/// What the modules of a host have printed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProgramTrace {
    /// Lines in the order of events, each with its end.
    pub lines: String,
    /// Lines that were more than the host keeps.
    pub left_out: u64,
}
