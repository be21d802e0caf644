//! Cables that are too long for the time stamps of packets: 32 bits of nanoseconds, which repeat as those of RFC 7323 do.

use crate::judge::Judge;
use crate::pitfalls::trips::{Sizes, Trips};
use crate::plan::{Plan, PlannedCable};
use crate::scenario::Scenario;
use forebay_units::{Bytes, Span, human};

/// Time stamps repeat after this.
const TURN: Span = Span::from_ns(1 << 32);

/// Links of a path, at most, of fabrics that are not looked at.
const MOST_LINKS: u64 = 64;

/// A round trip as long as a turn of the stamps reads as a short one.
pub(crate) fn check(judge: &mut Judge<'_>, scenario: &Scenario, plan: &Plan) {
    let fabric = &scenario.fabric;
    let sizes = Sizes { data: Bytes::ZERO, ack: Bytes::ZERO };
    let of = |cable: &PlannedCable| cable.link.delay * 2 + fabric.switch.latency * 2;
    let slowest = plan.cables.iter().map(of).max().unwrap_or(Span::ZERO);
    if plan.hosts == 0 || slowest < TURN / MOST_LINKS {
        return;
    }
    let trips = Trips::new(plan, fabric.switch.latency);
    // From any host to the farthest, and from there to the farthest again.
    let farthest = |from: u32| {
        let found = trips.from(from, sizes);
        let hosts = (0u32..).zip(found).take(plan.hosts);
        hosts.filter_map(|(host, trip)| Some((trip?.1, host))).max().unwrap_or_default()
    };
    let (trip, _) = farthest(farthest(0).1);
    if trip >= TURN {
        let longest = plan.cables.iter().map(|cable| cable.link.delay).max().unwrap_or_default();
        let key = match longest == fabric.fabric_link.delay && longest != fabric.host_link.delay {
            true => "fabric.fabric_link.delay",
            false => "fabric.host_link.delay",
        };
        let text = format!(
            "makes round trips of {}, and time stamps of packets repeat after {}; write shorter delays",
            human::micros(trip.as_ps() as f64 / 1e6),
            human::micros(TURN.as_ps() as f64 / 1e6)
        );
        judge.wrong(key, text);
    }
}
