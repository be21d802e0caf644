//! Status of the control loop: numbers on a shared board, which other threads and processes read.

use forebay_linux::board::{Board, WORDS};

/// At most so many stacks.
pub const MOST_STACKS: usize = 16;

/// What happened so far, in numbers that fit on a board.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Rounds done: the sign of life.
    pub rounds: u64,
    /// Time of the last round, in nanoseconds.
    pub now_ns: u64,
    /// Time that rounds took, in nanoseconds.
    pub busy_ns: u64,
    /// Rounds that began later than a period after they should have.
    pub late: u64,
    /// Level in force, the strongest of all sockets.
    pub level: u64,
    /// Strongest level that ever was.
    pub strongest: u64,
    /// Level writes that succeeded, and that failed.
    pub writes: u64,
    /// See `writes`.
    pub failed: u64,
    /// Times that the laws started anew.
    pub renewals: u64,
    /// Whether another process changed what the throttle had written. The laws have ended then, and every throttle is lifted.
    pub foreign: bool,
    /// For each stack.
    pub stacks: Vec<StackStatus>,
}

/// One stack on the status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackStatus {
    /// Time of the last reading of lines, in nanoseconds, and its raw value.
    pub lines: (u64, u64),
    /// Mean of the lines between the last two readings, which is I_S, in thousandths of a line.
    pub mean_lines: u64,
    /// As `lines`, of units that came in.
    pub inserts: (u64, u64),
    /// As `lines`, of packets that the NIC dropped, of signs of slow cores, and of bytes that memory moved, for a law that wants those.
    pub drops: (u64, u64),
    /// See `drops`.
    pub slow: (u64, u64),
    /// See `drops`.
    pub memory: (u64, u64),
    /// Readings that failed.
    pub unread: u64,
    /// Level that the law of this stack wants.
    pub level: u64,
    /// Whether it wants packets marked.
    pub marks: bool,
}

impl StackStatus {
    /// As they lie on a board.
    fn numbers(&self) -> [u64; EACH] {
        let marks = u64::from(self.marks);
        let [lines, inserts, drops, slow, memory] =
            [self.lines, self.inserts, self.drops, self.slow, self.memory];
        [
            lines.0,
            lines.1,
            inserts.0,
            inserts.1,
            drops.0,
            drops.1,
            slow.0,
            slow.1,
            memory.0,
            memory.1,
            self.unread,
            self.level,
            marks,
            self.mean_lines,
        ]
    }
}

const HEAD: usize = 11;
const EACH: usize = 14;
const _: () = assert!(HEAD + EACH * MOST_STACKS <= WORDS);

impl Status {
    /// Shows it on a board.
    pub fn publish(&self, board: &Board) {
        let stacks = self.stacks.iter().flat_map(StackStatus::numbers);
        board.publish(self.head().into_iter().chain(stacks));
    }

    /// The numbers before those of the stacks.
    fn head(&self) -> [u64; HEAD] {
        [
            self.rounds,
            self.now_ns,
            self.busy_ns,
            self.late,
            self.level,
            self.strongest,
            self.writes,
            self.failed,
            self.renewals,
            u64::from(self.foreign),
            self.stacks.len() as u64,
        ]
    }

    /// From a board.
    pub fn of(words: &[u64; WORDS]) -> Self {
        let stacks = words[10].min(MOST_STACKS as u64) as usize;
        let stack = |of: &[u64]| StackStatus {
            lines: (of[0], of[1]),
            inserts: (of[2], of[3]),
            drops: (of[4], of[5]),
            slow: (of[6], of[7]),
            memory: (of[8], of[9]),
            unread: of[10],
            level: of[11],
            marks: of[12] != 0,
            mean_lines: of[13],
        };
        Self {
            rounds: words[0],
            now_ns: words[1],
            busy_ns: words[2],
            late: words[3],
            level: words[4],
            strongest: words[5],
            writes: words[6],
            failed: words[7],
            renewals: words[8],
            foreign: words[9] != 0,
            stacks: words[HEAD..].chunks_exact(EACH).take(stacks).map(stack).collect(),
        }
    }
}
