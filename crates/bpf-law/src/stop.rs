//! Why a call of a program ends the run.

/// Why a call ends the run, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stop {
    pub at: u32,
    pub why: StopReason,
}

/// Why a call ends the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StopReason {
    Load {
        address: u64,
        bytes: u8,
    },
    Store {
        address: u64,
        bytes: u8,
    },
    Steps,
    Frames,
    Missing(u32),
    Refused(u32),
    /// `tcp_cong_avoid_ai` with a window of zero.
    DivisionByZero,
    /// An argument of a helper or kfunc is not what it takes.
    Argument {
        nth: u8,
        wants: &'static str,
    },
    /// What a helper would do, and why we do not.
    Unable(&'static str),
}
