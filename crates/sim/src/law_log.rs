//! The log of one flow's law, kept until the run ends.

use forebay_laws::log::{Sink, Tap};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes in the order in which they came. Only the process that has the flow writes.
#[derive(Debug, Default)]
struct Memory(Mutex<Vec<u8>>);

impl Sink for Memory {
    fn write(&self, bytes: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
    }
}

/// Which flow's law is logged, and what it has written.
#[derive(Clone, Debug)]
pub(crate) struct LawLog {
    flow: u32,
    memory: Arc<Memory>,
}

impl LawLog {
    /// Of this flow.
    pub fn of(flow: u32) -> Self {
        Self { flow, memory: Arc::default() }
    }

    /// Where the law of `flow` writes, if it is this one's.
    pub fn tap(&self, flow: u32) -> Option<Tap> {
        (self.flow == flow).then(|| Tap::new(self.memory.clone()))
    }

    /// What was written: nothing if the flow never began.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.memory.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
