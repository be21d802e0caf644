//! The bytes of one RoCEv2 packet: Ethernet II, IPv4, UDP, base transport header, what its kind adds, invariant CRC.
//!
//! Source: InfiniBand Architecture, volume 1, section 9 (transport headers, opcodes, syndromes) and annex A17 (RoCEv2: port 4791, invariant
//! CRC, congestion notification packets).
//! Payload is zeros, and filled up with up to three more to a multiple of four bytes, as the format wants it.

use super::frame::{TTL, host_address, node_mac};
use etherparse::{EtherType, Ethernet2Header, IpDscp, IpEcn, IpNumber, Ipv4Header};
use forebay_units::Time;

/// One packet of a reliable queue pair on its way past a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoceFrame {
    /// Outbound: when its first bit left. Inbound: when its last bit came.
    pub at: Time,
    /// Which way it went.
    pub inbound: bool,
    /// Number of the host that sent it.
    pub src: u32,
    /// Number of the host it is for.
    pub dst: u32,
    /// Source port of UDP, which gives routing something to hash.
    pub src_port: u16,
    /// The queue pair at the other end, 24 bits.
    pub queue_pair: u32,
    /// Packet sequence number, 24 bits.
    pub number: u32,
    /// What it is.
    pub kind: RoceKind,
    /// The two ECN bits of the IP header.
    pub ecn: u8,
    /// Traffic class 0 to 7, which becomes the class selector of that number.
    pub class: u8,
    /// Packets that the queue refused since the frame before, outbound.
    pub drops: u32,
}

/// What a packet of a queue pair is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoceKind {
    /// A piece of a message that is sent.
    Send {
        /// First piece of the message.
        first: bool,
        /// Last piece of the message.
        last: bool,
        /// AckReq of the BTH.
        ack_request: bool,
        /// Bytes of payload.
        payload: u16,
    },
    /// Everything up to its number has arrived.
    Ack {
        /// The receiver saw congestion: BECN.
        congested: bool,
        /// Messages that are complete.
        messages: u32,
    },
    /// The packet of its number is missing: a negative acknowledgement, error in the sequence of packets.
    Nak {
        /// Messages that are complete.
        messages: u32,
    },
    /// A congestion notification packet.
    Cnp,
}

/// Port of UDP that stands for RoCEv2.
const PORT: u16 = 4791;
const UDP_LEN: usize = 8;
const BTH_LEN: usize = 12;
const CRC_LEN: usize = 4;

/// Operation codes of reliable connections, and of CNPs.
const SEND_FIRST: u8 = 0x00;
const SEND_MIDDLE: u8 = 0x01;
const SEND_LAST: u8 = 0x02;
const SEND_ONLY: u8 = 0x04;
const ACKNOWLEDGE: u8 = 0x11;
const CNP: u8 = 0x81;

/// The partition that every port belongs to.
const PARTITION: u16 = 0xffff;
/// Backward congestion notification, in the byte before the queue pair.
const BECN: u8 = 0x40;
/// An ACK that says nothing about credits.
const SYNDROME_ACK: u8 = 0x1f;
/// A NAK for a gap in the sequence of packets.
const SYNDROME_NAK: u8 = 0x60;
/// Bytes of a CNP that mean nothing.
const CNP_RESERVED: u16 = 16;

