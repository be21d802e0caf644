//! Connections and RPCs, as the hosts at their ends leave them.

use crate::host::rpc_ends::Call;
use crate::host::{Common, Credits};
use crate::observe::ideals::Ideals;
use crate::world::{AnyNode, World};
use forebay_record::{ConnectionRow, CreditPool, RpcRow};
use forebay_scenario::model::Scenario;
use forebay_units::Bytes;

/// All connections, in the order of the table.
pub(super) fn connections(world: &World, nodes: &[AnyNode]) -> Vec<ConnectionRow> {
    let row = |c: &forebay_scenario::workload::Connection| ConnectionRow {
        traffic: c.traffic,
        client: c.client,
        server: c.server,
        requests: c.requests,
        responses: Some(c.responses),
        start: c.start,
        done: None,
        request_bytes: Bytes::ZERO,
        response_bytes: Bytes::ZERO,
        credits: None,
    };
    let mut rows: Vec<ConnectionRow> = world.common.connections.iter().map(row).collect();
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
fn credits(of: Credits<'_>) -> CreditPool {
    let counts = of.requests.counts();
    CreditPool {
        limit: of.account.limit(),
        most: counts.most_outstanding,
        requests: counts.requests,
        blocked: counts.blocked,
        waited: counts.waited,
    }
}

/// All RPCs that were issued, by connection and in order of issue.
pub(super) fn rpcs(scenario: &Scenario, world: &World, nodes: &[AnyNode]) -> Vec<RpcRow> {
    let hosts = || nodes.iter().filter_map(AnyNode::host).filter_map(|host| host.ends());
    let common = &world.common;
    if common.connections.is_empty() {
        return Vec::new();
    }
    let mut ideals = Ideals::new(scenario, world);
    let mut rows = Vec::with_capacity(hosts().map(|ends| ends.calls.len()).sum());
    for ends in hosts() {
        let clients = ends.iter().filter_map(|end| end.client());
        let under_way = clients.flat_map(|(client, _)| client.under_way());
        // Completed ones first: a connection completes its RPCs in the order in which it issued them.
        rows.extend(
            ends.calls.iter().copied().chain(under_way).map(|call| row(common, &mut ideals, &call)),
        );
    }
    rows.sort_by_key(|row| row.connection);
    rows
}

fn row(common: &Common, ideals: &mut Ideals, call: &Call) -> RpcRow {
    let (request, response) = (Bytes::new(call.request), Bytes::new(call.response));
    let of = &common.connections[call.connection as usize];
    let there = ideals.fct(of.requests, request);
    let back = match response {
        Bytes::ZERO => ideals.ack(of.requests),
        _ => common.rpc(of.traffic).service.least() + ideals.fct(of.responses, response),
    };
    RpcRow {
        connection: call.connection,
        request,
        response,
        issued: call.issued,
        completed: call.completed,
        ideal: there + back,
    }
}
