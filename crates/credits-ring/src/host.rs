//! All ends of one process, with the credits that they share.
//!
//! A host is sender and receiver at once. It is used by one thread. The application calls [`Host::poll`] until there is nothing more,
//! and then [`Host::wait`]s.

use crate::meet::End;
use crate::queue::{Corrupt, Header, Kind, LINE_BYTES, Reader, Writer};
use forebay_credits::{Account, Limit, Message, Post, ProtocolError, Receiver, Sender};
use forebay_laws::pool::PoolParams;
use forebay_units::{Span, Time};
use rustix::event::{Timespec, epoll};
use std::fmt;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// How often a host looks whether its peers live, while it does not wait.
const ALIVE: Span = Span::from_ms(10);

/// Settings of a host.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Unread data that all peers together may have here; none: credits are off, as if this library were not there.
    pub limit: Option<Limit>,
    /// Law of the connections.
    pub law: PoolParams,
    /// Most connections.
    pub connections: u32,
    /// Most requests posted and waiting, of all connections.
    pub requests: u32,
}

/// Event at a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A peer has said what it shares: requests may be posted. False: it does without credits.
    Ready(usize, bool),
    /// A request that waited may be written now.
    Released {
        /// To whom.
        peer: usize,
        /// Name of the request or message.
        token: u64,
        /// Bytes of it.
        bytes: u64,
    },
    /// A message is there. It stays, unread, until [`Host::consumed`].
    Message {
        /// From whom.
        peer: usize,
        /// Name of the request or message.
        token: u64,
        /// Bytes of it.
        bytes: u64,
    },
    /// A connection ended, and why. Its requests are lost.
    Ended(usize, EndReason),
}

/// Why a connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndReason {
    /// The other process is gone.
    Dead,
    /// The other process wrote a ring that cannot be.
    Corrupt,
    /// The other process sent an absurd credit message.
    Absurd(ProtocolError),
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dead => write!(f, "the peer is gone"),
            Self::Corrupt => write!(f, "the peer wrote a ring that cannot be"),
            Self::Absurd(of) => write!(f, "{of}"),
        }
    }
}

impl std::error::Error for EndReason {}

impl From<Corrupt> for EndReason {
    fn from(_: Corrupt) -> Self {
        Self::Corrupt
    }
}

impl From<ProtocolError> for EndReason {
    fn from(of: ProtocolError) -> Self {
        Self::Absurd(of)
    }
}

struct Peer {
    end: End,
    writer: Writer,
    reader: Reader,
    here: Option<u32>,  // number of its sender; none before its first message
    there: Option<u32>, // number of its receiver; none: credits are off here
    shown: bool,        // the application knows of the message at the front
    owes: bool,         // a credit message that found no room
    corrupt: bool,      // its counts of what it read cannot be
    read: bool,         // something whose credits no counter has returned yet
    hello: Option<Message>,
}

/// Totals of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Messages written.
    pub messages: u64,
    /// Bytes of payload written.
    pub bytes: u64,
    /// Credit messages written; each takes a line.
    pub control: u64,
}

/// All ends of one process.
pub struct Host {
    sender: Sender,
    receiver: Option<Receiver>,
    peers: Vec<Option<Peer>>,
    of_sender: Vec<usize>,   // peer by the sender's number
    of_receiver: Vec<usize>, // peer by the receiver's number
    next: usize,             // peer that is looked at next
    looked: Time,            // whether all are alive
    traffic: Traffic,
    sleep: Option<OwnedFd>, // what wakes this host
}

impl Host {
    /// A host without peers.
    pub fn new(of: &Settings) -> Self {
        let most = of.connections as usize;
        Self {
            sender: Sender::new(&of.law, of.connections, of.requests),
            receiver: of.limit.map(|limit| Receiver::new(limit, of.connections)),
            peers: Vec::with_capacity(most),
            of_sender: vec![0; most],
            of_receiver: vec![0; most],
            next: 0,
            looked: Time::ZERO,
            traffic: Traffic::default(),
            sleep: None,
        }
    }

