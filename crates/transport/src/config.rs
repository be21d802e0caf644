//! What all flows of one kind share.

use crate::ticks::Tick;
use forebay_laws::flow::{Echo, Needs};
use forebay_units::{Bytes, Span};

/// Settings of a TCP connection; passed by reference to every call and never copied into a flow.
///
/// The defaults are Linux's, for 1,500-byte IP packets with time stamps.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpConfig {
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Header bytes of a data packet; its `size` is payload plus this.
    pub header: Bytes,
    /// `size` of an ACK.
    pub ack_size: Bytes,
    /// Window at the start where the law has no opinion of its own.
    pub initial_window: Bytes,
    /// Floor under the variance term of the retransmission timeout, so RTO = srtt + max(this, 4 mdev).
    pub rto_min: Span,
    /// Timeout before the first round-trip sample, for connections without a handshake.
    pub rto_initial: Span,
    /// Ceiling of the timeout, backoff included.
    pub rto_max: Span,
    /// Whether the receiver delays ACKs for less than two segments. A law that needs every packet
    /// acknowledged overrides it.
    pub delayed_ack: bool,
    /// How long it delays them.
    pub delayed_ack_timeout: Span,
    /// Whether it delays them for longer where segments come further apart, up to a round trip.
    pub adaptive_delayed_ack: bool,
    /// The kernel's clock, on whose ticks all timers but those of pacing and SACK compression expire.
    pub timer_tick: Tick,
    /// How many segments at the start of a flow are acknowledged at once. Linux: 16, and all for as long as the
    /// window that the receiver offers opens, which it does by two segments per segment (`tcp_grow_window`).
    pub quick_acks: u16,
    /// How far beyond the acknowledged byte a sender may go, to the byte. Above 1 GiB, the most that TCP can say, it is that. `None`: 1 GiB.
    pub receive_window: Option<Bytes>,
    /// How far a receiver that reads at once may let that window grow. `None`: it stays.
    pub receive_window_max: Option<Bytes>,
    /// Whether the window shrinks by what was delivered until [`crate::TcpReceiver::on_read`] says that it was read.
    pub reads_late: bool,
    /// Segmentation offload: most payload bytes of a super-packet ([`crate::TcpSender::next_burst`]). `None`: segments
    /// leave one by one.
    pub tso: Option<Bytes>,
    /// Whether the last segment of a super-packet of several says so (PSH). An application that reads at once then has it
    /// acknowledged at once, if nothing is missing.
    pub push_bursts: bool,
    /// Whether the stack paces what a law does not: at the window per round-trip time, stretched as Linux does.
    pub pacing: bool,
    /// Whether the window shrinks over an idle period (RFC 2861).
    pub idle_restart: bool,
    /// Whether a window counts as used by the most that was in flight in the last round trip, and slow start may reach twice
    /// the flight. Off: an ACK grows the window only if it found it full, as Linux before 3.16.
    pub gentle_growth: bool,
    /// What the law needs of the receiver.
    pub needs: Needs,
    /// Selective acknowledgement. Off: NewReno.
    pub sack: bool,
    /// With SACK, whether a receiver that misses segments lets one ACK speak for several arrivals.
    pub sack_compression: bool,
    /// With SACK, losses by time (RACK). Off: by distance below the highest SACK (FACK), and retransmissions that later
    /// data overtook, as Linux before 4.4.
    pub rack: bool,
    /// Tail loss probes.
    pub tlp: bool,
    /// Proportional rate reduction. Off: rate halving, as Linux before 3.2.
    pub prr: bool,
    /// Forward RTO recovery (RFC 5682).
    pub frto: bool,
    /// Whether an echoed time stamp may show that a retransmission was spurious (RFC 7323, Eifel).
    pub timestamps: bool,
    /// Traffic class of data.
    pub data_class: u8,
    /// Traffic class of ACKs.
    pub ack_class: u8,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self {
            mss: Bytes::new(1448),
            header: Bytes::new(52),
            ack_size: Bytes::new(64),
            initial_window: Bytes::new(10 * 1448),
            rto_min: Span::from_ms(200),
            rto_initial: Span::from_secs(1),
            rto_max: Span::from_secs(120),
            delayed_ack: true,
            delayed_ack_timeout: Span::from_ms(40),
            adaptive_delayed_ack: false,
            timer_tick: Tick::EXACT,
            quick_acks: 16,
            receive_window: None,
            receive_window_max: None,
            reads_late: false,
            tso: None,
            push_bursts: false,
            pacing: false,
            idle_restart: true,
            gentle_growth: true,
            needs: Needs::NONE,
            sack: true,
            sack_compression: false,
            rack: true,
            tlp: true,
            prr: true,
            frto: true,
            timestamps: true,
            data_class: 0,
            ack_class: 0,
        }
    }
}

impl TcpConfig {
    /// Whether data leaves ECN-capable.
    #[inline]
    pub(crate) fn ecn(&self) -> bool {
        self.needs.echo != Echo::None
    }

    /// Payload of a full segment.
    #[inline]
    pub(crate) fn mss(&self) -> u64 {
        self.mss.get()
    }

    /// The receive window before anything was received.
    pub(crate) fn first_window(&self) -> u64 {
        self.receive_window.map_or(MOST_WINDOW, |window| self.usable(window.get()))
    }

    /// How many bytes beyond the acknowledged one a receive window allows: one segment at least, so that
    /// no window shuts for good and no probe is needed.
    pub(crate) fn usable(&self, window: u64) -> u64 {
        window.clamp(self.mss(), MOST_WINDOW.max(self.mss()))
    }
}

/// What a window without a limit allows: the most that TCP can say (RFC 7323 section 2.3).
pub(crate) const MOST_WINDOW: u64 = 1 << 30;
