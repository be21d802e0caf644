//! Settings of TCP, and kernels as profiles of them.

use crate::{QueueLength, SettingsTable};
use forebay_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `TCP_MAX_QUICKACKS` of Linux.
const MOST_QUICK_ACKS: u64 = 16;
/// Longest that TCP may let an ACK wait (RFC 1122, section 4.2.3.2).
const MOST_DELAY: Span = Span::from_ms(500);
/// Ticks of a kernel: no clock is slower than 10 Hz or faster than 10 kHz.
const MOST_TICK: Span = Span::from_ms(100);
const LEAST_TICK: Span = Span::from_us(100);
/// Where an autotuned window begins: half of the default `tcp_rmem` of Linux, the other half being for headers.
const AUTOTUNED_WINDOW: Bytes = Bytes::new(64 << 10);
/// ACKs at once while the receive window opens from 64 KiB to the half of `tcp_rmem` that is payload, 3 MiB: one for each two segments of 1460 B
/// (`tcp_grow_window`), and the 16 that are always quick.
const QUICK_ACKS: u16 = ((3 * 1024 * 1024 - 65_535) / (2 * 1_460) + 16) as u16;

/// Settings of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(default)]
pub struct TcpSettings {
    /// Kernel whose settings are the defaults. "linux-6.1" sets delayed_ack = true, adaptive_delayed_ack = true and timer_tick = "4ms" (250 Hz). It sets
    /// quick_acks = 1070, as its default tcp_rmem does, unless receive_window is given. It also sets parameters of laws: hz of cubic and bic by
    /// timer_tick, and alpha = "linux", cut = "packets" and prr_on_ce = true of dctcp. In [transport] it sets host.profile = "linux" too. Keys in the
    /// file override these values, and the resolved file has all of them. Default: none.
    #[serde(skip_serializing)]
    pub kernel: Option<Kernel>,
    /// First window, in packets or in bytes of payload: one packet to 4GiB. Default: 10 packets (RFC 6928).
    pub initial_window: QueueLength,
    /// Least retransmission timeout above srtt, from the first packet on: connections are warm, and their handshake was a first sample of the
    /// round-trip time. Default: 200ms (Linux); datacentres often set 1ms to 10ms.
    pub rto_min: Span,
    /// Whether an ACK may wait for a second segment. Default: by host.profile; ideal hosts send one ACK per segment.
    // A law that needs each packet acknowledged overrides it.
    pub delayed_ack: bool,
    /// How long an ACK waits for a second segment, where it may. Default: 40ms (TCP_DELACK_MIN of Linux).
    pub delayed_ack_timeout: Span,
    /// Whether the delayed-ACK time adapts to the time between segments, as in Linux, up to a round trip and 500ms. This matters only if
    /// the round trip is longer than delayed_ack_timeout. After a gap longer than a retransmission timeout, ACKs leave at once again.
    /// Default: false.
    pub adaptive_delayed_ack: bool,
    /// A tick of the kernel's clock, 1/HZ: "10ms", "4ms" or "1ms". Timeouts, tail loss probes, RACK's wait and delayed ACKs then expire as in
    /// Linux: never early, and at the first tick after the wait. Waits of 63 ticks or more end at the next multiple of 8 ticks (of 64 from
    /// 504 ticks). Probes and RACK wait at least two ticks, which is 2ms without. Pacing and SACK compression have finer clocks. At most
    /// 100ms. Default: 0us, timers are exact.
    pub timer_tick: Span,
    /// How many segments at the start of a flow are acknowledged at once where ACKs may wait. Linux: these, and all for as
    /// long as the receiver's window opens, by two segments each. Default: half the segments of receive_window, 2 to 16
    /// (Linux); 16 where no window is given.
    pub quick_acks: u16,
    /// Receive window, to the byte: from one segment to 1GiB, the most that TCP can say. Default: never a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_window: Option<Bytes>,
    /// Receive-window autotuning: the window starts at receive_window (then 64KiB by default, as tcp_rmem of Linux) and grows with the
    /// application's reads up to this size. Default: no autotuning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_window_max: Option<Bytes>,
    /// Whether a window idle for longer than the RTO decays (RFC 2861). Default: true (Linux).
    pub slow_start_after_idle: bool,
    /// Whether the most data in flight in the last round trip decides if a window is used, and slow start may reach twice that. Without
    /// it, a window grows only if an ACK finds it full except for 3 segments (with TSO: for a third and gso_max), as Linux before.
    /// Default: true (Linux since 3.16).
    pub gentle_growth: bool,
    /// Selective acknowledgements. Without: NewReno. Default: true (Linux).
    pub sack: bool,
    /// Losses by time (RACK, RFC 8985). Without: by distance below the highest SACK (FACK), as Linux before 4.4. Default:
    /// true.
    pub rack: bool,
    /// Tail loss probes (RFC 8985). Default: true (Linux since 3.10).
    pub tail_loss_probe: bool,
    /// Proportional rate reduction (RFC 6937). Without: rate halving, as Linux before. Default: true (Linux since 3.2).
    pub prr: bool,
    /// Detection of spurious timeouts (RFC 5682). Default: true (Linux).
    pub frto: bool,
}

