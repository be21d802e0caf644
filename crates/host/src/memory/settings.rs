//! What a host's path to memory is made of: one value for each stage, with its source.
//!
//! The defaults are the testbed of hostCC (SIGCOMM 2023): Cascade Lake with two memory channels, a 100 Gb/s ConnectX-5 on
//! PCIe 3.0 x16. Sources: "paper" is that paper, "module" its authors' kernel module, "the host-network study" Vuppalapati et al.,
//! Understanding the Host Network (SIGCOMM 2024), measured in the same laboratory.
//!
//! These types are the table `host.memory` of scenarios too: doc comments of fields with a key are what its users read, and a
//! field without one is skipped.

mod text;

use super::buffers::{Capacity, Refresh, Reuse};
use forebay_units::{BitsPerSec, Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes of a cache line, the unit of everything behind the PCIe link.
pub const LINE: u64 = 64;

/// The whole path. Every default is one of the testbed's.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct MemorySettings {
    /// Where packets wait for PCIe.
    #[serde(flatten)]
    pub nic: NicSettings,
    /// Between NIC and IIO.
    #[serde(flatten)]
    pub pcie: PcieSettings,
    /// Slots for lines on their way to memory.
    #[serde(flatten)]
    pub iio: IioSettings,
    /// Translation of the addresses that the NIC writes to.
    #[serde(flatten)]
    pub iommu: IommuSettings,
    /// Cache that the NIC writes into; `None`: it writes to memory (DDIO off).
    #[serde(flatten, with = "text::ddio")]
    #[schemars(with = "text::DdioKeys")]
    pub ddio: Option<DdioSettings>,
    /// The memory controller.
    #[serde(flatten)]
    pub controller: ControllerSettings,
    /// Cores that run the stack and copy to applications.
    #[serde(flatten)]
    pub readers: ReaderSettings,
    /// What the NIC reads to send.
    #[serde(flatten)]
    pub transmit: TransmitSettings,
    /// Levels that throttle antagonists. Level 0 does nothing, the next levels slow cores, the last ones stop them.
    pub throttle: ThrottleSettings,
    /// Antagonists: applications that compete for the same memory. Default: none.
    #[serde(rename = "antagonist", skip_serializing_if = "Vec::is_empty")]
    pub antagonists: Vec<AntagonistSettings>,
}

impl MemorySettings {
    /// The first of what NICs of one machine have in common that is not the same in both, in words: all but `nic`, `pcie`, the slots of
    /// `iio`, and `transmit`.
    pub fn differs(&self, other: &Self) -> Option<&'static str> {
        let iio = |of: &Self| (of.iio.latency, of.iio.clock_hz);
        let pairs = [
            ("slot latency", iio(self) == iio(other)),
            ("IOMMU", self.iommu == other.iommu),
            ("cache", self.ddio == other.ddio),
            ("memory controller", self.controller == other.controller),
            ("cores that copy", self.readers == other.readers),
            ("throttle", self.throttle == other.throttle),
            ("antagonists", self.antagonists == other.antagonists),
        ];
        pairs.into_iter().find(|pair| !pair.1).map(|pair| pair.0)
    }
}

/// NIC buffer and descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct NicSettings {
    /// Bytes of frames that the NIC holds, 64KiB or more; a frame that does not fit is dropped. Default: 384KB (our choice: the
    /// published tail of 60 to 100 us bounds it to 340 to 565 KB).
    // Room comes back line by line as frames go over PCIe (paper 2.1: a packet leaves the buffer as its DMA begins).
    #[serde(rename = "nic_buffer")]
    pub buffer: Bytes,
    /// Free bytes of the buffer below which the NIC refuses every frame, however short, nic_buffer at most; 0B: a frame that fits is taken. Default: 0B (our choice: no
    /// source says what NICs do; 9KB lose short frames as often as long ones, as in figure 4 of hostCC).
    #[serde(rename = "nic_refuse_below")]
    pub refuse_below: Bytes,
    /// Frames in memory that the stack has not taken yet; beyond it the NIC waits. Default: 4096, four queues of a driver's 1024.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub descriptors: u32,
}

impl Default for NicSettings {
    fn default() -> Self {
        Self { buffer: Bytes::new(384_000), refuse_below: Bytes::ZERO, descriptors: 4096 }
    }
}

