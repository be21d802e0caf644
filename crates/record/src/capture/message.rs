//! The bytes of one packet of a receiver-driven transport: Ethernet II, IPv4, UDP, and a header of 24 bytes.
//!
//! Source: RFC 768; port 1021 of RFC 4727 (for experiments), since these transports have no port, and no published format that all of them share.
//! The header, big-endian: kind (1 B), version (1 B: 1), flags (2 B), flow (4 B), `seq` (8 B), `stamp` (4 B), `word` (2 B), bytes of payload (2 B).
//! Zeros follow, up to the size that the model counts, so `ip.len` is that size unless the model's headers are shorter than these 52 bytes.

use super::frame::{TTL, host_address, node_mac};
use etherparse::{EtherType, Ethernet2Header, IpDscp, IpEcn, IpNumber, Ipv4Header, UdpHeader};
use forebay_units::Time;

/// One packet of a receiver-driven transport on its way past a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageFrame {
    /// Outbound: when its first bit left. Inbound: when its last bit came.
    pub at: Time,
    /// Which way it went.
    pub inbound: bool,
    /// Number of the host that sent it; of a returned header, the host that it was for.
    pub src: u32,
    /// Number of the host it is for.
    pub dst: u32,
    /// Source port of UDP, which gives routing something to hash.
    pub src_port: u16,
    /// What it is.
    pub kind: MessageKind,
    /// What else it says.
    pub bits: MessageBits,
    /// Number of its flow.
    pub flow: u32,
    /// Offset of the first payload byte, or credit in bytes, as the kind has it.
    pub seq: u64,
    /// A second number of the kind.
    pub stamp: u32,
    /// A third one.
    pub word: u16,
    /// Bytes of payload.
    pub payload: u16,
    /// Bytes from the IP header on, as the model counts them.
    pub size: u16,
    /// The two ECN bits of the IP header.
    pub ecn: u8,
    /// Traffic class 0 to 7, which becomes the class selector of that number.
    pub class: u8,
    /// Packets that the queue refused since the frame before, outbound.
    pub drops: u32,
}

/// What a packet of a receiver-driven transport is, by the number in its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum MessageKind {
    /// Payload of a message.
    Data = 1,
    /// Data whose payload a switch cut off.
    Trimmed = 2,
    /// A trimmed packet on its way back to its sender.
    Returned = 3,
    /// An acknowledgement.
    Ack = 4,
    /// A request for a packet whose payload was cut off, or that is missing.
    Nack = 5,
    /// A message of a sender without payload: a request for credit, its end, or a probe.
    Want = 6,
    /// Credit: a pull, a grant or a numbered credit; or a request for what is missing.
    Grant = 7,
}

/// Flags of the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageBits {
    /// The last packet of its message; of an ACK: the message is complete.
    pub fin: bool,
    /// Data that is sent again.
    pub again: bool,
    /// A grant that requests what is missing.
    pub resend: bool,
    /// A header whose payload was cut off at a port to a switch, where the transport wants to know.
    pub core: bool,
}

/// Port of UDP at the other end: experiment 1 (RFC 4727, section 6).
const PORT: u16 = 1021;
const VERSION: u8 = 1; // with zeros there, Wireshark takes the header for that of WireGuard
const HEADER_LEN: usize = 24;
const LEAST: usize = Ipv4Header::MIN_LEN + UdpHeader::LEN + HEADER_LEN;

impl MessageFrame {
    /// Appends the whole frame to `to`. Returns how long it is, without its FCS.
    pub(crate) fn bytes(&self, to: &mut Vec<u8>) -> usize {
        let length = usize::from(self.size).max(LEAST + usize::from(self.payload));
        let ethernet = Ethernet2Header {
            source: node_mac(self.src),
            destination: node_mac(self.dst),
            ether_type: EtherType::IPV4,
        };
        let mut ip = Ipv4Header {
            dscp: IpDscp::try_new(self.class << 3 & IpDscp::MAX_U8).expect("six bits"),
            ecn: IpEcn::try_new(self.ecn & 3).expect("two bits"),
            total_len: u16::try_from(length).expect("a packet is below 64 KiB"),
            dont_fragment: true,
            time_to_live: TTL,
            protocol: IpNumber::UDP,
            source: host_address(self.src),
            destination: host_address(self.dst),
            ..Ipv4Header::default()
        };
        ip.header_checksum = ip.calc_header_checksum();
        let mut datagram = self.header().to_vec();
        datagram.resize(length - Ipv4Header::MIN_LEN - UdpHeader::LEN, 0);
        let udp = UdpHeader::with_ipv4_checksum(self.src_port, PORT, &ip, &datagram);
        to.extend_from_slice(&ethernet.to_bytes());
        to.extend_from_slice(&ip.to_bytes());
        to.extend_from_slice(&udp.expect("a packet is below 64 KiB").to_bytes());
        to.extend_from_slice(&datagram);
        Ethernet2Header::LEN + length
    }

    fn header(&self) -> [u8; HEADER_LEN] {
        let MessageBits { fin, again, resend, core } = self.bits;
        let bits = [fin, again, resend, core].map(u16::from);
        let flags = (0..).zip(bits).map(|(place, bit)| bit << place).sum::<u16>();
        let mut header = [0; HEADER_LEN];
        (header[0], header[1]) = (self.kind as u8, VERSION);
        header[2..4].copy_from_slice(&flags.to_be_bytes());
        header[4..8].copy_from_slice(&self.flow.to_be_bytes());
        header[8..16].copy_from_slice(&self.seq.to_be_bytes());
        header[16..20].copy_from_slice(&self.stamp.to_be_bytes());
        header[20..22].copy_from_slice(&self.word.to_be_bytes());
        header[22..].copy_from_slice(&self.payload.to_be_bytes());
        header
    }
}
