//! The two ends of a connection that carries RPCs, as applications see it: what to write, and when.
//!
//! A connection is two one-way streams. Nothing but bytes travels on them: both ends draw the sizes of the n-th RPC from
//! streams of the same key, as if each request began with a header that states them, and responses come in the order of
//! requests. Where the transport carries messages, each request and each response is one. So a client learns of a response by its last byte, a server of a request likewise. A one-way RPC is over when
//! its last byte is acknowledged at the client; a run that ends with its flows waits until the server has read it, too.
//!
//! Simplifications: a server works on the requests of one connection one after another; no packet carries both data and an
//! ACK, but an ACK that waits leaves as soon as data goes the other way. Nothing holds back a short segment (`TCP_NODELAY`).

use forebay_scenario::model::{Rpc, Wait};
use forebay_scenario::workload::Connection;
use forebay_units::random::{Purpose, Stream};
use forebay_units::{Span, Time};
use std::collections::VecDeque;

/// An RPC at its client. `completed` is `Time::MAX` while it is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub connection: u32,
    pub request: u64,
    pub response: u64,
    pub issued: Time,
    pub completed: Time,
}

/// What an application does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AppAction {
    /// Writes so many bytes at once.
    Write(u64),
    /// Wants to be called at this time.
    WakeAt(Time),
    /// Nothing, by itself.
    Rest,
}

/// Sizes of one RPC after another, the same at both ends.
#[derive(Clone, Debug)]
struct Sizes(Stream);

impl Sizes {
    fn next(&mut self, rpc: &Rpc) -> (u64, u64) {
        let request = rpc.request.sample(self.0.unit()).get();
        let response = rpc.response.as_ref().map_or(0, |sizes| sizes.sample(self.0.unit()).get());
        (request, response)
    }
}

/// A stream of a connection, whatever else its entry or others make.
fn stream(seed: u64, connection: &Connection, purpose: Purpose) -> Stream {
    let component = (u64::from(connection.traffic) << 32) | u64::from(connection.number);
    Stream::new(seed, component, purpose)
}

fn draw(wait: Wait, from: &mut Stream) -> Span {
    match wait {
        Wait::Fixed(span) => span,
        Wait::Exponential(mean) => Span::from_ps((mean.as_ps() as f64 * from.exponential()) as u64),
    }
}

/// The end that issues requests.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    sizes: Sizes,
    think: Stream,
    under_way: VecDeque<(Call, u64)>, // in order, each with the byte of the answering stream that completes it
    left: u64,                        // RPCs that no connection has taken yet
    thinking: u32,
    issued: u64,  // RPCs, so far
    awaited: u64, // bytes of the answering stream that complete everything issued
    started: bool,
    until: Time,
    connection: u32,
}

impl Client {
    /// Before its start. `connection` is its index.
    pub fn new(seed: u64, connection: u32, of: &Connection, rpc: &Rpc) -> Self {
        Self {
            sizes: Sizes(stream(seed, of, Purpose::RpcSizes)),
            think: stream(seed, of, Purpose::Think),
            under_way: VecDeque::new(),
            left: rpc.count.unwrap_or(u64::MAX),
            thinking: 0,
            issued: 0,
            awaited: 0,
            started: false,
            until: of.until,
            connection,
        }
    }

    /// The start, or the end of a time to think. Adds what to write.
    pub fn wake(&mut self, rpc: &Rpc, now: Time, writes: &mut Vec<u64>) {
        if self.started {
            self.thinking -= 1;
            writes.push(self.issue(rpc, now));
            return;
        }
        self.started = true;
        for _ in 0..u64::from(rpc.outstanding).min(self.left) {
            self.left -= 1;
            writes.push(self.issue(rpc, now));
        }
    }

    fn issue(&mut self, rpc: &Rpc, now: Time) -> u64 {
        let (request, response) = self.sizes.next(rpc);
        self.issued += 1;
        let connection = self.connection;
        let call = Call { connection, request, response, issued: now, completed: Time::MAX };
        self.awaited += if response > 0 { response } else { request };
        self.under_way.push_back((call, self.awaited));
        request
    }

