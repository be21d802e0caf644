//! `connections.csv` and `rpcs.csv`, in run folders of scenarios that have such traffic and in no others.

use super::{Cell, RowTable};
use super::{IDEAL_LATENCY_DEFINITION, columns};
use crate::csv::Value::{Maybe, Number, Ratio};
use crate::error::RecordError;
use crate::rows::{ConnectionRow, CreditPool, RpcRow};
use forebay_units::{Bytes, Span, Time};

/// A connection as it is read, with its number.
pub struct Connection {
    index: u64,
    row: ConnectionRow,
}

pub(super) static CONNECTIONS: RowTable<Connection> = RowTable {
    file: "connections.csv",
    always: false,
    seeded: true,
    needed: &["connection", "traffic", "client", "server", "opened_ps"],
    blank: || Connection { index: 0, row: BLANK },
    any: |run| !run.connections.is_empty(),
    each: |run, row| {
        (0..)
            .zip(&run.connections)
            .try_for_each(|(index, one)| row(&Connection { index, row: *one }))
    },
    take: |run, connection| {
        if connection.index != run.connections.len() as u64 {
            return Err("connections are not numbered from 0 without gaps");
        }
        run.connections.push(connection.row);
        Ok(())
    },
    columns: columns! { Connection:
        ["connection" "" "Index of a connection that stays open: the row of connections.csv.",
            = |c, _| Number(c.index) => |c, cell| c.index = cell.number()?]
        ["traffic" "" "", = |c, _| Number(c.row.traffic.into()) => |c, cell| c.row.traffic = cell.small()?]
        ["client" "" "Name of the host that sends requests, or messages of a collective.", = |c, of| of.host(c.row.client) => |c, cell| c.row.client = cell.host()?]
        ["server" "" "Name of the host that answers requests, or gets messages of a collective.", = |c, of| of.host(c.row.server) => |c, cell| c.row.server = cell.host()?]
        ["request_flow" "" "The connection's stream of requests or messages, as an index into the flow table. flows.csv counts its retransmissions.",
            = |c, _| Number(c.row.requests.into()) => |c, cell| c.row.requests = cell.small()?]
        ["response_flow" "" "The connection's stream of responses, as an index into the flow table. Absent from flows.csv if it carried nothing. Empty of a collective.",
            = |c, _| Maybe(c.row.responses.map(u64::from)) => |c, cell| c.row.responses = cell.small_or_none()?]
        ["opened_ps" "ps" "Virtual time at which the connection's first RPCs were issued, or its first message was handed over, in picoseconds.",
            = |c, _| Number(c.row.start.as_ps()) => |c, cell| c.row.start = Time::from_ps(cell.number()?)]
        ["done_ps" "ps" "Virtual time at which the connection's last RPC or collective was complete, in picoseconds; empty if some were missing at the end.",
            = |c, _| Maybe(c.row.done.map(Time::as_ps)) => |c, cell| c.row.done = cell.maybe()?.map(Time::from_ps)]
        ["request_goodput_bytes" "bytes" "Bytes of requests in order at the server since the end of the warm-up. Of a collective: bytes of messages in the whole run.",
            = |c, _| Number(c.row.request_bytes.get()) => |c, cell| c.row.request_bytes = Bytes::new(cell.number()?)]
        ["response_goodput_bytes" "bytes" "Bytes of responses in order at the client since the end of the warm-up.",
            = |c, _| Number(c.row.response_bytes.get()) => |c, cell| c.row.response_bytes = Bytes::new(cell.number()?)]
        ["connection_goodput_gbps" "Gb/s" "Bytes of requests and responses per second, from the later of opened_ps and the end of the warm-up to done_ps or the end of the run, in Gb/s. In summary.json: over connections.",
            = |c, of| Ratio(c.row.goodput_gbps(of.warmup, of.run.end))]
        ["credit_limit" "lines" "Most credits that the connection's requests may hold at the end of the run, each a line of 64 bytes of its server's cache; empty without pool.",
            = |c, _| Maybe(c.row.credits.map(|of| of.limit)) => |c, cell| set(&mut c.row, cell, |of, n| of.limit = n)?]
        ["most_credits" "lines" "Most credits that the requests ever held; empty without pool.",
            = |c, _| Maybe(c.row.credits.map(|of| of.most)) => |c, cell| set(&mut c.row, cell, |of, n| of.most = n)?]
        ["pooled_requests" "" "Requests that the application made in the whole run, with pool.fragment their pieces; empty without pool.",
            = |c, _| Maybe(c.row.credits.map(|of| of.requests)) => |c, cell| set(&mut c.row, cell, |of, n| of.requests = n)?]
        ["blocked_requests" "" "Of pooled_requests, requests that had to wait for credits. In memory_series.csv: requests that wait at that instant, of all connections with a pool to the host.",
            = |c, _| Maybe(c.row.credits.map(|of| of.blocked)) => |c, cell| set(&mut c.row, cell, |of, n| of.blocked = n)?]
        ["blocked_ps" "ps" "Time that blocked_requests waited for credits, all together, in picoseconds, without \
                            requests that wait at the end.",
            = |c, _| Maybe(c.row.credits.map(|of| of.waited.as_ps())) => |c, cell| set(&mut c.row, cell, |of, n| of.waited = Span::from_ps(n))?]
    },
};

