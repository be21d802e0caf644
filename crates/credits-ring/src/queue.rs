//! One direction: descriptors and payload in shared words, for one writer and one reader.
//!
//! A descriptor takes one line of 64 bytes: kind and length, token, counter, place of the payload, and a control message.
//! Payload begins at a line and never wraps within a message. Counts of lines and descriptors only rise.
//!
//! Invariant: a reader checks each number that the other side wrote before it uses it.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

/// Words of a line.
const LINE: usize = 8;

/// Bytes of a line.
pub const LINE_BYTES: u64 = 64;

/// Descriptors that only control messages use.
const RESERVED: u64 = 16;

/// Size of one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Descriptors, more than 16; a power of two.
    pub messages: u32,
    /// Lines of payload.
    pub lines: u32,
}

impl Size {
    /// A direction with room for so many bytes and messages, rounded up.
    pub fn new(bytes: u64, messages: u32) -> Self {
        let lines = u32::try_from(bytes.div_ceil(LINE_BYTES)).unwrap_or(1 << 26).clamp(1, 1 << 26);
        Self { messages: messages.clamp(64, 1 << 20).next_power_of_two(), lines }
    }

    pub(crate) fn is_valid(self) -> bool {
        self.messages.is_power_of_two()
            && (64..=1 << 20).contains(&self.messages)
            && (1..=1 << 26).contains(&self.lines)
    }

    /// Words of one direction: four lines of counts, descriptors, payload.
    pub(crate) fn words(self) -> usize {
        (4 + self.messages as usize + self.lines as usize) * LINE
    }
}

/// Kind of a descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Payload.
    Data,
    /// A credit message of 24 bytes.
    Control([u8; 24]),
}

/// A message that was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Kind of the message.
    pub kind: Kind,
    /// Bytes of payload.
    pub bytes: u64,
    /// Name that its writer gave it.
    pub token: u64,
    /// Counter that rides on it, if one does.
    pub counter: Option<u32>,
    at: u64, // line of its payload, counted from the beginning
}

/// The other side wrote what cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Corrupt;

// Where counts are, in words of a direction.
const WRITTEN: usize = 0; // descriptors, by the writer
const READ: usize = LINE; // descriptors, by the reader
const FREED: usize = 2 * LINE; // lines of payload, by the reader
const ASLEEP: usize = 3 * LINE; // whether the reader waits
const DESCRIPTORS: usize = 4 * LINE;

/// The words of one direction.
#[derive(Clone, Copy)]
pub(crate) struct Words<'a> {
    words: &'a [AtomicU64],
    size: Size,
}

impl<'a> Words<'a> {
    pub fn new(words: &'a [AtomicU64], size: Size) -> Self {
        assert!(words.len() >= size.words(), "the mapping has room for a direction");
        Self { words, size }
    }

    #[inline]
    fn descriptor(self, number: u64) -> &'a [AtomicU64] {
        let at = (number & u64::from(self.size.messages - 1)) as usize;
        &self.words[DESCRIPTORS + at * LINE..][..LINE]
    }

    fn payload(self, line: u64, bytes: u64) -> &'a [AtomicU64] {
        let first = DESCRIPTORS + self.size.messages as usize * LINE;
        let at = (line % u64::from(self.size.lines)) as usize;
        &self.words[first + at * LINE..][..(bytes.div_ceil(LINE_BYTES) as usize) * LINE]
    }

    /// True if the reader waits, and is to be woken.
    #[inline]
    pub fn reader_sleeps(self) -> bool {
        fence(std::sync::atomic::Ordering::SeqCst);
        self.words[ASLEEP].load(Relaxed) != 0
    }

    pub fn sleep(self, asleep: bool) {
        self.words[ASLEEP].store(u64::from(asleep), Relaxed);
        fence(std::sync::atomic::Ordering::SeqCst);
    }
}

/// State of the writer of a direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writer {
    written: u64,
    read: u64,  // as last seen
    line: u64,  // next free line of payload
    freed: u64, // as last seen
}

impl Writer {
    /// Looks how far the reader is.
    fn look(&mut self, of: Words<'_>) -> Result<(), Corrupt> {
        let read = of.words[READ].load(Acquire);
        let freed = of.words[FREED].load(Acquire);
        let good =
            (self.read..=self.written).contains(&read) && (self.freed..=self.line).contains(&freed);
        if !good {
            return Err(Corrupt);
        }
        (self.read, self.freed) = (read, freed);
        Ok(())
    }

