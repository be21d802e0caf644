//! One connection: requests and credits of both directions.

use crate::sys::{Completion, Device, Memory, Pair, Queue, Remote, VerbsUnavailable};
use forebay_credits::{Limit, MESSAGE_BYTES, Message, Post, ProtocolError, Receiver, Sender};
use forebay_laws::pool::PoolParams;
use forebay_units::Time;
use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Receives that wait for credit messages, and sends of them.
const CREDITS: u32 = 64;

/// Words that a credit message takes.
const CREDIT_WORDS: usize = 8;

/// Settings of a link.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Unread data that the peer may have here; none: credits are off.
    pub limit: Option<Limit>,
    /// Law of the connection.
    pub law: PoolParams,
    /// Bytes of the largest message.
    pub message: u32,
    /// Messages that may be under way to this end: the receive queue.
    pub receives: u32,
    /// Messages that may be under way from this end.
    pub sends: u32,
    /// Most requests posted and waiting.
    pub requests: u32,
}

/// Address that one end tells the other before the connection: the caller carries it, over TCP for instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    requests: Remote,
    credits: u32,
    hello: Option<Message>,
}

/// Bytes of an address.
pub const ADDRESS_BYTES: usize = 64;

/// First bytes of an address.
const GREETING: &[u8; 8] = b"fbverb01";

impl Address {
    /// The bytes of it.
    pub fn encode(&self) -> [u8; ADDRESS_BYTES] {
        let mut bytes = [0; ADDRESS_BYTES];
        bytes[..8].copy_from_slice(GREETING);
        let Remote { pair, psn, lid, gid } = self.requests;
        for (at, word) in [pair, psn, self.credits].into_iter().enumerate() {
            bytes[8 + 4 * at..][..4].copy_from_slice(&word.to_be_bytes());
        }
        bytes[20..22].copy_from_slice(&lid.to_be_bytes());
        bytes[22..38].copy_from_slice(&gid);
        if let Some(hello) = self.hello {
            bytes[40..].copy_from_slice(&hello.encode());
        }
        bytes
    }

    /// The address that these bytes are. Without a first credit message the peer does without credits.
    ///
    /// # Errors
    /// If they are none.
    pub fn decode(bytes: &[u8; ADDRESS_BYTES]) -> Result<Self, ProtocolError> {
        if bytes[..8] != *GREETING {
            return Err(ProtocolError::Unexpected);
        }
        let word = |at: usize| {
            u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let mut gid = [0; 16];
        gid.copy_from_slice(&bytes[22..38]);
        let lid = u16::from_be_bytes([bytes[20], bytes[21]]);
        let hello = &bytes[ADDRESS_BYTES - MESSAGE_BYTES..];
        let hello =
            if hello.iter().all(|byte| *byte == 0) { None } else { Some(Message::decode(hello)?) };
        Ok(Self {
            requests: Remote { pair: word(8), psn: word(12), lid, gid },
            credits: word(16),
            hello,
        })
    }
}

/// Event at a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A request that waited may be sent now.
    Released {
        /// Name of the request.
        token: u64,
        /// Bytes of it.
        bytes: u64,
    },
    /// A message is there, in this slot. It stays, unread, until [`Link::consumed`].
    Message {
        /// Slot of the message.
        slot: u32,
        /// Bytes of it.
        bytes: u32,
    },
    /// The connection ended, and why. Its requests are lost.
    Ended(EndReason),
}

/// Why a connection ended.
#[derive(Clone, PartialEq, Eq, Copy, Debug)]
pub enum EndReason {
    /// A request failed: the status of its completion.
    Requests(u32),
    /// The queue pair of credit messages failed: the status of its completion.
    Credits(u32),
    /// The peer sent an absurd credit message.
    Absurd(ProtocolError),
    /// The library refused.
    Refused(&'static str),
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requests(of) => write!(f, "the connection failed: completion status {of}"),
            Self::Credits(of) => {
                write!(f, "the connection of credit messages failed: completion status {of}")
            }
            Self::Absurd(of) => write!(f, "{of}"),
            Self::Refused(of) => write!(f, "{of} failed"),
        }
    }
}

