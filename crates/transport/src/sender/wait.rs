//! What keeps a sender from sending at an instant: the sender's half of the question "where did the time go?".

use super::{PACED, TcpSender};
use crate::TcpConfig;

/// What a sender waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// The application: it has written nothing that was not sent.
    Application,
    /// The congestion window: for ACKs or growth, also for enough of it that a super-packet pays.
    Congestion,
    /// The receive window: the receiver takes no more yet.
    Receiver,
    /// The pacing rate.
    Pacing,
    /// The NIC: the flow may send, and others do.
    Nic,
    /// The switch, which has paused its class (PFC, IEEE 802.1Qbb) or its NIC (IEEE 802.3x).
    Pause,
}

impl Wait {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Application, Self::Congestion, Self::Receiver, Self::Pacing, Self::Nic, Self::Pause];

    /// Word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::Congestion => "congestion_window",
            Self::Receiver => "receive_window",
            Self::Pacing => "pacing",
            Self::Nic => "nic",
            Self::Pause => "pause",
        }
    }
}

impl TcpSender {
    /// What it waits for. Of several things: the application first, then pacing, the receive window if the congestion window
    /// has room. A look, which changes nothing. Of pauses its host knows.
    pub fn waits_for(&self, cfg: &TcpConfig) -> Wait {
        if self.ready(cfg) {
            Wait::Nic
        } else if self.unsent() == 0 && self.repair.as_ref().is_none_or(|r| r.lost == 0) {
            Wait::Application
        } else if self.shut & PACED != 0 {
            Wait::Pacing
        } else if self.has_room(cfg, self.new_len(cfg)) && !self.may_send_new(cfg) {
            Wait::Receiver
        } else {
            Wait::Congestion
        }
    }
}
