//! Captures as other programs read them: the blocks through `pcap-parser`, the frames through `etherparse`.

use etherparse::{NetSlice, SlicedPacket, TcpOptionElement, TransportSlice};
use forebay_record::RecordError;
use forebay_record::capture::{
    CaptureFile, CaptureFiles, CapturedPort, Frame, MessageBits, MessageFrame, MessageKind, Note,
    PauseFrame, PortTotals, Sink, TcpBits, host_address, node_mac,
};
use forebay_units::{Bytes, Time};
use pcap_parser::pcapng::{Block, EnhancedPacketBlock, NameRecordType, parse_block_le};
use pcap_parser::{OptionCode, PcapNGOption};
use std::path::{Path, PathBuf};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("forebay-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn port(node: &str, peer: &str, snap: u64) -> CapturedPort {
    CapturedPort {
        node: node.into(),
        peer: peer.into(),
        rate: 100_000_000_000,
        snap: Bytes::new(snap),
    }
}

const DATA: Frame = Frame {
    at: Time::from_ps(5_000_000_000_123),
    inbound: false,
    src: 0,
    dst: 70_000,
    src_port: 49_160,
    dst_port: 49_153,
    seq: u32::MAX - 3,
    ack: 1,
    bits: TcpBits { syn: false, ack: true, fin: true, psh: true, ece: false, cwr: true },
    window: 777,
    stamps: (123_456_789, 0),
    sacks: [(0, 0); 3],
    sack_count: 0,
    mss: 8_948,
    ecn: 3,
    class: 5,
    payload: 8_948,
    drops: 4,
    note: Note::Nothing,
};

fn ack() -> Frame {
    Frame {
        inbound: true,
        src: 70_000,
        dst: 0,
        bits: TcpBits { ack: true, ece: true, ..TcpBits::default() },
        sacks: [(1, 1001), (5001, 9001), (4_294_967_000, 7)],
        sack_count: 3,
        payload: 0,
        drops: 0,
        ecn: 0,
        ..DATA
    }
}

fn syn() -> Frame {
    let bits = TcpBits { syn: true, ece: true, cwr: true, ..TcpBits::default() };
    Frame {
        bits,
        payload: 0,
        drops: 0,
        ecn: 0,
        ack: 0,
        note: Note::Synthetic { flow: 16_392 },
        ..DATA
    }
}

/// The bytes of a capture of these frames.
fn file(name: &str, snap: u64, frames: &[Frame]) -> Vec<u8> {
    let folder = Folder::new(name);
    let mut files = CaptureFiles::new(&folder.0, "some, scenario", 9);
    files.begin(
        vec![port("leaf[0]", "spine[1]", snap)],
        &[(0, "leaf[0].host[0]".into()), (70_000, "bcd".into())],
    );
    frames.iter().for_each(|frame| files.frame(0, frame));
    files.end(0, PortTotals { dropped: 31, end: Time::from_ps(6_000_000_000_000) });
    let name = "captures/seed-9/leaf0-to-spine1.pcapng";
    let written = CaptureFile { file: name.into(), frames: frames.len() as u64 };
    assert_eq!(files.finish().unwrap(), [written]);
    std::fs::read(folder.0.join(name)).unwrap()
}

