//! The glue between streams and the applications at their ends.

use super::Host;
use super::timers::Due;
use crate::flow_map::FlowMap;
use crate::rpc::{Call, Client, Server, Then};
use forebay_engine::Out;
use forebay_laws::pool_driver::PoolDriver;
use forebay_scenario::model::Rpc;
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{FlowId, Packet};

/// All ends of connections at one host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    ends: Vec<End>,
    of: FlowMap,          // the stream that an end waits for, to its index
    pub calls: Vec<Call>, // what has completed here
    writes: Vec<u64>,     // of the event at hand
}

/// One end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub connection: u32,
    role: Role,
    delivered: u64,
    before: u64, // delivered before the warm-up ended
    done: Option<Time>,
    pool: Option<Box<Pool>>, // of a client
}

/// What holds the requests of a client to credits of its server's cache.
#[derive(Clone, Debug)]
struct Pool {
    driver: PoolDriver,
    armed: Time, // timer that is set for it
}

impl Pool {
    /// The application makes a request of `bytes`: written now, or kept until there are credits.
    fn ask(pool: &mut Option<Box<Self>>, now: Time, bytes: u64, writes: &mut Vec<u64>) {
        if pool.as_mut().is_none_or(|pool| pool.driver.request(now, bytes)) {
            writes.push(bytes);
        }
    }
}

#[derive(Clone, Debug)]
enum Role {
    Client(Client),
    Server(Server),
}

impl End {
    /// Bytes of its incoming stream since the end of the warm-up.
    pub fn measured(&self) -> u64 {
        self.delivered - self.before
    }

    /// What holds its requests to credits of the server's cache, where something does.
    pub fn pool(&self) -> Option<&PoolDriver> {
        self.pool.as_ref().map(|pool| &pool.driver)
    }

    /// Its client and when that had completed all it will ever issue; `None` at the server's end.
    pub fn client(&self) -> Option<(&Client, Option<Time>)> {
        match &self.role {
            Role::Client(client) => Some((client, self.done)),
            Role::Server(_) => None,
        }
    }
}

/// Counts `count` RPCs that were issued. Those without a response are over for the run when their server has read them: their
/// clients, which have ACKs alone, do not know of that.
fn one_way_issued(rpc: &Rpc, count: u64, out: &mut impl Out<Packet>) {
    if rpc.response.is_none() {
        (0..count).for_each(|_| out.begins());
    }
}

impl Ends {
    /// All ends, clients and servers.
    pub fn iter(&self) -> std::slice::Iter<'_, End> {
        self.ends.iter()
    }

    fn add(&mut self, connection: u32, role: Role, waits_for: u32) -> u32 {
        let index = self.ends.len() as u32;
        self.of.set(FlowId(waits_for), index);
        let pool = None;
        self.ends.push(End { connection, role, delivered: 0, before: 0, done: None, pool });
        index
    }
}

impl Host {
    /// Puts the client of a connection here; `pool` holds its requests to credits.
    pub fn add_client(&mut self, connection: u32, pool: Option<PoolDriver>) {
        let of = self.common.connections[connection as usize];
        let rpc = self.common.rpc(of.traffic);
        let role = Role::Client(Client::new(self.common.seed, connection, &of, rpc));
        let waits_for = if rpc.response.is_some() { of.responses } else { of.requests };
        let ends = self.ends_mut();
        let index = ends.add(connection, role, waits_for);
        let pool = pool.map(|driver| Box::new(Pool { driver, armed: Time::MAX }));
        ends.ends[index as usize].pool = pool;
        self.timers.push(of.start, Due::Rpc, index);
        self.arm_pool(index);
        self.settle_next();
    }

    /// Puts the server of a connection here.
    pub fn add_server(&mut self, connection: u32) {
        let of = self.common.connections[connection as usize];
        let role = Role::Server(Server::new(self.common.seed, &of, self.common.rpc(of.traffic)));
        self.ends_mut().add(connection, role, of.requests);
    }

    /// The ends here, from now on.
    fn ends_mut(&mut self) -> &mut Ends {
        self.nic.extended = true;
        self.rpc.get_or_insert_default()
    }

    /// The ends here, if there are any.
    pub fn ends(&self) -> Option<&Ends> {
        self.rpc.as_deref()
    }

    /// Time for which a core works on the requests of `flow` that end by byte `upto`, once it has read them.
    pub(super) fn hold_core(&mut self, flow: FlowId, upto: u64) -> Span {
        let Some(ends) = &mut self.rpc else { return Span::ZERO };
        let Some(index) = ends.of.get(flow) else { return Span::ZERO };
        let end = &mut ends.ends[index as usize];
        let of = self.common.connections[end.connection as usize];
        match &mut end.role {
            Role::Server(server) => server.hold_core(self.common.rpc(of.traffic), upto),
            Role::Client(_) => Span::ZERO,
        }
    }

    /// A stream has `delivered` bytes here in order.
    pub(super) fn stream_delivered(
        &mut self,
        now: Time,
        flow: FlowId,
        delivered: u64,
        out: &mut impl Out<Packet>,
    ) {
        let Some(ends) = &mut self.rpc else { return };
        let Some(index) = ends.of.get(flow) else { return };
        let end = &mut ends.ends[index as usize];
        end.delivered = delivered;
        if now < self.common.warmup {
            end.before = delivered;
        }
        self.stream_came(now, index, delivered, out);
    }

