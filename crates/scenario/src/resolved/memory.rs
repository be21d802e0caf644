//! `[host.memory]`, written out.

use crate::model::Memory;
use crate::raw::{self, Qty};
use forebay_host::memory::settings::{Actuator, AntagonistSettings, Copying, ThrottleSettings};
use forebay_units::{BitsPerSec, Bytes};

pub(super) fn memory(m: &Memory) -> raw::Memory {
    let s = &m.settings;
    let ddio = s.ddio;
    raw::Memory {
        nic_buffer: Some(Qty(s.nic.buffer)),
        pause_above: m.pause_above.map(Qty),
        descriptors: Some(i64::from(s.nic.descriptors)),
        pcie_rate: Some(Qty(s.pcie.rate)),
        pcie_payload: Some(Qty(Bytes::new(u64::from(s.pcie.tlp_payload)))),
        iio_slots: Some(i64::from(s.iio.slots)),
        iio_latency: Some(Qty(s.iio.latency)),
        ddio: Some(ddio.is_some()),
        ddio_hit: ddio.map(|d| Qty(d.hit)),
        ddio_eviction: ddio.map(|d| Qty(d.eviction)),
        cache: ddio.map(|d| Qty(d.cache)),
        cache_ways: ddio.map(|d| i64::from(d.cache_ways)),
        ddio_ways: ddio.map(|d| i64::from(d.ways)),
        bandwidth: Some(Qty(BitsPerSec::new(s.controller.bytes_per_sec * 8))),
        local_read: Some(Qty(s.controller.local_read)),
        remote_read: Some(Qty(s.controller.remote_read)),
        read_queueing: Some(Qty(s.controller.read_queueing)),
        read_share: Some(fraction(s.controller.read_share_permille)),
        posted_limit: s.controller.posted_limit.map(i64::from),
        cores: Some(i64::from(s.readers.cores)),
        per_packet: Some(Qty(s.readers.per_packet)),
        per_kilobyte: Some(Qty(s.readers.per_kilobyte)),
        copy_lines: Some(i64::from(s.readers.lines_in_flight)),
        copy_reads: Some(fraction(s.readers.reads_permille)),
        copying: Some(match s.readers.copying {
            Copying::Evenly => raw::Copying::Evenly,
            Copying::InBunches => raw::Copying::InBunches,
        }),
        socket_buffer: Some(Qty(m.socket_buffer)),
        send_slots: Some(i64::from(s.transmit.slots)),
        send_latency: Some(Qty(s.transmit.latency)),
        throttle: Some(throttle(&s.throttle)),
        level: m.acting_control().is_none().then_some(i64::from(m.level)),
        antagonist: s.antagonists.iter().map(antagonist).collect(),
        control: m.control.as_ref().map(|control| raw::Control {
            law: control.law.clone(),
            enabled: Some(control.enabled),
            params: control.params.clone(),
            read: Some(Qty(control.read)),
        }),
    }
}

/// Thousandths as people write them.
fn fraction(permille: u32) -> f64 {
    f64::from(permille) / 1e3
}

fn throttle(t: &ThrottleSettings) -> raw::Throttle {
    raw::Throttle {
        actuator: Some(match t.actuator {
            Actuator::Sockets => raw::Actuator::Sockets,
            Actuator::Delay => raw::Actuator::Delay,
            Actuator::Cap => raw::Actuator::Cap,
        }),
        slowing: Some(i64::from(t.slowing)),
        pausing: Some(i64::from(t.pausing)),
        pause_period: Some(Qty(t.pause_period)),
        delay: Some(Qty(t.delay)),
        write: Some(Qty(t.write)),
    }
}

fn antagonist(n: &AntagonistSettings) -> raw::Antagonist {
    raw::Antagonist {
        cores: i64::from(n.cores),
        lines: Some(fraction(n.lines_in_flight_milli)),
        writes: Some(fraction(n.writes_permille)),
        local: Some(n.local),
        start: Some(Qty(n.start)),
        on: n.rests.map(|rests| Qty(rests.0)),
        off: n.rests.map(|rests| Qty(rests.1)),
    }
}
