//! The blocks of a pcapng file.
//!
//! Source: draft-ietf-opsawg-pcapng, sections 3 (blocks, options) and 4. All numbers are little-endian, times are whole
//! nanoseconds since the start of the simulation, and each file has one interface. Wireshark keeps no more than that,
//! and with picoseconds its product of 10^9 and the part of a second overflows 64 bits from 18.4 ms on.

use super::{
    CapturedPort, Frame, MessageFrame, Note, PauseFrame, PortTotals, RoceFrame, host_address,
};
use forebay_units::Time;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const NAMES: u32 = 4;
const STATISTICS: u32 = 5;
const PACKET: u32 = 6;

const COMMENT: u16 = 1;
const LINK_ETHERNET: u16 = 1;

/// Hosts in one block of names, which keeps a block small.
const NAMES_PER_BLOCK: usize = 1024;

/// Appends what a file begins with: section, interface, names of hosts.
pub(crate) fn begin(to: &mut Vec<u8>, port: &CapturedPort, about: &str, hosts: &[(u32, String)]) {
    block(to, SECTION, |to| {
        to.extend_from_slice(&0x1a2b_3c4d_u32.to_le_bytes());
        to.extend_from_slice(&[1, 0, 0, 0]); // version 1.0
        to.extend_from_slice(&u64::MAX.to_le_bytes()); // length not said
        option(to, COMMENT, about.as_bytes());
        option(to, 4, concat!("forebay ", env!("CARGO_PKG_VERSION")).as_bytes());
        end_of_options(to);
    });
    block(to, INTERFACE, |to| {
        to.extend_from_slice(&LINK_ETHERNET.to_le_bytes());
        to.extend_from_slice(&[0, 0]);
        to.extend_from_slice(&(port.snap.get() as u32).to_le_bytes());
        option(to, 2, port.name().as_bytes());
        let what = format!("{}, the port to {}", port.node, port.peer);
        option(to, 3, what.as_bytes());
        option(to, 8, &port.rate.to_le_bytes());
        option(to, 9, &[9]); // times in units of 10^-9 s
        end_of_options(to);
    });
    for hosts in hosts.chunks(NAMES_PER_BLOCK) {
        block(to, NAMES, |to| {
            for (host, name) in hosts {
                let mut record = host_address(*host).to_vec();
                record.extend_from_slice(name.as_bytes());
                record.push(0);
                option(to, 1, &record);
            }
            end_of_options(to); // of the records
        });
    }
}

/// Appends a TCP segment, cut to `snap` bytes.
pub(crate) fn segment(to: &mut Vec<u8>, frame: &Frame, snap: usize) {
    let comment = match frame.note {
        Note::Nothing => None,
        Note::Synthetic { flow } => Some(format!("synthetic handshake of flow {flow}")),
    };
    let about = Packet { at: frame.at, inbound: frame.inbound, drops: frame.drops, comment };
    packet(to, &about, snap, |to| frame.headers(to));
}

/// Appends a packet of a queue pair, cut to `snap` bytes.
pub(crate) fn roce(to: &mut Vec<u8>, frame: &RoceFrame, snap: usize) {
    let about = Packet { at: frame.at, inbound: frame.inbound, drops: frame.drops, comment: None };
    packet(to, &about, snap, |to| frame.bytes(to));
}

/// Appends a packet of a receiver-driven transport, cut to `snap` bytes.
pub(crate) fn message(to: &mut Vec<u8>, frame: &MessageFrame, snap: usize) {
    let about = Packet { at: frame.at, inbound: frame.inbound, drops: frame.drops, comment: None };
    packet(to, &about, snap, |to| frame.bytes(to));
}

/// Appends a pause frame, cut to `snap` bytes.
pub(crate) fn pause(to: &mut Vec<u8>, frame: &PauseFrame, snap: usize) {
    let about = Packet { at: frame.at, inbound: frame.inbound, drops: frame.drops, comment: None };
    packet(to, &about, snap, |to| frame.bytes(to));
}

/// What a block says of any frame.
struct Packet {
    at: Time,
    inbound: bool,
    drops: u32,
    comment: Option<String>,
}

/// A frame whose bytes, or the first of them, `fill` appends, returning how many the whole has.
fn packet(to: &mut Vec<u8>, about: &Packet, snap: usize, fill: impl FnOnce(&mut Vec<u8>) -> usize) {
    block(to, PACKET, |to| {
        to.extend_from_slice(&0u32.to_le_bytes());
        time(to, about.at);
        let lengths = to.len();
        to.extend_from_slice(&[0; 8]);
        let data = to.len();
        let whole = fill(to);
        let kept = whole.min(snap);
        to.resize(data + kept, 0);
        to[lengths..lengths + 4].copy_from_slice(&(kept as u32).to_le_bytes());
        to[lengths + 4..lengths + 8].copy_from_slice(&(whole as u32).to_le_bytes());
        pad(to, kept);
        let direction: u32 = if about.inbound { 1 } else { 2 };
        option(to, 2, &direction.to_le_bytes());
        if about.drops > 0 {
            option(to, 4, &u64::from(about.drops).to_le_bytes());
        }
        if let Some(comment) = &about.comment {
            option(to, COMMENT, comment.as_bytes());
        }
        end_of_options(to);
    });
}

/// Appends what a file ends with: totals of the interface.
pub(crate) fn end(to: &mut Vec<u8>, frames: u64, totals: PortTotals) {
    block(to, STATISTICS, |to| {
        to.extend_from_slice(&0u32.to_le_bytes());
        time(to, totals.end);
        option(to, 5, &totals.dropped.to_le_bytes());
        option(to, 6, &frames.to_le_bytes());
        end_of_options(to);
    });
}

fn time(to: &mut Vec<u8>, at: Time) {
    let ns = at.as_ps() / 1_000;
    to.extend_from_slice(&((ns >> 32) as u32).to_le_bytes());
    to.extend_from_slice(&(ns as u32).to_le_bytes());
}

/// A block: its type, its length, what `fill` puts in, and its length again.
fn block(to: &mut Vec<u8>, kind: u32, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = to.len();
    to.extend_from_slice(&kind.to_le_bytes());
    to.extend_from_slice(&[0; 4]);
    fill(to);
    let length = (to.len() - start + 4) as u32;
    to[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
    to.extend_from_slice(&length.to_le_bytes());
}

fn option(to: &mut Vec<u8>, code: u16, value: &[u8]) {
    to.extend_from_slice(&code.to_le_bytes());
    to.extend_from_slice(&(value.len() as u16).to_le_bytes());
    to.extend_from_slice(value);
    pad(to, value.len());
}

fn end_of_options(to: &mut Vec<u8>) {
    to.extend_from_slice(&[0; 4]);
}

/// Zeros up to the next multiple of four.
fn pad(to: &mut Vec<u8>, length: usize) {
    to.resize(to.len() + length.next_multiple_of(4) - length, 0);
}