impl std::error::Error for EndReason {}

impl From<ProtocolError> for EndReason {
    fn from(of: ProtocolError) -> Self {
        Self::Absurd(of)
    }
}

impl From<VerbsUnavailable> for EndReason {
    fn from(of: VerbsUnavailable) -> Self {
        match of {
            VerbsUnavailable::Refused(what, _) => Self::Refused(what),
            _ => Self::Refused("libibverbs"),
        }
    }
}

// What a completion is of, in the high bits of its name.
const SENT: u64 = 0;
const CAME: u64 = 1;
const CREDIT_SENT: u64 = 2;
const CREDIT_CAME: u64 = 3;
const KIND: u32 = 32;

/// Totals of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Requests sent.
    pub messages: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Credit messages sent.
    pub control: u64,
}

/// A reliable connection with credits. It is used by one thread.
pub struct Link {
    // Pairs go before the memory that they use.
    requests: Pair,
    credits: Pair,
    queue: Rc<Queue>,
    memory: Rc<Memory>,
    device: Rc<Device>,
    sender: Sender,
    receiver: Option<Receiver>,
    here: Option<u32>,
    there: Option<u32>,
    hello: Option<Message>,
    words: usize, // of a message
    settings: Settings,
    free: VecDeque<u32>, // slots to send from
    control_free: u32,   // credit messages that may be sent
    owes: bool,
    ended: Option<EndReason>,
    /// Totals since the start.
    pub traffic: Traffic,
}

