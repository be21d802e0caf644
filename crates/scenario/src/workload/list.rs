//! Listed flows: those with a start, those that wait for a trigger, and the triggers between them.

use super::{Error, FlowSpec, Maker, Table, order};
use crate::traffic::ListedFlow;
use forebay_units::{Span, Time};
use std::collections::BTreeMap;

/// Flows that start when others have been delivered.
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    /// Index of its `[[traffic]]` entry.
    pub traffic: u16,
    /// From the last delivery, at its receiver, until the senders of `starts` learn of it.
    pub control_delay: Span,
    /// Nothing starts if that delivery is not before this.
    pub until: Time,
    /// Flows that have to be delivered, as indices into [`Table::flows`].
    pub flows: Vec<u32>,
    /// Flows that then start, likewise.
    pub starts: Vec<u32>,
}

/// A list with triggers before its flows have their places in the table.
pub(super) struct Pending {
    control_delay: Span,
    until: Time,
    /// In the order of the list; none: left out, since it starts outside the entry's time.
    flows: Vec<(Option<FlowSpec>, ListedFlow)>,
}

impl Maker<'_> {
    pub(super) fn list(
        &mut self,
        listed: &[ListedFlow],
        control_delay: Span,
        start: Time,
    ) -> Result<(), Error> {
        let mut all = Vec::new();
        let with_triggers = listed.iter().any(|f| f.after.is_some() || !f.fires.is_empty());
        for one in listed {
            let (src, dst) = (self.host(&one.from)?, self.host(&one.to)?);
            let (sport, dport) = (one.sport, one.dport);
            let flow = FlowSpec { sport, dport, ..self.flow(src, dst, one.size, one.at) };
            let waits = one.after.is_some();
            let fits = one.at >= start && one.at < self.end;
            if fits && !waits {
                self.table.flows.push(flow);
            }
            if with_triggers {
                all.push(((fits || waits).then_some(flow), one.clone()));
            }
        }
        self.note_missing(listed.iter().filter(|f| f.after.is_none()).count());
        if with_triggers {
            self.pending.push(Pending { control_delay, until: self.end, flows: all });
        }
        Ok(())
    }
}

/// Appends the flows that wait, and says which deliveries start them.
pub(super) fn add_triggers(table: &mut Table, pending: Vec<Pending>) {
    for Pending { control_delay, until, flows } in pending {
        // Flows with equal keys stand side by side, and are the same but for what they fire.
        let mut taken: BTreeMap<_, u32> = BTreeMap::new();
        let mut triggers: BTreeMap<&str, (bool, Vec<u32>, Vec<u32>)> = BTreeMap::new();
        let mut traffic = 0;
        for (spec, listed) in &flows {
            let index = spec.map(|spec| {
                traffic = spec.traffic;
                if listed.after.is_some() {
                    table.flows.push(spec);
                    return table.flows.len() as u32 - 1;
                }
                let nth = taken.entry(order(&spec)).or_insert_with(|| {
                    table.flows.partition_point(|f| order(f) < order(&spec)) as u32
                });
                *nth += 1;
                *nth - 1
            });
            for name in &listed.fires {
                let (whole, fire, _) =
                    triggers.entry(name).or_insert((true, Vec::new(), Vec::new()));
                *whole &= index.is_some();
                fire.extend(index);
            }
            if let (Some(name), Some(index)) = (&listed.after, index) {
                let (.., starts) = triggers.entry(name).or_insert((true, Vec::new(), Vec::new()));
                starts.push(index);
            }
        }
        let able = triggers
            .into_values()
            .filter(|(whole, flows, starts)| *whole && !flows.is_empty() && !starts.is_empty());
        table.triggers.extend(able.map(|(_, flows, starts)| Trigger {
            traffic,
            control_delay,
            until,
            flows,
            starts,
        }));
    }
}
