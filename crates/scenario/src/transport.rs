//! `[transport]` and `[transports.NAME]`: one type for the file, the checked scenario and the resolved file.

mod kernel;
mod receiver_driven;

pub use kernel::Kernel;
pub use receiver_driven::ReceiverDriven;

use crate::fabric::Routing;
use crate::judge::Judge;
use crate::params::{self, Param};
use crate::problem::or_list;
use crate::quantity::QueueLength;
use forebay_laws::RoleName;
use forebay_laws::flow::{Echo, FlowParams, Needs};
use forebay_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the name of a law from an object file begins with.
pub const BPF: &str = "bpf:";

/// A transport and its congestion-control law.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Transport {
    /// Congestion-control law, by its name in `forebay laws`; or "bpf:" and the path of an object file as Linux loads it, relative to this
    /// file (docs/bpf-laws.md).
    pub law: String,
    /// Parameters of the law, by their names in `forebay laws`. Default: as published.
    #[serde(default, with = "params", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<BTreeMap<String, Param>>")]
    pub params: Vec<(String, String)>,
    /// Payload of a full packet, above 0 and with its header at most 65535B. Default: 1448B for tcp (1500B Ethernet with IPv4, TCP and
    /// timestamps), 1000B for rdma, 1436B for receiver-driven (1500B packets). Not with mtu.
    #[serde(default)]
    pub mss: Bytes,
    /// Size of a full data packet, header included; another way to give mss.
    #[serde(default, skip_serializing)]
    pub mtu: Option<Bytes>,
    /// Header bytes of a data packet. Default: 52B for tcp (IPv4 20, TCP 20, timestamps 12); 44B for rdma (IPv4 20, UDP 8, BTH 12,
    /// ICRC 4), telemetry not included; 64B for receiver-driven (htsim).
    #[serde(default)]
    pub header: Bytes,
    /// Size of a pure ACK, at most 65535B. Default: 64B, the least Ethernet frame.
    #[serde(default = "least_frame")]
    pub ack_size: Bytes,
    /// Traffic class of data; below fabric.switch.classes. Default: 0.
    #[serde(default)]
    #[schemars(range(min = 0, max = 7))]
    pub class: u8,
    /// Traffic class of pure ACKs; below fabric.switch.classes. Above class, they pass the data queues of the reverse path
    /// (pure-ACK priority); below it they wait for data. A NIC sends them before data of their class. Default: 0.
    #[serde(default)]
    #[schemars(range(min = 0, max = 7))]
    pub ack_class: u8,
    /// Path choice among equal-cost next hops, of data and of ACKs. Transports that spray packets can so share a fabric with others. Paths that
    /// fabric.paths names come first. Default: fabric.routing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<Routing>,
    /// The machinery of sender and receiver, with settings that only it has.
    #[serde(flatten)]
    pub kind: TransportKind,
}

/// The machinery of a transport.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TransportKind {
    /// TCP as in Linux: SACK, RACK, PRR.
    Tcp(Tcp),
    /// Queue pairs as in RoCEv2 NICs: go-back-N or selective repeat, CNPs, telemetry.
    Rdma(Rdma),
    /// Messages whose receivers say when their senders may send: a law of role grant per receiving host.
    ReceiverDriven(ReceiverDriven),
}

