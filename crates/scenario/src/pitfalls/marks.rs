//! Marks that never come, come always, or come too late for the law that waits for them.

use super::around::{CheckedScenario, Entry};
use crate::fabric::{Ecn, EcnMarking, Ect, Policy};
use crate::plan::PlannedCable;
use crate::quantity::{Measure, QueueLength};
use forebay_laws::flow::Echo;
use forebay_units::Bytes;

/// Entries whose law waits for marks.
fn waiting<'a>(around: &'a CheckedScenario<'_>) -> impl Iterator<Item = &'a Entry<'a>> {
    around.entries.iter().filter(|entry| entry.echo() != Echo::None)
}

/// The rule that marks the data of an entry.
fn rule(around: &CheckedScenario<'_>, entry: &Entry<'_>) -> Option<EcnMarking> {
    let switch = &around.scenario.fabric.switch;
    let of_class = switch.ecn.of_class(entry.class());
    of_class.or(switch.ecn.of_port()).filter(|rule| rule.ect == Ect::Mark)
}

/// Where marks begin at a port, as written and in bytes.
fn begins(entry: &Entry<'_>, rule: EcnMarking, cable: PlannedCable) -> (QueueLength, Bytes) {
    let kmin = rule.thresholds(cable.link.rate).0;
    (kmin, entry.bytes(kmin))
}

/// Names the port of a switch.
fn port(around: &CheckedScenario<'_>, node: usize, cable: PlannedCable) -> String {
    around.plan.link_name(cable, Some(node as u32))
}

/// A queue that is full before it is marked.
pub(super) fn above_the_limit(around: &CheckedScenario<'_>) -> Option<String> {
    waiting(around).find_map(|entry| {
        let rule = rule(around, entry)?;
        let class = entry.class();
        let limits = &around.scenario.fabric.switch.limits;
        around.switch_ports().find_map(|(node, cable)| {
            let own = limits.iter().position(|one| one.class == class);
            let own = own.map(|i| (limits[i].size, format!("fabric.switch.limits[{i}].size")));
            let (limit, key) = own.or_else(|| around.port_limit(node, cable))?;
            let (marks, bytes) = begins(entry, rule, cable);
            // What is let in finds a queue of the limit less itself.
            let most = entry.bytes(limit).saturating_sub(entry.packet());
            (bytes > most).then(|| {
                format!(
                    "fabric.switch.ecn marks from a queue of \"{marks}\" on at {}, and {key} = \"{limit}\" drops what comes before that, so {} never sees a mark; write a threshold well below the limit",
                    port(around, node, cable),
                    said_law(entry)
                )
            })
        })
    })
}

/// A queue that gets no more of the shared buffer before it is marked.
pub(super) fn above_the_share(around: &CheckedScenario<'_>) -> Option<String> {
    let pool = around.scenario.fabric.switch.shared_buffer()?;
    let share = share(&pool);
    waiting(around).find_map(|entry| {
        let rule = rule(around, entry).filter(|_| !around.lossless(entry.class()))?;
        around.switch_ports().find_map(|(node, cable)| {
            let (marks, bytes) = begins(entry, rule, cable);
            (bytes > share.saturating_sub(entry.packet())).then(|| {
                format!(
                    "fabric.switch.ecn marks from a queue of \"{marks}\" on at {}, and of fabric.switch.buffer = \"{}\" one port gets {} at most, so {} never sees a mark; write a lower threshold, or a larger buffer",
                    port(around, node, cable),
                    pool.size.text(),
                    share.text(),
                    said_law(entry)
                )
            })
        })
    })
}

/// Share of one port of a pool that no other port uses.
pub(super) fn share(pool: &crate::fabric::SharedBuffer) -> Bytes {
    let alpha = pool.alpha.unwrap_or(1.0);
    match pool.policy {
        Policy::DynamicThreshold => {
            Bytes::new((pool.size.get() as f64 * alpha / (1.0 + alpha)) as u64)
        }
        Policy::Shared | Policy::Static => pool.size,
    }
}

/// A law that slows for marks where nothing marks.
pub(super) fn none_for_the_law(around: &CheckedScenario<'_>) -> Option<String> {
    let switch = &around.scenario.fabric.switch;
    waiting(around).find_map(|entry| {
        let by_host = around.scenario.host.has_control();
        if rule(around, entry).is_some() || switch.hierarchical.is_some() || by_host {
            return None;
        }
        let (what, remedy) = match &switch.ecn {
            // This is not written by mistake: a scenario without congestion control.
            Ecn::Off => return None,
            Ecn::Port(_) => {
                ("has ect = \"pass\", which marks nothing".to_string(), "leave ect out".to_string())
            }
            Ecn::ByClass(_) => (
                format!("marks no data of class {}", entry.class()),
                format!("write an entry with classes = [{}]", entry.class()),
            ),
        };
        Some(format!(
            "fabric.switch.ecn {what}, and {} slows down for marks; {remedy}, or write another law",
            said_law(entry)
        ))
    })
}

/// Marks without any congestion.
pub(super) fn every_packet(around: &CheckedScenario<'_>) -> Option<String> {
    waiting(around).find_map(|entry| {
        let rule = rule(around, entry)?;
        (entry.bytes(rule.kmax) == Bytes::ZERO).then(|| {
            format!(
                "fabric.switch.ecn marks every packet from a queue of \"{}\" on, so also on an empty fabric, and {} has its least rate for ever; write more, for instance k = \"30KB\"",
                rule.kmax,
                said_law(entry)
            )
        })
    })
}

/// Notices of congestion behind what congests.
pub(super) fn cnps_behind_data(around: &CheckedScenario<'_>) -> Option<String> {
    waiting(around).find_map(|entry| {
        let rdma = entry.transport.rdma().filter(|_| entry.echo() == Echo::Cnp)?;
        let data = entry.class();
        // ACKs below data have a warning of their own.
        (rdma.cnp_class < data && entry.transport.ack_class >= data).then(|| {
            format!(
                "{}.cnp_class = {} is below the class of the data of {}, {data}, so notices of congestion wait behind what congests; write cnp_class = {data} or more",
                entry.path, rdma.cnp_class, entry.at
            )
        })
    })
}

/// The law of an entry with its key.
fn said_law(entry: &Entry<'_>) -> String {
    format!("{} = {:?}", entry.law_key(), entry.law_name())
}