/// Sets a number of the connection's credits, where the cell has one.
fn set(
    row: &mut ConnectionRow,
    cell: &Cell<'_>,
    to: impl FnOnce(&mut CreditPool, u64),
) -> Result<(), RecordError> {
    if let Some(number) = cell.maybe()? {
        to(row.credits.get_or_insert_default(), number);
    }
    Ok(())
}

const BLANK: ConnectionRow = ConnectionRow {
    traffic: 0,
    client: 0,
    server: 0,
    requests: 0,
    responses: None,
    start: Time::ZERO,
    done: None,
    request_bytes: Bytes::ZERO,
    response_bytes: Bytes::ZERO,
    credits: None,
};

pub(super) static RPCS: RowTable<RpcRow> = RowTable {
    file: "rpcs.csv",
    always: false,
    seeded: true,
    needed: &[
        "connection",
        "request_bytes",
        "response_bytes",
        "issued_ps",
        "completed_ps",
        "ideal_latency_ps",
    ],
    blank: || RpcRow {
        connection: 0,
        request: Bytes::ZERO,
        response: Bytes::ZERO,
        issued: Time::ZERO,
        completed: Time::MAX,
        ideal: Span::ZERO,
    },
    any: |run| run.connections.iter().any(ConnectionRow::carries_rpcs),
    each: |run, row| run.rpcs.iter().try_for_each(row),
    take: |run, row| {
        match run.connections.get(row.connection as usize) {
            None => return Err("the connection is not in connections.csv"),
            Some(one) if !one.carries_rpcs() => return Err("the connection has no response_flow"),
            Some(_) => {}
        }
        if row.completed < row.issued {
            return Err("completed_ps is before issued_ps");
        }
        run.rpcs.push(row);
        Ok(())
    },
    columns: columns! { RpcRow:
        ["connection" "" "", = |r, _| Number(r.connection.into()) => |r, c| r.connection = c.small()?]
        ["traffic" "" "", = |r, of| Number(of.run.connections[r.connection as usize].traffic.into())]
        ["client" "" "", = |r, of| of.host(of.run.connections[r.connection as usize].client) => |_r, c| c.host()?]
        ["server" "" "", = |r, of| of.host(of.run.connections[r.connection as usize].server) => |_r, c| c.host()?]
        ["request_bytes" "bytes" "Payload of the request in bytes.",
            = |r, _| Number(r.request.get()) => |r, c| r.request = Bytes::new(c.number()?)]
        ["response_bytes" "bytes" "Payload of the response in bytes; 0: one-way.",
            = |r, _| Number(r.response.get()) => |r, c| r.response = Bytes::new(c.number()?)]
        ["issued_ps" "ps" "Virtual time at which the client handed over the request, in picoseconds.",
            = |r, _| Number(r.issued.as_ps()) => |r, c| r.issued = Time::from_ps(c.number()?)]
        ["completed_ps" "ps" "Virtual time at which the client had the whole response in order (one-way: the last acknowledgement), in picoseconds; empty if not by the end.",
            = |r, _| Maybe((r.completed != Time::MAX).then_some(r.completed.as_ps())) => |r, c| r.completed = c.maybe()?.map_or(Time::MAX, Time::from_ps)]
        ["latency_ps" "ps" "completed_ps - issued_ps; empty if not completed.", = |r, _| Maybe(r.latency().map(Span::as_ps))]
        ["ideal_latency_ps" "ps" IDEAL_LATENCY_DEFINITION,
            = |r, _| Number(r.ideal.as_ps()) => |r, c| r.ideal = Span::from_ps(c.number()?)]
        ["latency_over_ideal" "" "latency_ps / ideal_latency_ps, 1 at best; empty if not completed. In CSV rounded to 6 decimals.",
            = |r, _| Ratio(r.slowdown())]
    },
};