impl RoceFrame {
    /// Appends the whole frame to `to`. Returns how long it is, without its FCS.
    pub(crate) fn bytes(&self, to: &mut Vec<u8>) -> usize {
        let (payload, fill) = match self.kind {
            RoceKind::Send { payload, .. } => (payload, payload.wrapping_neg() & 3),
            RoceKind::Ack { .. } | RoceKind::Nak { .. } => (4, 0),
            RoceKind::Cnp => (CNP_RESERVED, 0),
        };
        let length = UDP_LEN + BTH_LEN + usize::from(payload + fill) + CRC_LEN;
        let ethernet = Ethernet2Header {
            source: node_mac(self.src),
            destination: node_mac(self.dst),
            ether_type: EtherType::IPV4,
        };
        let mut ip = Ipv4Header {
            dscp: IpDscp::try_new(self.class << 3 & IpDscp::MAX_U8).expect("six bits"),
            ecn: IpEcn::try_new(self.ecn & 3).expect("two bits"),
            total_len: (Ipv4Header::MIN_LEN + length) as u16,
            dont_fragment: true,
            time_to_live: TTL,
            protocol: IpNumber::UDP,
            source: host_address(self.src),
            destination: host_address(self.dst),
            ..Ipv4Header::default()
        };
        ip.header_checksum = ip.calc_header_checksum();
        to.extend_from_slice(&ethernet.to_bytes());
        let start = to.len();
        to.extend_from_slice(&ip.to_bytes());
        to.extend_from_slice(&self.src_port.to_be_bytes());
        to.extend_from_slice(&PORT.to_be_bytes());
        to.extend_from_slice(&(length as u16).to_be_bytes());
        to.extend_from_slice(&[0, 0]); // no checksum: the invariant CRC covers more
        self.transport(fill as u8, to);
        to.resize(start + Ipv4Header::MIN_LEN + length - CRC_LEN, 0);
        let crc = invariant_crc(&to[start..]);
        to.extend_from_slice(&crc.to_le_bytes());
        to.len() - start + Ethernet2Header::LEN
    }

    /// Base transport header, and what is not zero behind it.
    fn transport(&self, fill: u8, to: &mut Vec<u8>) {
        let (code, ack_request, congested) = match self.kind {
            RoceKind::Send { first, last, ack_request, .. } => {
                let code = match (first, last) {
                    (true, true) => SEND_ONLY,
                    (true, false) => SEND_FIRST,
                    (false, false) => SEND_MIDDLE,
                    (false, true) => SEND_LAST,
                };
                (code, ack_request, false)
            }
            RoceKind::Ack { congested, .. } => (ACKNOWLEDGE, false, congested),
            RoceKind::Nak { .. } => (ACKNOWLEDGE, false, false),
            RoceKind::Cnp => (CNP, false, true),
        };
        to.extend_from_slice(&[code, fill << 4]);
        to.extend_from_slice(&PARTITION.to_be_bytes());
        word(to, if congested { BECN } else { 0 }, self.queue_pair);
        word(to, u8::from(ack_request) << 7, self.number);
        match self.kind {
            RoceKind::Ack { messages, .. } => word(to, SYNDROME_ACK, messages),
            RoceKind::Nak { messages } => word(to, SYNDROME_NAK, messages),
            RoceKind::Send { .. } | RoceKind::Cnp => {}
        }
    }
}

/// A byte and a number of 24 bits.
fn word(to: &mut Vec<u8>, high: u8, low: u32) {
    to.extend_from_slice(&(u32::from(high) << 24 | low & 0x00ff_ffff).to_be_bytes());
}

/// The CRC over what no switch changes, of a packet from its IP header up to there. It goes into the frame lowest byte first.
///
/// That of Ethernet, over eight bytes of ones in place of InfiniBand's local header and then the packet, in which type of service, time to live,
/// both checksums and the byte with the congestion bits are ones.
fn invariant_crc(packet: &[u8]) -> u32 {
    const CHANGES: [usize; 7] = [1, 8, 10, 11, 26, 27, 32];
    let mut crc = [0xff; 8].into_iter().fold(u32::MAX, step);
    for (i, byte) in packet.iter().enumerate() {
        crc = step(crc, if CHANGES.contains(&i) { 0xff } else { *byte });
    }
    !crc
}

fn step(crc: u32, byte: u8) -> u32 {
    crc >> 8 ^ TABLE[usize::from(crc as u8 ^ byte)]
}

