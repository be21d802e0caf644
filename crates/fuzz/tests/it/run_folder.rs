//! Run folders with edited files: read, or refused with a sentence that names the file. And captures of any packet,
//! which other programs have to read.

use bolero::TypeGenerator;
use forebay_fuzz::{Edits, each, is_a_sentence};
use forebay_record::capture::{CaptureFiles, CapturedPort, PortTotals, RoceFrame, RoceKind, Sink};
use forebay_record::{IfExists, RunDir};
use forebay_units::{Bytes, Time};
use pcap_parser::pcapng::{Block, parse_block_le};
use std::path::PathBuf;

#[path = "../../../record/tests/it/support/mod.rs"]
mod support;

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("forebay-fuzz-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

#[test]
fn run_folder() {
    let path = folder("run");
    let about = support::about(&[1]);
    let mut dir = RunDir::create(&path, &about, IfExists::Refuse).unwrap();
    let run = support::with_links(support::run(1, 12));
    let run = support::with_memory(support::with_class_pauses(run));
    dir.add(&run).unwrap();
    dir.finish(std::slice::from_ref(&run), Default::default()).unwrap();
    let mut files: Vec<(PathBuf, String)> = std::fs::read_dir(&path)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|file| file.extension().is_some_and(|e| e == "csv" || e == "json"))
        .map(|file| (file.clone(), std::fs::read_to_string(file).unwrap()))
        .collect();
    files.sort();
    each!(60, (u8, Edits), |(which, edits)| {
        let (file, text) = &files[usize::from(*which) % files.len()];
        std::fs::write(file, edits.of(text)).unwrap();
        if let Err(error) = RunDir::load(&path) {
            assert!(is_a_sentence(&error.to_string()), "{error}");
        }
        if let Err(error) = RunDir::load_summary(&path) {
            assert!(is_a_sentence(&error.to_string()), "{error}");
        }
        std::fs::write(file, text).unwrap();
    });
    std::fs::remove_dir_all(&path).unwrap();
}

/// A packet of a queue pair, with any numbers.
#[derive(Clone, Debug, TypeGenerator)]
struct AnyPacket {
    ns: u32,
    inbound: bool,
    ends: (u16, u16),
    port: u16,
    numbers: (u32, u32),
    first: bool,
    last: bool,
    ack_request: bool,
    payload: u16,
    ack: Option<(bool, u32)>,
    ecn: u8,
    class: u8,
    drops: u32,
}

#[test]
fn capture() {
    let path = folder("capture");
    each!(60, (u16, [AnyPacket; 3]), |(snap, packets)| {
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        let mut files = CaptureFiles::new(&path, "any", 1);
        let snap = Bytes::new(u64::from(*snap).max(66));
        let port = CapturedPort { node: "a".into(), peer: "b".into(), rate: 1_000, snap };
        files.begin(vec![port], &[]);
        let mut at = Time::ZERO;
        for one in packets {
            at = Time::from_ps(at.as_ps() + u64::from(one.ns) * 1_000);
            let kind = match one.ack {
                Some((congested, messages)) => RoceKind::Ack { congested, messages },
                None => RoceKind::Send {
                    first: one.first,
                    last: one.last,
                    ack_request: one.ack_request,
                    payload: one.payload,
                },
            };
            files.roce(
                0,
                &RoceFrame {
                    at,
                    inbound: one.inbound,
                    src: one.ends.0.into(),
                    dst: one.ends.1.into(),
                    src_port: one.port,
                    queue_pair: one.numbers.0 & 0xff_ffff,
                    number: one.numbers.1 & 0xff_ffff,
                    kind,
                    ecn: one.ecn & 3,
                    class: one.class & 7,
                    drops: one.drops,
                },
            );
        }
        files.end(0, PortTotals { dropped: 0, end: at });
        let written = files.finish().unwrap();
        let bytes = std::fs::read(path.join(&written[0].file)).unwrap();
        let (mut rest, mut seen) = (&bytes[..], 0);
        while !rest.is_empty() {
            let (after, block) = parse_block_le(rest).expect("whole blocks");
            if let Block::EnhancedPacket(packet) = block {
                assert!(u64::from(packet.caplen) <= snap.get() && packet.caplen <= packet.origlen);
                seen += 1;
            }
            rest = after;
        }
        assert_eq!(seen, packets.len());
    },);
    let _ = std::fs::remove_dir_all(&path);
}
