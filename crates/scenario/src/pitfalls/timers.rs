//! Timers that fire before what they wait for can come, or not before the end of the run.

use super::around::{CheckedScenario, Entry, neat, time};
use super::trips::Sizes;
use crate::quantity::Measure;
use crate::transport::BaseRtt;
use forebay_host::memory::settings::Rnr;
use forebay_laws::flow::Echo;
use forebay_units::{Bytes, Span};

/// Nothing is answered before one round trip, so each packet is sent again.
pub(super) fn rdma_timeout(around: &CheckedScenario<'_>) -> Option<String> {
    around.entries.iter().find_map(|entry| {
        let rdma = entry.transport.rdma()?;
        early(entry, "timeout", rdma.timeout, rdma.timeout == Span::from_ms(4))
    })
}

/// Checks the timeout for few packets in flight.
pub(super) fn rdma_rto_low(around: &CheckedScenario<'_>) -> Option<String> {
    around.entries.iter().find_map(|entry| {
        let rdma = entry.transport.rdma().filter(|rdma| rdma.rto_low_packets > 0)?;
        let other = rdma.rto_low != rdma.timeout;
        early(entry, "rto_low", rdma.rto_low, false).filter(|_| other)
    })
}

fn early(entry: &Entry<'_>, key: &str, timeout: Span, usual: bool) -> Option<String> {
    let trip = entry.trip.longest;
    (timeout < trip).then(|| {
        format!(
            "{}.{key} = \"{}\"{} is shorter than the round trip of an empty path of {}, {}, so every packet is sent again before it can be answered; write more, for instance \"{}\"",
            entry.path,
            timeout.text(),
            if usual { " (the default)" } else { "" },
            entry.at,
            time(trip),
            neat(trip * 2)
        )
    })
}

/// Receivers request what is on its way.
pub(super) fn resend_after(around: &CheckedScenario<'_>) -> Option<String> {
    around.entries.iter().find_map(|entry| {
        let keys = entry.transport.receiver_driven()?;
        let trip = entry.trip.longest;
        (keys.resend_after < trip && entry.transport.credit_law(&around.scenario.laws).is_none()).then(|| {
            format!(
                "{}.resend_after = \"{}\" is shorter than the round trip of an empty path of {}, {}, so receivers request packets that are on their way; write more, for instance \"{}\"",
                entry.path,
                keys.resend_after.text(),
                entry.at,
                time(trip),
                neat(trip * 2)
            )
        })
    })
}

/// No timer of the kernel is finer than its tick.
pub(super) fn coarse_ticks(around: &CheckedScenario<'_>) -> Option<String> {
    around.entries.iter().find_map(|entry| {
        let tcp = entry.transport.tcp()?;
        (tcp.rto_min < tcp.timer_tick).then(|| {
            format!(
                "{0}.rto_min = \"{1}\" is less than a tick of the kernel's clock, {0}.timer_tick = \"{2}\", so timeouts take one to two ticks whatever it says; write rto_min = \"{2}\" or more, or a finer clock",
                entry.path,
                tcp.rto_min.text(),
                tcp.timer_tick.text()
            )
        })
    })
}

/// A law that waits for CNPs gets one.
pub(super) fn cnp_interval(around: &CheckedScenario<'_>) -> Option<String> {
    around.entries.iter().find_map(|entry| {
        let rdma = entry.transport.rdma().filter(|_| entry.echo() == Echo::Cnp)?;
        let left = around.left(entry);
        (rdma.cnp_interval >= left).then(|| {
            format!(
                "{}.cnp_interval = \"{}\" is as long as what stop.time = \"{}\" leaves {}, so {:?} hears of congestion once; write less, for instance \"50us\"",
                entry.path,
                rdma.cnp_interval.text(),
                around.scenario.stop.time,
                entry.at,
                entry.law_name()
            )
        })
    })
}