/// Remainders of all bytes by the polynomial of IEEE 802.3, lowest bit first.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut rest = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            rest = if rest & 1 == 1 { rest >> 1 ^ 0xedb8_8320 } else { rest >> 1 };
            bit += 1;
        }
        table[byte] = rest;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: RoceKind) -> RoceFrame {
        RoceFrame {
            at: Time::ZERO,
            inbound: false,
            src: 0,
            dst: 1,
            src_port: 50_000,
            queue_pair: 0x12_3456,
            number: 0xab_cdef,
            kind,
            ecn: 1,
            class: 3,
            drops: 0,
        }
    }

    fn bytes(kind: RoceKind) -> Vec<u8> {
        let mut bytes = Vec::new();
        assert_eq!(frame(kind).bytes(&mut bytes), bytes.len());
        bytes
    }

    /// A CNP as a ConnectX-4 Lx sent it, from its IP header on. Source: the RoCE tests of scapy.
    #[test]
    fn the_invariant_crc_is_that_of_a_real_nic() {
        let mut packet = vec![
            0x45, 0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00, 0x40, 0x11, 0x91, 0x61, 0x0a, 0x00,
            0x11, 0x01, 0x0a, 0x00, 0x12, 0x01, 0x00, 0x00, 0x12, 0xb7, 0x00, 0x28, 0x00, 0x00,
            0x81, 0x00, 0xff, 0xff, 0x40, 0x00, 0x01, 0x18, 0x00, 0x00, 0x00, 0x00,
        ];
        packet.resize(56, 0);
        assert_eq!(invariant_crc(&packet).to_le_bytes(), [0x82, 0xfd, 0x00, 0x2a]);
        // What switches change is not in it; what they do not change is.
        for (i, covered) in
            [(1, false), (8, false), (11, false), (32, false), (33, true), (19, true)]
        {
            let mut other = packet.clone();
            other[i] ^= 0x55;
            assert_eq!(invariant_crc(&other) != invariant_crc(&packet), covered, "byte {i}");
        }
    }

    /// Offsets and values of volume 1, sections 9.2 and 9.3, behind 14 B of Ethernet, 20 B of IPv4 and 8 B of UDP.
    #[test]
    fn headers_stand_where_the_format_has_them() {
        let send = |first, last| RoceKind::Send { first, last, ack_request: last, payload: 1_001 };
        for (kind, code) in [
            (send(true, false), 0),
            (send(false, false), 1),
            (send(false, true), 2),
            (send(true, true), 4),
            (RoceKind::Ack { congested: false, messages: 1 }, 0x11),
            (RoceKind::Nak { messages: 0 }, 0x11),
            (RoceKind::Cnp, 0x81),
        ] {
            let all = bytes(kind);
            assert_eq!((all[12], all[13], all[23]), (8, 0, 17), "IPv4 and UDP");
            assert_eq!(all[36..38], [0x12, 0xb7], "4791");
            assert_eq!(all[42], code);
            assert_eq!((all[44], all[45]), (0xff, 0xff));
            assert_eq!(all[47..50], [0x12, 0x34, 0x56]);
            assert_eq!(all[51..54], [0xab, 0xcd, 0xef]);
            let length = u16::from_be_bytes([all[38], all[39]]);
            assert_eq!(usize::from(length), all.len() - 34);
            assert_eq!((all.len() - 14) % 4, 0, "a multiple of four from IP on");
        }
        let last = bytes(send(false, true));
        assert_eq!(
            (last.len(), last[43] >> 4 & 3, last[50] >> 7),
            (14 + 20 + 8 + 12 + 1004 + 4, 3, 1)
        );
        assert_eq!(bytes(send(true, false))[50] >> 7, 0);
        let ack = bytes(RoceKind::Ack { congested: true, messages: 1 });
        assert_eq!((ack[46], &ack[54..58]), (0x40, &[0x1f, 0, 0, 1][..]));
        let nak = bytes(RoceKind::Nak { messages: 2 });
        assert_eq!((nak[46], &nak[54..58]), (0, &[0x60, 0, 0, 2][..]));
        let cnp = bytes(RoceKind::Cnp);
        assert_eq!((cnp.len(), cnp[46], &cnp[54..70]), (74, 0x40, &[0; 16][..]));
        assert_eq!(cnp[15], 3 << 5 | 1, "class selector 3");
    }
}
