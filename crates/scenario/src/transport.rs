//! `[transport]` and `[transports.NAME]`: one type for the file, the checked scenario and the resolved file.

mod kernel;
mod receiver_driven;

pub use forebay_settings::{
    BaseRtt, InflightCap, Kernel, RdmaSettings, ReceiverDrivenSettings, Recovery, TcpSettings,
};

pub(crate) use kernel::fill_params;

use crate::fabric::Routing;
use crate::judge::Judge;
use crate::problem::or_list;
use forebay_laws::RoleName;
use forebay_laws::flow::{Echo, FlowParams, Needs};
use forebay_settings::LEAST_FRAME;
use forebay_settings::params::{self, Param};
use forebay_units::Bytes;
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
    Tcp(TcpSettings),
    /// Queue pairs as in RoCEv2 NICs: go-back-N or selective repeat, CNPs, telemetry.
    Rdma(RdmaSettings),
    /// Messages whose receivers say when their senders may send: a law of role grant per receiving host.
    ReceiverDriven(ReceiverDrivenSettings),
}

/// The least Ethernet frame.
fn least_frame() -> Bytes {
    LEAST_FRAME
}

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
    pub fn rdma(&self) -> Option<&RdmaSettings> {
        match &self.kind {
            TransportKind::Rdma(rdma) => Some(rdma),
            TransportKind::Tcp(_) | TransportKind::ReceiverDriven(_) => None,
        }
    }

    /// Settings of TCP, if it is TCP.
    pub fn tcp(&self) -> Option<&TcpSettings> {
        match &self.kind {
            TransportKind::Tcp(tcp) => Some(tcp),
            TransportKind::Rdma(_) | TransportKind::ReceiverDriven(_) => None,
        }
    }

    /// Settings of a receiver-driven transport, if it is one.
    pub fn receiver_driven(&self) -> Option<&ReceiverDrivenSettings> {
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

    /// Header and payload of a full packet where nothing says so.
    fn usual_packet(&self) -> (Bytes, Bytes) {
        match self.kind {
            TransportKind::Tcp(_) => (TcpSettings::HEADER, TcpSettings::MSS),
            TransportKind::Rdma(_) => (RdmaSettings::HEADER, RdmaSettings::MSS),
            TransportKind::ReceiverDriven(_) => {
                (ReceiverDrivenSettings::HEADER, ReceiverDrivenSettings::MSS)
            }
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
        if let TransportKind::Tcp(tcp) = &mut self.kind {
            tcp.fill_kernel(&judge.table(place));
            fill_params(tcp, &self.law, &mut self.params);
        }
        let (mss, ack_class) = (self.mss, self.ack_class);
        let of_senders = self.receiver_driven().is_none();
        let mut law = of_senders.then(|| judge.law(&at("law"), &self.law)).flatten();
        judge.params(&at("params"), law.as_mut(), &self.params);
        match &mut self.kind {
            TransportKind::Tcp(tcp) => {
                tcp.check(&mut judge.table(place), mss, delayed_ack);
                if let Some(law) = law {
                    judge.served(&at("law"), place, &law);
                }
            }
            TransportKind::Rdma(rdma) => {
                rdma.check(&mut judge.table(place), mss, ack_class);
                if let Some(law) = law {
                    judge.no_module(&at("law"), place, &law);
                }
            }
            TransportKind::ReceiverDriven(keys) => {
                Self::check_receiver_driven(keys, judge, place, (&self.law, &self.params), mss);
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
        self.check_priorities(judge, place, classes);
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
