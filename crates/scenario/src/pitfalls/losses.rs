//! Recoveries that cannot stand the losses that other settings bring.

use super::around::{CheckedScenario, Entry};
use super::marks::share;
use crate::fabric::{NotEct, Threshold};
use crate::faults::Change;
use crate::pause::PauseSetup;
use crate::quantity::Measure;
use crate::transport::Recovery;
use forebay_laws::flow::Echo;
use forebay_units::Bytes;

/// A rule that drops packets of a class before the class is paused.
pub(super) fn drops_in_a_lossless_class(around: &CheckedScenario<'_>) -> Option<String> {
    let (scenario, plan) = (around.scenario, around.plan);
    let pausing = PauseSetup::of(scenario, plan)?;
    let switch = &scenario.fabric.switch;
    let needs = pausing.needs();
    (0..switch.classes.max(1)).filter(|class| around.lossless(*class)).find_map(|class| {
        let rule = switch.ecn.of_class(class).or(switch.ecn.of_port())?;
        (rule.not_ect == NotEct::Drop).then_some(())?;
        let lane = pausing.classes().map(|_| class);
        around.switch_ports().find_map(|(node, cable)| {
            let need = needs.iter().find(|need| need.node == node)?;
            let pool = switch.shared_buffer().map(|pool| pool.size)?.saturating_sub(need.kept);
            let own = pausing.ingress(node, cable, lane);
            let others = need.ports.saturating_sub(1).max(1);
            // All other ports together fill this queue before one of them pauses.
            let each = match own.xoff {
                Threshold::Fixed(bytes) => bytes,
                Threshold::Dynamic(alpha) => {
                    let of = alpha * pool.get() as f64 / (1.0 + alpha * others as f64);
                    Bytes::new(of as u64)
                }
            };
            let each = each.saturating_add(own.reserved);
            let drops = rule.thresholds(cable.link.rate).0;
            let bytes = drops.payload(scenario.largest_packet());
            (bytes < each * others).then(|| {
                format!(
                    "class {class} is lossless (fabric.switch.pause), and fabric.switch.ecn with not_ect = \"drop\" drops its packets that are not ECN-capable from a queue of \"{drops}\" on, before any port pauses at {}; write not_ect = \"pass\", or marks for other classes",
                    each.text()
                )
            })
        })
    })
}

/// A law that never slows down, where queues drop what they cannot hold.
pub(super) fn no_reaction_and_no_pause(around: &CheckedScenario<'_>) -> Option<String> {
    let steady = |entry: &&Entry<'_>| entry.law.is_some() && entry.law_name() == "fixed";
    let entry = around.entries.iter().filter(steady).find(|e| !around.lossless(e.class()))?;
    Some(format!(
        "{} = \"fixed\" never slows down, and nothing pauses class {}, so a full queue drops packets for as long as it is full; write fabric.switch.pause = \"on\", or another law",
        entry.law_key(),
        entry.class()
    ))
}

/// Entries that send everything again after a loss.
fn repeaters<'a>(
    around: &'a CheckedScenario<'_>,
) -> impl Iterator<Item = (&'a Entry<'a>, &'static str)> {
    around.entries.iter().filter_map(|entry| match entry.transport.rdma()?.recovery {
        Recovery::GoBackN => Some((entry, "go-back-n")),
        Recovery::GoBackZero => Some((entry, "go-back-0")),
        Recovery::Selective => None,
    })
}

/// A burst that overflows a port before its senders can hear of it.
pub(super) fn go_back_n_without_pause(around: &CheckedScenario<'_>) -> Option<String> {
    let switch = &around.scenario.fabric.switch;
    let share = switch.shared_buffer().map(|pool| share(&pool));
    repeaters(around).filter(|(entry, _)| !around.lossless(entry.class())).find_map(
        |(entry, recovery)| {
            let ports = around.switch_ports().filter(|(_, cable)| (cable.a as usize) < around.plan.hosts);
            let limits = ports.filter_map(|(node, cable)| around.port_limit(node, cable));
            let limit = limits.map(|(limit, _)| entry.bytes(limit)).min();
            let room = [limit, share].into_iter().flatten().min()?;
            let burst = burst(around, entry);
            (burst > room).then(|| {
                format!(
                    "{0}.recovery = \"{recovery}\" sends everything again after a loss, and nothing pauses class {1}: {2} senders of {3} can queue {4} before they slow down, and a port holds {5}; write fabric.switch.pause = \"on\", {0}.recovery = \"selective\", or a larger buffer",
                    entry.path,
                    entry.class(),
                    entry.fan_in,
                    entry.at,
                    burst.text(),
                    room.text()
                )
            })
        },
    )
}

/// What all senders to one host have queued before the law slows them: all but one of their rates for a round trip; under CNPs from
/// the mark on, and with half of the rates from one CNP to the next.
fn burst(around: &CheckedScenario<'_>, entry: &Entry<'_>) -> Bytes {
    let excess = entry.fan_in.saturating_sub(1);
    let mut bytes = entry.trip.carries() * excess;
    if let Some(rdma) = entry.transport.rdma().filter(|_| entry.echo() == Echo::Cnp) {
        let ecn = &around.scenario.fabric.switch.ecn;
        let rule = ecn.of_class(entry.class()).or(ecn.of_port());
        let marks = rule.map(|rule| entry.bytes(rule.thresholds(entry.trip.rate).0));
        bytes = bytes.saturating_add(marks.filter(|_| excess > 0).unwrap_or(Bytes::ZERO));
        let mut senders = entry.fan_in / 2;
        while senders > 1 {
            bytes =
                bytes.saturating_add(entry.trip.rate.bytes_in(rdma.cnp_interval) * (senders - 1));
            senders /= 2;
        }
    }
    let packet = |size: Bytes| {
        size.get().saturating_mul(entry.packet().get()) / entry.transport.mss.get().max(1)
    };
    let all = entry.size().map(|size| Bytes::new(packet(size).saturating_mul(excess)));
    bytes.min(all.unwrap_or(Bytes::MAX))
}