/// Calls `see` with every block; nothing may be left over.
fn blocks(mut bytes: &[u8], mut see: impl FnMut(&Block<'_>)) {
    while !bytes.is_empty() {
        let (rest, block) = parse_block_le(bytes).expect("whole blocks");
        see(&block);
        bytes = rest;
    }
}

fn option<'a>(options: &'a [PcapNGOption<'_>], code: u16) -> Option<&'a [u8]> {
    let found = options.iter().find(|o| o.code == OptionCode(code))?;
    Some(&found.value[..usize::from(found.len)])
}

fn packets(bytes: &[u8], mut see: impl FnMut(&EnhancedPacketBlock<'_>)) {
    blocks(bytes, |block| {
        if let Block::EnhancedPacket(packet) = block {
            see(packet);
        }
    });
}

#[test]
fn the_blocks_say_what_was_captured() {
    let bytes = file("blocks", 96, &[DATA]);
    let mut kinds = Vec::new();
    blocks(&bytes, |block| match block {
        Block::SectionHeader(b) => {
            kinds.push("section");
            assert_eq!(option(&b.options, 1).unwrap(), b"Simulated: some, scenario, seed 9");
        }
        Block::InterfaceDescription(b) => {
            kinds.push("interface");
            assert_eq!((b.linktype.0, b.snaplen), (1, 96));
            assert_eq!(option(&b.options, 2).unwrap(), b"leaf[0]->spine[1]");
            assert_eq!(option(&b.options, 8).unwrap(), 100_000_000_000u64.to_le_bytes());
            assert_eq!(option(&b.options, 9).unwrap(), [9], "nanoseconds");
        }
        Block::NameResolution(b) => {
            kinds.push("names");
            let names: Vec<&[u8]> =
                b.nr.iter()
                    .filter(|n| n.record_type == NameRecordType::Ipv4)
                    .map(|n| n.record_value)
                    .collect();
            assert_eq!(names, [&b"\x0a\0\0\x01leaf[0].host[0]\0"[..], b"\x0a\x01\x11\x71bcd\0"]);
        }
        Block::EnhancedPacket(_) => kinds.push("packet"),
        Block::InterfaceStatistics(b) => {
            kinds.push("statistics");
            assert_eq!(option(&b.options, 5).unwrap(), 31u64.to_le_bytes());
            assert_eq!(option(&b.options, 6).unwrap(), 1u64.to_le_bytes());
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(kinds, ["section", "interface", "names", "packet", "statistics"]);
}

#[test]
fn frames_read_back_equal_with_right_checksums() {
    let frames =
        [DATA, ack(), syn(), Frame { sack_count: 1, ..ack() }, Frame { payload: 1, ..DATA }];
    let bytes = file("frames", 65_536, &frames);
    let mut left = frames.iter();
    packets(&bytes, |block| {
        let frame = left.next().unwrap();
        let ns = u64::from(block.ts_high) << 32 | u64::from(block.ts_low);
        assert_eq!(ns, frame.at.as_ps() / 1_000);
        assert_eq!(block.caplen, block.origlen);
        let read = SlicedPacket::from_ethernet(&block.data[..block.caplen as usize]).unwrap();
        let Some(etherparse::LinkSlice::Ethernet2(ethernet)) = &read.link else { panic!() };
        assert_eq!(
            (ethernet.source(), ethernet.destination()),
            (node_mac(frame.src), node_mac(frame.dst))
        );
        let Some(NetSlice::Ipv4(ip)) = &read.net else { panic!() };
        let ip = ip.header().to_header();
        assert_eq!((ip.source, ip.destination), (host_address(frame.src), host_address(frame.dst)));
        assert_eq!((ip.ecn.value(), ip.dscp.value()), (frame.ecn, frame.class * 8));
        assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        let Some(TransportSlice::Tcp(tcp)) = &read.transport else { panic!() };
        let payload = tcp.payload();
        assert_eq!(payload.len(), usize::from(frame.payload));
        let tcp = tcp.to_header();
        assert_eq!(tcp.checksum, tcp.calc_checksum_ipv4(&ip, payload).unwrap());
        assert_eq!((tcp.source_port, tcp.destination_port), (frame.src_port, frame.dst_port));
        assert_eq!((tcp.sequence_number, tcp.acknowledgment_number), (frame.seq, frame.ack));
        let bits = TcpBits {
            syn: tcp.syn,
            ack: tcp.ack,
            fin: tcp.fin,
            psh: tcp.psh,
            ece: tcp.ece,
            cwr: tcp.cwr,
        };
        assert_eq!((bits, tcp.window_size), (frame.bits, frame.window));
        let options: Vec<TcpOptionElement> = tcp.options_iterator().map(Result::unwrap).collect();
        assert!(options.contains(&TcpOptionElement::Timestamp(frame.stamps.0, frame.stamps.1)));
        let sacks: Vec<(u32, u32)> = options
            .iter()
            .flat_map(|o| match o {
                TcpOptionElement::SelectiveAcknowledgement(first, more) => {
                    [Some(*first), more[0], more[1], more[2]].into_iter().flatten().collect()
                }
                _ => Vec::new(),
            })
            .collect();
        assert_eq!(sacks, frame.sacks[..usize::from(frame.sack_count)]);
        for option in [
            TcpOptionElement::MaximumSegmentSize(8_948),
            TcpOptionElement::WindowScale(10),
            TcpOptionElement::SelectiveAcknowledgementPermitted,
        ] {
            assert_eq!(options.contains(&option), frame.bits.syn, "{option:?}");
        }
        let direction = if frame.inbound { [1, 0, 0, 0] } else { [2, 0, 0, 0] };
        assert_eq!(option_of(block, 2).unwrap(), direction);
        let drops = (frame.drops > 0).then(|| u64::from(frame.drops).to_le_bytes().to_vec());
        assert_eq!(option_of(block, 4).map(<[u8]>::to_vec), drops);
        let comment =
            (frame.note != Note::Nothing).then_some(&b"synthetic handshake of flow 16392"[..]);
        assert_eq!(option_of(block, 1), comment);
    });
    assert!(left.next().is_none());
}

#[test]
fn a_packet_of_a_message_is_a_datagram_as_long_as_the_model_counts() {
    let folder = Folder::new("message");
    let mut files = CaptureFiles::new(&folder.0, "s", 1);
    files.begin(vec![port("host[0]", "tor", 65_536)], &[(0, "host[0]".into())]);
    let data = MessageFrame {
        at: Time::from_ps(5_000),
        inbound: false,
        src: 0,
        dst: 1,
        src_port: 49_160,
        kind: MessageKind::Data,
        bits: MessageBits { fin: true, again: false, resend: true, core: false },
        flow: 8,
        seq: 0x1_0000_0002,
        stamp: 3,
        word: 4,
        payload: 1_436,
        size: 1_500,
        ecn: 2,
        class: 6,
        drops: 0,
    };
    let bare = MessageFrame { kind: MessageKind::Grant, payload: 0, size: 46, ..data };
    let bits = MessageBits { fin: false, again: true, resend: false, core: true };
    let cut = MessageFrame { kind: MessageKind::Trimmed, bits, ..bare };
    [data, bare, cut].iter().for_each(|frame| files.message(0, frame));
    files.end(0, PortTotals::default());
    let bytes = std::fs::read(folder.0.join(&files.finish().unwrap()[0].file)).unwrap();
    let mut left = [(data, 1, 1_500, 5), (bare, 7, 52, 5), (cut, 2, 52, 10)].into_iter();
    packets(&bytes, |block| {
        let (frame, kind, length, flags) = left.next().unwrap();
        let read = SlicedPacket::from_ethernet(&block.data[..block.caplen as usize]).unwrap();
        let Some(NetSlice::Ipv4(ip)) = &read.net else { panic!() };
        let ip = ip.header().to_header();
        assert_eq!((ip.total_len, ip.dscp.value(), ip.ecn.value()), (length, 48, 2));
        assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        let Some(TransportSlice::Udp(udp)) = &read.transport else { panic!() };
        let (ports, payload) = ((udp.source_port(), udp.destination_port()), udp.payload());
        assert_eq!(ports, (49_160, 1_021));
        let checksum = udp.to_header().calc_checksum_ipv4(&ip, payload).unwrap();
        assert_eq!(udp.checksum(), checksum);
        let header = [kind, 1, 0, flags, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 4];
        assert_eq!(payload[..22], header);
        assert_eq!(payload[22..24], frame.payload.to_be_bytes());
    });
    assert!(left.next().is_none());
}

#[test]
fn a_pause_is_a_mac_control_frame() {
    let folder = Folder::new("pause");
    let mut files = CaptureFiles::new(&folder.0, "s", 1);
    files.begin(vec![port("a", "b", 96)], &[]);
    let stop = PauseFrame {
        at: Time::from_ps(7_999),
        inbound: true,
        src: 258,
        stop: true,
        classes: None,
        drops: 0,
    };
    let go = PauseFrame { at: Time::from_ps(9_000), inbound: false, stop: false, drops: 2, ..stop };
    [stop, go].iter().for_each(|frame| files.pause(0, frame));
    files.end(0, PortTotals::default());
    assert_eq!(files.finish().unwrap()[0].frames, 2);
    let bytes = std::fs::read(folder.0.join("captures/seed-1/a-to-b.pcapng")).unwrap();
    let mut seen = Vec::new();
    packets(&bytes, |block| {
        // IEEE 802.3 Annex 31B: 01-80-C2-00-00-01, type 8808, opcode 1, quanta, zeros; 64 B less the FCS.
        assert_eq!((block.caplen, block.origlen), (60, 60));
        let data = &block.data[..60];
        assert_eq!(data[..6], [0x01, 0x80, 0xc2, 0, 0, 1]);
        assert_eq!(data[6..12], [2, 0, 0, 0, 1, 3]);
        assert_eq!(data[12..16], [0x88, 0x08, 0, 1]);
        assert!(data[18..].iter().all(|byte| *byte == 0));
        seen.push((block.ts_low, data[16..18].to_vec(), option_of(block, 4).is_some()));
    });
    assert_eq!(seen, [(7, vec![0xff, 0xff], false), (9, vec![0, 0], true)]);
}

#[test]
fn a_pause_of_classes_has_a_timer_for_each() {
    let folder = Folder::new("class-pause");
    let mut files = CaptureFiles::new(&folder.0, "s", 1);
    files.begin(vec![port("a", "b", 96)], &[]);
    let classes = Some((0b0010_1000, 0b0000_1000)); // speaks of 3 and 5, stops 3
    let one = PauseFrame { at: Time::ZERO, inbound: true, src: 0, stop: true, classes, drops: 0 };
    files.pause(0, &one);
    files.end(0, PortTotals::default());
    files.finish().unwrap();
    let bytes = std::fs::read(folder.0.join("captures/seed-1/a-to-b.pcapng")).unwrap();
    packets(&bytes, |block| {
        // IEEE 802.3 Annex 31D: opcode 0101, the classes that have a timer, eight timers.
        assert_eq!((block.caplen, block.origlen), (60, 60));
        assert_eq!(block.data[12..18], [0x88, 0x08, 1, 1, 0, 0b0010_1000]);
        let timers: Vec<u8> = block.data[18..34].to_vec();
        assert!((0..8).all(|c| timers[2 * c..2 * c + 2] == [if c == 3 { 0xff } else { 0 }; 2]));
        assert!(block.data[34..60].iter().all(|byte| *byte == 0));
    });
}

fn option_of<'a>(block: &'a EnhancedPacketBlock<'_>, code: u16) -> Option<&'a [u8]> {
    option(&block.options, code)
}

#[test]
fn a_frame_cut_short_keeps_its_length_and_its_checksum() {
    for (snap, kept) in [(66, 66), (67, 67), (96, 96), (10_000, 14 + 52 + 8_948)] {
        let whole = file("whole", 65_536, &[DATA]);
        let cut = file("cut", snap, &[DATA]);
        let mut original = Vec::new();
        packets(&whole, |block| original = block.data[..block.caplen as usize].to_vec());
        packets(&cut, |block| {
            assert_eq!((block.caplen as usize, block.origlen), (kept, 14 + 52 + 8_948));
            assert_eq!(block.data[..kept], original[..kept]);
        });
    }
}

#[test]
fn ports_of_like_names_get_files_of_their_own() {
    let folder = Folder::new("names");
    let mut files = CaptureFiles::new(&folder.0, "s", 1);
    let ports = [("a[1]", "b"), ("a1", "b"), ("A1", "b"), ("a->1", "../b")];
    files.begin(ports.map(|(node, peer)| port(node, peer, 96)).to_vec(), &[]);
    let names: Vec<String> = files.finish().unwrap().into_iter().map(|f| f.file).collect();
    let expected = ["a1-to-b", "a1-to-b-2", "A1-to-b-3", "a-1-to-..b"];
    assert_eq!(names, expected.map(|name| format!("captures/seed-1/{name}.pcapng")));
    assert!(Path::new(&folder.0).join("captures/seed-1/a1-to-b-2.pcapng").exists());
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error_and_no_panic() {
    let folder = Folder::new("refused");
    std::fs::write(folder.0.join("captures"), "in the way").unwrap();
    let mut files = CaptureFiles::new(&folder.0, "s", 1);
    files.begin(vec![port("a", "b", 96)], &[]);
    assert!(!files.settle());
    files.frame(0, &DATA);
    files.end(0, PortTotals::default());
    assert!(matches!(files.finish(), Err(RecordError::Io { action: "create", .. })));
}
