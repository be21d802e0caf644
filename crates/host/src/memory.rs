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
//! copies fall on their own instants. Lines are counted in integers of 2^-20 line, so that none is made or lost.
//!
//! `crates/host/tests/oracle.rs` holds it to a model with every line for itself. What it found the fluid to leave out: waits
//! of single lines just below saturation (2 to 5 lines of occupancy); bursts that make cores copy in step (up to 9 lines);
//! the first and last latency of neighbours that come and go within 5 us (rates up to 10 % off; 2 % from 10 us on). Steps of
//! 100 ns make a wait of 80 ns one of 88; neighbours' rates move by less than 1 %.
//!
//! Source: modelling note sections 2 and 3 (equations 1 to 8), form F3. Deviations: a packet is delivered its last line's
//! latency after that line entered, rather than when a share of a well-mixed buffer has left.

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