/// Of each packet that must be repeated for a loss, as many as a round trip carries are; from this part of all on it shows.
const REPEATED: f64 = 0.05;

/// Cables that lose packets for as long as the run lasts.
pub(super) fn go_back_n_on_lossy_cables(around: &CheckedScenario<'_>) -> Option<String> {
    let fabric = &around.scenario.fabric;
    let cables = (0..).zip(&fabric.overrides).filter_map(|(i, o): (usize, _)| {
        Some((format!("fabric.override[{i}].loss"), o.loss.filter(|loss| *loss < 1.0)?))
    });
    let faults = (0..).zip(&around.scenario.faults).filter_map(|(i, fault): (usize, _)| {
        let Some(Change::Loss(loss)) = fault.change() else { return None };
        let undone = around.scenario.faults[i + 1..].iter().any(|other| other.link == fault.link);
        (!undone && loss < 1.0).then(|| (format!("fault[{i}].loss"), loss))
    });
    let lossy: Vec<(String, f64)> = cables.chain(faults).collect();
    repeaters(around).find_map(|(entry, recovery)| {
        let flying = entry.trip.carries().get() as f64 / entry.packet().get().max(1) as f64;
        let (key, loss) = lossy.iter().find(|(_, loss)| loss * flying > REPEATED)?;
        Some(format!(
            "{0}.recovery = \"{recovery}\" sends everything again after a loss, about {1:.0} packets, and {key} = {loss} loses one of {2:.0}; write {0}.recovery = \"selective\", or less loss",
            entry.path,
            flying.max(1.0),
            1.0 / loss
        ))
    })
}

/// Whether two packets of one flow may take different paths.
fn many_paths(around: &CheckedScenario<'_>) -> bool {
    let switches = around.plan.hosts as u32..around.plan.names.len() as u32;
    let cables = around.plan.cables.len();
    // A tree has one path between any two hosts.
    cables > around.plan.names.len().saturating_sub(1) && switches.len() > 1
}

/// Packets that arrive out of order, to a receiver that takes that for a loss.
pub(super) fn go_back_n_out_of_order(around: &CheckedScenario<'_>) -> Option<String> {
    repeaters(around).find_map(|(entry, recovery)| {
        let routing = around.scenario.routing_of(entry.traffic);
        (routing.is_per_packet() && many_paths(around)).then(|| {
            format!(
                "{} = \"{}\" lets packets overtake each other, and {}.recovery = \"{recovery}\" takes each that comes early for a loss; write recovery = \"selective\", or routing = \"ecmp\"",
                routing_key(entry),
                routing.name(),
                entry.path
            )
        })
    })
}

fn routing_key(entry: &Entry<'_>) -> String {
    match entry.transport.routing {
        Some(_) => format!("{}.routing", entry.path),
        None => "fabric.routing".into(),
    }
}

/// A port that gets less than a packet of the buffer.
pub(super) fn share_below_a_packet(around: &CheckedScenario<'_>) -> Option<String> {
    let pool = around.scenario.fabric.switch.shared_buffer()?;
    let (share, alpha) = (share(&pool), pool.alpha?);
    let entry = around
        .entries
        .iter()
        .find(|entry| !around.lossless(entry.class()) && share < entry.packet())?;
    Some(format!(
        "fabric.switch.buffer.alpha = {alpha} lets a port have {} of \"{}\", less than a packet of {} ({}), so every packet is dropped; write a larger alpha, for instance 1",
        share.text(),
        pool.size.text(),
        entry.packet().text(),
        entry.path
    ))
}

/// Credits that are metered for packets of another size.
pub(super) fn credits_for_other_packets(around: &CheckedScenario<'_>) -> Option<String> {
    let fabric = &around.scenario.fabric;
    let credits = fabric.switch.credits?;
    around.entries.iter().filter(|entry| entry.transport.credit_law(&around.scenario.laws).is_some()).find_map(|entry| {
        let wire = |bytes: Bytes| (bytes + fabric.wire.overhead).get() as f64;
        let part = f64::from(credits.share.of) / f64::from(credits.share.whole);
        let load = part * wire(entry.packet()) / wire(entry.transport.ack_size.max(Bytes::new(64)));
        let ideal = wire(entry.transport.ack_size) / (wire(entry.packet()) + wire(entry.transport.ack_size));
        let what = match load {
            load if load > 1.25 => "more than the link carries, so its queues overflow",
            load if load < 0.5 => "so the rest is idle",
            _ => return None,
        };
        Some(format!(
            "fabric.switch.credits.share = \"{}\" sends credits for {:.0} % of a link with the packets of {} of {} ({}.mss), {what}; write share = \"{:.0}/{}\"",
            credits.share,
            100.0 * load,
            entry.at,
            entry.packet().text(),
            entry.path,
            (ideal * 10_000.0).max(1.0),
            10_000
        ))
    })
}