/// The PCIe link. Latency of the wire itself belongs to the cable's delay: posted writes are pipelined, and the credits
/// that can run out are those of the IIO: the paper measures 93 lines there, all that there are, so lines on the wire hold none.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct PcieSettings {
    /// Rate of PCIe after line coding. Default: 126.03Gbps (16 lanes of 8 GT/s, 128b/130b).
    #[serde(rename = "pcie_rate")]
    pub rate: BitsPerSec,
    /// Payload of a full PCIe transaction packet, 64B to 4096B; each adds 26 B. Default: 256B.
    #[serde(rename = "pcie_payload", with = "text::size")]
    #[schemars(with = "Bytes")]
    pub tlp_payload: u32,
    /// Bytes that each transaction packet adds: framing 4, header 16, LCRC 4, sequence 2.
    #[serde(skip)]
    pub tlp_overhead: u32,
    /// Share of the link that acknowledgements, credit updates and descriptor reads take, in thousandths.
    ///
    /// Assumption: 38, so that 110 Gb/s are left for payload (105 to 115 are plausible).
    #[serde(skip)]
    pub management_permille: u32,
}

impl Default for PcieSettings {
    fn default() -> Self {
        Self {
            rate: BitsPerSec::new(126_030_000_000),
            tlp_payload: 256,
            tlp_overhead: 26,
            management_permille: 38,
        }
    }
}

impl PcieSettings {
    /// What is left for payload.
    pub fn payload_rate(&self) -> BitsPerSec {
        let (payload, packet) =
            (u64::from(self.tlp_payload), u64::from(self.tlp_payload + self.tlp_overhead));
        let left = u64::from(1000 - self.management_permille);
        BitsPerSec::new(
            (u128::from(self.rate.get() * left / 1000) * u128::from(payload) / u128::from(packet))
                as u64,
        )
    }
}

/// The IIO buffer.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct IioSettings {
    /// Lines of 64 B on their way to memory, which are the PCIe credits, 1 or more. Default: 93 (hostCC, figure 8).
    #[serde(rename = "iio_slots")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub slots: u32,
    /// Time for which a line holds its slot without DDIO and with nothing in the way, 1ns to 1ms. Default: 323ns (65 lines at 103
    /// Gb/s: hostCC, figure 8).
    #[serde(rename = "iio_latency")]
    pub latency: Span,
    /// Clock of its occupancy counter. 500 MHz (paper 4.1).
    #[serde(skip)]
    pub clock_hz: u64,
}

impl Default for IioSettings {
    fn default() -> Self {
        Self { slots: 93, latency: Span::from_ns(323), clock_hz: 500_000_000 }
    }
}

/// The IOMMU. What the NIC writes to a page whose translation is not at hand waits in its slot for a walk through the page tables.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct IommuSettings {
    /// Time of a walk through the page tables of the IOMMU, at most 1ms. Lines wait this long in their slots if the translation of their page is not cached.
    /// Default: 0us, no IOMMU.
    #[serde(rename = "iommu_walk", skip_serializing_if = "is_no_time")]
    pub walk: Span,
    /// With iommu_walk: translations that the IOMMU caches (IOTLB). Default: 128 (our choice).
    #[serde(rename = "iommu_entries", skip_serializing_if = "is_usual_entries")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub entries: u32,
    /// With iommu_walk: bytes of a page that receive buffers are in, 4KiB to 1GiB. Default: 4KiB; with 2MiB some buffers share a page.
    #[serde(rename = "iommu_page", skip_serializing_if = "is_usual_page")]
    pub page: Bytes,
}

impl Default for IommuSettings {
    fn default() -> Self {
        Self { walk: Span::ZERO, entries: 128, page: Bytes::new(4096) }
    }
}

fn is_no_time(of: &Span) -> bool {
    *of == Span::ZERO
}

fn is_usual_entries(of: &u32) -> bool {
    *of == IommuSettings::default().entries
}

fn is_usual_page(of: &Bytes) -> bool {
    *of == IommuSettings::default().page
}

