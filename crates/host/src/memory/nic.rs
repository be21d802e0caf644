//! One NIC: the stages that it has for itself on the way to memory and back, and its part of the totals.
//!
//! Models: NICs of one machine, each with a buffer, a PCIe link, IIO slots and a way out of its own, that meet in the cache and at
//! the memory controller, and whose flows are read by the same cores. Each may ask for a throttle level; the strongest is in force.
//! Leaves out: sockets. All NICs hang on the socket of those cores, and no line crosses a link between sockets.

use super::controller::Controller;
use super::iio::{Holds, Iio, Moved};
use super::limit::Limit;
use super::llc::Llc;
use super::readers::Readers;
use super::transmit::Transmit;
use super::{MemorySettings, lines};
use forebay_units::Time;

/// State of one NIC's stages.
#[derive(Clone, Debug)]
pub(super) struct Nic {
    pub iio: Iio,
    pub transmit: Transmit,
    /// The throttle level that it asks for.
    pub level: u8,
    /// Lines written to memory.
    pub dma: f64,
    /// Lines that copying what it received read from memory.
    pub copied: f64,
    /// Time with frames in the buffer, in ns.
    pub backlog: f64,
    /// Time in which slots held it back, in ns.
    pub full: f64,
    /// Time for which each of [`Limit::ALL`] set the pace, in ns.
    pub limits: [f64; Limit::ALL.len()],
}

/// What all NICs of a machine find in a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared<'a> {
    pub holds: Holds,
    /// From a packet's last line entering to the packet in memory, in ns.
    pub landing: f64,
    pub llc: &'a Llc,
    pub readers: &'a Readers,
    pub controller: &'a Controller,
}

impl Nic {
    pub(super) fn new(settings: &MemorySettings) -> Self {
        Self {
            iio: Iio::new(&settings.nic, &settings.pcie, &settings.iio),
            transmit: Transmit::new(&settings.transmit),
            level: 0,
            dma: 0.0,
            copied: 0.0,
            backlog: 0.0,
            full: 0.0,
            limits: [0.0; Limit::ALL.len()],
        }
    }

    /// Moves lines for `dt` ps from `at`. Returns those read to send, per ns.
    #[inline(always)] // the one at hand is in the loop of a step, the others are out of it
    pub(super) fn step(&mut self, at: Time, dt: u64, shared: Shared<'_>) -> f64 {
        let ns = dt as f64 * 1e-3;
        self.backlog += if self.iio.has_backlog() { ns } else { 0.0 };
        let moved = self.iio.step(at, dt, shared.holds, shared.landing);
        self.full += if moved.full { ns } else { 0.0 };
        self.limits[self.limit(&moved, &shared) as usize] += ns;
        self.dma += moved.out;
        let latency = shared.controller.read_latency(self.transmit.unloaded());
        self.transmit.step(ns, latency)
    }

    /// What held payload back in a step, from the NIC on.
    #[inline]
    fn limit(&self, moved: &Moved, shared: &Shared<'_>) -> Limit {
        match moved {
            Moved { queued: true, starved: true, .. } => Limit::Descriptors,
            Moved { queued: true, full: true, .. } => {
                match self.iio.keeps_up(shared.llc.slot_latency(0.0)) {
                    true => Limit::Memory,
                    false => Limit::Slots,
                }
            }
            Moved { queued: true, .. } => Limit::Pcie,
            _ if shared.readers.all_late() => Limit::Copying,
            _ => Limit::Senders,
        }
    }

    /// `ns` in which nothing was carried.
    pub(super) fn rest(&mut self, ns: f64) {
        self.limits[Limit::Senders as usize] += ns;
    }

    /// Whether it carries nothing.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.iio.is_idle() && self.transmit.is_idle()
    }

    /// Lines that memory wrote and read for it.
    pub(super) fn traffic(&self) -> f64 {
        self.dma + self.copied + self.transmit.counters().1
    }

    /// Lines in slots summed over nanoseconds, and lines that entered.
    #[inline]
    pub(super) fn write_counters(&self) -> (f64, f64) {
        (self.iio.occupancy(), lines(self.iio.units()[1]))
    }
}

/// The same for the other NICs of a machine. Returns lines read to send, per ns, and lines in slots that wait for memory.
#[cold]
#[inline(never)]
pub(super) fn step_others(nics: &mut [Nic], at: Time, dt: u64, shared: &Shared<'_>) -> (f64, f64) {
    let (mut sending, mut evicting) = (0.0, 0.0);
    for nic in nics {
        sending += nic.step(at, dt, *shared);
        evicting += nic.iio.evicting();
    }
    (sending, evicting)
}
