//! The compact protocol of Apache Thrift, as far as Parquet's metadata need it.
//!
//! Source: "Thrift compact protocol encoding", thrift/doc/specs/thrift-compact-protocol.md.

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A struct, field by field in ascending order of their numbers.
#[derive(Default)]
pub(super) struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    fn field(mut self, number: u8, kind: u8) -> Self {
        self.bytes.push((number - self.last) << 4 | kind);
        self.last = number;
        self
    }

    pub fn int(self, number: u8, value: i32) -> Self {
        let mut one = self.field(number, I32);
        zigzag(&mut one.bytes, value.into());
        one
    }

    pub fn long(self, number: u8, value: usize) -> Self {
        let mut one = self.field(number, I64);
        zigzag(&mut one.bytes, value as i64);
        one
    }

    pub fn text(self, number: u8, text: &str) -> Self {
        let mut one = self.field(number, BINARY);
        varint(&mut one.bytes, text.len() as u64);
        one.bytes.extend(text.as_bytes());
        one
    }

    pub fn nested(self, number: u8, value: Self) -> Self {
        let mut one = self.field(number, STRUCT);
        one.bytes.extend(value.end());
        one
    }

    pub fn ints(self, number: u8, values: &[i32]) -> Self {
        self.list(number, I32, values.len(), |bytes| {
            values.iter().for_each(|value| zigzag(bytes, (*value).into()));
        })
    }

    pub fn texts(self, number: u8, values: &[&str]) -> Self {
        self.list(number, BINARY, values.len(), |bytes| {
            for value in values {
                varint(bytes, value.len() as u64);
                bytes.extend(value.as_bytes());
            }
        })
    }

    pub fn structs(self, number: u8, values: Vec<Self>) -> Self {
        self.list(number, STRUCT, values.len(), |bytes| {
            values.into_iter().for_each(|value| bytes.extend(value.end()));
        })
    }

    fn list(self, number: u8, kind: u8, length: usize, fill: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut one = self.field(number, LIST);
        match length {
            0..15 => one.bytes.push((length as u8) << 4 | kind),
            _ => {
                one.bytes.push(0xf0 | kind);
                varint(&mut one.bytes, length as u64);
            }
        }
        fill(&mut one.bytes);
        one
    }

    /// Bytes of the struct.
    pub fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn zigzag(bytes: &mut Vec<u8>, value: i64) {
    varint(bytes, ((value << 1) ^ (value >> 63)) as u64);
}

/// Seven bits at a time, the lowest first.
pub(super) fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}