/// Direct cache access. A line is written into a share of the last-level cache; with probability `miss` it pushes out
/// a dirty one, which must be admitted by the memory controller first, and is itself pushed out before it is read.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct DdioSettings {
    /// With DDIO: time for which a line that evicts nothing holds its slot, 1ns to 1ms. Default: 151ns.
    #[serde(rename = "ddio_hit")]
    pub hit: Span,
    /// With DDIO: time added for a line that evicts another, at most 1ms. Default: 99ns (our choice: with ddio_hit it gives the 224
    /// ns of hostCC, section 5.2).
    #[serde(rename = "ddio_eviction")]
    pub eviction: Span,
    /// With DDIO: size of the last-level cache. Default: 24.75MB (Xeon 6234).
    pub cache: Bytes,
    /// With DDIO: ways of the last-level cache. Default: 11.
    #[schemars(range(min = 1, max = 1024))]
    pub cache_ways: u32,
    /// With DDIO: ways that the NIC may fill, at most cache_ways. Default: 2.
    #[serde(rename = "ddio_ways")]
    #[schemars(range(min = 1, max = 1024))]
    pub ways: u32,
    /// With DDIO: model of what the cache holds. Default: "share".
    #[serde(rename = "cache_model", skip_serializing_if = "CacheModel::is_default")]
    pub model: CacheModel,
    /// With DDIO: latency of a line that a core reads and that hits the cache, 1ns to 1ms. Default: 20ns (our choice: some 65 cycles at 3.3 GHz).
    #[serde(skip_serializing_if = "is_usual_cache_latency")]
    pub cache_latency: Span,
    /// With cache_model = "buffers": receive queue of the host, or of each of its flows. No default.
    #[serde(rename = "rq", skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueSettings>,
    /// Receive buffers that it cycles through, per core: [`RING`].
    #[serde(skip)]
    pub buffers: u32,
}

impl Default for DdioSettings {
    fn default() -> Self {
        Self {
            hit: Span::from_ns(151),
            eviction: Span::from_ns(99),
            cache: Bytes::new(24_750_000),
            cache_ways: 11,
            ways: 2,
            cache_latency: CACHE_LATENCY,
            model: CacheModel::Share,
            queue: None,
            buffers: RING,
        }
    }
}

/// Assumption: some 65 cycles at 3.3 GHz.
pub(super) const CACHE_LATENCY: Span = Span::from_ns(20);

fn is_usual_cache_latency(of: &Span) -> bool {
    *of == CACHE_LATENCY
}

/// Receive buffers of a queue, of which each core has one: a driver's descriptors.
pub const RING: u32 = 1024;

impl DdioSettings {
    /// Bytes of the cache that the NIC may fill.
    pub fn share(&self) -> u64 {
        self.cache.get() / u64::from(self.cache_ways) * u64::from(self.ways)
    }
}

/// Model of a last-level cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CacheModel {
    /// One share of misses for writes and reads: what of the buffers in use does not fit the ways of the NIC.
    #[default]
    Share,
    /// The buffers of rq one by one, the least recently used first out (CARC, APNet 2025).
    Buffers,
}

impl CacheModel {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The receive queue of a host or of each flow, and how its buffers are kept in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct QueueSettings {
    /// Number of buffers, of each queue. No default.
    #[schemars(range(min = 1, max = 4_000_000))]
    pub depth: u32,
    /// Bytes of a buffer, 64B to 64KiB; a larger frame takes several. No default.
    pub buffer: Bytes,
    /// Whether all flows take buffers from one queue (a shared receive queue); otherwise each has one of its own, from its first frame on. Default: true.
    #[serde(default = "shared", skip_serializing_if = "is_shared")]
    pub shared: bool,
    /// Order in which buffers that were read are filled again, "fifo" or "lifo". Default: "fifo", a ring.
    #[serde(default)]
    pub reuse: Reuse,
    /// Accesses that make a buffer young in the cache, "write" or "both". Default: "write" (our choice: the paper does not say).
    #[serde(default)]
    pub refresh: Refresh,
    /// Bytes of a second set of buffers of each flow, where cores assemble messages of more than one packet: it takes cache too. Default:
    /// none; cores read messages where the NIC wrote them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assemble: Option<Bytes>,
    /// Fate of data for which no buffer is posted, "wait" or "nak" ("Receiver not Ready"). Then frames without data take no buffer, as
    /// with RDMA. Default: the stack posts another buffer, as TCP's does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rnr: Option<Rnr>,
    /// Order in which a core reads waiting data, "arrival" or "round-robin". Default: "arrival" (our choice), as from one completion queue.
    #[serde(default, skip_serializing_if = "Poll::is_usual")]
    pub poll: Poll,
}

/// Order in which a core reads waiting data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Poll {
    /// Oldest data first, of any flow.
    #[default]
    Arrival,
    /// One delivery of each flow in turn, of the flows with waiting data.
    RoundRobin,
}

