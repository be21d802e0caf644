//! A table as a Parquet file: one page for each column of a row group, numbers as they are, texts by a dictionary.
//!
//! Source: Apache Parquet format 2.11, `parquet.thrift` for metadata and `Encodings.md` for PLAIN and the RLE/bit-packing hybrid. Numbers of
//! fields and of enumerations are theirs.

use super::thrift::{Struct, varint};
use super::{parts, there};
use crate::frame::{Frame, Values};
use std::ops::Range;

const MAGIC: &[u8; 4] = b"PAR1";

const INT64: i32 = 2;
const DOUBLE: i32 = 5;
const BYTE_ARRAY: i32 = 6;

const REQUIRED: i32 = 0;
const OPTIONAL: i32 = 1;
const REPEATED: i32 = 2;

const PLAIN: i32 = 0;
const RLE: i32 = 3;
const RLE_DICTIONARY: i32 = 8;

const UTF8: i32 = 0;
const LIST: i32 = 3;

const DATA_PAGE: i32 = 0;
const DICTIONARY_PAGE: i32 = 2;

/// The file.
pub(super) fn file(frame: &Frame) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    let groups: Vec<Struct> =
        parts(frame.rows).map(|rows| row_group(&mut file, frame, rows)).collect();
    let mut schema = vec![Struct::default().text(4, "table").int(5, frame.columns.len() as i32)];
    frame.columns.iter().for_each(|(name, values)| schema.extend(elements(name, values)));
    let metadata = Struct::default()
        .int(1, 2)
        .structs(2, schema)
        .long(3, frame.rows)
        .structs(4, groups)
        .text(6, concat!("forebay version ", env!("CARGO_PKG_VERSION")))
        .end();
    file.extend(&metadata);
    file.extend((metadata.len() as u32).to_le_bytes());
    file.extend(MAGIC);
    file
}

/// The schema of a column.
fn elements(name: &str, values: &Values) -> Vec<Struct> {
    let one = |kind: i32, how: i32| Struct::default().int(1, kind).int(3, how).text(4, name);
    match values {
        Values::Whole(_) => vec![one(INT64, REQUIRED)],
        Values::MaybeWhole(..) => vec![one(INT64, OPTIONAL)],
        Values::Real(_) => vec![one(DOUBLE, OPTIONAL)],
        Values::Words(..) => {
            let string = Struct::default().nested(1, Struct::default());
            vec![one(BYTE_ARRAY, REQUIRED).int(6, UTF8).nested(10, string)]
        }
        Values::Lists(..) => {
            let list = Struct::default().nested(3, Struct::default());
            let outer = Struct::default().int(3, REQUIRED).text(4, name).int(5, 1);
            vec![
                outer.int(6, LIST).nested(10, list),
                Struct::default().int(3, REPEATED).text(4, "list").int(5, 1),
                Struct::default().int(1, DOUBLE).int(3, REQUIRED).text(4, "element"),
            ]
        }
    }
}

