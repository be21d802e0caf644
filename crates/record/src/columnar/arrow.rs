//! A table as a file of Apache Arrow's IPC format.
//!
//! Source: Apache Arrow columnar format 1.5, "IPC File Format" and "Encapsulated message format"; `Schema.fbs`, `Message.fbs` and
//! `File.fbs`, whose order of fields and numbers of kinds these are.

use super::flatbuffer::{Node, Slot, buffer};
use super::{parts, there};
use crate::frame::{Frame, Values};
use std::ops::Range;

const MAGIC: &[u8; 8] = b"ARROW1\0\0";
const VERSION: Slot = Slot::Short(4); // V5

const SCHEMA: u8 = 1;
const RECORD_BATCH: u8 = 3;

const INT: u8 = 2;
const FLOATING_POINT: u8 = 3;
const UTF8: u8 = 5;
const LIST: u8 = 12;

/// The file.
pub(super) fn file(frame: &Frame) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    message(&mut file, SCHEMA, schema(frame), &[]);
    let mut blocks = Vec::new();
    for rows in parts(frame.rows) {
        let (header, body) = batch(frame, rows);
        let start = file.len();
        let metadata = message(&mut file, RECORD_BATCH, header, &body);
        blocks.extend((start as i64).to_le_bytes());
        blocks.extend((metadata as i64).to_le_bytes()); // four bytes, and four that fill up
        blocks.extend((body.len() as i64).to_le_bytes());
    }
    file.extend([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    let footer = buffer(vec![
        VERSION,
        Slot::To(Node::Table(schema(frame))),
        Slot::To(Node::Structs(0, Vec::new())),
        Slot::To(Node::Structs(blocks.len() / 24, blocks)),
    ]);
    file.extend(&footer);
    file.extend((footer.len() as i32).to_le_bytes());
    file.extend(&MAGIC[..6]);
    file
}

/// Appends a message and returns how long it is without its body.
fn message(file: &mut Vec<u8>, kind: u8, header: Vec<Slot>, body: &[u8]) -> usize {
    let header = Slot::To(Node::Table(header));
    let metadata = buffer(vec![VERSION, Slot::Byte(kind), header, Slot::Long(body.len() as i64)]);
    file.extend([0xff; 4]);
    file.extend((metadata.len() as i32).to_le_bytes());
    file.extend(&metadata);
    file.extend(body);
    metadata.len() + 8
}

fn schema(frame: &Frame) -> Vec<Slot> {
    let fields = frame.columns.iter().map(|(name, values)| match values {
        Values::Whole(_) => whole(name, false),
        Values::MaybeWhole(..) => whole(name, true),
        Values::Real(_) => real(name, true),
        Values::Words(..) => field(name, false, (UTF8, Vec::new()), Vec::new()),
        Values::Lists(..) => field(name, false, (LIST, Vec::new()), vec![real("item", false)]),
    });
    vec![Slot::Short(0), Slot::To(Node::Tables(fields.collect()))]
}

fn whole(name: &str, nullable: bool) -> Node {
    field(name, nullable, (INT, vec![Slot::Int(64), Slot::Byte(1)]), Vec::new())
}

fn real(name: &str, nullable: bool) -> Node {
    field(name, nullable, (FLOATING_POINT, vec![Slot::Short(2)]), Vec::new())
}

fn field(name: &str, nullable: bool, (kind, of): (u8, Vec<Slot>), children: Vec<Node>) -> Node {
    Node::Table(vec![
        Slot::To(Node::Text(name.into())),
        Slot::Byte(nullable.into()),
        Slot::Byte(kind),
        Slot::To(Node::Table(of)),
        Slot::Default,
        Slot::To(Node::Tables(children)),
    ])
}

/// Buffers one after another, and where each is.
#[derive(Default)]
struct Body {
    bytes: Vec<u8>,
    nodes: Vec<u8>,
    buffers: Vec<u8>,
}

impl Body {
    fn node(&mut self, length: usize, missing: usize) {
        self.nodes.extend((length as i64).to_le_bytes());
        self.nodes.extend((missing as i64).to_le_bytes());
    }

    fn buffer(&mut self, values: impl IntoIterator<Item = u8>) {
        let start = self.bytes.len();
        self.bytes.extend(values);
        let length = self.bytes.len() - start;
        self.buffers.extend((start as i64).to_le_bytes());
        self.buffers.extend((length as i64).to_le_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
    }
}

/// The header of a record batch, and its body.
fn batch(frame: &Frame, rows: Range<usize>) -> (Vec<Slot>, Vec<u8>) {
    let mut body = Body::default();
    frame.columns.iter().for_each(|(_, values)| column(&mut body, values, rows.clone()));
    let header = vec![
        Slot::Long(rows.len() as i64),
        Slot::To(Node::Structs(body.nodes.len() / 16, body.nodes)),
        Slot::To(Node::Structs(body.buffers.len() / 16, body.buffers)),
    ];
    (header, body.bytes)
}

fn column(body: &mut Body, values: &Values, rows: Range<usize>) {
    let mut bitmap = Vec::new();
    let mut missing = 0;
    if let Some(present) = there(values, rows.clone()) {
        bitmap = vec![0_u8; present.len().div_ceil(8)];
        for (at, there) in present.into_iter().enumerate() {
            bitmap[at / 8] |= u8::from(there) << (at % 8);
            missing += usize::from(!there);
        }
    }
    body.node(rows.len(), missing);
    body.buffer(bitmap);
    match values {
        Values::Whole(all) | Values::MaybeWhole(all, _) => {
            body.buffer(all[rows].iter().flat_map(|value| value.to_le_bytes()));
        }
        Values::Real(all) => body.buffer(all[rows].iter().flat_map(|value| value.to_le_bytes())),
        Values::Words(codes, words) => {
            let words = || codes[rows.clone()].iter().map(|code| &words[*code as usize]);
            let ends = words().scan(0_i32, |end, word| {
                *end += word.len() as i32;
                Some(*end)
            });
            body.buffer(std::iter::once(0).chain(ends).flat_map(i32::to_le_bytes));
            body.buffer(words().flat_map(|word| word.bytes()));
        }
        Values::Lists(offsets, all) => {
            let offsets = &offsets[rows.start..=rows.end];
            body.buffer(offsets.iter().flat_map(|at| (at - offsets[0]).to_le_bytes()));
            let all = &all[offsets[0] as usize..offsets[rows.len()] as usize];
            body.node(all.len(), 0);
            body.buffer([]);
            body.buffer(all.iter().flat_map(|value| value.to_le_bytes()));
        }
    }
}
