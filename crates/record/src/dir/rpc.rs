//! `connections.csv` and `rpcs.csv`, in run directories of scenarios that have such traffic and in no others.

use super::read::{Records, Rows};
use super::table::Table;
use crate::columns;
use crate::error::RecordError;
use crate::rows::{ConnectionRow, RpcRow, RunRecord};
use forebay_units::{Bytes, Span, Time};
use std::path::Path;

/// Names and headers, in the order in which a seed is written.
pub(super) const TABLES: [(&str, &[&str]); 2] =
    [("connections.csv", columns::CONNECTIONS), ("rpcs.csv", columns::RPCS)];

/// The two tables while they grow.
pub(super) struct RpcTables([Table; 2]);

impl RpcTables {
    pub fn create(dir: &Path) -> Result<Self, RecordError> {
        let [connections, rpcs] = TABLES.map(|(name, header)| Table::create(dir, name, header));
        Ok(Self([connections?, rpcs?]))
    }

    /// The tables with their names.
    pub fn into_tables(self) -> impl Iterator<Item = (Table, &'static str)> {
        self.0.into_iter().zip(TABLES.map(|(name, _)| name))
    }

    /// Adds one simulation, on disk when this returns.
    pub fn write(&mut self, run: &RunRecord, warmup: Time) -> Result<(), RecordError> {
        let [connections, rpcs] = &mut self.0;
        let host = |index: u32| run.hosts[index as usize].as_str();
        for (index, row) in (0u64..).zip(&run.connections) {
            connections.row(|cells| {
                cells
                    .number(run.seed)
                    .number(index)
                    .number(row.traffic.into())
                    .text(host(row.client))
                    .text(host(row.server))
                    .number(row.requests.into())
                    .number(row.responses.into())
                    .number(row.start.as_ps())
                    .maybe(row.done.map(|at| at.as_ps()))
                    .number(row.request_bytes.get())
                    .number(row.response_bytes.get())
                    .ratio(row.goodput_gbps(warmup, run.end));
            })?;
        }
        for row in &run.rpcs {
            let connection = &run.connections[row.connection as usize];
            rpcs.row(|cells| {
                cells
                    .number(run.seed)
                    .number(row.connection.into())
                    .number(connection.traffic.into())
                    .text(host(connection.client))
                    .text(host(connection.server))
                    .number(row.request.get())
                    .number(row.response.get())
                    .number(row.issued.as_ps())
                    .maybe((row.completed != Time::MAX).then_some(row.completed.as_ps()))
                    .maybe(row.latency().map(|latency| latency.as_ps()))
                    .number(row.ideal.as_ps())
                    .ratio(row.slowdown());
            })?;
        }
        connections.flush()?;
        rpcs.flush()
    }
}

/// Reads both tables back, if they are there.
pub(super) fn read(dir: &Path, records: &mut Records) -> Result<(), RecordError> {
    let [(connections, header), (rpcs, rpc_header)] = TABLES;
    let Some(connections) = Rows::open_if_any(dir, connections, header)? else { return Ok(()) };
    read_connections(connections, records)?;
    read_rpcs(Rows::open(dir, rpcs, rpc_header)?, records)
}

fn read_connections(mut rows: Rows, records: &mut Records) -> Result<(), RecordError> {
    while rows.next()? {
        let (client, server) = (records.host(&rows, 3)?, records.host(&rows, 4)?);
        let row = ConnectionRow {
            traffic: rows.small(2)?,
            client,
            server,
            requests: rows.small(5)?,
            responses: rows.small(6)?,
            start: Time::from_ps(rows.number(7)?),
            done: rows.maybe(8)?.map(Time::from_ps),
            request_bytes: Bytes::new(rows.number(9)?),
            response_bytes: Bytes::new(rows.number(10)?),
        };
        let index = rows.number(1)?;
        let Some(run) = records.of(rows.number(0)?) else { continue };
        if index != run.connections.len() as u64 {
            return Err(rows.wrong("connections are not numbered from 0 without gaps"));
        }
        run.connections.push(row);
    }
    Ok(())
}

fn read_rpcs(mut rows: Rows, records: &mut Records) -> Result<(), RecordError> {
    while rows.next()? {
        let row = RpcRow {
            connection: rows.small(1)?,
            request: Bytes::new(rows.number(5)?),
            response: Bytes::new(rows.number(6)?),
            issued: Time::from_ps(rows.number(7)?),
            completed: rows.maybe(8)?.map_or(Time::MAX, Time::from_ps),
            ideal: Span::from_ps(rows.number(10)?),
        };
        let Some(run) = records.of(rows.number(0)?) else { continue };
        if row.connection as usize >= run.connections.len() {
            return Err(rows.wrong("the connection is not in connections.csv"));
        }
        if row.completed < row.issued {
            return Err(rows.wrong("completed_ps is before issued_ps"));
        }
        run.rpcs.push(row);
    }
    Ok(())
}