impl Link {
    /// A link that is not connected.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn new(device: &Rc<Device>, of: &Settings) -> Result<Self, VerbsUnavailable> {
        let words = (of.message as usize).div_ceil(64) * 8;
        let slots = (of.receives + of.sends) as usize;
        let memory = Rc::new(Memory::new(device, slots * words + CREDITS as usize * CREDIT_WORDS)?);
        let queue = Queue::new(device, of.receives + of.sends + 2 * CREDITS)?;
        let requests = Pair::new(&queue, &memory, of.sends, of.receives)?;
        let credits = Pair::new(&queue, &memory, CREDITS, CREDITS)?;
        let mut receiver = of.limit.map(|limit| Receiver::new(limit, 1));
        let (there, hello) = receiver.as_mut().and_then(Receiver::connect).unzip();
        Ok(Self {
            requests,
            credits,
            queue,
            memory,
            device: device.clone(),
            sender: Sender::new(&of.law, 1, of.requests),
            receiver,
            here: None,
            there,
            hello,
            words,
            settings: of.clone(),
            free: (0..of.sends).collect(),
            control_free: CREDITS,
            owes: false,
            ended: None,
            traffic: Traffic::default(),
        })
    }

    /// Address for the other end.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn address(&self) -> Result<Address, VerbsUnavailable> {
        let (lid, _, gid) = self.device.port()?;
        let pair = self.requests.number();
        Ok(Address {
            requests: Remote { pair, psn: psn(pair), lid, gid },
            credits: self.credits.number(),
            hello: self.hello,
        })
    }

    /// Connects to the other end. Returns whether it uses credits.
    ///
    /// # Errors
    /// If the device refuses, or the address is absurd.
    pub fn connect(&mut self, now: Time, to: &Address) -> Result<bool, EndReason> {
        let (_, index, _) = self.device.port()?;
        for slot in 0..self.settings.receives {
            self.receive(slot)?;
        }
        for slot in 0..CREDITS {
            self.receive_credit(slot)?;
        }
        self.requests.connect(&to.requests, psn(self.requests.number()), index)?;
        let credits = Remote { pair: to.credits, psn: psn(to.credits), ..to.requests };
        self.credits.connect(&credits, psn(self.credits.number()), index)?;
        let hello = if self.receiver.is_some() { to.hello } else { None };
        if self.receiver.is_some() && hello.is_none() {
            eprintln!("forebay-credits: the peer does without credits, so they are off");
            (self.receiver, self.there) = (None, None);
        }
        self.here = self.sender.connect(now, hello.as_ref())?;
        Ok(hello.is_some())
    }

    fn receive(&self, slot: u32) -> Result<(), VerbsUnavailable> {
        self.requests.receive(
            CAME << KIND | u64::from(slot),
            slot as usize * self.words,
            self.settings.message,
        )
    }

    fn credit_at(&self, slot: u32) -> usize {
        (self.settings.receives + self.settings.sends) as usize * self.words
            + slot as usize * CREDIT_WORDS
    }

    fn receive_credit(&self, slot: u32) -> Result<(), VerbsUnavailable> {
        self.credits.receive(CREDIT_CAME << KIND | u64::from(slot), self.credit_at(slot), 64)
    }

    /// The application wants to send `bytes`. `Go`: call [`Link::send`] now; `Wait`: an event releases it; `Full`: try again later.
    #[inline]
    pub fn post(&mut self, now: Time, bytes: u64, token: u64) -> Post {
        match self.here {
            Some(here) if bytes <= u64::from(self.settings.message) => {
                self.sender.post(now, here, bytes, token)
            }
            _ => Post::Full,
        }
    }

    /// Sends a message that was posted or released; `fill` gets its lines. False: all slots are under way, try again later.
    ///
    /// # Errors
    /// If the device refuses.
    #[inline]
    pub fn send(
        &mut self,
        now: Time,
        bytes: u32,
        fill: impl FnOnce(&[AtomicU64]),
    ) -> Result<bool, EndReason> {
        if bytes > self.settings.message {
            return Err(EndReason::Refused("a message that is too long"));
        }
        let Some(slot) = self.free.pop_front() else { return Ok(false) };
        let at = (self.settings.receives + slot) as usize * self.words;
        fill(self.memory.words(at, (bytes as usize).div_ceil(64) * 8));
        let counter = match (&mut self.receiver, self.there) {
            (Some(receiver), Some(there)) => receiver.counter(now, there),
            _ => None,
        };
        self.requests.send(SENT << KIND | u64::from(slot), at, bytes, counter)?;
        self.traffic.messages += 1;
        self.traffic.bytes += u64::from(bytes);
        Ok(true)
    }

    /// The lines of a message that came.
    pub fn payload(&self, slot: u32, bytes: u32) -> &[AtomicU64] {
        self.memory.words(slot as usize * self.words, (bytes as usize).div_ceil(64) * 8)
    }

    /// The application has read a message: its buffer may be filled again, and its credits go back.
    ///
    /// # Errors
    /// If the device refuses.
    #[inline]
    pub fn consumed(&mut self, now: Time, slot: u32, bytes: u32) -> Result<(), EndReason> {
        self.receive(slot)?;
        if let (Some(receiver), Some(there)) = (&mut self.receiver, self.there) {
            self.owes |= receiver.completed(now, there, bytes.into());
        }
        self.pay(now)
    }

    /// Sends the credit message that the peer is owed.
    fn pay(&mut self, now: Time) -> Result<(), EndReason> {
        let (Some(receiver), Some(there), true) = (&mut self.receiver, self.there, self.owes)
        else {
            return Ok(());
        };
        if self.control_free == 0 {
            return Ok(());
        }
        let message = receiver.credit_message(now, there);
        self.owes = false;
        self.send_control(&message)
    }

    fn send_control(&mut self, message: &Message) -> Result<(), EndReason> {
        self.control_free -= 1;
        self.traffic.control += 1;
        Ok(self.credits.send_inline(CREDIT_SENT << KIND, &message.encode())?)
    }

    /// Next event, if there is one. Call `poll` again until there is none.
    pub fn poll(&mut self, now: Time) -> Option<Event> {
        if let Some(ended) = self.ended {
            return Some(Event::Ended(ended));
        }
        match self.look(now) {
            Ok(event) => event,
            Err(why) => {
                self.end(why);
                Some(Event::Ended(why))
            }
        }
    }

    fn look(&mut self, now: Time) -> Result<Option<Event>, EndReason> {
        if let Some(of) = self.sender.poll(now) {
            return Ok(Some(Event::Released { token: of.token, bytes: of.bytes }));
        }
        if let Some(receiver) = &mut self.receiver
            && receiver.poll(now).is_some()
        {
            self.owes = true;
        }
        self.pay(now)?;
        if self.control_free > 0
            && let Some((_, message)) = self.sender.next_message(now)
        {
            self.send_control(&message)?;
        }
        while let Some(of) = self.queue.poll()? {
            if let Some(event) = self.completed(now, of)? {
                return Ok(Some(event));
            }
        }
        let released = self.sender.poll(now);
        Ok(released.map(|of| Event::Released { token: of.token, bytes: of.bytes }))
    }

    fn completed(&mut self, now: Time, of: Completion) -> Result<Option<Event>, EndReason> {
        let (kind, slot) = (of.id >> KIND, of.id as u32);
        if of.status != 0 {
            return Err(if kind >= CREDIT_SENT {
                EndReason::Credits(of.status)
            } else {
                EndReason::Requests(of.status)
            });
        }
        match kind {
            SENT => self.free.push_back(slot),
            CREDIT_SENT => self.control_free += 1,
            CREDIT_CAME => {
                let lines = self.memory.words(self.credit_at(slot), CREDIT_WORDS);
                let mut bytes = [0; MESSAGE_BYTES];
                for (chunk, word) in bytes.chunks_mut(8).zip(lines) {
                    chunk.copy_from_slice(&word.load(Relaxed).to_ne_bytes());
                }
                let length = of.bytes as usize;
                let message = Message::decode(bytes.get(..length).unwrap_or(&[]))
                    .map_err(ProtocolError::Garbage)?;
                self.receive_credit(slot)?;
                self.credit_came(now, &message)?;
            }
            _ => {
                if let (Some(counter), Some(here)) = (of.immediate, self.here) {
                    self.sender.counter(now, here, counter)?;
                }
                return Ok(Some(Event::Message { slot, bytes: of.bytes }));
            }
        }
        Ok(None)
    }

    fn credit_came(&mut self, now: Time, message: &Message) -> Result<(), EndReason> {
        match (message, &mut self.receiver, self.there, self.here) {
            (Message::Ask { .. }, Some(receiver), Some(there), _) => {
                self.owes |= receiver.message(now, there, message)?;
                self.pay(now)
            }
            (_, _, _, Some(here)) => Ok(self.sender.message(now, here, message)?),
            _ => Err(ProtocolError::Unexpected.into()),
        }
    }

    /// Ends the connection: both queue pairs fail, and all credits are free.
    fn end(&mut self, why: EndReason) {
        self.ended = Some(why);
        self.requests.fail();
        self.credits.fail();
        if let Some(here) = self.here.take() {
            self.sender.disconnect(here, |_| {});
        }
        if let (Some(receiver), Some(there)) = (&mut self.receiver, self.there.take()) {
            receiver.disconnect(there);
        }
    }

    /// Breaks the queue pair of credit messages, as a fault would.
    pub fn break_credits(&self) {
        self.credits.fail();
    }

    /// Credits of the requests that go.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Credits of the messages that come.
    pub fn receiver(&self) -> Option<&Receiver> {
        self.receiver.as_ref()
    }
}

/// First packet number of a queue pair: it differs from pair to pair, so that packets of an old one are known.
fn psn(pair: u32) -> u32 {
    pair.wrapping_mul(0x9e37) & 0xff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_credits::Shares;

    #[test]
    fn an_address_comes_back_from_its_bytes() {
        let shares = Shares { limit: 1 << 18, connections: 3, line: 64, epoch: 0 };
        for hello in [None, Some(Message::Hello { connection: 0, shares })] {
            let requests = Remote { pair: 17, psn: 0x12_3456, lid: 5, gid: [9; 16] };
            let address = Address { requests, credits: 18, hello };
            assert_eq!(Address::decode(&address.encode()), Ok(address));
        }
        assert_eq!(Address::decode(&[0; ADDRESS_BYTES]), Err(ProtocolError::Unexpected));
    }
}
