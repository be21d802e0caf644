//! What all queue pairs of one kind share.

use forebay_laws::flow::{Echo, Needs};
use forebay_settings::{LEAST_FRAME, RdmaSettings};
use forebay_units::Bytes;
use std::ops::{Deref, DerefMut};

/// A queue pair: its settings, and what law and traffic entry add to them. Passed by reference to every call and never copied into one.
#[derive(Clone, Debug, PartialEq)]
pub struct RdmaConfig {
    /// Settings of the scenario.
    pub settings: RdmaSettings,
    /// Payload of a full packet.
    pub mtu: Bytes,
    /// Header bytes of a data packet, telemetry included; its `size` is payload plus this.
    pub header: Bytes,
    /// `size` of ACKs, NACKs and CNPs.
    pub ack_size: Bytes,
    /// What the law needs of the other end.
    pub needs: Needs,
    /// Traffic class of data.
    pub data_class: u8,
    /// Traffic class of ACKs and NACKs.
    pub ack_class: u8,
}

impl Default for RdmaConfig {
    fn default() -> Self {
        Self::from(RdmaSettings::default())
    }
}

/// Settings, with no law.
impl From<RdmaSettings> for RdmaConfig {
    fn from(settings: RdmaSettings) -> Self {
        Self {
            settings,
            mtu: RdmaSettings::MSS,
            header: RdmaSettings::HEADER,
            ack_size: LEAST_FRAME,
            needs: Needs::NONE,
            data_class: 0,
            ack_class: 0,
        }
    }
}

/// A queue pair is read like its settings.
impl Deref for RdmaConfig {
    type Target = RdmaSettings;

    #[inline]
    fn deref(&self) -> &RdmaSettings {
        &self.settings
    }
}

impl DerefMut for RdmaConfig {
    fn deref_mut(&mut self) -> &mut RdmaSettings {
        &mut self.settings
    }
}

impl RdmaConfig {
    /// Changes settings.
    pub fn with(mut self, change: impl FnOnce(&mut RdmaSettings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Window at the start where the law has no opinion of its own; `None`: a bandwidth-delay product.
    pub(super) fn first_window(&self) -> Option<Bytes> {
        self.settings.initial_window.map(|window| window.payload(self.mtu))
    }

    /// Whether data leaves ECN-capable.
    #[inline]
    pub(super) fn ecn(&self) -> bool {
        self.needs.echo != Echo::None
    }

    /// Packets per ACK, as the law lets it be.
    #[inline]
    pub fn ack_every(&self) -> u32 {
        let exact = matches!(self.needs.echo, Echo::Exact | Echo::Classic);
        let each = self.needs.every_packet || self.needs.int || exact;
        if each { 1 } else { self.settings.ack_every }
    }
}