    /// Adds a peer. None: there are as many as this host may have.
    pub fn add(&mut self, end: End) -> Option<usize> {
        let hole = self.peers.iter().position(Option::is_none);
        if hole.is_none() && self.peers.len() == self.of_sender.len() {
            return None;
        }
        let hello = match &mut self.receiver {
            Some(receiver) => Some(receiver.connect()?),
            None => None,
        };
        let at = hole.unwrap_or(self.peers.len());
        let (there, hello) = hello.unzip();
        let (writer, reader) = (Writer::default(), Reader::default());
        let peer = Peer {
            end,
            writer,
            reader,
            here: None,
            there,
            shown: false,
            owes: false,
            corrupt: false,
            read: false,
            hello,
        };
        if let Some(there) = there {
            self.of_receiver[there as usize] = at;
        }
        self.attend(&peer.end, at);
        match hole {
            Some(hole) => self.peers[hole] = Some(peer),
            None => self.peers.push(Some(peer)),
        }
        self.greet(at);
        Some(at)
    }

    /// From now on this end wakes the host. Without that the host looks again after [`ALIVE`].
    fn attend(&mut self, end: &End, at: usize) {
        let Some(files) = end.descriptors() else { return };
        if self.sleep.is_none() {
            self.sleep = epoll::create(epoll::CreateFlags::CLOEXEC).ok();
        }
        for file in files {
            if let Some(sleep) = &self.sleep {
                let data = epoll::EventData::new_u64(at as u64);
                let _ = epoll::add(sleep, file, data, epoll::EventFlags::IN);
            }
        }
    }

    /// The first record says what is shared here; without credits there is none.
    fn greet(&mut self, at: usize) {
        let Some(peer) = &mut self.peers[at] else { return };
        let Some(hello) = peer.hello.take() else { return };
        self.traffic.control += u64::from(peer.control(&hello.encode()));
    }

    /// The application wants to send `bytes`. `Go`: call [`Host::write`] now; `Wait`: an event releases it;
    /// `Full`: try again later, also while the peer is not yet ready.
    #[inline]
    pub fn post(&mut self, now: Time, peer: usize, bytes: u64, token: u64) -> Post {
        match self.peers.get(peer).and_then(|peer| peer.as_ref()?.here) {
            Some(here) => self.sender.post(now, here, bytes, token),
            None => Post::Full,
        }
    }

    /// Writes a message that was posted or released; `fill` gets its lines. False: the ring has no room. Keep the
    /// message and write it once the peer has read more: its credits stay charged.
    ///
    /// # Errors
    /// If the connection ends by that: the next [`Host::poll`] says so too.
    #[inline]
    pub fn write(
        &mut self,
        now: Time,
        peer: usize,
        token: u64,
        bytes: u64,
        fill: impl FnOnce(&[AtomicU64]),
    ) -> Result<bool, EndReason> {
        let Some(of) = self.peers.get_mut(peer).and_then(Option::as_mut) else {
            return Err(EndReason::Dead);
        };
        let (receiver, there) = (self.receiver.as_mut(), of.there.filter(|_| of.read));
        let mut rides = false;
        let counter = || {
            let counter = receiver?.counter(now, there?);
            rides = counter.is_some();
            counter
        };
        let reach =
            of.here.and_then(|here| self.sender.account(here)).map_or(u64::MAX, Account::limit);
        let written = of.writer.data(of.end.outward(), reach, token, counter, bytes, fill);
        of.corrupt |= written.is_err();
        let written = written?;
        if written {
            of.read &= !rides;
            of.end.notify();
            self.traffic.messages += 1;
            self.traffic.bytes += bytes;
        }
        Ok(written)
    }

    /// The lines of the message that is at the front of a peer's ring.
    #[inline]
    pub fn payload(&mut self, peer: usize) -> &[AtomicU64] {
        let Some(of) = self.peers.get_mut(peer).and_then(Option::as_mut) else { return &[] };
        match of.reader.front(of.end.inward()) {
            Ok(Some(header)) => of.reader.payload(of.end.inward(), &header),
            _ => &[],
        }
    }

    /// The application has read the message that [`Event::Message`] named. Its credits go back.
    #[inline]
    pub fn consumed(&mut self, now: Time, peer: usize) {
        let Some(of) = self.peers.get_mut(peer).and_then(Option::as_mut) else { return };
        if !of.shown {
            return;
        }
        let Ok(Some(header)) = of.reader.front(of.end.inward()) else { return };
        of.reader.pop(of.end.inward(), &header);
        (of.shown, of.read) = (false, true);
        if let (Some(receiver), Some(there)) = (&mut self.receiver, of.there)
            && receiver.completed(now, there, header.bytes)
        {
            of.owes = true;
            self.pay(now, peer);
        } else {
            of.end.notify();
        }
    }

