//! Whole messages over a stream of bytes: four bytes of length, least first, then the message.

use std::io::{self, Read, Write};

/// Longest message; what claims to be longer is none.
const LONGEST: usize = 1 << 20;

/// A stream that takes and brings whole messages.
#[derive(Debug)]
pub struct Messages<S> {
    stream: S,
    out: Vec<u8>,
    came: Vec<u8>, // and is in no message yet
}

impl<S: Read + Write> Messages<S> {
    /// Over this stream.
    pub fn new(stream: S) -> Self {
        Self { stream, out: Vec::new(), came: Vec::new() }
    }

    /// Sends one, by one system call.
    ///
    /// # Errors
    /// If it is too long, or the system refuses.
    pub fn send(&mut self, message: &[u8]) -> io::Result<()> {
        if message.len() > LONGEST {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.out.clear();
        self.out.extend_from_slice(&(message.len() as u32).to_le_bytes());
        self.out.extend_from_slice(message);
        self.stream.write_all(&self.out)?;
        self.stream.flush()
    }

    /// Waits for one.
    ///
    /// # Errors
    /// If the stream ends, or claims more than a message may have, or the system refuses, or a time limit of the stream passes.
    pub fn receive(&mut self) -> io::Result<Vec<u8>> {
        self.receive_unless(&mut || true)
    }

    /// Waits for one. Each time a time limit of the stream passes, `give_up` says whether to stop waiting.
    ///
    /// # Errors
    /// If it is given up, or the stream ends, or claims more than a message may have, or the system refuses.
    pub fn receive_unless(&mut self, give_up: &mut dyn FnMut() -> bool) -> io::Result<Vec<u8>> {
        let mut room = [0; 1024];
        loop {
            if let Some((head, rest)) = self.came.split_first_chunk::<4>() {
                let len = u32::from_le_bytes(*head) as usize;
                if len > LONGEST {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                if rest.len() >= len {
                    let message = rest[..len].to_vec();
                    self.came.drain(..4 + len);
                    return Ok(message);
                }
            }
            match self.stream.read(&mut room) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(more) => self.came.extend_from_slice(&room[..more]),
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut if !give_up() => {}
                    _ => return Err(error),
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// Brings a byte, then a time limit passes, again and again.
    struct SlowReader(Vec<u8>, bool);

    impl Read for SlowReader {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 || self.0.is_empty() {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            room[0] = self.0.remove(0);
            Ok(1)
        }
    }

    impl Write for SlowReader {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_slow_message_is_waited_for_until_it_is_given_up() {
        let slow = || Messages::new(SlowReader([&2u32.to_le_bytes()[..], b"ab"].concat(), false));
        let mut limits = 0;
        let patient = |most: usize, limits: &mut usize| {
            let mut give_up = || {
                *limits += 1;
                *limits > most
            };
            slow().receive_unless(&mut give_up)
        };
        assert_eq!(patient(10, &mut limits).expect("it came"), b"ab");
        assert_eq!(limits, 6, "one for each byte");
        assert!(patient(8, &mut limits).is_err(), "given up at the third limit");
        assert_eq!(limits, 9);
        assert!(slow().receive().is_err(), "no patience at all");
    }

    #[test]
    fn what_is_sent_is_received_and_a_cut_is_an_error() {
        let mut there = Messages::new(Cursor::new(Vec::new()));
        there.send(b"levels").expect("sent");
        there.send(b"").expect("sent");
        let bytes = there.stream.into_inner();
        let mut here = Messages::new(Cursor::new(bytes.clone()));
        assert_eq!(here.receive().expect("the first"), b"levels");
        assert_eq!(here.receive().expect("the second"), b"");
        assert!(here.receive().is_err(), "the end");
        for len in 0..10 {
            assert!(Messages::new(Cursor::new(bytes[..len].to_vec())).receive().is_err(), "{len}");
        }
        assert!(Messages::new(Cursor::new(vec![255; 8])).receive().is_err(), "4 GiB");
    }
}
