//! nicdrop: throttles host-local cores when the NIC drops while memory is busy, on machines that do not show their IIO buffer.
//!
//! hostCC needs to know how many lines wait in the IIO buffer, which few processors count: no AMD, no virtual machine. Every machine counts packets
//! that its NIC drops, and most count what memory moves. A NIC drops for two reasons, though: memory that is busy, or cores that do not keep up.
//! Only the first one gets better when host-local cores are slowed down. So at the end of each `window`:
//!
//!   packets dropped, memory at `memory_busy` or above, no sign of slow cores   one level up
//!   else                                                                     hold; one level down when nothing has asked for more for `lease`
//!
//! A sign of slow cores is a poll of the network stack that ran out of budget (`squeezed`) or a packet that found no receive buffer
//! (`rx_out_of_buffer`). A window begins anew when a level is in force, so that each level is judged by its own drops.
//!
//! It acts after the loss, not before it, and marks nothing: senders hear of the drops themselves. The lowering after `lease` is a probe: if the level
//! was needed, packets are dropped before it comes back. Where lines in the IIO buffer can be read, hostCC is the better law.
//!
//! Source: none, it is not published. The distinction of the two reasons follows hostCC (SIGCOMM 2023), section 2. All constants are Assumptions.
//! Needs: packets dropped by the NIC, signs of slow cores, bytes that memory moved. Acts on levels. State: under 512 bytes per host.
//! Integers only, 64-bit divisions only.

use super::hostcc::scaled;
use super::{Echo, HostAct, HostEvent, HostLaw, HostSeen, HostStart, Reading, Signal, Timeout};
use crate::Acts;
use crate::host_levels::Levels;
use crate::params::{params, whole};
use forebay_units::{BitsPerSec, Span, Time};

params! {
    /// What a scenario may set on nicdrop.
    pub struct NicDropParams {
        /// Memory is busy when it moves this much or more, reads and writes of everybody; hold it against what the machine can do.
        memory_busy: BitsPerSec = BitsPerSec::from_gbps(225) => "Assumption: 0.6 of the 46.9 GB/s of the testbed of hostCC",
        /// Drops in a window that count as congestion.
        drops: Drops = Drops::new(1) => "Assumption: a NIC that is well drops nothing",
        /// Time over which drops and memory are judged together; a longer period of readings takes its place.
        window: Span = Span::from_us(500) => "Assumption: some round trips, and many times the write of a level",
        /// A level above 0 that no window has justified for so long goes down by one; none: levels stay.
        lease: Timeout = Timeout(Some(Span::from_ms(10))) => "Assumption: many windows",
        /// With one of the three counters unread for so long, everything is lifted; none: the last decision stays.
        stale_after: Timeout = Timeout(None) => "Assumption: as in hostCC",
    }
}

whole! {
    /// Packets dropped.
    pub struct Drops: "whole number of packets" from 1 to 1000000;
}

/// No counter rises so much in a window, in packets or kb/s: the counter was reset. Memory: more than any machine of today moves.
const MOST_PACKETS: u64 = 1 << 40;
const MOST_KBPS: u64 = 1_000_000_000_000;

/// What a window has seen so far.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    memory: Option<Reading>, // at its beginning
    dropped: u64,
    slow: u64,
}

/// A counter of events.
#[derive(Clone, Copy, Debug)]
struct EventCounter {
    last: Option<u64>,
    at: Time, // of the last reading, or since when there was none
}

impl EventCounter {
    /// What it rose by.
    fn add(&mut self, now: Time, reading: Reading) -> u64 {
        self.at = now;
        let rise = self.last.replace(reading.raw).map_or(0, |last| reading.raw.wrapping_sub(last));
        if rise < MOST_PACKETS { rise } else { 0 }
    }
}

/// A host under nicdrop.
#[derive(Clone, Debug)]
pub struct NicDrop {
    params: NicDropParams,
    levels: Levels,
    drops: EventCounter,
    slow: EventCounter,
    memory: EventCounter, // only its time counts
    window: Window,
}