    /// Writes the credit message that a peer is owed.
    fn pay(&mut self, now: Time, at: usize) {
        let Some(of) = self.peers[at].as_mut().filter(|of| of.owes) else { return };
        let (Some(receiver), Some(there)) = (&mut self.receiver, of.there) else { return };
        let message = receiver.credit_message(now, there).encode();
        let written = of.control(&message);
        of.owes = !written;
        self.traffic.control += u64::from(written);
    }

    /// Next event, if there is one. Call `poll` again until there is none.
    pub fn poll(&mut self, now: Time) -> Option<Event> {
        if let Some(of) = self.sender.poll(now) {
            let peer = self.of_sender[of.connection as usize];
            return Some(Event::Released { peer, token: of.token, bytes: of.bytes });
        }
        if let Some(receiver) = &mut self.receiver
            && let Some(there) = receiver.poll(now)
        {
            let at = self.of_receiver[there as usize];
            if let Some(peer) = &mut self.peers[at] {
                peer.owes = true;
            }
            self.pay(now, at);
        }
        while let Some((here, message)) = self.sender.next_message(now) {
            let at = self.of_sender[here as usize];
            if let Some(peer) = &mut self.peers[at] {
                // One that finds no room is lost, and the sender asks again.
                self.traffic.control += u64::from(peer.control(&message.encode()));
            }
        }
        if now.since(self.looked) >= ALIVE {
            self.looked = now;
            if let Some(dead) = self
                .peers
                .iter()
                .position(|of| of.as_ref().is_some_and(|of| of.end.is_dead() && of.is_empty()))
            {
                return Some(self.end(dead, EndReason::Dead));
            }
        }
        for _ in 0..self.peers.len() {
            let at = self.next;
            self.next = if at + 1 < self.peers.len() { at + 1 } else { 0 };
            match self.look(now, at) {
                Ok(None) => {}
                Ok(Some(event)) => return Some(event),
                Err(why) => return Some(self.end(at, why)),
            }
        }
        self.sender.poll(now).map(|of| {
            let peer = self.of_sender[of.connection as usize];
            Event::Released { peer, token: of.token, bytes: of.bytes }
        })
    }

    /// Reads control messages of a peer, up to the next message for the application.
    fn look(&mut self, now: Time, at: usize) -> Result<Option<Event>, EndReason> {
        self.pay(now, at);
        if self.peers[at].as_ref().is_some_and(|of| of.corrupt) {
            return Err(EndReason::Corrupt);
        }
        loop {
            let Some(of) = self.peers[at].as_mut().filter(|of| !of.shown) else { return Ok(None) };
            let Some(header) = of.reader.front(of.end.inward())? else { return Ok(None) };
            let Some(here) = of.here else {
                return self.first(now, at, &header).map(Some);
            };
            let Kind::Control(bytes) = header.kind else {
                if let Some(counter) = header.counter {
                    self.sender.counter(now, here, counter)?;
                }
                of.shown = true;
                return Ok(Some(Event::Message {
                    peer: at,
                    token: header.token,
                    bytes: header.bytes,
                }));
            };
            of.reader.pop(of.end.inward(), &header);
            if self.sender.account(here).is_none() {
                continue; // credits are off here
            }
            let message = Message::decode(&bytes).map_err(ProtocolError::Garbage)?;
            match (&message, &mut self.receiver, of.there) {
                (Message::Ask { .. }, Some(receiver), Some(there)) => {
                    if receiver.message(now, there, &message)? {
                        of.owes = true;
                        self.pay(now, at);
                    }
                }
                _ => self.sender.message(now, here, &message)?,
            }
        }
    }

    /// The first record of a peer says whether it has this library.
    fn first(&mut self, now: Time, at: usize, header: &Header) -> Result<Event, EndReason> {
        let hello = match header.kind {
            Kind::Control(bytes) => Some(Message::decode(&bytes).map_err(ProtocolError::Garbage)?),
            Kind::Data => None,
        };
        let here = self.sender.connect(now, hello.as_ref())?.ok_or(EndReason::Corrupt)?;
        self.of_sender[here as usize] = at;
        let Some(of) = &mut self.peers[at] else { return Err(EndReason::Dead) };
        of.here = Some(here);
        if hello.is_some() {
            of.reader.pop(of.end.inward(), header);
        } else if let (Some(receiver), Some(there)) = (&mut self.receiver, of.there.take()) {
            eprintln!("forebay-credits: the peer does without credits, so they are off");
            receiver.disconnect(there);
        }
        Ok(Event::Ready(at, hello.is_some()))
    }