impl Default for TcpSettings {
    fn default() -> Self {
        Self {
            kernel: None,
            initial_window: QueueLength::Packets(10), // RFC 6928, section 2
            rto_min: Span::from_ms(200),              // `TCP_RTO_MIN` of Linux
            delayed_ack: false,
            delayed_ack_timeout: Span::from_ms(40), // `TCP_DELACK_MIN` of Linux
            adaptive_delayed_ack: false,
            timer_tick: Span::ZERO,
            quick_acks: MOST_QUICK_ACKS as u16,
            receive_window: None,
            receive_window_max: None,
            slow_start_after_idle: true,
            gentle_growth: true,
            sack: true,
            rack: true,
            tail_loss_probe: true,
            prr: true,
            frto: true,
        }
    }
}

/// A kernel whose settings are the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum Kernel {
    /// Linux 6.1, the long-term release of Debian 12, at 250 Hz.
    #[serde(rename = "linux-6.1")]
    Linux61,
}

impl Kernel {
    /// Fills in the keys of the table that were not written.
    fn fill(self, table: &impl SettingsTable, tcp: &mut TcpSettings) {
        table.usual("delayed_ack", &mut tcp.delayed_ack, true);
        table.usual("adaptive_delayed_ack", &mut tcp.adaptive_delayed_ack, true);
        table.usual("timer_tick", &mut tcp.timer_tick, Span::from_ms(4));
        let limited = tcp.receive_window.is_some() && tcp.receive_window_max.is_none();
        if !limited {
            table.usual("quick_acks", &mut tcp.quick_acks, QUICK_ACKS);
        }
    }
}

impl TcpSettings {
    /// Payload of a full segment: Ethernet of 1500 B with the headers below.
    pub const MSS: Bytes = Bytes::new(1448);
    /// IPv4 20 B, TCP 20 B, timestamps 12 B.
    pub const HEADER: Bytes = Bytes::new(52);
    /// The largest receive window. Source: RFC 7323 section 2.3.
    pub const MOST_WINDOW: Bytes = Bytes::new(1 << 30);

    /// Fills in what the kernel sets, where the table does not say it.
    pub fn fill_kernel(&mut self, table: &impl SettingsTable) {
        if let Some(kernel) = self.kernel {
            kernel.fill(table, self);
        }
    }

    /// Fills in the defaults that depend on other keys, and says what is wrong. `delayed_ack`: what hosts do where the table does not say it.
    pub fn check(&mut self, table: &mut impl SettingsTable, mss: Bytes, delayed_ack: bool) {
        table.window("initial_window", self.initial_window, mss);
        table.span("rto_min", self.rto_min);
        table.span("delayed_ack_timeout", self.delayed_ack_timeout);
        for (key, span, most) in [
            ("delayed_ack_timeout", self.delayed_ack_timeout, MOST_DELAY),
            ("timer_tick", self.timer_tick, MOST_TICK),
        ] {
            if span > most {
                table.wrong(key, format!("is longer than in any kernel; write at most \"{most}\""));
            }
        }
        let tick = self.timer_tick;
        if tick > Span::ZERO && tick < LEAST_TICK {
            let text = format!(
                "is not a tick of a kernel; write \"{LEAST_TICK}\" or more, for instance \"4ms\""
            );
            table.wrong("timer_tick", text);
        }
        if self.kernel.is_none() {
            table.usual("delayed_ack", &mut self.delayed_ack, delayed_ack);
        }
        if self.receive_window_max.is_some() {
            self.receive_window.get_or_insert(AUTOTUNED_WINDOW);
        }
        if let (Some(begin), Some(most)) = (self.receive_window, self.receive_window_max)
            && most < begin
        {
            let text = format!("is less than the window begins with, {begin}; write more");
            table.wrong("receive_window_max", text);
        }
        let windows = [
            ("receive_window", self.receive_window),
            ("receive_window_max", self.receive_window_max),
        ];
        for (key, _) in windows.into_iter().filter(|(_, window)| *window > Some(Self::MOST_WINDOW))
        {
            let text = format!("is more than TCP can say; write at most \"{}\"", Self::MOST_WINDOW);
            table.wrong(key, text);
        }
        if self.receive_window.is_some_and(|w| w < mss) {
            let text = format!("is less than one segment; write at least \"{mss}\"");
            table.wrong("receive_window", text);
        }
        if self.kernel.is_none()
            || self.receive_window_max.is_none() && self.receive_window.is_some()
        {
            let usual = quick_acks(self.receive_window, mss);
            table.usual("quick_acks", &mut self.quick_acks, usual);
        }
    }
}

/// ACKs at once at the start of a flow, where nothing says how many. Source: `tcp_incr_quickack` of Linux.
fn quick_acks(receive_window: Option<Bytes>, mss: Bytes) -> u16 {
    let half = |window: Bytes| window.get() / (2 * mss.get().max(1));
    receive_window.map_or(MOST_QUICK_ACKS, half).clamp(2, MOST_QUICK_ACKS) as u16
}