/// Settings of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(default)]
pub struct Tcp {
    /// Kernel whose settings are the defaults. "linux-6.1" sets delayed_ack = true, adaptive_delayed_ack = true and timer_tick = "4ms" (250 Hz). It sets
    /// quick_acks = 1070, as its default tcp_rmem does, unless receive_window is given. It also sets parameters of laws: hz of cubic and bic by
    /// timer_tick, and alpha = "linux", cut = "packets" and prr_on_ce = true of dctcp. In [transport] it sets host.profile = "linux" too. Keys in the
    /// file override these values, and the resolved file has all of them. Default: none.
    #[serde(skip_serializing)]
    pub kernel: Option<Kernel>,
    /// First window, in packets or in bytes of payload: one packet to 4GiB. Default: 10 packets (RFC 6928).
    pub initial_window: QueueLength,
    /// Least retransmission timeout above srtt, from the first packet on: connections are warm, and their handshake was a first sample of the
    /// round-trip time. Default: 200ms (Linux); datacentres often set 1ms to 10ms.
    pub rto_min: Span,
    /// Whether an ACK may wait for a second segment. Default: by host.profile; ideal hosts send one ACK per segment.
    pub delayed_ack: bool,
    /// How long an ACK waits for a second segment, where it may. Default: 40ms (TCP_DELACK_MIN of Linux).
    pub delayed_ack_timeout: Span,
    /// Whether the delayed-ACK time adapts to the time between segments, as in Linux, up to a round trip and 500ms. This matters only if
    /// the round trip is longer than delayed_ack_timeout. After a gap longer than a retransmission timeout, ACKs leave at once again.
    /// Default: false.
    pub adaptive_delayed_ack: bool,
    /// A tick of the kernel's clock, 1/HZ: "10ms", "4ms" or "1ms". Timeouts, tail loss probes, RACK's wait and delayed ACKs then expire as in
    /// Linux: never early, and at the first tick after the wait. Waits of 63 ticks or more end at the next multiple of 8 ticks (of 64 from
    /// 504 ticks). Probes and RACK wait at least two ticks, which is 2ms without. Pacing and SACK compression have finer clocks. At most
    /// 100ms. Default: 0us, timers are exact.
    pub timer_tick: Span,
    /// How many segments at the start of a flow are acknowledged at once where ACKs may wait. Linux: these, and all for as
    /// long as the receiver's window opens, by two segments each. Default: half the segments of receive_window, 2 to 16
    /// (Linux); 16 where no window is given.
    pub quick_acks: u16,
    /// Receive window, to the byte: from one segment to 1GiB, the most that TCP can say. Default: never a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_window: Option<Bytes>,
    /// Receive-window autotuning: the window starts at receive_window (then 64KiB by default, as tcp_rmem of Linux) and grows with the
    /// application's reads up to this size. Default: no autotuning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_window_max: Option<Bytes>,
    /// Whether a window idle for longer than the RTO decays (RFC 2861). Default: true (Linux).
    pub idle_restart: bool,
    /// Whether the most data in flight in the last round trip decides if a window is used, and slow start may reach twice that. Without
    /// it, a window grows only if an ACK finds it full except for 3 segments (with TSO: for a third and gso_max), as Linux before.
    /// Default: true (Linux since 3.16).
    pub gentle_growth: bool,
    /// Selective acknowledgements. Without: NewReno. Default: true (Linux).
    pub sack: bool,
    /// Losses by time (RACK, RFC 8985). Without: by distance below the highest SACK (FACK), as Linux before 4.4. Default:
    /// true.
    pub rack: bool,
    /// Tail loss probes (RFC 8985). Default: true (Linux since 3.10).
    pub tail_loss_probe: bool,
    /// Proportional rate reduction (RFC 6937). Without: rate halving, as Linux before. Default: true (Linux since 3.2).
    pub prr: bool,
    /// Detection of spurious timeouts (RFC 5682). Default: true (Linux).
    pub frto: bool,
}

impl Default for Tcp {
    fn default() -> Self {
        Self {
            kernel: None,
            initial_window: QueueLength::Packets(10), // RFC 6928, section 2
            rto_min: Span::from_ms(200),              // `TCP_RTO_MIN` of Linux
            delayed_ack: false,
            delayed_ack_timeout: Span::from_ms(40), // `TCP_DELACK_MIN` of Linux
            adaptive_delayed_ack: false,
            timer_tick: Span::ZERO,
            quick_acks: MOST_QUICK_ACKS as u16,
            receive_window: None,
            receive_window_max: None,
            idle_restart: true,
            gentle_growth: true,
            sack: true,
            rack: true,
            tail_loss_probe: true,
            prr: true,
            frto: true,
        }
    }
}