impl Poll {
    /// Whether it is the default.
    pub fn is_usual(&self) -> bool {
        *self == Self::Arrival
    }
}

fn shared() -> bool {
    true
}

fn is_shared(shared: &bool) -> bool {
    *shared
}

/// Fate of data for which no receive buffer is posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rnr {
    /// Data waits in the NIC buffer, and so do packets behind it.
    Wait,
    /// The NIC refuses it, and what the flow sends behind it, with one RNR NAK; the sender repeats from there after transport.rnr_timer. Data that
    /// does not come over RDMA gets another buffer.
    Nak,
}

impl QueueSettings {
    /// Buffers that the cache and its DDIO ways hold. A buffer takes whole lines.
    pub fn capacity(&self, ddio: &DdioSettings) -> Capacity {
        let buffer = self.buffer.get().next_multiple_of(LINE);
        let buffers = |bytes: u64| u32::try_from(bytes / buffer).unwrap_or(u32::MAX);
        Capacity { cache: buffers(ddio.cache.get()), ddio: buffers(ddio.share()) }
    }
}

/// The memory controller.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct ControllerSettings {
    /// Rate that memory serves at saturation. Default: 278.4Gbps, which is 34.8 GB/s (hostCC, section 2.2).
    // Bytes per second: an antagonist alone at three cores draws so much.
    #[serde(rename = "bandwidth", with = "text::bytes_per_sec")]
    #[schemars(with = "BitsPerSec")]
    pub bytes_per_sec: u64,
    /// Latency of a read by a core of the NIC's socket, unloaded, 1ns to 1ms. Default: 70ns (Vuppalapati et al., SIGCOMM 2024).
    pub local_read: Span,
    /// Latency of a read by a core of another socket, unloaded, 1ns to 1ms. Default: 137ns (our choice).
    pub remote_read: Span,
    /// Queueing delay of reads: this, times load, over one less the load of reads; at most 1ms. Default: 21.5ns (two cores alone draw
    /// 28.7 GB/s).
    pub read_queueing: Span,
    /// Share of the wait of writes that a read sees. Default: 0.17 (fitted to the 43 Gb/s of hostCC with three antagonist cores;
    /// Vuppalapati et al., SIGCOMM 2024, give 0.08 to 0.15).
    // In thousandths.
    #[serde(rename = "read_share", with = "text::thousandths")]
    #[schemars(with = "f64", range(min = 0, max = 1))]
    pub read_share_permille: u32,
    /// Posted writes of one core before the caching agent holds it back. Default: any number.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub posted_limit: Option<u32>,
}

impl Default for ControllerSettings {
    fn default() -> Self {
        Self {
            bytes_per_sec: 34_800_000_000,
            local_read: Span::from_ns(70),
            remote_read: Span::from_ns(137),
            read_queueing: Span::from_ps(21_500),
            read_share_permille: 170,
            posted_limit: None,
        }
    }
}

/// Cores beside the NIC that run protocol work and copy. Flows are dealt to them in order of their first packet.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct ReaderSettings {
    /// Cores that run the stack and copy; flows are dealt to them in turn. Default: 8 (hostCC, section 2.2).
    #[schemars(range(min = 1, max = 4096))]
    pub cores: u32,
    /// Protocol work for one packet of the wire, at most 1ms. Default: 116ns (our choice: 15 % of the cost of a packet of 4,000 B without
    /// reading memory).
    pub per_packet: Span,
    /// Protocol work and copying for 1,000 bytes, without waits for memory, at most 1ms. Default: 166ns (our choice: four cores just
    /// reach 100 Gb/s).
    pub per_kilobyte: Span,
    /// Lines that a copy reads at once. Default: 13 (our choice).
    #[serde(rename = "copy_lines")]
    #[schemars(range(min = 1, max = 4096))]
    pub lines_in_flight: u32,
    /// Lines that a copy reads from memory for each line of payload. Default: 1.046 (2.1 bytes of memory traffic for a byte
    /// received, less what DMA writes: hostCC, section 4.2).
    // In thousandths.
    #[serde(rename = "copy_reads", with = "text::thousandths")]
    #[schemars(with = "f64", range(min = 0, max = 100))]
    pub reads_permille: u32,
    /// Order in which a core works and reads what it copies. Default: "evenly" (our choice; with "in-bunches" slots hold up to three
    /// lines more or less).
    pub copying: Copying,
    /// Whether cores read the data that RDMA and receiver-driven transports place in memory. With false data belongs to the application
    /// as soon as it is in memory. Default: false.
    #[serde(rename = "read_placed", skip_serializing_if = "std::ops::Not::not")]
    pub reads_placed: bool,
    /// Hardware threads of a core, 1 or 2. With 2, `cores` counts threads: thread i and thread i + cores / 2 are one core. Default: 1.
    #[serde(skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = 2))]
    pub smt: u32,
    /// With smt = 2: speed of a thread while its sibling works, as a share of its speed alone, in work that does not wait for memory.
    /// Default: 0.6 (our choice: two threads do 1.2 times the work of one).
    // In thousandths.
    #[serde(rename = "smt_share", with = "text::thousandths")]
    #[schemars(with = "f64", range(min = 0.001, max = 1))]
    pub smt_share_permille: u32,
    /// With smt = 2: thread of each flow, and so which flows share a core. Default: "entry".
    #[serde(skip_serializing_if = "SmtOrder::is_default")]
    pub smt_order: SmtOrder,
}

