//! The path from the NIC to memory and to the application, and what else uses that memory.
//!
//! Stages, in a packet's order: NIC buffer and descriptors, PCIe link, IIO slots ([`iio`]), cache under DDIO ([`llc`]), memory
//! controller ([`controller`]), cores that run the stack and copy ([`readers`]); beside them cores of neighbours
//! ([`neighbours`]), and the reads of what the NIC sends ([`transmit`]). A machine may have several NICs ([`nic`]). Every stage has its model card at the top of its file; the numbers are in [`settings`].
//!
//! What couples them is one scalar, the *write-admission wait* `W`: writes of cores are posted, those of the NIC hold a slot
//! until the controller admits them, and both stand in one line. A slot is held for `l_0 + W`, and with a backlog all slots
//! are held, so the NIC drains at `slots / (l_0 + W)`; reads see a share `g` of `W`. The rest follows from closed loops.
//!
//! Form: amounts move in steps of at most [`STEP`], each with the rates at its beginning; arrivals, deliveries and finished
//! copies fall on their own instants. Lines are counted in integers of 2^-20 line, so that none is made or lost, and cross the
//! slots and the line of writes in order ([`curve`]).
//!
//! `crates/host/tests/oracle.rs` holds it to a model with every line for itself, and lists what misses its bounds: 10 of 1,160
//! comparisons. Left out are that cores may copy in bunches (3 lines of occupancy), the first latency of neighbours that come and go within
//! 2 us (3 % of what they draw), and swings of many neighbours' load (14 % of the NIC's rate with twelve cores).
//!
//! Source: modelling note sections 2 and 3 (equations 1 to 8). Deviations: it mixes lines in slots well, here they leave in
//! order; it has no wait below saturation ([`controller`]); a packet is delivered its last line's latency after that line
//! entered, as the wait was then.

mod chance;
mod controller;
mod curve;
mod iio;
mod limit;
mod llc;
mod neighbours;
mod nic;
mod nics;
mod path;
mod readers;
pub mod settings;
mod transmit;

pub use iio::Landed;
pub use limit::Limit;
pub use nics::Nics;
pub use path::{MemoryPath, Now, Read, STEP, Totals};
pub use settings::MemorySettings;

/// Fixed-point units of a line.
const UNIT: u64 = 1 << 20;

/// Units in lines.
fn lines(units: u64) -> f64 {
    float(units) * (1.0 / UNIT as f64)
}

/// The same number, of less than 2^63: such a one takes the processor one instruction.
fn float(units: u64) -> f64 {
    units as i64 as f64
}