/// A law that takes the path for much shorter than it is keeps it idle.
pub(super) fn base_rtt(around: &CheckedScenario<'_>) -> Option<String> {
    around.entries.iter().find_map(|entry| {
        let BaseRtt::Fixed(base) = entry.transport.rdma()?.base_rtt else { return None };
        let (shortest, longest) = (entry.trip.shortest, entry.trip.longest);
        let reads = entry.law.as_ref().is_some_and(|law| law.needs().int);
        (reads && base * 2 < shortest).then(|| {
            format!(
                "{}.base_rtt = \"{}\" is less than half the round trip of any empty path of {}, which takes {} or more, so {:?} holds its windows below what the path carries; write \"{}\", or \"longest\"",
                entry.path,
                base.text(),
                entry.at,
                time(shortest),
                entry.law_name(),
                neat(longest)
            )
        })
    })
}

/// A delay that the empty path has already counts as congestion.
pub(super) fn delay_target(around: &CheckedScenario<'_>) -> Option<String> {
    around.entries.iter().find_map(|entry| {
        let trip = entry.trip.shortest;
        let span = |name: &str| entry.param::<Span>(name);
        let (key, target) = match entry.law_name() {
            "timely" => ("t_high", span("t_high")?),
            "swift" => {
                let scaled = entry.param::<bool>("flow_scaling") == Some(true);
                let range = span("fs_range").filter(|_| scaled).unwrap_or(Span::ZERO);
                ("base_target", span("base_target")? + span("hop_scale")? * 8 + range)
            }
            _ => return None,
        };
        (target < trip).then(|| {
            format!(
                "{:?} takes a round trip above {} for congestion ({key} in {}.params), and an empty path of {} takes {} already, so its rate falls without end; write {key} = \"{}\" or more",
                entry.law_name(),
                time(target),
                if entry.traffic.params.is_empty() { &entry.path } else { &entry.at },
                entry.at,
                time(trip),
                neat(trip * 2)
            )
        })
    })
}

/// Requests of a queue on their way at once. Below this they cost little: 6 of them take 9 % more packets, 25 of them 35 %.
const MOST_REQUESTS: u64 = 20;

/// Racks looked at for round trips.
const MOST_RACKS: usize = 64;

/// Queues by destination that request again what is on its way.
pub(super) fn request_timeout(around: &CheckedScenario<'_>) -> Option<String> {
    let timeout = around.scenario.fabric.switch.hierarchical.as_ref()?.request_timeout;
    let homes = around.plan.cables.iter().filter(|cable| (cable.a as usize) < around.plan.hosts);
    let racks: std::collections::BTreeSet<u32> = homes.map(|cable| cable.b).collect();
    let message = Bytes::new(64);
    let sizes = Sizes { data: message, ack: message };
    let trips = racks.iter().take(MOST_RACKS).flat_map(|from| {
        let found = around.trips.from(*from, sizes);
        racks.iter().filter_map(move |to| Some(found[*to as usize]?.1)).collect::<Vec<Span>>()
    });
    let longest = trips.max()?;
    (timeout * MOST_REQUESTS < longest).then(|| {
        format!(
            "fabric.switch.hierarchical.request_timeout = \"{}\" has each waiting queue request again {} times while its first request is on the way: the round trip between two racks takes {} on an empty fabric; write more, for instance \"{}\"",
            timeout.text(),
            longest / timeout,
            time(longest),
            neat(longest)
        )
    })
}

/// A sender that waits until the end of the run after one refusal.
pub(super) fn rnr_timer(around: &CheckedScenario<'_>) -> Option<String> {
    let refuses = |host: &String| {
        let memory = around.scenario.host.memory_at(host)?;
        let queue = memory.settings.ddio.as_ref()?.queue.as_ref()?;
        (queue.rnr == Some(Rnr::Nak)).then_some(())
    };
    around.hosts.names.iter().find_map(refuses)?;
    around.entries.iter().find_map(|entry| {
        let rdma = entry.transport.rdma()?;
        (rdma.rnr_timer >= around.left(entry)).then(|| {
            format!(
                "{}.rnr_timer = \"{}\" is as long as stop.time = \"{}\" leaves {}, so a sender that is refused once (rq.rnr = \"nak\") sends no more; write less, for instance \"640us\"",
                entry.path,
                rdma.rnr_timer.text(),
                around.scenario.stop.time,
                entry.at
            )
        })
    })
}
