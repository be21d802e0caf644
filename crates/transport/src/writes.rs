//! A stream over a transport of messages: each write is a message, and they go one after another.
//!
//! A message begins when the sender knows that the one before it is complete. Its packets, and the answers to them, carry its number and its
//! size ([`MessageTag`]), so what is late of an earlier one is recognized. Deviation: real endpoints send the messages of one connection at once;
//! here those that wait for nothing else belong on connections of their own.

use forebay_units::Bytes;
use forebay_wire::MessageTag;
use std::collections::VecDeque;

/// What the application has written onto a stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writes {
    message: MessageTag,    // under way, or the last one
    under_way: u64,         // payload of it, until it is complete
    done: u64,              // of those that are
    waiting: VecDeque<u32>, // sizes of those that have not begun
    closed: bool,
}

impl Writes {
    /// Adds a message of less than 4 GiB; `last`: no other follows.
    pub fn add(&mut self, bytes: Bytes, last: bool) {
        let size = u32::try_from(bytes.get()).expect("scenarios have no larger message");
        self.waiting.push_back(size);
        self.closed |= last;
    }

    /// Begins the next message, if one waits. Returns its size.
    pub fn begin(&mut self) -> Option<Bytes> {
        let size = self.waiting.pop_front()?;
        self.message = MessageTag { number: self.message.number + 1, size };
        self.under_way = size.into();
        Some(Bytes::new(size.into()))
    }

    /// The message under way is complete. Its receiver may say so again before the next one begins, which counts nothing.
    pub fn end(&mut self) {
        self.done += std::mem::take(&mut self.under_way);
    }

    /// The message under way.
    pub fn message(&self) -> MessageTag {
        self.message
    }

    /// Payload of complete messages.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Payload of messages that have not begun.
    pub fn waiting(&self) -> u64 {
        self.waiting.iter().map(|size| u64::from(*size)).sum()
    }

    /// Whether none ever will.
    pub fn is_over(&self) -> bool {
        self.closed && self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_ends_once() {
        let mut writes = Writes::default();
        for (size, done) in [(4_000, 4_000), (5_000, 9_000)] {
            writes.add(Bytes::new(size), false);
            assert_eq!(writes.begin(), Some(Bytes::new(size)));
            writes.end();
            writes.end();
            assert_eq!(writes.done(), done);
        }
    }
}
