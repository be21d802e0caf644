//! What all flows of one kind share.

use crate::ticks::Tick;
use forebay_laws::flow::{Echo, Needs};
use forebay_settings::{HostSettings, LEAST_FRAME, TcpSettings};
use forebay_units::{Bytes, Span};
use std::ops::{Deref, DerefMut};

/// A TCP connection: its settings, and what host, law and traffic entry add to them. Passed by reference to every call and never copied
/// into a flow.
///
/// The defaults are Linux's, for 1,500-byte IP packets with time stamps.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpConfig {
    /// Settings of the scenario.
    pub settings: TcpSettings,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Header bytes of a data packet; its `size` is payload plus this.
    pub header: Bytes,
    /// `size` of an ACK.
    pub ack_size: Bytes,
    /// Timeout before the first round-trip sample, for connections without a handshake.
    pub rto_initial: Span,
    /// Ceiling of the timeout, backoff included.
    pub rto_max: Span,
    /// Whether the window shrinks by what was delivered until [`crate::TcpReceiver::on_read`] says that it was read.
    pub reads_late: bool,
    /// Settings of the host: offloads, pacing and SACK compression.
    pub host: HostSettings,
    /// What the law needs of the receiver.
    pub needs: Needs,
    /// Whether an echoed time stamp may show that a retransmission was spurious (RFC 7323, Eifel).
    pub timestamps: bool,
    /// Traffic class of data.
    pub data_class: u8,
    /// Traffic class of ACKs.
    pub ack_class: u8,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self::from(TcpSettings::default())
    }
}

/// Settings, with an ideal host and no law.
impl From<TcpSettings> for TcpConfig {
    fn from(settings: TcpSettings) -> Self {
        Self {
            settings,
            mss: TcpSettings::MSS,
            header: TcpSettings::HEADER,
            ack_size: LEAST_FRAME,
            rto_initial: Span::from_secs(1).max(settings.rto_min),
            rto_max: Span::from_secs(120),
            reads_late: false,
            host: HostSettings::IDEAL,
            needs: Needs::NONE,
            timestamps: true,
            data_class: 0,
            ack_class: 0,
        }
    }
}

/// A connection is read like its settings.
impl Deref for TcpConfig {
    type Target = TcpSettings;

    #[inline]
    fn deref(&self) -> &TcpSettings {
        &self.settings
    }
}

impl DerefMut for TcpConfig {
    fn deref_mut(&mut self) -> &mut TcpSettings {
        &mut self.settings
    }
}

impl TcpConfig {
    /// Changes settings.
    pub fn with(mut self, change: impl FnOnce(&mut TcpSettings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Window at the start where the law has no opinion of its own.
    #[inline]
    pub fn initial_window(&self) -> Bytes {
        self.settings.initial_window.payload(self.mss)
    }

    /// The kernel's clock.
    #[inline]
    pub(crate) fn tick(&self) -> Tick {
        Tick(self.timer_tick)
    }

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

/// What a window without a limit allows.
pub(crate) const MOST_WINDOW: u64 = TcpSettings::MOST_WINDOW.get();
