//! Operations of one rank on one channel, one after another.

use crate::op::{DataUse, Op, Step};
use crate::parts::ChannelParts;
use crate::schedule::Schedule;
use crate::stages::{Gate, Join, Piece, Stage};
use forebay_units::{Bytes, Span};

/// Operations of one rank on one channel. Ranks and channels do not wait for each other but by messages.
///
/// A stage is rows of at most three operations, and perhaps a join: row `j` receives message `j` of what the stage receives, computes on
/// it, and sends message `j` of what the stage sends. So the place of each operation is known without a list of those before.
#[derive(Clone, Debug)]
pub struct Steps {
    schedule: Schedule,
    parts: ChannelParts,
    rank: u32,
    channel: u32,
    place: u64, // of the next operation
    nth: u64,   // stage
    current: Option<Rows>,
    before: Option<Rows>,
    join: Option<u64>, // place of the last one
}

/// Bytes of a piece in the channel's array.
#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    first: u64,
    length: u64,
}

/// A stage with its messages.
#[derive(Clone, Copy, Debug)]
struct Rows {
    stage: Stage,
    recv: Extent,
    send: Extent,
    start: u64,  // place of its first operation
    recvs: u64,  // messages
    sends: u64,  // messages
    width: u64,  // operations for each message that is received: 2 with a delay
    row: u64,    // where it is
    column: u32, // 0: receive, 1: compute, 2: send
}

impl Rows {
    /// Place from which on message `nth` has been received, and has had its delay.
    const fn received(&self, nth: u64) -> u64 {
        let sent = if nth < self.sends { nth } else { self.sends };
        self.start + self.width * nth + sent + self.width - 1
    }

    /// Place at which message `nth` is sent.
    const fn sent(&self, nth: u64) -> u64 {
        let received = if nth + 1 < self.recvs { nth + 1 } else { self.recvs };
        self.start + self.width * received + nth
    }
}

impl Schedule {
    /// Operations of a rank on a channel; none if there is no such rank or channel.
    pub fn steps(&self, rank: u32, channel: u32) -> Steps {
        let there = rank < self.ranks && channel < self.channels();
        let nth = if there { 0 } else { u64::MAX };
        Steps {
            schedule: *self,
            parts: self.parts.of_channel(channel),
            rank,
            channel,
            place: 0,
            nth,
            current: None,
            before: None,
            join: None,
        }
    }
}

impl Iterator for Steps {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        loop {
            let mut rows = match self.current {
                Some(rows) => rows,
                None => self.rows(self.schedule.stage(self.rank, self.nth)?),
            };
            let step = self.in_rows(&mut rows);
            self.current = Some(rows);
            if let Some(step) = step.or_else(|| self.after_rows(&rows)) {
                self.place += 1;
                return Some(step);
            }
        }
    }
}

impl Steps {
    fn rows(&self, stage: Stage) -> Rows {
        let extent =
            |piece: Option<Piece>| piece.map(|piece| self.extent(piece)).unwrap_or_default();
        let (recv, send) = (extent(stage.recv), extent(stage.send));
        let delayed = stage.forwards && self.schedule.step_delay > Span::ZERO;
        Rows {
            start: self.place,
            recvs: self.schedule.parts.messages(recv.length),
            sends: self.schedule.parts.messages(send.length),
            width: 1 + u64::from(delayed),
            row: 0,
            column: 0,
            recv,
            send,
            stage,
        }
    }

    fn extent(&self, piece: Piece) -> Extent {
        let first = self.parts.start(piece.part);
        Extent { first, length: self.parts.start(piece.part + piece.parts) - first }
    }

    /// The next operation of the rows; `None` after the last.
    fn in_rows(&self, rows: &mut Rows) -> Option<Step> {
        while rows.row < rows.recvs.max(rows.sends) {
            let (row, column) = (rows.row, rows.column);
            (rows.row, rows.column) = if column == 2 { (row + 1, 0) } else { (row, column + 1) };
            let Stage { recv, take, send, gate, .. } = rows.stage;
            match column {
                0 if row < rows.recvs => {
                    let op = self.message(recv?, rows.recv, row, Some(take));
                    return Some(Step { op, after: [0, 0] });
                }
                1 if row < rows.recvs && rows.width == 2 => {
                    return Some(Step { op: Op::Compute(self.schedule.step_delay), after: [1, 0] });
                }
                2 if row < rows.sends => {
                    let after = match gate {
                        Gate::Open => None,
                        Gate::Before => self.before.map(|before| before.received(row)),
                        Gate::Same => Some(rows.received(row)),
                        Gate::Join => self.join,
                    };
                    let op = self.message(send?, rows.send, row, None);
                    return Some(Step { op, after: [self.distance(after), 0] });
                }
                _ => {}
            }
        }
        None
    }

    /// Message `nth` of a piece; received if there is a use for it.
    fn message(&self, piece: Piece, extent: Extent, nth: u64, take: Option<DataUse>) -> Op {
        let Piece { peer, part, .. } = piece;
        let done = nth * self.schedule.parts.message; // less than the length
        let (at, channel) = (extent.first + done, self.channel);
        let bytes = Bytes::new((extent.length - done).min(self.schedule.parts.message));
        match take {
            Some(take) => Op::Recv { from: peer, channel, part, at, bytes, take },
            None => Op::Send { to: peer, channel, part, at, bytes },
        }
    }

    /// The join of a stage, if it has one; then the next stage.
    fn after_rows(&mut self, rows: &Rows) -> Option<Step> {
        (self.before, self.current) = (Some(*rows), None);
        self.nth += 1;
        let received = rows.recvs.checked_sub(1).map(|last| rows.received(last));
        let (after, last) = match rows.stage.join {
            Join::None => return None,
            Join::Received => ([received, self.join], received.is_some()),
            Join::Both => {
                let sent = rows.sends.checked_sub(1).map(|last| rows.sent(last));
                ([received, sent.or(self.join)], received.or(sent).is_some())
            }
            Join::Part { nth, part } => {
                let piece = Piece { peer: 0, part, parts: 1 };
                let messages = self.schedule.parts.messages(self.extent(piece).length);
                if messages == 0 {
                    return None;
                }
                (
                    [Some(u64::from(nth + 1) * messages - 1), self.join],
                    nth + 2 == self.schedule.ranks,
                )
            }
        };
        let after = after.map(|place| self.distance(place));
        self.join = Some(self.place);
        let span = if last { self.schedule.step_delay } else { Span::ZERO };
        Some(Step { op: Op::Compute(span), after })
    }

    /// How far back a place is; 0: there is none. The schedule has checked that the number fits.
    fn distance(&self, place: Option<u64>) -> u32 {
        place.map_or(0, |place| (self.place - place) as u32)
    }
}
