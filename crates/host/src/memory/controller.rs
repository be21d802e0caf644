//! The memory controller: reads go first, posted writes and those of the NIC wait in one line for what is left.
//!
//! Models: a constant capacity for reads and writes alike; queueing of reads that grows with load; one line for
//! writes that cores posted and for those of the NIC, and with it the wait `W` that each sees (Little's law); reads held up by
//! a share of that wait.
//! Where a limit is set, a core whose posted writes stand in a longer line is held back itself (the caching agent's
//! back-pressure).
//! Leaves out: banks, rows, channels and the turn between reads and writes: what the capacity is made of. The note's section
//! 7 shows that no published number depends on them.

use super::settings::{ControllerSettings, LINE};

/// Time constant of the loads that admission and read queueing follow, in ns (note, section 2).
const FILTER: f64 = 300.0;

/// Least rate of admission in lines per ns, so that a wait is always finite (note, equation 6).
const LEAST_ADMISSION: f64 = 0.02;

/// Lines per ns that ask for memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Demand {
    /// Reads, of neighbours and of copying.
    pub reads: f64,
    /// Writes that cores post.
    pub posted: f64,
    /// Cores that post.
    pub posting: u32,
    /// Lines of the NIC in slots that have to be admitted; the rest is about them.
    pub inside: f64,
    /// Mean time in a slot if admission did not take any, in ns.
    pub latency: f64,
    /// What they write per ns, as admission is.
    pub dma: f64,
}

impl Demand {
    /// `W` in ns such that writes at `rate` lines per ns serve the line in that time: `queue` posted ones before the last, and
    /// what the NIC writes meanwhile.
    ///
    /// The positive root of `rate W = queue + W dma(W)`, where `dma(W) = inside / (latency + W)`; none of the
    /// NIC's lines wait while `rate` is above `dma(0)`.
    #[inline]
    fn wait(&self, rate: f64, queue: f64) -> f64 {
        let linear = rate * self.latency - (self.inside + queue);
        let constant = queue * self.latency;
        let root = (linear * linear + 4.0 * rate * constant).sqrt();
        // Each form subtracts where it is exact.
        if linear > 0.0 { 2.0 * constant / (linear + root) } else { (root - linear) / (2.0 * rate) }
    }
}

/// State of the controller.
#[derive(Clone, Debug)]
pub(super) struct Controller {
    capacity: f64,     // lines per ns
    per_capacity: f64, // its inverse
    queueing: f64,     // ns
    share: f64,
    posted_limit: Option<f64>,
    reads: f64, // filtered, lines per ns
    load: f64,  // filtered, of capacity
    queue: f64, // posted writes that wait
    wait: f64,
    hold: f64,  // ns that the posted limit adds to reads
    added: f64, // ns that load adds to a read
}

impl Controller {
    pub(super) fn new(settings: &ControllerSettings) -> Self {
        let capacity = settings.bytes_per_sec as f64 / LINE as f64 * 1e-9;
        Self {
            capacity,
            per_capacity: 1.0 / capacity,
            queueing: settings.read_queueing.as_ps() as f64 * 1e-3,
            share: f64::from(settings.read_share_permille) * 1e-3,
            posted_limit: settings.posted_limit.map(f64::from),
            reads: 0.0,
            load: 0.0,
            queue: 0.0,
            wait: 0.0,
            hold: 0.0,
            added: 0.0,
        }
    }

    /// Latency of a core's read that takes `unloaded` ns by itself.
    #[inline]
    pub(super) fn read_latency(&self, unloaded: f64) -> f64 {
        unloaded + self.added
    }

    /// `W` in ns.
    #[inline]
    pub(super) fn wait(&self) -> f64 {
        self.wait
    }

    /// Posted writes that wait, in lines.
    pub(super) fn queue(&self) -> f64 {
        self.queue
    }

    /// Serves `demand` for `dt` ns.
    #[inline]
    pub(super) fn step(&mut self, dt: f64, demand: Demand) {
        let gain = (dt * (1.0 / FILTER)).min(1.0);
        self.reads += (demand.reads - self.reads) * gain;
        let rate = (self.capacity - self.reads).max(LEAST_ADMISSION);
        let room = (rate - demand.dma).max(LEAST_ADMISSION);
        let coming = demand.posted * dt;
        let admitted = (room * dt).min(self.queue + coming);
        self.queue = (self.queue + coming - admitted).max(0.0);
        self.wait = demand.wait(rate, self.queue);
        let load = ((demand.reads + demand.dma + admitted / dt) * self.per_capacity).min(1.0);
        self.load += (load - self.load) * gain;
        if let Some(limit) = self.posted_limit {
            let over = self.queue - limit * f64::from(demand.posting.max(1));
            self.hold = (over / room).max(0.0);
        }
        let others = 1.0 - (self.reads * self.per_capacity).min(0.95);
        self.added = self.queueing * self.load / others + self.share * self.wait + self.hold;
    }

    /// What a step may change.
    #[inline]
    pub(super) fn state(&self) -> [f64; 3] {
        [self.reads, self.load, self.queue]
    }

    /// How much has changed since then, as a share.
    pub(super) fn moved_since(&self, before: [f64; 3]) -> f64 {
        let scale = [self.capacity, 1.0, 1.0 + self.queue];
        let now = self.state();
        (0..3).map(|i| (now[i] - before[i]).abs() / scale[i]).fold(0.0, f64::max)
    }
}
