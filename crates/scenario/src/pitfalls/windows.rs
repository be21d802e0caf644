//! Windows that cannot do what other settings want of them.

use super::around::{CheckedScenario, Entry, time};
use crate::program::TrafficKind;
use crate::quantity::Measure;
use crate::transport::InflightCap;
use forebay_units::Bytes;

/// Of a window of one segment no second one comes, for which its ACK waits.
pub(super) fn window_of_one(around: &CheckedScenario<'_>) -> Option<String> {
    around.entries.iter().find_map(|entry| {
        let tcp = entry.transport.tcp().filter(|tcp| tcp.delayed_ack)?;
        let window = tcp.receive_window.filter(|_| tcp.receive_window_max.is_none())?;
        (window < entry.transport.mss * 2).then(|| {
            format!(
                "{0}.receive_window = \"{1}\" holds one segment, and with {0}.delayed_ack = true its ACK waits {2} for a second one; write \"{3}\" or more, or delayed_ack = false",
                entry.path,
                window.text(),
                tcp.delayed_ack_timeout.text(),
                (entry.transport.mss * 2).text()
            )
        })
    })
}

/// A first window above what the receiver takes.
pub(super) fn initial_window(around: &CheckedScenario<'_>) -> Option<String> {
    around.entries.iter().find_map(|entry| {
        let tcp = entry.transport.tcp()?;
        let window = tcp.receive_window?;
        let first = tcp.initial_window.payload(entry.transport.mss);
        (first > window).then(|| {
            format!(
                "{0}.initial_window = \"{1}\" is more than {0}.receive_window = \"{2}\", so it is never used; write receive_window = \"{3}\" or more",
                entry.path,
                tcp.initial_window,
                window.text(),
                first.text()
            )
        })
    })
}

/// A receiver that lets no path be full.
pub(super) fn receive_window(around: &CheckedScenario<'_>) -> Option<String> {
    around.entries.iter().find_map(|entry| {
        let tcp = entry.transport.tcp()?;
        let most = tcp.receive_window_max.or(tcp.receive_window)?;
        let key =
            if tcp.receive_window_max.is_some() { "receive_window_max" } else { "receive_window" };
        narrow(entry, &format!("{}.{key}", entry.path), most)
    })
}

/// A queue pair whose cap on bytes in flight lets no path be full.
pub(super) fn max_inflight(around: &CheckedScenario<'_>) -> Option<String> {
    around.entries.iter().find_map(|entry| {
        let InflightCap::Fixed(most) = entry.transport.rdma()?.max_inflight else { return None };
        narrow(entry, &format!("{}.max_inflight", entry.path), most)
    })
}

/// A socket buffer, on a path to memory, that lets no path be full.
pub(super) fn socket_buffer(around: &CheckedScenario<'_>) -> Option<String> {
    around.entries.iter().find_map(|entry| {
        entry.transport.tcp()?;
        let memory = around.scenario.host.memory.as_ref()?;
        narrow(entry, "host.memory.socket_buffer", memory.socket_buffer)
    })
}

/// Buffers of a collective's receivers that let no path be full, with those of all channels.
pub(super) fn posted(around: &CheckedScenario<'_>) -> Option<String> {
    around.entries.iter().find_map(|entry| {
        let TrafficKind::Collective(collective) = &entry.traffic.kind else { return None };
        let all = Bytes::new(collective.window?.get().min(1 << 40)) * collective.channels.into();
        let key = match collective.channels {
            1 => format!("{}.window", entry.at),
            n => format!("{}.window times {n} channels", entry.at),
        };
        narrow(entry, &key, all)
    })
}

/// Windows a little short of a round trip are a choice; below a quarter of it a path of its own is idle for most of the time.
const LEAST_PART: u64 = 4;

fn narrow(entry: &Entry<'_>, key: &str, most: Bytes) -> Option<String> {
    let carries = entry.trip.carries();
    let fits = entry.size().is_some_and(|size| size <= most);
    (most * LEAST_PART < carries && !fits).then(|| {
        format!(
            "{key} = \"{}\" is less than a quarter of what the path of {} carries in a round trip of {}, {}, so it is idle for most of the time; write \"{}\" or more",
            most.text(),
            entry.at,
            time(entry.trip.longest),
            carries.text(),
            carries.text()
        )
    })
}
