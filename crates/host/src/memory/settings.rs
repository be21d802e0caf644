//! What a host's path to memory is made of: one value for each stage, with its source.
//!
//! The defaults are the testbed of hostCC (SIGCOMM 2023): Cascade Lake with two memory channels, a 100 Gb/s ConnectX-5 on
//! PCIe 3.0 x16. Sources: "paper" is that paper, "module" its authors' kernel module, "the host-network study" Vuppalapati et al.,
//! Understanding the Host Network (SIGCOMM 2024), measured in the same laboratory.
//!
//! These types are the table `host.memory` of scenarios too: doc comments of fields with a key are what its users read, and a
//! field without one is skipped.

mod cores;
mod text;

pub use cores::*;

use super::buffers::{Capacity, Refresh, Reuse};
use forebay_settings::SettingsTable;
use forebay_units::{BitsPerSec, Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes of a cache line, the unit of everything behind the PCIe link.
pub const LINE: u64 = 64;

/// The largest frame there is, 64 KiB, must fit in whatever holds frames.
pub const LEAST_BUFFER: Bytes = Bytes::new(1 << 16);

/// Pages that machines have.
const LEAST_PAGE: Bytes = Bytes::new(1 << 12);
const MOST_PAGE: Bytes = Bytes::new(1 << 30);

/// Below this a packet takes more than a second.
const LEAST_RATE: BitsPerSec = BitsPerSec::new(1_000_000);

/// Above this a step's arithmetic would not fit: a thousand times today's hosts.
const MOST_RATE: BitsPerSec = BitsPerSec::new(100_000_000_000_000);

/// Longest latency of a stage.
pub const LONGEST_LATENCY: Span = Span::from_ms(1);

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

impl MemorySettings {
    /// Says what does not fit together, and what no host can be built with.
    pub fn check(&self, table: &mut impl SettingsTable) {
        self.check_ddio(table);
        self.iommu.check(table);
        self.readers.check(table);
        self.throttle.check(table);
        let by_buffer = self.ddio.is_some_and(|ddio| ddio.model == CacheModel::Buffers);
        for (i, one) in self.antagonists.iter().enumerate() {
            one.check(table, &format!("antagonist[{i}]"), by_buffer);
        }
        self.check_stages(table);
    }

    fn check_ddio(&self, table: &mut impl SettingsTable) {
        let Some(ddio) = &self.ddio else {
            for key in [
                "ddio_hit",
                "ddio_eviction",
                "ddio_ways",
                "cache",
                "cache_ways",
                "cache_latency",
                "cache_model",
                "rq",
            ] {
                if table.given(key) {
                    table.say(key, "has no effect without DDIO; write ddio = true as well");
                }
            }
            return;
        };
        let (ways, cache_ways) = (ddio.ways, ddio.cache_ways);
        if ways > cache_ways {
            let key = if table.given("ddio_ways") { "ddio_ways" } else { "cache_ways" };
            let text =
                format!("gives the NIC {ways} of {cache_ways} ways; write at most {cache_ways}");
            table.say(key, text);
        }
        latency(table, "ddio_hit", ddio.hit);
        latency(table, "cache_latency", ddio.cache_latency);
        if ddio.eviction > LONGEST_LATENCY {
            latency(table, "ddio_eviction", ddio.eviction);
        }
        check_queue(table, ddio);
    }

    /// What no host can be built with.
    fn check_stages(&self, table: &mut impl SettingsTable) {
        if self.nic.buffer < LEAST_BUFFER {
            let text =
                format!("holds less than the largest frame; write at least \"{LEAST_BUFFER}\"");
            table.wrong("nic_buffer", text);
        }
        if self.nic.refuse_below > self.nic.buffer {
            let text = format!(
                "is more than the NIC buffer, so that it takes nothing; write at most \"{}\"",
                self.nic.buffer
            );
            table.wrong("nic_refuse_below", text);
        }
        for (key, slots) in [("iio_slots", self.iio.slots), ("send_slots", self.transmit.slots)] {
            if slots == 0 {
                let text = "lets nothing through: no PCIe credit, no packet; write at least 1";
                table.wrong(key, text);
            }
        }
        let bandwidth = BitsPerSec::new(self.controller.bytes_per_sec.saturating_mul(8));
        for (key, rate) in [("pcie_rate", self.pcie.rate), ("bandwidth", bandwidth)] {
            if rate < LEAST_RATE {
                let text =
                    format!("is slower than a packet per second; write at least \"{LEAST_RATE}\"");
                table.wrong(key, text);
            } else if rate > MOST_RATE {
                table.wrong(key, format!("is too fast; write at most \"{MOST_RATE}\""));
            }
        }
        let posts = |of: &AntagonistSettings| of.cores > 0 && of.writes_permille > 0;
        let controller = &self.controller;
        if controller.read_share_permille == 0
            && controller.posted_limit.is_none()
            && self.antagonists.iter().any(posts)
        {
            let key = if table.given("read_share") { "read_share" } else { "antagonist" };
            let text = "leaves nothing that holds back writes beyond what memory can serve; write read_share = 0.001 or more, or posted_limit = 64";
            table.wrong(key, text);
        }
        if !(LINE..=4096).contains(&u64::from(self.pcie.tlp_payload)) {
            let text = "is not a payload of a PCIe packet; write from \"64B\" to \"4096B\"";
            table.wrong("pcie_payload", text);
        }
        let latencies = [
            ("iio_latency", self.iio.latency),
            ("local_read", self.controller.local_read),
            ("remote_read", self.controller.remote_read),
            ("send_latency", self.transmit.latency),
        ];
        for (key, span) in latencies {
            latency(table, key, span);
        }
        let longest = [
            ("read_queueing", self.controller.read_queueing),
            ("per_packet", self.readers.per_packet),
            ("per_kilobyte", self.readers.per_kilobyte),
        ];
        for (key, span) in longest {
            if span > LONGEST_LATENCY {
                table.wrong(key, format!("is too long; write at most \"{LONGEST_LATENCY}\""));
            }
        }
    }
}

impl IommuSettings {
    /// Says what is no page table, and what has no effect.
    fn check(&self, table: &mut impl SettingsTable) {
        if self.walk > LONGEST_LATENCY {
            let text = format!("is too long; write at most \"{LONGEST_LATENCY}\"");
            table.wrong("iommu_walk", text);
        }
        if !(LEAST_PAGE..=MOST_PAGE).contains(&self.page) {
            let text = format!("is not a page; write from \"{LEAST_PAGE}\" to \"{MOST_PAGE}\"");
            table.wrong("iommu_page", text);
        }
        if self.walk == Span::ZERO {
            for key in ["iommu_entries", "iommu_page"] {
                if table.given(key) {
                    let text = "has no effect without an IOMMU; write iommu_walk as well, for instance \"300ns\"";
                    table.say(key, text);
                }
            }
        }
    }
}

/// The receive queue goes with the model of the cache, and fits it.
fn check_queue(table: &mut impl SettingsTable, ddio: &DdioSettings) {
    let queue = match (ddio.model, &ddio.queue) {
        (CacheModel::Buffers, Some(queue)) => queue,
        (CacheModel::Buffers, None) => {
            let text = "needs a receive queue; write for instance rq = { depth = 8192, buffer = \"2KiB\" }";
            return table.wrong("cache_model", text);
        }
        (CacheModel::Share, None) => return,
        (CacheModel::Share, Some(_)) => {
            let text = "has no effect without cache_model = \"buffers\"; write that as well";
            return table.say("rq", text);
        }
    };
    let buffer = queue.buffer;
    if !(Bytes::new(LINE)..=LEAST_BUFFER).contains(&buffer) {
        let text = format!("is not a buffer of a frame; write from \"64B\" to \"{LEAST_BUFFER}\"");
        table.wrong("rq.buffer", text);
    } else if u64::from(queue.depth) * buffer.get() < LEAST_BUFFER.get() {
        let least = LEAST_BUFFER.get().div_ceil(buffer.get());
        let text = format!("holds less than the largest frame; write at least {least}");
        table.wrong("rq.depth", text);
    } else if ddio.ways <= ddio.cache_ways && ddio.share() < LINE {
        let least = Bytes::new(u64::from(ddio.cache_ways) * LINE.div_ceil(ddio.ways.into()));
        let text =
            format!("leaves the NIC's ways less than a line of 64B; write at least \"{least}\"");
        table.wrong("cache", text);
    } else if ddio.ways <= ddio.cache_ways && queue.capacity(ddio).ddio == 0 {
        let text = format!(
            "is more than the NIC's ways hold; write at most \"{}\"",
            Bytes::new(ddio.share())
        );
        table.wrong("rq.buffer", text);
    }
    if queue.assemble.is_some_and(|copies| copies < buffer) {
        let text = format!(
            "holds no buffer of {buffer}; write at least \"{buffer}\", or leave it out where cores copy nothing"
        );
        table.wrong("rq.assemble", text);
    }
}

/// A latency, where one was written, is above zero and below any that hardware has.
fn latency(table: &mut impl SettingsTable, key: &str, latency: Span) {
    if table.given(key) && (latency < Span::from_ns(1) || latency > LONGEST_LATENCY) {
        let text =
            format!("is not a latency of hardware; write from \"1ns\" to \"{LONGEST_LATENCY}\"");
        table.wrong(key, text);
    }
}