/// Settings of queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(default)]
pub struct Rdma {
    /// First window of laws that have no opinion, in packets or in bytes of payload: one packet to 4GiB. Default: what the host's
    /// link carries in base_rtt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<QueueLength>,
    /// Retransmissions of a sender after a loss. Default: "go-back-n".
    pub recovery: Recovery,
    /// Packets per ACK; one where the law looks at each. The last packet that may leave is always acknowledged. Default: 1.
    #[schemars(range(min = 1, max = 65_535))]
    pub ack_every: u32,
    /// Limit of the payload in flight of a queue pair, in addition to its law: "none", "bdp", or a size of at most 2GiB. Default: "none";
    /// "bdp" with recovery = "selective" (IRN, BDP-FC).
    pub max_inflight: InflightCap,
    /// Go-back-N: time after which the receiver reports the same gap again. Default: 500us (public HPCC simulator).
    pub nack_interval: Span,
    /// Time that a sender waits after an RNR NAK before it sends the refused data again, for receivers with rq = { rnr = "nak" }. Default:
    /// 640us (our choice: code 12 of the InfiniBand timer, which perftest uses).
    pub rnr_timer: Span,
    /// Time without an answer after which the oldest packet counts as lost. Default: 4ms (RoCE NICs); 320us with
    /// recovery = "selective" (IRN, RTO_high).
    pub timeout: Span,
    /// Timeout with at most `few` packets in flight. Default: timeout; 100us with recovery = "selective" (IRN, RTO_low).
    pub timeout_few: Span,
    /// Packets in flight up to which timeout_few holds. Default: 0; 3 with recovery = "selective" (IRN).
    #[schemars(range(min = 0, max = 65_535))]
    pub few: u32,
    /// Least time between two CNPs of a queue pair, for laws that need them. Default: 50us (DCQCN, SIGCOMM 2015).
    pub cnp_interval: Span,
    /// Traffic class of CNPs. Default: ack_class.
    #[schemars(range(min = 0, max = 7))]
    pub cnp_class: u8,
    /// Round-trip time of an empty path, for laws: "longest", "path", or a time. A full packet there and its ACK back. Default:
    /// "longest", one value for all flows.
    pub base_rtt: BaseRtt,
    /// Bytes that telemetry adds to the header of data and to ACKs, for laws that need it; at most 255B. Default: 42B, five hops of
    /// 8 B and a count of 2 B (HPCC, SIGCOMM 2019).
    pub telemetry: Bytes,
}

impl Default for Rdma {
    fn default() -> Self {
        Self {
            initial_window: None,
            recovery: Recovery::GoBackN,
            ack_every: 1,
            max_inflight: InflightCap::None,
            nack_interval: Span::from_us(500),
            rnr_timer: Span::from_us(640),
            timeout: Span::from_ms(4),
            timeout_few: Span::from_ms(4),
            few: 0,
            cnp_interval: Span::from_us(50),
            cnp_class: 0,
            base_rtt: BaseRtt::Longest,
            telemetry: Bytes::new(42),
        }
    }
}

/// Retransmissions of queue pairs after a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// Everything from the first missing packet, as commodity NICs.
    GoBackN,
    /// The whole flow, as NICs did before: with losses, long flows never end.
    #[serde(rename = "go-back-0")]
    GoBackZero,
    /// The missing packets alone, as IRN (SIGCOMM 2018).
    Selective,
}

/// Limit of the bytes in flight of a queue pair, in addition to its law.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InflightCap {
    /// The law alone bounds it.
    None,
    /// The bytes that the host's link carries in base_rtt.
    Bdp,
    /// So much payload.
    #[serde(untagged)]
    Fixed(Bytes),
}

/// Round-trip time of an empty path, for laws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BaseRtt {
    /// Time of the longest path in the fabric, for all flows.
    Longest,
    /// Time of each flow's own path.
    Path,
    /// A time for all flows.
    #[serde(untagged)]
    Fixed(Span),
}

/// The least Ethernet frame.
fn least_frame() -> Bytes {
    Bytes::new(64)
}

/// `TCP_MAX_QUICKACKS` of Linux.
const MOST_QUICK_ACKS: u64 = 16;
/// Longest that TCP may let an ACK wait (RFC 1122, section 4.2.3.2).
const MOST_DELAY: Span = Span::from_ms(500);
/// Ticks of a kernel: no clock is slower than 10 Hz or faster than 10 kHz.
const MOST_TICK: Span = Span::from_ms(100);
const LEAST_TICK: Span = Span::from_us(100);
/// Where an autotuned window begins: half of the default `tcp_rmem` of Linux, the other half being for headers.
const AUTOTUNED_WINDOW: Bytes = Bytes::new(64 << 10);
/// Most bytes of a packet.
const LARGEST_PACKET: u64 = 65_535;

