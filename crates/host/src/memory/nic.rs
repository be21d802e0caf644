//! One NIC: the stages that it has for itself on the way to memory and back, and its part of the totals.
//!
//! Models: NICs of one machine, each with a buffer, a PCIe link, IIO slots and a way out of its own, that meet in the cache and at
//! the memory controller, and whose flows are read by the same cores. Each may request a throttle level; the strongest is in force.
//! Leaves out: sockets. All NICs hang on the socket of those cores, and no line crosses a link between sockets.

use super::chance::Chance;
use super::controller::Controller;
use super::iio::{HoldTimes, Iio, Line, StepTotals, WriteTiming};
use super::limit::Limit;
use super::llc::Llc;
use super::readers::Readers;
use super::transmit::Transmit;
use super::{MemorySettings, float, lines};
use forebay_units::{Span, Time};

/// State of one NIC's stages.
#[derive(Clone, Debug)]
pub(super) struct Nic {
    pub iio: Iio,
    pub transmit: Transmit,
    /// The throttle level that its law requests.
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
    pub holds: HoldTimes,
    pub landing: WriteTiming,
    pub llc: &'a Llc,
    pub readers: &'a Readers,
    pub line: Line,
    /// How much chance there is in what memory serves.
    pub chance: Chance,
}

/// Lines that a NIC requests from memory in a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct DmaDemand {
    /// Lines read to send, per ns.
    pub sending: f64,
    /// Lines that stood in the line of writes.
    pub waiting: f64,
    /// Lines that join it.
    pub joining: f64,
    /// Lines in slots that go there, or are there.
    pub inside: f64,
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

    /// Lines that this NIC requests from memory in `dt` ps from `at`.
    #[inline(always)] // the one at hand is in the loop of a step, the others are out of it
    pub(super) fn dma_demand(
        &mut self,
        at: Time,
        dt: u64,
        holds: HoldTimes,
        controller: &Controller,
    ) -> DmaDemand {
        let latency = controller.read_latency(self.transmit.unloaded());
        let waiting = self.iio.waiting();
        DmaDemand {
            sending: self.transmit.step(float(dt) * 1e-3, latency),
            waiting,
            joining: self.iio.reach(at + Span::from_ps(dt), holds),
            inside: self.iio.to_memory(),
        }
    }

    /// Moves lines for `dt` ps from `at`.
    #[inline(always)] // as above
    pub(super) fn step(&mut self, at: Time, dt: u64, shared: Shared<'_>) {
        let ns = float(dt) * 1e-3;
        if self.iio.has_backlog() {
            self.backlog += ns;
        }
        let moved = self.iio.step(at, dt, shared.holds, shared.landing, shared.line, shared.chance);
        if moved.full {
            self.full += ns;
        }
        self.limits[self.limit(&moved, &shared) as usize] += ns;
        self.dma += moved.out;
    }

    /// What held payload back in a step, from the NIC on.
    #[inline]
    fn limit(&self, moved: &StepTotals, shared: &Shared<'_>) -> Limit {
        match moved {
            StepTotals { queued: true, starved: true, .. } => Limit::Descriptors,
            StepTotals { queued: true, full: true, .. } => {
                match self.iio.keeps_up(shared.llc.slot_latency(0.0)) {
                    true => Limit::Memory,
                    false => Limit::Slots,
                }
            }
            StepTotals { queued: true, .. } => Limit::Pcie,
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

/// Adds the lines that the other NICs of a machine request to `demand`.
#[cold]
#[inline(never)]
pub(super) fn add_others(
    nics: &mut [Nic],
    at: Time,
    dt: u64,
    holds: HoldTimes,
    controller: &Controller,
    demand: &mut DmaDemand,
) {
    for nic in nics {
        let more = nic.dma_demand(at, dt, holds, controller);
        demand.sending += more.sending;
        demand.waiting += more.waiting;
        demand.joining += more.joining;
        demand.inside += more.inside;
    }
}

/// Moves the lines of the other NICs of a machine.
#[cold]
#[inline(never)]
pub(super) fn step_others(nics: &mut [Nic], at: Time, dt: u64, shared: Shared<'_>) {
    for nic in nics {
        nic.step(at, dt, shared);
    }
}
