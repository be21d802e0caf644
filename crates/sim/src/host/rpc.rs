//! The glue between streams and the applications at their ends.

use super::Host;
use super::flow_map::FlowMap;
use super::rpc_ends::{AppAction, Call, Client, Server};
use super::timers::Due;
use forebay_credits::{ACTIVE, Account, Post, Requests, Returns, Timing};
use forebay_engine::Emitter;
use forebay_scenario::model::Rpc;
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{FlowId, Kind, Packet};
use std::collections::BTreeSet;

/// All ends of connections at one host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    ends: Vec<End>,
    of: FlowMap,                   // the stream that an end waits for, to its index
    credited: FlowMap, // the stream of requests whose credits come in messages, to the index of its client
    pub calls: Vec<Call>, // what has completed here
    writes: Vec<u64>,  // of the event at hand
    active: BTreeSet<(Time, u32)>, // servers' ends of which something was read lately, where only those share the cache: when, and index
}

/// One end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub connection: u32,
    role: Role,
    delivered: u64,
    before: u64, // delivered before the warm-up ended
    done: Option<Time>,
    pool: Option<Box<Pool>>,               // of a client
    returns: Option<Box<ReturnedCredits>>, // of a server
}

#[derive(Clone, Debug)]
enum Role {
    Client(Client),
    Server(Server),
}

/// What holds the requests of a client to credits of its server's cache.
#[derive(Clone, Debug)]
struct Pool {
    account: Account,
    requests: Requests,
    armed: Time,    // timer that is set for it
    explicit: bool, // credits come back in messages of their own
    piece: u64,     // most bytes that are charged at once
}

impl Pool {
    /// The application makes a request of `bytes`: written now, or kept until there are credits.
    fn request(pool: &mut Option<Box<Self>>, now: Time, bytes: u64, writes: &mut Vec<u64>) {
        let Some(pool) = pool else { return writes.push(bytes) };
        let mut left = bytes;
        while left > 0 {
            let piece = left.min(pool.piece);
            if pool.account.request(&mut pool.requests, now, piece, 0) == Post::Go {
                writes.push(piece);
            }
            left -= piece;
        }
    }

    /// The response to the oldest request came.
    fn complete(&mut self, now: Time, writes: &mut Vec<u64>) {
        let done = self.account.complete(&mut self.requests, now, |of| writes.push(of.bytes));
        assert!(done.is_some(), "what comes back was posted");
    }
}

/// Credits that a server returns in messages of its own: the bytes of requests that it has read.
#[derive(Clone, Debug)]
struct ReturnedCredits {
    shares: Shares,
    seen: Option<Time>, // when something was last read, where only active connections share the cache
    of: Returns,        // unit: bytes
    armed: Time,
}

impl ReturnedCredits {
    /// The application has read the first `read` bytes. Whether a message leaves now.
    fn read(&mut self, now: Time, read: u64, active: u32) -> bool {
        self.of.read(&TIMING, now, read, self.shares.batch(active))
    }
}

/// A server's cache, of which connections have shares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shares {
    /// Bytes of the cache.
    pub cache: u64,
    /// Connections that share it, idle or not; of [`Shares::active_only`] those that share it whether they are or not.
    pub connections: u32,
    /// Whether of the others only those share it that are active.
    pub active_only: bool,
}

impl Shares {
    /// Bytes whose credits return together where so many active connections share the cache too: an eighth of a share.
    fn batch(&self, active: u32) -> u64 {
        self.cache / (8 * u64::from(self.connections + active).max(1))
    }
}

/// When a server's messages leave.
const TIMING: Timing = Timing {
    // Assumption: 10 us (sheet).
    keep: Span::from_us(10),
    // Assumption: 200 us, more than most round trips.
    repeat: Span::from_us(200),
    // Assumption: 8; where a tenth of all is lost, the message and all of these are once in a billion times.
    repeats: 8,
};

/// Credits of a client, with the requests that they are of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credits<'a> {
    pub account: &'a Account,
    pub requests: &'a Requests,
}

impl Credits<'_> {
    /// When the request was made that has waited longest, if any waits.
    pub fn blocked_since(self) -> Option<Time> {
        self.account.blocked_since(self.requests)
    }
}

impl End {
    /// Bytes of its incoming stream since the end of the warm-up.
    pub fn measured(&self) -> u64 {
        self.delivered - self.before
    }

    /// What holds its requests to credits of the server's cache, where something does.
    pub fn pool(&self) -> Option<Credits<'_>> {
        self.pool.as_ref().map(|pool| Credits { account: &pool.account, requests: &pool.requests })
    }

    /// The client, and when it had completed all it will ever issue; `None` at the server's end.
    pub fn client(&self) -> Option<(&Client, Option<Time>)> {
        match &self.role {
            Role::Client(client) => Some((client, self.done)),
            Role::Server(_) => None,
        }
    }
}