impl Transport {
    /// The machinery, by the word of the grammar.
    pub fn kind(&self) -> &'static str {
        match self.kind {
            TransportKind::Tcp(_) => "tcp",
            TransportKind::Rdma(_) => "rdma",
            TransportKind::ReceiverDriven(_) => "receiver-driven",
        }
    }

    /// Settings of queue pairs, if it has them.
    pub fn rdma(&self) -> Option<&Rdma> {
        match &self.kind {
            TransportKind::Rdma(rdma) => Some(rdma),
            TransportKind::Tcp(_) | TransportKind::ReceiverDriven(_) => None,
        }
    }

    /// Settings of TCP, if it is TCP.
    pub fn tcp(&self) -> Option<&Tcp> {
        match &self.kind {
            TransportKind::Tcp(tcp) => Some(tcp),
            TransportKind::Rdma(_) | TransportKind::ReceiverDriven(_) => None,
        }
    }

    /// Settings of a receiver-driven transport, if it is one.
    pub fn receiver_driven(&self) -> Option<&ReceiverDriven> {
        match &self.kind {
            TransportKind::ReceiverDriven(keys) => Some(keys),
            TransportKind::Tcp(_) | TransportKind::Rdma(_) => None,
        }
    }

    /// Size of the largest packet, telemetry included.
    pub fn largest_packet(&self) -> Bytes {
        let telemetry = self.rdma().map_or(Bytes::ZERO, |rdma| rdma.telemetry);
        self.mss.saturating_add(self.header).max(self.ack_size).saturating_add(telemetry)
    }

    /// Header and payload of a full packet where nothing says so: IPv4 20 B, TCP 20 B and timestamps 12 B of an Ethernet frame of
    /// 1500 B; IPv4 20 B, UDP 8 B, base transport header 12 B, ICRC 4 B and the payload of public RDMA simulators; 64 B as in htsim, of packets of 1500 B.
    fn usual_packet(&self) -> (Bytes, Bytes) {
        match self.kind {
            TransportKind::Tcp(_) => (Bytes::new(52), Bytes::new(1448)),
            TransportKind::Rdma(_) => (Bytes::new(44), Bytes::new(1000)),
            TransportKind::ReceiverDriven(_) => (Bytes::new(64), Bytes::new(1436)),
        }
    }

    /// Fills in the defaults that depend on other keys, and says what is wrong with the table at `place`. `delayed_ack`: what hosts
    /// do where nothing says so.
    pub(crate) fn check(&mut self, judge: &mut Judge<'_>, place: &str, delayed_ack: bool) {
        let at = |key: &str| format!("{place}.{key}");
        self.packet(judge, place);
        if self.ack_size == Bytes::ZERO || self.ack_size.get() > LARGEST_PACKET {
            judge.wrong(&at("ack_size"), "is not a size of a packet; write for instance \"64B\"");
        }
        if let TransportKind::Tcp(tcp) = &mut self.kind
            && let Some(kernel) = tcp.kernel
        {
            kernel.fill(judge, place, tcp);
            kernel.fill_params(tcp, &self.law, &mut self.params);
        }
        let (mss, ack_class) = (self.mss, self.ack_class);
        let of_senders = self.receiver_driven().is_none();
        let mut law = of_senders.then(|| judge.law(&at("law"), &self.law)).flatten();
        judge.params(&at("params"), law.as_mut(), &self.params);
        match &mut self.kind {
            TransportKind::Tcp(tcp) => {
                tcp.check(judge, place, mss, delayed_ack);
                if let Some(law) = law {
                    judge.served(&at("law"), place, &law);
                }
            }
            TransportKind::Rdma(rdma) => {
                rdma.check(judge, place, mss, ack_class);
                if let Some(law) = law {
                    judge.no_module(&at("law"), place, &law);
                }
            }
            TransportKind::ReceiverDriven(keys) => {
                keys.check(judge, place, (&self.law, &self.params), mss);
            }
        }
    }

    /// Header and payload of a full packet.
    fn packet(&mut self, judge: &mut Judge<'_>, place: &str) {
        let at = |key: &str| format!("{place}.{key}");
        let (header, mss) = self.usual_packet();
        judge.usual(&at("header"), &mut self.header, header);
        let key = at(if self.mtu.is_some() { "mtu" } else { "mss" });
        if let Some(mtu) = self.mtu.take() {
            if judge.given(&at("mss")) {
                let text = format!("{mtu} and mss say the same thing twice; write one of them");
                judge.say(&at("mtu"), text);
            } else {
                self.mss = mtu.saturating_sub(self.header);
            }
        } else {
            judge.usual(&at("mss"), &mut self.mss, mss);
        }
        if self.header.get() >= LARGEST_PACKET {
            judge.wrong(&at("header"), "does not fit a packet of at most 65535B");
        }
        let packet = self.mss.saturating_add(self.header).get();
        if self.mss == Bytes::ZERO {
            let text = format!(
                "leaves no payload beside the header of {}; write for instance \"1500B\"",
                self.header
            );
            judge.wrong(&key, text);
        } else if packet > LARGEST_PACKET {
            let text = format!("makes packets of {packet}B; at most 65535B fit, header included");
            judge.wrong(&key, text);
        }
    }

    /// The classes have to be among those of the switches.
    pub(crate) fn check_classes(&self, judge: &mut Judge<'_>, place: &str, classes: u8) {
        let cnp = self.rdma().map_or(0, |rdma| rdma.cnp_class);
        for (key, class) in
            [("class", self.class), ("ack_class", self.ack_class), ("cnp_class", cnp)]
        {
            judge.class_exists(&format!("{place}.{key}"), class, classes);
        }
        self.check_levels(judge, place, classes);
    }
}