    /// The oldest RPC under way, if the answering stream has come so far that it is over; and what follows it.
    pub fn complete(&mut self, rpc: &Rpc, now: Time, answered: u64) -> Option<(Call, AppAction)> {
        let (call, _) = *self.under_way.front().filter(|(_, end)| *end <= answered)?;
        self.under_way.pop_front();
        Some((Call { completed: now, ..call }, self.follow(rpc, now)))
    }

    /// One RPC in the place of another.
    fn follow(&mut self, rpc: &Rpc, now: Time) -> AppAction {
        let at = now.saturating_add(draw(rpc.think, &mut self.think));
        if self.left == 0 || at >= self.until {
            return AppAction::Rest;
        }
        self.left -= 1;
        if at == now {
            return AppAction::Write(self.issue(rpc, now));
        }
        self.thinking += 1;
        AppAction::WakeAt(at)
    }

    /// RPCs issued so far.
    pub fn issued(&self) -> u64 {
        self.issued
    }

    /// Whether it has completed all it will ever issue.
    pub fn done(&self) -> bool {
        self.started && self.under_way.is_empty() && self.thinking == 0
    }

    /// RPCs that it has issued and that are not over, oldest first.
    pub fn under_way(&self) -> impl Iterator<Item = Call> {
        self.under_way.iter().map(|(call, _)| *call)
    }
}

/// The end that answers them.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    sizes: Sizes,
    service: Stream,
    awaited: (u64, u64), // byte that completes the next request, and its response
    received: VecDeque<u64>, // responses of whole requests, the one being worked on first
    on_core: VecDeque<(u64, u64)>, // requests that a core is to read and work on: last byte, response
}

impl Server {
    /// Before the first request.
    pub fn new(seed: u64, of: &Connection, rpc: &Rpc) -> Self {
        let mut sizes = Sizes(stream(seed, of, Purpose::RpcSizes));
        let awaited = sizes.next(rpc);
        let service = stream(seed, of, Purpose::Service);
        Self { sizes, service, awaited, received: VecDeque::new(), on_core: VecDeque::new() }
    }

    /// Requests that end by byte `upto` wait for a core, which works on them as it reads their last bytes: for how long.
    pub fn hold_core(&mut self, rpc: &Rpc, upto: u64) -> Span {
        let mut time = Span::ZERO;
        while let Some(request) = self.arrived(rpc, upto) {
            self.on_core.push_back(request);
            time += draw(rpc.service, &mut self.service);
        }
        time
    }

    /// The next request, as its last byte and its response, if the whole of it is among the `delivered` bytes.
    fn arrived(&mut self, rpc: &Rpc, delivered: u64) -> Option<(u64, u64)> {
        let arrived = Some(self.awaited).filter(|(end, _)| *end <= delivered)?;
        let (request, next) = self.sizes.next(rpc);
        self.awaited = (arrived.0 + request, next);
        Some(arrived)
    }

    /// Takes the next request, if the whole of it is among the `delivered` bytes, read where a core reads them; and what follows.
    pub fn take(&mut self, rpc: &Rpc, now: Time, delivered: u64) -> Option<AppAction> {
        if let Some(&(end, response)) = self.on_core.front() {
            if end > delivered {
                return None;
            }
            self.on_core.pop_front();
            return Some(if response == 0 { AppAction::Rest } else { AppAction::Write(response) });
        }
        let (_, response) = self.arrived(rpc, delivered)?;
        if response == 0 {
            return Some(AppAction::Rest);
        }
        self.received.push_back(response);
        Some(if self.received.len() == 1 { self.work(rpc, now) } else { AppAction::Rest })
    }

    /// Begins work on the oldest request received.
    fn work(&mut self, rpc: &Rpc, now: Time) -> AppAction {
        match draw(rpc.service, &mut self.service) {
            Span::ZERO => {
                AppAction::Write(self.received.pop_front().expect("there is one to work on"))
            }
            span => AppAction::WakeAt(now.saturating_add(span)),
        }
    }

    /// Work on a request is over. Adds what to write; the answer is when to call again.
    pub fn wake(&mut self, rpc: &Rpc, now: Time, writes: &mut Vec<u64>) -> Option<Time> {
        writes.push(self.received.pop_front().expect("what was worked on is first"));
        while !self.received.is_empty() {
            match self.work(rpc, now) {
                AppAction::Write(more) => writes.push(more),
                AppAction::WakeAt(at) => return Some(at),
                AppAction::Rest => break,
            }
        }
        None
    }
}
