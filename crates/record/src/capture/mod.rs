//! Captures: what crossed a port, as a pcapng file that Wireshark opens.
//!
//! `frame.rs` makes the bytes of one TCP segment or pause, `roce.rs` those of a packet of a queue pair, `message.rs` those of a receiver-driven transport, `pcapng.rs` the blocks of a file, `files.rs` the files of one simulation.
//! Invariant: the bytes of a capture are a function of scenario, seed and version.

mod files;
mod frame;
mod message;
mod pcapng;
mod roce;

pub(crate) use files::remove_old;
pub use files::{CaptureFile, CaptureFiles, FOLDER};
pub use frame::{Frame, Note, PauseFrame, TcpBits, WINDOW_SHIFT, host_address, node_mac};
pub use message::{MessageBits, MessageFrame, MessageKind};
pub use roce::{RoceFrame, RoceKind};

use forebay_units::{Bytes, Time};

/// A port to capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedPort {
    /// The node that owns it.
    pub node: String,
    /// The node at the other end of its cable.
    pub peer: String,
    /// Rate at the start, bit/s.
    pub rate: u64,
    /// Bytes kept of each frame.
    pub snap: Bytes,
}

impl CapturedPort {
    /// `leaf[0]->spine[1]`: the name of its interface.
    pub fn name(&self) -> String {
        format!("{}->{}", self.node, self.peer)
    }
}

/// What a port did while it was captured, for the last block of its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortTotals {
    /// Packets that its queue refused.
    pub dropped: u64,
    /// When the simulation ended.
    pub end: Time,
}

/// Takes the frames of one simulation.
pub trait Sink: Send {
    /// Ports that will be heard of, by index from here on, and hosts that may send, by number and name.
    fn begin(&mut self, ports: Vec<CapturedPort>, hosts: &[(u32, String)]);

    /// A TCP segment of a port. Frames of one port, of all kinds, come in the order of their times.
    fn frame(&mut self, port: usize, frame: &Frame);

    /// A packet of a queue pair at a port.
    fn roce(&mut self, port: usize, frame: &RoceFrame);

    /// A packet of a receiver-driven transport at a port.
    fn message(&mut self, port: usize, frame: &MessageFrame);

    /// A pause frame of a port.
    fn pause(&mut self, port: usize, frame: &PauseFrame);

    /// Frames so far are complete up to some instant. False: no more are taken.
    fn settle(&mut self) -> bool;

    /// Nothing more comes from a port.
    fn end(&mut self, port: usize, totals: PortTotals);
}
