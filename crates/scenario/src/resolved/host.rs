//! `[host]`, written out.

use crate::model::{Host, HostChange, Memory};
use crate::raw;

pub(super) fn host(h: &Host) -> raw::Host {
    let own = HostChange::from(h.settings);
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
    raw::HostKeys { profile: None, change: *change, memory: memory.map(super::memory::memory) }
}