fn is_one(threads: &u32) -> bool {
    *threads == 1
}

/// Thread of each flow of a host whose cores have two. All but "entry" deal threads before the run, by the order of [[traffic]] and of the flows in an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SmtOrder {
    /// In turn as the first data of each flow arrives. Which flows share a core may depend on the seed.
    #[default]
    Entry,
    /// Each core gets one flow before any gets two: flows of a late entry share cores with flows of the first.
    Mixed,
    /// Flows next to each other share a core: flows of the same entry do.
    Alike,
    /// Each core gets one flow before any gets two, the last entry first. Flows of the first entry share cores with each other where they can.
    Spread,
}

impl SmtOrder {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Thread of flow number `flow` of `flows`, where cores have `threads` together: thread i and thread i + threads / 2 are one core.
    pub fn thread(self, flow: u32, flows: u32, threads: u32) -> u32 {
        let cores = (threads / 2).max(1);
        match self {
            Self::Entry | Self::Mixed => flow % threads,
            Self::Alike => flow / 2 % cores + flow % 2 * cores,
            Self::Spread => {
                let from_last = (flows - 1 - flow) % threads;
                if from_last < cores { from_last } else { cores + threads - 1 - from_last }
            }
        }
    }
}

/// How a core reads the lines of what it copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Copying {
    /// Line after line, with the work for each byte between them.
    #[default]
    Evenly,
    /// Reads follow all work: as many at once as may be in flight, and one more for each that is back.
    InBunches,
}

impl Default for ReaderSettings {
    fn default() -> Self {
        Self {
            cores: 8,
            per_packet: Span::from_ns(116),
            per_kilobyte: Span::from_ns(166),
            lines_in_flight: 13,
            reads_permille: 1046,
            copying: Copying::Evenly,
            reads_placed: false,
            smt: 1,
            smt_share_permille: 600,
            smt_order: SmtOrder::Entry,
        }
    }
}

/// Reads of what the NIC sends.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct TransmitSettings {
    /// Lines that the NIC reads at once to send, 1 or more. Default: 256 (our choice: more than the 190 that hostCC's module calls
    /// congested).
    #[serde(rename = "send_slots")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub slots: u32,
    /// Latency of a read of memory by the NIC, there and back, unloaded, 1ns to 1ms. Default: 700ns (our choice: 141 lines at 103
    /// Gb/s).
    #[serde(rename = "send_latency")]
    pub latency: Span,
}

impl Default for TransmitSettings {
    fn default() -> Self {
        Self { slots: 256, latency: Span::from_ns(700) }
    }
}

/// How antagonists are held back, level by level. 0 is none at all; the last level stops them.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct ThrottleSettings {
    /// Effect of a slowing level. Default: "sockets".
    pub actuator: Actuator,
    /// Number of levels that slow cores. Default: 3 (hostCC's module).
    #[schemars(range(min = 0, max = 100))]
    pub slowing: u8,
    /// Number of levels above the slowing ones that stop cores: the j-th of m stops them for j/m of the time. Default: 1.
    #[schemars(range(min = 0, max = 100))]
    pub pausing: u8,
    /// Period of a partial stop, 1us or more. Default: 50us.
    pub pause_period: Span,
    /// Latency that the strongest setting of the hardware adds to each miss, at most 1ms. Default: 290ns (fitted to the 77 Gb/s of hostCC,
    /// figure 9).
    pub delay: Span,
    /// Time from a decision to its effect, at most 1ms. Default: 22us (hostCC, section 4.2).
    pub write: Span,
}

