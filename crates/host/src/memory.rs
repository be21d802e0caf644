//! The path from the NIC to memory and to the application, and what else uses that memory.
//!
//! Stages, in a packet's order: NIC buffer and descriptors, PCIe link, IIO slots ([`iio`]), cache under DDIO ([`llc`]), memory
//! controller ([`controller`]), cores that run the stack and copy ([`readers`]); beside them cores of antagonists
//! ([`antagonists`]), and the reads of what the NIC sends ([`transmit`]). A machine may have several NICs ([`nic`]). Every stage has its model card at the top of its file; the numbers are in [`settings`].
//!
//! What couples them is one scalar, the *write-admission wait* `W`: writes of cores are posted, those of the NIC hold a slot
//! until the controller admits them, and both stand in one line. A slot is held for `l_0 + W`, and with a backlog all slots
//! are held, so the NIC drains at `slots / (l_0 + W)`; reads see a share `g` of `W`. The rest follows from closed loops.
//!
//! Form: amounts move in steps of at most [`STEP`], each with the rates at its beginning; arrivals, deliveries and finished
//! copies fall on their own instants. Lines are counted in integers of 2^-20 line, so that none is made or lost, and cross the
//! slots and the line of writes in order ([`curve`]).
//!
//! `crates/host/tests/it/oracle.rs` holds it to a model with every line for itself.
//!
//! Source: modelling note sections 2 and 3 (equations 1 to 8). Deviations: it mixes lines in slots well, here they leave in
//! order; it has no wait below saturation ([`controller`]); rates of antagonists follow latencies at once, here reads are in flight ([`flight`]);
//! loads go through a filter, here they are those of the last 600 ns ([`recent`]).

mod antagonists;
pub mod buffers;
mod chance;
mod controller;
mod curve;
mod flight;
mod iio;
mod limit;
mod llc;
mod nic;
mod nics;
mod path;
mod readers;
mod receive_queue;
mod recent;
pub mod settings;
mod transmit;

pub use iio::PacketInMemory;
pub use limit::Limit;
pub use nics::Nics;
pub use path::{MemoryPath, PathState, Totals};
pub use readers::{Handling, ReadBytes};
pub use receive_queue::{QueueTotals, Refusal};
pub use settings::MemorySettings;

use forebay_units::Span;

/// The longest step: what enters slots in one leaves none of them in the same, by default: the cache takes 151 ns.
pub const STEP: Span = Span::from_ns(150);

/// Fixed-point units of a line.
const UNIT: u64 = 1 << 20;

/// Mean latency of reading a line that the NIC wrote, in ns, where memory takes `memory` ns and has the share `missing` of them, and the cache takes `hit`.
#[inline]
fn read_latency(missing: f64, memory: f64, hit: f64) -> f64 {
    missing * memory + (1.0 - missing) * hit
}

/// Units in lines.
fn lines(units: u64) -> f64 {
    float(units) * (1.0 / UNIT as f64)
}

/// Converts a number below 2^63, which takes the processor one instruction.
fn float(units: u64) -> f64 {
    units as i64 as f64
}

/// The larger of two numbers; the second where the first is none. One instruction, where `f64::max`, which treats both alike, takes five.
fn larger(one: f64, other: f64) -> f64 {
    if one > other { one } else { other }
}

/// The smaller, likewise.
fn smaller(one: f64, other: f64) -> f64 {
    if one < other { one } else { other }
}

/// The nearest whole number, of one from 0 to 2^52: an addition, where a conversion that saturates takes ten instructions.
fn whole(number: f64) -> u64 {
    const FIRST: f64 = (1_u64 << 52) as f64; // from which on an `f64` has no fraction
    (number + FIRST).to_bits() - FIRST.to_bits()
}