impl Tcp {
    fn check(&mut self, judge: &mut Judge<'_>, place: &str, mss: Bytes, delayed_ack: bool) {
        let at = |key: &str| format!("{place}.{key}");
        judge.window(&at("initial_window"), self.initial_window, mss);
        judge.span(&at("rto_min"), self.rto_min);
        judge.span(&at("delayed_ack_timeout"), self.delayed_ack_timeout);
        for (key, span, most) in [
            ("delayed_ack_timeout", self.delayed_ack_timeout, MOST_DELAY),
            ("timer_tick", self.timer_tick, MOST_TICK),
        ] {
            if span > most {
                judge.wrong(
                    &at(key),
                    format!("is longer than in any kernel; write at most \"{most}\""),
                );
            }
        }
        let tick = self.timer_tick;
        if tick > Span::ZERO && tick < LEAST_TICK {
            let text = format!(
                "is not a tick of a kernel; write \"{LEAST_TICK}\" or more, for instance \"4ms\""
            );
            judge.wrong(&at("timer_tick"), text);
        }
        if self.kernel.is_none() {
            judge.usual(&at("delayed_ack"), &mut self.delayed_ack, delayed_ack);
        }
        if self.receive_window_max.is_some() {
            self.receive_window.get_or_insert(AUTOTUNED_WINDOW);
        }
        if let (Some(begin), Some(most)) = (self.receive_window, self.receive_window_max)
            && most < begin
        {
            let text = format!("is less than the window begins with, {begin}; write more");
            judge.wrong(&at("receive_window_max"), text);
        }
        let windows = [
            ("receive_window", self.receive_window),
            ("receive_window_max", self.receive_window_max),
        ];
        for (key, _) in windows.into_iter().filter(|(_, window)| *window > Some(MOST_WINDOW)) {
            let text = format!("is more than TCP can say; write at most \"{MOST_WINDOW}\"");
            judge.wrong(&at(key), text);
        }
        if self.receive_window.is_some_and(|w| w < mss) {
            let text = format!("is less than one segment; write at least \"{mss}\"");
            judge.wrong(&at("receive_window"), text);
        }
        if self.kernel.is_none()
            || self.receive_window_max.is_none() && self.receive_window.is_some()
        {
            let usual = quick_acks(self.receive_window, mss);
            judge.usual(&at("quick_acks"), &mut self.quick_acks, usual);
        }
    }
}

/// The largest receive window. Source: RFC 7323 section 2.3.
const MOST_WINDOW: Bytes = Bytes::new(1 << 30);

/// ACKs at once at the start of a flow, where nothing says how many. Source: `tcp_incr_quickack` of Linux.
fn quick_acks(receive_window: Option<Bytes>, mss: Bytes) -> u16 {
    let half = |window: Bytes| window.get() / (2 * mss.get().max(1));
    receive_window.map_or(MOST_QUICK_ACKS, half).clamp(2, MOST_QUICK_ACKS) as u16
}

