//! Connections of `rpc` entries: who talks to whom, and from when on.

use super::{DPORT, Error, FlowSpec, Maker, Table};
use crate::traffic::{Pairs, Rpc, Traffic, pairs};
use forebay_units::{Bytes, Time};

/// A connection that carries RPCs: two streams of bytes, one each way, open from the start to the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Index of its `[[traffic]]` entry.
    pub traffic: u16,
    /// Number of the connection within the entry. Its random draws depend on seed, entry and this number.
    pub number: u32,
    /// Host that sends requests.
    pub client: u32,
    /// Host that answers them.
    pub server: u32,
    /// When it begins: the start of the entry, with jitter.
    pub start: Time,
    /// No RPC begins from here on; `Time::MAX`: until the end of the run.
    pub until: Time,
    /// Stream of requests, as an index into [`Table::flows`].
    pub requests: u32,
    /// Stream of responses, likewise.
    pub responses: u32,
}

/// Streams of an entry: two of each connection.
pub(super) fn streams(rpc: &Rpc) -> u128 {
    2 * pairs(rpc) * u128::from(rpc.connections)
}

/// Gives each connection its two places in the table of flows.
pub(super) fn add_streams(table: &mut Table) {
    let Table { flows, connections, .. } = table;
    for one in connections {
        let mut stream = |src, dst| {
            let traffic = one.traffic;
            let (size, start, sport) = (Bytes::ZERO, Time::MAX, 0);
            flows.push(FlowSpec { src, dst, size, start, traffic, sport, dport: DPORT });
            flows.len() as u32 - 1
        };
        one.requests = stream(one.client, one.server);
        one.responses = stream(one.server, one.client);
    }
}

impl Maker<'_> {
    /// The connections of an entry, pair by pair.
    pub(super) fn rpc(&mut self, rpc: &Rpc, traffic: &Traffic) -> Result<(), Error> {
        let index = |names: &[String]| -> Result<Vec<u32>, Error> {
            names.iter().map(|name| self.host(name)).collect()
        };
        let (from, to) = (index(&rpc.from)?, index(&rpc.to)?);
        let mut number = 0;
        let mut left_out = 0;
        let mut connect = |maker: &mut Self, client: u32, server: u32| {
            for _ in 0..rpc.connections {
                let start = traffic.start.saturating_add(maker.jitter(client));
                number += 1;
                if start >= maker.end {
                    left_out += 1;
                    continue;
                }
                maker.table.connections.push(Connection {
                    traffic: maker.entry as u16,
                    number: number - 1,
                    client,
                    server,
                    start,
                    until: traffic.until,
                    requests: 0,
                    responses: 0,
                });
            }
        };
        match rpc.pairs {
            Pairs::Matched => {
                let one = |of: &[u32], i: usize| of[if of.len() == 1 { 0 } else { i }];
                for i in 0..from.len().max(to.len()) {
                    connect(self, one(&from, i), one(&to, i));
                }
            }
            Pairs::All => {
                for client in &from {
                    for server in to.iter().filter(|server| *server != client) {
                        connect(self, *client, *server);
                    }
                }
            }
        }
        if left_out > 0 {
            self.warn(format!(
                "{left_out} of {number} connections begin after its end and are left out"
            ));
        }
        Ok(())
    }
}
