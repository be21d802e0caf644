//! What each host's settings come to: its NIC, and what its flows read.

use crate::build::profiles;
use crate::host::{Common, Nic};
use crate::options::SimError;
use forebay_host::{Moderation, PullOrder};
use forebay_scenario::model::{HostSettings, NicOrder, Pacing, Scenario};
use forebay_transport::TcpConfig;
use forebay_units::{Bytes, Span};
use std::sync::Arc;

/// Settings met so far, each with what its hosts share.
pub(crate) struct Stacks<'a> {
    scenario: &'a Scenario,
    met: Vec<((HostSettings, bool), Arc<Common>)>,
}

impl<'a> Stacks<'a> {
    /// `common` is for the hosts that no override names.
    pub fn new(scenario: &'a Scenario, common: &Arc<Common>) -> Self {
        let usual = (scenario.host.settings, scenario.transport.delayed_ack);
        Self { scenario, met: vec![(usual, Arc::clone(common))] }
    }

    /// For the host with this name.
    pub fn of(&mut self, name: &str) -> Result<(Arc<Common>, Nic), SimError> {
        let settings = self.scenario.host.at(name, self.scenario.transport.delayed_ack);
        let nic = nic(&settings.0, self.scenario.transport.mss + self.scenario.transport.header);
        if let Some((_, common)) = self.met.iter().find(|met| met.0 == settings) {
            return Ok((Arc::clone(common), nic));
        }
        let profiles = profiles(self.scenario, &settings)?;
        let common = Arc::new(Common { profiles, ..Common::clone(&self.met[0].1) });
        self.met.push((settings, Arc::clone(&common)));
        Ok((common, nic))
    }
}

/// A transport's settings on a host of these settings.
pub(crate) fn configure(tcp: TcpConfig, host: &HostSettings, delayed_ack: bool) -> TcpConfig {
    TcpConfig {
        delayed_ack,
        tso: host.tso.then_some(host.gso_max),
        pacing: host.pacing != Pacing::Off,
        ..tcp
    }
}

/// `packet` is the size of a full one; the quantum of `fq` is two of them.
fn nic(settings: &HostSettings, packet: Bytes) -> Nic {
    let moderation = Moderation {
        frames: settings.rx_frames,
        wait: settings.rx_usecs,
        jitter: settings.rx_jitter,
        merge: settings.gro,
    };
    let waits = settings.rx_usecs.max(settings.rx_jitter) > Span::ZERO;
    Nic {
        order: match settings.nic {
            _ if settings.pacing == Pacing::Fq => {
                PullOrder::Fair { quantum: 2 * packet.get() as u32 }
            }
            NicOrder::RoundRobin => PullOrder::RoundRobin,
            NicOrder::Fifo | NicOrder::Push => PullOrder::Fifo,
            NicOrder::Srpt => PullOrder::Srpt,
        },
        pushes: settings.nic == NicOrder::Push,
        segments: settings.tso,
        moderation: waits.then_some(moderation),
    }
}
