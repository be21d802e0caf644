//! The memory controller: reads go first, posted writes and those of the NIC wait in one line for what is left.
//!
//! Models: a constant capacity for reads and writes alike; queueing of reads that grows with load, and a line of those that memory cannot serve yet; one line of writes, first come first
//! served, for writes that cores posted and for those of the NIC, and with it the wait `W` that each sees (Little's law); reads
//! held up by a share of what that line takes to be served. Below saturation too, writes wait for reads and for each other: as
//! often as lines that come by chance make them.
//! Where a limit is set, a core whose posted writes stand in a longer line is held back itself (the caching agent's
//! back-pressure).
//! Leaves out: banks, rows, channels and the turn between reads and writes: what the capacity is made of. The note's section
//! 7 shows that no published number depends on them.
//!
//! The line below saturation is that of [`super::chance`], behind reads, which have priority (Cobham 1954).

use super::chance::{self, Chance};
use super::iio::Line;
use super::recent::Recent;
use super::settings::{ControllerSettings, LINE};
use super::{larger, smaller};

/// Least rate of admission in lines per ns, so that a wait is always finite (note, equation 6). Reads leave so much to writes that wait.
const LEAST_ADMISSION: f64 = 0.02;

/// Share of the capacity that reads never take, where that is less. It is that of the default: slower memory admits writes in proportion.
const LEAST_SHARE: f64 = 0.05;

/// Demand for memory in a step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Demand {
    /// Reads, of antagonists and of copying, in lines per ns.
    pub reads: f64,
    /// Writes that cores post, in lines per ns.
    pub posted: f64,
    /// Cores that post.
    pub posting: u32,
    /// Lines of NICs that join the line of writes.
    pub joining: f64,
    /// Lines of NICs that stood in it.
    pub waiting: f64,
    /// How much chance there is in what comes.
    pub chance: Chance,
}

/// State of the controller.
#[derive(Clone, Debug)]
pub(super) struct Controller {
    capacity: f64,     // lines per ns
    per_capacity: f64, // its inverse
    least: f64,        // rate of admission
    queueing: f64,     // ns
    share: f64,
    posted_limit: Option<f64>,
    behind: f64, // reads that wait, in lines
    recent: Recent,
    reads: f64,  // of late, lines per ns
    load: f64,   // of late, of capacity
    line: f64,   // writes that wait
    joined: f64, // writes that came since the beginning
    wait: f64,
    hold: f64,  // ns that the posted limit adds to reads
    drain: f64, // ns that the line of writes adds to a read
    added: f64, // ns that load adds to a read, all told
}

impl Controller {
    pub(super) fn new(settings: &ControllerSettings) -> Self {
        let capacity = settings.bytes_per_sec as f64 / LINE as f64 * 1e-9;
        Self {
            capacity,
            per_capacity: 1.0 / capacity,
            least: smaller(LEAST_ADMISSION, LEAST_SHARE * capacity),
            queueing: settings.read_queueing.as_ps() as f64 * 1e-3,
            share: f64::from(settings.read_share_permille) * 1e-3,
            posted_limit: settings.posted_limit.map(f64::from),
            behind: 0.0,
            recent: Recent::new(),
            reads: 0.0,
            load: 0.0,
            line: 0.0,
            joined: 0.0,
            wait: 0.0,
            hold: 0.0,
            drain: 0.0,
            added: 0.0,
        }
    }

    /// Latency of a core's read that takes `unloaded` ns by itself.
    #[inline]
    pub(super) fn read_latency(&self, unloaded: f64) -> f64 {
        larger(unloaded + self.added, self.behind * self.per_capacity)
    }

    /// How much less of that the reads of a core see that come `lines` at once, one such bunch after the other: while one is served, the line
    /// of writes grows by as long, and that is gone when the next comes.
    #[inline]
    pub(super) fn between_bunches(&self, lines: f64) -> f64 {
        smaller(self.drain, self.share * 0.5 * lines * self.per_capacity)
    }

    /// `W` in ns.
    #[inline]
    pub(super) fn wait(&self) -> f64 {
        self.wait
    }

    /// Reads that wait, in lines.
    #[inline]
    pub(super) fn behind(&self) -> f64 {
        self.behind
    }

    /// Writes that wait, in lines.
    pub(super) fn line(&self) -> f64 {
        self.line
    }

    /// Serves `demand` for `dt` ns.
    #[inline]
    pub(super) fn step(&mut self, dt: f64, demand: Demand) -> Line {
        self.hold_back(&demand);
        let coming = demand.posted * dt + demand.joining;
        let all = self.line + coming;
        let reads = self.read(dt, demand.reads, smaller(self.least, all / dt));
        self.recent.go_on(dt);
        self.reads = self.recent.serve::<0>(reads * dt);
        let rate = larger(self.capacity - self.reads, self.least);
        let left = 1.0 - smaller(self.reads * self.per_capacity, 0.95);
        let free = larger(self.capacity - reads, 0.0) * dt;
        let before = self.joined;
        self.joined += coming;
        let by_chance = demand.chance.share(self.line);
        let alone = by_chance * demand.chance.beta(self.per_capacity / left);
        self.line = chance::left(all, free, alone);
        self.wait = (self.line + alone) / rate;
        let served = self.recent.serve::<1>(reads * dt + all - self.line);
        self.load = smaller(served * self.per_capacity, 1.0);
        self.drain = self.share * (1.0 - by_chance) * self.line / rate;
        self.added = self.queueing * self.load / left + self.drain + self.hold;
        Line { before, joined: self.joined, served: self.joined - self.line }
    }

    /// Reads per ns that are served for `dt` ns, where `reads` come: no more than all that can be, less what is left to writes.
    #[inline]
    fn read(&mut self, dt: f64, reads: f64, left: f64) -> f64 {
        let most = self.capacity - left;
        if reads <= most && self.behind == 0.0 {
            return reads;
        }
        let demand = self.behind + (reads - most) * dt;
        self.behind = demand.max(0.0);
        most + (demand - self.behind) / dt
    }

    /// Sets what the posted limit adds to reads, as the line stands.
    #[inline]
    fn hold_back(&mut self, demand: &Demand) {
        if let Some(limit) = self.posted_limit {
            let posted = self.line - demand.waiting;
            let over = posted - limit * f64::from(demand.posting.max(1));
            self.hold = if over > 0.0 { over / posted * self.wait } else { 0.0 };
        }
    }

    /// What a step may change.
    #[inline]
    pub(super) fn state(&self) -> [f64; 3] {
        [self.reads, self.load, self.line]
    }

    /// How much has changed since then, as a share.
    pub(super) fn moved_since(&self, before: [f64; 3]) -> f64 {
        let scale = [self.capacity, 1.0, 1.0 + self.line];
        let now = self.state();
        (0..3).map(|i| (now[i] - before[i]).abs() / scale[i]).fold(0.0, f64::max)
    }
}