impl HostLaw for NicDrop {
    const NAME: &'static str = "nicdrop";
    type Params = NicDropParams;

    fn needs(_: &NicDropParams) -> &'static [Signal] {
        &[Signal::NicDrops, Signal::SlowCpu, Signal::MemoryBytes]
    }

    fn start(params: &NicDropParams, now: Time, at: HostStart, _: &mut Acts<HostAct>) -> Self {
        let counted = EventCounter { last: None, at: now };
        Self {
            params: *params,
            levels: Levels::new(at.max_level, true, params.lease.0, now),
            drops: counted,
            slow: counted,
            memory: counted,
            window: Window::default(),
        }
    }

    fn step(&mut self, now: Time, seen: HostSeen, acts: &mut Acts<HostAct>) {
        match seen.event {
            HostEvent::LevelWritten(level) => {
                self.levels.written(now, level, acts);
                self.window = Window::default();
            }
            HostEvent::LevelFailed => self.levels.failed(now),
            HostEvent::Wake => self.wake(now, acts),
            _ if self.levels.disabled() => {}
            HostEvent::NicDrops(reading) => {
                self.expire(now, acts);
                let rise = self.drops.add(now, reading);
                self.window.dropped = self.window.dropped.saturating_add(rise);
            }
            HostEvent::SlowCpu(reading) => {
                self.expire(now, acts);
                let rise = self.slow.add(now, reading);
                self.window.slow = self.window.slow.saturating_add(rise);
            }
            HostEvent::MemoryBytes(reading) => {
                self.expire(now, acts);
                self.memory.add(now, reading);
                self.judge(now, reading, acts);
            }
            HostEvent::Disable => {
                self.levels.disable(acts);
                acts.push(HostAct::Echo(Echo::Off));
            }
            _ => {}
        }
        let stale = self.stale_from().filter(|_| self.levels.held());
        self.levels.arm(now, stale, acts);
    }
}

impl NicDrop {
    /// The end of a window, if this reading is one.
    fn judge(&mut self, now: Time, reading: Reading, acts: &mut Acts<HostAct>) {
        let Some(begin) = self.window.memory else {
            self.window.memory = Some(reading);
            return;
        };
        let time = reading.at.since(begin.at);
        if time < self.params.window || time == Span::ZERO {
            return;
        }
        let bytes = reading.raw.wrapping_sub(begin.raw);
        let kbps = scaled(bytes, 8_000_000_000, time.as_ps());
        let busy = (self.params.memory_busy.get() / 1000..MOST_KBPS).contains(&kbps);
        let Window { dropped, slow, .. } = self.window;
        self.window = Window { memory: Some(reading), ..Window::default() };
        if busy && slow == 0 && dropped >= self.params.drops.get() {
            self.levels.justify(now);
            self.levels.raise(now, acts);
        } else {
            self.levels.lapse(now, acts);
        }
    }

    /// Time has passed: readings may be stale, and a lease over.
    fn wake(&mut self, now: Time, acts: &mut Acts<HostAct>) {
        if self.levels.woken(now) {
            self.expire(now, acts);
            self.levels.go_on(now, acts);
        }
    }

    /// Lifts everything if a counter was not read for too long, and begins anew.
    fn expire(&mut self, now: Time, acts: &mut Acts<HostAct>) {
        if self.stale_from().is_none_or(|from| from > now) {
            return;
        }
        let counted = EventCounter { last: None, at: now };
        (self.drops, self.slow, self.memory) = (counted, counted, counted);
        self.window = Window::default();
        self.levels.lift(now, acts);
    }

    fn stale_from(&self) -> Option<Time> {
        let after = self.params.stale_after.0.filter(|_| !self.levels.disabled())?;
        Some(self.drops.at.min(self.slow.at).min(self.memory.at).saturating_add(after))
    }
}

#[cfg(test)]
mod tests;