impl Default for ThrottleSettings {
    fn default() -> Self {
        Self {
            actuator: Actuator::Sockets,
            slowing: 3,
            pausing: 1,
            pause_period: Span::from_us(50),
            delay: Span::from_ns(290),
            write: Span::from_us(22),
        }
    }
}

impl ThrottleSettings {
    /// The strongest level.
    pub fn max_level(&self) -> u8 {
        self.slowing + self.pausing
    }
}

/// Effect of a slowing level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Actuator {
    /// Level k of n: the strongest hardware delay on the cores of the first k of n sockets, as hostCC's module.
    Sockets,
    /// Level k of n: k/n of the strongest delay on every core, in the hardware's steps of a tenth (hostCC, section 4.2).
    Delay,
    /// Level k of n: every core is held to 1 - k/(n+1) of the rate that it would have alone, as AMD's bandwidth limits.
    Cap,
}

/// Cores that read and write memory as fast as their lines in flight let them: closed loops.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct AntagonistSettings {
    /// Number of cores, 0 for none; core i is on socket i modulo the number of sockets that a level can slow.
    #[schemars(range(min = 0, max = 4096))]
    pub cores: u32,
    /// Lines that a core reads at once. Default: 18.7 (16.0 GB/s for one core alone: hostCC, section 2.2; above the 10 to 12
    /// fill buffers because of prefetching).
    // In thousandths, as the next.
    #[serde(rename = "lines", default = "lines", with = "text::thousandths")]
    #[schemars(with = "Option<f64>", range(min = 0, max = 4096))]
    pub lines_in_flight_milli: u32,
    /// Lines written for each line read. Default: 1 (hostCC).
    #[serde(rename = "writes", default = "writes", with = "text::thousandths")]
    #[schemars(with = "Option<f64>", range(min = 0, max = 100))]
    pub writes_permille: u32,
    /// Share of the lines read that go to the cache of receive buffers (cache_model = "buffers"), where each takes the place of the oldest; from 0 to 1.
    /// Default: 0, reads that pass the cache by.
    #[serde(
        rename = "cached",
        default,
        with = "text::thousandths",
        skip_serializing_if = "is_zero"
    )]
    #[schemars(with = "Option<f64>", range(min = 0, max = 1))]
    pub cached_permille: u32,
    /// Whether the cores are on the NIC's socket. Default: false.
    #[serde(default)]
    pub local: bool,
    /// Work and rest in turn from `start` on; `None`: no rest.
    #[serde(flatten, with = "text::rests")]
    #[schemars(with = "text::RestKeys")]
    pub rests: Option<(Span, Span)>,
    /// Time at which the work begins. Default: 0us.
    #[serde(default)]
    pub start: Span,
    /// Memory bandwidth over time, from `start` on: the cores draw that much, reads and writes together, or what memory lets them have if that is less. Path of a
    /// recording of forebay-agent, whose memory counters are played, or pairs [microseconds, GB/s from then on]. Behind the end of a recording they rest. Give it cores
    /// enough: one draws at most 16 GB/s. Not with on and off. Default: as fast as they can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}

/// Memory bandwidth over time.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Trace {
    /// Path of a recording of forebay-agent: its folder, or the signals.csv in it.
    Path(String),
    /// Pairs of microseconds since the start and GB/s from then on.
    Steps(Vec<(f64, f64)>),
}

impl Trace {
    /// GB/s, so long after the start, and how long after it this ends. A path stands for nothing.
    pub fn at(&self, since: Span) -> (f64, Option<Span>) {
        let Self::Steps(steps) = self else { return (0.0, None) };
        let after = |us: f64| Span::from_ps((us * 1e6).round() as u64);
        let nth = steps.partition_point(|(us, _)| after(*us) <= since);
        let rate = nth.checked_sub(1).map_or(0.0, |last| steps[last].1);
        (rate, steps.get(nth).map(|(us, _)| after(*us)))
    }
}

fn is_zero(of: &u32) -> bool {
    *of == 0
}

fn lines() -> u32 {
    18_700
}

fn writes() -> u32 {
    1000
}

impl Default for AntagonistSettings {
    fn default() -> Self {
        Self {
            cores: 1,
            lines_in_flight_milli: lines(),
            writes_permille: writes(),
            cached_permille: 0,
            local: false,
            rests: None,
            start: Span::ZERO,
            trace: None,
        }
    }
}
