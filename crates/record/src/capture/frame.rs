//! The bytes of one frame: Ethernet II, IPv4, TCP; or a pause.
//!
//! Source: RFC 791 and 9293; options RFC 7323 (window scale, timestamps), 2018 and 2883 (SACK, DSACK); ECN RFC 3168.
//! Pause: IEEE 802.3, Annexes 31A (opcodes), 31B (all classes) and 31D (class by class).
//! Payload is zeros, which add nothing to a checksum, so checksums are right whatever is cut off.

use etherparse::{
    EtherType, Ethernet2Header, IpDscp, IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement,
};
use forebay_units::Time;

/// Flags of a TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpBits {
    /// Opens a connection.
    pub syn: bool,
    /// The acknowledgement number means something.
    pub ack: bool,
    /// The last byte of the stream.
    pub fin: bool,
    /// Nothing more is to be waited for.
    pub psh: bool,
    /// The receiver saw congestion.
    pub ece: bool,
    /// The sender has reduced its window.
    pub cwr: bool,
}

/// What a comment of a frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// Nothing.
    Nothing,
    /// A frame that crossed no cable. It tells a reader the options of this flow's connection.
    Synthetic {
        /// The flow.
        flow: u32,
    },
}

/// One TCP segment on its way past a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Outbound: when its first bit left. Inbound: when its last bit came.
    pub at: Time,
    /// Which way it went.
    pub inbound: bool,
    /// Number of the host that sent it.
    pub src: u32,
    /// Number of the host it is for.
    pub dst: u32,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Flags.
    pub bits: TcpBits,
    /// Window field; scaled by [`WINDOW_SHIFT`] but in a SYN.
    pub window: u16,
    /// Timestamps option: value and echo.
    pub stamps: (u32, u32),
    /// SACK blocks, as sequence numbers.
    pub sacks: [(u32, u32); 3],
    /// How many of them there are.
    pub sack_count: u8,
    /// Largest segment, said in a SYN.
    pub mss: u16,
    /// The two ECN bits of the IP header.
    pub ecn: u8,
    /// Traffic class 0 to 7, which becomes the class selector of that number (RFC 2474).
    pub class: u8,
    /// Bytes of payload.
    pub payload: u16,
    /// Packets that the queue refused since the frame before, outbound.
    pub drops: u32,
    /// Comment of the frame.
    pub note: Note,
}

/// One pause frame on its way past a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseFrame {
    /// As in [`Frame::at`].
    pub at: Time,
    /// Which way it went.
    pub inbound: bool,
    /// Number of the node that sent it: hosts first, then switches.
    pub src: u32,
    /// Whether the other end is to stop something, rather than to go on with everything.
    pub stop: bool,
    /// Where classes are paused one by one: those that the frame speaks of, and those of them that are to stop, a bit each.
    pub classes: Option<(u8, u8)>,
    /// As in [`Frame::drops`].
    pub drops: u32,
}

/// Windows count units of 1 KiB.
pub const WINDOW_SHIFT: u8 = 10;

/// Hops that are left. A switch takes none away: the fabric is seen as one subnet.
pub(super) const TTL: u8 = 64;

/// Address of a host: 10.0.0.0 plus its number plus one.
pub fn host_address(host: u32) -> [u8; 4] {
    let [_, a, b, c] = (host + 1).to_be_bytes();
    [10, a, b, c]
}

/// Address of a node's NIC or ports: locally administered, ending in its number plus one.
pub fn node_mac(node: u32) -> [u8; 6] {
    let [a, b, c, d] = (node + 1).to_be_bytes();
    [0x02, 0, a, b, c, d]
}

/// Where MAC control frames go: the other end of the cable, and no further.
const CONTROL_ADDRESS: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 1];
const CONTROL: EtherType = EtherType(0x8808);
const PAUSE_OPCODE: u16 = 1;
const CLASS_PAUSE_OPCODE: u16 = 0x101;
/// The shortest frame: 64 B with its FCS.
const LEAST_FRAME: usize = 60;