fn row_group(file: &mut Vec<u8>, frame: &Frame, rows: Range<usize>) -> Struct {
    let start = file.len();
    let column = |(name, values): &(&'static str, Values)| chunk(file, name, values, rows.clone());
    let columns: Vec<Struct> = frame.columns.iter().map(column).collect();
    Struct::default().structs(1, columns).long(2, file.len() - start).long(3, rows.len())
}

/// The rows of a column: its pages, and what the metadata say of them.
fn chunk(file: &mut Vec<u8>, name: &str, values: &Values, rows: Range<usize>) -> Struct {
    let start = file.len();
    if let Values::Words(_, words) = values {
        let mut body = Vec::new();
        for word in words {
            body.extend((word.len() as u32).to_le_bytes());
            body.extend(word.as_bytes());
        }
        let header = Struct::default().int(1, words.len() as i32).int(2, PLAIN);
        page(file, DICTIONARY_PAGE, body, |page| page.nested(7, header));
    }
    let data = file.len();
    let (body, count) = body(values, rows);
    let encoding = if matches!(values, Values::Words(..)) { RLE_DICTIONARY } else { PLAIN };
    let header = Struct::default().int(1, count as i32).int(2, encoding).int(3, RLE).int(4, RLE);
    page(file, DATA_PAGE, body, |page| page.nested(5, header));
    let (kind, path): (i32, &[&str]) = match values {
        Values::Whole(_) | Values::MaybeWhole(..) => (INT64, &[name]),
        Values::Real(_) => (DOUBLE, &[name]),
        Values::Lists(..) => (DOUBLE, &[name, "list", "element"]),
        Values::Words(..) => (BYTE_ARRAY, &[name]),
    };
    let size = file.len() - start;
    let metadata = Struct::default()
        .int(1, kind)
        .ints(2, if encoding == PLAIN { &[PLAIN, RLE] } else { &[PLAIN, RLE, RLE_DICTIONARY] })
        .texts(3, path)
        .int(4, 0) // not compressed
        .long(5, count)
        .long(6, size)
        .long(7, size)
        .long(9, data);
    let metadata = if data > start { metadata.long(11, start) } else { metadata };
    Struct::default().long(2, start).nested(3, metadata)
}

fn page(file: &mut Vec<u8>, kind: i32, body: Vec<u8>, header: impl FnOnce(Struct) -> Struct) {
    let size = body.len() as i32;
    file.extend(header(Struct::default().int(1, kind).int(2, size).int(3, size)).end());
    file.extend(body);
}

/// A data page, and how many values it has: missing ones count, and so does an empty list.
fn body(values: &Values, rows: Range<usize>) -> (Vec<u8>, usize) {
    let mut body = Vec::new();
    let present = there(values, rows.clone());
    if let Some(present) = &present {
        let levels: Vec<u32> = present.iter().map(|there| u32::from(*there)).collect();
        levels_into(&mut body, &levels);
    }
    let is = |at: usize| present.as_ref().is_none_or(|all| all[at - rows.start]);
    let mut count = rows.len();
    match values {
        Values::Whole(all) | Values::MaybeWhole(all, _) => {
            rows.clone().filter(|at| is(*at)).for_each(|at| body.extend(all[at].to_le_bytes()));
        }
        Values::Real(all) => {
            rows.clone().filter(|at| is(*at)).for_each(|at| body.extend(all[at].to_le_bytes()));
        }
        Values::Lists(offsets, all) => {
            // Of each value: whether it goes on with the list before it, and whether it is one.
            let (mut goes_on, mut is_one) = (Vec::new(), Vec::new());
            for row in rows.clone() {
                let length = (offsets[row + 1] - offsets[row]) as usize;
                for nth in 0..length.max(1) {
                    goes_on.push(u32::from(nth > 0));
                    is_one.push(u32::from(length > 0));
                }
            }
            count = goes_on.len();
            levels_into(&mut body, &goes_on);
            levels_into(&mut body, &is_one);
            let part = offsets[rows.start] as usize..offsets[rows.end] as usize;
            all[part].iter().for_each(|value| body.extend(value.to_le_bytes()));
        }
        Values::Words(codes, words) => {
            let bits = usize::BITS - words.len().saturating_sub(1).leading_zeros();
            let codes: Vec<u32> = codes[rows].iter().map(|code| *code as u32).collect();
            body.push(bits as u8);
            hybrid(&mut body, &codes, bits);
        }
    }
    (body, count)
}

/// Levels of zero and one, with their length.
fn levels_into(body: &mut Vec<u8>, levels: &[u32]) {
    let mut bytes = Vec::new();
    hybrid(&mut bytes, levels, 1);
    body.extend((bytes.len() as u32).to_le_bytes());
    body.extend(bytes);
}

/// Values of so many bits by the RLE/bit-packing hybrid: a run of equal ones as one, others in groups of eight.
fn hybrid(bytes: &mut Vec<u8>, values: &[u32], bits: u32) {
    let run =
        |from: usize| values[from..].iter().take_while(|value| **value == values[from]).count();
    let mut at = 0;
    while at < values.len() {
        let equal = run(at);
        if equal >= 8 || at + equal == values.len() {
            varint(bytes, (equal as u64) << 1);
            bytes.extend(&values[at].to_le_bytes()[..bits.div_ceil(8) as usize]);
            at += equal;
            continue;
        }
        let mut end = at;
        while end < values.len() && (end == at || run(end) < 8) {
            end = (end + 8).min(values.len());
        }
        let packed = &values[at..end];
        varint(bytes, (packed.len().div_ceil(8) as u64) << 1 | 1);
        pack(bytes, packed, bits);
        at = end;
    }
}

/// The lowest bits first, the last group of eight filled up with zeros.
fn pack(bytes: &mut Vec<u8>, values: &[u32], bits: u32) {
    let (mut held, mut have) = (0_u64, 0);
    let filled = values.len().next_multiple_of(8);
    for value in values.iter().copied().chain(std::iter::repeat_n(0, filled - values.len())) {
        held |= u64::from(value) << have;
        have += bits;
        while have >= 8 {
            bytes.push(held as u8);
            (held, have) = (held >> 8, have - 8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads values of the hybrid back.
    fn read(mut bytes: &[u8], bits: u32, count: usize) -> Vec<u32> {
        let mut values = Vec::new();
        while values.len() < count {
            let (mut head, mut shift) = (0_u64, 0);
            loop {
                let byte = bytes[0];
                bytes = &bytes[1..];
                head |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    break;
                }
            }
            let wide = bits.div_ceil(8) as usize;
            if head & 1 == 0 {
                let value = bytes[..wide].iter().rev().fold(0, |v, b| v << 8 | u32::from(*b));
                values.extend(std::iter::repeat_n(value, (head >> 1) as usize));
                bytes = &bytes[wide..];
            } else {
                let size = (head >> 1) as usize * bits as usize;
                let bit = |at: usize| u32::from(bytes[at / 8] >> (at % 8) & 1);
                let value =
                    |n: usize| (0..bits as usize).map(|b| bit(n * bits as usize + b) << b).sum();
                values.extend((0..(head >> 1) as usize * 8).map(value).collect::<Vec<u32>>());
                bytes = &bytes[size..];
            }
        }
        assert!(bytes.is_empty());
        values.truncate(count);
        values
    }

    #[test]
    fn runs_and_groups_read_back() {
        let mut state = 7_u32;
        for bits in [1, 2, 5, 9, 17] {
            for count in [1, 7, 8, 9, 40, 1000] {
                let mut values: Vec<u32> = Vec::new();
                while values.len() < count {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let again = if state >> 30 == 0 { 20 } else { 1 };
                    values.extend(std::iter::repeat_n((state >> 8) & ((1 << bits) - 1), again));
                }
                values.truncate(count);
                let mut bytes = Vec::new();
                hybrid(&mut bytes, &values, bits);
                assert_eq!(read(&bytes, bits, count), values, "{bits} bits");
            }
        }
    }
}