impl Rdma {
    fn check(&mut self, judge: &mut Judge<'_>, place: &str, mss: Bytes, ack_class: u8) {
        let at = |key: &str| format!("{place}.{key}");
        if let Some(window) = self.initial_window {
            judge.window(&at("initial_window"), window, mss);
        }
        let mut low = self.timeout;
        if self.recovery == Recovery::Selective {
            // IRN, SIGCOMM 2018: BDP-FC, RTO_high, RTO_low, and the packets in flight up to which the latter holds.
            judge.usual(&at("max_inflight"), &mut self.max_inflight, InflightCap::Bdp);
            judge.usual(&at("timeout"), &mut self.timeout, Span::from_us(320));
            judge.usual(&at("few"), &mut self.few, 3);
            low = Span::from_us(100);
        }
        judge.usual(&at("timeout_few"), &mut self.timeout_few, low.min(self.timeout));
        judge.usual(&at("cnp_class"), &mut self.cnp_class, ack_class);
        if matches!(self.max_inflight, InflightCap::Fixed(bytes) if bytes < mss) {
            let text = format!("is less than one packet of {mss}; write \"bdp\", \"none\" or more");
            judge.wrong(&at("max_inflight"), text);
        }
        judge.span(&at("timeout"), self.timeout);
        if judge.given(&at("timeout_few")) {
            judge.span(&at("timeout_few"), self.timeout_few);
        }
        judge.span(&at("nack_interval"), self.nack_interval);
        judge.span(&at("rnr_timer"), self.rnr_timer);
        judge.short(&at("cnp_interval"), self.cnp_interval);
        if let BaseRtt::Fixed(span) = self.base_rtt {
            judge.span(&at("base_rtt"), span);
        }
        if self.telemetry.get() > 255 {
            judge.wrong(&at("telemetry"), "is not a size of a header; write for instance \"42B\"");
        }
    }
}

/// Where the transport of this name stands.
pub(crate) fn path(name: &str) -> String {
    // Whole, since the path has to lead to the table.
    let bare = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
    if bare { format!("transports.{name}") } else { format!("transports.{name:?}") }
}

/// What a law needs that transport.kind = "tcp" does not do, as the end of "needs ...".
fn tcp_lacks(needs: Needs) -> Option<&'static str> {
    match needs {
        Needs { echo: Echo::Cnp, .. } => Some(
            "congestion notification packets (CNPs), which receivers of kind \"tcp\" do not send",
        ),
        Needs { int: true, .. } => {
            Some("telemetry of each hop (INT), which packets of kind \"tcp\" do not carry")
        }
        Needs { rate_request: Some(_), .. } => {
            Some("a rate from the switch, which senders of kind \"tcp\" do not request")
        }
        _ => None,
    }
}

/// The one parameter with which TCP can serve a law after all.
fn served_form(law: &FlowParams) -> Option<String> {
    for param in law.info().params() {
        for word in param.range.split('"').skip(1).step_by(2) {
            let mut other = law.clone();
            if other.set(param.name, word).is_ok() && tcp_lacks(other.needs()).is_none() {
                return Some(format!("params = {{ {} = {word:?} }}", param.name));
            }
        }
    }
    None
}

impl Judge<'_> {
    /// A first window holds a packet and is no mistake in the unit.
    fn window(&mut self, path: &str, window: QueueLength, mss: Bytes) {
        let window = window.payload(mss);
        if window < mss {
            let text =
                format!("is less than one segment of {mss}; write for instance \"10 packets\"");
            self.wrong(path, text);
        } else if window.get() > 1 << 32 {
            self.wrong(path, "is more than 4GiB; write for instance \"10 packets\"");
        }
    }

    /// A law of a transport at `place` that is not TCP must not consist of callbacks of TCP.
    pub(crate) fn no_module(&mut self, path: &str, place: &str, law: &FlowParams) {
        if law.is_module() {
            let name = law.name();
            let text = format!(
                "{name:?} has the callbacks of a congestion control of TCP; write {place}.kind = \"tcp\""
            );
            self.say(path, text);
        }
    }

    /// A law, with its parameters set, must not need what TCP, the kind of the transport at `place`, does not do.
    pub(crate) fn served(&mut self, path: &str, place: &str, law: &FlowParams) {
        let Some(lacks) = tcp_lacks(law.needs()) else { return };
        let serves =
            |name: &&str| self.laws.flow(name).is_ok_and(|law| tcp_lacks(law.needs()).is_none());
        let names = self.laws.names(RoleName::Flow).filter(serves);
        let params = served_form(law).map(|form| format!("{form}, ")).unwrap_or_default();
        let names = or_list(names);
        let text = format!(
            "{:?} needs {lacks}; write {place}.kind = \"rdma\", {params}or law = {names}",
            law.name()
        );
        self.say(path, text);
    }
}
