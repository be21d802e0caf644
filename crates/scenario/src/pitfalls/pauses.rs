//! Pauses that never come, never end, or end in drops.

use super::around::{CheckedScenario, neat, time};
use crate::fabric::{PauseSettings, Threshold};
use crate::pause::PauseSetup;
use crate::plan::PlannedCable;
use crate::quantity::Measure;
use crate::transport::Recovery;
use forebay_units::{Bytes, Span};

/// Accounts of all ingress ports that pause: node, cable, and class.
fn accounts<'a>(
    around: &'a CheckedScenario<'_>,
    pausing: PauseSetup<'a>,
) -> impl Iterator<Item = (usize, PlannedCable, Option<u8>)> + 'a {
    let classes = pausing.classes();
    let lanes: Vec<Option<u8>> = match classes {
        None => vec![None],
        Some(of) => (0..8).filter(|class| of >> class & 1 == 1).map(Some).collect(),
    };
    let ports = around.switch_ports().filter(move |(node, cable)| pausing.pauses(*node, *cable));
    ports.flat_map(move |(node, cable)| {
        lanes.clone().into_iter().map(move |lane| (node, cable, lane))
    })
}

/// A port that lets its peer go on only when nothing waits any more.
pub(super) fn resume_below_nothing(around: &CheckedScenario<'_>) -> Option<String> {
    let pausing = PauseSetup::of(around.scenario, around.plan)?;
    accounts(around, pausing).find_map(|(node, cable, lane)| {
        let own = pausing.ingress(node, cable, lane);
        let Threshold::Fixed(xoff) = own.xoff else { return None };
        (own.resume_offset >= xoff && xoff > Bytes::ZERO).then(|| {
            format!(
                "fabric.switch.pause.resume_offset = \"{}\" is no less than xoff = \"{}\", so a port lets its peer resume only when it is empty, and the link idles; write less than xoff",
                own.resume_offset.text(),
                xoff.text()
            )
        })
    })
}

/// Settings with a watchdog, and its time.
fn watchdogs<'a>(
    around: &'a CheckedScenario<'_>,
) -> impl Iterator<Item = (&'a PauseSettings, Span)> {
    let pauses = around.scenario.fabric.pauses();
    let accounts = pauses.flat_map(|pause| pause.accounts().map(|(_, settings)| settings));
    accounts.filter_map(|settings| Some((settings, settings.watchdog?.after)))
}

/// A watchdog that no pause is short enough for.
pub(super) fn watchdog_of_every_pause(around: &CheckedScenario<'_>) -> Option<String> {
    watchdogs(around).find_map(|(settings, after)| {
        let link = around.scenario.fabric.host_link;
        // Until the port has drained what lies between the thresholds and its peer has heard of it.
        let least = link.delay * 2 + link.rate.time_for(settings.resume_offset);
        (after < least).then(|| {
            format!(
                "fabric.switch.pause.watchdog.after = \"{}\" is shorter than the shortest pause, {} (resume_offset = \"{}\" at the rate of host_link, and its delay), so every pause ends in drops; write more, for instance \"{}\"",
                after.text(),
                time(least),
                settings.resume_offset.text(),
                neat((least * 100).max(Span::from_ms(100)))
            )
        })
    })
}

/// A watchdog that cannot fire in this run.
pub(super) fn watchdog_after_the_end(around: &CheckedScenario<'_>) -> Option<String> {
    let stop = around.scenario.stop.time;
    let end = stop.since(forebay_units::Time::ZERO);
    watchdogs(around).find(|(_, after)| *after >= end).map(|(_, after)| {
        format!(
            "fabric.switch.pause.watchdog.after = \"{}\" is not before the end of the run, stop.time = \"{stop}\", so the watchdog never fires; write less, or a longer run",
            after.text()
        )
    })
}

/// A port that has less than a packet of its own and of the pool: each packet goes to headroom, and pauses its sender.
pub(super) fn pool_below_a_packet(around: &CheckedScenario<'_>) -> Option<String> {
    let pausing = PauseSetup::of(around.scenario, around.plan)?;
    let pool = around.scenario.fabric.switch.shared_buffer()?;
    let packet = around.scenario.largest_packet();
    pausing.needs().into_iter().find_map(|need| {
        let left = pool.size.saturating_sub(need.kept);
        let (_, cable, lane) = accounts(around, pausing).find(|(node, ..)| *node == need.node)?;
        let reserved = pausing.ingress(need.node, cable, lane).reserved;
        (left.saturating_add(reserved) < packet).then(|| {
            format!(
                "fabric.switch.buffer = \"{}\" leaves {} to share at {} beside headroom and reserved of fabric.switch.pause, with reserved = \"{}\" less than a packet of {}, so each packet pauses its sender; write \"{}\" or more",
                pool.size.text(),
                left.text(),
                around.plan.names[need.node],
                reserved.text(),
                packet.text(),
                (need.kept + packet * 10 * need.ports).text()
            )
        })
    })
}

/// A threshold that the pool is too small for.
pub(super) fn xoff_above_the_pool(around: &CheckedScenario<'_>) -> Option<String> {
    let pausing = PauseSetup::of(around.scenario, around.plan)?;
    let pool = around.scenario.fabric.switch.shared_buffer()?;
    let needs = pausing.needs();
    accounts(around, pausing).find_map(|(node, cable, lane)| {
        let Threshold::Fixed(xoff) = pausing.ingress(node, cable, lane).xoff else { return None };
        let kept = needs.iter().find(|need| need.node == node)?.kept;
        let left = pool.size.saturating_sub(kept);
        (xoff > left).then(|| {
            format!(
                "fabric.switch.pause.xoff = \"{}\" is more than fabric.switch.buffer = \"{}\" leaves at {} beside headroom and reserved, {}, so the first port that is slow takes the pool, and the others pause for each packet; write xoff = \"{}\" or less, or a larger buffer",
                xoff.text(),
                pool.size.text(),
                around.plan.names[node],
                left.text(),
                (left / 4).text()
            )
        })
    })
}

/// Each pause costs a packet, and each packet all that is behind it.
pub(super) fn go_back_n_without_headroom(around: &CheckedScenario<'_>) -> Option<String> {
    let pausing = PauseSetup::of(around.scenario, around.plan)?;
    let repeats = |entry: &&super::around::Entry<'_>| {
        let recovery = entry.transport.rdma().map(|rdma| rdma.recovery);
        around.lossless(entry.class())
            && matches!(recovery, Some(Recovery::GoBackN | Recovery::GoBackZero))
    };
    let entry = around.entries.iter().find(repeats)?;
    let short = pausing.shortages().into_iter().find(|short| short.given < entry.packet())?;
    Some(format!(
        "fabric.switch.pause.headroom = \"{0}\" at {1} holds no packet of {2} that comes after a pause, and {3}.recovery = \"go-back-n\" sends everything again after each loss, so flows may never end; write recovery = \"selective\", or headroom = \"{4}\" or more",
        short.given.text(),
        short.place,
        entry.at,
        entry.path,
        short.needed.text()
    ))
}