    /// Writes a message. False: there is no room. Payload begins at the start again after `reach` lines, if the start is free: what is
    /// used stays as small as what is unread, and so in the cache, however large the ring is. `reach` may grow while the writer is at the
    /// start, so that even a message below it has to wait until the reader frees more. `counter` is asked once there is room.
    pub fn data(
        &mut self,
        of: Words<'_>,
        reach: u64,
        token: u64,
        counter: impl FnOnce() -> Option<u32>,
        bytes: u64,
        fill: impl FnOnce(&[AtomicU64]),
    ) -> Result<bool, Corrupt> {
        let (lines, all) = (bytes.div_ceil(LINE_BYTES), u64::from(of.size.lines));
        let left = all - self.line % all;
        let mut at = if lines <= left { self.line } else { self.line + left };
        if all - left >= reach && at == self.line {
            self.look(of)?;
            if self.line + left + lines <= self.freed + all {
                at = self.line + left;
            }
        }
        let room = |writer: &Self| {
            at + lines <= writer.freed + all
                && writer.written - writer.read < u64::from(of.size.messages) - RESERVED
        };
        if lines > all {
            return Ok(false);
        }
        if !room(self) {
            self.look(of)?;
            if !room(self) {
                return Ok(false);
            }
        }
        if lines > 0 {
            fill(of.payload(at, bytes));
        }
        self.line = at + lines;
        self.describe(of, bytes, token, counter(), at, None);
        Ok(true)
    }

    /// Writes a control message. False: there is no room.
    pub fn control(&mut self, of: Words<'_>, message: &[u8; 24]) -> Result<bool, Corrupt> {
        if self.written - self.read >= u64::from(of.size.messages) {
            self.look(of)?;
            if self.written - self.read >= u64::from(of.size.messages) {
                return Ok(false);
            }
        }
        self.describe(of, 0, 0, None, self.line, Some(message));
        Ok(true)
    }

    #[inline]
    fn describe(
        &mut self,
        of: Words<'_>,
        bytes: u64,
        token: u64,
        counter: Option<u32>,
        at: u64,
        control: Option<&[u8; 24]>,
    ) {
        let words = of.descriptor(self.written);
        words[0].store(bytes << 1 | u64::from(control.is_some()), Relaxed);
        words[1].store(token, Relaxed);
        words[2].store(counter.map_or(0, |of| 1 << 32 | u64::from(of)), Relaxed);
        words[3].store(at, Relaxed);
        if let Some(message) = control {
            for (word, bytes) in words[4..7].iter().zip(message.as_chunks::<8>().0) {
                word.store(u64::from_le_bytes(*bytes), Relaxed);
            }
        }
        self.written += 1;
        of.words[WRITTEN].store(self.written, Release);
    }
}

/// State of the reader of a direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader {
    read: u64,
    written: u64, // as last seen
    freed: u64,
}

impl Reader {
    /// The next message, if there is one. It stays until [`Reader::pop`].
    #[inline]
    pub fn front(&mut self, of: Words<'_>) -> Result<Option<Header>, Corrupt> {
        if self.read == self.written {
            let written = of.words[WRITTEN].load(Acquire);
            if written == self.written {
                return Ok(None);
            }
            if written.wrapping_sub(self.read) > u64::from(of.size.messages) {
                return Err(Corrupt);
            }
            self.written = written;
        }
        let words = of.descriptor(self.read);
        let [first, token, counter, at] = [0, 1, 2, 3].map(|word| words[word].load(Relaxed));
        let (bytes, all) = (first >> 1, u64::from(of.size.lines));
        let lines = bytes.div_ceil(LINE_BYTES);
        // Where the reader was, or at the start of the payload after what is left of it.
        let next = self.freed.next_multiple_of(all);
        let good = lines <= all && (at == self.freed || at == next) && at % all + lines <= all;
        if !good || counter >> 33 != 0 {
            return Err(Corrupt);
        }
        let counter = (counter >> 32 == 1).then_some(counter as u32);
        let kind = if first & 1 == 0 {
            Kind::Data
        } else {
            let mut message = [0; 24];
            for (bytes, word) in message.as_chunks_mut::<8>().0.iter_mut().zip(&words[4..7]) {
                *bytes = word.load(Relaxed).to_le_bytes();
            }
            Kind::Control(message)
        };
        Ok(Some(Header { kind, bytes, token, counter, at }))
    }

    /// The payload of a message that [`Reader::front`] gave.
    #[inline]
    pub fn payload<'a>(&self, of: Words<'a>, header: &Header) -> &'a [AtomicU64] {
        of.payload(header.at, header.bytes)
    }

    /// Frees the message that [`Reader::front`] gave.
    #[inline]
    pub fn pop(&mut self, of: Words<'_>, header: &Header) {
        self.read += 1;
        self.freed = header.at + header.bytes.div_ceil(LINE_BYTES);
        of.words[FREED].store(self.freed, Release);
        of.words[READ].store(self.read, Release);
    }
}
