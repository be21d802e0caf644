//! Throttle levels, one per socket, and the trait of whatever enforces them.

/// Sockets whose levels are told apart; those beyond count as the last.
pub const MOST_SOCKETS: usize = 8;

/// Levels of all sockets: a stack congests the memory of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Levels([u8; MOST_SOCKETS]);

impl Levels {
    /// One level for all sockets.
    #[cfg(test)]
    pub fn all(level: u8) -> Self {
        Self([level; MOST_SOCKETS])
    }

    /// The level of a socket, or the strongest for what is of none.
    pub fn of(self, socket: Option<usize>) -> u8 {
        let [first, ..] = self.0;
        match socket {
            Some(socket) => self.0[socket.min(MOST_SOCKETS - 1)],
            None => self.0.into_iter().fold(first, u8::max),
        }
    }

    /// A stack behind this socket, or behind no known one, wants a level.
    pub fn want(&mut self, socket: Option<usize>, level: u8) {
        let of = match socket {
            Some(socket) => {
                let socket = socket.min(MOST_SOCKETS - 1);
                &mut self.0[socket..=socket]
            }
            None => &mut self.0[..],
        };
        of.iter_mut().for_each(|old| *old = level.max(*old));
    }
}

/// What carries out levels.
pub trait Throttle {
    /// Puts levels in force; whether they are.
    fn set(&mut self, levels: Levels) -> bool;

    /// Whether what was written last still stands.
    fn stands(&mut self) -> bool;

    /// Packets on their way to this stack are marked until the next round; or are not.
    fn mark(&mut self, _stack: usize, _on: bool) {}
}

impl<T: Throttle> Throttle for &mut T {
    fn set(&mut self, levels: Levels) -> bool {
        T::set(self, levels)
    }

    fn stands(&mut self) -> bool {
        T::stands(self)
    }

    fn mark(&mut self, stack: usize, on: bool) {
        T::mark(self, stack, on);
    }
}

/// A throttle that nothing is behind: every level is in force at once.
#[derive(Debug)]
pub struct NoThrottle;

impl Throttle for NoThrottle {
    fn set(&mut self, _: Levels) -> bool {
        true
    }

    fn stands(&mut self) -> bool {
        true
    }
}
