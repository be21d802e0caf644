//! Logs of laws: which laws of a scenario write one, and the way from a law to the keeper of its log.

use forebay_laws::log::{Sink, Tap};
use forebay_record::law_logs::{LawLog, LawLogs};
use forebay_scenario::model;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A log under the interface of laws.
#[derive(Debug)]
struct LogAdapter(Arc<dyn LawLog>);

impl Sink for LogAdapter {
    fn write(&self, bytes: &[u8]) {
        self.0.write(bytes);
    }
}

/// Log of the law of one flow or host; see [`LawLogs::open`].
fn tap(logs: &dyn LawLogs, whose: &str) -> Tap {
    Tap::new(Arc::new(LogAdapter(logs.open(whose))))
}

/// Logs of flows and of the pools of connections, by number, and of hosts that grant, by index.
#[derive(Clone, Debug, Default)]
pub(crate) struct LawTaps {
    flows: BTreeMap<u32, Tap>,
    pools: BTreeMap<u32, Tap>,
    grants: BTreeMap<u32, Vec<Tap>>,
}

impl LawTaps {
    /// Where the laws of a scenario's logged flows write, and those that grant of its logged `hosts`. A host has up to `kinds` of these.
    pub fn of(logged: &model::LawLog, logs: &dyn LawLogs, hosts: &[String], kinds: usize) -> Self {
        let of_kind = |name: &String, kind: usize| match kind {
            0 => tap(logs, &format!("grant-{name}")),
            more => tap(logs, &format!("grant-{name}-{}", more + 1)),
        };
        let of_host = |name: &String| (0..kinds).map(|kind| of_kind(name, kind)).collect();
        let granting = (0u32..).zip(hosts).filter(|(_, name)| logged.has_host(name));
        Self {
            flows: logged.flows.iter().map(|flow| (*flow, tap(logs, &flow.to_string()))).collect(),
            pools: (logged.connections.iter())
                .map(|one| (*one, tap(logs, &format!("pool-{one}"))))
                .collect(),
            grants: granting.map(|(host, name)| (host, of_host(name))).collect(),
        }
    }

    /// Where the law of `flow` writes, if it is logged.
    pub fn flow(&self, flow: u32) -> Option<Tap> {
        self.flows.get(&flow).cloned()
    }

    /// Where the law of the pool of a connection writes, if it is logged.
    pub fn pool(&self, connection: u32) -> Option<Tap> {
        self.pools.get(&connection).cloned()
    }

    /// Where the laws write by which this host grants, if they are logged.
    pub fn grants(&self, host: u32) -> &[Tap] {
        self.grants.get(&host).map_or(&[], Vec::as_slice)
    }
}

/// Where the host law of the host with this name writes, if it is logged.
pub(crate) fn host_tap(logged: &model::LawLog, logs: &dyn LawLogs, name: &str) -> Option<Tap> {
    logged.has_host(name).then(|| tap(logs, &format!("host-{name}")))
}