/// Counts `count` RPCs that were issued. Those without a response are over for the run when their server has read them: their
/// clients, which have ACKs alone, do not know of that.
fn one_way_issued(rpc: &Rpc, count: u64, out: &mut impl Emitter<Packet>) {
    if rpc.response.is_none() {
        (0..count).for_each(|_| out.begins());
    }
}

impl Ends {
    /// Whether an end waits for bytes of this stream.
    pub fn waits_for(&self, stream: FlowId) -> bool {
        self.of.get(stream).is_some()
    }

    /// All ends, clients and servers.
    pub fn iter(&self) -> std::slice::Iter<'_, End> {
        self.ends.iter()
    }

    /// Something was read of the server's end with this index, of a connection that shares the cache while it is active. Returns how many are.
    fn note_active(&mut self, now: Time, index: u32) -> u32 {
        let Some(returns) = &mut self.ends[index as usize].returns else { return 0 };
        if !returns.shares.active_only {
            return 0;
        }
        if let Some(before) = returns.seen.replace(now) {
            self.active.remove(&(before, index));
        }
        self.active.insert((now, index));
        self.active(now)
    }

    /// How many connections have been active of those that share a cache only then.
    fn active(&mut self, now: Time) -> u32 {
        while let Some(&(seen, index)) = self.active.first()
            && now.since(seen) >= ACTIVE
        {
            self.active.remove(&(seen, index));
        }
        self.active.len() as u32
    }

    fn add(&mut self, connection: u32, role: Role, waits_for: u32) -> u32 {
        let index = self.ends.len() as u32;
        self.of.set(FlowId(waits_for), index);
        let (done, pool, returns) = (None, None, None);
        self.ends.push(End { connection, role, delivered: 0, before: 0, done, pool, returns });
        index
    }
}

impl Host {
    /// Puts the client of a connection here; `pool` holds its requests to credits.
    pub fn add_client(&mut self, connection: u32, pool: Option<Account>) {
        let of = self.common.connections[connection as usize];
        let common = self.common.clone();
        let rpc = common.rpc(of.traffic);
        let role = Role::Client(Client::new(self.common.seed, connection, &of, rpc));
        let waits_for = if rpc.response.is_some() { of.responses } else { of.requests };
        let ends = self.ends_mut();
        let index = ends.add(connection, role, waits_for);
        if let Some(account) = pool {
            let fragment = rpc.acting_pool().and_then(|pool| pool.fragment);
            let explicit = rpc.returns_credits_in_messages();
            let piece = fragment.map_or(u64::MAX, Bytes::get);
            let requests = Requests::growing();
            let pool = Pool { account, requests, armed: Time::MAX, explicit, piece };
            if explicit {
                ends.credited.set(FlowId(of.requests), index);
            }
            ends.ends[index as usize].pool = Some(Box::new(pool));
        }
        self.timers.push(of.start, Due::Rpc, index);
        self.arm_pool(index);
        self.settle_next();
    }

