//! Hosts that cannot take what their links bring, and settings of hosts that have no effect.

use super::around::CheckedScenario;
use crate::host::{Memory, Pacing};
use crate::quantity::Measure;
use forebay_units::{BitsPerSec, Span};

/// Hosts that receive something and have a path to memory, with the rate of their links.
fn receivers<'a>(
    around: &'a CheckedScenario<'_>,
) -> impl Iterator<Item = (&'a str, &'a Memory, BitsPerSec)> {
    let names = around.hosts.names.iter().zip(&around.hosts.rates);
    names.filter_map(|(name, rate)| {
        let memory = around.scenario.host.memory_at(name)?;
        Some((name.as_str(), memory, *rate))
    })
}

/// Wire bytes of a full packet that cross the bus: nearly all.
const MOST_OF_IT: f64 = 0.9;

/// PCIe that takes less than the cable brings.
pub(super) fn pcie_below_the_link(around: &CheckedScenario<'_>) -> Option<String> {
    receivers(around).find_map(|(name, memory, link)| {
        let pcie = memory.settings.pcie;
        let takes = pcie.payload_rate();
        ((takes.get() as f64) < link.get() as f64 * MOST_OF_IT).then(|| {
            format!(
                "host.memory.pcie_rate = \"{}\" leaves {:.1} Gb/s for payload, and the link of {name} brings \"{link}\", so its NIC drops at full load; write pcie_rate = \"{}\" or more",
                pcie.rate,
                takes.get() as f64 / 1e9,
                BitsPerSec::new((link.get() / 4).saturating_mul(5))
            )
        })
    })
}

/// Memory that takes less than the cable brings.
pub(super) fn memory_below_the_link(around: &CheckedScenario<'_>) -> Option<String> {
    receivers(around).find_map(|(name, memory, link)| {
        let bandwidth = BitsPerSec::new(memory.settings.controller.bytes_per_sec.saturating_mul(8));
        let cached = memory.settings.ddio.is_some();
        (bandwidth < link && !cached).then(|| {
            format!(
                "host.memory.bandwidth = \"{bandwidth}\" is less than the link of {name} brings, \"{link}\", and what arrives is written to memory before it is read; write \"{}\" or more",
                BitsPerSec::new(link.get().saturating_mul(2))
            )
        })
    })
}

/// A throttle without anybody to throttle.
pub(super) fn throttles_nobody(around: &CheckedScenario<'_>) -> Option<String> {
    receivers(around).find_map(|(name, memory, _)| {
        let level = memory.level.filter(|level| *level > 0)?;
        let works = memory.settings.antagonists.iter().any(|one| one.cores > 0);
        (!works).then(|| {
            let cores = match memory.settings.antagonists.first() {
                Some(_) => "host.memory.antagonist has cores = 0",
                None => "there is no host.memory.antagonist",
            };
            format!(
                "host.memory.level = {level} throttles antagonists of {name}, and {cores}; write antagonist = [{{ cores = 8 }}], or leave level out"
            )
        })
    })
}

/// Antagonists that work until after the end.
pub(super) fn never_rests(around: &CheckedScenario<'_>) -> Option<String> {
    let stop = around.scenario.stop.time;
    let end = stop.since(forebay_units::Time::ZERO);
    receivers(around).find_map(|(_, memory, _)| {
        let mut rests = memory.settings.antagonists.iter().filter(|one| one.cores > 0);
        let [on, off] = rests.find_map(|one| {
            one.rests.map(<[Span; 2]>::from).filter(|[on, _]| *on >= end)
        })?;
        Some(format!(
            "host.memory.antagonist.on = \"{}\" is not before the end of the run, stop.time = \"{stop}\", so it never rests for off = \"{}\"; write less, or leave both out",
            on.text(),
            off.text()
        ))
    })
}

/// Gaps between packets that are longer than packets.
pub(super) fn jitter_above_a_packet(around: &CheckedScenario<'_>) -> Option<String> {
    around.hosts.names.iter().zip(&around.hosts.rates).find_map(|(name, rate)| {
        let jitter = around.scenario.host.at(name).0.tx_jitter;
        let packet = around.scenario.largest_packet();
        let time = rate.time_for(packet);
        // Half of it on average.
        (jitter > time * 4).then(|| {
            format!(
                "host.tx_jitter = \"{}\" is more than four packets of {} take on the link of {name}, \"{rate}\", so the host sends at a third of it at best; write \"{}\" or less",
                jitter.text(),
                packet.text(),
                time.text()
            )
        })
    })
}

/// Pacing of a stack that no flow uses.
pub(super) fn paces_nobody(around: &CheckedScenario<'_>) -> Option<String> {
    let settings = &around.scenario.host.settings;
    let word = match settings.pacing {
        Pacing::Off => return None,
        Pacing::Internal => "internal",
        Pacing::Fq => "fq",
    };
    let kind = around.entries.first()?.transport.kind();
    let tcp = around.entries.iter().any(|entry| entry.transport.tcp().is_some());
    (!tcp).then(|| {
        format!(
            "host.pacing = \"{word}\" paces windows of TCP, and all traffic has transport.kind = \"{kind}\"; leave it out, or write kind = \"tcp\""
        )
    })
}

/// A bucket that fills faster than a link empties it.
pub(super) fn shaper_above_the_link(around: &CheckedScenario<'_>) -> Option<String> {
    let fabric = &around.scenario.fabric;
    (0..).zip(&fabric.shapers).find_map(|(i, shaper): (usize, _)| {
        let ports = around.plan.ports_like(&shaper.place);
        let link = |(node, peer): &(u32, u32)| {
            let joins = |c: &&crate::plan::PlannedCable| {
                (c.a, c.b) == (*node, *peer) || (c.b, c.a) == (*node, *peer)
            };
            around.plan.cables.iter().find(joins).map(|cable| cable.link.rate)
        };
        let fastest = ports.iter().filter_map(link).max()?;
        let faulty = !around.scenario.faults.is_empty();
        (shaper.bucket.rate >= fastest && !faulty && fastest > BitsPerSec::new(0)).then(|| {
            format!(
                "fabric.shaper[{i}].rate = \"{}\" is no less than the rate of any link at {:?}, \"{fastest}\", so the shaper never holds a packet back; write less",
                shaper.bucket.rate, shaper.place
            )
        })
    })
}

/// Antagonists that begin after the end.
pub(super) fn antagonist_after_the_end(around: &CheckedScenario<'_>) -> Option<String> {
    let stop = around.scenario.stop.time;
    let end = stop.since(forebay_units::Time::ZERO);
    receivers(around).find_map(|(name, memory, _)| {
        let mut works = memory.settings.antagonists.iter().filter(|one| one.cores > 0);
        let start = works.find(|one| one.start >= end)?.start;
        Some(format!(
            "host.memory.antagonist.start = \"{}\" is not before the end of the run, stop.time = \"{stop}\", so {name} has no antagonist; write less, or a longer run",
            start.text()
        ))
    })
}
