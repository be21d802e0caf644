//! How far a sender of a stream is: what hosts ask of TCP senders and queue pairs alike.

/// Methods of a sender with the fields `deadline`, `open`, `totals` and `written`.
macro_rules! progress {
    () => {
        /// When to call [`Self::on_deadline`]; [`Time::MAX`]: never.
        #[inline]
        pub fn deadline(&self) -> Time {
            self.deadline
        }

        /// Whether every byte of a closed flow is acknowledged.
        #[inline]
        pub fn finished(&self) -> bool {
            !self.open && self.idle()
        }

        /// Whether there is nothing to do until the application writes: all that it has written is acknowledged.
        #[inline]
        pub fn idle(&self) -> bool {
            self.totals.una == self.written
        }

        /// Bytes that the application has written and that wait to leave for the first time.
        #[inline]
        pub fn unsent(&self) -> u64 {
            self.written - self.totals.nxt
        }

        /// Running totals, as the law sees them.
        #[inline]
        pub fn totals(&self) -> &Totals {
            &self.totals
        }
    };
}

pub(crate) use progress;