    /// A peer is known to do without credits, so that requests go before its first message.
    pub fn without_credits(&mut self, now: Time, peer: usize) {
        if let Some(of) = self.peers.get_mut(peer).and_then(Option::as_mut)
            && of.here.is_none()
            && let Ok(Some(here)) = self.sender.connect(now, None)
        {
            of.here = Some(here);
            self.of_sender[here as usize] = peer;
        }
    }

    /// Ends a connection: the peer's share and the credits outstanding are free.
    pub fn remove(&mut self, peer: usize) {
        let Some(of) = self.peers.get_mut(peer).and_then(Option::take) else { return };
        // The other process has the event counter too, so that closing it here does not take it off.
        if let (Some(sleep), Some(files)) = (&self.sleep, of.end.descriptors()) {
            for file in files {
                let _ = epoll::delete(sleep, file);
            }
        }
        if let Some(here) = of.here {
            self.sender.disconnect(here, |_| {});
        }
        if let (Some(receiver), Some(there)) = (&mut self.receiver, of.there) {
            receiver.disconnect(there);
        }
    }

    fn end(&mut self, at: usize, why: EndReason) -> Event {
        self.remove(at);
        Event::Ended(at, why)
    }

    /// Sleeps until something happens at a peer, a timer is due, or `longest` has passed. Ends in one process never sleep.
    pub fn wait(&mut self, now: Time, longest: Span) {
        let Some(sleep) = &self.sleep else { return };
        let due = self.receiver.as_ref().map_or(Time::MAX, Receiver::due).min(self.sender.due());
        let ns = (due.since(now).min(longest).min(ALIVE).as_ps() / 1000) as i64;
        let time = Timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 };
        self.peers.iter().flatten().for_each(|of| of.end.inward().sleep(true));
        if self.peers.iter().flatten().all(Peer::is_empty) {
            let mut events = [const { MaybeUninit::uninit() }; 16];
            // A signal wakes as well.
            if let Ok((woken, _)) = epoll::wait(sleep, &mut events, Some(&time)) {
                for event in woken {
                    if let Some(Some(of)) = self.peers.get(event.data.u64() as usize) {
                        of.end.drain();
                    }
                }
            }
        }
        self.peers.iter().flatten().for_each(|of| of.end.inward().sleep(false));
    }

    /// Credits of the requests that go to a peer.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Credits of the messages that come.
    pub fn receiver(&self) -> Option<&Receiver> {
        self.receiver.as_ref()
    }

    /// Totals since the start.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Bytes of credit messages that were written.
    pub fn control_bytes(&self) -> u64 {
        self.traffic.control * LINE_BYTES
    }
}

impl Peer {
    /// Writes a credit message and wakes the peer. False: there is no room.
    fn control(&mut self, message: &[u8; 24]) -> bool {
        let written = self.writer.control(self.end.outward(), message);
        self.corrupt |= written.is_err();
        self.end.notify();
        written == Ok(true)
    }

    /// True if nothing is there that the application has not been shown.
    fn is_empty(&self) -> bool {
        self.shown || matches!(self.reader.clone().front(self.end.inward()), Ok(None))
    }
}

/// Copies bytes into the lines of a message.
pub fn fill(lines: &[AtomicU64], bytes: &[u8]) {
    for (word, chunk) in lines.iter().zip(bytes.chunks(8)) {
        let mut whole = [0; 8];
        whole[..chunk.len()].copy_from_slice(chunk);
        word.store(u64::from_le_bytes(whole), Relaxed);
    }
}

/// Copies the lines of a message into bytes.
pub fn copy(lines: &[AtomicU64], bytes: &mut [u8]) {
    for (word, chunk) in lines.iter().zip(bytes.chunks_mut(8)) {
        chunk.copy_from_slice(&word.load(Relaxed).to_le_bytes()[..chunk.len()]);
    }
}
