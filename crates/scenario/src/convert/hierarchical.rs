//! Racks that queue by destination host: credits between them, and the law that gives flows their rates.

use super::Judge;
use crate::model::{Asks, Hierarchical, QueueFor, Scenario, Transport};
use crate::problem::or_list;
use crate::raw;
use crate::tree::{did_you_mean, shorten};
use forebay_laws::flow::{FlowParams, Needs};
use forebay_laws::group::{GroupParams, LAWS};
use forebay_units::{Bytes, Span};

/// C0 (HierCC, section 5).
const ADVANCE: Bytes = Bytes::new(10_000);
/// Delta (HierCC, section 3.2).
const CREDIT: Bytes = Bytes::new(1_000);
/// Two windows of 10 us.
const SEEN_FOR: Span = Span::from_us(20);
/// Ten of them.
const ASK_AGAIN: Span = Span::from_us(100);

impl Judge<'_> {
    /// `[fabric.switch.hierarchical]`.
    pub(super) fn hierarchical(
        &mut self,
        keys: Option<&raw::Hierarchical>,
        transport: &Transport,
    ) -> Option<Hierarchical> {
        let (keys, path) = (keys?, "fabric.switch.hierarchical");
        let advance = keys.advance.map_or(ADVANCE, |b| b.0);
        let packet = transport.mss.saturating_add(transport.header);
        if advance < packet {
            let text = format!("lets no packet of {packet} go; write at least \"{packet}\"");
            self.wrong(&format!("{path}.advance"), text);
        }
        let credit = keys.credit.map_or(CREDIT, |b| b.0);
        if credit == Bytes::ZERO || credit > advance {
            let text = format!(
                "is no size of a credit; write more than nothing and at most advance, \"{advance}\""
            );
            self.wrong(&format!("{path}.credit"), text);
        }
        let queue_for = match keys.queue_for {
            None | Some(raw::QueueFor::Host) => QueueFor::Host,
            Some(raw::QueueFor::Rack) => QueueFor::Rack,
            Some(raw::QueueFor::Pod) => QueueFor::Pod(keys.pod_advance.map_or(advance, |b| b.0)),
        };
        match queue_for {
            QueueFor::Pod(far) if far < packet.max(credit) => {
                let least = packet.max(credit);
                let text = format!("is less than a packet or a credit; write at least \"{least}\"");
                self.wrong(&format!("{path}.pod_advance"), text);
            }
            QueueFor::Host | QueueFor::Rack if keys.pod_advance.is_some() => {
                let text = "is of queues for other pods; write queue_for = \"pod\" as well";
                self.say(&format!("{path}.pod_advance"), text);
            }
            _ => {}
        }
        let seen_for = keys.seen_for.map_or(SEEN_FOR, |t| t.0);
        self.short(&format!("{path}.seen_for"), seen_for);
        let ask_again = keys.ask_again.map_or(ASK_AGAIN, |t| t.0);
        self.span(&format!("{path}.ask_again"), ask_again);
        let [hop_rtt, round_trip] = [("hop_rtt", keys.hop_rtt), ("round_trip", keys.round_trip)]
            .map(|(key, trip)| {
                let trip = trip?.0;
                self.span(&format!("{path}.{key}"), trip);
                Some(trip)
            });
        let Ok(mut law) = GroupParams::new(&keys.law) else {
            let names = || LAWS.iter().map(|law| law.name);
            let close = did_you_mean(&keys.law, names());
            let (law, names) = (shorten(&keys.law), or_list(names()));
            let text = format!("no law of role group is called {law:?}; write {names}{close}");
            self.say(&format!("{path}.law"), text);
            return None;
        };
        let info = law.info();
        let set = |key: &str, text: &str| law.set(key, text);
        self.set_params(&format!("{path}.params"), info, &keys.params, set);
        let params = keys.params.clone();
        Some(Hierarchical {
            law: keys.law.clone(),
            params,
            asks: keys.asks.unwrap_or(Asks::Demand),
            queue_for,
            advance,
            credit,
            seen_for,
            ask_again,
            hop_rtt,
            round_trip,
        })
    }

    /// Queues by destination hold what they have, so that nobody else may hold it to account.
    pub(super) fn hierarchical_alone(&mut self, scenario: &Scenario) {
        let f = &scenario.fabric;
        let pauses =
            f.switch.pause.is_some() || f.overrides.iter().any(|o| o.pause.flatten().is_some());
        if f.hierarchical.is_some() && pauses {
            self.say(
                "fabric.switch.hierarchical",
                "and pause both hold packets back; leave out one of them",
            );
        }
        let by_pod =
            f.hierarchical.as_ref().is_some_and(|h| matches!(h.queue_for, QueueFor::Pod(_)));
        if by_pod && f.topology.clos().is_none_or(|clos| clos.pods < 2) {
            let text = "\"pod\" needs a fabric of several pods; write \"rack\" or \"host\"";
            self.say("fabric.switch.hierarchical.queue_for", text);
        }
        let entries = scenario.traffic.iter().filter_map(|t| t.law.as_ref());
        let transports = scenario.all_transports().map(|transport| &transport.law);
        let laws: Vec<_> = entries.chain(transports).collect();
        let that = |has: fn(Needs) -> bool| {
            laws.iter().find(|law| FlowParams::new(law).is_ok_and(|law| has(law.needs())))
        };
        if let (true, Some(law)) = (f.hierarchical.is_some(), that(|needs| needs.int)) {
            let text = format!(
                "tags packets where {law:?} has its telemetry; write law = \"explicit\", or another without"
            );
            self.say("fabric.switch.hierarchical", text);
        } else if let (None, Some(law)) = (&f.hierarchical, that(|needs| needs.asks.is_some())) {
            let text = format!(
                "{law:?} sends at the rate that a switch tells it, and none does; write fabric.switch.hierarchical = \
                 {{ law = \"hiercc\" }} as well"
            );
            self.say("transport.law", text);
        }
    }
}