    /// Puts the server of a connection here, which returns credits of these shares, if it does so in messages.
    pub fn add_server(&mut self, connection: u32, shares: Option<Shares>) {
        let of = self.common.connections[connection as usize];
        let role = Role::Server(Server::new(self.common.seed, &of, self.common.rpc(of.traffic)));
        let ends = self.ends_mut();
        let index = ends.add(connection, role, of.requests);
        let (of, armed, seen) = (Returns::default(), Time::MAX, None);
        let returns = |shares| Box::new(ReturnedCredits { shares, seen, of, armed });
        ends.ends[index as usize].returns = shares.map(returns);
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

    /// A stream has `delivered` bytes here in order. False if no end waits for them.
    pub(super) fn stream_delivered(
        &mut self,
        now: Time,
        flow: FlowId,
        delivered: u64,
        out: &mut impl Emitter<Packet>,
    ) -> bool {
        let Some(ends) = &mut self.rpc else { return false };
        let Some(index) = ends.of.get(flow) else { return false };
        let end = &mut ends.ends[index as usize];
        end.delivered = delivered;
        if now < self.common.warmup {
            end.before = delivered;
        }
        self.stream_came(now, index, delivered, out);
        true
    }

    /// A stream has `acked` bytes acknowledged here, where it begins. Only one-way RPCs wait for that. False if no end does.
    pub(super) fn stream_acked(
        &mut self,
        now: Time,
        flow: FlowId,
        acked: u64,
        out: &mut impl Emitter<Packet>,
    ) -> bool {
        let index = self.rpc.as_ref().and_then(|ends| ends.of.get(flow));
        index.inspect(|index| self.stream_came(now, *index, acked, out)).is_some()
    }

    /// What an end waits for has come as far as byte `upto`.
    fn stream_came(&mut self, now: Time, index: u32, upto: u64, out: &mut impl Emitter<Packet>) {
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
                    if let Some(pool) = pool.as_mut().filter(|pool| !pool.explicit) {
                        pool.complete(now, writes);
                    }
                    match then {
                        AppAction::Write(bytes) => Pool::request(pool, now, bytes, writes),
                        AppAction::WakeAt(at) => self.timers.push(at, Due::Rpc, index),
                        AppAction::Rest => {}
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
                        AppAction::Write(bytes) => writes.push(bytes),
                        AppAction::WakeAt(at) => self.timers.push(at, Due::Rpc, index),
                        AppAction::Rest => {}
                    }
                }
                let active = ends.note_active(now, index);
                let returns = ends.ends[index as usize].returns.as_mut();
                if returns.is_some_and(|of| of.read(now, upto, active)) {
                    self.return_credits(now, index);
                }
                of.responses
            }
        };
        self.arm_pool(index);
        self.write(now, onto);
    }

    /// The server of an end notifies its client how much it has read, and how many connections share the cache if that varies.
    fn return_credits(&mut self, now: Time, index: u32) {
        let Some(ends) = &mut self.rpc else { return };
        let active = ends.active(now);
        let end = &mut ends.ends[index as usize];
        let Some(returns) = &mut end.returns else { return };
        let of = &self.common.connections[end.connection as usize];
        let cfg = &self.common.profiles[usize::from(of.traffic)].transport;
        let requests = Packet { flow: FlowId(of.requests), ..Packet::default() };
        let ack = cfg.ack_again(&requests, self.common.addrs[of.client as usize], Bytes::ZERO);
        let Shares { connections, active_only, .. } = returns.shares;
        let stamp = if active_only { (connections + active).max(1) } else { 0 };
        let message =
            Packet { kind: Kind::Grant, seq: returns.of.announce(&TIMING, now), stamp, ..ack };
        self.nic.enqueue(now, &message);
    }

    /// A message of a server that returns credits, or of something else.
    pub(super) fn credits_came(&mut self, now: Time, packet: &Packet) -> bool {
        let Some(ends) = &mut self.rpc else { return false };
        let Some(index) = ends.credited.get(packet.flow) else { return false };
        let end = &mut ends.ends[index as usize];
        if let Some(pool) = &mut end.pool {
            let Pool { account, requests, .. } = &mut **pool;
            let writes = &mut ends.writes;
            account.consumed(requests, now, packet.seq, |of| writes.push(of.bytes));
            if packet.stamp > 0 {
                account.announced(requests, now, packet.stamp, |of| writes.push(of.bytes));
            }
        }
        self.arm_pool(index);
        self.write(now, packet.flow.0);
        true
    }

    /// The law of a client's pool wanted to be called now, or a server that returns credits.
    pub(super) fn pool_due(&mut self, now: Time, index: u32) {
        let Some(ends) = &mut self.rpc else { return };
        let end = &mut ends.ends[index as usize];
        // A timer that an earlier one has replaced does nothing, and above all sets none: each would go on for ever.
        if let Some(returns) = &mut end.returns {
            if returns.armed != now {
                return;
            }
            returns.armed = Time::MAX;
            if returns.of.due() <= now {
                self.return_credits(now, index);
            }
            return self.arm_pool(index);
        }
        let Some(pool) = end.pool.as_mut().filter(|pool| pool.armed == now) else { return };
        pool.armed = Time::MAX;
        let writes = &mut ends.writes;
        pool.account.wake(&mut pool.requests, now, |of| writes.push(of.bytes));
        let onto = self.common.connections[end.connection as usize].requests;
        self.arm_pool(index);
        self.write(now, onto);
    }

    /// Sets the timer of an end's pool, if it has one whose client makes more requests, or of its returns.
    fn arm_pool(&mut self, index: u32) {
        let Some(ends) = &mut self.rpc else { return };
        let end = &mut ends.ends[index as usize];
        let (due, armed) = match (&mut end.pool, &mut end.returns) {
            (Some(pool), _) if end.done.is_none() => (pool.account.due(), &mut pool.armed),
            (_, Some(returns)) => (returns.of.due(), &mut returns.armed),
            _ => return,
        };
        if due < *armed {
            *armed = due;
            self.timers.push(due, Due::Pool, index);
        }
    }

    /// An end wanted to be called now.
    pub(super) fn rpc_due(&mut self, now: Time, index: u32, out: &mut impl Emitter<Packet>) {
        let Some(ends) = &mut self.rpc else { return };
        let end = &mut ends.ends[index as usize];
        let of = self.common.connections[end.connection as usize];
        let rpc = self.common.rpc(of.traffic);
        let onto = match &mut end.role {
            Role::Client(client) => {
                let before = client.issued();
                client.wake(rpc, now, &mut ends.writes);
                if end.pool.is_some() {
                    for bytes in std::mem::take(&mut ends.writes) {
                        Pool::request(&mut end.pool, now, bytes, &mut ends.writes);
                    }
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
        self.arm_pool(index);
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
