//! What a host's path to memory is made of: one value for each stage, with its source.
//!
//! The defaults are the testbed of hostCC (SIGCOMM 2023): Cascade Lake with two memory channels, a 100 Gb/s ConnectX-5 on
//! PCIe 3.0 x16. Sources: "paper" is that paper, "module" its authors' kernel module, "the host-network study" Vuppalapati et al.,
//! Understanding the Host Network (SIGCOMM 2024), measured in the same laboratory.

use forebay_units::{BitsPerSec, Bytes, Span};

/// Bytes of a cache line, the unit of everything behind the PCIe link.
pub const LINE: u64 = 64;

/// The whole path. Every default is one of the testbed's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemorySettings {
    /// Where packets wait for PCIe.
    pub nic: NicSettings,
    /// Between NIC and IIO.
    pub pcie: PcieSettings,
    /// Slots for lines on their way to memory.
    pub iio: IioSettings,
    /// Cache that the NIC writes into; `None`: it writes to memory (DDIO off).
    pub ddio: Option<DdioSettings>,
    /// The memory controller.
    pub controller: ControllerSettings,
    /// Cores that run the stack and copy to applications.
    pub readers: ReaderSettings,
    /// What the NIC reads to send.
    pub transmit: TransmitSettings,
    /// What holds antagonists back.
    pub throttle: ThrottleSettings,
    /// Other work on the same memory.
    pub antagonists: Vec<AntagonistSettings>,
}

impl MemorySettings {
    /// The first of what NICs of one machine have in common that is not the same in both, in words: all but `nic`, `pcie`, the slots of
    /// `iio`, and `transmit`.
    pub fn differs(&self, other: &Self) -> Option<&'static str> {
        let iio = |of: &Self| (of.iio.latency, of.iio.clock_hz);
        let pairs = [
            ("slot latency", iio(self) == iio(other)),
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NicSettings {
    /// Bytes of frames that it holds; a frame that does not fit is dropped. Room comes back line by line as frames go over
    /// PCIe (paper 2.1: a packet leaves the buffer as its DMA begins).
    ///
    /// Assumption: 384 KB. The paper's P99 of 60 to 100 us at 45 Gb/s bounds it to 340 to 565 KB: bytes drained in that time.
    pub buffer: Bytes,
    /// Frames handed to memory that the stack has not taken yet; beyond it the NIC waits. Driver default of 1,024 a queue,
    /// four queues.
    pub descriptors: u32,
}

impl Default for NicSettings {
    fn default() -> Self {
        Self { buffer: Bytes::new(384_000), descriptors: 4096 }
    }
}

/// The PCIe link. Latency of the wire itself belongs to the cable's delay: posted writes are pipelined, and the credits
/// that can run out are those of the IIO: the paper measures 93 lines there, all that there are, so lines on the wire hold none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PcieSettings {
    /// After line coding. 126.03 Gb/s: 16 lanes of 8 GT/s, 128b/130b.
    pub rate: BitsPerSec,
    /// Payload of a full transaction packet. 256 B (paper: 256 to 512).
    pub tlp_payload: u32,
    /// Bytes that each transaction packet adds: framing 4, header 16, LCRC 4, sequence 2.
    pub tlp_overhead: u32,
    /// Share of the link that acknowledgements, credit updates and descriptor reads take, in thousandths.
    ///
    /// Assumption: 38, so that 110 Gb/s are left for payload (note, section 4: 105 to 115 are plausible).
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IioSettings {
    /// Lines that it holds, and PCIe credits in lines. 93 (paper, figure 8).
    pub slots: u32,
    /// From entering to being admitted by the memory controller, with nothing in the way. 323 ns: 65 lines at 103 Gb/s
    /// (paper, figure 8; Little's law).
    pub latency: Span,
    /// Clock of its occupancy counter. 500 MHz (paper 4.1).
    pub clock_hz: u64,
}

impl Default for IioSettings {
    fn default() -> Self {
        Self { slots: 93, latency: Span::from_ns(323), clock_hz: 500_000_000 }
    }
}

/// Direct cache access. A line is written into a share of the last-level cache; with probability `miss` it pushes out
/// a dirty one, which must be admitted by the memory controller first, and is itself pushed out before it is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DdioSettings {
    /// From the IIO to the cache. See `eviction`.
    pub hit: Span,
    /// Added for a line that evicts, before waiting for admission.
    ///
    /// Assumption: 99 ns. Together with `hit` it gives the 224 ns of 45 lines at 103 Gb/s (paper 5.2); the split is open.
    pub eviction: Span,
    /// The last-level cache. 24.75 MB (Xeon 6234).
    pub cache: Bytes,
    /// Its ways. 11.
    pub cache_ways: u32,
    /// Ways that the NIC may fill. 2.
    pub ways: u32,
    /// Receive buffers that it cycles through, per core: descriptors of a queue, 1,024.
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
            buffers: 1024,
        }
    }
}

impl DdioSettings {
    /// Bytes of the cache that the NIC may fill.
    pub fn share(&self) -> u64 {
        self.cache.get() / u64::from(self.cache_ways) * u64::from(self.ways)
    }
}