    /// A stream has `acked` bytes acknowledged here, where it begins. Only one-way RPCs wait for that.
    pub(super) fn stream_acked(
        &mut self,
        now: Time,
        flow: FlowId,
        acked: u64,
        out: &mut impl Out<Packet>,
    ) {
        if let Some(index) = self.rpc.as_ref().and_then(|ends| ends.of.get(flow)) {
            self.stream_came(now, index, acked, out);
        }
    }

    /// What an end waits for has come as far as byte `upto`.
    fn stream_came(&mut self, now: Time, index: u32, upto: u64, out: &mut impl Out<Packet>) {
        let Some(ends) = &mut self.rpc else { return };
        let end = &mut ends.ends[index as usize];
        let of = self.common.connections[end.connection as usize];
        let rpc = self.common.rpc(of.traffic);
        let (writes, pool) = (&mut ends.writes, &mut end.pool);
        let onto = match &mut end.role {
            Role::Client(client) => {
                let before = client.issued();
                while let Some((call, then)) = client.complete(rpc, now, upto) {
                    ends.calls.push(call);
                    if let Some(pool) = pool {
                        pool.driver.complete(now, |bytes| writes.push(bytes));
                    }
                    match then {
                        Then::Write(bytes) => Pool::ask(pool, now, bytes, writes),
                        Then::WakeAt(at) => self.timers.push(at, Due::Rpc, index),
                        Then::Rest => {}
                    }
                }
                one_way_issued(rpc, client.issued() - before, out);
                if client.done() && end.done.is_none() {
                    end.done = Some(now);
                    out.done();
                }
                of.requests
            }
            Role::Server(server) => {
                while let Some(then) = server.take(rpc, now, upto) {
                    if rpc.response.is_none() {
                        out.ends();
                    }
                    match then {
                        Then::Write(bytes) => writes.push(bytes),
                        Then::WakeAt(at) => self.timers.push(at, Due::Rpc, index),
                        Then::Rest => {}
                    }
                }
                of.responses
            }
        };
        self.arm_pool(index);
        self.write(now, onto);
    }

    /// The law of a pool wanted to be called now.
    pub(super) fn pool_due(&mut self, now: Time, index: u32) {
        let Some(ends) = &mut self.rpc else { return };
        let end = &mut ends.ends[index as usize];
        let Some(pool) = &mut end.pool else { return };
        pool.armed = Time::MAX;
        pool.driver.wake(now, |bytes| ends.writes.push(bytes));
        let onto = self.common.connections[end.connection as usize].requests;
        self.arm_pool(index);
        self.write(now, onto);
    }

    /// Sets the timer of an end's pool, if it has one whose client makes more requests.
    fn arm_pool(&mut self, index: u32) {
        let Some(ends) = &mut self.rpc else { return };
        let end = &mut ends.ends[index as usize];
        let Some(pool) = end.pool.as_mut().filter(|_| end.done.is_none()) else { return };
        let due = pool.driver.due();
        if due < pool.armed {
            pool.armed = due;
            self.timers.push(due, Due::Pool, index);
        }
    }

    /// An end wanted to be called now.
    pub(super) fn rpc_due(&mut self, now: Time, index: u32, out: &mut impl Out<Packet>) {
        let Some(ends) = &mut self.rpc else { return };
        let end = &mut ends.ends[index as usize];
        let of = self.common.connections[end.connection as usize];
        let rpc = self.common.rpc(of.traffic);
        let onto = match &mut end.role {
            Role::Client(client) => {
                let before = client.issued();
                client.wake(rpc, now, &mut ends.writes);
                if let Some(pool) = &mut end.pool {
                    ends.writes.retain(|bytes| pool.driver.request(now, *bytes));
                }
                one_way_issued(rpc, client.issued() - before, out);
                of.requests
            }
            Role::Server(server) => {
                let next = server.wake(rpc, now, &mut ends.writes);
                next.into_iter().for_each(|at| self.timers.push(at, Due::Rpc, index));
                of.responses
            }
        };
        self.write(now, onto);
    }

    /// Writes what the event at hand brought onto a stream that begins here; it may be the stream's first.
    fn write(&mut self, now: Time, stream: u32) {
        if self.rpc.as_ref().is_none_or(|ends| ends.writes.is_empty()) {
            return;
        }
        self.flush_ack(now, stream);
        if self.send.of.get(FlowId(stream)).is_none() {
            self.start(now, stream);
        }
        let slot = self.send.of.get(FlowId(stream)).expect("a stream stays open");
        let Some(ends) = &mut self.rpc else { return };
        let sender = &mut self.send.slots[slot as usize].sender;
        for bytes in ends.writes.drain(..) {
            sender.app_write(now, Bytes::new(bytes), false);
        }
        self.wake_sender(now, slot);
    }

    /// An ACK that waits travels with data the other way in TCP; here it leaves just before.
    fn flush_ack(&mut self, now: Time, stream: u32) {
        let other = self.common.opposite(stream);
        let Some(slot) = self.receive.of.get(FlowId(other)) else { return };
        let receiving = &mut self.receive.slots[slot as usize];
        let due = receiving.receiver.ack_due();
        if due == Time::MAX {
            return;
        }
        receiving.receiver.on_deadline(due, &mut self.nic.at(now));
    }
}
