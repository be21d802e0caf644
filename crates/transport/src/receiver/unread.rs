//! A receiver whose application takes its time: bytes wait in the socket buffer, and the window is what they leave of it.
//!
//! The right edge of the window never moves back. An application that reads so much that the window would at least
//! double has an ACK sent that says so.
//!
//! Source: Linux `__tcp_select_window` and `tcp_cleanup_rbuf`; RFC 9293 section 3.8.6.
//! Deviation: bytes above a hole do not count, nor does the memory that segments take beyond their payload.

/// State of one flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnreadBytes {
    bytes: u64,
    edge: u64, // the byte after the last that the sender may send
}

impl UnreadBytes {
    /// `bytes` more came in order.
    #[inline]
    pub(crate) fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// Bytes beyond `next` that the sender may use, in a socket buffer of `buffer` bytes.
    #[inline]
    pub(crate) fn window(&mut self, next: u64, buffer: u64) -> u64 {
        self.edge = self.edge.max(next + buffer.saturating_sub(self.bytes));
        self.edge - next
    }

    /// The application read `bytes`. Whether the sender should hear of the room.
    pub(crate) fn read(&mut self, bytes: u64, next: u64, buffer: u64) -> bool {
        self.bytes -= bytes;
        let room = buffer.saturating_sub(self.bytes);
        room > 0 && room >= 2 * self.edge.saturating_sub(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUFFER: u64 = 1 << 20;

    #[test]
    fn the_window_is_what_unread_bytes_leave_and_its_edge_stays() {
        let mut unread = UnreadBytes::default();
        assert_eq!(unread.window(0, BUFFER), BUFFER);
        unread.add(100_000);
        assert_eq!(unread.window(100_000, BUFFER), BUFFER - 100_000, "the edge is where it was");
        assert!(!unread.read(60_000, 100_000, BUFFER), "the window grows by less than half");
        assert_eq!(unread.window(100_000, BUFFER), BUFFER - 40_000);
    }

    #[test]
    fn reading_tells_a_sender_that_has_no_room() {
        let mut unread = UnreadBytes::default();
        unread.window(0, BUFFER);
        unread.add(BUFFER);
        assert_eq!(unread.window(BUFFER, BUFFER), 0);
        assert!(unread.read(1000, BUFFER, BUFFER), "any room is twice none");
        assert_eq!(unread.window(BUFFER, BUFFER), 1000);
        assert!(!unread.read(500, BUFFER, BUFFER));
        assert!(unread.read(500, BUFFER, BUFFER), "2000 is twice what was offered");
    }
}
