//! `[host]`, written out.

use crate::model::{Host, HostChange, Memory};
use crate::quantity::Qty;
use crate::raw;

pub(super) fn host(h: &Host) -> raw::Host {
    let own = HostChange {
        nic: Some(h.settings.nic),
        gro: Some(h.settings.gro),
        sack_compression: Some(h.settings.sack_compression),
        rx_usecs: Some(h.settings.rx_usecs),
        rx_jitter: Some(h.settings.rx_jitter),
        rx_frames: h.settings.rx_frames,
        tso: Some(h.settings.tso),
        gso_max: Some(h.settings.gso_max),
        psh: Some(h.settings.psh),
        pacing: Some(h.settings.pacing),
    };
    let overrides = h.overrides.iter().map(|o| raw::HostOverride {
        place: o.place.clone(),
        keys: keys(&o.change, o.memory.as_ref()),
        delayed_ack: o.delayed_ack,
    });
    let machines = h.machines.iter().map(|nics| raw::Machine { nics: nics.clone() });
    raw::Host {
        keys: keys(&own, h.memory.as_ref()),
        overrides: overrides.collect(),
        machines: machines.collect(),
    }
}

fn keys(change: &HostChange, memory: Option<&Memory>) -> raw::HostKeys {
    raw::HostKeys {
        profile: None,
        nic: change.nic,
        gro: change.gro,
        sack_compression: change.sack_compression,
        rx_usecs: change.rx_usecs.map(Qty),
        rx_jitter: change.rx_jitter.map(Qty),
        rx_frames: change.rx_frames.map(i64::from),
        tso: change.tso,
        gso_max: change.gso_max.map(Qty),
        psh: change.psh,
        pacing: change.pacing,
        memory: memory.map(super::memory::memory),
    }
}