impl PauseFrame {
    /// Appends its bytes to `to`. Returns how long the frame is, without its FCS.
    pub(crate) fn bytes(&self, to: &mut Vec<u8>) -> usize {
        let ethernet = Ethernet2Header {
            source: node_mac(self.src),
            destination: CONTROL_ADDRESS,
            ether_type: CONTROL,
        };
        // On and off, as if the longest pause were refreshed in time: 65535 quanta of 512 bits, or none.
        let quanta = |stop: bool| if stop { u16::MAX } else { 0 }.to_be_bytes();
        let start = to.len();
        to.extend_from_slice(&ethernet.to_bytes());
        match self.classes {
            None => {
                to.extend_from_slice(&PAUSE_OPCODE.to_be_bytes());
                to.extend_from_slice(&quanta(self.stop));
            }
            Some((all, stopped)) => {
                to.extend_from_slice(&CLASS_PAUSE_OPCODE.to_be_bytes());
                to.extend_from_slice(&u16::from(all).to_be_bytes());
                (0..8).for_each(|class| to.extend_from_slice(&quanta(stopped & 1 << class != 0)));
            }
        }
        to.resize(start + LEAST_FRAME, 0);
        LEAST_FRAME
    }
}

impl Frame {
    /// Appends its headers to `to`. Returns how long the whole frame is, without its FCS.
    pub(crate) fn headers(&self, to: &mut Vec<u8>) -> usize {
        let ethernet = Ethernet2Header {
            source: node_mac(self.src),
            destination: node_mac(self.dst),
            ether_type: EtherType::IPV4,
        };
        let tcp = self.tcp();
        let mut ip = Ipv4Header {
            dscp: IpDscp::try_new(self.class << 3 & IpDscp::MAX_U8).expect("six bits"),
            ecn: IpEcn::try_new(self.ecn & 3).expect("two bits"),
            total_len: (Ipv4Header::MIN_LEN + tcp.header_len()) as u16 + self.payload,
            dont_fragment: true,
            time_to_live: TTL,
            protocol: IpNumber::TCP,
            source: host_address(self.src),
            destination: host_address(self.dst),
            ..Ipv4Header::default()
        };
        ip.header_checksum = ip.calc_header_checksum();
        let payload = &ZEROS[..usize::from(self.payload)];
        let checksum = tcp.calc_checksum_ipv4(&ip, payload).expect("a packet is below 64 KiB");
        let tcp = TcpHeader { checksum, ..tcp };
        to.extend_from_slice(&ethernet.to_bytes());
        to.extend_from_slice(&ip.to_bytes());
        to.extend_from_slice(&tcp.to_bytes());
        Ethernet2Header::LEN + usize::from(ip.total_len)
    }

    fn tcp(&self) -> TcpHeader {
        let mut tcp = TcpHeader {
            source_port: self.src_port,
            destination_port: self.dst_port,
            sequence_number: self.seq,
            acknowledgment_number: self.ack,
            syn: self.bits.syn,
            ack: self.bits.ack,
            fin: self.bits.fin,
            psh: self.bits.psh,
            ece: self.bits.ece,
            cwr: self.bits.cwr,
            window_size: self.window,
            ..TcpHeader::default()
        };
        let stamps = TcpOptionElement::Timestamp(self.stamps.0, self.stamps.1);
        let (noop, sack) = (TcpOptionElement::Noop, self.sack());
        let fits = match (self.bits.syn, sack) {
            (true, _) => tcp.set_options(&[
                TcpOptionElement::MaximumSegmentSize(self.mss),
                TcpOptionElement::SelectiveAcknowledgementPermitted,
                stamps,
                noop,
                TcpOptionElement::WindowScale(WINDOW_SHIFT),
            ]),
            (_, Some(sack)) => {
                tcp.set_options(&[noop.clone(), noop.clone(), stamps, noop.clone(), noop, sack])
            }
            _ => tcp.set_options(&[noop.clone(), noop, stamps]),
        };
        fits.expect("timestamps and three SACK blocks are 40 bytes");
        tcp
    }

    fn sack(&self) -> Option<TcpOptionElement> {
        let (first, rest) = self.sacks[..usize::from(self.sack_count.min(3))].split_first()?;
        let more = [rest.first().copied(), rest.get(1).copied(), None];
        Some(TcpOptionElement::SelectiveAcknowledgement(*first, more))
    }
}

/// The payload of every packet.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
