//! Connections and RPCs, as the hosts at their ends leave them.

use crate::build::Built;
use crate::ideal::{self, Hop};
use crate::node::AnyNode;
use crate::rpc::Call;
use forebay_laws::pool_driver::PoolDriver;
use forebay_net::{Paths, Routes};
use forebay_record::{ConnectionRow, CreditPool, RpcRow};
use forebay_scenario::model::Scenario;
use forebay_units::{Bytes, Span};
use std::collections::BTreeMap;

/// All connections, in the order of the table.
pub(super) fn connections(built: &Built, nodes: &[AnyNode]) -> Vec<ConnectionRow> {
    let row = |c: &forebay_scenario::workload::Connection| ConnectionRow {
        traffic: c.traffic,
        client: c.client,
        server: c.server,
        requests: c.requests,
        responses: c.responses,
        start: c.start,
        done: None,
        request_bytes: Bytes::ZERO,
        response_bytes: Bytes::ZERO,
        credits: None,
    };
    let mut rows: Vec<ConnectionRow> = built.common.connections.iter().map(row).collect();
    let ends = nodes.iter().filter_map(AnyNode::host).filter_map(|host| host.ends());
    for end in ends.flat_map(|ends| ends.iter()) {
        let row = &mut rows[end.connection as usize];
        match end.client() {
            Some((_, done)) => {
                row.done = done;
                row.response_bytes = Bytes::new(end.measured());
                row.credits = end.pool().map(credits);
            }
            None => row.request_bytes = Bytes::new(end.measured()),
        }
    }
    rows
}

/// What held the requests of a client back.
fn credits(of: &PoolDriver) -> CreditPool {
    let counts = of.counts();
    CreditPool {
        limit: of.limit(),
        most: counts.most_outstanding,
        requests: counts.requests,
        blocked: counts.blocked,
        waited: counts.waited,
    }
}

/// All RPCs that were issued, by connection and in order of issue.
pub(super) fn rpcs(scenario: &Scenario, built: &Built, nodes: &[AnyNode]) -> Vec<RpcRow> {
    let hosts = || nodes.iter().filter_map(AnyNode::host).filter_map(|host| host.ends());
    let mut ideals = Ideals::new(scenario, built);
    let mut rows = Vec::with_capacity(hosts().map(|ends| ends.calls.len()).sum());
    for ends in hosts() {
        let clients = ends.iter().filter_map(|end| end.client());
        let under_way = clients.flat_map(|(client, _)| client.under_way());
        // Completed ones first: a connection completes its RPCs in the order in which it issued them.
        rows.extend(ends.calls.iter().copied().chain(under_way).map(|call| ideals.row(&call)));
    }
    rows.sort_by_key(|row| row.connection);
    rows
}

/// Ideal latencies, which need paths.
struct Ideals<'a> {
    built: &'a Built,
    overhead: u64,
    routes: Vec<Routes>,
    paths: BTreeMap<(u32, u32), Vec<Hop>>,
}

impl<'a> Ideals<'a> {
    fn new(scenario: &Scenario, built: &'a Built) -> Self {
        let routes = if built.common.connections.is_empty() {
            Vec::new()
        } else {
            Routes::all(&built.fabric, Paths::Hash, 0, &|_| true)
        };
        let overhead = scenario.fabric.wire_overhead.get();
        Self { built, overhead, routes, paths: BTreeMap::new() }
    }

    fn row(&mut self, call: &Call) -> RpcRow {
        RpcRow {
            connection: call.connection,
            request: Bytes::new(call.request),
            response: Bytes::new(call.response),
            issued: call.issued,
            completed: call.completed,
            ideal: self.latency(call),
        }
    }

    fn latency(&mut self, call: &Call) -> Span {
        let common = &self.built.common;
        let of = &common.connections[call.connection as usize];
        let cfg = &common.profiles[usize::from(of.traffic)].transport;
        let overhead = self.overhead;
        let request =
            ideal::fct(Bytes::new(call.request), cfg, overhead, self.path(of.client, of.server));
        let back = self.path(of.server, of.client);
        request
            + match call.response {
                0 => ideal::ack(cfg, overhead, back),
                bytes => {
                    let service = common.rpc(of.traffic).service.least();
                    service + ideal::fct(Bytes::new(bytes), cfg, overhead, back)
                }
            }
    }

    fn path(&mut self, from: u32, to: u32) -> &[Hop] {
        let Self { built, routes, paths, .. } = self;
        let find = || ideal::path(&built.fabric, routes, from, to).unwrap_or_default();
        paths.entry((from, to)).or_insert_with(find)
    }
}
