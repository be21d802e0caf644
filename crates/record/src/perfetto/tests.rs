use super::*;
use crate::about::FaultSpan;
use crate::rows::Quantity;
use forebay_units::{Bytes, Span};

/// A field as it is on the wire.
#[derive(Clone, Debug, PartialEq)]
enum Field {
    Number(u64),
    Double(f64),
    Bytes(Vec<u8>),
}

/// All fields of a message, by a reader that shares nothing with the writer.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let field = match key & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => {
                let (value, rest) = bytes.split_at(8);
                bytes = rest;
                Field::Double(f64::from_le_bytes(value.try_into().unwrap()))
            }
            2 => {
                let long = varint(&mut bytes) as usize;
                let (value, rest) = bytes.split_at(long);
                bytes = rest;
                Field::Bytes(value.to_vec())
            }
            kind => panic!("wire type {kind} is never written"),
        };
        found.push((key >> 3, field));
    }
    found
}

fn inner(fields: &[(u64, Field)], number: u64) -> Option<Vec<(u64, Field)>> {
    fields.iter().find_map(|(n, field)| match field {
        Field::Bytes(bytes) if *n == number => Some(self::fields(bytes)),
        _ => None,
    })
}

fn number(fields: &[(u64, Field)], wanted: u64) -> Option<u64> {
    fields.iter().find_map(|(n, field)| match field {
        Field::Number(value) if *n == wanted => Some(*value),
        _ => None,
    })
}

fn text(fields: &[(u64, Field)], wanted: u64) -> Option<String> {
    fields.iter().find_map(|(n, field)| match field {
        Field::Bytes(value) if *n == wanted => String::from_utf8(value.clone()).ok(),
        _ => None,
    })
}

fn row(flow: u32, src: u32, start: u64, delivered: Option<u64>) -> FlowRow {
    FlowRow {
        flow,
        traffic: 0,
        src,
        dst: 1,
        size: Bytes::new(34_000),
        start: Time::from_ps(start),
        delivered: delivered.map(Time::from_ps),
        acked: None,
        gave_up: None,
        ideal: Span::from_ps(1_000_000),
        retransmits: 0,
        timeouts: 0,
    }
}

/// Time in ns, kind and track of every event, and the names of all tracks by number.
type Decoded = (Vec<(u64, u64, u64, Option<String>)>, BTreeMap<u64, String>);

fn decoded(bytes: &[u8]) -> Decoded {
    let (mut events, mut tracks) = (Vec::new(), BTreeMap::new());
    for (tag, packet) in fields(bytes) {
        assert_eq!(tag, 1, "a trace is packets and nothing else");
        let Field::Bytes(packet) = packet else { panic!("a packet is a message") };
        let packet = fields(&packet);
        if let Some(track) = inner(&packet, 60) {
            tracks.insert(number(&track, 1).unwrap(), text(&track, 2).unwrap_or_default());
        }
        if let Some(event) = inner(&packet, 11) {
            let at = number(&packet, 8).unwrap();
            let kind = number(&event, 9).unwrap();
            events.push((at, kind, number(&event, 11).unwrap(), text(&event, 23)));
        }
    }
    (events, tracks)
}

#[test]
fn flows_at_once_have_tracks_of_their_own_and_what_did_not_end_ends_with_the_run() {
    let run = RunRecord {
        seed: 1,
        hosts: vec!["a".into(), "b".into()],
        flows: vec![
            row(0, 0, 1_000_000, Some(4_000_999)),
            row(1, 0, 2_000_000, None),
            row(2, 0, 4_000_999, Some(5_000_000)),
        ],
        end: Time::from_ps(9_000_000),
        ..RunRecord::default()
    };
    let (events, tracks) = decoded(&trace(&RunStart::default(), &[run]));
    let of = |name: &str| -> Vec<(u64, u64)> {
        let track = tracks.iter().find(|(_, n)| *n == name).unwrap().0;
        events.iter().filter(|e| e.2 == *track).map(|e| (e.0, e.1)).collect()
    };
    assert_eq!(of("a"), [(1000, 1), (4000, 2), (4000, 1), (5000, 2)]);
    assert_eq!(of("a (2)"), [(2000, 1), (9000, 2)]);
    let names: Vec<_> = events.iter().filter_map(|e| e.3.clone()).collect();
    assert!(names.contains(&"flow 1 to b, 34 KB, unfinished".to_owned()), "{names:?}");
}

#[test]
fn a_series_is_a_counter_and_a_fault_a_slice() {
    let series = Series {
        name: "tor->a queue".into(),
        quantity: Quantity::Queue,
        unit: "bytes",
        at: vec![Time::from_ps(0), Time::from_ps(7_000)],
        values: vec![0.0, 1500.0],
    };
    let run =
        RunRecord { series: vec![series], end: Time::from_ps(9_000_000), ..RunRecord::default() };
    let fault = FaultSpan { what: "a-tor down".into(), from: Time::from_ps(3_000_000), to: None };
    let about = RunStart { faults: vec![fault], ..RunStart::default() };
    let bytes = trace(&about, &[run]);
    let (events, tracks) = decoded(&bytes);
    assert_eq!(tracks.values().filter(|name| *name == "tor->a queue").count(), 1);
    let counted: Vec<_> = events.iter().filter(|e| e.1 == 4).map(|e| e.0).collect();
    assert_eq!(counted, [0, 7]);
    let fault: Vec<_> = events.iter().filter(|e| e.1 < 4).map(|e| (e.0, e.1)).collect();
    assert_eq!(fault, [(3000, 1), (9000, 2)]);
    let values: Vec<f64> = fields(&bytes)
        .iter()
        .filter_map(|(_, packet)| match packet {
            Field::Bytes(packet) => inner(&fields(packet), 11),
            _ => None,
        })
        .flatten()
        .filter_map(|(n, field)| match field {
            Field::Double(value) if n == 44 => Some(value),
            _ => None,
        })
        .collect();
    assert_eq!(values, [0.0, 1500.0]);
}
