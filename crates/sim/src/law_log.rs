//! Logs of laws: which laws of a scenario write one, and the way from a law to whoever keeps it.

use forebay_laws::log::{Sink, Tap};
use forebay_record::law_logs::{LawLog, LawLogs};
use forebay_scenario::model;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A log under the interface of laws.
#[derive(Debug)]
struct To(Arc<dyn LawLog>);

impl Sink for To {
    fn write(&self, bytes: &[u8]) {
        self.0.write(bytes);
    }
}

/// Log of the law of one flow or host; see [`LawLogs::open`].
fn tap(logs: &dyn LawLogs, whose: &str) -> Tap {
    Tap::new(Arc::new(To(logs.open(whose))))
}

/// Logs of flows, by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowTaps(BTreeMap<u32, Tap>);

impl FlowTaps {
    /// Where the laws of a scenario's logged flows write.
    pub fn of(logged: &model::LawLog, logs: &dyn LawLogs) -> Self {
        Self(logged.flows.iter().map(|flow| (*flow, tap(logs, &flow.to_string()))).collect())
    }

    /// Where the law of `flow` writes, if it is logged.
    pub fn get(&self, flow: u32) -> Option<Tap> {
        self.0.get(&flow).cloned()
    }
}

/// Where the host law of the host with this name writes, if it is logged.
pub(crate) fn host_tap(logged: &model::LawLog, logs: &dyn LawLogs, name: &str) -> Option<Tap> {
    logged.has_host(name).then(|| tap(logs, &format!("host-{name}")))
}