/// The memory controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ControllerSettings {
    /// What it serves at saturation, bytes per second. 34.8 GB/s: an antagonist alone at three cores (paper 2.2).
    pub bytes_per_sec: u64,
    /// Read from a core beside the NIC, unloaded. 70 ns (the host-network study).
    pub local_read: Span,
    /// Read from a core of another socket, unloaded. 137 ns (note, section 4).
    pub remote_read: Span,
    /// Scale `a` of the queueing delay of reads, `a rho / (1 - rho_r)`. 21.5 ns: two cores alone draw 28.7 GB/s.
    pub read_queueing: Span,
    /// Share `g` of the write-admission wait that a read sees, in thousandths: write drains hold reads up.
    ///
    /// Assumption: 170; fitted to 43 Gb/s at three cores. The host-network study's reads, 12 % slower where writes wait half as long again, give 80 to 150.
    pub read_share_permille: u32,
    /// Posted writes of one core that the caching agent takes before it holds the core back; `None`: any number.
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReaderSettings {
    /// How many. 8 (paper 2.2).
    pub cores: u32,
    /// Protocol work of one packet of the wire.
    ///
    /// Assumption: 116 ns, 15 % of what a packet of 4,000 B costs beside reading memory (note 8.4).
    pub per_packet: Span,
    /// Protocol work and copying of 1,000 bytes beside waiting for memory.
    ///
    /// Assumption: 166 ns: four cores just reach 100 Gb/s (paper 2.2), less `per_packet`.
    pub per_kilobyte: Span,
    /// Lines that a copy has in flight. 13 (note, section 4).
    pub lines_in_flight: u32,
    /// Lines read from memory for each line of payload, in thousandths. 1,046: 2.1 bytes of memory traffic for a byte
    /// received (paper 4.2), less what DMA writes.
    pub reads_permille: u32,
    /// In which order a core works and reads.
    ///
    /// Assumption: evenly (note, equation 5). With bunches slots hold up to three lines more or less.
    pub copying: Copying,
}

/// How a core reads the lines of what it copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Copying {
    /// One after the other, with the work for each byte between them.
    #[default]
    Evenly,
    /// After all work: as many at once as may be in flight, and one more for each that is back.
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
        }
    }
}

/// Reads of what the NIC sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransmitSettings {
    /// Lines being read at once.
    ///
    /// Assumption: 256. More than 164 (the host-network study); the module calls 190 congested.
    pub slots: u32,
    /// A read by the NIC, there and back, unloaded.
    ///
    /// Assumption: 700 ns: 141 lines at 103 Gb/s.
    pub latency: Span,
}

impl Default for TransmitSettings {
    fn default() -> Self {
        Self { slots: 256, latency: Span::from_ns(700) }
    }
}

/// How antagonists are held back, level by level. 0 is none at all; the last level stops them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThrottleSettings {
    /// What a level below the last ones does.
    pub actuator: Actuator,
    /// Levels that slow antagonists down. 3 (authors' module).
    pub slowing: u8,
    /// Levels above those: the `j`-th of `m` stops antagonists `j/m` of the time. 1.
    pub pausing: u8,
    /// Period of a partial stop.
    pub pause_period: Span,
    /// Latency that the hardware's strongest setting adds to each miss.
    ///
    /// Assumption: 290 ns; fitted to 77 Gb/s at level 3 (paper, figure 9).
    pub delay: Span,
    /// From a decision to its effect. 22 us (paper 4.2).
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

/// How the slowing levels slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actuator {
    /// Level `k` of `n`: the strongest hardware delay on the cores of the first `k` of `n` sockets (authors' module).
    Sockets,
    /// Level `k` of `n`: `k/n` of the strongest delay on every core (paper 4.2). Steps of a tenth, as hardware has.
    Delay,
    /// Level `k` of `n`: every core is held to `1 - k/(n+1)` of the rate it would have alone (as AMD's bandwidth limits).
    Cap,
}

/// Work that competes for memory: closed loops, each with so many lines in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AntagonistSettings {
    /// Cores; core `i` is on socket `i` modulo the number of sockets that a level can slow.
    pub cores: u32,
    /// Read lines in flight of one core, in thousandths. 18,700: 16.0 GB/s for one core alone (paper 2.2); above the 10
    /// to 12 fill buffers because of prefetching.
    pub lines_in_flight_milli: u32,
    /// Lines written for each line read, in thousandths. 1,000 (paper: 1:1).
    pub writes_permille: u32,
    /// Whether its cores are on the NIC's socket.
    pub local: bool,
    /// First it runs for `on`, then rests for `off`, and so on from `start`; `None`: it never rests.
    pub rests: Option<(Span, Span)>,
    /// When it starts.
    pub start: Span,
}

impl Default for AntagonistSettings {
    fn default() -> Self {
        Self {
            cores: 1,
            lines_in_flight_milli: 18_700,
            writes_permille: 1000,
            local: false,
            rests: None,
            start: Span::ZERO,
        }
    }
}
